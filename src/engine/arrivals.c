// SPDX-License-Identifier: Apache-2.0
#include "engine/arrivals.h"

typedef struct arrivals {
  weir_context *context;
  uint32_t space;
  weir__id newest;
  bool dependences; // they are added to the context's
  bool found;
} arrivals;

static void arrives(arrivals *self, weir__id transfer, uint64_t lo, uint64_t hi) {
  if (!weir__live(&self->context->host.window.live, transfer)) return;
  self->found = true;
  if (self->dependences)
    weir__dependences_add(&self->context->order.dependences, transfer, WEIR__HAZARD_RAW, true, lo, hi);
}

// How many of the ids, which grow, are at most `newest`.
static uint32_t count_up_to(const weir__id *ids, uint32_t count, weir__id newest) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (ids[middle] <= newest)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void visit_arrivals(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  arrivals *self = user;
  const weir__id *readers = weir__segment_readers(segment);
  // Where tasks commute the readers are not in order.
  uint32_t count =
      segment->commutes ? segment->reader_count : count_up_to(readers, segment->reader_count, self->newest);
  if (!segment->commutes && count > 0 && readers[count - 1] == self->newest) {
    // And no other one: a transfer brings what was not there, or comes after those that bring the same.
    arrives(self, self->newest, lo, hi);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    weir__id id = weir__reader_task(readers[i]);
    if (!weir__live(&self->context->host.window.live, id)) continue;
    const weir__task *reader = weir__window_task(&self->context->host.window, id);
    if (reader->kind == WEIR__TASK_TRANSFER && reader->move->destination_space == self->space)
      arrives(self, id, lo, hi);
  }
}

// Whether bytes of [lo, hi) are still on their way to the buffer's replica in `space`. `dependences`: adds what brings them.
static bool find_arrivals(weir_context *context, weir_buffer *buffer, uint32_t space, uint64_t lo, uint64_t hi,
                          bool dependences) {
  arrivals self = {
      .context = context, .space = space, .newest = buffer->replicas[space].arrival, .dependences = dependences};
  if (self.newest >= context->host.window.live.oldest) weir__buffer_visit(buffer, lo, hi, visit_arrivals, &self);
  return self.found;
}

bool weir__arrives(weir_context *context, weir_buffer *buffer, uint32_t space, uint64_t lo, uint64_t hi) {
  return find_arrivals(context, buffer, space, lo, hi, false);
}

void weir__depend_on_arrivals_in_flight(weir_context *context, weir_buffer *buffer, uint32_t space, uint64_t lo,
                                        uint64_t hi) {
  find_arrivals(context, buffer, space, lo, hi, true);
}
