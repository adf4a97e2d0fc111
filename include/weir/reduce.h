// SPDX-License-Identifier: Apache-2.0
//
// Updates in any order.
//
// Several tasks add to the same bytes, and it does not matter which of them comes first: a histogram, forces on particles, a sum
// of gradients. As WEIR_READ_WRITE they would run in the order in which they were submitted, each behind the one
// before, even where a later one could run and the earlier one cannot yet. WEIR_COMMUTE says that any order will do.
#ifndef WEIR_REDUCE_H
#define WEIR_REDUCE_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Make an argument of mode WEIR_COMMUTE: the task updates a whole buffer, or `bytes` bytes of it from byte `offset` on.
// - Tasks that commute on some of the same bytes run one at a time, in the order in which they become ready. With what the task
//   finds there it may do anything; the result must be the program's whatever the order. Sums of floating-point numbers
//   differ in their last bits from run to run.
// - Any other access of these bytes comes after the tasks that commute on them and were submitted before it, and before
//   those that were submitted after it.
// - Such a task fails and is skipped as others are: what it commutes on is poisoned, and tasks are skipped that commute there after it.
// - Ranges of two tasks may overlap in part. Two arguments of one task that overlap must be alike.
// - The order is that of submission in a context with WEIR_CONTEXT_IN_ORDER or in check mode, in a graph, and between
//   devices with different memories; and, on a device with memory of its own, for wrapped memory.
// - A launch over several devices (weir/split.h) refuses the mode.
WEIR_API weir_arg weir_commutes(weir_buffer *buffer);
WEIR_API weir_arg weir_commutes_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif // WEIR_REDUCE_H
