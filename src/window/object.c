// SPDX-License-Identifier: Apache-2.0
#include "window/object.h"

#include "base/allocate.h"
#include "base/error.h"

enum { OBJECTS_PER_SLAB = 32 };

struct weir__object_slab {
  struct weir__object_slab *next;
  char padding[56];
};

void weir__object_pool_initialize(weir__object_pool *pool, weir__kind kind, size_t object_bytes, uint32_t quarantine,
                                  void (*destroy)(weir__object *object)) {
  *pool = (weir__object_pool){
      .kind = kind, .object_bytes = (object_bytes + 63) & ~(size_t)63, .quarantine = quarantine, .destroy = destroy};
}

static weir__object *object_in(const weir__object_pool *pool, struct weir__object_slab *slab, uint32_t index) {
  return (weir__object *)(void *)((char *)(slab + 1) + index * pool->object_bytes);
}

void weir__object_pool_deinitialize(weir__object_pool *pool) {
  while (pool->slabs != NULL) {
    struct weir__object_slab *slab = pool->slabs;
    pool->slabs = slab->next;
    uint32_t used = OBJECTS_PER_SLAB - pool->unused_in_slab;
    for (uint32_t i = 0; pool->destroy != NULL && i < used; i++) pool->destroy(object_in(pool, slab, i));
    pool->unused_in_slab = 0;
    weir__free(slab);
  }
  while (pool->spare != NULL) {
    struct weir__object_slab *slab = pool->spare;
    pool->spare = slab->next;
    weir__free(slab);
  }
}

void weir__object_pool_each(const weir__object_pool *pool, void (*visit)(void *user, weir__object *object),
                            void *user) {
  uint32_t used = OBJECTS_PER_SLAB - pool->unused_in_slab;
  for (struct weir__object_slab *slab = pool->slabs; slab != NULL; slab = slab->next, used = OBJECTS_PER_SLAB) {
    for (uint32_t i = 0; i < used; i++) {
      weir__object *object = object_in(pool, slab, i);
      if (weir__object_is(object, pool->kind)) visit(user, object);
    }
  }
}

static struct weir__object_slab *make_slab(const weir__object_pool *pool) {
  return weir__allocate_zeroed(sizeof(struct weir__object_slab) + OBJECTS_PER_SLAB * pool->object_bytes);
}

void weir__object_pool_reserve(weir__object_pool *pool, uint32_t count) {
  for (uint32_t made = 0; made < count; made += OBJECTS_PER_SLAB) {
    struct weir__object_slab *slab = make_slab(pool);
    if (slab == NULL) return;
    slab->next = pool->spare;
    pool->spare = slab;
  }
}

weir__object *weir__object_take_new(weir__object_pool *pool, weir_context *context) {
  if (pool->unused_in_slab == 0) {
    struct weir__object_slab *slab = pool->spare;
    if (slab != NULL)
      pool->spare = slab->next;
    else
      slab = make_slab(pool);
    if (slab == NULL) return NULL;
    slab->next = pool->slabs;
    pool->slabs = slab;
    pool->unused_in_slab = OBJECTS_PER_SLAB;
  }
  weir__object *object = object_in(pool, pool->slabs, OBJECTS_PER_SLAB - pool->unused_in_slab--);
  object->kind = pool->kind;
  object->context = context;
  return object;
}

static const char *kind_name(weir__kind kind) {
  switch (kind) {
  case WEIR__KIND_BUFFER:
    return "buffer";
  case WEIR__KIND_KERNEL:
    return "kernel";
  case WEIR__KIND_EVENT:
    return "event";
  case WEIR__KIND_GRAPH:
    return "graph";
  case WEIR__KIND_CHAIN:
    return "chain";
  case WEIR__KIND_GROUP:
    return "group";
  case WEIR__KIND_PREPARED:
    return "prepared task";
  }
  return "object";
}

weir_status weir__object_check(const void *pointer, weir__kind kind, const weir_context *context, const char *what) {
  const weir__object *object = pointer;
  if (object == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the %s is NULL", what, kind_name(kind));
  if (object->kind != kind)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: this is not a %s", what, kind_name(kind));
  if (object->released)
    return weir__error(WEIR_ERROR_RELEASED, "%s: the %s was released before", what, kind_name(kind));
  if (context != NULL && object->context != context)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the %s belongs to another context", what, kind_name(kind));
  return WEIR_OK;
}
