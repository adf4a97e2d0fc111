// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/allocate.h"
#include "device/sim/op.h"

static bool earlier(const weir__sim_timer *a, const weir__sim_timer *b) {
  return a->ps != b->ps ? a->ps < b->ps : a->number < b->number;
}

bool weir__sim_timers_reserve(weir__sim_engine *engine, size_t count) {
  if (count <= engine->timer_capacity) return true;
  size_t capacity = engine->timer_capacity == 0 ? 256 : engine->timer_capacity;
  while (capacity < count) capacity *= 2;
  weir__sim_timer *timers = weir__allocate(capacity * sizeof *timers);
  if (timers == NULL) return false;
  if (engine->timer_count > 0) memcpy(timers, engine->timers, engine->timer_count * sizeof *timers);
  weir__free(engine->timers);
  engine->timers = timers;
  engine->timer_capacity = capacity;
  return true;
}

void weir__sim_timers_add(weir__sim_engine *engine, weir__sim_op *op, uint64_t ps, uint64_t blocks) {
  weir__sim_timer timer = {.ps = ps, .number = engine->numbers++, .op = op, .blocks = blocks};
  if (op->timers++ == 0) engine->reserved--;
  weir__sim_timer *timers = engine->timers;
  size_t at = engine->timer_count++;
  for (; at > 0 && earlier(&timer, &timers[(at - 1) / 2]); at = (at - 1) / 2) timers[at] = timers[(at - 1) / 2];
  timers[at] = timer;
}

weir__sim_timer weir__sim_timers_take(weir__sim_engine *engine) {
  weir__sim_timer *timers = engine->timers;
  weir__sim_timer first = timers[0], moved = timers[--engine->timer_count];
  size_t at = 0, count = engine->timer_count;
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && earlier(&timers[child + 1], &timers[child])) child++;
    if (!earlier(&timers[child], &moved)) break;
    timers[at] = timers[child];
  }
  if (count > 0) timers[at] = moved;
  if (--first.op->timers == 0) engine->reserved++;
  return first;
}
