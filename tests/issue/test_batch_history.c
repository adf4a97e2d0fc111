// SPDX-License-Identifier: Apache-2.0
//
// What is concluded from batches that came again and batches that were new.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "issue/batch_history.h"

enum { BATCH = 64 };

static weir__batch_history begin(void) {
  weir__batch_history history;
  weir__batch_history_initialize(&history, 0);
  return history;
}

static void note(weir__batch_history *history, uint32_t tasks, bool again) {
  for (uint32_t i = 0; i < tasks; i += BATCH) weir__batch_history_note(history, BATCH, again);
}

static void a_program_repeats_while_most_of_it_came_again(void **state) {
  (void)state;
  weir__batch_history history = begin();
  assert_false(weir__batch_history_repeats(&history));
  note(&history, WEIR__MOST_RETURNED / 2, true);
  assert_false(weir__batch_history_repeats(&history));
  note(&history, 100 * WEIR__MOST_RETURNED, true); // no more than some of it counts
  assert_true(weir__batch_history_repeats(&history));
  note(&history, WEIR__MOST_RETURNED / 2, false);
  assert_false(weir__batch_history_repeats(&history));
  note(&history, 100 * WEIR__MOST_RETURNED, false);
  note(&history, WEIR__MOST_RETURNED / 2 + BATCH, true);
  assert_true(weir__batch_history_repeats(&history));
}

static void small_batches_tell_nothing(void **state) {
  (void)state;
  weir__batch_history history = begin();
  for (uint32_t i = 0; i < WEIR__LONG_NEW; i++) weir__batch_history_note(&history, WEIR__TELLING_BATCH - 1, i % 2 == 0);
  assert_false(weir__batch_history_repeats(&history));
  assert_false(weir__batch_history_is_new(&history, UINT64_MAX));
}

static void a_program_is_new_once_nothing_came_again_for_long(void **state) {
  (void)state;
  weir__batch_history history = begin();
  note(&history, WEIR__LONG_NEW - BATCH, false);
  assert_false(weir__batch_history_is_new(&history, UINT64_MAX));
  note(&history, BATCH, false);
  assert_true(weir__batch_history_is_new(&history, WEIR__SEQUENCE_SAMPLE));
  assert_false(
      weir__batch_history_is_new(&history, WEIR__SEQUENCE_SAMPLE - 1)); // the first of each sequence are looked at
  note(&history, BATCH, true);
  assert_false(weir__batch_history_is_new(&history, UINT64_MAX));
}

static void now_and_then_all_are_looked_at(void **state) {
  (void)state;
  weir__batch_history history = begin();
  for (int round = 0; round < 3; round++) {
    note(&history, WEIR__LONG_NEW, false);
    assert_true(weir__batch_history_is_new(&history, UINT64_MAX));
    for (uint32_t i = 0; i < WEIR__SKIPPED_SHARE * WEIR__LONG_NEW; i++) assert_true(weir__batch_history_skip(&history));
    assert_false(weir__batch_history_skip(&history));
    weir__batch_history_sample(&history);
    assert_false(weir__batch_history_is_new(&history, UINT64_MAX));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_repeats_while_most_of_it_came_again),
      cmocka_unit_test(small_batches_tell_nothing),
      cmocka_unit_test(a_program_is_new_once_nothing_came_again_for_long),
      cmocka_unit_test(now_and_then_all_are_looked_at),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
