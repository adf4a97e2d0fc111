// SPDX-License-Identifier: Apache-2.0
//
// Host tasks, which run once: on buffers of Weir's and on memory of the caller's.
#include <stdlib.h>
#include <string.h>

#include "planted.h"

enum { WORDS = 64, BYTES = 4 * WORDS, BUFFER = 4 * BYTES };

typedef struct pair {
  weir_context *context;
  weir_buffer *from, *to;
  uint32_t memory[BUFFER / 4]; // behind `to`, if it is wrapped
} pair;

static void open_pair(pair *made, bool wraps) {
  made->context = planted_open("cpu:2", 0);
  for (uint32_t i = 0; i < BUFFER / 4; i++) made->memory[i] = i;
  planted_ok(weir_buffer_create(made->context, BUFFER, &made->from));
  planted_ok(wraps ? weir_buffer_wrap(made->context, made->memory, BUFFER, &made->to)
                   : weir_buffer_create(made->context, BUFFER, &made->to));
  planted_ok(weir_buffer_set_label(made->from, "from"));
  planted_ok(weir_buffer_set_label(made->to, "to"));
  planted_ok(weir_fill(made->from, 0, WEIR_WHOLE, 3, NULL));
  if (!wraps) planted_ok(weir_fill(made->to, 0, WEIR_WHOLE, 5, NULL));
}

static void play(bool wraps, planted_kind kind, weir_mode mode, const char *const *parts) {
  pair made;
  open_pair(&made, wraps);
  const planted_value value = {.kind = kind, .words = WORDS};
  const weir_arg args[] = {weir_reads_range(made.from, BYTES, BYTES),
                           {.mode = mode, .buffer = made.to, .offset = BYTES, .bytes = BYTES},
                           weir_value(&value, sizeof value)};
  const weir_task task = {.host = planted_host, .args = args, .arg_count = 3, .label = "on host"};
  weir_event *event;
  planted_ok(weir_submit(made.context, &task, &event));
  planted_expect(event, "host task", parts);
  if (parts[0] != NULL) {
    assert_int_equal(weir_finish(made.context), WEIR_ERROR_TASK_FAILED);
    assert_non_null(strstr(weir_last_error(), "'on host'"));
  }
  weir_context_release(made.context);
  for (uint32_t i = 0; wraps && parts[0] == NULL && i < BUFFER / 4; i++) {
    bool written = i >= WORDS && i < 2 * WORDS;
    uint32_t before = kind == PLANTED_ACCUMULATES ? i : 0;
    assert_int_equal(made.memory[i], written ? before + 10 : i);
  }
}

static void test_mistakes(void **state) {
  (void)state;
  const char *const none[] = {NULL};
  for (int wraps = 0; wraps < 2; wraps++) {
    play(wraps, PLANTED_NOTHING, WEIR_WRITE, none);
    play(wraps, PLANTED_ACCUMULATES, WEIR_READ_WRITE, none);
    play(wraps, PLANTED_PARTIAL, WEIR_WRITE,
         (const char *[]){"argument 1 (writes [256, 512) of buffer 2 'to')", "bytes [496, 512) were not overwritten",
                          "declare the range [256, 496) as written", NULL});
    play(wraps, PLANTED_WRITES_BEHIND, WEIR_WRITE,
         (const char *[]){"argument 1", "bytes [512, 51", "outside were changed", "as written", NULL});
    play(wraps, PLANTED_WRITES_BEFORE, WEIR_READ_WRITE,
         (const char *[]){"argument 1", "bytes [252, 25", "outside were changed", "as written", NULL});
    play(wraps, PLANTED_CHANGES, WEIR_WRITE,
         (const char *[]){"argument 0 (reads [256, 512) of buffer 1 'from')", "were changed", "weir_updates", NULL});
  }
}

// Writes by the caller's own pointer, as host tasks may.
static void write_directly(const weir_work *work) {
  uint32_t *memory = work->user;
  assert_ptr_equal(work->args[0], memory);
  for (uint32_t i = 0; i < WORDS; i++) memory[i] = i;
}

