// SPDX-License-Identifier: Apache-2.0
//
// When were contents that nobody wrote first read? From then on, no other buffer may overwrite them: every later reader
// must find the same. (Before that, storage may have served another buffer.)
#include <stdlib.h>

#include "check/checker.h"

static bool reads_initial(const weir__checker *checker, const weir__checked_access *access) {
  for (size_t i = 0; i < access->flow_count; i++) {
    if (checker->flows[access->first_flow + i].writer == WEIR__NO_ACCESS) return true;
  }
  return false;
}

// Gives those bytes that have no reader yet this one.
static bool mark(weir__checker *checker, uint32_t index) {
  const weir__checked_access *access = &checker->accesses[index];
  weir__intervals *map = &checker->map;
  for (size_t i = 0; i < access->flow_count; i++) {
    weir__flow flow = checker->flows[access->first_flow + i];
    if (flow.writer != WEIR__NO_ACCESS) continue;
    if (!weir__intervals_take(map, flow.lo, flow.hi)) return false;
    for (size_t k = 0; k < map->taken_count; k++) {
      if (map->taken[k].reader == WEIR__NO_ACCESS) map->taken[k].reader = index;
    }
    if (!weir__intervals_put(map)) return false;
  }
  return true;
}

static bool keep(weir__checker *checker, uint64_t object) {
  weir__intervals *map = &checker->map;
  if (!weir__intervals_take_all(map)) return false;
  for (size_t i = 0; i < map->taken_count; i++) {
    const weir__interval *interval = &map->taken[i];
    if (checker->initial_count == checker->initial_capacity) {
      size_t wanted = checker->initial_capacity ? checker->initial_capacity * 2 : 256;
      weir__initial_read *larger = realloc(checker->initial, wanted * sizeof *larger);
      if (!larger) return false;
      checker->initial = larger;
      checker->initial_capacity = wanted;
    }
    checker->initial[checker->initial_count++] =
        (weir__initial_read){object, interval->lo, interval->hi, checker->accesses[interval->reader].start_ns};
  }
  return true;
}

bool weir__check_note_initial(weir__checker *checker, const weir__access_order *accesses, size_t count) {
  size_t readers = 0;
  for (size_t i = 0; i < count; i++) readers += reads_initial(checker, &checker->accesses[accesses[i].access]);
  if (readers == 0) return true;
  weir__access_order *order = malloc(readers * sizeof *order);
  if (!order) return false;
  readers = 0;
  for (size_t i = 0; i < count; i++) {
    const weir__checked_access *access = &checker->accesses[accesses[i].access];
    if (!reads_initial(checker, access)) continue;
    order[readers++] = (weir__access_order){0, access->start_ns, 0, accesses[i].access};
  }
  weir__check_sort(order, readers);
  weir__intervals_clear(&checker->map);
  bool good = true;
  for (size_t i = 0; good && i < readers; i++) good = mark(checker, order[i].access);
  free(order);
  return good && keep(checker, accesses[0].group);
}

uint64_t weir__check_initial_ns(const weir__checker *checker, uint64_t object, uint64_t lo, uint64_t hi) {
  size_t low = 0, high = checker->initial_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const weir__initial_read *read = &checker->initial[middle];
    if (read->object < object || (read->object == object && read->hi <= lo)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  uint64_t first_ns = UINT64_MAX;
  for (; low < checker->initial_count; low++) {
    const weir__initial_read *read = &checker->initial[low];
    if (read->object != object || read->lo >= hi) break;
    if (read->start_ns < first_ns) first_ns = read->start_ns;
  }
  return first_ns;
}
