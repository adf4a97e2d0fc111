// SPDX-License-Identifier: Apache-2.0
//
// Memory that runs out in the middle of an access by ranges: the dependences say so, and nothing else is lost.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "model.h"

enum { BYTES = 100, READERS = 10 };

typedef struct fixture {
  weir__range_pool pool;
  weir__segment whole;
  weir__range_map map;
  model_tasks tasks;
  weir__dependences dependences;
} fixture;

static fixture self;

// A buffer that task 1 wrote and so many tasks read that a copy of its segment needs memory.
static int set_up(void **state) {
  (void)state;
  weir__range_pool_initialize(&self.pool);
  if (!weir__range_pool_reserve(&self.pool, 4)) return 1;
  weir__dependences_initialize(&self.dependences);
  weir__segment_initialize(&self.whole);
  model_tasks_initialize(&self.tasks);
  weir__segment_write(&self.whole, &self.tasks.live, model_tasks_begin(&self.tasks), false, 0, BYTES,
                      &self.dependences);
  for (int i = 0; i < READERS; i++)
    weir__segment_read(&self.whole, &self.tasks.live, model_tasks_begin(&self.tasks), 0, BYTES, &self.dependences);
  weir__range_map_initialize(&self.map, &self.pool, BYTES, &self.whole);
  weir__dependences_clear(&self.dependences);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir__allocate_fail_at(0);
  weir__dependences_deinitialize(&self.dependences);
  weir__range_map_deinitialize(&self.map);
  weir__segment_deinitialize(&self.whole);
  weir__range_pool_deinitialize(&self.pool);
  return 0;
}

typedef struct visit_sum {
  uint64_t end;
  uint64_t poisoned; // bytes
} visit_sum;

static void add_visited(void *user, uint64_t lo, uint64_t hi, const weir__segment *segment) {
  visit_sum *sum = user;
  assert_int_equal(lo, sum->end);
  sum->end = hi;
  if (segment->poisoned) sum->poisoned += hi - lo;
}

static uint64_t poisoned_bytes(void) {
  visit_sum sum = {0};
  weir__range_map_visit(&self.map, add_visited, &sum);
  assert_int_equal(sum.end, BYTES);
  return sum.poisoned;
}

static void the_whole_takes_over(void **state) {
  (void)state;
  assert_int_equal(self.whole.reader_count, 0);
  assert_int_equal(self.whole.writer, 0);
  assert_int_equal(self.map.segment_count, 1);
  weir__range_map_write(&self.map, &self.tasks.live, model_tasks_begin(&self.tasks), true, 0, 40, &self.dependences);
  assert_int_equal(self.dependences.count, READERS + 1);
  assert_false(self.dependences.incomplete);
}

// A reader that is lost is made up for by waiting for all tasks before; the poison of a writer that fails meanwhile
// has to arrive.
static void a_split_without_memory_keeps_the_poison_of_the_writer(void **state) {
  (void)state;
  weir__allocate_fail_at(1);
  weir__range_map_read(&self.map, &self.tasks.live, model_tasks_begin(&self.tasks), 30, 60, &self.dependences);
  weir__allocate_fail_at(0);
  assert_true(self.dependences.incomplete && !self.dependences.unlisted_data);
  assert_int_equal(self.map.segment_count, 3);
  weir__range_map_poison(&self.map, 1, 0, BYTES, 1);
  assert_int_equal(poisoned_bytes(), BYTES);
}

static void a_second_split_without_memory_keeps_the_poison_of_the_writer(void **state) {
  (void)state;
  weir__dependences_add(&self.dependences, 1, WEIR__HAZARD_AFTER, false, 0, 1); // so that the list needs no memory
  weir__dependences_clear(&self.dependences);
  weir__allocate_fail_at(2);
  weir__range_map_write(&self.map, &self.tasks.live, model_tasks_begin(&self.tasks), false, 30, 60, &self.dependences);
  weir__allocate_fail_at(0);
  assert_true(self.dependences.incomplete);
  weir__range_map_poison(&self.map, 1, 0, BYTES, 1);
  assert_int_equal(poisoned_bytes(), BYTES - 30); // but for what was overwritten
}

static void every_allocation_of_a_split_may_fail(void **state) {
  (void)state;
  for (uint64_t n = 1;; n++) {
    if (n > 1) {
      tear_down(NULL);
      assert_int_equal(set_up(NULL), 0);
    }
    uint64_t before = weir__allocate_count();
    weir__allocate_fail_at(n);
    weir__id task = model_tasks_begin(&self.tasks);
    weir__range_map_write(&self.map, &self.tasks.live, task, true, 30, 60, &self.dependences);
    weir__allocate_fail_at(0);
    bool failed = weir__allocate_count() - before >= n;
    assert_int_equal(failed, self.dependences.incomplete);
    assert_int_equal(self.map.segment_count, 3);
    assert_int_equal(poisoned_bytes(), 0);
    if (!failed) {
      assert_true(n > 2);
      break;
    }
  }
}

static void a_reserve_may_fail(void **state) {
  (void)state;
  weir__range_pool pool;
  for (uint64_t n = 1;; n++) {
    weir__range_pool_initialize(&pool);
    weir__allocate_fail_at(n);
    bool reserved = weir__range_pool_reserve(&pool, 100);
    weir__allocate_fail_at(0);
    if (!reserved) assert_true(weir__range_pool_reserve(&pool, 100)); // goes on where it stopped
    uint64_t before = weir__allocate_count();
    assert_true(weir__range_pool_reserve(&pool, 100));
    assert_int_equal(weir__allocate_count(), before);
    weir__range_pool_deinitialize(&pool);
    if (reserved) {
      assert_true(n > 2);
      break;
    }
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(the_whole_takes_over),
      TEST(a_split_without_memory_keeps_the_poison_of_the_writer),
      TEST(a_second_split_without_memory_keeps_the_poison_of_the_writer),
      TEST(every_allocation_of_a_split_may_fail),
      TEST(a_reserve_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
