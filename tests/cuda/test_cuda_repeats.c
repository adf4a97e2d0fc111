// SPDX-License-Identifier: Apache-2.0
//
// Passes that come again with buffers that are new in each, and released before it is over: a trace cache keeps their storage from
// launch to launch. On the driver of stub/, in random orders, and on the CPU.
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "repeats/state.h"
#include "share.h"

enum {
  COUNT = 64,
  BYTES = COUNT * 4,
  BLOCK = BYTES,
  ROUNDS = 12,    // of a pass; without a seed runs have at least 24 tasks
  FEW_ROUNDS = 8, // of a pass with 24 tasks, of which the window has room for two
  PASSES = 8,
  KEPT = 6,
  AT_ONCE = 5,
};

static uint64_t most_kept;    // bytes that graphs kept for temporaries, in any context
static uint64_t all_repeated; // tasks

// Two buffers that stay, and what is in them; one that the program keeps of each pass, if it does.
typedef struct program {
  share *s;
  weir_device *device; // of all tasks: the CPU, where there is one
  weir_buffer *x, *y, *kept[KEPT];
  uint32_t x_numbers[COUNT], y_numbers[COUNT], kept_numbers[KEPT][COUNT];
  uint32_t kept_count;
} program;

static uint64_t kept_bytes(const share *s) {
  uint64_t bytes = 0;
  weir__context_lock(s->context);
  const weir__repeats *repeats = s->context->repeating.repeats;
  for (const weir__repeat *repeat = repeats != NULL ? repeats->first : NULL; repeat != NULL; repeat = repeat->next)
    bytes += repeat->graph != NULL ? repeat->graph->temporaries.bytes : 0;
  weir__context_unlock(s->context);
  return bytes;
}

static void note_kept(const share *s) {
  uint64_t bytes = kept_bytes(s);
  if (bytes > most_kept) most_kept = bytes;
}

static void begin(program *self, share *s) {
  *self = (program){
      .s = s, .device = s->cpu != NULL ? s->cpu : s->cuda, .x = share_buffer(s, COUNT), .y = share_buffer(s, COUNT)};
  share_submit(s, s->set, self->device, self->x, COUNT, 3, NULL);
  share_submit(s, s->set, self->device, self->y, COUNT, 5, NULL);
  for (uint32_t i = 0; i < COUNT; i++) {
    self->x_numbers[i] = 3 + i;
    self->y_numbers[i] = 5 + i;
  }
}

// x and y by way of two new buffers, of which the program may keep the second.
static void go_round(program *self, uint32_t value, bool keeps) {
  share *s = self->s;
  weir_buffer *first = share_buffer(s, COUNT), *second = share_buffer(s, COUNT);
  share_sum(s, self->device, first, self->x, self->y, COUNT, NULL);
  share_sum(s, self->device, second, first, self->x, COUNT, NULL);
  share_ok(weir_buffer_release(first));
  share_sum(s, self->device, self->y, second, self->x, COUNT, NULL);
  if (keeps)
    self->kept[self->kept_count++] = second;
  else
    share_ok(weir_buffer_release(second));
  share_submit(s, s->step, self->device, self->x, COUNT, value, NULL);
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t number = 2 * self->x_numbers[i] + self->y_numbers[i];
    if (keeps) self->kept_numbers[self->kept_count - 1][i] = number;
    self->y_numbers[i] = number + self->x_numbers[i];
    self->x_numbers[i] = stepped(self->x_numbers[i], value);
  }
}

static void pass(program *self, uint32_t number, bool keeps) {
  for (uint32_t i = 0; i < ROUNDS; i++) go_round(self, number * ROUNDS + i, keeps && i == ROUNDS / 2);
  note_kept(self->s);
}

static void expect(weir_buffer *buffer, const uint32_t *wanted) {
  uint32_t numbers[COUNT];
  share_ok(weir_read(buffer, 0, BYTES, numbers));
  assert_memory_equal(numbers, wanted, BYTES);
}

