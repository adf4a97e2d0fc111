// SPDX-License-Identifier: Apache-2.0
//
// What the tests of splits share: a device in the host's memory that fails when told to, and a kernel whose result depends on
// everything that a part is told.
#ifndef TESTS_SPLIT_RIG_H
#define TESTS_SPLIT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/split.h"

// Adds a device of kind "fake" to a context. It runs the kernels' functions for the CPU one after another when somebody waits,
// in virtual time: each takes 1000 ns and 1000 / `speed` ns for a work-group. After `tasks` tasks it is lost (UINT32_MAX: never).
weir_device *rig_add_device(weir_context *context, double speed, uint32_t tasks);

// A field of `rows` by `width` cells of 32 bits, and the kernel that makes a field of one: a cell becomes a sum over its column
// from `reach` rows above to `reach` below, mixed with an entry of a table of 16, a value and the row's number.
typedef struct rig_field {
  uint32_t rows, width, reach, value;
} rig_field;

// The same one after another. `table` has 16 entries.
void rig_reference(const rig_field *field, const uint32_t *table, const uint32_t *in, uint32_t *out);

// Says which parts fail: those of device number `device` of the split from part number `part` on; UINT32_MAX: none.
typedef struct rig_failure {
  uint32_t device, part;
} rig_failure;

// The kernel for CPU and simulated devices. Arguments: in (read, halo of `reach`), out (written), table (read, whole), the
// rig_field (value), the part. weir_split_launch.user is a rig_failure or NULL.
weir_kernel *rig_kernel(weir_context *context);
weir_function rig_function(void); // its function
enum { RIG_ARGS = 5 };
void rig_args(weir_split_arg args[RIG_ARGS], const rig_field *field, weir_arg in, weir_arg out, weir_buffer *table);

// A kernel that adds the row's number + 1 to each cell of its rows. Arguments: the rows (updated), the rig_field, the part.
weir_kernel *rig_add_kernel(weir_context *context);

// Submits a task that reads a buffer, and does nothing.
weir_status rig_read(weir_context *context, weir_buffer *buffer);

void rig_ok(weir_status status);

#endif // TESTS_SPLIT_RIG_H
