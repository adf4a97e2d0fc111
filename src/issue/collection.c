// SPDX-License-Identifier: Apache-2.0
#include "issue/collection.h"

#include <string.h>

#include "base/allocate.h"

bool weir__collection_initialize(weir__collection *collection, uint32_t window) {
  collection->window = window;
  collection->slot_index = weir__allocate_sparse(window * sizeof *collection->slot_index);
  return collection->slot_index != NULL;
}

void weir__collection_deinitialize(weir__collection *collection) {
  weir__free_sparse(collection->slot_index, collection->window * sizeof *collection->slot_index);
  weir__free(collection->predecessors);
  weir__free(collection->outside);
}

static bool reserve_predecessors(weir__collection *collection, uint32_t more) {
  uint32_t wanted = collection->listed + more;
  if (wanted <= collection->capacity) return true;
  uint32_t *predecessors = weir__allocate(2 * (size_t)wanted * sizeof *predecessors);
  weir__id *outside = weir__allocate(2 * (size_t)wanted * sizeof *outside);
  if (predecessors == NULL || outside == NULL) {
    weir__free(predecessors);
    weir__free(outside);
    return false;
  }
  if (collection->predecessor_count > 0)
    memcpy(predecessors, collection->predecessors, collection->predecessor_count * sizeof *predecessors);
  if (collection->outside_count > 0) memcpy(outside, collection->outside, collection->outside_count * sizeof *outside);
  weir__free(collection->predecessors);
  weir__free(collection->outside);
  collection->predecessors = predecessors;
  collection->outside = outside;
  collection->capacity = 2 * wanted;
  return true;
}

// Sorts a few numbers, largest first.
static void sort_down(uint32_t *numbers, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    uint32_t number = numbers[i], at = i;
    for (; at > 0 && numbers[at - 1] < number; at--) numbers[at] = numbers[at - 1];
    numbers[at] = number;
  }
}

// Keeps those predecessors that no other one comes after: the latest first, as only later ones can imply earlier ones.
static uint32_t reduce(weir__collection *collection, uint32_t index, uint32_t *found, uint32_t count) {
  uint64_t *before = collection->before[index];
  uint32_t words = index / 64 + 1, kept = 0;
  memset(before, 0, words * sizeof *before);
  sort_down(found, count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t predecessor = found[i];
    if (before[predecessor / 64] >> (predecessor % 64) & 1) continue;
    const uint64_t *further = collection->before[predecessor];
    for (uint32_t word = 0; word <= predecessor / 64; word++) before[word] |= further[word];
    before[predecessor / 64] |= (uint64_t)1 << (predecessor % 64);
    found[kept++] = predecessor;
  }
  return kept;
}

bool weir__collection_append(weir__collection *collection, weir__task *task, uint32_t launches) {
  if (!reserve_predecessors(collection, task->predecessor_count + 1)) return false;
  uint32_t index = collection->count, found = 0;
  uint32_t *list = collection->predecessors + collection->predecessor_count;
  uint32_t outside_end = collection->outside_count;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    uint32_t predecessor = weir__collection_index(collection, task->predecessors[i]);
    if (predecessor != UINT32_MAX)
      list[found++] = predecessor;
    else
      collection->outside[outside_end++] = task->predecessors[i];
  }
  found = reduce(collection, index, list, found);
  for (uint32_t i = 0; i < found; i++) {
    weir__collected *before = &collection->tasks[list[i]];
    collection->open -= !before->waited_for;
    before->waited_for = true;
  }
  collection->open++;
  collection->tasks[index] = (weir__collected){.task = task,
                                               .id = task->id,
                                               .code = task->code,
                                               .first_outside = collection->outside_count,
                                               .outside_count = outside_end - collection->outside_count,
                                               .first_predecessor = collection->predecessor_count,
                                               .predecessor_count = found,
                                               .launches = launches,
                                               .open_after = collection->open};
  collection->listed += task->predecessor_count;
  collection->predecessor_count += found;
  collection->outside_count = outside_end;
  collection->slot_index[task->id & (collection->window - 1)] = index;
  collection->count++;
  return true;
}
