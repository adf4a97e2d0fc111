// SPDX-License-Identifier: Apache-2.0
#include "window/segment.h"

#include <string.h>

#include "base/allocate.h"

void weir__hits_initialize(weir__hits *hits) {
  *hits = (weir__hits){0};
}

void weir__hits_deinitialize(weir__hits *hits) {
  weir__free(hits->list);
  *hits = (weir__hits){0};
}

void weir__hits_clear(weir__hits *hits) {
  hits->count = 0;
  hits->incomplete = hits->unrecorded = hits->poisoned = false;
}

static bool grow_hits(weir__hits *hits) {
  size_t capacity = hits->capacity == 0 ? 64 : hits->capacity * 2;
  weir__hit *list = weir__allocate(capacity * sizeof *list);
  if (list == NULL) return false;
  if (hits->count > 0) memcpy(list, hits->list, hits->count * sizeof *list);
  weir__free(hits->list);
  hits->list = list;
  hits->capacity = capacity;
  return true;
}

void weir__hits_add(weir__hits *hits, const weir__hit *hit) {
  if (hits->count == hits->capacity && !grow_hits(hits)) {
    hits->incomplete = true;
    return;
  }
  hits->list[hits->count++] = *hit;
}

static inline void add_hit(weir__hits *hits, weir__id task, weir__hazard hazard, bool data, uint64_t lo, uint64_t hi) {
  if (hits->count == hits->capacity && !grow_hits(hits)) {
    hits->incomplete = true;
    return;
  }
  weir__hit *hit = &hits->list[hits->count++];
  hit->task = task;
  hit->lo = lo;
  hit->hi = hi;
  hit->hazard = (uint8_t)hazard;
  hit->data = data;
}

static void hit_poison(weir__hits *hits, uint64_t lo, uint64_t hi) {
  hits->poisoned = true;
  add_hit(hits, 0, WEIR__HAZARD_RAW, true, lo, hi);
}

static inline weir__id *readers_of(weir__segment *segment) {
  return segment->reader_capacity > WEIR__SEGMENT_INLINE_READERS ? segment->readers.many : segment->readers.few;
}

void weir__segment_initialize(weir__segment *segment) {
  *segment = (weir__segment){.reader_capacity = WEIR__SEGMENT_INLINE_READERS};
}

void weir__segment_deinitialize(weir__segment *segment) {
  if (segment->reader_capacity > WEIR__SEGMENT_INLINE_READERS) weir__free(segment->readers.many);
  weir__segment_initialize(segment);
}

void weir__segment_reset(weir__segment *segment) {
  segment->writer = 0;
  segment->reader_count = 0;
  segment->poisoned = false;
}

// Makes the readers' array at least `capacity` long; its contents are kept.
static bool grow_readers(weir__segment *segment, uint32_t capacity) {
  if (capacity <= segment->reader_capacity) return true;
  uint32_t rounded = segment->reader_capacity <= WEIR__SEGMENT_INLINE_READERS ? 8 : segment->reader_capacity;
  while (rounded < capacity) rounded *= 2;
  weir__id *many = weir__allocate(rounded * sizeof *many);
  if (many == NULL) return false;
  memcpy(many, readers_of(segment), segment->reader_count * sizeof *many);
  if (segment->reader_capacity > WEIR__SEGMENT_INLINE_READERS) weir__free(segment->readers.many);
  segment->readers.many = many;
  segment->reader_capacity = rounded;
  return true;
}

const weir__id *weir__segment_readers(const weir__segment *segment) {
  return segment->reader_capacity > WEIR__SEGMENT_INLINE_READERS ? segment->readers.many : segment->readers.few;
}

bool weir__segment_copy(weir__segment *target, const weir__segment *source) {
  weir__segment_reset(target);
  target->poisoned = source->poisoned;
  if (!grow_readers(target, source->reader_count)) return false;
  target->writer = source->writer;
  target->reader_count = source->reader_count;
  memcpy(readers_of(target), weir__segment_readers(source), source->reader_count * sizeof(weir__id));
  return true;
}

static void forget_done_readers(weir__segment *segment, const weir__liveness *liveness) {
  weir__id *readers = readers_of(segment);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    if (weir__live(liveness, readers[i])) readers[kept++] = readers[i];
  }
  segment->reader_count = kept;
}

// Makes room for one more reader: first by forgetting those that are done, and when most are not, by a larger array.
static bool make_room(weir__segment *segment, const weir__liveness *liveness) {
  forget_done_readers(segment, liveness);
  if (segment->reader_count <= segment->reader_capacity / 2) return true;
  return grow_readers(segment, segment->reader_capacity + 1) || segment->reader_count < segment->reader_capacity;
}

void weir__segment_read(weir__segment *segment, const weir__liveness *liveness, weir__id task, uint64_t lo, uint64_t hi,
                        weir__hits *hits) {
  if (weir__live(liveness, segment->writer) && segment->writer != task)
    add_hit(hits, segment->writer, WEIR__HAZARD_RAW, true, lo, hi);
  if (segment->poisoned) hit_poison(hits, lo, hi);
  weir__id *readers = readers_of(segment);
  if (segment->reader_count > 0 && readers[segment->reader_count - 1] == task) return;
  if (segment->reader_count == segment->reader_capacity) {
    if (!make_room(segment, liveness)) {
      hits->unrecorded = true;
      return;
    }
    readers = readers_of(segment);
  }
  readers[segment->reader_count++] = task;
}

void weir__segment_write(weir__segment *segment, const weir__liveness *liveness, weir__id task, bool reads, uint64_t lo,
                         uint64_t hi, weir__hits *hits) {
  const weir__id *readers = readers_of(segment);
  bool reader_in_flight = false;
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    if (!weir__live(liveness, readers[i]) || readers[i] == task) continue;
    add_hit(hits, readers[i], WEIR__HAZARD_WAR, false, lo, hi);
    reader_in_flight = true;
  }
  // A live reader is behind the writer already; only data still has to come from the writer itself.
  if ((reads || !reader_in_flight) && weir__live(liveness, segment->writer) && segment->writer != task)
    add_hit(hits, segment->writer, reads ? WEIR__HAZARD_RAW : WEIR__HAZARD_WAW, reads, lo, hi);
  if (reads && segment->poisoned) hit_poison(hits, lo, hi);
  segment->writer = task;
  segment->reader_count = 0;
  segment->poisoned = false;
}

bool weir__segment_idle(weir__segment *segment, const weir__liveness *liveness) {
  if (segment->writer != 0 && weir__live(liveness, segment->writer)) return false;
  segment->writer = 0;
  if (segment->reader_count > 0) forget_done_readers(segment, liveness);
  return segment->reader_count == 0;
}
