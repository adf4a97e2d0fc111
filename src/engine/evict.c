// SPDX-License-Identifier: Apache-2.0
#include "engine/evict.h"

#include "engine/transfer.h"

enum {
  VICTIMS = 128,   // of one search
  AHEAD_PART = 32, // of the memory that is copied at a time, beyond what is needed
  MORE_PART = 64,  // of the memory that is given up at a time, beyond what is needed: searches take long
};

typedef struct search {
  weir_context *context;
  uint32_t space;
  uint32_t count;
  weir_buffer *victims[VICTIMS]; // least recently used first
  uint64_t under_way;            // bytes of buffers that are being copied home
} search;

// Whether the buffer has storage in the space that it may lose: nobody uses it, nor does the submission that asks.
static bool may_lose(const weir_context *context, weir_buffer *buffer, uint32_t space) {
  return (buffer->held & weir__space_bit(space)) && !buffer->kept && buffer->named != context->checks &&
         weir__buffer_idle(buffer, &context->host.window.live);
}

// Whether some of its contents are there alone, or else only in spaces that are lost.
static bool is_needed(const weir_buffer *buffer, uint32_t space, uint16_t lost) {
  uint16_t here = weir__space_bit(space), others = (uint16_t) ~(here | lost);
  if (!(buffer->valid & here)) return false;
  if (buffer->parts == NULL) return (buffer->valid & others) == 0;
  for (uint32_t i = 0; i < buffer->parts->count; i++) {
    uint16_t spaces = buffer->parts->spaces[i];
    if ((spaces & here) && !(spaces & others)) return true;
  }
  return false;
}

// Storage on the host without waiting; NULL: there is none, even where copies there make room.
static weir__block *take_on_host(weir_context *context, const weir_buffer *buffer) {
  weir__block *fresh = NULL;
  weir__pool *pool = &context->memory.pools[WEIR__HOST_SPACE];
  const weir__liveness *live = &context->host.window.live;
  if (weir__pool_take(pool, buffer->bytes, live, &fresh) == WEIR__POOL_OK) return fresh;
  if (!weir__evict_copies(context, WEIR__HOST_SPACE)) return NULL;
  return weir__pool_take(pool, buffer->bytes, live, &fresh) == WEIR__POOL_OK ? fresh : NULL;
}

// Submits transfers of what the host lacks of an idle buffer, as far as the window has room and the host has storage. That does not
// count as a use of the buffer. False: none was submitted.
static bool copy_home(weir_context *context, const weir__submission *submission, weir_buffer *buffer) {
  const weir__window *window = &context->host.window;
  weir__id used_before = weir__buffer_recency(buffer);
  bool any = false;
  weir__lacking lacking;
  while (window->live.oldest >= context->order.hold && weir__window_room(window, submission->reserved) > 0 &&
         weir__find_lacking(context, buffer, WEIR__HOST_SPACE, 0, buffer->bytes, &lacking) &&
         weir__prepare_transfer(context, buffer, &lacking)) {
    weir__block *fresh = NULL;
    if (buffer->replicas[WEIR__HOST_SPACE].memory == NULL) {
      fresh = take_on_host(context, buffer);
      if (fresh == NULL) break;
      weir__buffer_set_storage(buffer, WEIR__HOST_SPACE, fresh);
    }
    weir__enter_transfer(context, buffer, &lacking, WEIR__HOST_SPACE, fresh, false, NULL);
    any = true;
  }
  if (!any) return false;
  buffer->copied_home = buffer->last_use;
  buffer->used_before = used_before;
  return true;
}

// Gives up a replica that is not needed. False: too many parts would be left.
static bool give_up(weir_context *context, weir_buffer *buffer, uint32_t space) {
  uint16_t here = weir__space_bit(space);
  if ((buffer->valid & here) &&
      !weir__buffer_change_valid(buffer, &context->memory.validities, 0, buffer->bytes, (uint16_t)~here, 0))
    return false;
  weir__buffer_drop_place(buffer, space, &context->memory.pools[space], true);
  return true;
}

static void note_victim(search *self, weir_buffer *buffer) {
  uint32_t at = self->count < VICTIMS ? self->count++ : VICTIMS - 1;
  weir__id used = weir__buffer_recency(buffer);
  if (self->victims[at] != NULL && weir__buffer_recency(self->victims[at]) <= used) return;
  for (; at > 0 && weir__buffer_recency(self->victims[at - 1]) > used; at--) self->victims[at] = self->victims[at - 1];
  self->victims[at] = buffer;
}

static void look_at(void *user, weir__object *object) {
  search *self = user;
  weir_buffer *buffer = (weir_buffer *)object;
  if (!may_lose(self->context, buffer, self->space)) {
    // Its copy home, which is in flight, is its last user.
    const weir__window *window = &self->context->host.window;
    bool copied = (buffer->held & weir__space_bit(self->space)) && buffer->last_use >= window->live.oldest &&
                  weir__window_task(window, buffer->last_use)->kind == WEIR__TASK_TRANSFER &&
                  weir__window_task(window, buffer->last_use)->move->destination_space == WEIR__HOST_SPACE;
    if (copied) self->under_way += buffer->bytes;
    return;
  }
  note_victim(self, buffer);
}

weir__eviction weir__evict(weir_context *context, const weir__submission *submission, uint32_t space, uint64_t bytes) {
  search self = {.context = context, .space = space};
  if (context->memory.devices[space]->lost || !weir__validity_reserve(&context->memory.validities, 1))
    return WEIR__EVICTION_NONE;
  weir__object_pool_each(&context->objects.buffers, look_at, &self);
  uint64_t held = context->memory.pools[space].bytes, freed = 0;
  uint16_t lost = weir__lost_spaces(context);
  uint64_t enough = bytes + held / MORE_PART, ahead = bytes + held / AHEAD_PART;
  for (uint32_t i = 0; i < self.count; i++) {
    weir_buffer *victim = self.victims[i];
    if (!is_needed(victim, space, lost)) {
      if (freed < enough && give_up(context, victim, space)) freed += victim->bytes;
    } else if (freed + self.under_way < ahead && copy_home(context, submission, victim)) {
      self.under_way += victim->bytes;
      context->host.statistics.evictions++;
    }
  }
  return freed > 0 ? WEIR__EVICTED : self.under_way > 0 ? WEIR__EVICTION_COPIES : WEIR__EVICTION_NONE;
}

typedef struct copies {
  weir_context *context;
  uint32_t space;
  uint16_t lost;
  bool any;
} copies;

static void give_up_copy(void *user, weir__object *object) {
  copies *self = user;
  weir_buffer *buffer = (weir_buffer *)object;
  if (may_lose(self->context, buffer, self->space) && !is_needed(buffer, self->space, self->lost))
    self->any |= give_up(self->context, buffer, self->space);
}

bool weir__evict_copies(weir_context *context, uint32_t space) {
  copies self = {.context = context, .space = space, .lost = weir__lost_spaces(context)};
  if (weir__validity_reserve(&context->memory.validities, 1))
    weir__object_pool_each(&context->objects.buffers, give_up_copy, &self);
  uint64_t free_before = context->memory.pools[space].free_bytes;
  if (space == WEIR__HOST_SPACE && context->memory.reclaim != NULL) context->memory.reclaim(context);
  return self.any || context->memory.pools[space].free_bytes > free_before;
}
