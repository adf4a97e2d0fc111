// SPDX-License-Identifier: Apache-2.0
//
// test_run DEVICE [resident]: the kernels of forms.c on one of Weir's devices give what plain C gives, to the bit. `resident`: on
// a card, all of them in its resident kernel.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cases.h"
#include "forms.kernels.h"
#include "weir/cuda.h"

enum { SKIPPED = 77 };

static const char *device = "cpu:4";
static weir_issue issue = WEIR_ISSUE_AUTO;

static void check_status(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

static void submit(weir_context *context, const launch_case *test, weir_kernel *kernel, weir_buffer **buffers) {
  weir_arg args[CASE_MAX_ARGS];
  for (uint32_t i = 0; i < test->arg_count; i++) {
    const case_arg *arg = &test->args[i];
    if (!arg->is_buffer) {
      args[i] = weir_value(arg->start, arg->bytes);
      continue;
    }
    check_status(weir_buffer_create(context, arg->bytes, &buffers[i]));
    check_status(weir_copy_in(buffers[i], 0, arg->bytes, arg->start, NULL));
    args[i] = weir_updates(buffers[i]);
  }
  weir_task task = {.kernel = kernel, .args = args, .arg_count = test->arg_count};
  memcpy(task.groups, test->groups, sizeof task.groups);
  check_status(weir_submit(context, &task, NULL));
}

static void check_resident(weir_context *context, weir_kernel *kernel) {
  weir_device *card = weir_context_device(context, 0);
  if (issue != WEIR_ISSUE_RESIDENT || strcmp(weir_device_information(card)->kind, "cuda") != 0) return;
  char reason[512];
  if (!weir_cuda_is_resident(kernel, card, reason, sizeof reason)) fail_msg("not resident: %s", reason);
}

static void run_case(weir_context *context, int index) {
  launch_case test = case_create(index);
  weir_kernel *kernel;
  weir_buffer *buffers[CASE_MAX_ARGS] = {0};
  check_status(weir_kernel_create_from(context, test.code, &kernel));
  submit(context, &test, kernel, buffers);
  for (uint32_t i = 0; i < test.arg_count; i++) {
    if (!buffers[i]) continue;
    void *contents = malloc(test.args[i].bytes);
    assert_non_null(contents);
    check_status(weir_copy_out(buffers[i], 0, test.args[i].bytes, contents, NULL));
    check_status(weir_finish(context));
    assert_true(case_right(&test, i, contents, device));
    free(contents);
    weir_buffer_release(buffers[i]);
  }
  check_resident(context, kernel);
  weir_kernel_release(kernel);
  case_release(&test);
}

static void test_cases(void **state) {
  weir_context *context = *state;
  for (int index = 0; index < CASE_COUNT; index++) run_case(context, index);
}

static void test_code(void **state) {
  (void)state;
  assert_string_equal(reduce.name, "reduce");
  assert_non_null(reduce.function);
  assert_ptr_equal(reduce.source, forms_kernels_source);
  assert_int_equal(indexes.block[0] * 100 + indexes.block[1] * 10 + indexes.block[2], 432);
  assert_non_null(strstr(forms_kernels_source, "#line 1 \"forms.c\""));
  assert_non_null(strstr(forms_kernels_source, "typedef struct line"));
  assert_null(strstr(forms_kernels_source, "#include \"shared_types.h\""));
}

// A task whose arguments do not fit the kernel fails; on the CPU the kernel itself notices.
static void test_argument_count(void **state) {
  weir_context *context = *state;
  weir_kernel *kernel;
  weir_buffer *buffer;
  check_status(weir_kernel_create_from(context, &transpose, &kernel));
  check_status(weir_buffer_create(context, 64, &buffer));
  weir_arg arg = weir_updates(buffer);
  weir_status status = weir_submit(context, &(weir_task){.kernel = kernel, .args = &arg, .arg_count = 1}, NULL);
  if (status == WEIR_OK) status = weir_finish(context);
  assert_int_not_equal(status, WEIR_OK);
  assert_non_null(strstr(weir_last_error(), "transpose"));
  weir_buffer_release(buffer);
  weir_kernel_release(kernel);
}

int main(int argc, char **argv) {
  if (argc > 1) device = argv[1];
  if (argc > 2 && strcmp(argv[2], "resident") == 0) issue = WEIR_ISSUE_RESIDENT;
  weir_context *context;
  weir_status status = weir_context_create(&(weir_context_options){.devices = device, .issue = issue}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("%s\n", weir_last_error());
    return SKIPPED;
  }
  if (status != WEIR_OK) {
    fprintf(stderr, "%s: %s\n", weir_status_name(status), weir_last_error());
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(test_cases, context),
      cmocka_unit_test(test_code),
      cmocka_unit_test_prestate(test_argument_count, context),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  weir_context_release(context);
  return failed;
}
