// SPDX-License-Identifier: Apache-2.0
//
// The memory of a destroyed object stays known and is used again late, so that a stale handle is recognised.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { KEPT = 4096 }; // destroyed objects of a kind before the first is used again

static struct {
  stub_object *first, *last; // destroyed
  uint64_t kept, live;
} kinds[STUB_KINDS];

static const char *const kind_names[STUB_KINDS] = {"stream", "event",      "module",           "function",
                                                   "graph",  "graph node", "executable graph", "linker"};

// Every object there ever was: open addressing.
static stub_object **table;
static size_t table_size, table_used;

static size_t slot_of(const void *object) {
  size_t slot = (size_t)random_mix((uint64_t)(uintptr_t)object) & (table_size - 1);
  while (table[slot] != NULL && table[slot] != object) slot = (slot + 1) & (table_size - 1);
  return slot;
}

static void table_add(stub_object *object) {
  if (2 * (table_used + 1) > table_size) {
    stub_object **old = table;
    size_t old_size = table_size;
    table_size = old_size == 0 ? 1024 : 2 * old_size;
    table = stub_allocate(table_size * sizeof *table);
    for (size_t i = 0; i < old_size; i++)
      if (old[i] != NULL) table[slot_of(old[i])] = old[i];
    free(old);
  }
  table[slot_of(object)] = object;
  table_used++;
}

void *stub_object_create(stub_kind kind, size_t bytes) {
  stub_object *object = NULL;
  if (kinds[kind].kept > KEPT) {
    object = kinds[kind].first;
    kinds[kind].first = object->next;
    kinds[kind].kept--;
    memset(object, 0, bytes);
  } else {
    object = stub_allocate(bytes);
    table_add(object);
  }
  object->kind = kind;
  object->live = true;
  kinds[kind].live++;
  return object;
}

void stub_object_bury(void *handle) {
  stub_object *object = handle;
  object->live = false;
  kinds[object->kind].live--;
}

void stub_object_retire(void *handle) {
  stub_object *object = handle;
  object->next = NULL;
  if (kinds[object->kind].kept++ == 0)
    kinds[object->kind].first = object;
  else
    kinds[object->kind].last->next = object;
  kinds[object->kind].last = object;
}

void stub_object_destroy(void *object) {
  stub_object_bury(object);
  stub_object_retire(object);
}

bool stub_object_is_live(const void *handle, stub_kind kind) {
  const stub_object *object = handle == NULL || table_size == 0 ? NULL : table[slot_of(handle)];
  return object != NULL && object->kind == kind && object->live;
}

bool stub_object_check(const void *handle, stub_kind kind, const char *function) {
  if (handle == NULL) {
    stub_violation("%s: the %s is NULL", function, kind_names[kind]);
    return false;
  }
  const stub_object *object = table_size == 0 ? NULL : table[slot_of(handle)];
  if (object == NULL) {
    stub_violation("%s: %p was never a %s", function, handle, kind_names[kind]);
    return false;
  }
  if (object->kind != kind) {
    stub_violation("%s: a %s in place of a %s", function, kind_names[object->kind], kind_names[kind]);
    return false;
  }
  if (!object->live) {
    stub_violation("%s: the %s was destroyed", function, kind_names[kind]);
    return false;
  }
  return true;
}

void stub_object_forget_all(void) {
  for (size_t i = 0; i < table_size; i++)
    if (table[i] != NULL && table[i]->live) stub_object_destroy(table[i]);
}

uint64_t stub_object_live(stub_kind kind) {
  return kinds[kind].live;
}

stub_ticket *stub_ticket_create(void) {
  stub_ticket *ticket = stub_allocate(sizeof *ticket);
  ticket->references = 1;
  return ticket;
}

stub_ticket *stub_ticket_retain(stub_ticket *ticket) {
  ticket->references++;
  return ticket;
}

void stub_ticket_release(stub_ticket *ticket) {
  if (ticket != NULL && --ticket->references == 0) free(ticket);
}
