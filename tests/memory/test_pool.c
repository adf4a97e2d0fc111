// SPDX-License-Identifier: Apache-2.0
//
// The pool of storage: size classes, what is used again first, limits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "memory/pool.h"

enum { WINDOW = 64 };

static uint8_t done[WINDOW];
static weir__liveness live;
static weir__pool pool;

static void start(uint64_t limit) {
  memset(done, 0, sizeof done);
  live = (weir__liveness){.oldest = 1, .mask = WINDOW - 1, .done = done};
  weir__pool_initialize(&pool, &weir__heap, limit, 1);
}

static int set_up(void **state) {
  (void)state;
  start(UINT64_MAX);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir__allocate_fail_at(0);
  weir__pool_deinitialize(&pool);
  return 0;
}

static weir__block *take(uint64_t bytes) {
  weir__block *block;
  assert_int_equal(weir__pool_take(&pool, bytes, &live, &block), WEIR__POOL_OK);
  assert_non_null(block);
  assert_true(block->bytes >= bytes);
  assert_int_equal(block->user_count, 0);
  return block;
}

static weir__pool_result refuse(uint64_t bytes) {
  weir__block *block = (weir__block *)&pool;
  weir__pool_result result = weir__pool_take(&pool, bytes, &live, &block);
  assert_null(block);
  return result;
}

// Gives back a block that task `first` and those up to `last` use.
static void give_used(weir__block *block, weir__id first, weir__id last, bool known) {
  block->last_use = last;
  block->users_known = known;
  block->user_count = 0;
  for (weir__id task = first; known && task <= last; task++) block->users[block->user_count++] = task;
  weir__pool_give_waiting(&pool, block);
}

static void check_size(uint64_t bytes, uint64_t *last_bytes, uint8_t *last_class) {
  weir__block *block;
  if (weir__pool_take(&pool, bytes, &live, &block) != WEIR__POOL_OK) fail();
  if (block->bytes < bytes || block->bytes < *last_bytes || block->size_class < *last_class) fail();
  if ((block->bytes == *last_bytes) != (block->size_class == *last_class)) fail();
  if (bytes > 64 && (block->bytes - bytes) * 5 > block->bytes) fail(); // a fifth is waste at most
  if ((uintptr_t)block->memory % 64 != 0) fail();
  *last_bytes = block->bytes;
  *last_class = block->size_class;
  weir__pool_give(&pool, block);
}

static void every_size_up_to_two_megabytes(void **state) {
  (void)state;
  uint64_t last_bytes = 64;
  uint8_t last_class = 0;
  for (uint64_t bytes = 1; bytes <= 2 << 20; bytes++) check_size(bytes, &last_bytes, &last_class);
}

static void sizes_near_powers_of_two(void **state) {
  (void)state;
  uint64_t last_bytes = 64;
  uint8_t last_class = 0;
  for (uint64_t power = 128; power <= 64 << 20; power *= 2) {
    const uint64_t sizes[] = {power - 1, power, power + 1, power / 4 * 5, power / 4 * 5 + 1, power / 4 * 7 + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) check_size(sizes[i], &last_bytes, &last_class);
    weir__pool_trim(&pool, 0, &live);
  }
  assert_int_equal(pool.bytes, 0);
}

static void exact_sizes_waste_nothing(void **state) {
  (void)state;
  for (uint64_t power = 64; power <= 1 << 20; power *= 2) {
    assert_int_equal(take(power)->bytes, power);
    assert_int_equal(take(power / 4 * 5)->bytes, power == 64 ? 80 : power / 4 * 5);
  }
}

static void sizes_that_cannot_be(void **state) {
  (void)state;
  assert_int_equal(refuse(UINT64_MAX), WEIR__POOL_NO_MEMORY);
  assert_int_equal(refuse((UINT64_C(1) << 62) + 1), WEIR__POOL_NO_MEMORY);
  tear_down(NULL);
  start(1 << 20);
  assert_int_equal(refuse(UINT64_C(1) << 62), WEIR__POOL_LIMIT);
}

