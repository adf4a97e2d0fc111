// SPDX-License-Identifier: Apache-2.0
#include "issue/operations.h"

#include <string.h>

#include "base/allocate.h"
#include "device/host.h"

enum { AT_ONCE = 128, FEWEST_PLACES = 64, LINE = 64 };

bool weir__operations_initialize(weir__operations *operations, size_t bytes, uint32_t window) {
  operations->bytes = (uint32_t)((bytes + LINE - 1) / LINE * LINE);
  operations->mask = window - 1;
  operations->slots = weir__allocate_sparse(window * sizeof operations->slots[0]);
  return operations->slots != NULL && weir__operations_reserve_places(operations, FEWEST_PLACES);
}

void weir__operations_deinitialize(weir__operations *operations) {
  while (operations->slabs != NULL) {
    weir__operation *slab = operations->slabs;
    operations->slabs = slab->next;
    weir__free(slab);
  }
  weir__free(operations->places);
  weir__free_sparse(operations->slots, (operations->mask + (size_t)1) * sizeof operations->slots[0]);
}

// Messages are behind all operations of a slab, for hardly any is ever read. The slab's first line links the slabs.
bool weir__operations_grow(weir__operations *operations) {
  char *slab = weir__allocate_zeroed(LINE + AT_ONCE * (operations->bytes + (size_t)WEIR__MESSAGE_BYTES));
  if (slab == NULL) return false;
  char *messages = slab + LINE + AT_ONCE * (size_t)operations->bytes;
  ((weir__operation *)(void *)slab)->next = operations->slabs;
  operations->slabs = (weir__operation *)(void *)slab;
  for (size_t i = AT_ONCE; i-- > 0;) { // so that they are taken in the order of their addresses
    weir__operation *operation = (weir__operation *)(void *)(slab + LINE + i * operations->bytes);
    operation->message = messages + i * WEIR__MESSAGE_BYTES;
    weir__operations_give(operations, operation);
  }
  return true;
}

void weir__operations_reserve(weir__operations *operations, uint32_t count) {
  for (uint32_t made = 0; made < count && weir__operations_grow(operations); made += AT_ONCE) {
  }
}

bool weir__operations_reserve_places(weir__operations *operations, uint32_t count) {
  if (count <= operations->place_capacity) return true;
  weir__queue_task **larger = weir__allocate(2 * (size_t)count * sizeof larger[0]);
  if (larger == NULL) return false;
  if (operations->place_capacity > 0) memcpy(larger, operations->places, operations->place_capacity * sizeof larger[0]);
  weir__free(operations->places);
  operations->places = larger;
  operations->place_capacity = 2 * count;
  return true;
}

bool weir__operations_find_predecessors(weir__operations *operations, const weir__window *window,
                                        const weir__task *task, uint32_t *out_count) {
  uint32_t count = 0;
  if (!weir__operations_reserve_places(operations, task->predecessor_count + 1)) return false;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    const weir__operation *before = weir__operations_find(operations, window, task->predecessors[i]);
    if (before != NULL) operations->places[count++] = before->place;
  }
  *out_count = count;
  return true;
}
