// SPDX-License-Identifier: Apache-2.0
//
// Kernels, tasks and their arguments: good use, and every misuse that submission refuses.
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "device/kernel.h"
#include "random.h"
#include "weir/sim.h"

static weir_context *context;
static weir_kernel *kernel;
static weir_buffer *buffer; // of 100 bytes, "pixels"

static int set_up(void **state) {
  (void)state;
  context = api_context("cpu:2", 0, 0);
  kernel = api_kernel(context, "blur", api_nothing);
  buffer = api_buffer(context, 100, "pixels");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir_context_release(context);
  return 0;
}

// Submits and expects a refusal that changes nothing.
static void refuse(const weir_task *task, weir_status wanted, const char *first, const char *second) {
  weir_statistics before, after;
  weir_context_statistics(context, &before);
  weir_event *event = (weir_event *)&before;
  api_expect(weir_submit(context, task, &event), wanted, first, second, NULL);
  assert_null(event);
  weir_context_statistics(context, &after);
  assert_int_equal(before.tasks, after.tasks);
}

static void refuse_args(const weir_arg *args, uint32_t count, weir_status wanted, const char *first,
                        const char *second) {
  weir_task task = {.kernel = kernel, .args = args, .arg_count = count, .label = "sharpen"};
  refuse(&task, wanted, first, second);
}

static void refuse_arg(weir_arg arg, weir_status wanted, const char *first, const char *second) {
  weir_arg args[] = {weir_reads(buffer), arg};
  if (arg.mode != WEIR_READ) args[0] = weir_value("x", 1);
  refuse_args(args, 2, wanted, first, second);
}

