// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/driver.h"

#include <stdio.h>

#include "base/allocate.h"
#include "device/loader.h"
#include "device/vulkan/validation.h"

static weir__function find_of_instance(void *user, const char *name) {
  const weir__vulkan_driver *driver = user;
  return driver->vkGetInstanceProcAddr(driver->instance, name);
}

bool weir__vulkan_driver_open(PFN_vkGetInstanceProcAddr get, VkInstance instance, weir__vulkan_driver *out_driver,
                              char *reason, size_t size) {
  static const weir__symbol SYMBOLS[] = {
#define SYMBOL(name, need) WEIR__SYMBOL(weir__vulkan_driver, name, name, need),
      WEIR__VULKAN_INSTANCE_SYMBOLS(SYMBOL)
#undef SYMBOL
  };
  *out_driver =
      (weir__vulkan_driver){.vkGetInstanceProcAddr = get, .instance = instance, .version = VK_API_VERSION_1_2};
  const char *missing =
      weir__symbols_find((weir__symbols)WEIR__SYMBOLS_OF(SYMBOLS), out_driver, find_of_instance, out_driver);
  if (missing != NULL) snprintf(reason, size, "the Vulkan instance lacks %s", missing);
  return missing == NULL;
}

typedef struct logical_device {
  PFN_vkGetDeviceProcAddr get;
  VkDevice device;
} logical_device;

static weir__function find_of_device(void *user, const char *name) {
  const logical_device *of = user;
  return of->get(of->device, name);
}

bool weir__vulkan_calls_open(const weir__vulkan_driver *driver, VkDevice device, weir__vulkan_calls *out_calls,
                             char *reason, size_t size) {
  static const weir__symbol SYMBOLS[] = {
#define SYMBOL(name, need) WEIR__SYMBOL(weir__vulkan_calls, name, name, need),
      WEIR__VULKAN_DEVICE_SYMBOLS(SYMBOL)
#undef SYMBOL
  };
  logical_device of = {.get = driver->vkGetDeviceProcAddr, .device = device};
  const char *missing = weir__symbols_find((weir__symbols)WEIR__SYMBOLS_OF(SYMBOLS), out_calls, find_of_device, &of);
  if (missing != NULL) snprintf(reason, size, "the Vulkan device lacks %s", missing);
  return missing == NULL;
}

// Vulkan 1.3 where the loader has it, else 1.2; 0: it has neither.
static uint32_t choose_version(PFN_vkGetInstanceProcAddr get, char *reason, size_t size) {
  PFN_vkEnumerateInstanceVersion ask = (PFN_vkEnumerateInstanceVersion)get(NULL, "vkEnumerateInstanceVersion");
  uint32_t version = VK_API_VERSION_1_0;
  if (ask != NULL && ask(&version) != VK_SUCCESS) version = VK_API_VERSION_1_0;
  if (version >= VK_API_VERSION_1_3) return VK_API_VERSION_1_3;
  if (version >= VK_API_VERSION_1_2) return VK_API_VERSION_1_2;
  snprintf(reason, size, "the Vulkan loader has Vulkan %u.%u; Weir needs 1.2", VK_API_VERSION_MAJOR(version),
           VK_API_VERSION_MINOR(version));
  return 0;
}

static VkInstance create_instance(PFN_vkGetInstanceProcAddr get, uint32_t version, char *reason, size_t size) {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                         .pApplicationName = "weir",
                                         .pEngineName = "weir",
                                         .apiVersion = version};
  VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  weir__vulkan_validation validation;
  bool validate = weir__vulkan_validation_wanted();
  if (validate && !weir__vulkan_validation_add(get, &validation, &create, reason, size)) return VK_NULL_HANDLE;
  PFN_vkCreateInstance make = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
  VkInstance instance = VK_NULL_HANDLE;
  VkResult result = make != NULL ? make(&create, NULL, &instance) : VK_ERROR_INITIALIZATION_FAILED;
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    snprintf(reason, size, "no Vulkan driver is installed");
  else if (result != VK_SUCCESS)
    snprintf(reason, size, "Vulkan does not start: vkCreateInstance: %s", weir__vulkan_result_name(result));
  if (result != VK_SUCCESS) return VK_NULL_HANDLE;
  if (validate) result = weir__vulkan_validation_start(get, instance, &validation);
  if (result == VK_SUCCESS) return instance;
  snprintf(reason, size, "Vulkan validation does not start: %s", weir__vulkan_result_name(result));
  PFN_vkDestroyInstance destroy = (PFN_vkDestroyInstance)get(instance, "vkDestroyInstance");
  if (destroy != NULL) destroy(instance, NULL);
  return VK_NULL_HANDLE;
}

