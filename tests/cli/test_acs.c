// SPDX-License-Identifier: Apache-2.0
//
// The model of ACS by itself: schedules that can be worked out by hand, and random programs, whose hazards are found here by
// comparing all pairs of tasks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "weir/acs.h"

#define US UINT64_C(1000000) // picoseconds

enum { LAUNCH = 1, LATENCY = 2, SYNCHRONIZE = 3, GAP = 5, QUEUE_GAP = 4, MOST_TASKS = 64, MOST_RANGES = 3 };

typedef struct scene {
  weir__sim_profile profile;
  weir__acs_settings settings;
  weir__acs_task tasks[MOST_TASKS];
  weir__acs_range ranges[MOST_TASKS][MOST_RANGES];
  weir__sim_cost costs[MOST_TASKS][2];
  uint32_t count;
  weir__acs_result result;
} scene;

// A device that has room for everything and costs nothing but what is set here.
static void make(scene *all, bool hardware) {
  *all = (scene){.settings = {.hardware = hardware, .window = 8, .streams = 4, .list = 16}};
  assert_int_equal(weir__sim_profile_load("ideal", &all->profile), WEIR_OK);
  all->profile.launch = LAUNCH * US;
  all->profile.launch_latency = LATENCY * US;
  all->profile.synchronize = SYNCHRONIZE * US;
  all->profile.graph_gap = GAP * US;
  all->profile.queue_gap = QUEUE_GAP * US;
}

// A task of one block that takes `us`.
static weir__acs_task *add(scene *all, double us) {
  uint32_t index = all->count++;
  assert_true(index < MOST_TASKS);
  for (int i = 0; i < 2; i++) {
    weir_sim_launch launch = {.blocks = 1, .threads = 32, .us = us};
    weir__sim_profile_cost(&all->profile, &launch, 1, &all->costs[index][i]);
  }
  all->tasks[index] = (weir__acs_task){.ranges = all->ranges[index], .launches = all->costs[index], .launch_count = 1};
  return &all->tasks[index];
}

// Gives the task that was added last a range.
static void uses(scene *all, weir_mode mode, uint64_t lo, uint64_t hi) {
  weir__acs_task *task = &all->tasks[all->count - 1];
  assert_true(task->range_count < MOST_RANGES);
  all->ranges[all->count - 1][task->range_count++] = (weir__acs_range){.mode = mode, .lo = lo, .hi = hi};
}

static void run(scene *all) {
  all->tasks[all->count - 1].wait = WEIR__ACS_WAIT_ALL;
  assert_int_equal(weir__acs_run(&all->profile, &all->settings, all->tasks, all->count, &all->result), WEIR_OK);
}

// In nanoseconds, which is exact here and readable in failures.
static uint64_t start(const scene *all, uint32_t task) {
  return all->result.records[task].start_ps / 1000;
}

static uint64_t end(const scene *all, uint32_t task) {
  return all->result.records[task].end_ps / 1000;
}

static uint64_t ns(uint64_t us) {
  return us * 1000;
}

static void drop(scene *all) {
  weir__acs_result_free(&all->result);
}

static void software_launches_side_by_side(void **state) {
  (void)state;
  for (uint64_t driver = 0; driver <= LAUNCH; driver++) {
    scene all;
    make(&all, false);
    all.settings.driver_ps = driver * US;
    for (int i = 0; i < 4; i++) add(&all, 10);
    run(&all);
    for (uint32_t i = 0; i < 4; i++) {
      assert_int_equal(start(&all, i), ns(LAUNCH + LATENCY + i * driver));
      assert_int_equal(end(&all, i), start(&all, i) + ns(10));
      assert_int_equal(all.result.records[i].lane, i);
    }
    assert_int_equal(all.result.end_ps / 1000, end(&all, 3) + ns(SYNCHRONIZE));
    assert_int_equal(all.result.upstream_count + all.result.window_waits, 0);
    drop(&all);
  }
}

static void hardware_is_fed_by_one_thread(void **state) {
  (void)state;
  scene all;
  make(&all, true);
  for (int i = 0; i < 4; i++) add(&all, 10);
  run(&all);
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(start(&all, i), ns((i + 1) * LAUNCH + LATENCY));
    assert_int_equal(all.result.records[i].lane, i);
  }
  assert_int_equal(all.result.end_ps / 1000, end(&all, 3) + ns(SYNCHRONIZE));
  drop(&all);
}

// Two tasks with a range each; whether the second waits, and why.
typedef struct pair {
  weir_mode first, second;
  uint64_t lo; // of the second; the first uses [100, 200), the second 50 bytes
  bool waits;
  weir__hazard hazard;
} pair;

