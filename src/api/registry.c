// SPDX-License-Identifier: Apache-2.0
#include "api/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

extern const weir__device_ops weir__cpu_ops, weir__cuda_ops, weir__null_ops, weir__opencl_ops, weir__sim_ops,
    weir__vulkan_ops;

const weir__device_ops *const weir__device_kinds[] = {
    &weir__cpu_ops, &weir__cuda_ops, &weir__null_ops, &weir__opencl_ops, &weir__sim_ops, &weir__vulkan_ops, NULL};

// NULL: there is no such kind.
static const weir__device_ops *find_kind(const char *kind, size_t length) {
  for (const weir__device_ops *const *ops = weir__device_kinds; *ops != NULL; ops++) {
    if (strlen((*ops)->kind) == length && strncmp((*ops)->kind, kind, length) == 0) return *ops;
  }
  return NULL;
}

// What comes after the first of a list of names.
static const char *next_name(const char *names) {
  names += strcspn(names, ",");
  return *names == ',' ? names + 1 : names;
}

uint32_t weir__device_threads(const char *names) {
  uint32_t count = 0;
  for (; *names != '\0'; names = next_name(names)) {
    const weir__device_ops *ops = find_kind(names, strcspn(names, ":,"));
    count += ops != NULL && ops->threaded;
  }
  return count;
}

uint32_t weir__device_workers(const char *names, uint32_t usual) {
  uint32_t count = 0;
  for (; *names != '\0'; names = next_name(names)) {
    size_t length = strcspn(names, ":,");
    if (find_kind(names, length) == &weir__cpu_ops)
      count += names[length] == ':' ? (uint32_t)strtoul(names + length + 1, NULL, 10) : usual;
  }
  return count;
}

uint32_t weir__spare_cores(uint32_t cores, uint32_t workers, uint32_t threads) {
  uint32_t needed = workers + threads + WEIR__FEW_CORES;
  return threads > 0 && needed < cores ? (cores - needed) / threads : 0;
}

weir_status weir__device_create(weir__host *host, const char *name, uint32_t queues, weir_device **out_device) {
  *out_device = NULL;
  size_t length = strcspn(name, ":");
  const weir__device_ops *found = find_kind(name, length);
  if (found != NULL) return found->create(host, name[length] == ':' ? name + length + 1 : "", queues, out_device);
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