static bool list_devices(weir__vulkan_driver *driver, char *reason, size_t size) {
  uint32_t count = 0;
  VkResult result = driver->vkEnumeratePhysicalDevices(driver->instance, &count, NULL);
  if (result == VK_SUCCESS && count > 0) {
    driver->devices = weir__allocate(count * sizeof driver->devices[0]);
    result = driver->devices == NULL ? VK_ERROR_OUT_OF_HOST_MEMORY
                                     : driver->vkEnumeratePhysicalDevices(driver->instance, &count, driver->devices);
  }
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
    snprintf(reason, size, "the Vulkan devices cannot be listed: %s", weir__vulkan_result_name(result));
    return false;
  }
  driver->device_count = count;
  if (count > 0) return true;
  snprintf(reason, size, "no Vulkan device");
  return false;
}

// Whether at least one device is usable; `reason` names what each of them lacks.
static bool has_usable_device(const weir__vulkan_driver *driver, char *reason, size_t size) {
  size_t used = (size_t)snprintf(reason, size, "no Vulkan device that Weir can use: ");
  weir__vulkan_facts *facts = weir__allocate(sizeof *facts);
  if (facts == NULL) {
    snprintf(reason, size, "no memory to list the Vulkan devices");
    return false;
  }
  bool found = false;
  for (uint32_t i = 0; i < driver->device_count && !found; i++) {
    char why[192];
    weir__vulkan_find_facts(driver, driver->devices[i], facts);
    found = weir__vulkan_is_usable(facts, why, sizeof why);
    if (!found && used < size) used += (size_t)snprintf(reason + used, size - used, "%s%s", i > 0 ? "; " : "", why);
  }
  weir__free(facts);
  return found;
}

// An instance, opened and with a usable device.
static bool start(void *table, char *reason, size_t size) {
  weir__vulkan_driver *driver = table;
  PFN_vkGetInstanceProcAddr get = driver->vkGetInstanceProcAddr;
  uint32_t version = choose_version(get, reason, size);
  if (version == 0) return false;
  VkInstance instance = create_instance(get, version, reason, size);
  if (instance == VK_NULL_HANDLE) return false;
  bool started = weir__vulkan_driver_open(get, instance, driver, reason, size);
  driver->version = version;
  if (started && list_devices(driver, reason, size) && has_usable_device(driver, reason, size)) return true;
  weir__free(driver->devices);
  driver->devices = NULL;
  if (driver->vkDestroyInstance != NULL) driver->vkDestroyInstance(instance, NULL);
  return false;
}

const weir__vulkan_driver *weir__vulkan_driver_load(char *reason, size_t size) {
  static const char *const FILES[] = {"libvulkan.so.1", NULL};
  static const weir__symbol SYMBOLS[] = {
      WEIR__SYMBOL(weir__vulkan_driver, vkGetInstanceProcAddr, vkGetInstanceProcAddr, REQUIRED)};
  static weir__vulkan_driver driver;
  static weir__library library = {.name = "Vulkan loader",
                                  .lacks = "the Vulkan loader lacks",
                                  .variable = "WEIR_VULKAN_LOADER",
                                  .files = FILES,
                                  .symbols = WEIR__SYMBOLS_OF(SYMBOLS),
                                  .table = &driver,
                                  .start = start};
  return weir__library_load(&library, reason, size);
}
