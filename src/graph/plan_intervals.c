// SPDX-License-Identifier: Apache-2.0
//
// The intervals of the buffers of a plan: every use of a buffer is some whole intervals of it.
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "graph/plan_build.h"

typedef weir__plan_builder builder;
typedef weir__plan_use use;

enum { FEW_CUTS = 32 };

// Puts the uses of each buffer together, in order of nodes.
static bool sort_by_buffer(builder *build) {
  uint32_t buffer_count = build->plan->buffer_count;
  build->by_buffer = weir__allocate(((size_t)build->use_count + 1) * sizeof *build->by_buffer);
  build->buffer_uses = weir__allocate_zeroed(((size_t)buffer_count + 2) * sizeof *build->buffer_uses);
  if (build->by_buffer == NULL || build->buffer_uses == NULL) return false;
  uint32_t *next =
      build->buffer_uses + 1; // where the next use of each buffer goes; in the end the beginning of the next buffer
  for (uint32_t i = 0; i < build->use_count; i++) next[build->uses[i].buffer + 1]++;
  for (uint32_t i = 0; i < buffer_count; i++) next[i + 1] += next[i];
  for (uint32_t i = 0; i < build->use_count; i++) build->by_buffer[next[build->uses[i].buffer]++] = i;
  return true;
}

static int by_value(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

// Sorts, without repetitions. Returns how many are left.
static uint32_t sort_cuts(uint64_t *cuts, uint32_t count) {
  uint32_t kept = 0;
  bool sorted = true;
  for (uint32_t i = 1; i < count && sorted; i++) sorted = cuts[i - 1] <= cuts[i];
  if (!sorted) qsort(cuts, count, sizeof *cuts, by_value);
  for (uint32_t i = 0; i < count; i++) {
    if (kept == 0 || cuts[i] != cuts[kept - 1]) cuts[kept++] = cuts[i];
  }
  return kept;
}

// Few cuts are kept in order, each once; the others are put behind them.
static uint32_t add_cut(uint64_t *cuts, uint32_t count, uint64_t cut) {
  uint32_t at = count;
  if (count < FEW_CUTS) {
    while (at > 0 && cuts[at - 1] > cut) at--;
    if (at > 0 && cuts[at - 1] == cut) return count;
    memmove(cuts + at + 1, cuts + at, (count - at) * sizeof *cuts);
  }
  cuts[at] = cut;
  return count + 1;
}

// The cuts of a buffer with the uses `uses`, to `cuts`. Returns their number.
static uint32_t find_cuts(const builder *build, const uint32_t *uses, uint32_t count, uint64_t *cuts) {
  uint32_t cut_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    const use *used = &build->uses[uses[i]];
    if (i > 0 && used->lo == build->uses[uses[i - 1]].lo && used->hi == build->uses[uses[i - 1]].hi) continue;
    cut_count = add_cut(cuts, cut_count, used->lo);
    cut_count = add_cut(cuts, cut_count, used->hi);
  }
  return cut_count < FEW_CUTS ? cut_count : sort_cuts(cuts, cut_count);
}

bool weir__plan_find_intervals(builder *build) {
  weir__graph_plan *plan = build->plan;
  if (!sort_by_buffer(build)) return false;
  plan->cuts = weir__allocate((2 * (size_t)build->use_count + 1) * sizeof *plan->cuts);
  plan->first_cuts = weir__allocate(((size_t)plan->buffer_count + 1) * sizeof *plan->first_cuts);
  if (plan->cuts == NULL || plan->first_cuts == NULL) return false;
  uint32_t cut_count = 0;
  plan->first_cuts[0] = 0; // there may be no buffers
  for (uint32_t i = 0; i < plan->buffer_count; i++) {
    const uint32_t *uses = build->by_buffer + build->buffer_uses[i];
    uint32_t count = build->buffer_uses[i + 1] - build->buffer_uses[i];
    plan->first_cuts[i] = cut_count;
    cut_count += find_cuts(build, uses, count, plan->cuts + cut_count);
    plan->first_cuts[i + 1] = cut_count;
    for (uint32_t j = 0; j < count; j++) {
      use *used = &build->uses[uses[j]];
      used->first = weir__graph_find_cut(plan, i, used->lo);
      used->end = weir__graph_find_cut(plan, i, used->hi);
    }
  }
  return true;
}
