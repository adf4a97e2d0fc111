// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions: what weir_kernel_set_enqueue refuses, and with which text.
#include <string.h>

#include "api.h"
#include "weir/enqueue.h"

static weir_status nothing(const weir_enqueue *call) {
  (void)call;
  return WEIR_OK;
}

static void devices_without_queues_are_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1,sim:ideal", 0, 0);
  weir_kernel *kernel = api_kernel(context, "library", NULL);
  weir_enqueue_code code = {.function = nothing};
  api_expect(weir_kernel_set_enqueue(kernel, "cpu", &code), WEIR_ERROR_INVALID_ARGUMENT, "kernel 'library'",
             "weir_kernel_set_cpu", NULL);
  api_expect(weir_kernel_set_enqueue(kernel, "sim", &code), WEIR_ERROR_INVALID_ARGUMENT, "'sim'",
             "take no enqueue function", NULL);
  api_expect(weir_kernel_set_enqueue(kernel, "abacus", &code), WEIR_ERROR_INVALID_ARGUMENT, "'abacus'", NULL);
  api_expect(weir_kernel_set_enqueue(kernel, NULL, &code), WEIR_ERROR_INVALID_ARGUMENT, "kind of device is NULL", NULL);
  api_expect(weir_kernel_set_enqueue(kernel, "sim", NULL), WEIR_ERROR_INVALID_ARGUMENT, "code is NULL", NULL);
  assert_int_equal(weir_device_information(weir_context_device(context, 0))->enqueue_lanes, 0);
  assert_int_equal(weir_kernel_release(kernel), WEIR_OK);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

// A later program may set what this library does not know.
static void unknown_members_are_refused(void **state) {
  (void)state;
  struct {
    weir_enqueue_code code;
    uint64_t more;
  } code = {.code = {.function = nothing}, .more = 1};
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_kernel *kernel = api_kernel(context, "library", NULL);
  api_expect(weir_kernel_set_enqueue_sized(kernel, "cpu", &code.code, sizeof code), WEIR_ERROR_INVALID_ARGUMENT,
             "enqueue function", "a member is set", NULL);
  weir_enqueue_fail(NULL, "nobody");
  assert_int_equal(weir_kernel_release(kernel), WEIR_OK);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_without_queues_are_refused),
      cmocka_unit_test(unknown_members_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
