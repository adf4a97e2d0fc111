// SPDX-License-Identifier: Apache-2.0
//
// One segment: who waits for whom, many readers, and memory that runs out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "window/segment.h"

enum { WINDOW = 8192 };

typedef struct fixture {
  uint8_t done[WINDOW];
  weir__liveness live;
  weir__segment segment;
  weir__dependences dependences;
} fixture;

static fixture self;

static int set_up(void **state) {
  (void)state;
  memset(&self, 0, sizeof self);
  self.live = (weir__liveness){.oldest = 1, .mask = WINDOW - 1, .done = self.done};
  weir__segment_initialize(&self.segment);
  weir__dependences_initialize(&self.dependences);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir__allocate_fail_at(0);
  weir__segment_deinitialize(&self.segment);
  weir__dependences_deinitialize(&self.dependences);
  return 0;
}

static void read_by(weir__id task) {
  weir__dependences_clear(&self.dependences);
  weir__segment_read(&self.segment, &self.live, task, 10, 20, &self.dependences);
}

static void write_by(weir__id task, bool reads) {
  weir__dependences_clear(&self.dependences);
  weir__segment_write(&self.segment, &self.live, task, reads, 10, 20, &self.dependences);
}

static void add_hit(weir__id task) {
  weir__dependences_add(&self.dependences, task, WEIR__HAZARD_AFTER, false, 1, 2);
}

static void assert_hit(size_t index, weir__id task, weir__hazard hazard, bool data) {
  assert_true(index < self.dependences.count);
  const weir__dependence *dependence = &self.dependences.list[index];
  assert_int_equal(dependence->task, task);
  assert_int_equal(dependence->hazard, hazard);
  assert_int_equal(dependence->data, data);
  assert_int_equal(dependence->lo, 10);
  assert_int_equal(dependence->hi, 20);
}

static void nobody_used_it(void **state) {
  (void)state;
  read_by(1);
  assert_int_equal(self.dependences.count, 0);
  self.done[1] = 1;
  write_by(2, true);
  assert_int_equal(self.dependences.count, 0);
  assert_false(self.dependences.poisoned);
}

static void read_waits_for_the_writer(void **state) {
  (void)state;
  write_by(1, false);
  read_by(2);
  assert_int_equal(self.dependences.count, 1);
  assert_hit(0, 1, WEIR__HAZARD_RAW, true);
  self.done[1] = 1;
  read_by(3);
  assert_int_equal(self.dependences.count, 0);
}

static void writes_wait(void **state) {
  (void)state;
  write_by(1, false);
  write_by(2, false);
  assert_int_equal(self.dependences.count, 1);
  assert_hit(0, 1, WEIR__HAZARD_WAW, false);
  write_by(3, true);
  assert_int_equal(self.dependences.count, 1);
  assert_hit(0, 2, WEIR__HAZARD_RAW, true);
}

static void pure_write_behind_readers_needs_no_writer(void **state) {
  (void)state;
  write_by(1, false);
  read_by(2);
  write_by(3, false);
  assert_int_equal(self.dependences.count, 1);
  assert_hit(0, 2, WEIR__HAZARD_WAR, false);
}

static void pure_write_behind_a_reader_that_is_done_needs_the_writer(void **state) {
  (void)state;
  write_by(1, false);
  read_by(2);
  self.done[2] = 1;
  write_by(3, false);
  assert_int_equal(self.dependences.count, 1);
  assert_hit(0, 1, WEIR__HAZARD_WAW, false);
}

static void update_behind_readers_still_needs_the_data(void **state) {
  (void)state;
  write_by(1, false);
  read_by(2);
  write_by(3, true);
  assert_int_equal(self.dependences.count, 2);
  assert_hit(0, 2, WEIR__HAZARD_WAR, false);
  assert_hit(1, 1, WEIR__HAZARD_RAW, true);
}

static void a_task_never_waits_for_itself(void **state) {
  (void)state;
  read_by(1);
  read_by(1);
  assert_int_equal(self.segment.reader_count, 1);
  write_by(1, true);
  assert_int_equal(self.dependences.count, 0);
  write_by(1, false);
  read_by(1);
  assert_int_equal(self.dependences.count, 0);
}

static void poison_reaches_those_who_read(void **state) {
  (void)state;
  write_by(1, false);
  self.segment.poisoned = true;
  self.done[1] = 1;
  read_by(2);
  assert_true(self.dependences.poisoned);
  assert_int_equal(self.dependences.count, 1);
  assert_hit(0, 0, WEIR__HAZARD_RAW, true);
  self.done[2] = 1;
  weir__segment other;
  weir__segment_initialize(&other);
  assert_true(weir__segment_copy(&other, &self.segment, NULL));
  write_by(3, false); // heals
  assert_false(self.dependences.poisoned);
  read_by(4);
  assert_false(self.dependences.poisoned);
  weir__dependences_clear(&self.dependences);
  weir__segment_write(&other, &self.live, 5, true, 10, 20, &self.dependences);
  assert_true(self.dependences.poisoned);
  assert_false(other.poisoned);
  weir__segment_deinitialize(&other);
}

static void thousands_of_readers(void **state) {
  (void)state;
  enum { READERS = 5000 };
  write_by(1, false);
  for (weir__id task = 2; task < 2 + READERS; task++) {
    read_by(task);
    assert_int_equal(self.dependences.count, 1);
  }
  assert_int_equal(self.segment.reader_count, READERS);
  for (weir__id task = 3; task < 2 + READERS; task += 2) self.done[task] = 1;
  write_by(2 + READERS, false);
  assert_int_equal(self.dependences.count, READERS / 2);
  for (size_t i = 0; i < self.dependences.count; i++) assert_hit(i, 2 + 2 * i, WEIR__HAZARD_WAR, false);
  assert_int_equal(self.segment.reader_count, 0);
  assert_int_equal(self.segment.writer, 2 + READERS);
}

