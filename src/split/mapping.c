// SPDX-License-Identifier: Apache-2.0
#include "split/mapping.h"

#include "base/error.h"

typedef unsigned long long ull;

static uint64_t product(uint64_t groups, uint64_t bytes) {
  return bytes != 0 && groups > UINT64_MAX / bytes ? UINT64_MAX : groups * bytes;
}

weir__split_range weir__split_map(const weir_split_arg *arg, uint64_t bytes, uint32_t total,
                                  weir__split_groups groups) {
  weir__split_range range = {.hi = bytes};
  if (arg->mapping == WEIR_SPLIT_FUNCTION) {
    uint64_t offset = 0, length = 0;
    arg->function(arg->function_user, groups.first, groups.count, &offset, &length);
    range.lo = offset;
    range.hi = length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
  } else if (arg->mapping == WEIR_SPLIT_BLOCK) {
    uint32_t rest = total - groups.first - groups.count;
    range.before = arg->halo_before < groups.first ? arg->halo_before : groups.first;
    range.after = arg->halo_after < rest ? arg->halo_after : rest;
    range.lo = product(groups.first - range.before, arg->group_bytes);
    uint64_t hi = product((uint64_t)groups.first + groups.count + range.after, arg->group_bytes);
    range.hi = hi < bytes ? hi : bytes;
  }
  return range;
}

static weir_status check_inside(const char *what, uint32_t index, weir__split_groups groups, weir__split_range range,
                                uint64_t bytes) {
  if (range.lo < range.hi && range.hi <= bytes) return WEIR_OK;
  if (range.lo >= range.hi)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s, argument %u: work-groups [%u, %u) have no bytes of its %llu",
                       what, index, groups.first, groups.first + groups.count, (ull)bytes);
  return weir__error(WEIR_ERROR_OUT_OF_RANGE,
                     "%s, argument %u: bytes [%llu, %llu) of work-groups [%u, %u) leave its range of %llu", what, index,
                     (ull)range.lo, (ull)range.hi, groups.first, groups.first + groups.count, (ull)bytes);
}

static weir_status report_gap(const char *what, uint32_t index, uint64_t lo, uint64_t hi, uint32_t group) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s, argument %u: no part writes bytes [%llu, %llu), before those of work-group %u", what, index,
                     (ull)lo, (ull)hi, group);
}

static weir_status report_overlap(const char *what, uint32_t index, weir__split_groups first, weir__split_range a,
                                  weir__split_groups second, weir__split_range b) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s, argument %u: parts that write overlap: work-groups [%u, %u) have bytes [%llu, %llu) and "
                     "work-groups [%u, %u) have bytes [%llu, %llu)",
                     what, index, first.first, first.first + first.count, (ull)a.lo, (ull)a.hi, second.first,
                     second.first + second.count, (ull)b.lo, (ull)b.hi);
}

// Unit after unit: each has bytes, and where it writes they begin where those before end.
static weir_status check_units(const char *what, uint32_t index, const weir_split_arg *arg, uint64_t bytes,
                               weir__split_cut cut) {
  bool writes = arg->arg.mode != WEIR_READ;
  uint32_t units = weir__split_units(cut);
  weir__split_range before = {0};
  weir__split_groups groups_before = {0};
  for (uint32_t i = 0; i < units; i++) {
    weir__split_groups groups = weir__split_groups_of(cut, i, 1);
    weir__split_range range = weir__split_map(arg, bytes, cut.total, groups);
    weir_status status = check_inside(what, index, groups, range, bytes);
    if (status != WEIR_OK) return status;
    if (writes && range.lo > before.hi) return report_gap(what, index, before.hi, range.lo, groups.first);
    if (writes && range.lo < before.hi) return report_overlap(what, index, groups_before, before, groups, range);
    before = range;
    groups_before = groups;
  }
  return writes && before.hi < bytes ? report_gap(what, index, before.hi, bytes, cut.total) : WEIR_OK;
}

static weir_status check_block(const char *what, uint32_t index, const weir_split_arg *arg, uint64_t bytes,
                               weir__split_cut cut) {
  uint32_t units = weir__split_units(cut);
  if (arg->group_bytes == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s, argument %u: a block of 0 bytes a work-group", what, index);
  weir__split_groups last = weir__split_groups_of(cut, units - 1, 1);
  weir__split_range range = weir__split_map(arg, bytes, cut.total, last);
  weir_status status = check_inside(what, index, last, range, bytes);
  if (status != WEIR_OK || arg->arg.mode == WEIR_READ) return status;
  if (units > 1 && (arg->halo_before > 0 || arg->halo_after > 0)) {
    weir__split_groups first = weir__split_groups_of(cut, 0, 1), second = weir__split_groups_of(cut, 1, 1);
    return report_overlap(what, index, first, weir__split_map(arg, bytes, cut.total, first), second,
                          weir__split_map(arg, bytes, cut.total, second));
  }
  return range.hi < bytes ? report_gap(what, index, range.hi, bytes, cut.total) : WEIR_OK;
}

weir_status weir__split_check_arg(const char *what, uint32_t index, const weir_split_arg *arg, uint64_t bytes,
                                  weir__split_cut cut) {
  switch (arg->mapping) {
  case WEIR_SPLIT_PART:
    return WEIR_OK;
  case WEIR_SPLIT_WHOLE:
    return arg->arg.mode == WEIR_VALUE ? WEIR_OK : check_units(what, index, arg, bytes, cut);
  case WEIR_SPLIT_BLOCK:
  case WEIR_SPLIT_FUNCTION:
    break;
  default:
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s, argument %u: %d is no mapping", what, index,
                       (int)arg->mapping);
  }
  if (arg->arg.mode == WEIR_VALUE)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s, argument %u: a value cannot be cut", what, index);
  if (arg->mapping == WEIR_SPLIT_BLOCK) return check_block(what, index, arg, bytes, cut);
  if (arg->function == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s, argument %u: its function is NULL", what, index);
  return check_units(what, index, arg, bytes, cut);
}

weir_status weir__split_check_part(const char *what, uint32_t index, const weir_split_arg *arg, uint64_t bytes,
                                   weir__split_cut cut, uint64_t first, uint64_t count) {
  weir__split_groups groups = weir__split_groups_of(cut, first, count);
  weir__split_range all = weir__split_map(arg, bytes, cut.total, groups);
  weir_status status = check_inside(what, index, groups, all, bytes);
  if (status != WEIR_OK || arg->arg.mode == WEIR_READ) return status;
  weir__split_range begin = weir__split_map(arg, bytes, cut.total, weir__split_groups_of(cut, first, 1));
  weir__split_range end = weir__split_map(arg, bytes, cut.total, weir__split_groups_of(cut, first + count - 1, 1));
  if (all.lo == begin.lo && all.hi == end.hi) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s, argument %u: work-groups [%u, %u) have bytes [%llu, %llu) together, but [%llu, %llu) one by "
                     "one",
                     what, index, groups.first, groups.first + groups.count, (ull)all.lo, (ull)all.hi, (ull)begin.lo,
                     (ull)end.hi);
}
