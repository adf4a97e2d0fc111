// SPDX-License-Identifier: Apache-2.0
#include "window/buffer.h"

void weir__buffer_forget_users(weir_buffer *buffer) {
  if (buffer->boxed)
    weir__box_map_deinitialize(&buffer->boxes);
  else if (buffer->ranged)
    weir__range_map_deinitialize(&buffer->map);
  buffer->boxed = buffer->ranged = false;
  weir__segment_reset(&buffer->whole);
}

// A range of a buffer that is used by boxes.
static void access_boxed(weir_buffer *buffer, const weir__liveness *liveness, weir__id task, weir_mode mode,
                         uint64_t lo, uint64_t hi, weir__dependences *dependences) {
  bool overwrites_all = mode != WEIR_READ && lo == 0 && hi == buffer->bytes;
  if (!overwrites_all) {
    weir__buffer_access_box(buffer, liveness, task, mode, lo, hi, NULL, dependences);
    return;
  }
  weir__box_map_write_all(&buffer->boxes, liveness, task, mode != WEIR_WRITE, dependences);
  weir__buffer_forget_users(buffer);
  buffer->whole.writer = task;
}

void weir__buffer_access_box(weir_buffer *buffer, const weir__liveness *liveness, weir__id task, weir_mode mode,
                             uint64_t lo, uint64_t hi, const weir_box *box, weir__dependences *dependences) {
  buffer->last_use = task;
  if (mode == WEIR_READ)
    weir__box_map_read(&buffer->boxes, liveness, task, lo, hi, box, dependences);
  else
    weir__box_map_write(&buffer->boxes, liveness, task, mode != WEIR_WRITE, lo, hi, box, dependences);
}

typedef struct conversion {
  weir__box_map *map;
  const weir__liveness *liveness;
  bool failed;
} conversion;

static void convert_segment(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  conversion *self = user;
  if (self->failed || (weir__segment_idle(segment, self->liveness) && !segment->poisoned)) return;
  self->failed = !weir__box_map_add(self->map, lo, hi, NULL, segment);
}

// From now on the buffer is used by boxes. False: no memory, and it is not.
static bool convert(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness, const weir_box *box) {
  conversion self = {.map = &buffer->boxes, .liveness = liveness};
  weir__box_map_initialize(&buffer->boxes, &pool->boxes, buffer->bytes, box);
  weir__buffer_visit(buffer, 0, buffer->bytes, convert_segment, &self);
  if (self.failed) {
    weir__box_map_deinitialize(&buffer->boxes);
    return false;
  }
  if (buffer->ranged) weir__range_map_deinitialize(&buffer->map);
  weir__segment_reset(&buffer->whole);
  buffer->boxed = buffer->ranged = true;
  return true;
}

bool weir__buffer_use_boxes(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness,
                            const weir_box *box) {
  if (!buffer->boxed) return convert(buffer, pool, liveness, box);
  if (!weir__box_fits(&buffer->boxes.layout, box)) weir__box_map_take_layout(&buffer->boxes, liveness, box);
  return true;
}

bool weir__buffer_prepare(weir_buffer *buffer, const weir__liveness *liveness, weir_mode mode, uint64_t lo, uint64_t hi,
                          const weir_box *box) {
  bool overwrites_all = mode != WEIR_READ && lo == 0 && hi == buffer->bytes && box == NULL;
  return !buffer->boxed || overwrites_all || weir__box_map_prepare(&buffer->boxes, liveness, lo, hi, box);
}

void weir__buffer_access_range(weir_buffer *buffer, weir__range_pool *pool, const weir__liveness *liveness,
                               weir__id task, weir_mode mode, uint64_t lo, uint64_t hi,
                               weir__dependences *dependences) {
  if (buffer->boxed) {
    access_boxed(buffer, liveness, task, mode, lo, hi, dependences);
    return;
  }
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
  if (buffer->boxed) return weir__box_map_idle(&buffer->boxes, liveness);
  return buffer->ranged ? weir__range_map_idle(&buffer->map, liveness) : weir__segment_idle(&buffer->whole, liveness);
}

// Cuts the users of a buffer where poison begins and ends, so that no other byte is poisoned with it.
static void cut_for_poison(weir_buffer *buffer, weir__range_pool *pool, weir__id task, uint64_t lo, uint64_t hi) {
  if (lo == 0 && hi >= buffer->bytes) return;
  if (buffer->boxed) {
    static uint8_t none_done;
    const weir__liveness all_live = {.oldest = 1, .mask = 0, .done = &none_done}; // the writer may be done just now
    weir__box_pool_begin(&pool->boxes, &all_live);
    weir__box_map_prepare(&buffer->boxes, &all_live, lo, hi, NULL);
  } else if (!buffer->ranged && buffer->whole.writer == task && weir__range_pool_reserve(pool, 1)) {
    weir__range_map_initialize(&buffer->map, pool, buffer->bytes, &buffer->whole);
    buffer->ranged = true;
  }
}

