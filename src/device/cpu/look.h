// SPDX-License-Identifier: Apache-2.0
//
// How a CPU worker reports what it has finished, and finds the next task.
#ifndef WEIR_DEVICE_CPU_LOOK_H
#define WEIR_DEVICE_CPU_LOOK_H

#include "device/cpu/ready.h"

// Reports what is finished. The lock is held; before it was taken, who has finished tasks calls the second one.
void weir__worker_report(weir__worker *worker);

// Asks for the lines that a report writes, so that it need not wait for them while it has the lock.
static inline __attribute__((always_inline)) void weir__worker_prepare_report(const weir__worker *worker) {
  for (uint32_t i = 0; i < worker->finished_count; i++) __builtin_prefetch(worker->finished[i].task, 1);
}

// The same as both, with the lock in between.
void weir__worker_report_now(weir__worker *worker);

// Reports, and looks for work under the lock; `any_work`: also for tiny tasks that others are at hand for. NULL: there is none
// in the inbox.
weir__task *weir__worker_look(weir__worker *worker, bool any_work);

// Takes a task out of the queue of another worker. NULL: there is none.
weir__task *weir__worker_steal(weir__worker *worker, bool any_work);

#endif // WEIR_DEVICE_CPU_LOOK_H
