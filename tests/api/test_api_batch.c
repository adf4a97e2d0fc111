// SPDX-License-Identifier: Apache-2.0
//
// Arrays of tasks, and prepared tasks.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "weir/batch.h"
#include "weir/group.h"

enum { COUNT = 500, THREADS = 4 };

// Writes 2 * argument 0 + argument 1 + its user to argument 2: a value, and two numbers.
static void step(const weir_work *work) {
  const uint64_t *value = work->args[0], *from = work->args[1];
  *(uint64_t *)work->args[2] = 2 * *from + *value + (uint64_t)(uintptr_t)work->user;
}

static weir_task task_of(weir_kernel *kernel, const weir_arg *args, uint32_t arg_count) {
  return (weir_task){.kernel = kernel, .args = args, .arg_count = arg_count};
}

// Tasks of a chain on `window` slots, with labels or without.
static void run_chain(uint32_t window, const char *label) {
  weir_context *context = api_context("cpu:2", window, 0);
  weir_kernel *kernel = api_kernel(context, "step", step);
  weir_buffer *numbers[2] = {api_number(context, 1), api_number(context, 0)};
  uint64_t wanted = 1;
  weir_arg(*args)[3] = calloc(COUNT, sizeof *args);
  weir_task *tasks = calloc(COUNT, sizeof *tasks);
  weir_event **events = calloc(COUNT, sizeof *events);
  uint64_t *values = calloc(COUNT, sizeof *values);
  for (uint64_t i = 0; i < COUNT; i++) {
    values[i] = i * i;
    args[i][0] = weir_value(&values[i], sizeof values[i]);
    args[i][1] = weir_reads(numbers[i % 2]);
    args[i][2] = weir_writes(numbers[(i + 1) % 2]);
    tasks[i] = task_of(kernel, args[i], 3);
    tasks[i].user = (void *)(uintptr_t)i;
    tasks[i].label = label;
    wanted = 2 * wanted + i * i + i;
  }
  uint64_t submitted = 7;
  assert_int_equal(weir_submit_many(context, tasks, COUNT, events, &submitted), WEIR_OK);
  assert_int_equal(submitted, COUNT);
  for (int i = 0; i < COUNT; i++) assert_int_equal(api_await(events[i]), WEIR_OK);
  assert_int_equal(api_read_number(numbers[COUNT % 2]), wanted);
  free(args);
  free(tasks);
  free(events);
  free(values);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

static void arrays_are_submitted_in_order(void **state) {
  (void)state;
  run_chain(0, NULL);
  run_chain(8, NULL);
  run_chain(0, "labelled");
  run_chain(8, "labelled");
}

static void an_array_ends_at_what_is_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *number = api_number(context, 1);
  weir_kernel *kernel = api_kernel(context, "nothing", api_nothing);
  weir_arg good = weir_updates(number), bad = weir_updates_range(number, 4, 5);
  weir_task tasks[] = {task_of(kernel, &good, 1), task_of(kernel, &good, 1), task_of(kernel, &bad, 1),
                       task_of(kernel, &good, 1)};
  weir_event *events[4];
  uint64_t submitted;
  memset(events, 1, sizeof events);
  api_expect(weir_submit_many(context, tasks, 4, events, &submitted), WEIR_ERROR_OUT_OF_RANGE,
             "submit many, number 2: task 'nothing'", "5 bytes from byte 4", NULL);
  assert_int_equal(submitted, 2);
  assert_int_equal(api_await(events[0]), WEIR_OK);
  assert_int_equal(api_await(events[1]), WEIR_OK);
  assert_null(events[2]);
  assert_null(events[3]);
  assert_int_equal(weir_submit_many(context, NULL, 0, NULL, &submitted), WEIR_OK);
  assert_int_equal(submitted, 0);
  api_expect(weir_submit_many(context, NULL, 1, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, "the tasks are NULL", NULL);
  api_expect(weir_submit_many(NULL, tasks, 1, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, "the context is NULL", NULL);
  weir_context_release(context);
}

// A program with an earlier weir.h has shorter tasks, and one with a later one longer ones, in its arrays.
static void tasks_may_have_another_size(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *number = api_number(context, 0), *one = api_number(context, 1);
  weir_kernel *kernel = api_kernel(context, "add", api_add);
  weir_arg args[] = {weir_reads(one), weir_updates(number)};
  weir_task task = task_of(kernel, args, 2);
  size_t small = offsetof(weir_task, destroy), large = sizeof(weir_task) + 16;
  char *tasks = calloc(3, large);
  for (int i = 0; i < 3; i++) memcpy(tasks + (size_t)i * small, &task, small);
  uint64_t submitted;
  const weir_task *first = (const weir_task *)(const void *)tasks;
  assert_int_equal(weir_submit_many_sized(context, first, small, 3, NULL, NULL), WEIR_OK);
  assert_int_equal(api_read_number(number), 3);
  memset(tasks, 0, 3 * large);
  for (int i = 0; i < 3; i++) memcpy(tasks + (size_t)i * large, &task, sizeof task);
  tasks[2 * large + sizeof task] = 1; // a member that this library does not know
  api_expect(weir_submit_many_sized(context, first, large, 3, NULL, &submitted), WEIR_ERROR_INVALID_ARGUMENT,
             "number 2", "a member is set", NULL);
  assert_int_equal(submitted, 2);
  assert_int_equal(api_read_number(number), 5);
  free(tasks);
  weir_context_release(context);
}

static weir_prepared *prepare(weir_context *context, const weir_task *task) {
  weir_prepared *prepared = NULL;
  assert_int_equal(weir_prepare(context, task, &prepared), WEIR_OK);
  assert_non_null(prepared);
  return prepared;
}

static void prepared_chain(uint32_t window, const char *label, bool host) {
  weir_context *context = api_context("cpu:2", window, 0);
  weir_buffer *numbers[2] = {api_number(context, 1), api_number(context, 0)};
  weir_arg args[] = {weir_value(NULL, 8), weir_reads(NULL), weir_writes(NULL)};
  weir_task task = task_of(host ? NULL : api_kernel(context, "step", step), args, 3);
  if (host) task.host = step;
  task.user = (void *)3;
  task.label = label;
  weir_prepared *prepared = prepare(context, &task);
  memset(args, 0xa5, sizeof args); // they were copied
  memset(&task, 0xa5, sizeof task);
  uint64_t wanted = 1, values[COUNT];
  weir_buffer *buffers[2 * COUNT];
  const void *addresses[COUNT];
  for (uint64_t i = 0; i < COUNT; i++) {
    values[i] = 5 * i;
    addresses[i] = &values[i];
    buffers[2 * i] = numbers[i % 2];
    buffers[2 * i + 1] = numbers[(i + 1) % 2];
    wanted = 2 * wanted + 5 * i + 3;
  }
  uint64_t submitted;
  weir_event *event, *events[COUNT];
  assert_int_equal(weir_prepared_submit(prepared, buffers, addresses, &event), WEIR_OK);
  assert_int_equal(weir_prepared_submit_many(prepared, buffers + 2, addresses + 1, COUNT - 1, events, &submitted),
                   WEIR_OK);
  assert_int_equal(submitted, COUNT - 1);
  assert_int_equal(weir_prepared_release(prepared), WEIR_OK);
  memset(values, 0xa5, sizeof values);
  assert_int_equal(api_await(event), WEIR_OK);
  for (int i = 0; i < COUNT - 1; i++) assert_int_equal(api_await(events[i]), WEIR_OK);
  assert_int_equal(api_read_number(numbers[COUNT % 2]), wanted);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

static void prepared_tasks_take_their_buffers_and_values(void **state) {
  (void)state;
  for (int i = 0; i < 8; i++) prepared_chain(i & 1 ? 8 : 0, i & 2 ? "a label" : NULL, i & 4);
}

static void add_ranges(const weir_work *work) {
  const uint64_t *a = work->args[0], *b = work->args[1];
  *(uint64_t *)work->args[2] = *a + *b;
}

// Ranges lie at the same place in whichever buffer; the rest of a buffer may be longer or shorter.
static void prepared_ranges(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  const uint64_t few[] = {1, 2, 3}, many[] = {10, 20, 30, 40};
  weir_buffer *short_one = api_buffer(context, sizeof few, "short"),
              *long_one = api_buffer(context, sizeof many, "long");
  assert_int_equal(weir_copy_in(short_one, 0, sizeof few, few, NULL), WEIR_OK);
  assert_int_equal(weir_copy_in(long_one, 0, sizeof many, many, NULL), WEIR_OK);
  weir_arg args[] = {weir_reads_range(NULL, 0, 8), weir_reads_range(NULL, 8, 8),
                     weir_updates_range(NULL, 16, WEIR_WHOLE)};
  weir_kernel *kernel = api_kernel(context, "add ranges", add_ranges);
  weir_task task = task_of(kernel, args, 3);
  weir_prepared *prepared = prepare(context, &task);
  assert_int_equal(weir_prepared_submit(prepared, (weir_buffer *[]){short_one, short_one, short_one}, NULL, NULL),
                   WEIR_OK);
  assert_int_equal(weir_prepared_submit(prepared, (weir_buffer *[]){short_one, long_one, long_one}, NULL, NULL),
                   WEIR_OK);
  uint64_t got[4];
  assert_int_equal(api_read(short_one, 0, sizeof few, got), WEIR_OK);
  assert_int_equal(got[2], 3);
  assert_int_equal(api_read(long_one, 0, sizeof many, got), WEIR_OK);
  assert_int_equal(got[2], 21);
  weir_buffer *tiny = api_number(context, 1);
  api_expect(weir_prepared_submit(prepared, (weir_buffer *[]){short_one, tiny, short_one}, NULL, NULL),
             WEIR_ERROR_OUT_OF_RANGE, "argument 1", "which has 8 bytes", NULL);
  api_expect(weir_prepared_submit(prepared, NULL, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, "submit prepared: task ",
             "`buffers` is NULL, and it has 3 of them", NULL);
  api_expect(weir_prepared_submit(NULL, NULL, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT,
             "submit prepared: the prepared task is NULL", NULL);
  uint64_t submitted;
  weir_buffer *two[] = {short_one, short_one, short_one, short_one, short_one, NULL};
  api_expect(weir_prepared_submit_many(prepared, two, NULL, 2, NULL, &submitted), WEIR_ERROR_INVALID_ARGUMENT,
             "submit prepared, number 1", "argument 2", "the buffer is NULL", NULL);
  assert_int_equal(submitted, 1);
  weir_context_release(context);
}

static void what_cannot_be_prepared(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_kernel *kernel = api_kernel(context, "nothing", api_nothing);
  weir_prepared *prepared = (weir_prepared *)(void *)&prepared;
  weir_arg arg = weir_reads(NULL);
  weir_task task = task_of(kernel, &arg, 1);
  arg.mode = WEIR_REDUCE;
  api_expect(weir_prepare(context, &task, &prepared), WEIR_ERROR_INVALID_ARGUMENT, "argument 0", NULL);
  assert_null(prepared);
  arg = weir_reads_range(NULL, 0, 0);
  api_expect(weir_prepare(context, &task, &prepared), WEIR_ERROR_INVALID_ARGUMENT, "argument 0", "0 bytes", NULL);
  arg = weir_value(NULL, 1 << 20);
  api_expect(weir_prepare(context, &task, &prepared), WEIR_ERROR_INVALID_ARGUMENT, "argument 0", NULL);
  arg = weir_reads(NULL);
  weir_group *group;
  assert_int_equal(weir_group_create(context, &group), WEIR_OK);
  task.group = group;
  api_expect(weir_prepare(context, &task, &prepared), WEIR_ERROR_INVALID_ARGUMENT, "no group", NULL);
  task.group = NULL;
  task.kernel = NULL;
  api_expect(weir_prepare(context, &task, &prepared), WEIR_ERROR_INVALID_ARGUMENT, "prepare: ", "a kernel", NULL);
  api_expect(weir_prepare(context, NULL, &prepared), WEIR_ERROR_INVALID_ARGUMENT, "the task is NULL", NULL);
  api_expect(weir_prepare(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_prepared", NULL);
  weir_context_release(context);
}

static void what_is_released_is_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_kernel *kernel = api_kernel(context, "nothing", api_nothing);
  weir_arg arg = weir_reads(NULL);
  weir_task task = task_of(kernel, &arg, 1);
  weir_prepared *prepared = prepare(context, &task), *other = prepare(context, &task);
  weir_buffer *number = api_number(context, 1);
  api_expect(weir_prepared_submit(prepared, NULL, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT,
             "`buffers` is NULL, and it has 1 of them", NULL);
  assert_int_equal(weir_prepared_release(prepared), WEIR_OK);
  api_expect(weir_prepared_submit(prepared, &number, NULL, NULL), WEIR_ERROR_RELEASED, "prepared task", NULL);
  api_expect(weir_prepared_release(prepared), WEIR_ERROR_RELEASED, NULL);
  assert_int_equal(weir_prepared_release(NULL), WEIR_OK);
  assert_int_equal(weir_prepared_submit(other, &number, NULL, NULL), WEIR_OK);
  assert_int_equal(weir_kernel_release(kernel), WEIR_OK);
  api_expect(weir_prepared_submit(other, &number, NULL, NULL), WEIR_ERROR_RELEASED, NULL);
  assert_int_equal(weir_buffer_release(number), WEIR_OK);
  api_expect(weir_prepared_submit((weir_prepared *)(void *)kernel, &number, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT,
             "this is not a prepared task", NULL);
  weir_context_release(context); // the other one goes with it
}

// The label is copied: where the first task of a call and later ones get theirs.
static void prepared_labels(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  char label[] = "mine";
  weir_arg arg = weir_updates(NULL);
  weir_task task = task_of(api_kernel(context, "failing", api_fail), &arg, 1);
  task.label = label;
  weir_prepared *prepared = prepare(context, &task);
  memset(label, 'x', sizeof label - 1);
  memset(&arg, 0xa5, sizeof arg);
  weir_buffer *numbers[] = {api_number(context, 1), api_number(context, 2), api_number(context, 3)};
  weir_event *events[3];
  assert_int_equal(weir_prepared_submit_many(prepared, numbers, NULL, 3, events, NULL), WEIR_OK);
  for (int i = 0; i < 3; i++) {
    api_expect(weir_event_wait(events[i], WEIR_FOREVER), WEIR_ERROR_TASK_FAILED, "'mine'", NULL);
    weir_event_release(events[i]);
  }
  weir_context_release(context);
}

typedef struct crowd {
  weir_prepared *prepared;
  weir_buffer *one, *sum;
} crowd;

static void *submit_some(void *user) {
  crowd *self = user;
  weir_buffer *buffers[2 * COUNT];
  for (int i = 0; i < COUNT; i++) {
    buffers[2 * i] = self->one;
    buffers[2 * i + 1] = self->sum;
  }
  for (int i = 0; i < COUNT; i += COUNT / 5)
    assert_int_equal(weir_prepared_submit_many(self->prepared, buffers, NULL, COUNT / 5, NULL, NULL), WEIR_OK);
  return NULL;
}

// Several threads submit one prepared task into a small window, where each of them waits for room now and then.
static void threads_share_a_prepared_task(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 16, 0);
  weir_arg args[] = {weir_reads(NULL), weir_updates(NULL)};
  weir_task task = task_of(api_kernel(context, "add", api_add), args, 2);
  crowd self = {.prepared = prepare(context, &task), .one = api_number(context, 1), .sum = api_number(context, 0)};
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, submit_some, &self), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(api_read_number(self.sum), THREADS * COUNT);
  weir_context_release(context);
}

typedef struct parent {
  weir_context *context;
  weir_prepared *prepared;
  weir_buffer *one, *sum;
} parent;

static void submit_children(const weir_work *work) {
  const parent *self = work->user;
  weir_buffer *buffers[] = {self->one, self->sum, self->one, self->sum};
  if (weir_prepared_submit_many(self->prepared, buffers, NULL, 2, NULL, NULL) != WEIR_OK) abort();
}

static void children_may_be_prepared(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 8, 0);
  weir_arg args[] = {weir_reads(NULL), weir_updates(NULL)};
  weir_task task = task_of(api_kernel(context, "add", api_add), args, 2);
  parent self = {.context = context, .prepared = prepare(context, &task), .one = api_number(context, 1)};
  self.sum = api_number(context, 0);
  weir_task parents[100];
  for (int i = 0; i < 100; i++) parents[i] = (weir_task){.host = submit_children, .user = &self};
  assert_int_equal(weir_submit_many(context, parents, 100, NULL, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(api_read_number(self.sum), 200);
  weir_context_release(context);
}

// In a context of many buffers, submissions ask for those of later tasks (api/fetch.h): of none that is not there.
static void arrays_in_a_context_of_many_buffers(void **state) {
  (void)state;
  enum { MANY = 300, LAST = MANY - 1 };
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_kernel *kernel = api_kernel(context, "add", api_add);
  weir_buffer *numbers[MANY];
  for (int i = 0; i < MANY; i++) numbers[i] = api_number(context, 1);
  // Where memory ends behind them, so that a look too far is seen.
  weir_arg(*args)[2] = malloc(LAST * sizeof *args);
  weir_task *tasks = malloc(LAST * sizeof *tasks);
  weir_buffer **pairs = malloc(2 * LAST * sizeof *pairs);
  for (int i = 0; i < LAST; i++) {
    args[i][0] = weir_reads(pairs[2 * i] = numbers[i]);
    args[i][1] = weir_updates(pairs[2 * i + 1] = numbers[i + 1]);
    tasks[i] = task_of(kernel, args[i], 2);
  }
  assert_int_equal(weir_submit_many(context, tasks, LAST, NULL, NULL), WEIR_OK);
  assert_int_equal(api_read_number(numbers[LAST]), MANY);
  weir_prepared *prepared = prepare(context, &tasks[0]);
  assert_int_equal(weir_prepared_submit_many(prepared, pairs, NULL, LAST, NULL, NULL), WEIR_OK);
  assert_int_equal(api_read_number(numbers[LAST]), MANY * (MANY + 1) / 2);
  assert_int_equal(weir_prepared_submit(prepared, pairs + 2 * (LAST - 1), NULL, NULL), WEIR_OK);
  assert_int_equal(api_read_number(numbers[LAST]), MANY * (MANY + 1) / 2 + LAST * MANY / 2);
  uint64_t submitted;
  pairs[2 * LAST - 1] = NULL;
  args[LAST - 1][1].buffer = NULL;
  assert_int_equal(weir_prepared_submit_many(prepared, pairs, NULL, LAST, NULL, &submitted),
                   WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(submitted, LAST - 1);
  assert_int_equal(weir_submit_many(context, tasks, LAST, NULL, &submitted), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(submitted, LAST - 1);
  free(args);
  free(tasks);
  free(pairs);
  assert_int_equal(weir_prepared_release(prepared), WEIR_OK);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_are_submitted_in_order),
      cmocka_unit_test(an_array_ends_at_what_is_refused),
      cmocka_unit_test(tasks_may_have_another_size),
      cmocka_unit_test(prepared_tasks_take_their_buffers_and_values),
      cmocka_unit_test(prepared_ranges),
      cmocka_unit_test(prepared_labels),
      cmocka_unit_test(what_cannot_be_prepared),
      cmocka_unit_test(what_is_released_is_refused),
      cmocka_unit_test(threads_share_a_prepared_task),
      cmocka_unit_test(children_may_be_prepared),
      cmocka_unit_test(arrays_in_a_context_of_many_buffers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
