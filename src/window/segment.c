// SPDX-License-Identifier: Apache-2.0
#include "window/segment.h"

#include <string.h>

#include "base/allocate.h"

void weir__dependences_initialize(weir__dependences *dependences) {
  *dependences = (weir__dependences){0};
}

void weir__dependences_deinitialize(weir__dependences *dependences) {
  weir__free(dependences->list);
  weir__free(dependences->boxes);
  *dependences = (weir__dependences){0};
}

bool weir__dependences_grow(weir__dependences *dependences) {
  size_t capacity = dependences->capacity == 0 ? 64 : dependences->capacity * 2;
  weir__dependence *list = weir__allocate(capacity * sizeof *list);
  if (list == NULL) return false;
  if (dependences->count > 0) memcpy(list, dependences->list, dependences->count * sizeof *list);
  weir__free(dependences->list);
  dependences->list = list;
  dependences->capacity = capacity;
  return true;
}

void weir__dependences_set_box(weir__dependences *dependences, size_t first, const weir_box *box) {
  if (dependences->box_count == dependences->box_capacity) {
    uint32_t capacity = dependences->box_capacity == 0 ? 64 : dependences->box_capacity * 2;
    weir_box *boxes = weir__allocate(capacity * sizeof *boxes);
    if (boxes == NULL) return;
    if (dependences->box_count > 0) memcpy(boxes, dependences->boxes, dependences->box_count * sizeof *boxes);
    weir__free(dependences->boxes);
    dependences->boxes = boxes;
    dependences->box_capacity = capacity;
  }
  dependences->boxes[dependences->box_count++] = *box;
  for (size_t i = first; i < dependences->count; i++) dependences->list[i].box = dependences->box_count;
}

void weir__dependences_add_poison(weir__dependences *dependences, uint32_t poisoned, uint64_t lo, uint64_t hi) {
  if (dependences->poisoned == 0) dependences->poisoned = poisoned;
  weir__dependences_add(dependences, 0, WEIR__HAZARD_RAW, true, lo, hi);
}

// Which of the free lists holds arrays of this size.
static uint32_t size_index(uint32_t capacity) {
  return (uint32_t)__builtin_ctz(capacity / WEIR__ID_ARRAY_SMALLEST);
}

static weir__id *take_array(weir__id_arrays *arrays, uint32_t capacity) {
  weir__id *array = arrays == NULL ? NULL : arrays->free[size_index(capacity)];
  if (array == NULL) return weir__allocate(capacity * sizeof *array);
  arrays->free[size_index(capacity)] = (weir__id *)(uintptr_t)array[0];
  return array;
}

static void give_array(weir__id_arrays *arrays, weir__id *array, uint32_t capacity) {
  if (arrays == NULL) {
    weir__free(array);
    return;
  }
  array[0] = (weir__id)(uintptr_t)arrays->free[size_index(capacity)];
  arrays->free[size_index(capacity)] = array;
}

void weir__id_arrays_deinitialize(weir__id_arrays *arrays) {
  for (int i = 0; i < WEIR__ID_ARRAY_SIZES; i++) {
    while (arrays->free[i] != NULL) {
      weir__id *array = arrays->free[i];
      arrays->free[i] = (weir__id *)(uintptr_t)array[0];
      weir__free(array);
    }
  }
}

static weir__id *own_readers(weir__segment *segment) {
  return segment->reader_capacity > WEIR__SEGMENT_INLINE_READERS ? segment->readers.many : segment->readers.few;
}

void weir__segment_initialize(weir__segment *segment) {
  *segment = (weir__segment){.reader_capacity = WEIR__SEGMENT_INLINE_READERS};
}

void weir__segment_deinitialize(weir__segment *segment) {
  weir__segment_empty(segment, NULL);
}

void weir__segment_empty(weir__segment *segment, weir__id_arrays *arrays) {
  if (segment->reader_capacity > WEIR__SEGMENT_INLINE_READERS)
    give_array(arrays, segment->readers.many, segment->reader_capacity);
  weir__segment_initialize(segment);
}

// Makes the readers' array at least `capacity` long; its contents are kept.
static bool grow_readers(weir__segment *segment, uint32_t capacity, weir__id_arrays *arrays) {
  if (capacity <= segment->reader_capacity) return true;
  uint32_t rounded = WEIR__ID_ARRAY_SMALLEST;
  while (rounded < capacity) rounded *= 2;
  weir__id *many = take_array(arrays, rounded);
  if (many == NULL) return false;
  memcpy(many, weir__segment_readers(segment), segment->reader_count * sizeof *many);
  if (segment->reader_capacity > WEIR__SEGMENT_INLINE_READERS)
    give_array(arrays, segment->readers.many, segment->reader_capacity);
  segment->readers.many = many;
  segment->reader_capacity = rounded;
  return true;
}