static const pair pairs[] = {
    {WEIR_WRITE, WEIR_READ, 150, true, WEIR__HAZARD_RAW}, // what the check in the paper misses
    {WEIR_READ_WRITE, WEIR_READ, 60, true, WEIR__HAZARD_RAW},
    {WEIR_WRITE, WEIR_READ_WRITE, 199, true, WEIR__HAZARD_RAW},
    {WEIR_READ, WEIR_WRITE, 120, true, WEIR__HAZARD_WAR},
    {WEIR_READ, WEIR_READ_WRITE, 51, true, WEIR__HAZARD_WAR},
    {WEIR_WRITE, WEIR_WRITE, 100, true, WEIR__HAZARD_WAW},
    {WEIR_READ_WRITE, WEIR_WRITE, 100, true, WEIR__HAZARD_WAW},
    {WEIR_READ, WEIR_READ, 100, false, WEIR__HAZARD_RAW},
    {WEIR_WRITE, WEIR_WRITE, 50, false, WEIR__HAZARD_RAW},  // ends where the first begins
    {WEIR_WRITE, WEIR_READ, 200, false, WEIR__HAZARD_RAW},  // begins where it ends
    {WEIR_WRITE, WEIR_WRITE, 300, false, WEIR__HAZARD_RAW}, // elsewhere
};

static void hazards_are_found_and_kept(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    for (int hardware = 0; hardware < 2; hardware++) {
      scene all;
      make(&all, hardware);
      all.settings.cycle_ps = US / 1000;
      all.settings.poll_ps = US / 10;
      add(&all, 10);
      uses(&all, pairs[i].first, 100, 200);
      add(&all, 10);
      uses(&all, WEIR_READ, 1000, 2000);
      uses(&all, pairs[i].second, pairs[i].lo, pairs[i].lo + 50);
      run(&all);
      assert_int_equal(all.result.upstream_count, pairs[i].waits);
      if (pairs[i].waits) {
        const weir__acs_upstream *found = all.result.upstreams;
        assert_int_equal(found->task, 0);
        assert_int_equal(found->hazard, pairs[i].hazard);
        assert_int_equal(found->lo, pairs[i].lo > 100 ? pairs[i].lo : 100);
        assert_int_equal(found->hi, pairs[i].lo + 50 < 200 ? pairs[i].lo + 50 : 200);
        uint64_t seven_cycles = 7, poll = 100;
        assert_int_equal(start(&all, 1), end(&all, 0) + (hardware ? seven_cycles + ns(GAP)
                                                                  : ns(SYNCHRONIZE + LAUNCH + LATENCY) + poll));
      } else {
        assert_true(start(&all, 1) < end(&all, 0));
      }
      drop(&all);
    }
  }
}

static void a_full_window_holds_the_next_one_up(void **state) {
  (void)state;
  for (int hardware = 0; hardware < 2; hardware++) {
    scene all;
    make(&all, hardware);
    all.settings.window = 3;
    all.settings.cycle_ps = US;
    for (int i = 0; i < 3; i++) add(&all, 100 + 100 * i);
    add(&all, 10);
    add(&all, 10);
    run(&all);
    // The fourth comes in when the first has left, the fifth when the fourth has.
    uint64_t after = hardware ? ns(2 + 3) : ns(SYNCHRONIZE + LAUNCH + LATENCY);
    assert_true(start(&all, 2) < end(&all, 0));
    assert_int_equal(start(&all, 3), end(&all, 0) + after);
    assert_int_equal(start(&all, 4), end(&all, 3) + after);
    assert_int_equal(all.result.records[3].lane, 0);
    assert_int_equal(all.result.window_waits, 2);
    drop(&all);
  }
}

static void nothing_queues_behind_a_task_that_runs(void **state) {
  (void)state;
  scene all;
  make(&all, false);
  all.settings.streams = 2;
  add(&all, 30);
  add(&all, 10);
  add(&all, 10);
  run(&all);
  assert_int_equal(start(&all, 2), end(&all, 1) + ns(SYNCHRONIZE + LAUNCH + LATENCY));
  assert_int_equal(all.result.records[2].lane, 1);
  drop(&all);
}

static void the_window_takes_cycles(void **state) {
  (void)state;
  scene all;
  make(&all, true);
  all.settings.window = 4;
  all.settings.cycle_ps = US;
  all.profile.launch = 0;
  for (int i = 0; i < 3; i++) add(&all, 100);
  run(&all);
  for (uint32_t i = 0; i < 3; i++) assert_int_equal(start(&all, i), ns(LATENCY + 4 * (i + 1)));
  drop(&all);
}

