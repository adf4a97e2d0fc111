// SPDX-License-Identifier: Apache-2.0
//
// Every sequence of a few accesses to a buffer of a few bytes, with every moment at which each task may have ended,
// against the byte-by-byte model.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"

enum { MAX_LENGTH = 5, MAX_ACCESSES = 30, NEVER = MAX_LENGTH };

typedef struct step {
  weir_mode mode;
  uint64_t lo, hi;
} step;

typedef struct sequence {
  uint32_t bytes, length;
  step steps[MAX_LENGTH];
  uint32_t ends[MAX_LENGTH]; // the task ends before the step of this number
  bool fails[MAX_LENGTH];
} sequence;

static weir__range_pool pool;
static weir__dependences dependences;
static uint64_t sequence_count;

static void end_tasks(const sequence *self, uint32_t before, weir__range_map *map, model_buffer *model,
                      model_tasks *tasks) {
  for (uint32_t i = 0; i < before; i++) {
    if (self->ends[i] != before) continue;
    if (self->fails[i] && self->steps[i].mode != WEIR_READ)
      weir__range_map_poison(map, i + 1, self->steps[i].lo, self->steps[i].hi, 1);
    model_finish(model, tasks, i + 1, self->fails[i]);
  }
}

static void play(const sequence *self) {
  static model_tasks tasks;
  model_tasks_initialize(&tasks);
  model_buffer model;
  model_initialize(&model, self->bytes);
  weir__segment whole;
  weir__segment_initialize(&whole);
  if (!weir__range_pool_reserve(&pool, self->length)) fail();
  weir__range_map map;
  weir__range_map_initialize(&map, &pool, self->bytes, &whole);
  for (uint32_t i = 0; i < self->length; i++) {
    end_tasks(self, i, &map, &model, &tasks);
    const step *now = &self->steps[i];
    weir__id task = model_tasks_begin(&tasks);
    weir__dependences_clear(&dependences);
    if (now->mode == WEIR_READ)
      weir__range_map_read(&map, &tasks.live, task, now->lo, now->hi, &dependences);
    else
      weir__range_map_write(&map, &tasks.live, task, now->mode == WEIR_READ_WRITE, now->lo, now->hi, &dependences);
    model_access(&model, &tasks, task, now->mode, now->lo, now->hi, &dependences);
  }
  model_check_map(&model, &tasks, &map);
  weir__range_map_deinitialize(&map);
  weir__segment_deinitialize(&whole);
  sequence_count++;
}

typedef struct coverage {
  bool failures;  // with every set of tasks that fail
  bool last_only; // tasks end before the last access or not at all
} coverage;

// Sets which tasks fail. False: the set names one that never ends, or writes nothing.
static bool choose_failures(sequence *self, uint32_t set) {
  for (uint32_t i = 0; i < self->length; i++) {
    self->fails[i] = set >> i & 1;
    if (self->fails[i] && (self->ends[i] == NEVER || self->steps[i].mode == WEIR_READ)) return false;
  }
  return true;
}

// Sets when the tasks but the last end. False: a choice that is no other one.
static bool choose_ends(sequence *self, const coverage *plan, uint32_t choice) {
  for (uint32_t i = 0; i < self->length; i++, choice /= self->length) {
    self->ends[i] = choice % self->length;
    if (self->ends[i] == 0 || i + 1 == self->length)
      self->ends[i] = NEVER;
    else if (self->ends[i] <= i || (plan->last_only && self->ends[i] + 1 != self->length))
      return false;
  }
  return true;
}

static void enumerate_ends(sequence *self, const coverage *plan) {
  uint32_t choices = 1, failures = plan->failures ? 1u << (self->length - 1) : 1;
  for (uint32_t i = 0; i + 1 < self->length; i++) choices *= self->length;
  for (uint32_t choice = 0; choice < choices; choice++) {
    if (!choose_ends(self, plan, choice)) continue;
    for (uint32_t set = 0; set < failures; set++) {
      if (choose_failures(self, set)) play(self);
    }
  }
}

// Every access to a buffer: mode and range.
static uint32_t list_accesses(uint32_t bytes, step list[MAX_ACCESSES]) {
  uint32_t count = 0;
  for (int mode = WEIR_READ; mode <= WEIR_READ_WRITE; mode++) {
    for (uint64_t lo = 0; lo < bytes; lo++) {
      for (uint64_t hi = lo + 1; hi <= bytes; hi++) list[count++] = (step){(weir_mode)mode, lo, hi};
    }
  }
  return count;
}

static void enumerate(uint32_t bytes, uint32_t length, const coverage *plan) {
  sequence self = {.bytes = bytes, .length = length};
  step accesses[MAX_ACCESSES];
  uint32_t access_count = list_accesses(bytes, accesses);
  uint64_t choices = 1;
  for (uint32_t i = 0; i < length; i++) choices *= access_count;
  sequence_count = 0;
  for (uint64_t choice = 0; choice < choices; choice++) {
    uint64_t rest = choice;
    for (uint32_t i = 0; i < length; i++, rest /= access_count) self.steps[i] = accesses[rest % access_count];
    enumerate_ends(&self, plan);
  }
  print_message("%llu sequences\n", (unsigned long long)sequence_count);
}

static void three_accesses_to_four_bytes_with_failures(void **state) {
  (void)state;
  enumerate(4, 3, &(coverage){.failures = true});
  assert_true(sequence_count > UINT64_C(27000) * 6);
}

static void four_accesses_to_three_bytes(void **state) {
  (void)state;
  enumerate(3, 4, &(coverage){0});
  assert_int_equal(sequence_count, UINT64_C(18) * 18 * 18 * 18 * 24);
}

static void five_accesses_to_two_bytes(void **state) {
  (void)state;
  enumerate(2, 5, &(coverage){.last_only = true});
  assert_int_equal(sequence_count, UINT64_C(59049) * 16);
}

static void four_accesses_to_two_bytes_with_failures(void **state) {
  (void)state;
  enumerate(2, 4, &(coverage){.failures = true});
  assert_true(sequence_count > UINT64_C(6561) * 24);
}

static int set_up(void **state) {
  (void)state;
  weir__range_pool_initialize(&pool);
  weir__dependences_initialize(&dependences);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir__range_pool_deinitialize(&pool);
  weir__dependences_deinitialize(&dependences);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_accesses_to_four_bytes_with_failures),
      cmocka_unit_test(four_accesses_to_three_bytes),
      cmocka_unit_test(five_accesses_to_two_bytes),
      cmocka_unit_test(four_accesses_to_two_bytes_with_failures),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
