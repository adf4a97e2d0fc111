// SPDX-License-Identifier: Apache-2.0
#include "device/registered.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const char PREFIX[] = "shared";

bool weir__registry_may_name(const char *argument) {
  return strncmp(argument, PREFIX, sizeof PREFIX - 1) == 0;
}

bool weir__registry_has_room(const weir__registry *registry, uint64_t size) {
  return size >= strlen(registry->kind) + sizeof ":sharedNNNNNNNNNN";
}

void weir__registry_add(weir__registry *registry, weir__registered *registered, char *out_name, uint64_t size) {
  weir__lock_acquire(&registry->lock);
  snprintf(registered->name, sizeof registered->name, "%s%u", PREFIX, ++registry->last_number);
  registered->references = 1;
  registered->next = registry->first;
  registry->first = registered;
  snprintf(out_name, size, "%s:%s", registry->kind, registered->name);
  weir__lock_release(&registry->lock);
}

// The link to the registration of a name without the kind; to NULL: there is none. The lock is held.
static weir__registered **find(weir__registry *registry, const char *argument) {
  weir__registered **link = &registry->first;
  while (*link != NULL && strcmp((*link)->name, argument) != 0) link = &(*link)->next;
  return link;
}

static bool is_taken(const weir__registry *registry, const weir__registered *registered) {
  return registry->exclusive && registered->references > 1;
}

weir_status weir__registry_remove(weir__registry *registry, const char *name) {
  size_t length = strlen(registry->kind);
  bool is_name = name != NULL && strncmp(name, registry->kind, length) == 0 && name[length] == ':';
  weir__lock_acquire(&registry->lock);
  weir__registered **link = find(registry, is_name ? name + length + 1 : "");
  weir__registered *found = *link;
  bool taken = found != NULL && is_taken(registry, found);
  if (found != NULL && !taken) *link = found->next;
  weir__lock_release(&registry->lock);
  if (found == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "unregister: there is no '%.40s'", name == NULL ? "" : name);
  if (taken) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "unregister: a context uses %.40s", name);
  weir__registry_give(registry, found);
  return WEIR_OK;
}

weir_status weir__registry_take(weir__registry *registry, const char *argument, weir__registered **out_registered) {
  weir__lock_acquire(&registry->lock);
  weir__registered *found = *find(registry, argument);
  bool taken = found != NULL && is_taken(registry, found);
  if (found != NULL && !taken) found->references++;
  weir__lock_release(&registry->lock);
  *out_registered = taken ? NULL : found;
  if (*out_registered != NULL) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device %s:%.40s: %s", registry->kind, argument,
                     taken ? "another context uses it" : "no such device is registered");
}

void weir__registry_give(weir__registry *registry, weir__registered *registered) {
  weir__lock_acquire(&registry->lock);
  bool last = --registered->references == 0;
  weir__lock_release(&registry->lock);
  if (last) registry->destroy(registered);
}
