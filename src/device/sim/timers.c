// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/allocate.h"
#include "device/sim/op.h"

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
  weir__sim_timer timer = {.key = {ps, engine->numbers++}, .op = op, .blocks = blocks};
  if (op->timers++ == 0) engine->reserved--;
  weir__heap_add(engine->timers, engine->timer_count++, sizeof timer, &timer);
}

weir__sim_timer weir__sim_timers_take(weir__sim_engine *engine) {
  weir__sim_timer first = engine->timers[0];
  weir__heap_remove(engine->timers, engine->timer_count--, sizeof first);
  if (--first.op->timers == 0) engine->reserved++;
  return first;
}
