// SPDX-License-Identifier: Apache-2.0
#include "split/table.h"

#include <string.h>

#include "base/allocate.h"
#include "base/hash.h"

void weir__split_table_clear(weir__split_table *table) {
  while (table->entries != NULL) {
    weir__split_entry *entry = table->entries;
    table->entries = entry->next;
    weir__free(entry);
  }
  table->count = 0;
}

weir__split_entry *weir__split_table_find(weir__split_table *table, uint64_t key) {
  for (weir__split_entry **link = &table->entries; *link != NULL; link = &(*link)->next) {
    weir__split_entry *entry = *link;
    if (entry->key != key) continue;
    *link = entry->next;
    entry->next = table->entries;
    table->entries = entry;
    return entry;
  }
  return NULL;
}

// Takes the entry that was used longest ago out.
static weir__split_entry *take_last(weir__split_table *table) {
  weir__split_entry **link = &table->entries;
  while ((*link)->next != NULL) link = &(*link)->next;
  weir__split_entry *entry = *link;
  *link = NULL;
  table->count--;
  return entry;
}

weir__split_entry *weir__split_table_get(weir__split_table *table, uint64_t key) {
  weir__split_entry *entry = weir__split_table_find(table, key);
  if (entry != NULL) return entry;
  size_t bytes = sizeof *entry + table->device_count * sizeof entry->devices[0];
  entry = table->count == WEIR__SPLIT_MOST_ENTRIES ? take_last(table) : weir__allocate(bytes);
  if (entry == NULL) return NULL;
  memset(entry, 0, bytes);
  entry->key = key;
  entry->next = table->entries;
  table->entries = entry;
  table->count++;
  return entry;
}

void weir__split_way_add(weir_split_way *way, uint64_t launch, double ns) {
  memmove(&way->ns[1], &way->ns[0], (WEIR_SPLIT_WAY_TIMES - 1) * sizeof way->ns[0]);
  way->ns[0] = ns;
  way->last = launch;
  if (way->count < WEIR_SPLIT_WAY_TIMES) way->count++;
}

void weir__split_past_add(weir__split_past *past, weir_split_measure measure) {
  if (past->first.units == 0) past->first = measure;
  if (past->count < WEIR_SPLIT_MOST_ROUNDS) past->count++;
  memmove(&past->rounds[1], &past->rounds[0], (past->count - 1) * sizeof past->rounds[0]);
  past->rounds[0] = measure;
}

static uint32_t size_class(uint32_t groups) {
  return groups <= 1 ? 0 : 32 - (uint32_t)__builtin_clz(groups - 1);
}

uint64_t weir__split_key(const char *kernel, const uint32_t groups[3], uint32_t dimension, uint32_t unit) {
  struct {
    char kernel[48];
    uint32_t classes[3], dimension, unit;
  } of;
  memset(&of, 0, sizeof of);
  strncpy(of.kernel, kernel, sizeof of.kernel - 1);
  for (int i = 0; i < 3; i++) of.classes[i] = size_class(groups[i]);
  of.dimension = dimension;
  of.unit = unit;
  return weir__hash_of(&of, sizeof of).low;
}
