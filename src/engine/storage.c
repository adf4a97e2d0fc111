// SPDX-License-Identifier: Apache-2.0
#include "engine/storage.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/graph.h"
#include "engine/check.h"
#include "engine/pressure.h"
#include "engine/rename.h"

enum { PREDICTOR_SETS = 4096, PREDICTOR_WAYS = 4, HISTORY_SHIFT = 8 };

typedef struct prediction {
  weir__block *block; // NULL: none
  uint64_t number;
  uint64_t bytes; // that were asked for
  // What was taken next, the last time, with its block: both are fetched early.
  struct prediction *next;
  const weir__block *next_block;
} prediction;

struct weir__predictor {
  uint64_t history; // of the last 64 / HISTORY_SHIFT tasks
  prediction *last; // that was taken; NULL: none
  prediction entries[PREDICTOR_SETS][PREDICTOR_WAYS];
};

weir__predictor *weir__predictor_create(void) {
  return weir__allocate_zeroed(sizeof(weir__predictor));
}

void weir__predictor_destroy(weir__predictor *predictor) {
  weir__free(predictor);
}

void weir__predictor_note(weir__predictor *predictor, const weir_task *task) {
  uint64_t kind = (uintptr_t)task->kernel + 0x9e3779b97f4a7c15u * task->groups[0] + task->arg_count;
  kind *= 0xff51afd7ed558ccdu;
  predictor->history = predictor->history << HISTORY_SHIFT ^ (kind >> 32);
}

void weir__predictor_note_run(weir__predictor *predictor, uint64_t hash) {
  predictor->history = hash;
}

static void note_taken(weir__predictor *predictor, prediction *taken) {
  if (predictor->last != NULL) {
    predictor->last->next = taken;
    predictor->last->next_block = taken->block;
  }
  predictor->last = taken;
  __builtin_prefetch(taken->next);
  if (taken->next_block == NULL) return;
  __builtin_prefetch(taken->next_block, 1);
  __builtin_prefetch(&taken->next_block->user_count, 1);
}

static bool predicts(const weir_context *context, uint32_t space) {
  return context->memory.predictor != NULL && space != WEIR__HOST_SPACE;
}

// Scratch memory is new for each task, and many tasks of a kernel look alike: the one that comes again is known by what else it
// names.
static uint32_t scratch_access(const weir_task *task) {
  uint64_t hash = task->arg_count;
  for (uint32_t i = 0; i + 1 < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    if (arg->mode != WEIR_VALUE) hash = (hash ^ (uintptr_t)arg->buffer ^ arg->offset << 32) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return (uint32_t)hash;
}

// What could be had for scratch memory is tried first the next time, so that tasks come to blocks that nobody else uses then.
static prediction *put_first(const weir_buffer *buffer, prediction *set, uint32_t used) {
  if (!buffer->scratch || used == 0) return &set[used];
  prediction taken = set[used];
  set[used] = set[0];
  set[0] = taken;
  return &set[0];
}

// Takes a block for the access: one that it had before, if it can be had.
static weir__pool_result take_predicted(weir_context *context, const weir_buffer *buffer, uint32_t space,
                                        uint32_t access, weir__block **out_block) {
  weir__pool *pool = &context->memory.pools[space];
  weir__predictor *predictor = context->memory.predictor;
  if (!predicts(context, space)) return weir__pool_take(pool, buffer->bytes, &context->host.window.live, out_block);
  prediction *set = predictor->entries[(predictor->history + access) * 0x9e3779b97f4a7c15u >> 52];
  uint32_t used = 0;
  for (; used < PREDICTOR_WAYS && set[used].block != NULL; used++) {
    weir__block *block = set[used].block;
    if (set[used].number >> WEIR__NUMBER_SPACE_SHIFT != space || set[used].bytes != buffer->bytes ||
        !weir__pool_take_known(pool, block, set[used].number, &context->host.window.live))
      continue;
    *out_block = block;
    note_taken(predictor, put_first(buffer, set, used));
    return WEIR__POOL_OK;
  }
  weir__pool_result result = weir__pool_take(pool, buffer->bytes, &context->host.window.live, out_block);
  if (result != WEIR__POOL_OK) return result;
  if (used == PREDICTOR_WAYS) used = (uint32_t)((*out_block)->number % PREDICTOR_WAYS);
  set[used].block = *out_block;
  set[used].number = (*out_block)->number;
  set[used].bytes = buffer->bytes;
  note_taken(predictor, put_first(buffer, set, used));
  return WEIR__POOL_OK;
}

weir__block *weir__storage_take_bare(weir_context *context, const weir_buffer *buffer, uint32_t space,
                                     uint32_t access) {
  weir__block *block;
  return take_predicted(context, buffer, space, access, &block) == WEIR__POOL_OK ? block : NULL;
}

void weir__storage_give_back(weir_context *context, const weir__request *request, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    weir__block *block = request->checked.needs_storage & weir__storage_bit(i) ? request->fresh[i] : NULL;
    if (block == NULL) continue;
    weir__pool *pool = &context->memory.pools[request->accesses[i].space];
    if (block->user_count > 0)
      weir__pool_give_waiting(pool, block);
    else
      weir__pool_give(pool, block);
  }
}

