// SPDX-License-Identifier: Apache-2.0
//
// Vulkan's results as texts and as statuses.
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "device/vulkan/driver.h"

const char *weir__vulkan_result_name(VkResult result) {
  switch (result) {
#define NAME(name)                                                                                                     \
  case name:                                                                                                           \
    return #name;
    NAME(VK_SUCCESS)
    NAME(VK_NOT_READY)
    NAME(VK_TIMEOUT)
    NAME(VK_EVENT_SET)
    NAME(VK_EVENT_RESET)
    NAME(VK_INCOMPLETE)
    NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    NAME(VK_ERROR_INITIALIZATION_FAILED)
    NAME(VK_ERROR_DEVICE_LOST)
    NAME(VK_ERROR_MEMORY_MAP_FAILED)
    NAME(VK_ERROR_LAYER_NOT_PRESENT)
    NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    NAME(VK_ERROR_TOO_MANY_OBJECTS)
    NAME(VK_ERROR_FORMAT_NOT_SUPPORTED)
    NAME(VK_ERROR_FRAGMENTED_POOL)
    NAME(VK_ERROR_UNKNOWN)
    NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
    NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE)
    NAME(VK_ERROR_FRAGMENTATION)
    NAME(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
    NAME(VK_PIPELINE_COMPILE_REQUIRED)
    NAME(VK_ERROR_VALIDATION_FAILED_EXT)
    NAME(VK_ERROR_INVALID_SHADER_NV)
    NAME(VK_ERROR_NOT_PERMITTED_KHR)
#undef NAME
  default:
    return "a result that Weir does not know";
  }
}

weir_status weir__vulkan_status(VkResult result) {
  switch (result) {
  case VK_SUCCESS:
    return WEIR_OK;
  case VK_NOT_READY:
    return WEIR_PENDING;
  case VK_TIMEOUT:
    return WEIR_TIMEOUT;
  case VK_ERROR_DEVICE_LOST:
    return WEIR_ERROR_DEVICE_LOST;
  case VK_ERROR_OUT_OF_HOST_MEMORY:
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
  case VK_ERROR_OUT_OF_POOL_MEMORY:
  case VK_ERROR_FRAGMENTED_POOL:
  case VK_ERROR_FRAGMENTATION:
  case VK_ERROR_TOO_MANY_OBJECTS:
  case VK_ERROR_MEMORY_MAP_FAILED:
    return WEIR_ERROR_OUT_OF_MEMORY;
  case VK_ERROR_INVALID_SHADER_NV:
    return WEIR_ERROR_INVALID_ARGUMENT;
  case VK_ERROR_INITIALIZATION_FAILED:
  case VK_ERROR_LAYER_NOT_PRESENT:
  case VK_ERROR_EXTENSION_NOT_PRESENT:
  case VK_ERROR_FEATURE_NOT_PRESENT:
  case VK_ERROR_INCOMPATIBLE_DRIVER:
  case VK_ERROR_FORMAT_NOT_SUPPORTED:
  case VK_ERROR_NOT_PERMITTED_KHR:
    return WEIR_ERROR_UNAVAILABLE;
  default:
    return WEIR_ERROR_TASK_FAILED;
  }
}

weir_status weir__vulkan_error(VkResult result, const char *format, ...) {
  if (result == VK_SUCCESS) return WEIR_OK;
  char what[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return weir__error(weir__vulkan_status(result), "%s: %s", what, weir__vulkan_result_name(result));
}
