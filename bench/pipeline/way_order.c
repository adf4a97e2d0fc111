// SPDX-License-Identifier: Apache-2.0
#include "way_order.h"

#include <stdlib.h>

bool way_order_make(way_order *order, uint32_t lines) {
  *order = (way_order){.lines = lines};
  order->line = calloc(lines, sizeof *order->line);
  return order->line != NULL;
}

void way_order_free(way_order *order) {
  free(order->line);
  order->line = NULL;
}

void way_order_begin(way_order *order, uint64_t count, const job_feed *feed) {
  order->feed = feed;
  order->count = count;
  order->next = 0;
  atomic_store(&order->stopped, false);
  atomic_store(&order->delivered, 0);
  for (uint32_t i = 0; i < order->lines; i++) atomic_store(&order->line[i].finished, 0);
}

static bool wait_for_line(way_order *order, uint64_t token) {
  for (;;) {
    uint32_t seen = way_gate_value(&order->changed);
    if (atomic_load(&order->stopped)) return false;
    if (token - atomic_load(&order->delivered) < order->lines) return true;
    way_gate_wait(&order->changed, seen);
  }
}

bool way_order_take(way_order *order, uint64_t *out_token, void *const **out_inputs) {
  weir__lock_acquire(&order->taking);
  bool taken = order->next < order->count && wait_for_line(order, order->next);
  if (taken) {
    *out_token = order->next++;
    *out_inputs = order->feed->next(order->feed->user, *out_token);
  }
  weir__lock_release(&order->taking);
  return taken;
}

static way_order_line *line_of(way_order *order, uint64_t token) {
  return &order->line[token % order->lines];
}

static bool is_due(way_order *order) {
  uint64_t token = atomic_load(&order->delivered);
  return atomic_load(&line_of(order, token)->finished) == token + 1;
}

static void deliver(way_order *order) {
  uint64_t token = atomic_load(&order->delivered);
  order->feed->done(order->feed->user, token, line_of(order, token)->results);
  atomic_store(&order->delivered, token + 1);
  way_gate_set(&order->changed, way_gate_value(&order->changed) + 1);
}

// Who finds another thread at it leaves its job to that one, which looks again after it has stopped.
void way_order_finish(way_order *order, uint64_t token, void *const *results) {
  line_of(order, token)->results = results;
  atomic_store(&line_of(order, token)->finished, token + 1);
  while (is_due(order) && !atomic_exchange(&order->giving, true)) {
    while (is_due(order)) deliver(order);
    atomic_store(&order->giving, false);
  }
}

void way_order_stop(way_order *order) {
  atomic_store(&order->stopped, true);
  atomic_fetch_add(&order->changed.value, 1);
  weir__wake(&order->changed.value, INT32_MAX);
}
