// SPDX-License-Identifier: Apache-2.0
//
// What other threads ask of a device's thread, and wait for: something that must come behind all tasks that were handed
// over before. The thread takes requests, then all tasks that are in its inbox, and answers then.
#ifndef WEIR_ISSUE_REQUESTS_H
#define WEIR_ISSUE_REQUESTS_H

#include "issue/inbox.h"

// The head of a device's own struct, on the stack of who asks.
typedef struct weir__device_request {
  struct weir__device_request *next;
  void (*answer)(void *device, struct weir__device_request *request); // by the device's thread
  _Atomic uint32_t done;
} weir__device_request;

typedef struct weir__device_requests {
  _Atomic(weir__device_request *) newest;
} weir__device_requests;

// Asks, wakes the device's thread, and waits for the answer. Any thread but the device's.
void weir__requests_ask(weir__device_requests *requests, weir__inbox *inbox, weir__device_request *request);

static inline bool weir__requests_any(const weir__device_requests *requests) {
  return atomic_load_explicit(&requests->newest, memory_order_seq_cst) != NULL;
}

// By the device's thread: takes all that there are; answers them (NULL: none), and returns whether there were any.
weir__device_request *weir__requests_take(weir__device_requests *requests);
bool weir__requests_answer(void *device, weir__device_request *first);

#endif // WEIR_ISSUE_REQUESTS_H
