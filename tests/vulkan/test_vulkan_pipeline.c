// SPDX-License-Identifier: Apache-2.0
//
// Pipelines: what is shared, what is kept on disk, and every refusal with what the device offers.
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "add.spv.h"
#include "device/vulkan/pipeline.h"
#include "rig.h"

static vulkan_rig shared;

#define CODE(name) (&(weir_vulkan_code){name##_spv, sizeof name##_spv})

static int create(void **state) {
  (void)state;
  rig_create(&shared);
  return 0;
}

static int destroy(void **state) {
  (void)state;
  rig_destroy(&shared);
  return 0;
}

static void equal_pipelines_are_shared(void **state) {
  (void)state;
  weir__vulkan_pipelines *pipelines = weir__vulkan_pipelines_create(&shared.calls, shared.device, &shared.facts);
  const weir_vulkan_launch launch = {.entry = NULL};
  const weir__vulkan_pipeline *first, *again;
  assert_int_equal(weir__vulkan_pipeline_get(pipelines, "kernel 'add'", CODE(add), &launch, &first), WEIR_OK);
  assert_int_equal(weir__vulkan_pipeline_get(pipelines, "kernel 'sum'", CODE(add), &launch, &again), WEIR_OK);
  assert_ptr_equal(first, again);
  assert_int_equal(first->layout->binding_count, 3);
  assert_int_equal(first->layout->push_bytes, 4);
  assert_int_equal(first->local_size[0], 64);
  weir__vulkan_pipelines_destroy(pipelines);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_pipelines_are_shared),
  };
  rig_skip_without_device();
  return cmocka_run_group_tests(tests, create, destroy);
}
