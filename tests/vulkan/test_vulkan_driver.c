// SPDX-License-Identifier: Apache-2.0
//
// The loader and what devices offer: every way in which they may be missing, with the reason, and then the real ones.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"
#include "weir/vulkan.h"

static char reason[512];

static void assert_unavailable(const char *loader, const char *wrong, const char *text) {
  setenv("WEIR_VULKAN_LOADER", loader, 1);
  setenv("WEIR_STUB_VULKAN", wrong, 1);
  reason[0] = 0;
  assert_null(weir__vulkan_driver_load(reason, sizeof reason));
  if (strstr(reason, text) == NULL) fail_msg("'%s' does not say '%s'", reason, text);
  char probed[512];
  uint32_t count = 7;
  assert_false(weir__vulkan_probe(probed, sizeof probed));
  assert_string_equal(probed, reason);
  assert_int_equal(weir_vulkan_device_count(&count), WEIR_ERROR_UNAVAILABLE);
  assert_int_equal(count, 0);
  assert_non_null(strstr(weir_last_error(), reason));
}

static void missing_loaders(void **state) {
  (void)state;
  assert_unavailable("/nonexistent/libvulkan.so", "", "no Vulkan loader: /nonexistent/libvulkan.so");
  assert_unavailable(EMPTY_LIBRARY, "", "the Vulkan loader lacks vkGetInstanceProcAddr");
}

static void missing_parts(void **state) {
  (void)state;
  assert_unavailable(STUB_LOADER, "1.1", "the Vulkan loader has Vulkan 1.1; Weir needs 1.2");
  assert_unavailable(STUB_LOADER, "instance", "vkCreateInstance: VK_ERROR_INITIALIZATION_FAILED");
  assert_unavailable(STUB_LOADER, "driver", "no Vulkan driver is installed");
  assert_unavailable(STUB_LOADER, "function", "the Vulkan instance lacks vkCreateDevice");
  assert_unavailable(STUB_LOADER, "list", "cannot be listed: VK_ERROR_OUT_OF_HOST_MEMORY");
  assert_unavailable(STUB_LOADER, "none", "no Vulkan device");
  assert_unavailable(STUB_LOADER, "old", "stub has Vulkan 1.1; Weir needs 1.2");
  assert_unavailable(STUB_LOADER, "timeline", "stub has no timeline semaphores");
  assert_unavailable(STUB_LOADER, "compute", "stub has no queue for compute shaders");
}