uint32_t weir__storage_accesses(const weir__request *request) {
  return request->run != NULL ? request->run->unsettled : request->checked.access_count;
}

static bool named_before(const weir__request *request, uint32_t index) {
  if (request->run != NULL) // a graph has the accesses to a buffer side by side, and many of them
    return index > 0 && request->accesses[index - 1].buffer == request->accesses[index].buffer;
  for (uint32_t i = 0; i < index && request->checked.repeats; i++) {
    if (request->accesses[i].buffer == request->accesses[index].buffer) return true;
  }
  return false;
}

static bool is_whole(const weir__access *access) {
  return weir__access_is_whole(access, access->buffer->bytes);
}

static bool covers_all(const weir__access *access) {
  return access->mode == WEIR_WRITE && is_whole(access);
}

// Whether all later accesses to the buffer come after this one. Those that read, commute or reduce do not order each other.
static bool comes_first(const weir__access *access) {
  return is_whole(access) && (access->mode == WEIR_WRITE || access->mode == WEIR_READ_WRITE);
}

static bool may_rename(const weir_context *context, const weir_buffer *buffer) {
  return !buffer->wrapped && !buffer->kept && !(context->host.flags & WEIR_CONTEXT_NO_RENAME);
}

// Whether the access should get fresh storage though its buffer has some: it overwrites everything, and tasks in flight
// still use the old contents.
static bool wants_rename(weir_context *context, const weir__request *request, uint32_t index) {
  const weir__access *access = &request->accesses[index];
  weir_buffer *buffer = access->buffer;
  return covers_all(access) && buffer->replicas[access->space].block != NULL && may_rename(context, buffer) &&
         !weir__buffer_idle(buffer, &context->host.window.live) && !named_before(request, index) &&
         (buffer->bytes <= WEIR__RENAME_TINY || weir__rename_gains(context, request, index));
}

// Other storage for a buffer that is overwritten. It may have users, which the task then waits for. NULL: none for now; the
// task waits for those of the buffer's.
static weir__block *take_other(weir_context *context, const weir__access *access, uint32_t index) {
  const weir_buffer *buffer = access->buffer;
  const weir__liveness *live = &context->host.window.live;
  weir__pool *pool = &context->memory.pools[access->space];
  weir__block *block = NULL;
  bool full = buffer->bytes > pool->waiting_limit || pool->waiting_bytes > pool->waiting_limit - buffer->bytes;
  bool counts = weir__rename_counts(context, buffer);
  const weir__version *oldest = counts ? weir__rename_oldest(buffer, access->space) : NULL;
  if (oldest != NULL && weir__block_in_use(oldest->block, live))
    return weir__pool_take_used(pool, oldest->block, buffer->bytes) ? oldest->block : NULL;
  if (!full && (!counts || predicts(context, access->space)))
    return take_predicted(context, buffer, access->space, index, &block) == WEIR__POOL_OK ? block : NULL;
  block = weir__pool_take_idle(pool, buffer->bytes, false, live);
  if (block == NULL && oldest != NULL &&
      weir__pool_take_block(pool, oldest->block, oldest->number, buffer->bytes, live))
    return oldest->block;
  if (block == NULL) block = weir__pool_take_idle(pool, buffer->bytes, true, live);
  if (block == NULL && full) return weir__pool_take_waiting(pool, buffer->bytes, live);
  if (block == NULL) (void)weir__pool_take(pool, buffer->bytes, live, &block);
  return block;
}

bool weir__storage_rename_tiny(weir_context *context, weir_buffer *buffer, uint32_t space, uint32_t access) {
  if (!may_rename(context, buffer) || weir__buffer_idle(buffer, &context->host.window.live)) return true;
  const weir__pool *pool = &context->memory.pools[space];
  weir__block *block;
  if (pool->waiting_bytes + buffer->bytes > pool->waiting_limit ||
      take_predicted(context, buffer, space, access, &block) != WEIR__POOL_OK)
    return false;
  context->host.statistics.renamed++;
  weir__buffer_drop_storage(buffer, context->memory.pools, false);
  weir__buffer_set_storage(buffer, space, block);
  return true;
}