static void tasks_beyond_the_hosts_list_do_not_come_in(void **state) {
  (void)state;
  scene all;
  make(&all, true);
  all.settings.list = 2;
  all.settings.cycle_ps = US / 1000;
  add(&all, 100);
  for (int i = 0; i < 3; i++) add(&all, 1);
  run(&all);
  assert_true(start(&all, 2) < end(&all, 0));
  assert_int_equal(start(&all, 3), end(&all, 0) + 7 + 8); // the host did not compare it with the first
  assert_int_equal(all.result.window_waits, 0);
  drop(&all);
}

static void checks_take_time(void **state) {
  (void)state;
  // SW: the third is compared with two tasks of two ranges each. HW: with the last one only.
  for (int hardware = 0; hardware < 2; hardware++) {
    scene all;
    make(&all, hardware);
    all.settings.list = 1;
    all.settings.check_ps = 10 * US;
    for (uint64_t i = 0; i < 3; i++) {
      add(&all, 500);
      uses(&all, WEIR_READ, 1000 * i, 1000 * i + 1);
      uses(&all, WEIR_WRITE, 1000 * i + 500, 1000 * i + 501);
    }
    run(&all);
    assert_int_equal(start(&all, 0), ns(LAUNCH + LATENCY));
    assert_int_equal(start(&all, 1), ns(20 + LAUNCH + LATENCY));
    if (!hardware) assert_int_equal(start(&all, 2), ns(20 + 40 + LAUNCH + LATENCY));
    drop(&all);
  }
}

static void the_application_waits_where_it_says(void **state) {
  (void)state;
  for (int hardware = 0; hardware < 2; hardware++) {
    scene all;
    make(&all, hardware);
    add(&all, 1000);
    add(&all, 10)->wait = WEIR__ACS_WAIT_TASK;
    add(&all, 20)->wait = WEIR__ACS_WAIT_ALL;
    add(&all, 10);
    run(&all);
    const weir__acs_record *records = all.result.records;
    for (uint32_t i = 0; i < 2; i++) assert_int_equal(records[i].submit_ps, 0);
    assert_int_equal(records[1].resume_ps / 1000, end(&all, 1) + ns(SYNCHRONIZE));
    assert_int_equal(records[2].submit_ps, records[1].resume_ps);
    assert_int_equal(start(&all, 2), records[2].submit_ps / 1000 + ns(LAUNCH + LATENCY));
    assert_true(end(&all, 2) < end(&all, 0));
    assert_int_equal(records[3].submit_ps / 1000, end(&all, 0) + ns(SYNCHRONIZE));
    drop(&all);
  }
}

static void launches_of_a_task_follow_each_other(void **state) {
  (void)state;
  for (int hardware = 0; hardware < 2; hardware++) {
    scene all;
    make(&all, hardware);
    add(&all, 10)->launch_count = 2;
    add(&all, 10);
    run(&all);
    assert_int_equal(start(&all, 0), ns(LAUNCH + LATENCY));
    assert_int_equal(end(&all, 0), start(&all, 0) + ns(20 + (hardware ? GAP : QUEUE_GAP)));
    assert_int_equal(start(&all, 1), ns((hardware ? 3 : 1) * LAUNCH + LATENCY));
    drop(&all);
  }
}

static void nothing_is_done_at_once(void **state) {
  (void)state;
  scene all;
  make(&all, true);
  assert_int_equal(weir__acs_run(&all.profile, &all.settings, all.tasks, 0, &all.result), WEIR_OK);
  assert_int_equal(all.result.end_ps, 0);
  drop(&all);
}

// ---------------------------------------------------------------------------------------------------------------
// Random programs

static uint64_t number_after(uint64_t *random, uint64_t bound) {
  *random ^= *random << 13; // xorshift64
  *random ^= *random >> 7;
  *random ^= *random << 17;
  return (*random >> 16) % bound;
}

static void make_random(scene *all, uint64_t seed, bool hardware) {
  uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  make(all, hardware);
  if (number_after(&random, 2)) assert_int_equal(weir__sim_profile_load("h200", &all->profile), WEIR_OK);
  all->settings = (weir__acs_settings){.hardware = hardware,
                                       .window = 1 + (uint32_t)number_after(&random, 8),
                                       .streams = 1 + (uint32_t)number_after(&random, 5),
                                       .list = 1 + (uint32_t)number_after(&random, 12),
                                       .check_ps = number_after(&random, 3) * US / 100,
                                       .poll_ps = number_after(&random, 3) * US / 10,
                                       .driver_ps = number_after(&random, 2) * US,
                                       .cycle_ps = number_after(&random, 3) * US / 1000};
  uint64_t tasks = 1 + number_after(&random, MOST_TASKS), places = 1 + number_after(&random, 40);
  for (uint64_t t = 0; t < tasks; t++) {
    weir__acs_task *task = add(all, (double)number_after(&random, 20));
    task->launch_count = 1 + (uint32_t)number_after(&random, 2);
    if (number_after(&random, 10) == 0) task->wait = WEIR__ACS_WAIT_TASK;
    if (number_after(&random, 20) == 0) task->wait = WEIR__ACS_WAIT_ALL;
    static const weir_mode modes[] = {WEIR_READ, WEIR_READ, WEIR_WRITE, WEIR_READ_WRITE};
    for (uint64_t i = number_after(&random, MOST_RANGES + 1); i > 0; i--) {
      uint64_t lo = number_after(&random, places);
      uses(all, modes[number_after(&random, 4)], lo, lo + 1 + number_after(&random, 4));
    }
  }
}

