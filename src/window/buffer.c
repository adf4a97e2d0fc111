// SPDX-License-Identifier: Apache-2.0
#include "window/buffer.h"

void weir__buffer_access_range(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness,
                               weir__id task, weir_mode mode, uint64_t lo, uint64_t hi,
                               weir__dependences *dependences) {
  if (!buffer->ranged) {
    weir__range_map_initialize(&buffer->map, pool, buffer->bytes, &buffer->whole);
    buffer->ranged = true;
  }
  if (mode == WEIR_READ) {
    weir__range_map_read(&buffer->map, liveness, task, lo, hi, dependences);
    return;
  }
  if (mode == WEIR_COMMUTE) {
    weir__range_map_commute(&buffer->map, liveness, task, lo, hi, dependences);
    return;
  }
  weir__range_map_write(&buffer->map, liveness, task, mode == WEIR_READ_WRITE, lo, hi, dependences);
  if (lo == 0 && hi == buffer->bytes) {
    weir__range_map_deinitialize(&buffer->map);
    buffer->ranged = false;
    weir__segment_reset(&buffer->whole);
    buffer->whole.writer = task;
  }
}

void weir__buffer_commute(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness, weir__id task,
                          uint64_t lo, uint64_t hi, weir__dependences *dependences) {
  buffer->last_use = task;
  if (buffer->ranged || lo != 0 || hi != buffer->bytes)
    weir__buffer_access_range(buffer, pool, liveness, task, WEIR_COMMUTE, lo, hi, dependences);
  else
    weir__segment_commute(&buffer->whole, liveness, task, lo, hi, dependences);
}

bool weir__buffer_idle(weir_buffer *buffer, const weir__liveness *liveness) {
  if (buffer->last_use < liveness->oldest) return true;
  return buffer->ranged ? weir__range_map_idle(&buffer->map, liveness) : weir__segment_idle(&buffer->whole, liveness);
}

void weir__buffer_poison(weir_buffer *buffer, weir__id task, uint64_t lo, uint64_t hi) {
  if (buffer->ranged)
    weir__range_map_poison(&buffer->map, task, lo, hi);
  else if (weir__segment_is_by(&buffer->whole, task))
    buffer->whole.poisoned = true;
}

// Notes on the block which tasks may still use it, if they are few.
static void note_users(const weir_buffer *buffer, weir__block *block) {
  const weir__segment *whole = &buffer->whole;
  block->last_use = buffer->last_use;
  block->user_count = 0;
  block->users_known = !buffer->ranged && whole->reader_count < WEIR__BLOCK_USERS;
  if (!block->users_known) return;
  const weir__id *readers = weir__segment_readers(whole);
  for (uint32_t i = 0; i < whole->reader_count; i++) block->users[block->user_count++] = weir__reader_task(readers[i]);
  block->users[block->user_count++] = whole->writer;
}

void weir__buffer_visit(weir_buffer *buffer, uint64_t lo, uint64_t hi, weir__segment_visit visit, void *user) {
  if (buffer->ranged)
    weir__range_map_visit_range(&buffer->map, lo, hi, visit, user);
  else
    visit(user, lo, hi, &buffer->whole);
}

uint16_t weir__buffer_common_spaces(const weir_buffer *buffer, uint64_t lo, uint64_t hi) {
  uint16_t common = buffer->valid;
  for (uint64_t at = lo; at < hi && common != 0;) common &= weir__buffer_spaces(buffer, at, &at);
  return common;
}

static void forget_parts(weir_buffer *buffer) {
  if (buffer->parts != NULL) weir__validity_give(buffer->parts);
  buffer->parts = NULL;
}

bool weir__buffer_change_valid(weir_buffer *buffer, weir__validity_pool *pool, uint64_t lo, uint64_t hi, uint16_t keep,
                               uint16_t add) {
  if (buffer->parts == NULL) {
    uint16_t valid = (uint16_t)((buffer->valid & keep) | add);
    if (valid == 0 || valid == buffer->valid) return true;
    if (buffer->valid == 0 || (lo == 0 && hi == buffer->bytes)) {
      buffer->valid = valid;
      return true;
    }
    buffer->parts = weir__validity_take(pool, buffer->bytes, buffer->valid);
    if (buffer->parts == NULL) return false;
  }
  if (!weir__validity_change(buffer->parts, lo, hi, keep, add)) return false;
  buffer->valid = weir__validity_spaces(buffer->parts);
  if (buffer->parts->count == 1) forget_parts(buffer);
  return true;
}

void weir__buffer_drop_place(weir_buffer *buffer, uint32_t space, weir__pool *pool, bool idle) {
  weir__block *block = buffer->replicas[space].block;
  note_users(buffer, block);
  if (idle)
    weir__pool_give(pool, block);
  else
    weir__pool_give_waiting(pool, block);
  buffer->replicas[space] = (weir__replica){0};
  buffer->held &= (uint16_t)~weir__space_bit(space);
}

void weir__buffer_drop_storage(weir_buffer *buffer, weir__pool *pools, bool idle) {
  while (buffer->held != 0) {
    uint32_t space = (uint32_t)__builtin_ctz(buffer->held);
    weir__buffer_drop_place(buffer, space, &pools[space], idle);
  }
  if (buffer->ranged) {
    weir__range_map_deinitialize(&buffer->map);
    buffer->ranged = false;
  }
  weir__segment_reset(&buffer->whole);
  forget_parts(buffer);
  buffer->valid = 0;
  buffer->serial++;
  buffer->last_use = 0;
}

void weir__buffer_set_storage(weir_buffer *buffer, uint32_t space, weir__block *block) {
  buffer->replicas[space] = (weir__replica){.block = block, .memory = block->memory, .storage = block->number};
  buffer->held |= weir__space_bit(space);
}
