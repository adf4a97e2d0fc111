// SPDX-License-Identifier: Apache-2.0
#include "issue/requests.h"

void weir__requests_ask(weir__device_requests *requests, weir__inbox *inbox, weir__device_request *request) {
  atomic_store_explicit(&request->done, 0, memory_order_relaxed);
  request->next = atomic_load_explicit(&requests->newest, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&requests->newest, &request->next, request, memory_order_seq_cst,
                                                memory_order_relaxed)) {
  }
  weir__inbox_ring(inbox);
  while (atomic_load_explicit(&request->done, memory_order_acquire) == 0) weir__sleep_on(&request->done, 0, UINT64_MAX);
}

weir__device_request *weir__requests_take(weir__device_requests *requests) {
  if (!weir__requests_any(requests)) return NULL;
  return atomic_exchange_explicit(&requests->newest, NULL, memory_order_acquire);
}

bool weir__requests_answer(void *device, weir__device_request *first) {
  bool any = first != NULL;
  while (first != NULL) {
    weir__device_request *next = first->next; // who asked may be gone after the answer
    first->answer(device, first);
    atomic_store_explicit(&first->done, 1, memory_order_release);
    weir__wake(&first->done, 1);
    first = next;
  }
  return any;
}
