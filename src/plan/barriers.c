// SPDX-License-Identifier: Apache-2.0
#include "plan/barriers.h"

#include "base/allocate.h"
#include "base/error.h"

weir_status weir__barriers_level_order(uint32_t task_count, const uint32_t *levels, uint32_t level_count,
                                       uint32_t *out_order) {
  uint32_t *next = weir__allocate_zeroed(((size_t)level_count + 1) * sizeof *next);
  if (!next) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to sort %u tasks by level", task_count);
  for (uint32_t t = 0; t < task_count; t++) next[levels[t] + 1]++;
  for (uint32_t level = 0; level < level_count; level++) next[level + 1] += next[level];
  for (uint32_t t = 0; t < task_count; t++) out_order[next[levels[t]]++] = t;
  weir__free(next);
  return WEIR_OK;
}
