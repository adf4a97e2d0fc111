// SPDX-License-Identifier: Apache-2.0
#include "engine/evict.h"

#include "engine/transfer.h"
#include "engine/victims.h"

enum {
  AHEAD_PART = 32, // of the memory that is copied at a time, beyond what is needed
  MORE_PART = 64,  // of the memory that is given up at a time, beyond what is needed: searches take long
  BUSY_PART = 4,   // of the memory that tasks in flight hold while what is idle stays, if it is better to lose theirs
};

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

bool weir__evict(weir_context *context, const weir__submission *submission, uint32_t space, uint64_t bytes,
                 bool waits) {
  weir__victims victims;
  if (context->memory.devices[space]->lost || !weir__validity_reserve(&context->memory.validities, 1)) return false;
  weir__victims_find(context, space, &victims);
  uint64_t held = context->memory.pools[space].bytes, freed = 0, leaving = victims.leaving;
  uint64_t enough = bytes + held / MORE_PART, ahead = bytes + held / AHEAD_PART;
  bool busy = waits && victims.busy > held / BUSY_PART;
  for (uint32_t i = 0; i < victims.count; i++) {
    weir_buffer *buffer = victims.list[i].buffer;
    if (busy && (double)victims.list[i].away < victims.busy_away) break; // it had better stay
    if (!weir__is_needed(buffer, space, victims.lost)) {
      if (freed < enough && give_up(context, buffer, space)) freed += buffer->bytes;
    } else if (freed + leaving < ahead && copy_home(context, submission, buffer)) {
      leaving += buffer->bytes;
      context->host.statistics.evictions++;
    }
  }
  return freed > 0;
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
  if (weir__may_lose(self->context, buffer, self->space) && !weir__is_needed(buffer, self->space, self->lost))
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
