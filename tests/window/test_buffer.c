// SPDX-License-Identifier: Apache-2.0
//
// Buffers that are used whole and by ranges, in turn, against the byte-by-byte model; and their storage.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"
#include "random.h"
#include "window/buffer.h"

typedef struct run {
  random_state random;
  weir__range_pool ranges;
  weir__pool storage;
  weir_buffer buffer;
  model_buffer model;
  model_tasks tasks;
  weir__dependences dependences;
  struct {
    uint64_t lo, hi;
    bool writes;
  } used[MODEL_WINDOW]; // per slot
} run;

static run self;

static void set_up_bytes(uint64_t seed, uint32_t bytes) {
  self = (run){.random = {seed}};
  weir__range_pool_initialize(&self.ranges);
  weir__pool_initialize(&self.storage, &weir__heap, UINT64_MAX, 1);
  self.buffer.bytes = bytes;
  weir__segment_initialize(&self.buffer.whole);
  model_initialize(&self.model, bytes);
  model_tasks_initialize(&self.tasks);
  weir__dependences_initialize(&self.dependences);
}

static int set_up(void **state) {
  (void)state;
  set_up_bytes(1, 100);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  if (self.buffer.ranged) weir__range_map_deinitialize(&self.buffer.map);
  weir__segment_deinitialize(&self.buffer.whole);
  weir__dependences_deinitialize(&self.dependences);
  weir__range_pool_deinitialize(&self.ranges);
  weir__pool_deinitialize(&self.storage);
  return 0;
}

static weir__id use(weir_mode mode, uint64_t lo, uint64_t hi) {
  weir__id task = model_tasks_begin(&self.tasks);
  assert_true(weir__range_pool_reserve(&self.ranges, 1));
  weir__dependences_clear(&self.dependences);
  weir__buffer_access(&self.buffer, &self.ranges, &self.tasks.live, task, mode, lo, hi, &self.dependences);
  model_access(&self.model, &self.tasks, task, mode, lo, hi, &self.dependences);
  assert_int_equal(self.buffer.last_use, task);
  self.used[task % MODEL_WINDOW].lo = lo;
  self.used[task % MODEL_WINDOW].hi = hi;
  self.used[task % MODEL_WINDOW].writes = mode != WEIR_READ;
  return task;
}

static weir__id use_all(weir_mode mode) {
  return use(mode, 0, self.buffer.bytes);
}

static void finish(weir__id task, bool failed) {
  uint32_t slot = (uint32_t)(task % MODEL_WINDOW);
  if (failed && self.used[slot].writes)
    weir__buffer_poison(&self.buffer, &self.ranges, task, self.used[slot].lo, self.used[slot].hi, 1);
  model_finish(&self.model, &self.tasks, task, failed);
}

static void check(void) {
  if (self.buffer.ranged)
    model_check_map(&self.model, &self.tasks, &self.buffer.map);
  else
    model_check_segment(&self.model, &self.tasks, 0, self.buffer.bytes, &self.buffer.whole);
}

static bool model_idle(void) {
  for (uint32_t byte = 0; byte < self.model.bytes; byte++) {
    if (self.model.writer[byte] != MODEL_NO_WRITER || self.model.readers[byte] != 0) return false;
  }
  return true;
}

static void whole_and_ranges_at_random(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    tear_down(NULL);
    set_up_bytes(seed, random_between(&(random_state){seed}, 1, 100));
    for (int step = 0; step < 1500; step++) {
      uint32_t dice = random_below(&self.random, 100);
      weir_mode mode = (weir_mode)random_between(&self.random, WEIR_READ, WEIR_READ_WRITE);
      if (model_tasks_full(&self.tasks) || (dice < 45 && self.tasks.live_mask != 0)) {
        weir__id task = model_tasks_full(&self.tasks) ? self.tasks.live.oldest
                                                      : model_tasks_pick(&self.tasks, random_next(&self.random));
        finish(task, random_chance(&self.random, 20));
      } else if (dice < 60) {
        use_all(mode);
        if (mode != WEIR_READ) assert_false(self.buffer.ranged);
      } else {
        uint64_t lo = random_below(&self.random, (uint32_t)self.buffer.bytes);
        use(mode, lo, lo + random_between(&self.random, 1, (uint32_t)(self.buffer.bytes - lo)));
      }
      check();
      if (step % 8 == 0) assert_int_equal(weir__buffer_idle(&self.buffer, &self.tasks.live), model_idle());
    }
  }
}

static void stays_one_segment_while_used_whole(void **state) {
  (void)state;
  use_all(WEIR_WRITE);
  use_all(WEIR_READ);
  use_all(WEIR_READ_WRITE);
  assert_false(self.buffer.ranged);
  use(WEIR_READ, 0, 99);
  assert_true(self.buffer.ranged);
  assert_int_equal(self.dependences.count, 1);
  use_all(WEIR_READ); // a read keeps the ranges
  assert_true(self.buffer.ranged);
  use_all(WEIR_WRITE);
  assert_false(self.buffer.ranged);
}

