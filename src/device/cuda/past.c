// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/past.h"

enum { TELLING_IN_TESTS = 4, LOOKED_AT_IN_TESTS = 4 };

void weir__cuda_past_initialize(weir__cuda_past *past, uint64_t seed) {
  *past = (weir__cuda_past){
      .telling = seed == 0 ? WEIR__CUDA_TELLING : TELLING_IN_TESTS,
      .long_new = seed == 0 ? WEIR__CUDA_LONG_NEW : (uint32_t)(seed >> 24) % 32 + 1,
      .looked_at = seed == 0 ? WEIR__CUDA_LOOKED_AT : LOOKED_AT_IN_TESTS,
  };
}

void weir__cuda_past_note(weir__cuda_past *past, uint32_t count, bool again) {
  if (count < past->telling) return;
  if (again) {
    uint32_t returned = past->returned + count;
    past->returned = returned < WEIR__CUDA_MOST_RETURNED ? returned : WEIR__CUDA_MOST_RETURNED;
    past->new_tasks = past->blind = 0;
  } else {
    past->returned -= count < past->returned ? count : past->returned;
    if (past->new_tasks < past->long_new) past->new_tasks += count;
  }
}

void weir__cuda_past_note_apart(weir__cuda_past *past, uint32_t count) {
  if (count < past->telling) past->returned -= count < past->returned ? count : past->returned;
}

bool weir__cuda_past_repeats(const weir__cuda_past *past) {
  return past->returned > WEIR__CUDA_MOST_RETURNED / 2;
}

bool weir__cuda_past_is_new(const weir__cuda_past *past, uint64_t cut_count) {
  return past->new_tasks >= past->long_new && cut_count >= past->looked_at;
}

bool weir__cuda_past_skip(weir__cuda_past *past) {
  return ++past->blind <= WEIR__CUDA_BLIND_SHARE * past->long_new;
}

void weir__cuda_past_look(weir__cuda_past *past) {
  past->new_tasks = past->blind = 0;
}
