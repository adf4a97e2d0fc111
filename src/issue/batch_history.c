// SPDX-License-Identifier: Apache-2.0
#include "issue/batch_history.h"

enum { TELLING_IN_TESTS = 4, SAMPLE_IN_TESTS = 4 };

void weir__batch_history_initialize(weir__batch_history *history, uint64_t seed) {
  *history = (weir__batch_history){
      .telling = seed == 0 ? WEIR__TELLING_BATCH : TELLING_IN_TESTS,
      .long_new = seed == 0 ? WEIR__LONG_NEW : (uint32_t)(seed >> 24) % 32 + 1,
      .sample = seed == 0 ? WEIR__SEQUENCE_SAMPLE : SAMPLE_IN_TESTS,
  };
}

void weir__batch_history_note(weir__batch_history *history, uint32_t count, bool again) {
  if (count < history->telling) return;
  if (again) {
    uint32_t returned = history->returned + count;
    history->returned = returned < WEIR__MOST_RETURNED ? returned : WEIR__MOST_RETURNED;
    history->new_tasks = history->skipped = 0;
  } else {
    history->returned -= count < history->returned ? count : history->returned;
    if (history->new_tasks < history->long_new) history->new_tasks += count;
  }
}

void weir__batch_history_note_apart(weir__batch_history *history, uint32_t count) {
  if (count < history->telling) history->returned -= count < history->returned ? count : history->returned;
}

bool weir__batch_history_repeats(const weir__batch_history *history) {
  return history->returned > WEIR__MOST_RETURNED / 2;
}

bool weir__batch_history_is_new(const weir__batch_history *history, uint64_t taken_count) {
  return history->new_tasks >= history->long_new && taken_count >= history->sample;
}

bool weir__batch_history_skip(weir__batch_history *history) {
  return ++history->skipped <= WEIR__SKIPPED_SHARE * history->long_new;
}

void weir__batch_history_sample(weir__batch_history *history) {
  history->new_tasks = history->skipped = 0;
}
