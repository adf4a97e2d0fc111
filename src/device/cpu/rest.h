// SPDX-License-Identifier: Apache-2.0
//
// A CPU worker that finds no task watches for one, looks after the others, and sleeps.
#ifndef WEIR_DEVICE_CPU_REST_H
#define WEIR_DEVICE_CPU_REST_H

#include "device/cpu/ready.h"

// A watcher that has found work leaves its post to the next.
void weir__worker_stop_watching(weir__worker *worker);

// Watches for work a little while. One worker at a time does so; the others sleep.
bool weir__worker_spin(weir__worker *worker);

typedef enum weir__rest { WEIR__REST_STOPPED, WEIR__REST_WOKEN, WEIR__REST_OVERSLEPT } weir__rest;

// Sleeps until woken, or for `longest_ns`. The watcher does not sleep for long: OVERSLEPT means to look for any work at
// all, in case the others are stuck in tasks that were thought to be short.
weir__rest weir__worker_sleep(weir__worker *worker, uint64_t longest_ns);

#endif // WEIR_DEVICE_CPU_REST_H
