// SPDX-License-Identifier: Apache-2.0
//
// Check mode on a card with memory of its own, by functions of check mode's there (weir__device_ops.check_code). Contents stay
// in the card's memory. The functions lay out both arenas, look at them after the task ran in each, and copy its results to the
// buffers if all is well; else they write a word of the host's. If something is suspicious, contents come to the host, where it is
// looked at as for any other device (check/card_close.h). Tasks that are ready at the same time do not depend on each other, so
// some of them are checked at once, by one launch of each function.
#ifndef WEIR_CHECK_CARD_H
#define WEIR_CHECK_CARD_H

#include "check/checker.h"

// Where code for devices with `check_code` can be had, tasks for them are checked on the card from now on. Elsewhere a line on
// stderr says why not. No task was submitted yet.
void weir__check_use_cards(weir_device *checker, weir_kernel *const kernels[WEIR__CARD_KERNELS]);

// Checks tasks that are ready, from 1 to WEIR__CHECK_BATCH, whose buffers are in the memory of the device that all of them are for.
void weir__check_on_card(weir__checker *checker, weir__check_job *const *jobs, uint32_t count);

// Bytes of the card's memory that copies of a buffer take at most for a task.
uint64_t weir__check_card_bytes(const weir_buffer *buffer);

void weir__check_free_card(weir_device *device, weir__check_bench *bench);

#endif // WEIR_CHECK_CARD_H