static void free_blocks_come_first(void **state) {
  (void)state;
  weir__block *a = take(1000), *b = take(1000), *c = take(1000);
  assert_true(a->number < b->number && b->number < c->number);
  give_used(a, 1, 1, true);
  done[1] = 1;
  weir__pool_give(&pool, b);
  weir__pool_give(&pool, c);
  assert_ptr_equal(take(1000), c); // the last that was given is the warmest
  assert_ptr_equal(take(1010), b);
  assert_ptr_equal(take(1000), a);
  assert_int_equal(pool.bytes, a->bytes + b->bytes + c->bytes);
  weir__block *d = take(1000);
  assert_true(d->number > c->number);
}

static void blocks_wait_for_known_users(void **state) {
  (void)state;
  weir__block *block = take(500);
  give_used(block, 2, 4, true);
  assert_ptr_not_equal(take(500), block);
  done[2] = done[4] = 1;
  assert_ptr_not_equal(take(500), block);
  done[3] = 1; // though task 1 is not done
  assert_ptr_equal(take(500), block);
}

static void blocks_wait_for_unknown_users(void **state) {
  (void)state;
  weir__block *block = take(500);
  give_used(block, 2, 4, false);
  done[2] = done[3] = done[4] = 1;
  assert_ptr_not_equal(take(500), block); // who knows
  live.oldest = 5;
  assert_ptr_equal(take(500), block);
}

static void waiting_blocks_are_found_behind_others(void **state) {
  (void)state;
  weir__block *blocks[5];
  for (int i = 0; i < 5; i++) blocks[i] = take(500);
  for (int i = 0; i < 5; i++) give_used(blocks[i], 1 + (weir__id)i, 1 + (weir__id)i, true);
  done[3] = 1;
  assert_ptr_equal(take(500), blocks[2]); // in the middle of the queue
  give_used(blocks[2], 10, 10, true);     // at its end
  done[1] = 1;
  assert_ptr_equal(take(500), blocks[0]);
  done[2] = done[4] = done[5] = done[10] = 1;
  assert_ptr_equal(take(500), blocks[1]);
  assert_ptr_equal(take(500), blocks[3]);
  assert_ptr_equal(take(500), blocks[4]);
  assert_ptr_equal(take(500), blocks[2]);
  assert_null(pool.waiting[blocks[0]->size_class]);
}

static void waiting_blocks_at_a_price(void **state) {
  (void)state;
  assert_null(weir__pool_take_waiting(&pool, 500, &live));
  weir__block *a = take(500), *b = take(500);
  give_used(a, 1, 3, false);
  assert_null(weir__pool_take_waiting(&pool, 500, &live)); // its users are not known
  give_used(b, 1, 3, true);
  done[2] = 1;
  assert_ptr_equal(weir__pool_take_waiting(&pool, 500, &live), b);
  assert_int_equal(b->user_count, 2); // those that are done need no wait
  assert_int_equal(b->users[0], 1);
  assert_int_equal(b->users[1], 3);
  weir__pool_give_waiting(&pool, b);
  assert_null(weir__pool_take_waiting(&pool, 5000, &live)); // another size
  assert_ptr_equal(weir__pool_take_waiting(&pool, 500, &live), b);
  assert_null(weir__pool_take_waiting(&pool, 500, &live));
}

static void users_of_the_past_are_dropped(void **state) {
  (void)state;
  weir__block *block = take(500);
  give_used(block, 1, 3, true);
  live.oldest = 10;
  assert_ptr_equal(weir__pool_take_waiting(&pool, 500, &live), block);
  assert_int_equal(block->user_count, 0);
}

static void the_limit_holds(void **state) {
  (void)state;
  tear_down(NULL);
  start(4096);
  weir__block *a = take(2048), *b = take(2048);
  assert_int_equal(pool.bytes, 4096);
  assert_int_equal(refuse(64), WEIR__POOL_LIMIT);
  assert_int_equal(refuse(8192), WEIR__POOL_LIMIT);
  assert_int_equal(pool.bytes, 4096);
  weir__pool_give(&pool, a);
  take(64); // another class: idle memory gives way
  assert_int_equal(pool.bytes, 2048 + 64);
  assert_int_equal(refuse(2048), WEIR__POOL_LIMIT);
  give_used(b, 1, 1, true);
  assert_int_equal(refuse(4000), WEIR__POOL_LIMIT);
  done[1] = 1;
  take(3584); // what waited is idle now
  assert_int_equal(pool.bytes, 3584 + 64);
  assert_int_equal(pool.peak_bytes, 4096);
}

