// SPDX-License-Identifier: Apache-2.0
//
// Goes through the accesses of each object in each of its storages, in program order. What is read must have been put there:
// by who wrote it, or by a transfer that read the same version elsewhere. Both must have ended. Where storage is in several
// memories, a storage that lacks the version has an older one: the replica there is stale.
#include <stdlib.h>

#include "check/checker.h"

bool weir__check_put(weir__checker *checker, uint32_t index) {
  const weir__checked_access *access = &checker->accesses[index];
  weir__intervals *map = &checker->map;
  const weir__flow own = {.lo = access->lo, .hi = access->hi, .writer = index};
  const weir__flow *flows = access->brings ? &checker->flows[access->first_flow] : &own;
  for (size_t i = 0; i < (access->brings ? access->flow_count : 1); i++) {
    if (!weir__intervals_take(map, flows[i].lo, flows[i].hi)) return false;
    for (size_t k = 0; k < map->taken_count; k++) {
      map->taken[k].writer = index;
      map->taken[k].reader = WEIR__NO_ACCESS;
      map->taken[k].version = flows[i].writer;
    }
    if (!weir__intervals_put(map)) return false;
  }
  return true;
}

// Why the version of a flow, which `source` wrote or read first, is not in the storage of who reads it. `put`: who put there
// what is there.
static void report_absent(weir__checker *checker, uint32_t index, const weir__flow *flow, const weir__interval *there) {
  const weir__checked_access *access = &checker->accesses[index];
  bool written = flow->writer != WEIR__NO_ACCESS;
  uint32_t source = written ? flow->writer : flow->first;
  uint64_t lo = flow->lo > there->lo ? flow->lo : there->lo, hi = flow->hi < there->hi ? flow->hi : there->hi;
  if (checker->accesses[source].memory == access->memory)
    weir__check_add_conflict(checker, "RAW", source, index, lo, hi,
                             written ? "what is read was written to another storage"
                                     : "the same contents are read from two storages");
  else if (there->writer != WEIR__NO_ACCESS)
    weir__check_add_conflict(checker, "TRANSFER", source, index, lo, hi,
                             "the copy that is read is stale: no transfer has brought the newer contents");
  else
    weir__check_add_conflict(checker, "TRANSFER", source, index, lo, hi,
                             "no transfer has brought what is read to this memory");
}

// What is read for a flow is, in the storage, this interval's. False: something is wrong.
static bool is_there(weir__checker *checker, uint32_t index, const weir__flow *flow, const weir__interval *there) {
  const weir__checked_access *access = &checker->accesses[index];
  bool put = there->writer != WEIR__NO_ACCESS, first = flow->writer == WEIR__NO_ACCESS && !put;
  if (first && flow->first == index) return true;
  checker->report->hazards++;
  bool same = first ? checker->accesses[flow->first].storage == access->storage : put && there->version == flow->writer;
  if (!same) {
    report_absent(checker, index, flow, there);
    return false;
  }
  if (first || checker->accesses[there->writer].end_ns <= access->start_ns) return true;
  uint64_t lo = flow->lo > there->lo ? flow->lo : there->lo, hi = flow->hi < there->hi ? flow->hi : there->hi;
  bool brought = checker->accesses[there->writer].brings;
  weir__check_add_conflict(checker, brought ? "TRANSFER" : "RAW", there->writer, index, lo, hi,
                           brought ? "the read starts before the transfer ends"
                                   : "the read starts before the write ends");
  return false;
}

// One finding for each flow.
static bool check_flow(weir__checker *checker, uint32_t index, weir__flow *flow) {
  weir__intervals *map = &checker->map;
  if (!weir__intervals_take(map, flow->lo, flow->hi)) return false;
  for (size_t i = 0; i < map->taken_count && !flow->reported; i++)
    flow->reported = !is_there(checker, index, flow, &map->taken[i]);
  return weir__intervals_put(map);
}

static bool follow_access(weir__checker *checker, uint32_t index) {
  const weir__checked_access *access = &checker->accesses[index];
  for (size_t i = 0; access->mode != WEIR_WRITE && i < access->flow_count; i++) {
    if (!check_flow(checker, index, &checker->flows[access->first_flow + i])) return false;
  }
  return access->mode == WEIR_READ || weir__check_put(checker, index);
}

typedef struct replica_order {
  uint64_t object, storage;
  uint32_t access;
} replica_order;

static int compare(const void *a, const void *b) {
  const replica_order *x = a, *y = b;
  if (x->object != y->object) return x->object < y->object ? -1 : 1;
  if (x->storage != y->storage) return x->storage < y->storage ? -1 : 1;
  return x->access < y->access ? -1 : x->access > y->access;
}

bool weir__check_replicas(weir__checker *checker) {
  size_t count = checker->access_count;
  replica_order *order = malloc((count + 1) * sizeof *order);
  if (!order) return false;
  for (uint32_t i = 0; i < count; i++)
    order[i] = (replica_order){checker->accesses[i].object, checker->accesses[i].storage, i};
  qsort(order, count, sizeof *order, compare);
  bool good = true;
  for (size_t i = 0; good && i < count; i++) {
    bool next = i == 0 || order[i].object != order[i - 1].object || order[i].storage != order[i - 1].storage;
    if (next) weir__intervals_clear(&checker->map);
    good = follow_access(checker, order[i].access);
  }
  free(order);
  return good;
}
