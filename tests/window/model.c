// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint32_t slot_of(weir__id task) {
  return (uint32_t)(task % MODEL_WINDOW);
}

static uint64_t bit_of(weir__id task) {
  return UINT64_C(1) << slot_of(task);
}

void model_tasks_initialize(model_tasks *tasks) {
  memset(tasks, 0, sizeof *tasks);
  tasks->live = (weir__liveness){.oldest = 1, .mask = MODEL_WINDOW - 1, .done = tasks->done};
  tasks->next = 1;
}

bool model_tasks_full(const model_tasks *tasks) {
  return tasks->next - tasks->live.oldest == MODEL_WINDOW;
}

weir__id model_tasks_begin(model_tasks *tasks) {
  assert_false(model_tasks_full(tasks));
  weir__id task = tasks->next++;
  tasks->done[slot_of(task)] = 0;
  tasks->live_mask |= bit_of(task);
  tasks->before[slot_of(task)] = 0;
  return task;
}

weir__id model_tasks_pick(const model_tasks *tasks, uint64_t random) {
  uint32_t count = (uint32_t)__builtin_popcountll(tasks->live_mask);
  if (count == 0) return 0;
  uint32_t skip = (uint32_t)(random % count);
  for (weir__id task = tasks->live.oldest;; task++) {
    if ((tasks->live_mask & bit_of(task)) && skip-- == 0) return task;
  }
}

void model_initialize(model_buffer *model, uint32_t bytes) {
  assert_true(bytes <= MODEL_MAX_BYTES);
  memset(model, 0, sizeof *model);
  model->bytes = bytes;
  memset(model->writer, MODEL_NO_WRITER, sizeof model->writer);
}

// What one byte demands of a task that accesses it.
typedef struct demand {
  uint64_t before; // tasks that conflict
  uint64_t data;   // of these, the one whose value is read
  bool poisoned;
} demand;

static demand demand_of(const model_buffer *model, weir__id task, weir_mode mode, uint64_t byte) {
  demand out = {0};
  uint8_t writer = model->writer[byte];
  uint64_t writer_bit = writer == MODEL_NO_WRITER ? 0 : UINT64_C(1) << writer;
  bool joins = mode == WEIR_COMMUTE && model->after[byte] == 0; // the set that is there
  uint64_t set = model->set[byte];
  // Who comes after a live task of the set comes after what was before it.
  uint64_t writers = joins ? writer_bit | model->former[byte] : set != 0 ? set : writer_bit | model->former[byte];
  uint64_t readers = joins || set == 0 ? model->readers[byte] : 0;
  if (!joins) readers |= model->after[byte];
  if (mode == WEIR_COMMUTE && !joins && set != 0) writers |= writer_bit;
  out.before = writers;
  if (mode != WEIR_READ) out.before |= readers;
  out.before &= ~bit_of(task);
  if (mode != WEIR_WRITE) {
    out.data = writers & ~bit_of(task);
    out.poisoned = model->poisoned[byte];
  }
  return out;
}

static void record(model_buffer *model, weir__id task, weir_mode mode, uint64_t byte) {
  if (mode == WEIR_READ) {
    (model->commutes[byte] ? model->after : model->readers)[byte] |= bit_of(task);
    return;
  }
  if (mode != WEIR_COMMUTE) {
    model->writer[byte] = (uint8_t)slot_of(task);
    model->readers[byte] = model->former[byte] = model->set[byte] = model->after[byte] = 0;
    model->poisoned[byte] = model->commutes[byte] = false;
    return;
  }
  if (model->after[byte] != 0) {
    bool implied = model->set[byte] != 0;
    model->former[byte] = model->set[byte] | (implied ? 0 : model->former[byte]);
    model->readers[byte] = model->after[byte] | (implied ? 0 : model->readers[byte]);
    model->set[byte] = model->after[byte] = 0;
  }
  model->set[byte] |= bit_of(task);
  model->commutes[byte] = true;
}

// Marks the bytes of every dependence: predecessors, those by data, and poison.
static void mark_hits(const model_tasks *tasks, const weir__dependences *dependences, uint64_t lo, uint64_t hi,
                      demand found[MODEL_MAX_BYTES]) {
  for (size_t i = 0; i < dependences->count; i++) {
    const weir__dependence *dependence = &dependences->list[i];
    assert_true(lo <= dependence->lo && dependence->lo < dependence->hi && dependence->hi <= hi);
    assert_true(dependence->task == 0 || weir__live(&tasks->live, dependence->task));
    assert_true(dependence->task < tasks->next);
    for (uint64_t byte = dependence->lo; byte < dependence->hi; byte++) {
      if (dependence->task == 0)
        found[byte].poisoned = true;
      else
        found[byte].before |= bit_of(dependence->task);
      if (dependence->task != 0 && dependence->data) found[byte].data |= bit_of(dependence->task);
    }
    assert_int_equal(dependence->data, dependence->hazard == WEIR__HAZARD_RAW);
  }
}