bool weir__storage_exchange(weir_context *context, weir_buffer *buffer) {
  const weir__liveness *live = &context->host.window.live;
  if (buffer->last_use < live->oldest || buffer->replicas[WEIR__HOST_SPACE].block == NULL ||
      !may_rename(context, buffer))
    return true;
  if (buffer->ranged || buffer->bytes > WEIR__RENAME_TINY) return false;
  if (weir__segment_idle(&buffer->whole, live)) return true;
  weir__pool *pool = &context->memory.pools[WEIR__HOST_SPACE];
  if (pool->waiting_bytes + buffer->bytes > pool->waiting_limit) return false;
  if (!weir__buffer_exchange_storage(buffer, WEIR__HOST_SPACE, pool, live)) return false;
  context->host.statistics.renamed++;
  return true;
}

static weir__admit_result no_storage(weir_context *context, const weir__submission *submission,
                                     const weir_buffer *buffer, uint32_t space, weir__pool_result result,
                                     weir_status *out_status) {
  weir__admit_result awaited = weir__await_storage(context, submission, space, buffer->bytes, result, out_status);
  if (awaited != WEIR__REFUSED || *out_status != WEIR_OK) return awaited;
  char name[WEIR__WHAT_BYTES];
  weir__describe_task(submission->task, name);
  const char *where = space == WEIR__HOST_SPACE ? "the host" : context->memory.devices[space]->name;
  char whole[64] = "";
  uint64_t needed = submission->task != NULL ? weir__storage_needed(submission->task) : 0;
  if (needed > buffer->bytes)
    snprintf(whole, sizeof whole, ", and the task needs %llu bytes at once", (unsigned long long)needed);
  *out_status = weir__error(WEIR_ERROR_OUT_OF_MEMORY,
                            "%s: no storage for the %llu bytes of buffer %llu '%s': %llu bytes are held on %s and %s%s",
                            name, (unsigned long long)buffer->bytes, (unsigned long long)buffer->id, buffer->label,
                            (unsigned long long)context->memory.pools[space].bytes, where,
                            result == WEIR__POOL_LIMIT  ? "the context's memory limit allows no more"
                            : space == WEIR__HOST_SPACE ? "the system has no more"
                                                        : "the device has no more",
                            whole);
  return WEIR__REFUSED;
}

// Storage that can be had without waiting. `whole`: as weir__storage_take.
static weir__pool_result take_at_once(weir_context *context, const weir_buffer *buffer, uint32_t space, uint32_t access,
                                      bool whole, weir__block **out_block) {
  weir__pool_result result = take_predicted(context, buffer, space, access, out_block);
  if (result == WEIR__POOL_OK || !whole) return result;
  *out_block = weir__pool_take_waiting(&context->memory.pools[space], buffer->bytes, &context->host.window.live);
  return *out_block != NULL ? WEIR__POOL_OK : result;
}

weir__admit_result weir__storage_take(weir_context *context, const weir__submission *submission,
                                      const weir_buffer *buffer, uint32_t space, uint32_t access, bool whole,
                                      weir__block **out_block, weir_status *out_status) {
  weir__pool_result result = take_at_once(context, buffer, space, access, whole, out_block);
  if (result == WEIR__POOL_OK) return WEIR__ADMITTED;
  return no_storage(context, submission, buffer, space, result, out_status);
}

// Which spaces have what the access writes: its own, and the caller's memory, which is brought up to date behind the task.
static inline uint16_t spaces_behind(const weir__access *access) {
  const weir_buffer *buffer = access->buffer;
  uint16_t spaces = weir__space_bit(access->space);
  return buffer->wrapped ? (uint16_t)(spaces | weir__space_bit(buffer->home)) : spaces;
}

// Whether the rest of the buffer stays with other spaces than what the access writes.
static inline bool divides(const weir__access *access) {
  const weir_buffer *buffer = access->buffer;
  return !is_whole(access) && buffer->valid != 0 && buffer->valid != spaces_behind(access);
}

// Sets memory aside for the parts of buffers that have none yet.
static bool reserve_parts(weir_context *context, const weir__request *request) {
  uint32_t accesses = weir__storage_accesses(request);
  const weir_buffer *last = NULL;
  size_t count = 0;
  uint64_t needs = request->checked.needs_storage;
  for (uint32_t i = weir__storage_next(needs, 0); i < accesses; i = weir__storage_next(needs, i + 1)) {
    const weir__access *access = &request->accesses[i];
    if (access->mode == WEIR_READ || is_whole(access) || access->buffer == last || access->buffer->parts != NULL ||
        !divides(access))
      continue;
    last = access->buffer;
    count++;
  }
  return weir__validity_reserve(&context->memory.validities, count);
}

