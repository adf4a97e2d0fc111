// SPDX-License-Identifier: Apache-2.0
//
// The shape of a map: where it splits, what it joins, and that it stays in proportion to what is in use.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "model.h"
#include "random.h"

typedef struct fixture {
  weir__range_pool pool;
  weir__segment whole;
  weir__range_map map;
  model_tasks tasks;
  weir__dependences dependences;
} fixture;

static fixture self;

static void make_map(uint64_t bytes) {
  assert_true(weir__range_pool_reserve(&self.pool, 1));
  weir__range_map_initialize(&self.map, &self.pool, bytes, &self.whole);
}

static void drop_map(void) {
  weir__range_map_deinitialize(&self.map);
}

static int set_up(void **state) {
  (void)state;
  weir__range_pool_initialize(&self.pool);
  self.pool.kept = 0; // most tests are about what is joined
  weir__segment_initialize(&self.whole);
  weir__dependences_initialize(&self.dependences);
  model_tasks_initialize(&self.tasks);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir__dependences_deinitialize(&self.dependences);
  weir__segment_deinitialize(&self.whole);
  weir__range_pool_deinitialize(&self.pool);
  return 0;
}

static void read_range(weir__id task, uint64_t lo, uint64_t hi) {
  weir__dependences_clear(&self.dependences);
  assert_true(weir__range_pool_reserve(&self.pool, 1));
  weir__range_map_read(&self.map, &self.tasks.live, task, lo, hi, &self.dependences);
}

static void write_range(weir__id task, uint64_t lo, uint64_t hi) {
  weir__dependences_clear(&self.dependences);
  assert_true(weir__range_pool_reserve(&self.pool, 1));
  weir__range_map_write(&self.map, &self.tasks.live, task, false, lo, hi, &self.dependences);
}

static void finish(weir__id task) {
  self.tasks.done[task % MODEL_WINDOW] = 1;
  while (self.tasks.live.oldest < self.tasks.next && self.tasks.done[self.tasks.live.oldest % MODEL_WINDOW])
    self.tasks.live.oldest++;
}

static void finish_all(void) {
  while (self.tasks.live.oldest < self.tasks.next) finish(self.tasks.live.oldest);
}

typedef struct extent {
  uint64_t end;
  size_t count;
} extent;

static void add_visited(void *user, uint64_t lo, uint64_t hi, const weir__segment *segment) {
  (void)segment;
  extent *seen = user;
  assert_int_equal(lo, seen->end);
  assert_true(hi > lo);
  seen->end = hi;
  seen->count++;
}

static size_t count_segments(void) {
  extent seen = {0};
  weir__range_map_visit(&self.map, add_visited, &seen);
  assert_int_equal(seen.end, self.map.bytes);
  assert_int_equal(seen.count, self.map.segment_count);
  return seen.count;
}

static void splits_only_at_boundaries(void **state) {
  (void)state;
  enum { BYTES = 6 };
  for (uint64_t lo = 0; lo < BYTES; lo++) {
    for (uint64_t hi = lo + 1; hi <= BYTES; hi++) {
      make_map(BYTES);
      weir__id task = model_tasks_begin(&self.tasks);
      size_t expected = 1u + (lo > 0) + (hi < BYTES);
      write_range(task, lo, hi);
      assert_int_equal(count_segments(), expected);
      read_range(task, lo, hi);
      assert_int_equal(count_segments(), expected);
      finish(task);
      drop_map();
    }
  }
}

static void joins_at_every_boundary(void **state) {
  (void)state;
  enum { CELLS = 200 }; // several leaves
  for (uint64_t from = 0; from < CELLS; from += 7) {
    make_map(CELLS);
    for (uint64_t cell = 0; cell < CELLS; cell++) {
      weir__id task = model_tasks_begin(&self.tasks);
      write_range(task, cell, cell + 1);
      if (cell >= 50) finish(task - 50);
    }
    finish_all();
    weir__id task = model_tasks_begin(&self.tasks);
    read_range(task, from, CELLS); // nobody uses them: one segment
    assert_int_equal(self.dependences.count, 0);
    extent seen = {0};
    weir__range_map_visit(&self.map, add_visited, &seen);
    assert_true(count_segments() <= from + 1);
    finish(task);
    drop_map();
  }
}

