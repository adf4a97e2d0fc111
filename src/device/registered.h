// SPDX-License-Identifier: Apache-2.0
//
// Devices of the caller's that are registered by name, "KIND:sharedN": a registry for each kind of device.
#ifndef WEIR_DEVICE_REGISTERED_H
#define WEIR_DEVICE_REGISTERED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "weir/weir.h"

// The first member of what a kind of device keeps of a registration.
typedef struct weir__registered {
  struct weir__registered *next;
  char name[32];       // "shared1"
  uint32_t references; // the registry's, and one for each context that uses it; guarded by the registry's lock
} weir__registered;

typedef struct weir__registry {
  const char *kind; // "opencl"
  bool exclusive;   // one context at a time uses a registration, and it stays registered meanwhile
  void (*destroy)(weir__registered *registered); // there is no reference any more. No lock is held
  weir__lock lock;                               // guards the following
  weir__registered *first;
  uint32_t last_number;
} weir__registry;

// Whether what follows the kind in a device's name may name a registered device.
bool weir__registry_may_name(const char *argument);

// Whether `size` bytes are enough for any name, with the kind.
bool weir__registry_has_room(const weir__registry *registry, uint64_t size);

// Adds a registration under a new name, which goes to `out_name`, with the kind; there is room for it.
void weir__registry_add(weir__registry *registry, weir__registered *registered, char *out_name, uint64_t size);

// Takes out the registration of a name with the kind. INVALID_ARGUMENT: there is none (`name` may be NULL), or it is
// exclusive and a context uses it.
weir_status weir__registry_remove(weir__registry *registry, const char *name);

// Takes a reference to the registration of a name without the kind. INVALID_ARGUMENT: there is none, or it is exclusive and
// another context uses it; `*out_registered` is NULL then.
weir_status weir__registry_take(weir__registry *registry, const char *argument, weir__registered **out_registered);
void weir__registry_give(weir__registry *registry, weir__registered *registered);

#endif // WEIR_DEVICE_REGISTERED_H