// Every instance that was made for nothing was destroyed.
static void nothing_is_left(void **state) {
  (void)state;
  void *library = dlopen(STUB_LOADER, RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(library);
  int (*instances)(void);
  *(void **)&instances = dlsym(library, "stub_instances");
  assert_int_equal(instances(), 0);
  dlclose(library);
}

static void real_devices(void **state) {
  (void)state;
  unsetenv("WEIR_VULKAN_LOADER");
  const weir__vulkan_driver *driver = weir__vulkan_driver_load(reason, sizeof reason);
  if (driver == NULL) fail_msg("%s", reason);
  assert_ptr_equal(driver, weir__vulkan_driver_load(reason, sizeof reason));
  assert_true(driver->device_count > 0);
  weir__vulkan_facts facts;
  weir__vulkan_find_facts(driver, driver->devices[0], &facts);
  assert_true(facts.version >= VK_API_VERSION_1_2);
  assert_true(facts.version <= driver->version);
  assert_true(facts.features12.timelineSemaphore);
  assert_null(facts.features11.pNext);
  assert_null(facts.features12.pNext);
  assert_null(facts.subgroup.pNext);
  assert_true(facts.subgroup.subgroupSize > 0);
  assert_true(facts.driver.driverName[0] != 0);
  assert_true(facts.family_count > 0);
  assert_true(weir__vulkan_is_usable(&facts, reason, sizeof reason));
}

static void descriptions(void **state) {
  (void)state;
  uint32_t count = 0;
  assert_int_equal(weir_vulkan_device_count(&count), WEIR_OK);
  assert_true(count > 0);
  weir_vulkan_description description;
  for (uint32_t i = 0; i < count; i++) {
    assert_int_equal(weir_vulkan_device_describe(i, &description), WEIR_OK);
    assert_true(description.name[0] != 0);
    assert_true(description.version[0] >= 1);
    assert_true(description.usable || description.reason[0] != 0);
    assert_true(description.family_count > 0);
    bool computes = false;
    for (uint32_t j = 0; j < description.family_count; j++) {
      assert_true(description.families[j].queues > 0);
      computes = computes || description.families[j].compute;
    }
    assert_true(computes || !description.usable);
  }
  assert_int_equal(weir_vulkan_device_describe(count, &description), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_vulkan_device_describe(0, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_vulkan_device_count(NULL), WEIR_ERROR_INVALID_ARGUMENT);
  char probed[512];
  assert_int_equal(weir_vulkan_device_describe(0, &description), WEIR_OK);
  assert_true(weir__vulkan_probe(probed, sizeof probed));
  assert_non_null(strstr(probed, description.name));
  assert_non_null(strstr(probed, "; queues: "));
}

static void functions_of_instances_and_devices(void **state) {
  (void)state;
  vulkan_rig rig;
  rig_create(&rig);
  weir__vulkan_driver opened;
  assert_true(weir__vulkan_driver_open(rig.driver->vkGetInstanceProcAddr, rig.driver->instance, &opened, reason,
                                       sizeof reason));
  assert_int_equal(opened.version, VK_API_VERSION_1_2);
  assert_ptr_equal(opened.instance, rig.driver->instance);
  assert_true(opened.vkCreateDevice == rig.driver->vkCreateDevice);
  assert_int_equal(rig.calls.vkDeviceWaitIdle(rig.device), VK_SUCCESS);
  rig_destroy(&rig);
}

static void results(void **state) {
  (void)state;
  assert_string_equal(weir__vulkan_result_name(VK_ERROR_DEVICE_LOST), "VK_ERROR_DEVICE_LOST");
  assert_string_equal(weir__vulkan_result_name((VkResult)12345), "a result that Weir does not know");
  assert_int_equal(weir__vulkan_status(VK_SUCCESS), WEIR_OK);
  assert_int_equal(weir__vulkan_status(VK_NOT_READY), WEIR_PENDING);
  assert_int_equal(weir__vulkan_status(VK_TIMEOUT), WEIR_TIMEOUT);
  assert_int_equal(weir__vulkan_status(VK_ERROR_DEVICE_LOST), WEIR_ERROR_DEVICE_LOST);
  assert_int_equal(weir__vulkan_status(VK_ERROR_OUT_OF_DEVICE_MEMORY), WEIR_ERROR_OUT_OF_MEMORY);
  assert_int_equal(weir__vulkan_status(VK_ERROR_OUT_OF_POOL_MEMORY), WEIR_ERROR_OUT_OF_MEMORY);
  assert_int_equal(weir__vulkan_status(VK_ERROR_FEATURE_NOT_PRESENT), WEIR_ERROR_UNAVAILABLE);
  assert_int_equal(weir__vulkan_status(VK_ERROR_UNKNOWN), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir__vulkan_error(VK_SUCCESS, "nothing"), WEIR_OK);
  assert_int_equal(weir__vulkan_error(VK_ERROR_OUT_OF_HOST_MEMORY, "chunk %d", 7), WEIR_ERROR_OUT_OF_MEMORY);
  assert_string_equal(weir_last_error(), "chunk 7: VK_ERROR_OUT_OF_HOST_MEMORY");
}

int main(void) {
  // What is missing comes first: a driver that was loaded stays.
  const struct CMUnitTest missing[] = {
      cmocka_unit_test(missing_loaders),
      cmocka_unit_test(missing_parts),
      cmocka_unit_test(nothing_is_left),
      cmocka_unit_test(results),
  };
  const struct CMUnitTest real[] = {
      cmocka_unit_test(real_devices),
      cmocka_unit_test(descriptions),
      cmocka_unit_test(functions_of_instances_and_devices),
  };
  const char *validation = getenv("WEIR_VULKAN_VALIDATION");
  char wanted[16];
  snprintf(wanted, sizeof wanted, "%s", validation != NULL ? validation : "");
  unsetenv("WEIR_VULKAN_VALIDATION"); // the stub has no layer
  int failed = cmocka_run_group_tests_name("missing", missing, NULL, NULL);
  unsetenv("WEIR_VULKAN_LOADER");
  setenv("WEIR_VULKAN_VALIDATION", wanted, 1);
  rig_skip_without_device();
  return failed + cmocka_run_group_tests_name("real", real, NULL, NULL);
}