// Writes every cell of a map in a given order: i * step modulo cells, and then joins all by one write.
static void fill_and_collapse(uint64_t cells, uint64_t step) {
  make_map(cells);
  for (uint64_t i = 0; i < cells; i++) {
    if (model_tasks_full(&self.tasks)) finish(self.tasks.live.oldest);
    uint64_t cell = i * step % cells;
    write_range(model_tasks_begin(&self.tasks), cell, cell + 1);
    assert_int_equal(self.dependences.count, 0);
  }
  count_segments();
  if (model_tasks_full(&self.tasks)) finish(self.tasks.live.oldest);
  weir__id last = self.tasks.next, oldest = self.tasks.live.oldest;
  write_range(model_tasks_begin(&self.tasks), 0, cells);
  assert_int_equal(self.dependences.count, last - oldest);
  assert_int_equal(count_segments(), 1);
  finish_all();
  drop_map();
}

static void fills_in_any_order(void **state) {
  (void)state;
  fill_and_collapse(997, 1);
  fill_and_collapse(997, 996); // downwards
  fill_and_collapse(997, 31);
  fill_and_collapse(9973, 617);
}

static void ranges_nobody_uses_are_swept_away(void **state) {
  (void)state;
  enum { CELLS = 20000 };
  make_map(2 * CELLS);
  weir__id reader = model_tasks_begin(&self.tasks); // one task that holds every other byte
  for (uint64_t cell = 0; cell < CELLS; cell++) read_range(reader, 2 * cell, 2 * cell + 1);
  assert_int_equal(count_segments(), 2 * CELLS);
  finish(reader);
  for (int i = 0; i < 2 * CELLS; i++) { // a corner of it stays in use
    weir__id task = model_tasks_begin(&self.tasks);
    write_range(task, 5, 6);
    finish(task);
  }
  assert_true(count_segments() <= 3);
  drop_map();
}

static void reads_sweep_as_well(void **state) {
  (void)state;
  enum { CELLS = 2000 };
  make_map(2 * CELLS);
  weir__id reader = model_tasks_begin(&self.tasks);
  for (uint64_t cell = 0; cell < CELLS; cell++) read_range(reader, 2 * cell, 2 * cell + 1);
  finish(reader);
  for (int i = 0; i < 2 * CELLS; i++) {
    weir__id task = model_tasks_begin(&self.tasks);
    read_range(task, 5, 6);
    finish(task);
  }
  assert_true(count_segments() <= 3);
  drop_map();
}

static void poison_is_never_joined_with_what_is_good(void **state) {
  (void)state;
  make_map(1000);
  for (uint64_t cell = 0; cell < 1000; cell += 10) {
    weir__id task = model_tasks_begin(&self.tasks);
    write_range(task, cell, cell + 5);
    weir__range_map_poison(&self.map, task, cell, cell + 5, 1);
    finish(task);
  }
  for (int i = 0; i < 10000; i++) {
    weir__id task = model_tasks_begin(&self.tasks);
    read_range(task, 7, 8);
    assert_false(self.dependences.poisoned);
    finish(task);
  }
  weir__id reader = model_tasks_begin(&self.tasks);
  read_range(reader, 0, 1000);
  assert_true(self.dependences.poisoned);
  assert_int_equal(self.dependences.count, 100);
  for (size_t i = 0; i < 100; i++) {
    assert_int_equal(self.dependences.list[i].task, 0);
    assert_int_equal(self.dependences.list[i].lo, 10 * i);
    assert_int_equal(self.dependences.list[i].hi, 10 * i + 5);
  }
  finish(reader);
  drop_map();
}

enum { TILES = 200, TILE_BYTES = 10 };

static bool is_known(uint64_t lo, uint64_t hi) {
  const weir__range_segment *segment = weir__range_pool_recall(&self.pool, self.map.number, lo);
  return segment != NULL && segment->hi == hi;
}

static bool tile_is_known(uint64_t tile) {
  return is_known(tile * TILE_BYTES, (tile + 1) * TILE_BYTES);
}

// Ranges that no task in flight uses are found again without a search, as long as the pool has few segments.
static void ranges_that_come_back_are_known(void **state) {
  (void)state;
  self.pool.kept = WEIR__RANGE_KEPT;
  make_map(TILES * TILE_BYTES);
  for (int pass = 0; pass < 3; pass++) {
    for (uint64_t tile = 0; tile < TILES; tile++) {
      weir__id task = model_tasks_begin(&self.tasks);
      write_range(task, tile * TILE_BYTES, (tile + 1) * TILE_BYTES);
      finish(task);
    }
    assert_int_equal(count_segments(), TILES);
    uint64_t known = 0;
    for (uint64_t tile = 0; tile < TILES; tile++) known += tile_is_known(tile);
    assert_true(known > TILES / 2); // some have the place of others
  }
  drop_map();
  make_map(TILES * TILE_BYTES);
  for (uint64_t tile = 0; tile < TILES; tile++) assert_false(tile_is_known(tile)); // another map
  drop_map();
}

