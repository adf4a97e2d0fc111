// SPDX-License-Identifier: Apache-2.0
//
// What was measured: for each key (a kernel, a size class) what each device did in the last launches. Not thread-safe.
#ifndef WEIR_SPLIT_TABLE_H
#define WEIR_SPLIT_TABLE_H

#include "weir/split.h"

typedef struct weir__split_past {
  uint32_t count; // of rounds, newest first
  weir_split_measure rounds[WEIR_SPLIT_MOST_ROUNDS];
  weir_split_measure first;
} weir__split_past;

typedef struct weir__split_entry {
  struct weir__split_entry *next; // used longer ago
  uint64_t key;
  weir_split_way ways[WEIR_SPLIT_MOST_WAYS];
  weir__split_past devices[]; // by index of the device
} weir__split_entry;

enum { WEIR__SPLIT_MOST_ENTRIES = 256 }; // what was used longest ago goes

typedef struct weir__split_table {
  weir__split_entry *entries; // used last first
  uint32_t count, device_count;
} weir__split_table;

void weir__split_table_clear(weir__split_table *table);

// The entry of a key, which becomes the one used last; NULL: there is none.
weir__split_entry *weir__split_table_find(weir__split_table *table, uint64_t key);

// The same; makes one if there is none. NULL: no memory.
weir__split_entry *weir__split_table_get(weir__split_table *table, uint64_t key);

// Adds a round.
void weir__split_past_add(weir__split_past *past, weir_split_measure measure);

// Adds what a unit of launch number `launch` took.
void weir__split_way_add(weir_split_way *way, uint64_t launch, double ns);

// Key of a launch: of the same kernel, cut in the same way, with as many work-groups but for a factor below 2.
uint64_t weir__split_key(const char *kernel, const uint32_t groups[3], uint32_t dimension, uint32_t unit);

// Writes a table to a file, beside which it is made first, and reads it. `ids` (one a device) tell devices apart between
// processes. Reading takes what it finds of these devices. `out_text` says what was wrong with the file. IO: it cannot be read or
// is damaged, and the table is empty; a file that does not exist is an empty table.
weir_status weir__split_table_save(const weir__split_table *table, const uint64_t *ids, const char *path,
                                   char *out_text, size_t size);
weir_status weir__split_table_load(weir__split_table *table, const uint64_t *ids, const char *path, char *out_text,
                                   size_t size);

// Whether a table can be written there, as far as can be seen: not in place of what is no history. Errors: IO.
weir_status weir__split_table_may_save(const char *path, char *out_text, size_t size);

#endif // WEIR_SPLIT_TABLE_H
