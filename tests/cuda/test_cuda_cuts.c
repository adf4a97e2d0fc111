// SPDX-License-Identifier: Apache-2.0
//
// Where sequences of tasks are cut into pieces: it must depend on the tasks alone, and repeat when they do.
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/cuts.h"

enum { WINDOW = 4096, LENGTH = 300, MOST_PIECES = 4096 };

static struct {
  weir__cuda_collection collection;
  weir__cuda_cuts cuts;
  weir__task tasks[WINDOW];
  alignas(16) unsigned char kernels[LENGTH][sizeof(weir__cuda_kernel)]; // without launches
  weir__id next;
  weir__id predecessor[1];
  uint32_t pieces[MOST_PIECES]; // lengths
  uint32_t piece_count;
} self;

static int set_up(void **state) {
  (void)state;
  memset(&self, 0, sizeof self);
  self.next = 1;
  assert_true(weir__cuda_collection_initialize(&self.collection, WINDOW));
  weir__cuda_cuts_initialize(&self.cuts, WINDOW);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir__cuda_collection_deinitialize(&self.collection);
  return 0;
}

static void take(uint32_t count) {
  weir__task *rest[WEIR__CUDA_MOST_COLLECTED];
  uint32_t left = self.collection.count - count;
  for (uint32_t i = 0; i < left; i++) rest[i] = self.collection.tasks[count + i].task;
  self.pieces[self.piece_count++] = count;
  weir__cuda_collection_clear(&self.collection);
  for (uint32_t i = 0; i < left; i++) assert_true(weir__cuda_collection_append(&self.collection, rest[i]));
}

// One task of a kind, behind the one before it if that is still collected.
static void submit(uint32_t kind) {
  weir__task *task = &self.tasks[self.next % WINDOW];
  self.predecessor[0] = self.next - 1;
  *task = (weir__task){.id = self.next++,
                       .code = self.kernels[kind],
                       .groups = {1, 1, 1},
                       .predecessors = self.predecessor,
                       .predecessor_count = 1};
  weir__cuda_cuts_note(&self.cuts, task);
  assert_true(weir__cuda_collection_append(&self.collection, task));
  bool ends;
  uint32_t count = weir__cuda_cuts_find(&self.cuts, &self.collection, &ends);
  assert_true(count <= self.collection.count);
  if (count == 0) return;
  take(count);
  if (!ends) weir__cuda_cuts_done(&self.cuts, count);
}

static void submit_pass(void) {
  for (uint32_t i = 0; i < LENGTH; i++) submit(i);
}

static void wait_for_all(void) {
  weir__cuda_cuts_close(&self.cuts, self.collection.count);
  if (self.collection.count > 0) take(self.collection.count);
  weir__cuda_cuts_end(&self.cuts);
}

// The lengths of the pieces of one pass that ends with a wait.
static uint32_t pass_apart(uint32_t *lengths) {
  self.piece_count = 0;
  submit_pass();
  wait_for_all();
  uint32_t total = 0;
  for (uint32_t i = 0; i < self.piece_count; i++) total += lengths[i] = self.pieces[i];
  assert_int_equal(total, LENGTH);
  return self.piece_count;
}

static void passes_apart_are_cut_alike_once_they_are_known(void **state) {
  (void)state;
  static uint32_t first[LENGTH], second[LENGTH], later[LENGTH];
  uint32_t new_count = pass_apart(first), count = pass_apart(second);
  assert_true(count < new_count); // pieces grow
  for (int pass = 0; pass < 5; pass++) {
    assert_int_equal(pass_apart(later), count);
    assert_memory_equal(later, second, count * sizeof later[0]);
  }
}

static void passes_back_to_back_are_cut_at_their_beginnings(void **state) {
  (void)state;
  for (int pass = 0; pass < 8; pass++) submit_pass();
  wait_for_all();
  // Every multiple of the length is the end of a piece.
  uint32_t at = 0, ends = 0;
  for (uint32_t i = 0; i < self.piece_count; i++) {
    at += self.pieces[i];
    ends += at % LENGTH == 0;
  }
  assert_int_equal(at, 8 * LENGTH);
  assert_int_equal(ends, 8);
}

static void a_single_task_is_a_piece_when_somebody_waits(void **state) {
  (void)state;
  submit(0);
  assert_int_equal(self.piece_count, 0);
  wait_for_all();
  assert_int_equal(self.piece_count, 1);
  assert_int_equal(self.pieces[0], 1);
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
                                 .code = self.kernels[0],
                                 .predecessors = in_chain && i > 0 ? &before[i - 1] : before,
                                 .predecessor_count = !in_chain ? CHAIN
                                                      : i > 0   ? 1
                                                                : 0};
    assert_true(weir__cuda_collection_append(&self.collection, &self.tasks[i]));
  }
  weir__cuda_collection_clear(&self.collection);
  weir__allocate_fail_at(1);
  for (uint32_t i = CHAIN; i < CHAIN + BEHIND; i++)
    assert_true(weir__cuda_collection_append(&self.collection, &self.tasks[i]));
  weir__allocate_fail_at(0);
  assert_int_equal(self.collection.outside_count, CHAIN * BEHIND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(passes_apart_are_cut_alike_once_they_are_known, set_up, tear_down),
      cmocka_unit_test_setup_teardown(passes_back_to_back_are_cut_at_their_beginnings, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_single_task_is_a_piece_when_somebody_waits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tasks_that_stay_need_no_memory, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