static void more_than_the_limit_leaves_the_rest_alone(void **state) {
  (void)state;
  tear_down(NULL);
  start(4096);
  assert_int_equal(refuse(5000), WEIR__POOL_LIMIT);
  weir__block *block = take(4096);
  weir__pool_give(&pool, block);
  assert_int_equal(take(4096)->bytes, 4096);
}

// Idle memory behind a block in use is idle all the same.
static void idle_blocks_behind_busy_ones_give_way(void **state) {
  (void)state;
  tear_down(NULL);
  start(4096);
  weir__block *busy = take(2048), *idle = take(2048);
  give_used(busy, 5, 5, true);
  give_used(idle, 2, 2, true);
  done[2] = 1;
  assert_int_equal(take(64)->bytes, 64);
  assert_int_equal(pool.bytes, 2048 + 64);
}

static void trim_frees_what_is_idle(void **state) {
  (void)state;
  weir__block *a = take(1024), *b = take(4096), *c = take(256);
  weir__pool_give(&pool, a);
  weir__pool_give(&pool, b);
  weir__pool_trim(&pool, 5376, &live);
  assert_int_equal(pool.bytes, 5376); // nothing to do
  weir__pool_trim(&pool, 1280, &live);
  assert_int_equal(pool.bytes, 1280);
  give_used(c, 1, 1, true);
  weir__pool_trim(&pool, 0, &live);
  assert_int_equal(pool.bytes, 256);
  done[1] = 1;
  weir__pool_trim(&pool, 0, &live);
  assert_int_equal(pool.bytes, 0);
  assert_int_equal(pool.peak_bytes, 5376);
  take(100);
  assert_int_equal(pool.bytes, 112);
}

// Where the source has no more, idle blocks of other sizes are given back to it first.
static void idle_blocks_make_room(void **state) {
  (void)state;
  weir__block *idle = take(1000), *used = take(2000);
  weir__pool_give(&pool, idle);
  weir__allocate_fail_at(1);
  weir__block *fresh = take(5000);
  weir__allocate_fail_at(0);
  assert_int_equal(pool.bytes, used->bytes + fresh->bytes);
  assert_int_equal(pool.free_bytes, 0);
}

// Takes blocks of one size, up to twice of what a pool keeps, and gives them back.
static uint64_t come_and_go(uint64_t bytes, bool waits, bool ended) {
  static weir__block *blocks[256];
  uint32_t count = (uint32_t)(2 * WEIR__POOL_KEPT / bytes);
  for (uint32_t i = 0; i < count; i++) blocks[i] = take(bytes);
  done[1] = ended;
  for (uint32_t i = 0; i < count; i++) {
    if (waits)
      give_used(blocks[i], 1, 1, true);
    else
      weir__pool_give(&pool, blocks[i]);
  }
  return pool.bytes;
}

// A program whose sizes change left the blocks of all its sizes behind.
static void idle_blocks_of_other_sizes_are_few(void **state) {
  (void)state;
  const uint64_t used = 2 * WEIR__POOL_KEPT;
  for (uint64_t step = 4; step < 8; step++) come_and_go(step << 19, false, false);
  assert_true(pool.bytes <= used * 9 / 4);
  uint64_t bytes = pool.bytes;
  for (int i = 0; i < 10; i++)
    assert_int_equal(come_and_go(7 << 19, false, false), bytes); // one size: they are used again
  for (uint64_t step = 4; step < 8; step++) come_and_go(step << 20, true, true);
  assert_true(pool.bytes <= used * 9 / 4);
}

static void blocks_in_use_are_no_surplus(void **state) {
  (void)state;
  uint64_t bytes = 0;
  for (uint64_t step = 4; step < 8; step++) bytes += come_and_go(step << 19, true, false) - bytes;
  assert_true(pool.waiting_bytes == bytes && bytes > 7 * (uint64_t)WEIR__POOL_KEPT);
}