void weir__buffer_poison(weir_buffer *buffer, weir__range_pool *pool, weir__id task, uint64_t lo, uint64_t hi,
                         uint32_t failure) {
  cut_for_poison(buffer, pool, task, lo, hi);
  if (buffer->boxed)
    weir__box_map_poison(&buffer->boxes, task, lo, hi, NULL, failure);
  else if (buffer->ranged)
    weir__range_map_poison(&buffer->map, task, lo, hi, failure);
  else if (weir__segment_is_by(&buffer->whole, task))
    buffer->whole.poisoned = failure;
}

void weir__buffer_poison_box(weir_buffer *buffer, weir__range_pool *pool, weir__id task, uint64_t lo, uint64_t hi,
                             const weir_box *box, uint32_t failure) {
  if (buffer->boxed && box != NULL)
    weir__box_map_poison(&buffer->boxes, task, lo, hi, box, failure);
  else
    weir__buffer_poison(buffer, pool, task, lo, hi, failure); // it was overwritten since, as a whole
}

// The same as weir__buffer_note_users for a buffer that is used by ranges, or by tasks that commute.
static __attribute__((noinline)) void note_many_users(const weir_buffer *buffer, weir__block *block) {
  const weir__segment *whole = &buffer->whole;
  block->last_use = buffer->last_use;
  block->user_count = 0;
  block->users_known = !buffer->ranged && whole->reader_count < WEIR__BLOCK_USERS;
  if (!block->users_known) return;
  const weir__id *readers = weir__segment_readers(whole);
  uint32_t count = whole->reader_count;
  for (uint32_t i = 0; i < count; i++) block->users[i] = weir__reader_task(readers[i]);
  block->users[count] = whole->writer;
  block->user_count = (uint8_t)(count + 1);
}

void weir__buffer_visit(weir_buffer *buffer, uint64_t lo, uint64_t hi, weir__segment_visit visit, void *user) {
  if (buffer->boxed)
    weir__box_map_visit(&buffer->boxes, lo, hi, NULL, visit, user);
  else if (buffer->ranged)
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
  weir__validity_give(buffer->parts);
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

static inline void note_users(const weir_buffer *buffer, weir__block *block) {
  if (buffer->ranged | buffer->whole.commutes)
    note_many_users(buffer, block);
  else
    weir__buffer_note_users(buffer, block);
}

static inline void drop_place(weir_buffer *buffer, uint32_t space, weir__pool *pool, bool idle) {
  weir__block *block = buffer->replicas[space].block;
  if (idle) { // who had it does not matter
    weir__pool_give(pool, block);
  } else {
    note_users(buffer, block);
    weir__pool_give_waiting(pool, block);
  }
  buffer->replicas[space] = (weir__replica){0};
}

void weir__buffer_drop_place(weir_buffer *buffer, uint32_t space, weir__pool *pool, bool idle) {
  drop_place(buffer, space, pool, idle);
  buffer->held &= (uint16_t)~weir__space_bit(space);
}

void weir__buffer_drop_storage(weir_buffer *buffer, weir__pool *pools, bool idle) {
  for (uint32_t held = buffer->held; held != 0; held &= held - 1) {
    uint32_t space = (uint32_t)__builtin_ctz(held);
    drop_place(buffer, space, &pools[space], idle);
  }
  if (buffer->ranged | buffer->boxed)
    weir__buffer_forget_users(buffer);
  else
    weir__segment_reset(&buffer->whole);
  if (buffer->parts != NULL) forget_parts(buffer);
  buffer->held = buffer->valid = 0;
  buffer->serial++;
  buffer->last_use = 0;
}

bool weir__buffer_exchange_storage(weir_buffer *buffer, uint32_t space, weir__pool *pool,
                                   const weir__liveness *liveness) {
  weir__replica *replica = &buffer->replicas[space];
  note_users(buffer, replica->block);
  weir__block *fresh = weir__pool_exchange(pool, replica->block, liveness);
  if (fresh == NULL) return false;
  *replica = (weir__replica){.block = fresh, .memory = fresh->memory, .storage = fresh->number};
  buffer->whole.writer = 0;
  buffer->whole.reader_count = 0;
  buffer->whole.odd = 0;
  buffer->serial++;
  return true;
}