static void end(program *self) {
  expect(self->x, self->x_numbers);
  expect(self->y, self->y_numbers);
  for (uint32_t i = 0; i < self->kept_count; i++) {
    expect(self->kept[i], self->kept_numbers[i]);
    share_ok(weir_buffer_release(self->kept[i]));
  }
  share_ok(weir_finish(self->s->context));
  weir_statistics statistics;
  weir_context_statistics(self->s->context, &statistics);
  assert_int_equal(statistics.tasks, statistics.done);
  all_repeated += statistics.repeated;
  share_ok(weir_buffer_release(self->x));
  share_ok(weir_buffer_release(self->y));
}

// Each launch uses the storage of the one before, which may be in flight.
static void back_to_back(share *s) {
  program self;
  begin(&self, s);
  for (uint32_t i = 0; i < 4 * PASSES; i++) {
    pass(&self, i, false);
    if (i % PASSES < 3) share_ok(weir_finish(s->context));
  }
  end(&self);
}

// Nothing but the storage orders the launches.
static void independent_passes(share *s) {
  program self = {.s = s, .device = s->cpu != NULL ? s->cpu : s->cuda};
  for (uint32_t turn = 0; turn < PASSES; turn++) {
    weir_buffer *results[AT_ONCE][ROUNDS];
    for (uint32_t i = 0; i < AT_ONCE * ROUNDS; i++) {
      weir_buffer *first = share_buffer(s, COUNT), *second = share_buffer(s, COUNT);
      results[i / ROUNDS][i % ROUNDS] = share_buffer(s, COUNT);
      share_submit(s, s->set, self.device, first, COUNT, i, NULL);
      share_sum(s, self.device, second, first, first, COUNT, NULL);
      share_ok(weir_buffer_release(first));
      share_sum(s, self.device, results[i / ROUNDS][i % ROUNDS], second, second, COUNT, NULL);
      share_ok(weir_buffer_release(second));
    }
    note_kept(s);
    for (uint32_t i = 0; i < AT_ONCE * ROUNDS; i++) {
      uint32_t wanted[COUNT];
      for (uint32_t j = 0; j < COUNT; j++) wanted[j] = 4 * (i + j);
      expect(results[i / ROUNDS][i % ROUNDS], wanted);
      share_ok(weir_buffer_release(results[i / ROUNDS][i % ROUNDS]));
    }
  }
}

// A buffer that was released in the passes before stays, and its contents with it.
static void kept_once_in_a_while(share *s) {
  program self;
  begin(&self, s);
  for (uint32_t i = 0; i < 3 * KEPT; i++) {
    pass(&self, i, i % 3 == 2);
    if (i % 2 == 0) share_ok(weir_finish(s->context));
  }
  end(&self);
}

// What graphs keep gives way to buffers for which there is no memory otherwise.
static void short_of_memory(share *s) {
  enum { LARGE = 24 * COUNT };
  program self;
  begin(&self, s);
  for (uint32_t i = 0; i < 2 * PASSES; i++) {
    pass(&self, i, false);
    if (i % 2 == 0) share_ok(weir_finish(s->context));
    if (i % 4 != 3) continue;
    weir_buffer *large = share_buffer(s, LARGE);
    uint32_t number;
    share_submit(s, s->set, self.device, large, LARGE, i, NULL);
    share_ok(weir_read(large, 0, sizeof number, &number));
    assert_int_equal(number, i);
    assert_int_equal(kept_bytes(s), 0);
    share_ok(weir_buffer_release(large));
  }
  end(&self);
}

