// SPDX-License-Identifier: Apache-2.0
#include "repeats/match.h"

#include "engine/buffer.h"
#include "graph/plan.h"

void weir__bound_keep_other_value(const weir__run_arg *seen, const weir_arg *arg, weir__bound *bound) {
  unsigned char *value = bound->values + seen->place;
  uint64_t padded = weir__graph_padded(seen->bytes);
  memset(value + padded - 16, 0, 16); // all of it, or what is behind it
  memcpy(value, arg->value, seen->bytes);
}

bool weir__bound_take_back(weir__bound *bound, uint32_t count) {
  while (bound->buffer_count > count) {
    weir_buffer *buffer = bound->buffers[--bound->buffer_count];
    buffer->run = 0;
    weir__buffer_unqueue(buffer);
  }
  return false;
}

bool weir__repeat_matches(const weir__repeat *repeat, uint32_t index, const weir_task *task, weir__bound *bound) {
  return weir__matches(repeat, index, task, bound);
}
