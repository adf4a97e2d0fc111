// SPDX-License-Identifier: Apache-2.0
//
// What the tests of chains share: a kernel for every kind of device, which mixes two inputs into two outputs.
#ifndef TESTS_CHAIN_RIG_H
#define TESTS_CHAIN_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/chain.h"

enum { RIG_WORDS = 16, RIG_BYTES = RIG_WORDS * 4, RIG_ARGS = 5 };

// A value of the kernel.
typedef struct rig_value {
  uint32_t seed;
  uint32_t fails; // not 0: on a device that runs functions
} rig_value;

// The kernel's arguments: two outputs, two inputs, all of RIG_BYTES bytes, and a rig_value. It has RIG_WORDS work-groups.
// `name` as for weir_kernel_create.
weir_kernel *rig_kernel(weir_context *context, const char *name);
weir_function rig_function(void); // its code for the CPU
void rig_reference(uint32_t *out_first, uint32_t *out_second, const uint32_t *a, const uint32_t *b, uint32_t seed);

weir_context *rig_open(const char *devices, uint32_t window, uint32_t flags);

// Ends the test program with status 77 and the reason if there is no such device here.
void rig_need(const char *devices);

void rig_ok(weir_status status);

// Asserts that the last call gave `status`, with a text that has `part` in it.
void rig_refused(weir_status found, weir_status status, const char *part);

#endif // TESTS_CHAIN_RIG_H
