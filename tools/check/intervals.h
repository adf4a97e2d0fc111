// SPDX-License-Identifier: Apache-2.0
//
// An ordered map from disjoint byte ranges to what the checker knows about them. Cost of a call: O(log intervals + hits).
#ifndef WEIR_CHECK_INTERVALS_H
#define WEIR_CHECK_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR__NO_ACCESS UINT32_MAX

// A range [lo, hi). The rest belongs to whoever uses the map; neighbours that agree in it become one interval.
typedef struct weir__interval {
  uint64_t lo, hi;
  uint32_t writer;  // the last access that wrote it
  uint32_t reader;  // an access that read it since
  uint32_t version; // whose contents the writer left there: its own, or, of a transfer, those of another one
} weir__interval;

typedef struct weir__interval_node weir__interval_node;

// Zeroed: empty.
typedef struct weir__intervals {
  weir__interval_node *nodes;
  uint32_t node_count, node_capacity, free_node, root;
  uint64_t random;
  weir__interval *taken; // scratch of weir__intervals_take
  size_t taken_count, taken_capacity;
} weir__intervals;

void weir__intervals_clear(weir__intervals *map);
void weir__intervals_destroy(weir__intervals *map);

// Takes all of [lo, hi) out of the map: map->taken[0 .. taken_count) has it without gaps, where nothing was known with
// neither writer nor reader. False: no memory, after which the map must not be used.
bool weir__intervals_take(weir__intervals *map, uint64_t lo, uint64_t hi);

// Puts map->taken back, changed in all but lo and hi.
bool weir__intervals_put(weir__intervals *map);

// Moves everything to map->taken.
bool weir__intervals_take_all(weir__intervals *map);

#endif // WEIR_CHECK_INTERVALS_H
