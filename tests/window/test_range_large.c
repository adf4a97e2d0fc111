// SPDX-License-Identifier: Apache-2.0
//
// Deep trees: more than 100,000 segments in use, against an array that holds the writer of every cell.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "random.h"
#include "window/range_map.h"

enum { WINDOW = 1 << 18 };

typedef struct fixture {
  weir__range_pool pool;
  weir__segment whole;
  weir__range_map map;
  weir__dependences dependences;
  weir__liveness live;
  weir__id next;
  uint64_t cells;
  weir__id *writers; // per cell
  bool *seen;        // per slot: scratch
  random_state random;
} fixture;

static fixture self;

static void begin(uint64_t cells, uint64_t seed) {
  self = (fixture){.cells = cells, .next = 1, .random = {seed}};
  self.live = (weir__liveness){.oldest = 1, .mask = WINDOW - 1, .done = calloc(WINDOW, 1)};
  self.writers = calloc(cells, sizeof *self.writers);
  self.seen = calloc(WINDOW, sizeof *self.seen);
  assert_true(self.live.done != NULL && self.writers != NULL && self.seen != NULL);
  weir__range_pool_initialize(&self.pool);
  self.pool.kept = 0;
  assert_true(weir__range_pool_reserve(&self.pool, 1));
  weir__segment_initialize(&self.whole);
  weir__range_map_initialize(&self.map, &self.pool, cells, &self.whole);
  weir__dependences_initialize(&self.dependences);
}

static void end(void) {
  weir__dependences_deinitialize(&self.dependences);
  weir__range_map_deinitialize(&self.map);
  weir__segment_deinitialize(&self.whole);
  weir__range_pool_deinitialize(&self.pool);
  free(self.live.done);
  free(self.writers);
  free(self.seen);
}

// A task overwrites [lo, hi): its dependences cover exactly the cells with a live writer.
static void write_range(uint64_t lo, uint64_t hi) {
  weir__id task = self.next++;
  assert_true(task - self.live.oldest < WINDOW);
  self.live.done[task % WINDOW] = 0;
  weir__dependences_clear(&self.dependences);
  if (!weir__range_pool_reserve(&self.pool, 1)) fail();
  weir__range_map_write(&self.map, &self.live, task, false, lo, hi, &self.dependences);
  uint64_t covered = 0, expected = 0;
  for (size_t i = 0; i < self.dependences.count; i++) {
    const weir__dependence *dependence = &self.dependences.list[i];
    if (dependence->lo < lo || dependence->hi > hi || dependence->hazard != WEIR__HAZARD_WAW) fail();
    for (uint64_t cell = dependence->lo; cell < dependence->hi; cell++) {
      if (self.writers[cell] != dependence->task) fail();
    }
    covered += dependence->hi - dependence->lo;
  }
  for (uint64_t cell = lo; cell < hi; cell++) {
    expected += weir__live(&self.live, self.writers[cell]);
    self.writers[cell] = task;
  }
  assert_int_equal(covered, expected);
}

static void finish(weir__id task) {
  self.live.done[task % WINDOW] = 1;
  while (self.live.oldest < self.next && self.live.done[self.live.oldest % WINDOW]) self.live.oldest++;
}

typedef struct extent {
  uint64_t end;
  size_t count;
} extent;

static void compare_visited(void *user, uint64_t lo, uint64_t hi, const weir__segment *segment) {
  extent *seen = user;
  if (lo != seen->end || lo >= hi) fail();
  seen->end = hi;
  seen->count++;
  weir__id writer = weir__live(&self.live, segment->writer) ? segment->writer : 0;
  for (uint64_t cell = lo; cell < hi; cell++) {
    if (writer != (weir__live(&self.live, self.writers[cell]) ? self.writers[cell] : 0)) fail();
  }
}

static void compare_all(void) {
  extent seen = {0};
  weir__range_map_visit(&self.map, compare_visited, &seen);
  assert_int_equal(seen.end, self.cells);
  assert_int_equal(seen.count, self.map.segment_count);
}

static void grow_and_collapse(void **state) {
  (void)state;
  enum { CELLS = 120011 }; // a prime
  begin(CELLS, 1);
  for (uint64_t i = 0; i < CELLS; i++) {
    uint64_t cell = i * 48271 % CELLS;
    write_range(cell, cell + 1);
  }
  assert_int_equal(self.map.segment_count, CELLS);
  assert_true(self.map.height >= 3);
  compare_all();
  for (weir__id task = 1; task <= CELLS; task += 3) finish(task);
  compare_all();
  write_range(0, CELLS);
  assert_int_equal(self.dependences.count, CELLS - (CELLS + 2) / 3);
  for (size_t i = 0; i < self.dependences.count; i++) { // each writer once
    bool *seen = &self.seen[self.dependences.list[i].task % WINDOW];
    if (*seen) fail();
    *seen = true;
  }
  assert_int_equal(self.map.segment_count, 1);
  assert_int_equal(self.map.height, 0);
  compare_all();
  end();
}

// The tree shrinks in any order: tasks end at random while a small range stays busy and drives the sweep.
static void shrinks_in_any_order(void **state) {
  (void)state;
  enum { CELLS = 30011 };
  for (uint64_t seed = 1; seed <= 3; seed++) {
    begin(CELLS, seed);
    for (uint64_t i = 0; i < CELLS; i++) {
      uint64_t cell = i * 8191 % CELLS;
      write_range(cell, cell + 1);
    }
    size_t before = self.map.segment_count;
    for (int round = 0; round < 8; round++) {
      for (int i = 0; i < CELLS / 4; i++) {
        finish(1 + random_below(&self.random, CELLS));
        if (i % 4 == 0) {
          write_range(17, 18);
          finish(self.next - 1);
        }
      }
      compare_all();
      assert_true(self.map.segment_count < before);
      before = self.map.segment_count;
    }
    end();
  }
}

static void ranges_of_all_lengths(void **state) {
  (void)state;
  enum { CELLS = 50000, STEPS = 20000 };
  begin(CELLS, 5);
  for (int i = 0; i < STEPS; i++) {
    uint64_t lo = random_below(&self.random, CELLS);
    uint64_t length = 1 + (random_below(&self.random, CELLS) >> random_between(&self.random, 4, 15));
    write_range(lo, lo + length < CELLS ? lo + length : CELLS);
    if (i > 4000) finish(self.next - 1 - random_below(&self.random, 4000));
    if (i % 2000 == 0) compare_all();
  }
  compare_all();
  end();
}

// Whole branches of the tree go and grow again below the bounds that they left.
static void branches_that_grow_again(void **state) {
  (void)state;
  enum { CELLS = 16384, STEPS = 60000 };
  begin(CELLS, 11);
  for (int i = 0; i < STEPS; i++) {
    bool long_range = random_chance(&self.random, 2);
    uint64_t lo = random_below(&self.random, CELLS);
    uint64_t length = long_range ? random_between(&self.random, 16, 4000) : 1;
    write_range(lo, lo + length < CELLS ? lo + length : CELLS);
    if (i % 5000 == 0) compare_all();
  }
  compare_all();
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grow_and_collapse),
      cmocka_unit_test(shrinks_in_any_order),
      cmocka_unit_test(ranges_of_all_lengths),
      cmocka_unit_test(branches_that_grow_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
