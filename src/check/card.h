// SPDX-License-Identifier: Apache-2.0
//
// Check mode on a card with memory of its own, by functions of check mode's there (weir__device_ops.check_code). Contents stay
// in the card's memory. The functions lay out both arenas, look at them after the task ran in each, and copy its results to the
// buffers if all is well; the host reads one word. If something is suspicious, contents come to the host, where it is looked
// at as for any other device.
#ifndef WEIR_CHECK_CARD_H
#define WEIR_CHECK_CARD_H

#include "check/checker.h"

// Where code for devices with `check_code` can be had, tasks for them are checked on the card from now on. Elsewhere a line on
// stderr says why not. No task was submitted yet.
void weir__check_use_cards(weir_device *checker, weir_kernel *const kernels[WEIR__CARD_KERNELS]);

// Checks a task whose buffers are in its device's memory.
void weir__check_on_card(weir__checker *checker, weir__check_job *job);

void weir__check_free_card(weir_device *device, weir__check_bench *bench);

#endif // WEIR_CHECK_CARD_H
