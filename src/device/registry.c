// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"

extern const weir__device_ops weir__cpu_ops, weir__cuda_ops, weir__null_ops, weir__opencl_ops, weir__sim_ops,
    weir__vulkan_ops;

const weir__device_ops *const weir__device_kinds[] = {
    &weir__cpu_ops, &weir__cuda_ops, &weir__null_ops, &weir__opencl_ops, &weir__sim_ops, &weir__vulkan_ops, NULL};

weir_status weir__device_create(weir_context *context, const char *name, uint32_t queues, weir_device **out_device) {
  *out_device = NULL;
  size_t length = strcspn(name, ":");
  const char *argument = name[length] == ':' ? name + length + 1 : "";
  for (const weir__device_ops *const *ops = weir__device_kinds; *ops != NULL; ops++) {
    if (strlen((*ops)->kind) == length && strncmp((*ops)->kind, name, length) == 0)
      return (*ops)->create(context, argument, queues, out_device);
  }
  char known[128] = "";
  for (const weir__device_ops *const *ops = weir__device_kinds; *ops != NULL; ops++) {
    size_t used = strlen(known);
    if (!(*ops)->hidden) snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "" : ", ", (*ops)->kind);
  }
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: there is no device '%s'; known kinds: %s", name, known);
}

void weir_probe(weir_probe_function function, void *user) {
  if (function == NULL) return;
  for (const weir__device_ops *const *ops = weir__device_kinds; *ops != NULL; ops++) {
    if ((*ops)->hidden) continue;
    char text[256] = "";
    bool available = (*ops)->probe(text, sizeof text);
    function(user, (*ops)->kind, available, text);
  }
}
