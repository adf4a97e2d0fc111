// SPDX-License-Identifier: Apache-2.0
//
// What is concluded from pieces that came again and pieces that were new.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "device/cuda/past.h"

enum { PIECE = 64 };

static weir__cuda_past begin(void) {
  weir__cuda_past past;
  weir__cuda_past_initialize(&past, 0);
  return past;
}

static void note(weir__cuda_past *past, uint32_t tasks, bool again) {
  for (uint32_t i = 0; i < tasks; i += PIECE) weir__cuda_past_note(past, PIECE, again);
}

static void a_program_repeats_while_most_of_it_came_again(void **state) {
  (void)state;
  weir__cuda_past past = begin();
  assert_false(weir__cuda_past_repeats(&past));
  note(&past, WEIR__CUDA_MOST_RETURNED / 2, true);
  assert_false(weir__cuda_past_repeats(&past));
  note(&past, 100 * WEIR__CUDA_MOST_RETURNED, true); // no more than some of it counts
  assert_true(weir__cuda_past_repeats(&past));
  note(&past, WEIR__CUDA_MOST_RETURNED / 2, false);
  assert_false(weir__cuda_past_repeats(&past));
  note(&past, 100 * WEIR__CUDA_MOST_RETURNED, false);
  note(&past, WEIR__CUDA_MOST_RETURNED / 2 + PIECE, true);
  assert_true(weir__cuda_past_repeats(&past));
}

static void small_pieces_tell_nothing(void **state) {
  (void)state;
  weir__cuda_past past = begin();
  for (uint32_t i = 0; i < WEIR__CUDA_LONG_NEW; i++) weir__cuda_past_note(&past, WEIR__CUDA_TELLING - 1, i % 2 == 0);
  assert_false(weir__cuda_past_repeats(&past));
  assert_false(weir__cuda_past_is_new(&past, UINT64_MAX));
}

static void a_program_is_new_once_nothing_came_again_for_long(void **state) {
  (void)state;
  weir__cuda_past past = begin();
  note(&past, WEIR__CUDA_LONG_NEW - PIECE, false);
  assert_false(weir__cuda_past_is_new(&past, UINT64_MAX));
  note(&past, PIECE, false);
  assert_true(weir__cuda_past_is_new(&past, WEIR__CUDA_LOOKED_AT));
  assert_false(weir__cuda_past_is_new(&past, WEIR__CUDA_LOOKED_AT - 1)); // the first of each sequence are looked at
  note(&past, PIECE, true);
  assert_false(weir__cuda_past_is_new(&past, UINT64_MAX));
}

static void now_and_then_all_are_looked_at(void **state) {
  (void)state;
  weir__cuda_past past = begin();
  for (int round = 0; round < 3; round++) {
    note(&past, WEIR__CUDA_LONG_NEW, false);
    assert_true(weir__cuda_past_is_new(&past, UINT64_MAX));
    for (uint32_t i = 0; i < WEIR__CUDA_BLIND_SHARE * WEIR__CUDA_LONG_NEW; i++)
      assert_true(weir__cuda_past_skip(&past));
    assert_false(weir__cuda_past_skip(&past));
    weir__cuda_past_look(&past);
    assert_false(weir__cuda_past_is_new(&past, UINT64_MAX));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_repeats_while_most_of_it_came_again),
      cmocka_unit_test(small_pieces_tell_nothing),
      cmocka_unit_test(a_program_is_new_once_nothing_came_again_for_long),
      cmocka_unit_test(now_and_then_all_are_looked_at),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
