// SPDX-License-Identifier: Apache-2.0
//
// Where sequences of tasks are cut into batches: it must depend on the tasks alone, and repeat when they do.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "issue/batch_boundaries.h"

enum { WINDOW = 4096, LENGTH = 300, MOST_BATCHES = 4096 };

static struct {
  weir__collection collection;
  weir__batch_boundaries boundaries;
  weir__task tasks[WINDOW];
  weir__id next;
  weir__id predecessor[1];
  uint32_t batches[MOST_BATCHES]; // lengths
  uint32_t batch_count;
} self;

static int set_up(void **state) {
  (void)state;
  memset(&self, 0, sizeof self);
  self.next = 1;
  assert_true(weir__collection_initialize(&self.collection, WINDOW));
  weir__batch_boundaries_initialize(&self.boundaries, WINDOW);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir__collection_deinitialize(&self.collection);
  return 0;
}

static void take(uint32_t count) {
  weir__task *rest[WEIR__MOST_COLLECTED];
  uint32_t left = self.collection.count - count;
  for (uint32_t i = 0; i < left; i++) rest[i] = self.collection.tasks[count + i].task;
  self.batches[self.batch_count++] = count;
  weir__collection_clear(&self.collection);
  for (uint32_t i = 0; i < left; i++) assert_true(weir__collection_append(&self.collection, rest[i], 0));
}

// One task of a kind, behind the one before it if that is still collected.
static void submit(uint32_t kind) {
  weir__task *task = &self.tasks[self.next % WINDOW];
  self.predecessor[0] = self.next - 1;
  *task =
      (weir__task){.id = self.next++, .groups = {1, 1, 1}, .predecessors = self.predecessor, .predecessor_count = 1};
  weir__batch_boundaries_note(&self.boundaries, task, kind);
  assert_true(weir__collection_append(&self.collection, task, 0));
  bool ends;
  uint32_t count = weir__batch_boundaries_find(&self.boundaries, &self.collection, &ends);
  assert_true(count <= self.collection.count);
  if (count == 0) return;
  take(count);
  if (!ends) weir__batch_boundaries_taken(&self.boundaries, count);
}

static void submit_pass(void) {
  for (uint32_t i = 0; i < LENGTH; i++) submit(i);
}

static void wait_for_all(void) {
  weir__batch_boundaries_close(&self.boundaries, self.collection.count);
  if (self.collection.count > 0) take(self.collection.count);
  weir__batch_boundaries_end(&self.boundaries);
}

// The lengths of the batches of one pass that ends with a wait.
static uint32_t pass_apart(uint32_t *lengths) {
  self.batch_count = 0;
  submit_pass();
  wait_for_all();
  uint32_t total = 0;
  for (uint32_t i = 0; i < self.batch_count; i++) total += lengths[i] = self.batches[i];
  assert_int_equal(total, LENGTH);
  return self.batch_count;
}

static void passes_apart_are_cut_alike_once_they_are_known(void **state) {
  (void)state;
  static uint32_t first[LENGTH], second[LENGTH], later[LENGTH];
  uint32_t new_count = pass_apart(first), count = pass_apart(second);
  assert_true(count < new_count); // batches grow
  for (int pass = 0; pass < 5; pass++) {
    assert_int_equal(pass_apart(later), count);
    assert_memory_equal(later, second, count * sizeof later[0]);
  }
}

static void passes_back_to_back_are_cut_at_their_beginnings(void **state) {
  (void)state;
  for (int pass = 0; pass < 8; pass++) submit_pass();
  wait_for_all();
  // Every multiple of the length is the end of a batch.
  uint32_t at = 0, ends = 0;
  for (uint32_t i = 0; i < self.batch_count; i++) {
    at += self.batches[i];
    ends += at % LENGTH == 0;
  }
  assert_int_equal(at, 8 * LENGTH);
  assert_int_equal(ends, 8);
}

// Nobody waits for more tasks than tell that the beginning is new.
static void a_new_sequence_begins_at_once(void **state) {
  (void)state;
  for (uint32_t i = 0; i < WEIR__BEGINNING_TASKS; i++) {
    assert_int_equal(self.batch_count, 0);
    submit(i);
  }
  assert_int_equal(self.batch_count, 1);
  assert_int_equal(self.batches[0], WEIR__BEGINNING_TASKS);
}

static void a_single_task_is_a_batch_when_somebody_waits(void **state) {
  (void)state;
  submit(0);
  assert_int_equal(self.batch_count, 0);
  wait_for_all();
  assert_int_equal(self.batch_count, 1);
  assert_int_equal(self.batches[0], 1);
}

// Tasks that stay when those before them are cut off need no memory to be collected anew, though what they come after is
// elsewhere then: each is behind a whole chain, of which its last task was enough as long as that was collected.
static void tasks_that_stay_need_no_memory(void **state) {
  (void)state;
  enum { CHAIN = 32, BEHIND = 16 };
  weir__id before[CHAIN + BEHIND];
  for (uint32_t i = 0; i < CHAIN + BEHIND; i++) {
    before[i] = i + 1;
    bool in_chain = i < CHAIN;
    self.tasks[i] = (weir__task){.id = i + 1,
                                 .predecessors = in_chain && i > 0 ? &before[i - 1] : before,
                                 .predecessor_count = !in_chain ? CHAIN
                                                      : i > 0   ? 1
                                                                : 0};
    assert_true(weir__collection_append(&self.collection, &self.tasks[i], 0));
  }
  weir__collection_clear(&self.collection);
  weir__allocate_fail_at(1);
  for (uint32_t i = CHAIN; i < CHAIN + BEHIND; i++)
    assert_true(weir__collection_append(&self.collection, &self.tasks[i], 0));
  weir__allocate_fail_at(0);
  assert_int_equal(self.collection.outside_count, CHAIN * BEHIND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(passes_apart_are_cut_alike_once_they_are_known, set_up, tear_down),
      cmocka_unit_test_setup_teardown(passes_back_to_back_are_cut_at_their_beginnings, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_new_sequence_begins_at_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_single_task_is_a_batch_when_somebody_waits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tasks_that_stay_need_no_memory, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