// Readers that come and go use no more memory than those that are there at a time.
static void readers_that_are_done_are_forgotten(void **state) {
  (void)state;
  enum { AT_A_TIME = 20 };
  uint64_t before = 0;
  for (weir__id task = 1; task < 100000; task++) {
    self.done[task % WINDOW] = 0;
    if (task > AT_A_TIME) self.done[(task - AT_A_TIME) % WINDOW] = 1;
    if (task > AT_A_TIME) self.live.oldest = task - AT_A_TIME + 1;
    read_by(task);
    if (task == 1000) before = weir__allocate_count();
  }
  assert_int_equal(weir__allocate_count(), before);
  assert_true(self.segment.reader_capacity <= 4 * AT_A_TIME);
  write_by(100000, false);
  assert_int_equal(self.dependences.count, AT_A_TIME);
}

static void idle_when_all_users_are_done(void **state) {
  (void)state;
  assert_true(weir__segment_idle(&self.segment, &self.live));
  write_by(1, false);
  read_by(2);
  read_by(3);
  assert_false(weir__segment_idle(&self.segment, &self.live));
  self.done[1] = self.done[3] = 1;
  assert_false(weir__segment_idle(&self.segment, &self.live));
  assert_int_equal(self.segment.reader_count, 1);
  self.done[2] = 1;
  assert_true(weir__segment_idle(&self.segment, &self.live));
  assert_int_equal(self.segment.writer, 0);
}

static void ids_of_slots_that_moved_on_are_done(void **state) {
  (void)state;
  write_by(5, false);
  read_by(6);
  self.live.oldest = 7;
  read_by(7 + WINDOW - 1);
  assert_int_equal(self.dependences.count, 0);
}

static void copies_have_their_own_readers(void **state) {
  (void)state;
  for (weir__id task = 1; task <= 20; task++) read_by(task);
  weir__segment copy;
  weir__segment_initialize(&copy);
  assert_true(weir__segment_copy(&copy, &self.segment, NULL));
  weir__segment_write(&copy, &self.live, 21, false, 0, 10, &self.dependences);
  assert_int_equal(self.dependences.count, 20);
  assert_int_equal(self.segment.reader_count, 20);
  weir__segment_deinitialize(&copy);
  assert_int_equal(copy.reader_count, 0);
  weir__segment_reset(&self.segment);
  assert_int_equal(self.segment.reader_count, 0);
}

static void no_memory_for_a_reader(void **state) {
  (void)state;
  write_by(1, false);
  read_by(2);
  read_by(3);
  read_by(4); // three fit; there may be room made when one is done
  self.done[3] = 1;
  weir__allocate_fail_at(1);
  read_by(5);
  assert_false(self.dependences.unrecorded);
  weir__allocate_fail_at(1);
  read_by(6);
  assert_true(self.dependences.unrecorded);
  assert_int_equal(self.dependences.count, 1); // the writer is found all the same
  weir__allocate_fail_at(0);
  weir__dependences_clear(&self.dependences);
  assert_false(self.dependences.unrecorded);
  write_by(7, false);
  assert_int_equal(self.dependences.count, 3);
  assert_hit(0, 2, WEIR__HAZARD_WAR, false);
  assert_hit(1, 4, WEIR__HAZARD_WAR, false);
  assert_hit(2, 5, WEIR__HAZARD_WAR, false);
}

static void no_memory_for_hits(void **state) {
  (void)state;
  write_by(1, false);
  weir__allocate_fail_at(1);
  read_by(2);
  assert_true(self.dependences.incomplete && self.dependences.unlisted_data);
  assert_int_equal(self.dependences.count, 0);
  read_by(3);
  assert_false(self.dependences.incomplete);
  assert_int_equal(self.dependences.count, 1);
  while (self.dependences.count < self.dependences.capacity) add_hit(9);
  size_t count = self.dependences.count;
  weir__allocate_fail_at(1);
  add_hit(10);
  assert_true(self.dependences.incomplete);
  assert_int_equal(self.dependences.count, count);
  add_hit(10);
  assert_int_equal(self.dependences.count, count + 1);
  assert_hit(0, 1, WEIR__HAZARD_RAW, true); // what was there is kept
  assert_int_equal(self.dependences.list[count].task, 10);
}

static void no_memory_for_a_copy(void **state) {
  (void)state;
  for (weir__id task = 1; task <= 20; task++) read_by(task);
  weir__segment copy;
  weir__segment_initialize(&copy);
  weir__allocate_fail_at(1);
  assert_false(weir__segment_copy(&copy, &self.segment, NULL));
  assert_int_equal(copy.reader_count, 0);
  weir__segment_deinitialize(&copy);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(nobody_used_it),
      TEST(read_waits_for_the_writer),
      TEST(writes_wait),
      TEST(pure_write_behind_readers_needs_no_writer),
      TEST(pure_write_behind_a_reader_that_is_done_needs_the_writer),
      TEST(update_behind_readers_still_needs_the_data),
      TEST(a_task_never_waits_for_itself),
      TEST(poison_reaches_those_who_read),
      TEST(thousands_of_readers),
      TEST(readers_that_are_done_are_forgotten),
      TEST(idle_when_all_users_are_done),
      TEST(ids_of_slots_that_moved_on_are_done),
      TEST(copies_have_their_own_readers),
      TEST(no_memory_for_a_reader),
      TEST(no_memory_for_hits),
      TEST(no_memory_for_a_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