static void tasks_need_a_kernel_or_a_function(void **state) {
  (void)state;
  refuse(&(weir_task){0}, WEIR_ERROR_INVALID_ARGUMENT, NULL, NULL);
  refuse(&(weir_task){.kernel = kernel, .host = api_nothing}, WEIR_ERROR_INVALID_ARGUMENT, NULL, NULL);
  refuse(NULL, WEIR_ERROR_INVALID_ARGUMENT, NULL, NULL);
  weir_task task = {.kernel = kernel};
  api_expect(weir_submit(NULL, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
}

static void kernels_without_code_are_refused(void **state) {
  (void)state;
  weir_kernel *empty = api_kernel(context, "hollow", NULL);
  refuse(&(weir_task){.kernel = empty}, WEIR_ERROR_NO_CODE, "hollow", NULL);
  weir_task task = {.kernel = empty, .device = weir_context_device(context, 0)};
  refuse(&task, WEIR_ERROR_NO_CODE, "hollow", "cpu");
  assert_int_equal(weir_kernel_set_cpu(empty, api_nothing), WEIR_OK);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
}

static void released_kernels_are_refused(void **state) {
  (void)state;
  weir_kernel *gone = api_kernel(context, "gone", api_nothing);
  assert_int_equal(weir_kernel_release(gone), WEIR_OK);
  refuse(&(weir_task){.kernel = gone}, WEIR_ERROR_RELEASED, NULL, NULL);
  api_expect(weir_kernel_release(gone), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_kernel_set_cpu(gone, api_nothing), WEIR_ERROR_RELEASED, NULL);
  assert_int_equal(weir_kernel_release(NULL), WEIR_OK);
}

static void bad_kernels_are_refused(void **state) {
  (void)state;
  weir_kernel *made = (weir_kernel *)context;
  api_expect(weir_kernel_create(context, NULL, &made), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  assert_null(made);
  api_expect(weir_kernel_create(NULL, "k", &made), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_kernel_create(context, "k", NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_kernel_set_cpu(NULL, api_nothing), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_kernel_set_cpu(kernel, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_kernel_set_sim(kernel, NULL, 1), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  char name[] = "name";
  assert_int_equal(weir_kernel_create(context, name, &made), WEIR_OK);
  name[0] = 'X';
  assert_string_equal(made->name, "name");
}

static void objects_of_other_contexts_are_refused(void **state) {
  (void)state;
  weir_context *other = api_context("cpu:1", 0, 0);
  weir_kernel *foreign = api_kernel(other, "foreign", api_nothing);
  weir_buffer *stranger = api_buffer(other, 8, "stranger");
  weir_event *event = api_submit(other, foreign, NULL, 0);
  refuse(&(weir_task){.kernel = foreign}, WEIR_ERROR_INVALID_ARGUMENT, NULL, NULL);
  refuse_arg(weir_reads(stranger), WEIR_ERROR_INVALID_ARGUMENT, "argument 1", NULL);
  refuse(&(weir_task){.kernel = kernel, .device = weir_context_device(other, 0)}, WEIR_ERROR_INVALID_ARGUMENT, NULL,
         NULL);
  refuse(&(weir_task){.kernel = kernel, .after = &event, .after_count = 1}, WEIR_ERROR_INVALID_ARGUMENT, NULL, NULL);
  weir_event_release(event);
  weir_context_release(other);
}

static void ranges_past_the_end_are_refused(void **state) {
  (void)state;
  refuse_arg(weir_reads_range(buffer, 0, 101), WEIR_ERROR_OUT_OF_RANGE, "argument 1", "pixels");
  refuse_arg(weir_reads_range(buffer, 99, 2), WEIR_ERROR_OUT_OF_RANGE, "sharpen", "pixels");
  refuse_arg(weir_writes_range(buffer, 99, 2), WEIR_ERROR_OUT_OF_RANGE, "99", "100");
  refuse_arg(weir_updates_range(buffer, 101, 1), WEIR_ERROR_OUT_OF_RANGE, "argument 1", "100");
  refuse_arg(weir_reads_range(buffer, 100, WEIR_WHOLE), WEIR_ERROR_OUT_OF_RANGE, "all bytes from byte 100 on leave",
             "pixels");
  refuse_arg(weir_reads_range(buffer, 101, WEIR_WHOLE), WEIR_ERROR_OUT_OF_RANGE, "argument 1", "pixels");
  refuse_arg(weir_reads_range(buffer, UINT64_MAX, 2), WEIR_ERROR_OUT_OF_RANGE, "argument 1", "pixels");
  refuse_arg(weir_reads_range(buffer, UINT64_MAX - 1, WEIR_WHOLE), WEIR_ERROR_OUT_OF_RANGE, "pixels", NULL);
  refuse_arg(weir_writes_range(buffer, 50, UINT64_MAX - 40), WEIR_ERROR_OUT_OF_RANGE, "argument 1", "pixels");
  refuse_arg(weir_writes_range(buffer, UINT64_MAX - 40, 41), WEIR_ERROR_OUT_OF_RANGE, "argument 1", "pixels");
}

static void edges_of_a_buffer_are_accepted(void **state) {
  (void)state;
  weir_arg args[] = {weir_reads_range(buffer, 0, 1), weir_writes_range(buffer, 99, 1),
                     weir_updates_range(buffer, 98, 1), weir_writes_range(buffer, 1, 97)};
  assert_int_equal(api_await(api_submit(context, kernel, args, 4)), WEIR_OK);
  args[0] = weir_writes_range(buffer, 99, WEIR_WHOLE);
  assert_int_equal(api_await(api_submit(context, kernel, args, 1)), WEIR_OK);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  refuse_arg(weir_reads(NULL), WEIR_ERROR_INVALID_ARGUMENT, "argument 1", "NULL");
  refuse_arg(weir_value(NULL, 4), WEIR_ERROR_INVALID_ARGUMENT, "argument 1", NULL);
  static char large[4097];
  refuse_arg(weir_value(large, sizeof large), WEIR_ERROR_INVALID_ARGUMENT, "argument 1", "4097");
  refuse_arg(weir_value(large, UINT64_MAX), WEIR_ERROR_INVALID_ARGUMENT, "argument 1", NULL);
  refuse_arg(weir_reads_range(buffer, 5, 0), WEIR_ERROR_INVALID_ARGUMENT, "argument 1", "empty");
  refuse_arg((weir_arg){.mode = (weir_mode)17, .buffer = buffer, .bytes = 1}, WEIR_ERROR_INVALID_ARGUMENT, "argument 1",
             NULL);
  weir_task task = {.kernel = kernel, .arg_count = 2};
  refuse(&task, WEIR_ERROR_INVALID_ARGUMENT, NULL, NULL);
  task = (weir_task){.kernel = kernel, .after_count = 1};
  refuse(&task, WEIR_ERROR_INVALID_ARGUMENT, NULL, NULL);
  weir_event *none = NULL;
  task = (weir_task){.kernel = kernel, .after = &none, .after_count = 1};
  refuse(&task, WEIR_ERROR_INVALID_ARGUMENT, NULL, NULL);
}

static void disagreeing_arguments_are_refused(void **state) {
  (void)state;
  const weir_arg pairs[][2] = {
      {weir_reads(buffer), weir_writes(buffer)},
      {weir_reads(buffer), weir_updates(buffer)},
      {weir_writes(buffer), weir_updates(buffer)},
      {weir_writes_range(buffer, 0, 50), weir_writes_range(buffer, 49, 51)},
      {weir_reads_range(buffer, 10, 80), weir_writes_range(buffer, 20, 1)},
      {weir_updates_range(buffer, 20, 1), weir_updates_range(buffer, 10, 80)},
      {weir_updates_range(buffer, 20, 1), weir_updates_range(buffer, 20, 2)},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    const weir_arg turned[] = {pairs[i][1], pairs[i][0]};
    refuse_args(pairs[i], 2, WEIR_ERROR_INVALID_ARGUMENT, "sharpen", "pixels");
    refuse_args(turned, 2, WEIR_ERROR_INVALID_ARGUMENT, "argument", "pixels");
  }
}

static void agreeing_arguments_are_accepted(void **state) {
  (void)state;
  const weir_arg pairs[][2] = {
      {weir_reads(buffer), weir_reads(buffer)},
      {weir_reads_range(buffer, 0, 60), weir_reads_range(buffer, 40, 60)},
      {weir_writes(buffer), weir_writes(buffer)},
      {weir_updates_range(buffer, 5, 6), weir_updates_range(buffer, 5, 6)},
      {weir_writes(buffer), weir_writes_range(buffer, 0, 100)},
      {weir_reads_range(buffer, 0, 50), weir_writes_range(buffer, 50, 50)},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
    assert_int_equal(api_await(api_submit(context, kernel, pairs[i], 2)), WEIR_OK);
}

// Many arguments, of which one pair far apart disagrees.
static void disagreement_among_many_arguments_is_found(void **state) {
  (void)state;
  weir_buffer *large = api_buffer(context, 10 * WEIR_MAX_ARGS, "large");
  weir_arg *args = calloc(WEIR_MAX_ARGS, sizeof *args);
  for (uint32_t i = 0; i < WEIR_MAX_ARGS; i++) args[i] = weir_writes_range(large, i * 7919u % WEIR_MAX_ARGS * 10, 10);
  weir_task task = {.kernel = kernel, .args = args, .arg_count = WEIR_MAX_ARGS};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  args[1000].bytes = 11;
  refuse(&task, WEIR_ERROR_INVALID_ARGUMENT, "large", NULL);
  args[1000] = weir_reads_range(large, args[3].offset + 4, 1);
  refuse(&task, WEIR_ERROR_INVALID_ARGUMENT, "large", NULL);
  task.arg_count = WEIR_MAX_ARGS + 1;
  refuse(&task, WEIR_ERROR_INVALID_ARGUMENT, "1025", NULL);
  free(args);
}

static bool disagree(const weir_arg *a, const weir_arg *b) {
  if (a->mode == WEIR_READ && b->mode == WEIR_READ) return false;
  if (a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes) return false;
  return a->mode != b->mode || a->offset != b->offset || a->bytes != b->bytes;
}

// Random arguments are refused exactly when two of them disagree.
static void agreement_is_what_its_definition_says(void **state) {
  (void)state;
  unsigned refused = 0;
  for (uint64_t seed = 1; seed <= 4000; seed++) {
    random_state random = {seed};
    weir_arg args[60];
    uint32_t count = random_between(&random, 2, seed % 2 == 0 ? 60 : 5), spread = random_between(&random, 1, 100);
    weir_mode only = random_chance(&random, 50) ? WEIR_READ : 0;
    bool disagrees = false;
    for (uint32_t i = 0; i < count; i++) {
      weir_mode mode = (weir_mode)random_between(&random, WEIR_READ, WEIR_READ_WRITE);
      if (only != 0 && !random_chance(&random, 5)) mode = only;
      uint32_t offset = random_below(&random, spread) * 100 / spread;
      args[i] = (weir_arg){.mode = mode, .buffer = buffer, .offset = offset, .bytes = 1};
      if (random_chance(&random, 40)) args[i].bytes = random_between(&random, 1, (100 - offset) / 2 + 1);
      for (uint32_t j = 0; j < i; j++) disagrees = disagrees || disagree(&args[i], &args[j]);
    }
    weir_task task = {.kernel = kernel, .args = args, .arg_count = count};
    weir_status status = weir_submit(context, &task, NULL);
    if (status != (disagrees ? WEIR_ERROR_INVALID_ARGUMENT : WEIR_OK)) fail_msg("seed %d", (int)seed);
    refused += disagrees;
  }
  assert_true(refused > 400 && refused < 3600);
}

static void sum_values(const weir_work *work) {
  uint64_t sum = 0;
  for (uint32_t i = 1; i < work->arg_count; i++) {
    unsigned char first;
    memcpy(&first, work->args[i], 1);
    sum += first;
  }
  memcpy(work->args[0], &sum, sizeof sum);
}

static void values_are_copied_at_submission(void **state) {
  (void)state;
  enum { VALUES = 300 };
  weir_buffer *sum = api_number(context, 0);
  gate door = {0};
  weir_arg args[VALUES + 1] = {weir_updates(sum)};
  assert_int_equal(gate_submit(context, &door, args, 1, NULL), WEIR_OK);
  static unsigned char value[4096];
  uint64_t wanted = 0;
  memset(value, 3, sizeof value);
  for (uint32_t i = 1; i <= VALUES; i++) args[i] = weir_value(value, i % 7 == 0 ? 4096 : i);
  wanted = 3 * VALUES;
  weir_event *event = api_submit_host(context, sum_values, NULL, args, VALUES + 1);
  memset(value, 100, sizeof value);
  memset(args, 0xff, sizeof args);
  gate_open(&door);
  assert_int_equal(api_await(event), WEIR_OK);
  assert_int_equal(api_read_number(sum), wanted);
}

static void check_work(const weir_work *work) {
  atomic_uint *groups = work->user;
  if (work->groups[0] != 5 || work->groups[1] != 1 || work->groups[2] != 7) return;
  if (work->arg_count != 0 || work->first >= work->end || work->end > 35) return;
  for (uint64_t i = work->first; i < work->end; i++) atomic_fetch_add(&groups[i], 1);
}

static void every_group_runs_once(void **state) {
  (void)state;
  static atomic_uint groups[35];
  weir_kernel *checked = api_kernel(context, "checked", check_work);
  for (unsigned run = 1; run <= 100; run++) {
    weir_task task = {.kernel = checked, .user = groups, .groups = {5, 0, 7}};
    weir_event *event = NULL;
    assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
    assert_int_equal(api_await(event), WEIR_OK);
    for (int i = 0; i < 35; i++) assert_int_equal(atomic_load(&groups[i]), run);
  }
}

static void check_call(const weir_work *work) {
  atomic_uint *calls = work->user;
  if (work->groups[0] == 5 && work->groups[1] == 1 && work->groups[2] == 7 && work->first == 0 && work->end == 35)
    atomic_fetch_add(calls, 1);
  else
    atomic_fetch_add(calls, 1000);
}

// The calls of a host task were as many as workers took ranges of its work-groups.
static void a_host_task_is_one_call(void **state) {
  (void)state;
  static atomic_uint calls;
  for (unsigned run = 1; run <= 100; run++) {
    weir_task task = {.host = check_call, .user = &calls, .groups = {5, 0, 7}};
    weir_event *event = NULL;
    assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
    assert_int_equal(api_await(event), WEIR_OK);
    assert_int_equal(atomic_load(&calls), run);
  }
}

static void count_groups(const weir_work *work) {
  atomic_fetch_add((_Atomic uint64_t *)work->user, work->end - work->first);
}

static void large_grids_do_not_overflow(void **state) {
  (void)state;
  static _Atomic uint64_t count;
  weir_kernel *counted = api_kernel(context, "counted", count_groups);
  weir_task task = {.kernel = counted, .user = &count, .groups = {1u << 16, 1u << 16, 4}};
  weir_event *event = NULL;
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  assert_int_equal(api_await(event), WEIR_OK);
  assert_true(atomic_load(&count) == UINT64_C(1) << 34);
  task = (weir_task){.kernel = counted, .user = &count, .groups = {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
  refuse(&task, WEIR_ERROR_INVALID_ARGUMENT, "group", NULL);
}

static void helpers_make_arguments(void **state) {
  (void)state;
  int number = 1;
  weir_arg arg = weir_value(&number, sizeof number);
  assert_int_equal(arg.mode, WEIR_VALUE);
  assert_ptr_equal(arg.value, &number);
  assert_int_equal(arg.bytes, sizeof number);
  arg = weir_updates_range(buffer, 3, 4);
  assert_true(arg.mode == WEIR_READ_WRITE && arg.buffer == buffer && arg.offset == 3 && arg.bytes == 4);
  arg = weir_reads(buffer);
  assert_true(arg.mode == WEIR_READ && arg.buffer == buffer && arg.offset == 0 && arg.bytes == WEIR_WHOLE);
}

enum { SLOTS = 8 };

// The kernel's argument is how many groups it has; a failure is asked for by `user`.
static void check_groups(const weir_work *work) {
  const uint64_t *expected = (const uint64_t *)work->args[0];
  if (work->end != expected[0] || work->groups[0] != expected[0] || work->groups[1] != 1 || work->groups[2] != 1)
    weir_work_fail(work, "it has another task's groups");
  if (work->user != NULL) weir_work_fail(work, "as asked");
}

// Something that a slot of the window keeps of its task: groups, a tag, an event, accesses elsewhere, a move.
static void submit_unusual(weir_context *in, weir_kernel *run, weir_buffer *const *numbers, uint32_t kind,
                           uint64_t tag) {
  weir_arg args[32] = {weir_reads(numbers[kind == 0 ? 3 : 1])};
  weir_task task = {.kernel = run, .args = args, .arg_count = 1, .tag = tag};
  weir_event *event = NULL;
  if (kind == 0) task.groups[0] = 3;
  if (kind == 1) args[0] = weir_reads_range(numbers[1], 0, 8);
  if (kind == 2)
    for (task.arg_count = 1; task.arg_count < 32; task.arg_count++) args[task.arg_count] = weir_reads(numbers[2]);
  if (kind == 3)
    assert_int_equal(weir_copy(numbers[0], 0, numbers[2], 0, 8, &event), WEIR_OK);
  else
    assert_int_equal(weir_submit(in, &task, &event), WEIR_OK);
  assert_int_equal(api_await(event), WEIR_OK);
}

// What most tasks have in common stays in their slots, so it must be what they have after one that differed.
static void tasks_have_nothing_of_those_whose_slots_they_get(void **state) {
  (void)state;
  random_state random = {7};
  weir_context *in = api_context("cpu:2", SLOTS, 0);
  weir_kernel *run = api_kernel(in, "groups", check_groups);
  weir_buffer *numbers[4];
  for (uint64_t i = 0; i < 4; i++) numbers[i] = api_number(in, i);
  weir_arg one = weir_reads(numbers[1]);
  weir_task task = {.kernel = run, .args = &one, .arg_count = 1};
  for (int round = 0; round < 300; round++) {
    uint32_t odd = random_below(&random, SLOTS), even = random_below(&random, 2 * SLOTS);
    for (uint32_t i = 0; i < odd; i++) submit_unusual(in, run, numbers, random_below(&random, 4), 4711);
    for (uint32_t i = 0; i < even; i++) assert_int_equal(weir_submit(in, &task, NULL), WEIR_OK);
  }
  for (uint32_t i = 0; i < SLOTS; i++) submit_unusual(in, run, numbers, i % 4, 4711);
  assert_int_equal(weir_finish(in), WEIR_OK);
  task.user = numbers;
  assert_int_equal(weir_submit(in, &task, NULL), WEIR_OK);
  api_expect(weir_finish(in), WEIR_ERROR_TASK_FAILED, "tag 0", "as asked", NULL);
  weir_context_release(in);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tasks_need_a_kernel_or_a_function, set_up, tear_down),
      cmocka_unit_test_setup_teardown(kernels_without_code_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(released_kernels_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(bad_kernels_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(objects_of_other_contexts_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(ranges_past_the_end_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(edges_of_a_buffer_are_accepted, set_up, tear_down),
      cmocka_unit_test_setup_teardown(bad_arguments_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(disagreeing_arguments_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(agreeing_arguments_are_accepted, set_up, tear_down),
      cmocka_unit_test_setup_teardown(disagreement_among_many_arguments_is_found, set_up, tear_down),
      cmocka_unit_test_setup_teardown(agreement_is_what_its_definition_says, set_up, tear_down),
      cmocka_unit_test_setup_teardown(values_are_copied_at_submission, set_up, tear_down),
      cmocka_unit_test_setup_teardown(every_group_runs_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_host_task_is_one_call, set_up, tear_down),
      cmocka_unit_test_setup_teardown(large_grids_do_not_overflow, set_up, tear_down),
      cmocka_unit_test_setup_teardown(helpers_make_arguments, set_up, tear_down),
      cmocka_unit_test(tasks_have_nothing_of_those_whose_slots_they_get),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