// Skipped tasks have not written, and what they should have written is written anew.
static void cancelled(share *s) {
  program self;
  begin(&self, s);
  for (uint32_t i = 0; i < PASSES; i++) {
    pass(&self, i, false);
    share_ok(weir_finish(s->context));
  }
  pass(&self, PASSES, false);
  pass(&self, PASSES + 1, false);
  weir_context_cancel(s->context);
  weir_finish(s->context); // CANCELLED, if something was still to run
  share_ok(weir_buffer_release(self.x));
  share_ok(weir_buffer_release(self.y));
  begin(&self, s);
  for (uint32_t i = 0; i < PASSES; i++) pass(&self, i, false);
  end(&self);
}

// A pass reads what failed. All that comes of it is poisoned, and nothing of that is left when it was overwritten.
static void after_a_failure(share *s) {
  program self;
  begin(&self, s);
  for (uint32_t i = 0; i < PASSES; i++) {
    pass(&self, i, false);
    share_ok(weir_finish(s->context));
  }
  share_submit(s, s->broken, self.device, self.x, COUNT, 0, NULL);
  pass(&self, PASSES, false);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_TASK_FAILED);
  uint32_t numbers[COUNT];
  assert_int_not_equal(weir_read(self.y, 0, BYTES, numbers), WEIR_OK);
  weir_finish(s->context);
  share_ok(weir_buffer_release(self.x));
  share_ok(weir_buffer_release(self.y));
  begin(&self, s);
  for (uint32_t i = 0; i < PASSES; i++) pass(&self, i, false);
  end(&self);
}

static atomic_bool fails_now;

static void fail_late(const weir_work *work) {
  while (!atomic_load(&fails_now)) sched_yield();
  weir_work_fail(work, "on purpose");
}

// Tasks with one new buffer a round, which the program keeps or releases.
static void pass_of_one(const program *self, weir_buffer **kept) {
  share *s = self->s;
  for (uint32_t i = 0; i < FEW_ROUNDS; i++) {
    weir_buffer *made = share_buffer(s, COUNT);
    share_sum(s, self->device, made, self->x, self->y, COUNT, NULL);
    share_sum(s, self->device, self->y, made, self->x, COUNT, NULL);
    share_submit(s, s->step, self->device, self->x, COUNT, i, NULL);
    if (kept != NULL)
      kept[i] = made;
    else
      share_ok(weir_buffer_release(made));
  }
  note_kept(s);
}

static uint32_t passes_before;

// What a launch has written, and the program keeps, is poisoned when that launch is skipped, although by then the graph keeps storage
// that a later launch took for buffers in their place.
static void failure_of_a_launch_before(share *s) {
  program self;
  weir_buffer *kept[FEW_ROUNDS];
  begin(&self, s);
  self.device = s->cuda;
  for (uint32_t i = 0; i < passes_before; i++) {
    pass_of_one(&self, kept);
    share_ok(weir_finish(s->context));
    for (uint32_t j = 0; j < FEW_ROUNDS; j++) share_ok(weir_buffer_release(kept[j]));
  }
  atomic_store(&fails_now, false);
  const weir_arg args[] = {weir_updates(self.x)};
  const weir_task task = {.host = fail_late, .args = args, .arg_count = 1, .device = s->cpu};
  share_ok(weir_submit(s->context, &task, NULL));
  weir_statistics statistics;
  weir_context_statistics(s->context, &statistics); // a pass begins behind a call that is no submission
  pass_of_one(&self, kept);
  pass_of_one(&self, NULL);
  atomic_store(&fails_now, true);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_TASK_FAILED);
  for (uint32_t j = 0; j < FEW_ROUNDS; j++) {
    uint32_t number;
    assert_int_not_equal(weir_read(kept[j], 0, sizeof number, &number), WEIR_OK);
    share_ok(weir_buffer_release(kept[j]));
  }
  weir_finish(s->context);
  share_ok(weir_buffer_release(self.x));
  share_ok(weir_buffer_release(self.y));
}

