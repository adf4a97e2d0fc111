// SPDX-License-Identifier: Apache-2.0
//
// Tasks that commute come in any order, but one at a time. Between two accesses of another kind those of one byte are put in the
// order in which they ran, as if that were the program's: what follows then proves them like updates, and finds those
// that overlap in time. To have the same tasks at each byte, accesses that commute are cut where others of their object begin
// or end.
#include <stdlib.h>
#include <string.h>

#include "check/checker.h"

typedef struct bound {
  uint64_t object, at;
} bound;

// A piece of an access that commutes: the accesses of one interval and one epoch are a set.
typedef struct piece {
  size_t interval; // index of the bound where it begins
  uint32_t epoch;  // how many accesses of another kind were before it
  uint32_t access;
} piece;

typedef struct cutter {
  weir__checker *checker;
  bound *bounds;
  size_t bound_count;
  uint32_t *epochs; // by bound
  weir__checked_access *accesses;
  size_t access_count, access_capacity;
  piece *pieces;
  size_t piece_count;
} cutter;

static int compare_bounds(const void *a, const void *b) {
  const bound *x = a, *y = b;
  if (x->object != y->object) return x->object < y->object ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static int compare_pieces(const void *a, const void *b) {
  const piece *x = a, *y = b;
  if (x->interval != y->interval) return x->interval < y->interval ? -1 : 1;
  if (x->epoch != y->epoch) return x->epoch < y->epoch ? -1 : 1;
  return x->access < y->access ? -1 : x->access > y->access;
}

static size_t find_bound(const cutter *self, uint64_t object, uint64_t at) {
  const bound wanted = {object, at};
  const bound *found = bsearch(&wanted, self->bounds, self->bound_count, sizeof wanted, compare_bounds);
  return (size_t)(found - self->bounds);
}

static void collect_bounds(cutter *self) {
  const weir__checker *checker = self->checker;
  for (size_t i = 0; i < checker->access_count; i++) {
    const weir__checked_access *access = &checker->accesses[i];
    self->bounds[2 * i] = (bound){access->object, access->lo};
    self->bounds[2 * i + 1] = (bound){access->object, access->hi};
  }
  size_t kept = 0;
  qsort(self->bounds, 2 * checker->access_count, sizeof *self->bounds, compare_bounds);
  for (size_t i = 0; i < 2 * checker->access_count; i++) {
    if (kept == 0 || compare_bounds(&self->bounds[kept - 1], &self->bounds[i]) != 0)
      self->bounds[kept++] = self->bounds[i];
  }
  self->bound_count = kept;
}

static bool add_access(cutter *self, const weir__checked_access *access) {
  if (self->access_count == self->access_capacity) {
    size_t wanted = self->access_capacity * 2;
    weir__checked_access *larger = wanted > UINT32_MAX ? NULL : realloc(self->accesses, wanted * sizeof *larger);
    if (!larger) return false;
    self->accesses = larger;
    piece *more = realloc(self->pieces, wanted * sizeof *more);
    if (!more) return false;
    self->pieces = more;
    self->access_capacity = wanted;
  }
  self->accesses[self->access_count++] = *access;
  return true;
}

static bool cut(cutter *self, const weir__checked_access *access) {
  bool commutes = access->mode == WEIR_COMMUTE;
  if (!commutes && !add_access(self, access)) return false;
  for (size_t i = find_bound(self, access->object, access->lo); self->bounds[i].at < access->hi; i++) {
    if (!commutes) {
      self->epochs[i]++;
      continue;
    }
    weir__checked_access part = *access;
    part.mode = WEIR_READ_WRITE;
    part.lo = self->bounds[i].at;
    part.hi = self->bounds[i + 1].at;
    part.offset += part.lo - access->lo;
    if (!add_access(self, &part)) return false;
    self->pieces[self->piece_count++] = (piece){i, self->epochs[i], (uint32_t)(self->access_count - 1)};
  }
  return true;
}

static bool order_set(cutter *self, const piece *set, size_t count) {
  weir__access_order *order = malloc(count * sizeof *order);
  weir__checked_access *ran = malloc(count * sizeof *ran);
  bool good = order && ran;
  for (size_t i = 0; good && i < count; i++) {
    const weir__checked_access *access = &self->accesses[set[i].access];
    order[i] = (weir__access_order){0, access->start_ns, access->end_ns, (uint32_t)i};
    ran[i] = *access;
  }
  if (good) weir__check_sort(order, count);
  for (size_t i = 0; good && i < count; i++) self->accesses[set[i].access] = ran[order[i].access];
  free(order);
  free(ran);
  return good;
}

static bool order_all(cutter *self) {
  qsort(self->pieces, self->piece_count, sizeof *self->pieces, compare_pieces);
  for (size_t first = 0, end; first < self->piece_count; first = end) {
    const piece *set = &self->pieces[first];
    for (end = first + 1; end < self->piece_count; end++) {
      if (self->pieces[end].interval != set->interval || self->pieces[end].epoch != set->epoch) break;
    }
    if (end - first > 1 && !order_set(self, set, end - first)) return false;
  }
  return true;
}

static bool cut_all(cutter *self) {
  for (size_t i = 0; i < self->checker->access_count; i++) {
    if (!cut(self, &self->checker->accesses[i])) return false;
  }
  return order_all(self);
}

bool weir__check_commute(weir__checker *checker) {
  size_t count = checker->access_count, commuting = 0;
  for (size_t i = 0; i < count; i++) commuting += checker->accesses[i].mode == WEIR_COMMUTE;
  if (commuting == 0) return true;
  cutter self = {.checker = checker, .access_capacity = 2 * count};
  self.bounds = malloc(2 * count * sizeof *self.bounds);
  self.epochs = calloc(2 * count, sizeof *self.epochs);
  self.accesses = malloc(self.access_capacity * sizeof *self.accesses);
  self.pieces = malloc(self.access_capacity * sizeof *self.pieces);
  bool good = self.bounds && self.epochs && self.accesses && self.pieces;
  if (good) collect_bounds(&self);
  good = good && cut_all(&self);
  free(self.bounds);
  free(self.epochs);
  free(self.pieces);
  if (!good) {
    free(self.accesses);
    return false;
  }
  free(checker->accesses);
  checker->accesses = self.accesses;
  checker->access_count = self.access_count;
  checker->access_capacity = self.access_capacity;
  return true;
}