static uint64_t ordered_before(const model_tasks *tasks, uint64_t direct) {
  uint64_t all = direct;
  for (uint64_t left = direct; left != 0; left &= left - 1) all |= tasks->before[__builtin_ctzll(left)];
  return all & tasks->live_mask;
}

void model_access(model_buffer *model, model_tasks *tasks, weir__id task, weir_mode mode, uint64_t lo, uint64_t hi,
                  const weir__dependences *dependences) {
  demand found[MODEL_MAX_BYTES];
  memset(found, 0, model->bytes * sizeof *found);
  mark_hits(tasks, dependences, lo, hi, found);
  bool poisoned = false;
  for (uint64_t byte = lo; byte < hi; byte++) {
    demand wanted = demand_of(model, task, mode, byte);
    assert_int_equal(found[byte].before & ~wanted.before, 0);                        // nothing that is not needed
    assert_int_equal(wanted.before & ~ordered_before(tasks, found[byte].before), 0); // nothing missing
    assert_int_equal(found[byte].data, wanted.data);
    assert_int_equal(found[byte].poisoned, wanted.poisoned);
    poisoned |= wanted.poisoned;
    tasks->before[slot_of(task)] |= ordered_before(tasks, found[byte].before);
    record(model, task, mode, byte);
  }
  assert_int_equal(dependences->poisoned, poisoned);
  assert_false(dependences->incomplete || dependences->unrecorded);
}

void model_finish(model_buffer *model, model_tasks *tasks, weir__id task, bool failed) {
  uint64_t bit = bit_of(task);
  for (uint32_t byte = 0; byte < model->bytes; byte++) {
    model->readers[byte] &= ~bit;
    model->after[byte] &= ~bit;
    if (((model->set[byte] | model->former[byte]) & bit) && failed) model->poisoned[byte] = true;
    model->set[byte] &= ~bit;
    model->former[byte] &= ~bit;
    if (model->writer[byte] != slot_of(task)) continue;
    model->writer[byte] = MODEL_NO_WRITER;
    if (failed || !model->commutes[byte]) model->poisoned[byte] = failed;
  }
  tasks->live_mask &= ~bit;
  tasks->done[slot_of(task)] = 1;
  for (uint32_t i = 0; i < MODEL_WINDOW; i++) tasks->before[i] &= ~bit;
  while (tasks->live.oldest < tasks->next && tasks->done[slot_of(tasks->live.oldest)]) tasks->live.oldest++;
}

void model_check_segment(const model_buffer *model, const model_tasks *tasks, uint64_t lo, uint64_t hi,
                         const weir__segment *segment) {
  uint8_t writer = weir__live(&tasks->live, segment->writer) ? (uint8_t)slot_of(segment->writer) : MODEL_NO_WRITER;
  uint64_t found[4] = {0}; // by tag
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    weir__id entry = weir__segment_readers(segment)[i], reader = weir__reader_task(entry);
    if (weir__live(&tasks->live, reader)) found[entry >> 62] |= bit_of(reader);
  }
  for (uint64_t byte = lo; byte < hi; byte++) {
    assert_int_equal(writer, model->writer[byte]);
    assert_int_equal(found[WEIR__READER_FORMER >> 62], model->former[byte]);
    assert_int_equal(found[WEIR__READER_COMMUTES >> 62], model->set[byte]);
    assert_int_equal(found[0] | found[WEIR__READER_AFTER >> 62], model->readers[byte] | model->after[byte]);
    assert_int_equal(segment->poisoned, model->poisoned[byte]);
  }
}

typedef struct map_check {
  const model_buffer *model;
  const model_tasks *tasks;
  uint64_t end;
  size_t count;
} map_check;

static void check_visited(void *user, uint64_t lo, uint64_t hi, const weir__segment *segment) {
  map_check *check = user;
  assert_int_equal(lo, check->end);
  assert_true(lo < hi && hi <= check->model->bytes);
  check->end = hi;
  check->count++;
  model_check_segment(check->model, check->tasks, lo, hi, segment);
}

void model_check_map(const model_buffer *model, const model_tasks *tasks, const weir__range_map *map) {
  map_check check = {.model = model, .tasks = tasks};
  weir__range_map_visit(map, check_visited, &check);
  assert_int_equal(check.end, model->bytes);
  assert_int_equal(check.count, map->segment_count);
}