static void only_the_last_writer_poisons(void **state) {
  (void)state;
  weir__id first = use_all(WEIR_WRITE);
  use_all(WEIR_WRITE);
  weir__buffer_poison(&self.buffer, &self.ranges, first, 0, 100, 1);
  assert_false(self.buffer.whole.poisoned);
  weir__id third = use(WEIR_WRITE, 0, 50);
  weir__buffer_poison(&self.buffer, &self.ranges, first, 0, 100, 1);
  check();
  finish(third, true);
  check();
}

static weir__block *give_storage(void) {
  weir__block *block;
  assert_int_equal(weir__pool_take(&self.storage, self.buffer.bytes, &self.tasks.live, &block), WEIR__POOL_OK);
  weir__buffer_set_storage(&self.buffer, WEIR__HOST_SPACE, block);
  assert_ptr_equal(self.buffer.replicas[WEIR__HOST_SPACE].block, block);
  assert_ptr_equal(self.buffer.replicas[WEIR__HOST_SPACE].memory, block->memory);
  assert_int_equal(self.buffer.replicas[WEIR__HOST_SPACE].storage, block->number);
  return block;
}

static void drop_storage(void) {
  weir__buffer_drop_storage(&self.buffer, &self.storage, weir__buffer_idle(&self.buffer, &self.tasks.live));
  assert_null(self.buffer.replicas[WEIR__HOST_SPACE].block);
  assert_null(self.buffer.replicas[WEIR__HOST_SPACE].memory);
  assert_false(self.buffer.ranged);
  assert_true(weir__buffer_idle(&self.buffer, &self.tasks.live));
}

static void idle_storage_is_free_at_once(void **state) {
  (void)state;
  weir__block *block = give_storage();
  uint32_t serial = self.buffer.serial;
  weir__id task = use_all(WEIR_WRITE);
  finish(task, false);
  drop_storage();
  assert_ptr_equal(self.storage.free[block->size_class], block);
  assert_int_not_equal(self.buffer.serial, serial);
  assert_ptr_equal(give_storage(), block);
}

static bool is_user(const weir__block *block, weir__id task) {
  for (uint8_t i = 0; i < block->user_count; i++) {
    if (block->users[i] == task) return true;
  }
  return false;
}

static void storage_in_use_waits_with_its_users(void **state) {
  (void)state;
  for (int readers = 0; readers <= WEIR__BLOCK_USERS + 1; readers++) {
    tear_down(NULL);
    set_up_bytes(1, 100);
    weir__block *block = give_storage();
    weir__id writer = use_all(WEIR_WRITE);
    for (int i = 0; i < readers; i++) use_all(WEIR_READ);
    drop_storage();
    assert_ptr_equal(self.storage.waiting[block->size_class], block);
    assert_int_equal(block->last_use, writer + (weir__id)readers);
    assert_int_equal(block->users_known, readers < WEIR__BLOCK_USERS);
    for (weir__id task = writer; block->users_known && task <= block->last_use; task++) {
      if (task != writer || readers == 0) assert_true(is_user(block, task)); // the writer is before its readers
    }
  }
}

static void storage_used_by_ranges_does_not_know_its_users(void **state) {
  (void)state;
  weir__block *block = give_storage();
  use_all(WEIR_WRITE);
  weir__id last = use(WEIR_READ, 10, 20);
  drop_storage();
  assert_ptr_equal(self.storage.waiting[block->size_class], block);
  assert_false(block->users_known);
  assert_int_equal(block->last_use, last);
}

// Readers of a buffer that tasks commute on have tags; users of a block have none.
static void exchanged_storage_knows_tasks_that_commute(void **state) {
  (void)state;
  weir__block *block = give_storage(), *other;
  assert_int_equal(weir__pool_take(&self.storage, self.buffer.bytes, &self.tasks.live, &other), WEIR__POOL_OK);
  weir__pool_give(&self.storage, other);
  const weir__liveness *live = &self.tasks.live;
  weir__id task = model_tasks_begin(&self.tasks);
  weir__buffer_commute(&self.buffer, &self.ranges, live, task, 0, self.buffer.bytes, &self.dependences);
  weir__id reader = model_tasks_begin(&self.tasks);
  weir__buffer_access(&self.buffer, &self.ranges, live, reader, WEIR_READ, 0, self.buffer.bytes, &self.dependences);
  assert_true(weir__buffer_exchange_storage(&self.buffer, WEIR__HOST_SPACE, &self.storage, live));
  assert_ptr_equal(self.storage.waiting[block->size_class], block);
  assert_true(is_user(block, task));
  assert_true(is_user(block, reader));
}

static void without_storage_there_is_nothing_to_give(void **state) {
  (void)state;
  use(WEIR_WRITE, 0, 10);
  drop_storage();
  assert_int_equal(self.storage.bytes, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(whole_and_ranges_at_random),
      TEST(stays_one_segment_while_used_whole),
      TEST(only_the_last_writer_poisons),
      TEST(idle_storage_is_free_at_once),
      TEST(storage_in_use_waits_with_its_users),
      TEST(storage_used_by_ranges_does_not_know_its_users),
      TEST(exchanged_storage_knows_tasks_that_commute),
      TEST(without_storage_there_is_nothing_to_give),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
