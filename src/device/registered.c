// SPDX-License-Identifier: Apache-2.0
#include "device/registered.h"

#include <stdio.h>
#include <string.h>

static const char PREFIX[] = "shared";

bool weir__registry_may_name(const char *argument) {
  return strncmp(argument, PREFIX, sizeof PREFIX - 1) == 0;
}

void weir__registry_add(weir__registry *registry, weir__registered *registered, char *out_name, uint64_t size) {
  weir__lock_acquire(&registry->lock);
  snprintf(registered->name, sizeof registered->name, "%s%u", PREFIX, ++registry->last_number);
  registered->next = registry->first;
  registry->first = registered;
  snprintf(out_name, size, "%s%s", registry->kind, registered->name);
  weir__lock_release(&registry->lock);
}

weir__registered **weir__registry_find(weir__registry *registry, const char *argument) {
  weir__registered **link = &registry->first;
  while (*link != NULL && strcmp((*link)->name, argument) != 0) link = &(*link)->next;
  return link;
}

weir__registered **weir__registry_find_name(weir__registry *registry, const char *name) {
  size_t length = strlen(registry->kind);
  bool is_name = name != NULL && strncmp(name, registry->kind, length) == 0;
  return weir__registry_find(registry, is_name ? name + length : "");
}
