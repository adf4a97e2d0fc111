// SPDX-License-Identifier: Apache-2.0
//
// Random accesses by ranges, by tasks that finish and fail in random order, against the byte-by-byte model.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"
#include "random.h"

typedef struct write_record {
  uint64_t lo, hi;
} write_record;

enum { MAX_ACCESSES = 3 };

typedef struct run {
  random_state random;
  weir__range_pool pool;
  weir__segment whole;
  weir__range_map map;
  model_buffer model;
  model_tasks tasks;
  weir__dependences dependences;
  write_record writes[MODEL_WINDOW][MAX_ACCESSES]; // per slot
  uint32_t write_count[MODEL_WINDOW];
} run;

static void set_up(run *self, uint64_t seed, uint32_t bytes) {
  self->random.value = seed;
  weir__range_pool_initialize(&self->pool);
  if (seed % 2 == 0) self->pool.kept = 0; // what nobody uses is joined at once, or stays
  assert_true(weir__range_pool_reserve(&self->pool, 1));
  weir__segment_initialize(&self->whole);
  weir__range_map_initialize(&self->map, &self->pool, bytes, &self->whole);
  model_initialize(&self->model, bytes);
  model_tasks_initialize(&self->tasks);
  weir__dependences_initialize(&self->dependences);
}

static void tear_down(run *self) {
  weir__dependences_deinitialize(&self->dependences);
  weir__range_map_deinitialize(&self->map);
  weir__segment_deinitialize(&self->whole);
  weir__range_pool_deinitialize(&self->pool);
}

static void access_range(run *self, weir__id task, weir_mode mode, uint64_t lo, uint64_t hi) {
  weir__dependences_clear(&self->dependences);
  assert_true(weir__range_pool_reserve(&self->pool, 1));
  if (mode == WEIR_READ)
    weir__range_map_read(&self->map, &self->tasks.live, task, lo, hi, &self->dependences);
  else if (mode == WEIR_COMMUTE)
    weir__range_map_commute(&self->map, &self->tasks.live, task, lo, hi, &self->dependences);
  else
    weir__range_map_write(&self->map, &self->tasks.live, task, mode == WEIR_READ_WRITE, lo, hi, &self->dependences);
  model_access(&self->model, &self->tasks, task, mode, lo, hi, &self->dependences);
}

// A task with up to three accesses to ranges that do not overlap, or that all read.
static void submit(run *self, uint32_t longest) {
  weir__id task = model_tasks_begin(&self->tasks);
  uint32_t slot = (uint32_t)(task % MODEL_WINDOW);
  self->write_count[slot] = 0;
  uint32_t count = random_between(&self->random, 1, MAX_ACCESSES);
  bool all_read = random_chance(&self->random, 30);
  uint64_t from = 0;
  for (uint32_t i = 0; i < count && from < self->model.bytes; i++) {
    uint64_t lo = from + random_below(&self->random, (uint32_t)(self->model.bytes - from));
    uint64_t length = random_between(&self->random, 1, longest);
    uint64_t hi = lo + length < self->model.bytes ? lo + length : self->model.bytes;
    weir_mode mode = all_read ? WEIR_READ : (weir_mode)random_between(&self->random, WEIR_READ, WEIR_COMMUTE);
    access_range(self, task, mode, lo, hi);
    if (mode != WEIR_READ) self->writes[slot][self->write_count[slot]++] = (write_record){lo, hi};
    if (!all_read) from = hi;
  }
}

static void finish(run *self, weir__id task, bool failed) {
  uint32_t slot = (uint32_t)(task % MODEL_WINDOW);
  for (uint32_t i = 0; failed && i < self->write_count[slot]; i++)
    weir__range_map_poison(&self->map, task, self->writes[slot][i].lo, self->writes[slot][i].hi, 1);
  model_finish(&self->model, &self->tasks, task, failed);
}

// The oldest task that a live one waits for, or a random one: real tasks finish after their predecessors.
static weir__id pick_finishable(run *self, bool any) {
  weir__id task = model_tasks_pick(&self->tasks, random_next(&self->random));
  while (!any && task != 0 && self->tasks.before[task % MODEL_WINDOW] != 0) {
    uint32_t slot = (uint32_t)__builtin_ctzll(self->tasks.before[task % MODEL_WINDOW]);
    weir__id oldest = self->tasks.live.oldest;
    task = oldest + ((slot - oldest) & (MODEL_WINDOW - 1));
  }
  return task;
}