static bool in_conflict(const weir__acs_task *a, const weir__acs_task *b) {
  for (uint32_t i = 0; i < a->range_count; i++) {
    for (uint32_t j = 0; j < b->range_count; j++) {
      const weir__acs_range *x = &a->ranges[i], *y = &b->ranges[j];
      bool apart = x->hi <= y->lo || y->hi <= x->lo, both_read = x->mode == WEIR_READ && y->mode == WEIR_READ;
      if (!apart && !both_read) return true;
    }
  }
  return false;
}

// What must hold between a task and those before it.
static void check_task(const scene *all, uint32_t task) {
  const weir__acs_record *records = all->result.records, *record = &records[task];
  assert_true(record->submit_ps <= record->ready_ps && record->ready_ps <= record->start_ps);
  assert_true(record->start_ps <= record->end_ps && record->end_ps <= all->result.end_ps);
  uint32_t in_window = 0, running = 0; // of those before it
  for (uint32_t before = 0; before < task; before++) {
    if (in_conflict(&all->tasks[before], &all->tasks[task])) assert_true(records[before].end_ps <= record->start_ps);
    if (all->tasks[before].wait == WEIR__ACS_WAIT_TASK) assert_true(records[before].end_ps <= record->submit_ps);
    if (records[before].end_ps <= record->start_ps) continue;
    in_window++;
    bool runs = records[before].start_ps <= record->start_ps;
    running += runs;
    if (all->settings.hardware) assert_true(task - before <= all->settings.list);
    if (runs) assert_int_not_equal(records[before].lane, record->lane);
  }
  assert_true(in_window < all->settings.window);
  if (!all->settings.hardware) assert_true(running < all->settings.streams);
  for (uint32_t i = 0; i < record->upstream_count; i++) {
    const weir__acs_upstream *upstream = &all->result.upstreams[record->first_upstream + i];
    assert_true(upstream->task < task && in_conflict(&all->tasks[upstream->task], &all->tasks[task]));
    assert_true(records[upstream->task].end_ps <= record->ready_ps);
  }
}

static void random_programs_keep_their_order(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    scene all, again;
    make_random(&all, seed, seed % 2);
    make_random(&again, seed, seed % 2);
    run(&all);
    run(&again);
    for (uint32_t t = 0; t < all.count; t++) check_task(&all, t);
    assert_memory_equal(all.result.records, again.result.records, all.count * sizeof *all.result.records);
    assert_int_equal(all.result.end_ps, again.result.end_ps);
    drop(&all);
    drop(&again);
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  for (int hardware = 0; hardware < 2; hardware++) {
    scene all;
    make_random(&all, 6, hardware);
    all.tasks[all.count - 1].wait = WEIR__ACS_WAIT_ALL;
    weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
    uint64_t failures = 0;
    for (uint64_t n = 1; status != WEIR_OK; n++) {
      weir__allocate_fail_at(n);
      status = weir__acs_run(&all.profile, &all.settings, all.tasks, all.count, &all.result);
      weir__allocate_fail_at(0);
      if (status == WEIR_OK) break;
      assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
      assert_null(all.result.records);
      failures++;
    }
    assert_true(failures > 3);
    drop(&all);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(software_launches_side_by_side),
      cmocka_unit_test(hardware_is_fed_by_one_thread),
      cmocka_unit_test(hazards_are_found_and_kept),
      cmocka_unit_test(a_full_window_holds_the_next_one_up),
      cmocka_unit_test(nothing_queues_behind_a_task_that_runs),
      cmocka_unit_test(the_window_takes_cycles),
      cmocka_unit_test(tasks_beyond_the_hosts_list_do_not_come_in),
      cmocka_unit_test(checks_take_time),
      cmocka_unit_test(the_application_waits_where_it_says),
      cmocka_unit_test(launches_of_a_task_follow_each_other),
      cmocka_unit_test(nothing_is_done_at_once),
      cmocka_unit_test(random_programs_keep_their_order),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
