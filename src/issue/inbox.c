// SPDX-License-Identifier: Apache-2.0
#include "issue/inbox.h"

#include "base/allocate.h"

bool weir__inbox_initialize(weir__inbox *inbox, uint32_t window) {
  inbox->mask = window - 1;
  inbox->ring = weir__allocate_sparse(window * sizeof inbox->ring[0]);
  return inbox->ring != NULL;
}

void weir__inbox_deinitialize(weir__inbox *inbox) {
  weir__free_sparse(inbox->ring, (inbox->mask + (size_t)1) * sizeof inbox->ring[0]);
}

void weir__inbox_ring(weir__inbox *inbox) {
  if (atomic_exchange_explicit(&inbox->sleeping, 0, memory_order_seq_cst) == 1) weir__wake(&inbox->sleeping, 1);
}

void weir__inbox_stop(weir__inbox *inbox) {
  atomic_store_explicit(&inbox->stopping, true, memory_order_seq_cst);
  weir__inbox_ring(inbox);
}

bool weir__inbox_announce_sleep(weir__inbox *inbox, bool sure) {
  atomic_store_explicit(&inbox->sleeping, 1, memory_order_seq_cst);
  return sure && weir__barrier_heavy();
}

bool weir__inbox_sleep(weir__inbox *inbox, uint64_t ns) {
  bool work = atomic_load_explicit(&inbox->pushed, memory_order_seq_cst) != inbox->taken ||
              atomic_load_explicit(&inbox->stopping, memory_order_seq_cst);
  if (!work) weir__sleep_on(&inbox->sleeping, 1, ns);
  weir__inbox_stay_awake(inbox);
  return !work;
}

void weir__inbox_stay_awake(weir__inbox *inbox) {
  atomic_store_explicit(&inbox->sleeping, 0, memory_order_relaxed);
}
