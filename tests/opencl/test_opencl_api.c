// SPDX-License-Identifier: Apache-2.0
//
// The numbers and types that Weir has of OpenCL are those of Khronos's headers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#ifdef WEIR_HAS_OPENCL_HEADER
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "device/opencl/numbers.h"

static const struct {
  const char *name;
  long long theirs, ours;
} numbers[] = {
#define NUMBER(name, value) {#name, (long long)(name), (long long)(value)},
    WEIR__OPENCL_RESULTS(NUMBER) WEIR__OPENCL_NUMBERS(NUMBER)
#undef NUMBER
};

static void the_same_numbers(void **state) {
  (void)state;
  size_t count = sizeof numbers / sizeof *numbers;
  assert_true(count > 80);
  for (size_t i = 0; i < count; i++) {
    if (numbers[i].ours != numbers[i].theirs)
      fail_msg("%s: %lld, but Khronos's header has %lld", numbers[i].name, numbers[i].ours, numbers[i].theirs);
  }
  assert_int_equal(CL_DEVICE_TYPE_ALL, UINT64_C(0xFFFFFFFF));
  assert_int_equal(sizeof(cl_int), sizeof(int32_t));
  assert_int_equal(sizeof(cl_bitfield), sizeof(uint64_t));
  assert_int_equal(sizeof(cl_queue_properties), sizeof(uint64_t));
  assert_int_equal(sizeof(cl_device_partition_property), sizeof(intptr_t));
  assert_int_equal(sizeof(cl_context_properties), sizeof(intptr_t));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
  printf("skipped: no CL/cl.h\n");
  return 77;
}
#endif
