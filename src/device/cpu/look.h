// SPDX-License-Identifier: Apache-2.0
//
// How a CPU worker reports what it has finished, and finds the next task.
#ifndef WEIR_DEVICE_CPU_LOOK_H
#define WEIR_DEVICE_CPU_LOOK_H

#include "device/cpu/ready.h"

// Reports what is finished. The lock is held; the second one takes it.
void weir__worker_report(weir__worker *worker);
void weir__worker_report_now(weir__worker *worker);

// Reports, and looks for work under the lock; `any_work`: also for tiny tasks that others are at hand for. NULL: there is none
// in the inbox.
weir__task *weir__worker_look(weir__worker *worker, bool any_work);

// Takes a task out of the queue of another worker. NULL: there is none.
weir__task *weir__worker_steal(weir__worker *worker, bool any_work);

#endif // WEIR_DEVICE_CPU_LOOK_H
