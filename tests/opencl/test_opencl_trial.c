// SPDX-License-Identifier: Apache-2.0
//
// The first context of a CPU device tries whether its driver takes any address. Where that driver refuses a command, those before
// it are over when the memory is freed: PoCL 5.0 refuses the fill, and wrote to memory that had a new owner.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fault_loader.h"
#include "weir/weir.h"

enum { INVALID_VALUE = -30 };

static void commands_are_over_where_a_later_one_is_refused(void **state) {
  (void)state;
  weir_context *context = NULL;
  fault_loader_fail("clEnqueueSVMMemFill", 1, INVALID_VALUE);
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl"}, &context), WEIR_OK);
  assert_true(fault_loader_failed());
  assert_int_equal(fault_loader_unfinished(), 0);
  weir_context_release(context);
  assert_int_equal(fault_loader_live(), 0);
}

int main(void) {
  unsetenv("WEIR_OPENCL_MEMORY");
  fault_loader_use_or_skip(FAULT_LOADER);
  const struct CMUnitTest tests[] = {cmocka_unit_test(commands_are_over_where_a_later_one_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