typedef struct workload {
  uint32_t bytes, longest, in_flight, fail_percent, steps;
  bool any_order;
} workload;

static void run_shape(uint64_t seed, const workload *shape) {
  run self = {0};
  set_up(&self, seed, shape->bytes);
  for (uint32_t step = 0; step < shape->steps; step++) {
    uint32_t live = (uint32_t)__builtin_popcountll(self.tasks.live_mask);
    if (model_tasks_full(&self.tasks))
      finish(&self, self.tasks.live.oldest, random_chance(&self.random, shape->fail_percent));
    else if (random_below(&self.random, shape->in_flight) < live)
      finish(&self, pick_finishable(&self, shape->any_order), random_chance(&self.random, shape->fail_percent));
    else
      submit(&self, shape->longest);
    if (step % 16 == 0) model_check_map(&self.model, &self.tasks, &self.map);
  }
  while (self.tasks.live_mask != 0) finish(&self, pick_finishable(&self, true), false);
  model_check_map(&self.model, &self.tasks, &self.map);
  assert_true(weir__range_map_idle(&self.map, &self.tasks.live));
  tear_down(&self);
}

static uint64_t last_seed;

static void check_shape(const workload *shape, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    last_seed = seed;
    run_shape(seed, shape);
  }
}

static void few_bytes(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 5, .longest = 5, .in_flight = 8, .fail_percent = 20, .steps = 1000}, 60);
}

static void many_short_ranges(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 256, .longest = 4, .in_flight = 60, .fail_percent = 10, .steps = 2000}, 60);
}

static void long_ranges(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 200, .longest = 150, .in_flight = 50, .fail_percent = 10, .steps = 2000}, 60);
}

static void tasks_end_in_any_order(void **state) {
  (void)state;
  check_shape(
      &(workload){.bytes = 64, .longest = 32, .in_flight = 40, .fail_percent = 30, .steps = 2000, .any_order = true},
      60);
}

static void hardly_anything_in_flight(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 256, .longest = 20, .in_flight = 2, .fail_percent = 5, .steps = 4000}, 30);
}

// What a graph does for those of its parts that failed.
static void poison_by_range(void **state) {
  (void)state;
  run self = {0};
  set_up(&self, 1, 40);
  weir__id writer = model_tasks_begin(&self.tasks);
  access_range(&self, writer, WEIR_WRITE, 0, 10);
  access_range(&self, writer, WEIR_WRITE, 10, 20);
  access_range(&self, writer, WEIR_WRITE, 20, 40);
  weir__id other = model_tasks_begin(&self.tasks);
  access_range(&self, other, WEIR_WRITE, 30, 40);
  weir__range_map_poison(&self.map, writer, 0, 10, 1);
  weir__range_map_poison(&self.map, writer, 20, 40, 1); // but for what `other` overwrote
  for (uint32_t byte = 0; byte < 40; byte++) self.model.poisoned[byte] = byte < 10 || (byte >= 20 && byte < 30);
  model_check_map(&self.model, &self.tasks, &self.map);
  weir__id reader = model_tasks_begin(&self.tasks);
  access_range(&self, reader, WEIR_READ, 5, 35);
  access_range(&self, reader, WEIR_READ_WRITE, 10, 20);
  weir__id healer = model_tasks_begin(&self.tasks);
  access_range(&self, healer, WEIR_WRITE, 0, 25);
  model_check_map(&self.model, &self.tasks, &self.map);
  tear_down(&self);
}

static int print_seed(void **state) {
  (void)state;
  print_message("last seed: %llu\n", (unsigned long long)last_seed);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(few_bytes, print_seed),
      cmocka_unit_test_teardown(many_short_ranges, print_seed),
      cmocka_unit_test_teardown(long_ranges, print_seed),
      cmocka_unit_test_teardown(tasks_end_in_any_order, print_seed),
      cmocka_unit_test_teardown(hardly_anything_in_flight, print_seed),
      cmocka_unit_test_teardown(poison_by_range, print_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
