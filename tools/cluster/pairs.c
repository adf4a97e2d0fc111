// SPDX-License-Identifier: Apache-2.0
#include "cluster/pairs.h"

#include <stdlib.h>

// The slot that a value is in, or the free one where it would be.
static uint64_t *search(const weir__cluster_pairs *pairs, uint64_t value) {
  uint64_t at = value * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (pairs->capacity - 1);
  while (pairs->slots[at] != 0 && pairs->slots[at] != value) at = (at + 1) & (pairs->capacity - 1);
  return &pairs->slots[at];
}

static bool grow(weir__cluster_pairs *pairs) {
  weir__cluster_pairs larger = {.count = pairs->count, .capacity = pairs->capacity == 0 ? 64 : 2 * pairs->capacity};
  larger.slots = calloc(larger.capacity, sizeof *larger.slots);
  if (larger.slots == NULL) return false;
  for (uint64_t i = 0; i < pairs->capacity; i++) {
    if (pairs->slots[i] != 0) *search(&larger, pairs->slots[i]) = pairs->slots[i];
  }
  free(pairs->slots);
  *pairs = larger;
  return true;
}

bool weir__cluster_pairs_add(weir__cluster_pairs *pairs, uint32_t rank, uint64_t call, bool *out_is_new) {
  if (2 * (pairs->count + 1) > pairs->capacity && !grow(pairs)) return false;
  uint64_t value = call << 16 | rank, *slot = search(pairs, value);
  *out_is_new = *slot == 0;
  *slot = value;
  pairs->count += *out_is_new;
  return true;
}
