// SPDX-License-Identifier: Apache-2.0
//
// Updates in any order, and reductions.
//
// Several tasks add to the same bytes, and it does not matter which of them comes first: a histogram, forces on
// particles, a sum of gradients. As WEIR_READ_WRITE they would run in the order in which they were submitted, each
// behind the one before, even where a later one could run and the earlier one cannot yet. WEIR_COMMUTE says that any
// order will do. WEIR_REDUCE also says how to combine what several of them added to copies of their own, so that they
// can run at the same time.
#ifndef WEIR_REDUCE_H
#define WEIR_REDUCE_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Make an argument of mode WEIR_COMMUTE: the task updates a whole buffer, or `bytes` bytes of it from byte `offset` on.
// - Tasks that commute on some of the same bytes run one at a time, in the order in which they become ready. With what
//   the task finds there it may do anything; the result must be the program's whatever the order. Sums of
//   floating-point numbers differ in their last bits from run to run.
// - Any other access of these bytes comes after the tasks that commute on them and were submitted before it, and before
//   those that were submitted after it.
// - It fails and is skipped as other tasks are: then what it commutes on is poisoned, and tasks that commute there
//   later are skipped.
// - Ranges of two tasks may overlap in part. Two arguments of one task that overlap must be alike.
// - The order is that of submission for boxes (weir/box.h) and in buffers that are used by boxes; in a context with
//   WEIR_CONTEXT_IN_ORDER or in check mode; in a graph; between devices with different memories; and, on a device with
//   memory of its own, for wrapped memory.
// - A launch over several devices (weir/split.h) refuses the mode.
WEIR_API weir_arg weir_commutes(weir_buffer *buffer);
WEIR_API weir_arg weir_commutes_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes);

// How private copies are combined, element by element.
typedef enum weir_reduce_operation {
  WEIR_REDUCE_KERNEL = 0, // by `combine` alone
  WEIR_REDUCE_SUM = 1,
  WEIR_REDUCE_PRODUCT = 2,
  WEIR_REDUCE_MIN = 3,
  WEIR_REDUCE_MAX = 4,
} weir_reduce_operation;

// What the elements are.
typedef enum weir_reduce_type {
  WEIR_REDUCE_F32 = 0,
  WEIR_REDUCE_F64 = 1,
  WEIR_REDUCE_I32 = 2,
  WEIR_REDUCE_U32 = 3,
  WEIR_REDUCE_I64 = 4,
  WEIR_REDUCE_U64 = 5,
} weir_reduce_type;

// A reduction. Members that are 0 have their defaults: a zeroed struct with an operation is one of floats, on devices
// that work in the host's memory.
typedef struct weir_reduction {
  weir_reduce_operation operation; // known to Weir for devices that work in the host's memory
  weir_reduce_type type;           // not for KERNEL
  // Combines a private copy on the device whose tasks filled it: argument 0 is updated by argument 1, which is read;
  // both are as long as the range. For KERNEL on all devices; else for devices with memory of their own; NULL: there is
  // none. Releasing it combines all that is still to be combined by it.
  weir_kernel *combine;
  uint32_t groups[3];      // work-groups of `combine` in x, y, z; 0 counts as 1
  uint32_t identity_bytes; // KERNEL: 1, 2, 4, 8 or 16; 0: the identity is bytes of 0
  const void *identity;    // KERNEL: an element that changes none it is combined with; copied
  uint64_t reserved[2];    // 0
} weir_reduction;

// Make an argument of mode WEIR_REDUCE. The task adds to what it finds in the range: to the contents, or to a copy that
// began as identities. It must not rely on what it finds in any other way: no task of the reduction sees what others
// added.
// - All that is said of WEIR_COMMUTE holds, except for copies. Tasks with the same range and an equal reduction share
//   as many copies as their device has lanes (weir_device_info), 8 at most, the buffer itself among them. Tasks on one
//   copy run one at a time. A copy is made only when all others are busy.
// - The first access of any other kind to some of the bytes, by whatever call, first submits tasks that combine the
//   copies into the buffer. They count as tasks, and are in timelines. So the event of a task of the reduction says
//   that it ran, and the buffer is complete for what is submitted afterwards.
// - A failure of one, or of `combine`, poisons the range. Other tasks of the reduction may run all the same.
// - There are no copies, and the tasks commute on the buffer itself, which is right by definition: where nothing can
//   combine (KERNEL without code for the device; a device with memory of its own without `combine`, or with an identity
//   that is no pattern of 4 bytes); for wrapped memory; where the contents are in another memory than the device's; on
//   a device with one lane; in graphs, in check mode and with WEIR_CONTEXT_IN_ORDER; in tasks and callbacks; if all
//   copies together would have more bytes than weir_context_options.rename_limit, or a quarter of memory_limit; when
//   memory is short; for tasks of more than 64 arguments; and for more than 64 ranges at a time.
// Errors of a submission: INVALID_ARGUMENT (no reduction; a box; an unknown operation, type or identity; neither an
// operation nor a kernel; a range that is no multiple of the element), RELEASED.
WEIR_API weir_arg weir_reduces(weir_buffer *buffer, const weir_reduction *reduction);
WEIR_API weir_arg weir_reduces_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     const weir_reduction *reduction);

#ifdef __cplusplus
}
#endif
#endif // WEIR_REDUCE_H