// Finds storage that can be had without waiting. Returns the first access for which there is none, and `*out_result` says why; where
// there is some for all, the number of accesses.
static uint32_t find_all(weir_context *context, const weir__request *request, weir__pool_result *out_result) {
  uint64_t needs = request->checked.needs_storage;
  uint32_t count = weir__storage_accesses(request);
  for (uint32_t i = weir__storage_next(needs, 0); i < count; i = weir__storage_next(needs, i + 1)) {
    const weir__access *access = &request->accesses[i];
    weir_buffer *buffer = access->buffer;
    request->fresh[i] = NULL;
    bool has_some = buffer->replicas[access->space].memory != NULL;
    if (has_some && access->mode != WEIR_WRITE) continue;
    if (!has_some && !named_before(request, i)) {
      uint32_t like = buffer->scratch ? scratch_access(request->task) : i;
      *out_result = take_at_once(context, buffer, access->space, like, comes_first(access), &request->fresh[i]);
      if (*out_result == WEIR__POOL_OK) continue;
      weir__storage_give_back(context, request, i);
      return i;
    }
    if (!wants_rename(context, request, i)) continue;
    request->fresh[i] = take_other(context, access, i);
    if (request->fresh[i] == NULL) context->host.statistics.rename_denied++;
  }
  return count;
}

weir__admit_result weir__storage_find(weir_context *context, const weir__request *request, weir_status *out_status) {
  if (context->memory.space_count > 1 && !reserve_parts(context, request))
    return weir__no_memory(request->submission, "arguments", out_status);
  weir__pool_result result;
  uint32_t lacking = find_all(context, request, &result);
  if (lacking == weir__storage_accesses(request)) return WEIR__ADMITTED;
  // Waiting releases the lock, and others use the list meanwhile: what was found is given back.
  const weir__access *access = &request->accesses[lacking];
  return no_storage(context, request->submission, access->buffer, access->space, result, out_status);
}

bool weir__storage_find_at_once(weir_context *context, const weir__request *request) {
  weir__pool_result result;
  return reserve_parts(context, request) && find_all(context, request, &result) == weir__storage_accesses(request);
}

// Of what the access writes only the task's own copy stays valid, and the caller's memory. Other replicas that have nothing
// else give their blocks back.
static void keep_only(weir_context *context, const weir__access *access) {
  weir_buffer *buffer = access->buffer;
  uint16_t spaces = spaces_behind(access);
  if (buffer->parts == NULL && !divides(access))
    buffer->valid = spaces;
  else if (!weir__buffer_change_valid(buffer, &context->memory.validities, access->lo, access->hi, 0, spaces))
    // There are too many parts; then the task has made sure that its space has all of the buffer.
    weir__buffer_change_valid(buffer, &context->memory.validities, 0, buffer->bytes, 0, spaces);
  uint16_t others = buffer->kept ? 0 : buffer->held & (uint16_t)~buffer->valid;
  bool idle = others != 0 && weir__buffer_idle(buffer, &context->host.window.live);
  while (others != 0) {
    uint32_t other = (uint32_t)__builtin_ctz(others);
    others &= (uint16_t)(others - 1);
    weir__buffer_drop_place(buffer, other, &context->memory.pools[other], idle);
  }
}

void weir__storage_bind(weir_context *context, const weir__request *request, uint32_t index) {
  const weir__access *access = &request->accesses[index];
  weir_buffer *buffer = access->buffer;
  weir__block *fresh = request->fresh[index];
  if (fresh != NULL) {
    if (buffer->replicas[access->space].memory != NULL) {
      context->host.statistics.renamed++;
      if (weir__rename_counts(context, buffer)) weir__rename_note(context, buffer, access->space);
    }
    bool new_contents = covers_all(access) && may_rename(context, buffer);
    if (new_contents && (buffer->held | buffer->valid) != 0)
      weir__buffer_drop_storage(buffer, context->memory.pools, false);
    weir__buffer_set_storage(buffer, access->space, fresh);
    for (uint8_t user = 0; user < fresh->user_count; user++)
      weir__depend_on_task(context, &context->order.dependences, fresh->users[user], WEIR__HAZARD_STORAGE);
  }
  if (access->mode == WEIR_READ) return;
  if (context->memory.space_count == 1)
    buffer->valid = weir__space_bit(WEIR__HOST_SPACE);
  else
    keep_only(context, access);
}
