// SPDX-License-Identifier: Apache-2.0
//
// Random takes and gives, by tasks that end in any order, against a list of all blocks and who uses them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/pool.h"
#include "random.h"

enum { WINDOW = 64, MAX_HELD = 40, STEPS = 20000 };

typedef struct run {
  random_state random;
  uint8_t done[WINDOW];
  weir__liveness live;
  weir__id next;
  weir__pool pool;
  weir__block *held[MAX_HELD]; // blocks that are handed out
  uint32_t held_count;
  uint64_t peak;
} run;

// Every byte that the pool counts is in a block that is handed out, free or waiting.
static uint64_t bytes_in_pool(const run *self) {
  uint64_t sum = 0;
  for (int i = 0; i < WEIR__POOL_CLASSES; i++) {
    const weir__block *last = NULL;
    for (const weir__block *block = self->pool.free[i]; block != NULL; block = block->next) {
      assert_int_equal(block->size_class, i);
      sum += block->bytes;
    }
    for (const weir__block *block = self->pool.waiting[i]; block != NULL; block = block->next) {
      assert_int_equal(block->size_class, i);
      sum += block->bytes;
      last = block;
    }
    if (last != NULL) assert_ptr_equal(self->pool.last_waiting[i], last);
  }
  for (uint32_t i = 0; i < self->held_count; i++) sum += self->held[i]->bytes;
  return sum;
}

static bool any_live(const run *self, const weir__block *block) {
  for (uint8_t i = 0; i < block->user_count; i++) {
    if (weir__live(&self->live, block->users[i])) return true;
  }
  return false;
}

static void take(run *self) {
  if (self->held_count == MAX_HELD) return;
  uint64_t bytes = 1 + (random_next(&self->random) % 16384 >> random_below(&self->random, 12));
  weir__block *block = NULL;
  uint64_t before = self->pool.bytes;
  weir__pool_result result = weir__pool_take(&self->pool, bytes, &self->live, &block);
  if (result == WEIR__POOL_OK) {
    // What users it had when it was given are done; the pool forgets their number, not their ids.
    assert_int_equal(block->user_count, 0);
    assert_true(block->last_use < self->live.oldest || block->users_known);
  } else {
    assert_int_equal(result, WEIR__POOL_LIMIT);
    assert_null(block);
    assert_true(self->pool.bytes <= before);
    block = weir__pool_take_waiting(&self->pool, bytes, &self->live);
    if (block == NULL) return;
    assert_true(block->users_known);
    for (uint8_t i = 0; i < block->user_count; i++) assert_true(weir__live(&self->live, block->users[i]));
  }
  assert_true(block->bytes >= bytes);
  for (uint32_t i = 0; i < self->held_count; i++) assert_ptr_not_equal(self->held[i], block);
  memset(block->memory, (int)(block->number & 0xff), block->bytes); // nobody else's
  self->held[self->held_count++] = block;
}

static void give(run *self) {
  if (self->held_count == 0) return;
  uint32_t index = random_below(&self->random, self->held_count);
  weir__block *block = self->held[index];
  self->held[index] = self->held[--self->held_count];
  const unsigned char *memory = block->memory;
  for (uint64_t i = 0; i < block->bytes; i += 61) {
    if (memory[i] != (block->number & 0xff)) fail();
  }
  block->user_count = 0;
  block->users_known = random_chance(&self->random, 70);
  block->last_use = 0;
  uint32_t users = random_below(&self->random, WEIR__BLOCK_USERS + 1);
  for (uint32_t i = 0; i < users && self->next > self->live.oldest; i++) {
    weir__id task = self->live.oldest + random_below(&self->random, (uint32_t)(self->next - self->live.oldest));
    if (!weir__live(&self->live, task)) continue;
    if (task > block->last_use) block->last_use = task;
    if (block->users_known) block->users[block->user_count++] = task;
  }
  if (block->last_use == 0)
    weir__pool_give(&self->pool, block);
  else
    weir__pool_give_waiting(&self->pool, block);
}

static void begin_task(run *self) {
  if (self->next - self->live.oldest == WINDOW) return;
  self->done[self->next++ % WINDOW] = 0;
}

static void end_task(run *self) {
  if (self->next == self->live.oldest) return;
  weir__id task = self->live.oldest + random_below(&self->random, (uint32_t)(self->next - self->live.oldest));
  self->done[task % WINDOW] = 1;
  while (self->live.oldest < self->next && self->done[self->live.oldest % WINDOW]) self->live.oldest++;
}

static void run_seed(uint64_t seed) {
  static run self;
  self = (run){.random = {seed}, .next = 1};
  self.live = (weir__liveness){.oldest = 1, .mask = WINDOW - 1, .done = self.done};
  uint64_t limit = random_chance(&self.random, 30) ? UINT64_MAX : random_between(&self.random, 10000, 200000);
  weir__pool_initialize(&self.pool, &weir__heap, limit, 1);
  for (int step = 0; step < STEPS; step++) {
    uint32_t dice = random_below(&self.random, 100);
    if (dice < 30)
      take(&self);
    else if (dice < 60)
      give(&self);
    else if (dice < 79)
      begin_task(&self);
    else if (dice < 99)
      end_task(&self);
    else
      weir__pool_trim(&self.pool, random_below(&self.random, 100000), &self.live);
    if (self.pool.bytes > self.peak) self.peak = self.pool.bytes;
    assert_true(self.pool.bytes <= limit);
    assert_int_equal(self.pool.peak_bytes, self.peak);
    if (step % 64 == 0) assert_int_equal(bytes_in_pool(&self), self.pool.bytes);
  }
  while (self.next > self.live.oldest) end_task(&self);
  while (self.held_count > 0) give(&self);
  assert_int_equal(bytes_in_pool(&self), self.pool.bytes);
  weir__pool_trim(&self.pool, 0, &self.live);
  assert_int_equal(self.pool.bytes, 0); // all of it was idle
  weir__pool_deinitialize(&self.pool);
}

static void random_sequences(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 30; seed++) run_seed(seed);
}

// A block that is taken has no user that is still in flight.
static void taken_blocks_are_not_in_use(void **state) {
  (void)state;
  static run self;
  self = (run){.random = {99}, .next = 1};
  self.live = (weir__liveness){.oldest = 1, .mask = WINDOW - 1, .done = self.done};
  weir__pool_initialize(&self.pool, &weir__heap, UINT64_MAX, 1);
  for (int step = 0; step < 50000; step++) {
    begin_task(&self);
    weir__block *block;
    assert_int_equal(weir__pool_take(&self.pool, 100, &self.live, &block), WEIR__POOL_OK);
    weir__block seen = *block; // its users are still written there
    if (seen.last_use >= self.live.oldest && block->last_use != 0) {
      assert_true(seen.users_known);
      assert_false(any_live(&self, &seen));
      for (uint8_t i = 0; i < WEIR__BLOCK_USERS; i++) assert_true(seen.users[i] < self.next);
    }
    block->users_known = random_chance(&self.random, 50);
    block->last_use = self.next - 1;
    block->user_count = 1;
    block->users[0] = self.next - 1;
    weir__pool_give_waiting(&self.pool, block);
    end_task(&self);
  }
  assert_true(self.pool.bytes <= 112 * (uint64_t)WINDOW * 2);
  weir__pool_deinitialize(&self.pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_sequences),
      cmocka_unit_test(taken_blocks_are_not_in_use),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
