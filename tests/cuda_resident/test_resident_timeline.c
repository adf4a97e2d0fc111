// SPDX-License-Identifier: Apache-2.0
//
// Timelines with resident issue on the stub driver: no task starts before those it comes after have ended, wherever they ran.
#include <stdlib.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/resident/resident.h"
#include "engine/context.h"
#include "random.h"
#include "rig.h"

enum { TASKS = 200 };

typedef struct noted_task {
  uint64_t id;
  uint32_t to, from;
} noted_task;

static void note(const rig *r, noted_task *noted, uint32_t to, uint32_t from) {
  *noted = (noted_task){.id = r->context->host.window.next - 1, .to = to, .from = from};
}

// All tasks write `to` and read `from`; nothing is renamed.
static bool must_come_after(const noted_task *task, const noted_task *before) {
  return before->to == task->to || before->to == task->from || before->from == task->to;
}

static void check(const rig *r, const noted_task *tasks) {
  for (uint32_t i = 0; i < TASKS; i++) {
    const weir__trace_task *task = weir__trace_find(r->context->host.trace, tasks[i].id);
    assert_non_null(task);
    assert_true(task->done && task->submit_ns <= task->start_ns && task->start_ns <= task->end_ns);
    assert_true(task->lane < weir_device_information(r->device)->lanes);
    for (uint32_t j = 0; j < i; j++) {
      if (!must_come_after(&tasks[i], &tasks[j])) continue;
      const weir__trace_task *before = weir__trace_find(r->context->host.trace, tasks[j].id);
      if (before->end_ns > task->start_ns)
        fail_msg("task %u starts at %llu, before task %u has ended at %llu", i, (unsigned long long)task->start_ns, j,
                 (unsigned long long)before->end_ns);
    }
  }
}

static void hazards_are_kept(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    rig r;
    noted_task tasks[TASKS];
    weir_context_options options = {.flags = WEIR_CONTEXT_TRACE | WEIR_CONTEXT_NO_RENAME, .seed = seed / 2};
    rig_begin(&r, seed, &options);
    random_state random = {seed};
    for (uint32_t i = 0; i < TASKS; i++) {
      uint32_t to = random_below(&random, RIG_BUFFERS);
      uint32_t from = (to + 1 + random_below(&random, RIG_BUFFERS - 1)) % RIG_BUFFERS;
      if (random_chance(&random, 10))
        rig_copy(&r, to, from);
      else
        rig_submit(&r, random_chance(&random, 30) ? RIG_PLAIN : RIG_MIX, to, from, i, NULL);
      note(&r, &tasks[i], to, from);
    }
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    assert_true(rig_resident_tasks(&r) > 0);
    check(&r, tasks);
    rig_end(&r);
  }
}

// Of two tasks that went to the card together, one after the other, either may be reported first, and the card's clock may
// become known before, between or after that.
static void the_clock_becomes_known_late(void **state) {
  (void)state;
  enum { SINCE = 1000, HOST = 5000, CARD = 100 }; // at HOST it is CARD
  rig r;
  rig_begin(&r, 1, &(weir_context_options){.flags = WEIR_CONTEXT_TRACE});
  weir__cuda_device *device = weir__cuda_of(r.device); // whose thread has nothing to do
  weir__resident *resident = device->resident;
  for (uint32_t known_at = 0; known_at < 3; known_at++) {
    for (uint32_t turn = 0; turn < 2; turn++) {
      resident->unknown_ns = 0;
      resident->host_ns = HOST;
      resident->card_ns = CARD;
      weir__completion completions[2] = {{.status = WEIR_OK}, {.status = WEIR_OK}};
      for (uint32_t i = 0; i < 2; i++) {
        uint32_t index = i ^ turn;
        weir__task task = {.id = index};
        weir__resident_flight flight = {.task = &task, .first = index, .number = index, .first_number = index};
        *weir__resident_slot_of(device, index) = (weir__resident_slot){.id = index, .since_ns = SINCE};
        resident->host->times[index] = (weir__r_times){CARD - 50 + 10 * index, CARD - 40 + 10 * index};
        resident->clock_known = i >= known_at;
        weir__resident_time(device, &flight, &completions[index]);
      }
      for (uint32_t i = 0; i < 2; i++) assert_true(SINCE <= completions[i].start_ns);
      for (uint32_t i = 0; i < 2; i++) assert_true(completions[i].start_ns <= completions[i].end_ns);
      assert_true(completions[0].end_ns <= completions[1].start_ns);
      if (known_at == 0) assert_int_equal(completions[1].end_ns, HOST - 30);
    }
  }
  rig_end(&r);
}

int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {cmocka_unit_test(hazards_are_kept),
                                     cmocka_unit_test(the_clock_becomes_known_late)};
  return cmocka_run_group_tests_name("resident issue: timelines", tests, NULL, NULL);
}
