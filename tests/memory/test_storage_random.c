// SPDX-License-Identifier: Apache-2.0
//
// Buffers that are renamed, released and made again on a small pool: a task that gets storage comes after every task
// that still uses it, because none does, or because it waits for the users that the block names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "random.h"
#include "window/buffer.h"

enum { BUFFERS = 6, BYTES = 100, MAX_BLOCKS = 4096 };

typedef struct run {
  random_state random;
  weir__range_pool ranges;
  weir__pool pool;
  weir__dependences hits;
  model_tasks tasks;
  weir_buffer buffers[BUFFERS];
  model_buffer models[BUFFERS];
  uint64_t users[MAX_BLOCKS]; // per block number: tasks in flight that use it, as a mask of slots
} run;

static run self;
static uint64_t taken, taken_waiting, renamed, denied; // over all seeds of a test

static uint64_t bit_of(weir__id task) {
  return UINT64_C(1) << (task % MODEL_WINDOW);
}

// The task is ordered behind all tasks in the mask.
static void order_behind(weir__id task, weir__id before) {
  if (!weir__live(&self.tasks.live, before)) return;
  uint64_t *mask = &self.tasks.before[task % MODEL_WINDOW];
  *mask |= bit_of(before) | self.tasks.before[before % MODEL_WINDOW];
}

// Storage for a buffer that has none, or a fresh one if it has. NULL: only at the cost of waiting for anybody.
static weir__block *find_block(bool first) {
  weir__block *block = NULL;
  if (weir__pool_take(&self.pool, BYTES, &self.tasks.live, &block) == WEIR__POOL_OK) {
    assert_true(block->number < MAX_BLOCKS);
    assert_int_equal(self.users[block->number], 0);
    taken++;
    return block;
  }
  if (!first) return NULL;
  block = weir__pool_take_waiting(&self.pool, BYTES, &self.tasks.live);
  if (block != NULL) taken_waiting++;
  return block;
}

static void attach(uint32_t index, weir__block *block, weir__id task) {
  for (uint8_t i = 0; i < block->user_count; i++) order_behind(task, block->users[i]);
  assert_int_equal(self.users[block->number] & ~self.tasks.before[task % MODEL_WINDOW], 0);
  weir__buffer_set_storage(&self.buffers[index], WEIR__HOST_SPACE, block);
}

static void detach(uint32_t index) {
  weir_buffer *buffer = &self.buffers[index];
  weir__buffer_drop_storage(buffer, &self.pool, weir__buffer_idle(buffer, &self.tasks.live));
  model_initialize(&self.models[index], BYTES);
}

static bool submit(void) {
  uint32_t index = random_below(&self.random, BUFFERS);
  weir_buffer *buffer = &self.buffers[index];
  weir_mode mode = (weir_mode)random_between(&self.random, WEIR_READ, WEIR_READ_WRITE);
  bool whole = random_chance(&self.random, 75), fresh = buffer->replicas[WEIR__HOST_SPACE].block == NULL;
  uint64_t lo = whole ? 0 : random_below(&self.random, BYTES);
  uint64_t hi = whole ? BYTES : random_between(&self.random, (uint32_t)lo + 1, BYTES);
  bool rename = !fresh && whole && mode == WEIR_WRITE && !weir__buffer_idle(buffer, &self.tasks.live);
  weir__block *block = fresh || rename ? find_block(fresh) : NULL;
  if (fresh && block == NULL) return false;
  weir__id task = model_tasks_begin(&self.tasks);
  renamed += rename && block != NULL;
  denied += rename && block == NULL;
  if (rename && block != NULL) detach(index);
  if (block != NULL) attach(index, block, task);
  assert_true(weir__range_pool_reserve(&self.ranges, 1));
  weir__dependences_clear(&self.hits);
  weir__buffer_access(buffer, &self.ranges, &self.tasks.live, task, mode, lo, hi, &self.hits);
  model_access(&self.models[index], &self.tasks, task, mode, lo, hi, &self.hits);
  self.users[buffer->replicas[WEIR__HOST_SPACE].block->number] |= bit_of(task);
  return true;
}

// Tasks end after those that they wait for.
static void finish(void) {
  weir__id task = model_tasks_pick(&self.tasks, random_next(&self.random));
  while (self.tasks.before[task % MODEL_WINDOW] != 0) {
    uint32_t slot = (uint32_t)__builtin_ctzll(self.tasks.before[task % MODEL_WINDOW]);
    task = self.tasks.live.oldest + ((slot - self.tasks.live.oldest) & (MODEL_WINDOW - 1));
  }
  uint64_t mask = ~bit_of(task);
  for (uint32_t i = 0; i < MAX_BLOCKS; i++) self.users[i] &= mask;
  for (uint32_t i = 0; i < BUFFERS; i++) {
    weir__id oldest = self.tasks.live.oldest;
    model_tasks before = self.tasks;
    model_finish(&self.models[i], &self.tasks, task, false);
    if (i + 1 < BUFFERS) self.tasks = before; // once for all models
    assert_true(oldest <= self.tasks.live.oldest);
  }
  self.tasks.live.done = self.tasks.done;
}

static void run_seed(uint64_t seed, uint64_t blocks) {
  memset(&self, 0, sizeof self);
  self.random.value = seed;
  weir__range_pool_initialize(&self.ranges);
  weir__pool_initialize(&self.pool, &weir__heap, blocks * 112, 1);
  weir__dependences_initialize(&self.hits);
  model_tasks_initialize(&self.tasks);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    self.buffers[i].bytes = BYTES;
    weir__segment_initialize(&self.buffers[i].whole);
    model_initialize(&self.models[i], BYTES);
  }
  uint32_t eager = random_between(&self.random, 20, 60);
  for (int step = 0; step < 5000; step++) {
    bool room = !model_tasks_full(&self.tasks) && self.pool.next_number < MAX_BLOCKS;
    bool submitted = room && random_chance(&self.random, eager) && submit();
    if (!submitted && self.tasks.live_mask != 0) finish();
    if (room && random_chance(&self.random, 2)) detach(random_below(&self.random, BUFFERS));
  }
  for (uint32_t i = 0; i < BUFFERS; i++) {
    detach(i);
    weir__segment_deinitialize(&self.buffers[i].whole);
  }
  weir__dependences_deinitialize(&self.hits);
  weir__range_pool_deinitialize(&self.ranges);
  weir__pool_deinitialize(&self.pool);
}

static void run_seeds(uint64_t blocks) {
  taken = taken_waiting = renamed = denied = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) run_seed(seed, blocks);
  print_message("%llu blocks taken idle, %llu in use, %llu renamed, %llu denied\n", (unsigned long long)taken,
                (unsigned long long)taken_waiting, (unsigned long long)renamed, (unsigned long long)denied);
  assert_true(taken > 1000);
}

static void plenty_of_blocks(void **state) {
  (void)state;
  run_seeds(1000);
  assert_true(renamed > 1000);
  assert_int_equal(denied, 0);
}

static void few_blocks(void **state) {
  (void)state;
  run_seeds(8);
  assert_true(renamed > 100 && denied > 100 && taken_waiting > 10);
}

static void hardly_any_blocks(void **state) {
  (void)state;
  run_seeds(4);
  assert_true(denied > 10 && taken_waiting > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plenty_of_blocks),
      cmocka_unit_test(few_blocks),
      cmocka_unit_test(hardly_any_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