static void test_memory_of_the_caller_is_used_itself(void **state) {
  (void)state;
  weir_context *context = planted_open("cpu:2", 0);
  uint32_t memory[WORDS];
  weir_buffer *buffer;
  planted_ok(weir_buffer_wrap(context, memory, sizeof memory, &buffer));
  const weir_arg arg = weir_writes(buffer);
  planted_ok(
      weir_submit(context, &(weir_task){.host = write_directly, .user = memory, .args = &arg, .arg_count = 1}, NULL));
  planted_ok(weir_finish(context));
  for (uint32_t i = 0; i < WORDS; i++) assert_int_equal(memory[i], i);
  weir_context_release(context);
}

static void count(const weir_work *work) {
  ++*(int *)work->user;
  memset(work->args[0], 1, 64);
}

static void fail_once(const weir_work *work) {
  ++*(int *)work->user;
  weir_work_fail(work, "told to");
}

static void test_host_tasks_run_once(void **state) {
  (void)state;
  weir_context *context = planted_open("cpu:2", 0);
  int counted = 0;
  weir_buffer *buffer;
  planted_ok(weir_buffer_create(context, 64, &buffer));
  const weir_arg arg = weir_writes(buffer);
  planted_ok(weir_submit(context, &(weir_task){.host = count, .user = &counted, .args = &arg, .arg_count = 1}, NULL));
  planted_ok(weir_finish(context));
  assert_int_equal(counted, 1);
  planted_ok(
      weir_submit(context, &(weir_task){.host = fail_once, .user = &counted, .args = &arg, .arg_count = 1}, NULL));
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  assert_non_null(strstr(weir_last_error(), "told to"));
  assert_int_equal(counted, 2);
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  assert_int_equal(statistics.tasks, 2);
  assert_int_equal(statistics.done, 2);
  assert_int_equal(statistics.failed, 1);
  weir_context_release(context);
}

// What reads the outputs of a task with a finding is skipped, what overwrites them is not.
static void test_outputs_are_poisoned(void **state) {
  (void)state;
  pair made;
  open_pair(&made, false);
  const planted_value wrong = {.kind = PLANTED_PARTIAL, .words = WORDS}, right = {.words = WORDS};
  weir_arg args[] = {weir_reads_range(made.from, 0, BYTES), weir_writes_range(made.to, 0, BYTES),
                     weir_value(&wrong, sizeof wrong)};
  weir_task task = {.host = planted_host, .args = args, .arg_count = 3};
  uint32_t words[WORDS];
  weir_event *skipped, *copied;
  planted_ok(weir_submit(made.context, &task, NULL));
  planted_ok(weir_copy_out(made.to, 0, BYTES, words, &skipped));
  assert_int_equal(weir_event_wait(skipped, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  args[2] = weir_value(&right, sizeof right);
  planted_ok(weir_submit(made.context, &task, NULL));
  planted_ok(weir_copy_out(made.to, 0, BYTES, words, &copied));
  assert_int_equal(weir_event_wait(copied, WEIR_FOREVER), WEIR_OK);
  for (uint32_t i = 0; i < WORDS; i++) assert_int_equal(words[i], 10);
  weir_event_release(skipped);
  weir_event_release(copied);
  weir_context_release(made.context);
}

// By the environment, of a context without the flag.
static void test_environment(void **state) {
  (void)state;
  setenv("WEIR_CHECK", "1", 1);
  weir_context *context;
  planted_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &context));
  unsetenv("WEIR_CHECK");
  weir_buffer *buffer;
  uint32_t word;
  planted_ok(weir_buffer_create(context, 64, &buffer));
  planted_ok(weir_copy_out(buffer, 8, 4, &word, NULL));
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  assert_non_null(strstr(weir_last_error(), "bytes [8, 12) are read, and no task wrote them"));
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mistakes),
      cmocka_unit_test(test_memory_of_the_caller_is_used_itself),
      cmocka_unit_test(test_host_tasks_run_once),
      cmocka_unit_test(test_outputs_are_poisoned),
      cmocka_unit_test(test_environment),
  };
  return cmocka_run_group_tests_name("check_mode_host", tests, NULL, NULL);
}