bool weir__segment_copy(weir__segment *target, const weir__segment *source, weir__id_arrays *arrays) {
  weir__segment_reset(target);
  target->poisoned = source->poisoned;
  target->writer = source->writer;
  if (!grow_readers(target, source->reader_count, arrays)) return false;
  target->reader_count = source->reader_count;
  target->commutes = source->commutes;
  memcpy(own_readers(target), weir__segment_readers(source), source->reader_count * sizeof(weir__id));
  return true;
}

// Where no task of a set is left, those that read what it left are readers like others.
static void forget_set(weir__segment *segment) {
  weir__id *readers = own_readers(segment);
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    weir__id tag = readers[i] & WEIR__READER_TAG;
    if (tag == WEIR__READER_COMMUTES || tag == WEIR__READER_FORMER) return;
  }
  for (uint32_t i = 0; i < segment->reader_count; i++) readers[i] = weir__reader_task(readers[i]);
  segment->commutes = false;
}

static void forget_done_readers(weir__segment *segment, const weir__liveness *liveness) {
  weir__id *readers = own_readers(segment);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    if (weir__live(liveness, weir__reader_task(readers[i]))) readers[kept++] = readers[i];
  }
  segment->reader_count = kept;
  if (segment->commutes) forget_set(segment);
}

// First by forgetting readers that are done, and when most are not, by a larger array.
bool weir__segment_make_room(weir__segment *segment, const weir__liveness *liveness, weir__id_arrays *arrays) {
  forget_done_readers(segment, liveness);
  if (segment->reader_count <= segment->reader_capacity / 2) return true;
  return grow_readers(segment, segment->reader_capacity + 1, arrays) ||
         segment->reader_count < segment->reader_capacity;
}

bool weir__segment_idle(weir__segment *segment, const weir__liveness *liveness) {
  if (segment->writer != 0 && weir__live(liveness, segment->writer)) return false;
  segment->writer = 0;
  if (segment->reader_count > 0) forget_done_readers(segment, liveness);
  return segment->reader_count == 0;
}

static void append_reader(weir__segment *segment, const weir__liveness *liveness, weir__id reader,
                          weir__dependences *dependences) {
  if (segment->reader_count == segment->reader_capacity &&
      !weir__segment_make_room(segment, liveness, dependences->arrays)) {
    dependences->unrecorded = true;
    return;
  }
  bool is_set = (reader & WEIR__READER_TAG) == WEIR__READER_COMMUTES;
  if (is_set) segment->commutes = true;
  // Making room may have found that nothing is left of the set that a reader came after.
  own_readers(segment)[segment->reader_count++] = segment->commutes ? reader : weir__reader_task(reader);
}

// Adds the live tasks with a tag. Returns whether there are any.
static bool add_tagged(const weir__segment *segment, const weir__liveness *liveness, weir__id task, weir__id tag,
                       weir__hazard hazard, uint64_t lo, uint64_t hi, weir__dependences *dependences) {
  const weir__id *readers = weir__segment_readers(segment);
  bool any = false;
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    weir__id before = weir__reader_task(readers[i]);
    if ((readers[i] & WEIR__READER_TAG) != tag || before == task || !weir__live(liveness, before)) continue;
    weir__dependences_add(dependences, before, hazard, hazard == WEIR__HAZARD_RAW, lo, hi);
    any = true;
  }
  return any;
}

// What was written before the set. Who comes after a live task of the set comes after these.
static void add_writers_before(const weir__segment *segment, const weir__liveness *liveness, weir__id task,
                               weir__hazard hazard, uint64_t lo, uint64_t hi, weir__dependences *dependences) {
  add_tagged(segment, liveness, task, WEIR__READER_FORMER, hazard, lo, hi, dependences);
  if (weir__live(liveness, segment->writer))
    weir__dependences_add(dependences, segment->writer, hazard, hazard == WEIR__HAZARD_RAW, lo, hi);
}

