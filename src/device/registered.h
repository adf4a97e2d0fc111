// SPDX-License-Identifier: Apache-2.0
//
// Devices of the caller's that are registered by name, "KINDsharedN": a registry for each kind of device.
#ifndef WEIR_DEVICE_REGISTERED_H
#define WEIR_DEVICE_REGISTERED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"

// The first member of what a kind of device keeps of a registration.
typedef struct weir__registered {
  struct weir__registered *next;
  char name[32]; // "shared1"
} weir__registered;

typedef struct weir__registry {
  const char *kind; // "opencl:"
  weir__lock lock;  // guards the following, and who uses a registration
  weir__registered *first;
  uint32_t last_number;
} weir__registry;

// Whether what follows the kind in a device's name may name a registered device.
bool weir__registry_may_name(const char *argument);

// Adds a registration under a new name, which goes to `out_name`, with the kind; there is room for it. Takes the lock.
void weir__registry_add(weir__registry *registry, weir__registered *registered, char *out_name, uint64_t size);

// The link to the registration of a name without the kind, or with it (and perhaps NULL); to NULL: there is none. The lock is held.
weir__registered **weir__registry_find(weir__registry *registry, const char *argument);
weir__registered **weir__registry_find_name(weir__registry *registry, const char *name);

#endif // WEIR_DEVICE_REGISTERED_H