// What a pool keeps in any case is not looked through.
static void a_small_pool_keeps_all(void **state) {
  (void)state;
  for (uint64_t bytes = 1 << 18; bytes < 1 << 23; bytes += bytes / 4) weir__pool_give(&pool, take(bytes));
  uint64_t before = pool.bytes;
  assert_true(before > WEIR__POOL_KEPT / 2 && before < WEIR__POOL_KEPT);
  for (uint64_t bytes = 1 << 18; bytes < 1 << 23; bytes += bytes / 4) weir__pool_give(&pool, take(bytes));
  assert_int_equal(pool.bytes, before);
}

static void no_memory(void **state) {
  (void)state;
  weir__allocate_fail_at(1); // the descriptor
  assert_int_equal(refuse(100), WEIR__POOL_NO_MEMORY);
  weir__allocate_fail_at(2); // the block
  assert_int_equal(refuse(100), WEIR__POOL_NO_MEMORY);
  weir__allocate_fail_at(1);
  assert_int_equal(refuse(100), WEIR__POOL_NO_MEMORY);
  weir__allocate_fail_at(0);
  assert_int_equal(pool.bytes, 0);
  assert_int_equal(pool.peak_bytes, 0);
  weir__block *blocks[200];
  for (int i = 0; i < 200; i++) blocks[i] = take(100); // several slabs of descriptors
  assert_int_equal(pool.bytes, 200 * 112);
  for (int i = 0; i < 200; i++) weir__pool_give(&pool, blocks[i]);
  uint64_t allocations = weir__allocate_count();
  for (int i = 0; i < 200; i++) take(100);
  assert_int_equal(weir__allocate_count(), allocations);
}

// Whether it is handed out, idle or waiting when work outside is left with it, it is never had again, and outlives the pool.
static void what_is_left_is_not_used_again(void **state) {
  (void)state;
  void *left[3];
  for (int i = 0; i < 3; i++) {
    weir__block *block = take(1000);
    left[i] = block->memory;
    if (i == 2) {
      block->last_use = live.oldest; // in flight
      block->users_known = true;
      block->users[0] = live.oldest;
      block->user_count = 1;
      weir__pool_give_waiting(&pool, block);
    } else if (i == 1) {
      weir__pool_give(&pool, block);
    }
    weir__pool_leave(&pool, (char *)left[i] + 999);
    weir__pool_leave(&pool, left[i]); // once more changes nothing
    if (i == 0) weir__pool_give(&pool, block);
    assert_false(weir__pool_take_block(&pool, block, block->number, 1000, &live));
    assert_false(weir__pool_take_used(&pool, block, 1000));
  }
  assert_int_equal(pool.free_bytes, 0);
  assert_int_equal(pool.waiting_bytes, 0);
  for (int i = 0; i < 8; i++) {
    const weir__block *other = take(1000);
    for (int k = 0; k < 3; k++) assert_ptr_not_equal(other->memory, left[k]);
  }
  weir__pool_leave(&pool, state); // not of the pool
  weir__pool_deinitialize(&pool);
  for (int i = 0; i < 3; i++) {
    memset(left[i], 1, 1000);
    weir__free(left[i]);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(every_size_up_to_two_megabytes),
      TEST(sizes_near_powers_of_two),
      TEST(exact_sizes_waste_nothing),
      TEST(sizes_that_cannot_be),
      TEST(free_blocks_come_first),
      TEST(blocks_wait_for_known_users),
      TEST(blocks_wait_for_unknown_users),
      TEST(waiting_blocks_are_found_behind_others),
      TEST(waiting_blocks_at_a_price),
      TEST(users_of_the_past_are_dropped),
      TEST(the_limit_holds),
      TEST(more_than_the_limit_leaves_the_rest_alone),
      TEST(idle_blocks_behind_busy_ones_give_way),
      TEST(trim_frees_what_is_idle),
      TEST(idle_blocks_make_room),
      TEST(idle_blocks_of_other_sizes_are_few),
      TEST(blocks_in_use_are_no_surplus),
      TEST(a_small_pool_keeps_all),
      TEST(no_memory),
      TEST(what_is_left_is_not_used_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
