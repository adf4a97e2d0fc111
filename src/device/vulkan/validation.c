// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/validation.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocate.h"

static const char LAYER[] = "VK_LAYER_KHRONOS_validation";

// The layer takes this setting from its environment only. Names in the variable are separated by colons.
static const char ENABLES[] = "VK_LAYER_ENABLES";
static const char ACROSS_SUBMISSIONS[] = "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT";

static _Atomic uint64_t messages;

uint64_t weir__vulkan_validation_messages(void) {
  return atomic_load(&messages);
}

bool weir__vulkan_validation_wanted(void) {
  const char *wanted = getenv("WEIR_VULKAN_VALIDATION");
  return wanted != NULL && wanted[0] != 0 && strcmp(wanted, "0") != 0;
}

static void fail_process(void) {
  fflush(NULL);
  fprintf(stderr, "Vulkan validation: %llu validation messages\n", (unsigned long long)atomic_load(&messages));
  _exit(WEIR__VULKAN_VALIDATION_EXIT);
}

// Weir's images stay in one layout, so that a barrier for all memory serves them as well as buffers: the layer advises others
// for copies.
static bool is_advice_on_layouts(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
                                 const char *message) {
  return severity < VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT &&
         types == VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT && message != NULL &&
         strstr(message, "instead of GENERAL") != NULL;
}

static VkBool32 take_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
                             const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  (void)user;
  if (is_advice_on_layouts(severity, types, data->pMessage)) return VK_FALSE;
  const char *kind = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? "error" : "warning";
  fprintf(stderr, "Vulkan validation: %s: %s\n", kind, data->pMessage != NULL ? data->pMessage : "?");
  // What the layer says of itself: that its own books of a timeline semaphore, which one thread signals on the host while
  // another looks at it, were not up to date within its patience. (1.3.239: "most likely a validation bug".)
  if (data->pMessageIdName != NULL && strcmp(data->pMessageIdName, "UNASSIGNED-VkSemaphore-state-timeout") == 0)
    return VK_FALSE;
  if (atomic_fetch_add(&messages, 1) == 0) atexit(fail_process);
  return VK_FALSE;
}

static bool has_layer(PFN_vkGetInstanceProcAddr get) {
  PFN_vkEnumerateInstanceLayerProperties list =
      (PFN_vkEnumerateInstanceLayerProperties)get(NULL, "vkEnumerateInstanceLayerProperties");
  uint32_t count = 0;
  if (list == NULL || list(&count, NULL) != VK_SUCCESS || count == 0) return false;
  VkLayerProperties *layers = weir__allocate(count * sizeof *layers);
  bool found = false;
  if (layers != NULL && list(&count, layers) == VK_SUCCESS) {
    for (uint32_t i = 0; i < count; i++)
      if (strcmp(layers[i].layerName, LAYER) == 0) found = true;
  }
  weir__free(layers);
  return found;
}

static bool has_extension(PFN_vkGetInstanceProcAddr get, const char *name) {
  PFN_vkEnumerateInstanceExtensionProperties list =
      (PFN_vkEnumerateInstanceExtensionProperties)get(NULL, "vkEnumerateInstanceExtensionProperties");
  uint32_t count = 0;
  if (list == NULL || list(LAYER, &count, NULL) != VK_SUCCESS || count == 0) return false;
  VkExtensionProperties *extensions = weir__allocate(count * sizeof *extensions);
  bool found = false;
  if (extensions != NULL && list(LAYER, &count, extensions) == VK_SUCCESS) {
    for (uint32_t i = 0; i < count; i++)
      if (strcmp(extensions[i].extensionName, name) == 0) found = true;
  }
  weir__free(extensions);
  return found;
}

static bool check_across_submissions(char *reason, size_t size) {
  const char *given = getenv(ENABLES);
  if (given != NULL && strstr(given, ACROSS_SUBMISSIONS) != NULL) return true;
  char both[1024];
  int length = snprintf(both, sizeof both, "%s%s%s", given != NULL ? given : "",
                        given != NULL && given[0] != 0 ? ":" : "", ACROSS_SUBMISSIONS);
  if (length > 0 && (size_t)length < sizeof both && setenv(ENABLES, both, 1) == 0) return true;
  snprintf(reason, size, "Vulkan validation was asked for, but %s cannot be set", ENABLES);
  return false;
}

bool weir__vulkan_validation_add(PFN_vkGetInstanceProcAddr get, weir__vulkan_validation *validation,
                                 VkInstanceCreateInfo *create, char *reason, size_t size) {
  static const char *const EXTENSIONS[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                           VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  if (!has_layer(get)) {
    snprintf(reason, size, "Vulkan validation was asked for, but there is no layer %s", LAYER);
    return false;
  }
  for (int i = 0; i < 2; i++) {
    validation->extensions[i] = EXTENSIONS[i];
    if (has_extension(get, EXTENSIONS[i])) continue;
    snprintf(reason, size, "Vulkan validation was asked for, but %s lacks %s", LAYER, EXTENSIONS[i]);
    return false;
  }
  if (!check_across_submissions(reason, size)) return false;
  validation->layers[0] = LAYER;
  validation->enable = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  validation->messenger = (VkDebugUtilsMessengerCreateInfoEXT){
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity =
          VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
      .pfnUserCallback = take_message};
  validation->features = (VkValidationFeaturesEXT){.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                                   .pNext = &validation->messenger,
                                                   .enabledValidationFeatureCount = 1,
                                                   .pEnabledValidationFeatures = &validation->enable};
  create->pNext = &validation->features;
  create->enabledLayerCount = 1;
  create->ppEnabledLayerNames = validation->layers;
  create->enabledExtensionCount = 2;
  create->ppEnabledExtensionNames = validation->extensions;
  return true;
}

VkResult weir__vulkan_validation_start(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                       const weir__vulkan_validation *validation) {
  PFN_vkCreateDebugUtilsMessengerEXT make =
      (PFN_vkCreateDebugUtilsMessengerEXT)get(instance, "vkCreateDebugUtilsMessengerEXT");
  VkDebugUtilsMessengerEXT messenger;
  return make != NULL ? make(instance, &validation->messenger, NULL, &messenger) : VK_ERROR_EXTENSION_NOT_PRESENT;
}