void weir__segment_read_set(weir__segment *segment, const weir__liveness *liveness, weir__id task, uint64_t lo,
                            uint64_t hi, weir__dependences *dependences) {
  if (!add_tagged(segment, liveness, task, WEIR__READER_COMMUTES, WEIR__HAZARD_RAW, lo, hi, dependences))
    add_writers_before(segment, liveness, task, WEIR__HAZARD_RAW, lo, hi, dependences);
  if (segment->poisoned) weir__dependences_add_poison(dependences, segment->poisoned, lo, hi);
  if (weir__segment_readers(segment)[segment->reader_count - 1] != (task | WEIR__READER_AFTER))
    append_reader(segment, liveness, task | WEIR__READER_AFTER, dependences);
}

void weir__segment_write_set(weir__segment *segment, const weir__liveness *liveness, weir__id task, bool reads,
                             uint64_t lo, uint64_t hi, weir__dependences *dependences) {
  weir__hazard hazard = reads ? WEIR__HAZARD_RAW : WEIR__HAZARD_WAW;
  add_tagged(segment, liveness, task, WEIR__READER_AFTER, WEIR__HAZARD_WAR, lo, hi, dependences);
  if (!add_tagged(segment, liveness, task, WEIR__READER_COMMUTES, hazard, lo, hi, dependences)) {
    add_tagged(segment, liveness, task, WEIR__READER_BEFORE, WEIR__HAZARD_WAR, lo, hi, dependences);
    add_writers_before(segment, liveness, task, hazard, lo, hi, dependences);
  }
  if (reads && segment->poisoned) weir__dependences_add_poison(dependences, segment->poisoned, lo, hi);
  weir__segment_reset(segment);
  segment->writer = task;
}

static bool has_live(const weir__segment *segment, const weir__liveness *liveness, weir__id tag) {
  const weir__id *readers = weir__segment_readers(segment);
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    if ((readers[i] & WEIR__READER_TAG) == tag && weir__live(liveness, weir__reader_task(readers[i]))) return true;
  }
  return false;
}

// A reader has ended the set: what comes next begins another one. What was before the set is before that through the set.
static void end_set(weir__segment *segment, const weir__liveness *liveness) {
  bool implied = has_live(segment, liveness, WEIR__READER_COMMUTES);
  weir__id *readers = own_readers(segment);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    weir__id tag = readers[i] & WEIR__READER_TAG, task = weir__reader_task(readers[i]);
    if (tag == WEIR__READER_COMMUTES)
      readers[kept++] = task | WEIR__READER_FORMER;
    else if (tag == WEIR__READER_AFTER)
      readers[kept++] = task | WEIR__READER_BEFORE;
    else if (!implied)
      readers[kept++] = readers[i];
  }
  segment->reader_count = kept;
}

void weir__segment_commute(weir__segment *segment, const weir__liveness *liveness, weir__id task, uint64_t lo,
                           uint64_t hi, weir__dependences *dependences) {
  if (segment->writer == task) return; // of a buffer that was used by boxes: by an argument that is the same
  if (segment->commutes) {
    if (weir__segment_readers(segment)[segment->reader_count - 1] == (task | WEIR__READER_COMMUTES)) return;
    if (has_live(segment, liveness, WEIR__READER_AFTER)) end_set(segment, liveness);
  }
  add_tagged(segment, liveness, task, WEIR__READER_BEFORE, WEIR__HAZARD_WAR, lo, hi, dependences);
  add_writers_before(segment, liveness, task, WEIR__HAZARD_RAW, lo, hi, dependences);
  if (segment->poisoned) weir__dependences_add_poison(dependences, segment->poisoned, lo, hi);
  append_reader(segment, liveness, task | WEIR__READER_COMMUTES, dependences);
}

bool weir__segment_is_by(const weir__segment *segment, weir__id task) {
  if (segment->writer == task) return true;
  const weir__id *readers = weir__segment_readers(segment);
  for (uint32_t i = 0; segment->commutes && i < segment->reader_count; i++) {
    weir__id tag = readers[i] & WEIR__READER_TAG;
    if ((tag == WEIR__READER_COMMUTES || tag == WEIR__READER_FORMER) && weir__reader_task(readers[i]) == task)
      return true;
  }
  return false;
}

weir__id weir__segment_last_writer(const weir__segment *segment) {
  weir__id last = segment->writer;
  const weir__id *readers = weir__segment_readers(segment);
  for (uint32_t i = 0; segment->commutes && i < segment->reader_count; i++) {
    weir__id tag = readers[i] & WEIR__READER_TAG, task = weir__reader_task(readers[i]);
    if ((tag == WEIR__READER_COMMUTES || tag == WEIR__READER_FORMER) && task > last) last = task;
  }
  return last;
}
