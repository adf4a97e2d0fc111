// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of an argument a range of work-groups has, and whether the parts of a launch may write them. Pure.
#ifndef WEIR_SPLIT_MAPPING_H
#define WEIR_SPLIT_MAPPING_H

#include "weir/split.h"

// Work-groups along the cut dimension.
typedef struct weir__split_groups {
  uint32_t first, count;
} weir__split_groups;

// The cut of a launch: `total` work-groups in units of `unit`, the last of which may be smaller.
typedef struct weir__split_cut {
  uint32_t total, unit;
} weir__split_cut;

static inline uint32_t weir__split_units(weir__split_cut cut) {
  return (cut.total - 1) / cut.unit + 1;
}

// The work-groups of `count` units from unit `first` on.
static inline weir__split_groups weir__split_groups_of(weir__split_cut cut, uint64_t first, uint64_t count) {
  uint64_t begin = first * cut.unit, end = (first + count) * cut.unit;
  if (end > cut.total) end = cut.total;
  return (weir__split_groups){(uint32_t)begin, (uint32_t)(end - begin)};
}

// The bytes [lo, hi) of the argument's range, of `bytes` bytes, that the work-groups have, and the halo that they really have.
typedef struct weir__split_range {
  uint64_t lo, hi;
  uint32_t before, after;
} weir__split_range;

weir__split_range weir__split_map(const weir_split_arg *arg, uint64_t bytes, uint32_t total, weir__split_groups groups);

// Whether argument `index` of a launch that messages call `what`, whose range has `bytes` bytes, can be cut: sets
// weir_last_error() if not.
weir_status weir__split_check_arg(const char *what, uint32_t index, const weir_split_arg *arg, uint64_t bytes,
                                  weir__split_cut cut);

// Whether the bytes of several units, of an argument that is written, are those of the first to the last of them.
weir_status weir__split_check_part(const char *what, uint32_t index, const weir_split_arg *arg, uint64_t bytes,
                                   weir__split_cut cut, uint64_t first, uint64_t count);

#endif // WEIR_SPLIT_MAPPING_H