// A segment that was split, joined or given back is not taken for what it was.
static void what_became_of_a_segment_is_noticed(void **state) {
  (void)state;
  self.pool.kept = WEIR__RANGE_KEPT;
  make_map(TILES * TILE_BYTES);
  weir__id first = model_tasks_begin(&self.tasks);
  write_range(first, 20, 30);
  write_range(first, 30, 40);
  assert_true(tile_is_known(2) && tile_is_known(3));
  weir__id second = model_tasks_begin(&self.tasks);
  read_range(second, 25, 27); // splits it
  assert_true(is_known(20, 25) && is_known(25, 27) && is_known(27, 30));
  weir__id third = model_tasks_begin(&self.tasks);
  write_range(third, 20, 40); // few segments stay apart
  assert_int_equal(self.dependences.count, 4);
  assert_true(is_known(20, 25) && is_known(27, 30) && tile_is_known(3));
  weir__id fourth = model_tasks_begin(&self.tasks);
  write_range(fourth, 19, 41); // is one segment now
  assert_int_equal(self.dependences.count, 4);
  for (uint64_t lo = 20; lo < 40; lo++) assert_null(weir__range_pool_recall(&self.pool, self.map.number, lo));
  weir__id fifth = model_tasks_begin(&self.tasks);
  read_range(fifth, 30, 40);
  assert_int_equal(self.dependences.count, 1);
  assert_int_equal(self.dependences.list[0].task, fourth);
  assert_true(tile_is_known(3));
  finish_all();
  drop_map();
}

// With too many of them they are joined, although they come back.
static void a_crowded_pool_joins_what_nobody_uses(void **state) {
  (void)state;
  self.pool.kept = TILES / 4;
  make_map(TILES * TILE_BYTES);
  for (int i = 0; i < 20 * TILES; i++) {
    weir__id task = model_tasks_begin(&self.tasks);
    uint64_t tile = (uint64_t)i % TILES;
    read_range(task, tile * TILE_BYTES, (tile + 1) * TILE_BYTES);
    finish(task);
  }
  assert_true(count_segments() < TILES / 2);
  drop_map();
}

// A million accesses anywhere in a large buffer, with few tasks in flight: the map stays small, and after a while
// hardly anything is allocated any more.
static void stays_small_and_allocates_little(void **state) {
  (void)state;
  enum { ACCESSES = 1000000, IN_FLIGHT = 32 };
  const uint64_t bytes = UINT64_C(1) << 40;
  random_state random = {7};
  make_map(bytes);
  size_t most = 0;
  uint64_t allocations = 0;
  for (int i = 0; i < ACCESSES; i++) {
    while (self.tasks.next - self.tasks.live.oldest >= IN_FLIGHT)
      finish(self.tasks.live.oldest + random_below(&random, IN_FLIGHT)); // may be done already
    uint64_t lo = random_next(&random) % bytes;
    uint64_t length = (random_next(&random) % bytes >> random_below(&random, 40)) + 1;
    uint64_t hi = length < bytes - lo ? lo + length : bytes;
    weir__id task = model_tasks_begin(&self.tasks);
    if (random_chance(&random, 50))
      write_range(task, lo, hi);
    else
      read_range(task, lo, hi);
    if (i == ACCESSES / 4) allocations = weir__allocate_count();
    if (i > 1000 && self.map.segment_count > most) most = self.map.segment_count;
  }
  assert_true(weir__allocate_count() - allocations <= 64); // for rare peaks
  print_message("at most %zu segments for %d tasks in flight\n", most, IN_FLIGHT);
  assert_true(most <= 8 * (2 * IN_FLIGHT + 1));
  count_segments();
  finish_all();
  assert_true(weir__range_map_idle(&self.map, &self.tasks.live));
  drop_map();
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(splits_only_at_boundaries),
      TEST(joins_at_every_boundary),
      TEST(fills_in_any_order),
      TEST(ranges_nobody_uses_are_swept_away),
      TEST(reads_sweep_as_well),
      TEST(poison_is_never_joined_with_what_is_good),
      TEST(ranges_that_come_back_are_known),
      TEST(what_became_of_a_segment_is_noticed),
      TEST(a_crowded_pool_joins_what_nobody_uses),
      TEST(stays_small_and_allocates_little),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
