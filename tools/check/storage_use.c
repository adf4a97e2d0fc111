// SPDX-License-Identifier: Apache-2.0
//
// Goes through the accesses of each storage in the order in which they started. Accesses of the same bytes, one of them
// a write, must not overlap in time; what is read must be what the program's writer left there; and writes of one
// object must come in program order.
#include <stdlib.h>

#include "check/checker.h"

static const char *hazard_name(const weir__checked_access *first, const weir__checked_access *second,
                               const char *within_object) {
  return first->object == second->object ? within_object : "STORAGE";
}

// The access reads what is not there, or what is overwritten meanwhile: `there` is the last write of the interval that
// started before it.
static void report_lost(weir__checker *checker, uint32_t index, uint32_t there, const weir__interval *interval) {
  const weir__checked_access *access = &checker->accesses[index], *other = &checker->accesses[there];
  if (access->object != other->object) {
    weir__check_add_conflict(checker, "STORAGE", there, index, interval->lo, interval->hi,
                             "the storage was given away while its contents were still needed");
  } else if (there > index) {
    weir__check_add_conflict(checker, "WAR", index, there, interval->lo, interval->hi,
                             "the later write starts before the earlier read ends");
  } else {
    weir__check_add_conflict(checker, "WAW", there, index, interval->lo, interval->hi,
                             "an earlier write of the program ran after the one whose contents are read");
  }
}

static void check_read(weir__checker *checker, uint32_t index, const weir__interval *interval, size_t *flow_index,
                       uint32_t *reported) {
  const weir__checked_access *access = &checker->accesses[index];
  for (; *flow_index < access->flow_count; ++*flow_index) {
    const weir__flow *flow = &checker->flows[access->first_flow + *flow_index];
    if (flow->hi <= interval->lo) continue;
    if (flow->lo >= interval->hi) return;
    const weir__checked_access *there = &checker->accesses[interval->writer];
    // Contents that nobody wrote have one version, whatever their object. A transfer may bring the right version again,
    // during the read.
    bool lost = flow->writer != interval->version || there->object != access->object;
    bool races = access->mode == WEIR_READ && there->end_ns > access->start_ns;
    if (!flow->reported && (lost || races) && interval->writer != *reported) {
      uint64_t lo = flow->lo > interval->lo ? flow->lo : interval->lo,
               hi = flow->hi < interval->hi ? flow->hi : interval->hi;
      bool wrong = flow->writer != WEIR__NO_ACCESS || there->object == access->object ||
                   there->end_ns > weir__check_initial_ns(checker, access->object, lo, hi);
      checker->report->hazards++;
      if (wrong) report_lost(checker, index, *reported = interval->writer, interval);
    }
    if (flow->hi > interval->hi) return;
  }
}

static void check_write(weir__checker *checker, uint32_t index, const weir__interval *interval, uint32_t *reported) {
  const weir__checked_access *access = &checker->accesses[index];
  uint32_t writer = interval->writer, reader = interval->reader;
  if (writer != WEIR__NO_ACCESS && writer != *reported) {
    const weir__checked_access *there = &checker->accesses[writer];
    const char *why = NULL;
    checker->report->hazards++;
    if (there->end_ns > access->start_ns) why = "the second write starts before the first one ends";
    if (!why && there->object == access->object && writer > index) why = "the writes run against program order";
    if (!why && there->task == access->task) why = "one task writes the same bytes twice";
    if (why)
      weir__check_add_conflict(checker, hazard_name(there, access, "WAW"), *reported = writer, index, interval->lo,
                               interval->hi, why);
  }
  if (reader != WEIR__NO_ACCESS && reader != *reported) {
    const weir__checked_access *there = &checker->accesses[reader];
    checker->report->hazards++;
    if (there->end_ns > access->start_ns) {
      weir__check_add_conflict(checker, hazard_name(there, access, reader < index ? "WAR" : "RAW"), *reported = reader,
                               index, interval->lo, interval->hi, "the write starts before the read ends");
    }
  }
}

static bool follow_access(weir__checker *checker, uint32_t index) {
  const weir__checked_access *access = &checker->accesses[index];
  weir__intervals *map = &checker->map;
  size_t flow = 0;
  uint32_t reported_read = WEIR__NO_ACCESS, reported_write = WEIR__NO_ACCESS;
  if (!weir__intervals_take(map, access->lo, access->hi)) return false;
  for (size_t i = 0; i < map->taken_count; i++) {
    weir__interval *interval = &map->taken[i];
    if (access->mode != WEIR_WRITE && interval->writer != WEIR__NO_ACCESS)
      check_read(checker, index, interval, &flow, &reported_read);
    if (access->mode != WEIR_READ)
      check_write(checker, index, interval, &reported_write);
    else if (interval->reader == WEIR__NO_ACCESS || checker->accesses[interval->reader].end_ns <= access->end_ns)
      interval->reader = index;
  }
  return weir__intervals_put(map) && (access->mode == WEIR_READ || weir__check_put(checker, index));
}

bool weir__check_storage_use(weir__checker *checker) {
  weir__access_order *order = malloc((checker->access_count + 1) * sizeof *order);
  if (!order) return false;
  for (uint32_t i = 0; i < checker->access_count; i++) {
    const weir__checked_access *access = &checker->accesses[i];
    order[i] = (weir__access_order){access->storage, access->start_ns, access->end_ns, i};
  }
  weir__check_sort(order, checker->access_count);
  bool good = true;
  for (size_t i = 0; good && i < checker->access_count; i++) {
    if (i == 0 || order[i].group != order[i - 1].group) weir__intervals_clear(&checker->map);
    good = follow_access(checker, order[i].access);
  }
  free(order);
  return good;
}