// Runs that are kept have as many tasks as are worth a launch. Returns whether there are some.
static bool expect_worth_a_launch(const share *s) {
  enum { WORTH = 24 };
  weir__context_lock(s->context);
  const weir__repeat *first = s->context->repeating.repeats->first;
  bool all = true;
  for (const weir__repeat *repeat = first; repeat != NULL; repeat = repeat->next)
    all = all && repeat->run.count >= WORTH;
  weir__context_unlock(s->context);
  assert_true(all);
  return first != NULL;
}

// Where few tasks overwrite what renaming may use, pieces are no shorter for that than what is worth a launch, nor is the last one.
// A thread that is slow may have its runs given up in the end.
static void large_buffers(share *s) {
  enum { TASKS = 100 };
  weir_buffer *buffers[TASKS];
  bool any = false;
  for (uint32_t i = 0; i < TASKS; i++) buffers[i] = share_buffer(s, COUNT);
  for (uint32_t turn = 0; turn < PASSES; turn++) {
    for (uint32_t i = 0; i < TASKS; i++) share_submit(s, s->set, s->cuda, buffers[i], COUNT, turn + i, NULL);
    share_ok(weir_finish(s->context));
    if (expect_worth_a_launch(s)) any = true;
  }
  assert_true(any);
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t number;
    share_ok(weir_read(buffers[i], 0, sizeof number, &number));
    assert_int_equal(number, PASSES - 1 + i);
    share_ok(weir_buffer_release(buffers[i]));
  }
}

static void run(const char *devices, void (*test)(share *s), uint64_t limit) {
  weir_context_options options = {
      .devices = devices, .flags = WEIR_CONTEXT_REPEATS, .device_memory_limit = limit, .memory_limit = limit};
  share_run_with(&options, test);
  share_unseeded = true;
  share_run_with(&options, test);
  share_unseeded = false;
}

static void launches_follow_each_other(void **state) {
  (void)state;
  run("cuda", back_to_back, 0);
  run("cpu:3,cuda", back_to_back, 0);
  run("cuda", independent_passes, 0);
  run("cpu:3,cuda", independent_passes, 0);
}

static void buffers_may_be_kept(void **state) {
  (void)state;
  run("cuda", kept_once_in_a_while, 0);
  run("cpu:3,cuda", kept_once_in_a_while, 0);
}

static void memory_comes_back(void **state) {
  (void)state;
  run("cuda", short_of_memory, (2 + 2 * ROUNDS + 20) * BLOCK);
}

static void passes_are_cancelled(void **state) {
  (void)state;
  run("cuda", cancelled, 0);
  run("cpu:3,cuda", cancelled, 0);
}

static void passes_fail(void **state) {
  (void)state;
  run("cpu:3,cuda", after_a_failure, 0); // on the card a failure is a fault
  for (passes_before = 1; passes_before < PASSES; passes_before++) run("cuda,cpu:3", failure_of_a_launch_before, 0);
}

static void pieces_are_worth_a_launch(void **state) {
  (void)state;
  static const uint64_t limits[] = {3, 30, 33}; // tasks; three times 33 leave one over
  share_unseeded = true;
  for (uint32_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    weir_context_options options = {
        .devices = "cuda", .flags = WEIR_CONTEXT_REPEATS, .rename_limit = limits[i] * BYTES};
    share_run_with(&options, large_buffers);
  }
  share_unseeded = false;
}

// The tests above say something about temporaries only if there were some.
static void storage_was_kept(void **state) {
  (void)state;
  printf("%llu tasks repeated, at most %llu bytes kept\n", (unsigned long long)all_repeated,
         (unsigned long long)most_kept);
  assert_true(all_repeated > 0 && most_kept > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_follow_each_other),
      cmocka_unit_test(buffers_may_be_kept),
      cmocka_unit_test(memory_comes_back),
      cmocka_unit_test(passes_are_cancelled),
      cmocka_unit_test(passes_fail),
      cmocka_unit_test(pieces_are_worth_a_launch),
      cmocka_unit_test(storage_was_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
