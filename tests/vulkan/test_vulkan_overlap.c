// SPDX-License-Identifier: Apache-2.0
//
// Whether queues overlap is measured once and kept: what the answer is, is the machine's affair.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/vulkan/overlap.h"

static weir__vulkan_device *open_device(weir_context **out_context) {
  const weir_context_options options = {.devices = "vulkan"};
  assert_int_equal(weir_context_create(&options, out_context), WEIR_OK);
  return weir__vulkan_of(weir_context_device(*out_context, 0));
}

static void test_answer_is_kept(void **state) {
  (void)state;
  char folder[] = "/tmp/weir-overlap-XXXXXX", command[64];
  assert_non_null(mkdtemp(folder));
  assert_int_equal(setenv("WEIR_CACHE", folder, 1), 0);
  bool first = false, again = false;
  weir_context *context;
  weir__vulkan_device *device = open_device(&context);
  // One queue twice: the device has perhaps no second one.
  assert_int_equal(weir__vulkan_find_overlap(device, &device->queues[0], &device->queues[0], &first), WEIR_OK);
  uint64_t chunks = device->memory.next_number;
  again = !first;
  assert_int_equal(weir__vulkan_find_overlap(device, &device->queues[0], &device->queues[0], &again), WEIR_OK);
  assert_int_equal(first, again);
  assert_int_equal(device->memory.next_number, chunks); // nothing was run
  weir_context_release(context);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_answer_is_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
