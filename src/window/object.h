// SPDX-License-Identifier: Apache-2.0
//
// What all objects that a context hands out have in common, and where they come from.
//
// The memory of an object stays an object of its kind until the context is released, and is used again only after many
// others of its kind were released and every task that used it is done. So an object that is used after its release is
// recognised rather than followed into freed memory.
#ifndef WEIR_WINDOW_OBJECT_H
#define WEIR_WINDOW_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/liveness.h"
#include "weir/weir.h"

typedef enum weir__kind {
  WEIR__KIND_BUFFER = 0x77626601,
  WEIR__KIND_KERNEL = 0x776b6502,
  WEIR__KIND_EVENT = 0x77657603,
  WEIR__KIND_GRAPH = 0x77677204,
  WEIR__KIND_CHAIN = 0x77636805,
  WEIR__KIND_GROUP = 0x77677006,
  WEIR__KIND_PREPARED = 0x77707207,
} weir__kind;

typedef struct weir__object {
  weir__kind kind;
  uint32_t released; // 0 or 1
  weir_context *context;
  struct weir__object *next; // among the released
  weir__id last_use;         // newest task that refers to it
} weir__object;

// Whether it is an object of this kind that was not released. One comparison.
static inline bool weir__object_is(const weir__object *object, weir__kind kind) {
  const struct {
    weir__kind kind;
    uint32_t released;
  } wanted = {kind, 0};
  return memcmp(object, &wanted, sizeof wanted) == 0;
}

typedef struct weir__object_pool {
  weir__kind kind;
  size_t object_bytes;
  uint32_t quarantine; // how many released objects are kept before the first is used again
  uint32_t released_count;
  weir__object *first, *last; // the released, oldest first
  struct weir__object_slab *slabs, *spare;
  uint32_t unused_in_slab;
  void (*destroy)(weir__object *object); // frees what an object holds besides its struct; NULL: nothing
} weir__object_pool;

void weir__object_pool_initialize(weir__object_pool *pool, weir__kind kind, size_t object_bytes, uint32_t quarantine,
                                  void (*destroy)(weir__object *object));

// Has memory for `count` new objects made now, as far as there is some.
void weir__object_pool_reserve(weir__object_pool *pool, uint32_t count);

// Frees the memory of all objects, after destroying each that was ever taken.
void weir__object_pool_deinitialize(weir__object_pool *pool);

// One that is new. NULL: no memory.
weir__object *weir__object_take_new(weir__object_pool *pool, weir_context *context);

// One that was released and may be used again. NULL: there is none.
static inline weir__object *weir__object_next(const weir__object_pool *pool, weir__id oldest) {
  weir__object *object = pool->first;
  return pool->released_count <= pool->quarantine || object->last_use >= oldest ? NULL : object;
}

// Takes that one.
static inline void weir__object_take_next(weir__object_pool *pool) {
  weir__object *object = pool->first;
  pool->first = object->next;
  if (pool->first == NULL) pool->last = NULL;
  pool->released_count--;
  object->released = false;
  object->next = NULL;
  object->last_use = 0;
}

// An object: zeroed if it is new, else as it was given back; its header is set. NULL: no memory.
static inline weir__object *weir__object_take(weir__object_pool *pool, weir_context *context, weir__id oldest) {
  weir__object *object = weir__object_next(pool, oldest);
  if (object == NULL) return weir__object_take_new(pool, context);
  weir__object_take_next(pool);
  return object;
}

static inline void weir__object_give(weir__object_pool *pool, weir__object *object) {
  if (!object->released) object->released = true; // a caller that passes it once more reads that without the lock
  object->next = NULL;
  *(pool->last == NULL ? &pool->first : &pool->last->next) = object;
  pool->last = object;
  pool->released_count++;
}

// Calls `visit` for each object that was not released.
void weir__object_pool_each(const weir__object_pool *pool, void (*visit)(void *user, weir__object *object), void *user);

// Checks an object that a caller passed: not NULL, of this kind, not released, and (unless `context` is NULL) of this
// context. `what` names it in the error text ("task 'blur', argument 2").
weir_status weir__object_check(const void *object, weir__kind kind, const weir_context *context, const char *what);

#endif // WEIR_WINDOW_OBJECT_H
