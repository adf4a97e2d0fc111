// SPDX-License-Identifier: Apache-2.0
//
// Goes through the accesses of each object in program order and finds for every byte that is read who wrote it. What is
// found stays as flows for the next steps. Objects that outlive the stream are read once more at its end.
#include <stdlib.h>

#include "check/checker.h"

#define MOST_FLOWS ((size_t)1 << 28)

static bool add_flow(weir__checker *checker, weir__checked_access *access, const weir__flow *flow) {
  if (checker->flow_count == checker->flow_capacity) {
    size_t wanted = checker->flow_capacity ? checker->flow_capacity * 2 : 1024;
    weir__flow *larger = wanted > MOST_FLOWS ? NULL : realloc(checker->flows, wanted * sizeof *larger);
    if (!larger) return false;
    checker->flows = larger;
    checker->flow_capacity = wanted;
  }
  checker->flows[checker->flow_count++] = *flow;
  access->flow_count++;
  return true;
}

// One interval that the access reads. Its `reader` is the first access, in program order, to read what nobody has written.
static bool read_interval(weir__checker *checker, uint32_t index, weir__interval *interval) {
  if (interval->writer == WEIR__NO_ACCESS && interval->reader == WEIR__NO_ACCESS) interval->reader = index;
  weir__flow flow = {interval->lo, interval->hi, interval->writer, interval->reader, false};
  return add_flow(checker, &checker->accesses[index], &flow);
}

static bool follow_access(weir__checker *checker, uint32_t index) {
  weir__checked_access *access = &checker->accesses[index];
  weir__intervals *map = &checker->map;
  access->first_flow = checker->flow_count;
  if (access->brings) {
    access->first_flow = access[-1].first_flow;
    access->flow_count = access[-1].flow_count;
    return true;
  }
  if (!weir__intervals_take(map, access->lo, access->hi)) return false;
  for (size_t i = 0; i < map->taken_count; i++) {
    if (access->mode != WEIR_WRITE && !read_interval(checker, index, &map->taken[i])) return false;
    if (access->mode == WEIR_READ) continue;
    map->taken[i].writer = index;
    map->taken[i].reader = WEIR__NO_ACCESS;
  }
  return weir__intervals_put(map);
}

// Adds a read of all that an object holds when everything is done.
static bool read_at_end(weir__checker *checker) {
  weir__intervals *map = &checker->map;
  uint32_t first = WEIR__NO_ACCESS;
  if (!weir__intervals_take_all(map)) return false;
  for (size_t i = 0; i < map->taken_count; i++) {
    const weir__interval *interval = &map->taken[i];
    uint32_t source = interval->writer != WEIR__NO_ACCESS ? interval->writer : interval->reader;
    if (source == WEIR__NO_ACCESS) continue;
    if (checker->access_count == checker->access_capacity) {
      size_t wanted = checker->access_capacity * 2;
      weir__checked_access *larger = realloc(checker->accesses, wanted * sizeof *larger);
      if (!larger) return false;
      checker->accesses = larger;
      checker->access_capacity = wanted;
    }
    weir__checked_access access = checker->accesses[source];
    access.task = WEIR__END_OF_STREAM;
    access.mode = WEIR_READ;
    access.offset += interval->lo - access.lo;
    access.lo = interval->lo;
    access.hi = interval->hi;
    access.start_ns = access.end_ns = UINT64_MAX;
    access.first_flow = checker->flow_count;
    access.flow_count = 0;
    weir__flow flow = {interval->lo, interval->hi, interval->writer, interval->reader, false};
    if (!add_flow(checker, &access, &flow)) return false;
    checker->accesses[checker->access_count++] = access;
    if (first == WEIR__NO_ACCESS) first = source;
    if (checker->accesses[first].storage != access.storage) {
      weir__check_add_conflict(checker, "RAW", first, source, interval->lo, interval->hi,
                               "one buffer is left in two storages at the end of the stream");
    }
  }
  return true;
}

static bool lives_on(const weir__checker *checker, const weir__checked_access *access) {
  return checker->by_address || checker->kept || checker->stream->buffers[access->buffer].parameter;
}

static bool follow_object(weir__checker *checker, const weir__access_order *order, size_t count) {
  weir__intervals_clear(&checker->map);
  for (size_t i = 0; i < count; i++) {
    if (!follow_access(checker, order[i].access)) return false;
  }
  if (lives_on(checker, &checker->accesses[order[0].access]) && !read_at_end(checker)) return false;
  return weir__check_note_initial(checker, order, count);
}

bool weir__check_program(weir__checker *checker) {
  size_t count = checker->access_count;
  weir__access_order *order = malloc((count + 1) * sizeof *order);
  if (!order) return false;
  for (uint32_t i = 0; i < count; i++) order[i] = (weir__access_order){checker->accesses[i].object, 0, 0, i};
  weir__check_sort(order, count);
  bool good = true;
  for (size_t first = 0, end; good && first < count; first = end) {
    for (end = first; end < count && order[end].group == order[first].group;) end++;
    good = follow_object(checker, order + first, end - first);
  }
  free(order);
  return good;
}
