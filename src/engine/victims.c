// SPDX-License-Identifier: Apache-2.0
#include "engine/victims.h"

#include "engine/transfer.h"

bool weir__may_lose(const weir_context *context, weir_buffer *buffer, uint32_t space) {
  return (buffer->held & weir__space_bit(space)) && !buffer->kept && buffer->named != context->checks &&
         weir__buffer_idle(buffer, &context->host.window.live);
}

bool weir__is_needed(const weir_buffer *buffer, uint32_t space, uint16_t lost) {
  uint16_t here = weir__space_bit(space), others = (uint16_t) ~(here | lost);
  if (!(buffer->valid & here)) return false;
  if (buffer->parts == NULL) return (buffer->valid & others) == 0;
  for (uint32_t i = 0; i < buffer->parts->count; i++) {
    uint16_t spaces = buffer->parts->spaces[i];
    if ((spaces & here) && !(spaces & others)) return true;
  }
  return false;
}

// What came while the use before was in flight belongs to it.
static void note_use(weir_buffer *buffer, const weir__window *window) {
  weir__reuse *reuse = &buffer->reuse;
  weir__id used = weir__buffer_recency(buffer), in_flight = window->next - window->live.oldest;
  if (reuse->used != 0 && used > reuse->used + in_flight) {
    reuse->gaps[1] = reuse->gaps[0];
    reuse->gaps[0] = used - reuse->used;
  }
  reuse->used = used;
}

static uint64_t expected_away(const weir_buffer *buffer, weir__id now) {
  const weir__reuse *reuse = &buffer->reuse;
  uint64_t gap = reuse->gaps[0] > reuse->gaps[1] ? reuse->gaps[0] : reuse->gaps[1], gone = now - reuse->used;
  return gap > gone ? gap - gone : gone - gone / 4;
}

static void insert(weir__victims *self, weir__victim found) {
  uint32_t at = self->count < WEIR__VICTIMS ? self->count++ : WEIR__VICTIMS - 1;
  if (self->list[at].buffer != NULL && self->list[at].away >= found.away) return;
  for (; at > 0 && self->list[at - 1].away < found.away; at--) self->list[at] = self->list[at - 1];
  self->list[at] = found;
}

// Whether its copy home, which is in flight, is its last user. One that waits for tasks that were not issued, perhaps because they
// wait for who submits, does not count.
static bool is_leaving(const weir_buffer *buffer, const weir__window *window) {
  if (buffer->last_use < window->live.oldest) return false;
  const weir__task *last = weir__window_task(window, buffer->last_use);
  return last->kind == WEIR__TASK_TRANSFER && last->blockers == 0 && last->move->destination_space == WEIR__HOST_SPACE;
}

static void look_at(void *user, weir__object *object) {
  weir__victims *self = user;
  weir_buffer *buffer = (weir_buffer *)object;
  const weir__window *window = &self->context->host.window;
  if (!(buffer->held & weir__space_bit(self->space)) || buffer->kept) return;
  note_use(buffer, window);
  weir__victim found = {.buffer = buffer, .away = expected_away(buffer, window->next)};
  if (!weir__is_needed(buffer, self->space, self->lost)) found.away *= 2;
  if (weir__may_lose(self->context, buffer, self->space)) {
    insert(self, found);
  } else if (is_leaving(buffer, window)) {
    self->leaving += buffer->bytes;
  } else if (buffer->named != self->context->checks) {
    self->busy += buffer->bytes;
    self->busy_away += (double)found.away * (double)buffer->bytes;
  }
}

void weir__victims_find(weir_context *context, uint32_t space, weir__victims *out_victims) {
  *out_victims = (weir__victims){.context = context, .space = space, .lost = weir__lost_spaces(context)};
  weir__object_pool_each(&context->objects.buffers, look_at, out_victims);
  if (out_victims->busy > 0) out_victims->busy_away /= (double)out_victims->busy;
}
