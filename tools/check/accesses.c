// SPDX-License-Identifier: Apache-2.0
//
// Are the accesses of the timeline those of the stream? In a replay by buffer an access has the offset that it has in
// the stream; in one by address its offset is its address less some base. Which of the two it is, and the base, follow
// from what most accesses look like.
#include <inttypes.h>
#include <stdlib.h>

#include "check/checker.h"

static const char *mode_name(weir_mode mode) {
  static const char *const names[] = {"none", "read", "write", "read_write", "commute"};
  return names[mode];
}

// Compares one task's accesses; adds them to the checker's.
static void add_task(weir__checker *checker, uint32_t index) {
  const weir__checked_task *task = &checker->tasks[index];
  char text[WEIR__TASK_TEXT];
  if (task->seen->access_count != task->planned->access_count) {
    weir__check_add(checker, "ACCESS: %s has %" PRIu32 " accesses, the stream says %" PRIu32,
                    weir__check_describe(checker, index, text), task->seen->access_count, task->planned->access_count);
    return;
  }
  for (uint32_t i = 0; i < task->seen->access_count; i++) {
    const weir__timeline_access *seen = &checker->timeline->accesses[task->seen->access_first + i];
    const weir__stream_access *planned = &task->planned->accesses[i];
    if (seen->mode != planned->mode || seen->bytes != planned->bytes) {
      weir__check_add(checker,
                      "ACCESS: %s, access %" PRIu32 " (buffer %" PRIu64 "): %s of %" PRIu64
                      " bytes, the stream says %s of %" PRIu64,
                      weir__check_describe(checker, index, text), i, checker->stream->buffers[planned->buffer].id,
                      mode_name(seen->mode), seen->bytes, mode_name(planned->mode), planned->bytes);
    }
    checker->accesses[checker->access_count++] = (weir__checked_access){.task = index,
                                                                        .buffer = planned->buffer,
                                                                        .mode = planned->mode,
                                                                        .storage = seen->storage,
                                                                        .lo = seen->offset,
                                                                        .hi = seen->offset + seen->bytes,
                                                                        .offset = planned->offset,
                                                                        .start_ns = task->seen->start_ns,
                                                                        .end_ns = task->seen->end_ns};
  }
}

static uint64_t base_of(const weir__checker *checker, const weir__checked_access *access) {
  return checker->stream->buffers[access->buffer].address + access->offset - access->lo;
}

// The number that the timeline gives to the buffer of an access. (Until objects are known, `object` is its place there.)
static uint64_t number_of(const weir__checker *checker, const weir__checked_access *access) {
  return checker->timeline->accesses[access->object].buffer;
}

// Are two buffers of the stream one buffer of the replay?
static bool buffers_share_number(const weir__checker *checker) {
  const weir__checked_access *first = checker->accesses;
  for (size_t i = 1; i < checker->access_count; i++) {
    const weir__checked_access *access = &checker->accesses[i];
    if (access->buffer != first->buffer && number_of(checker, access) == number_of(checker, first)) return true;
  }
  return false;
}

static void check_places(weir__checker *checker) {
  uint64_t base = 0;
  size_t votes = 0, by_buffer = 0, by_address = 0;
  for (size_t i = 0; i < checker->access_count; i++) { // the base that more than half of the accesses have, if any
    uint64_t mine = base_of(checker, &checker->accesses[i]);
    if (votes == 0) base = mine;
    votes = mine == base ? votes + 1 : votes - 1;
  }
  for (size_t i = 0; i < checker->access_count; i++) {
    by_buffer += checker->accesses[i].lo == checker->accesses[i].offset;
    by_address += base_of(checker, &checker->accesses[i]) == base;
  }
  checker->by_address = by_address > by_buffer || (by_address == by_buffer && buffers_share_number(checker));
  for (size_t i = 0; i < checker->access_count; i++) {
    const weir__checked_access *access = &checker->accesses[i];
    uint64_t address = checker->stream->buffers[access->buffer].address;
    uint64_t wanted = checker->by_address ? address + access->offset - base : access->offset;
    if (access->lo == wanted) continue;
    char text[WEIR__TASK_TEXT];
    weir__check_add(checker, "ACCESS: %s, buffer %" PRIu64 ": offset %" PRIu64 ", the stream says %" PRIu64,
                    weir__check_describe(checker, access->task, text), checker->stream->buffers[access->buffer].id,
                    access->lo, wanted);
  }
}

typedef struct buffer_number {
  uint64_t number;
  uint32_t pass;
  bool known;
} buffer_number;

// Does each buffer of the stream have one number in a pass, and parameters one in all? Finds out what is kept.
static bool check_numbers(weir__checker *checker) {
  buffer_number *numbers = calloc((size_t)checker->stream->buffer_count + 1, sizeof *numbers);
  if (!numbers) return false;
  bool changes = false, repeats = false;
  for (size_t i = 0; i < checker->access_count; i++) {
    const weir__checked_access *access = &checker->accesses[i];
    const weir__checked_task *task = &checker->tasks[access->task];
    const weir__stream_buffer *buffer = &checker->stream->buffers[access->buffer];
    uint64_t number = number_of(checker, access);
    buffer_number *known = &numbers[access->buffer];
    bool may_change =
        known->pass != task->pass && !buffer->parameter && checker->options.storage != WEIR__CHECK_STORAGE_KEPT;
    if (known->known && known->number != number && !may_change) {
      char text[WEIR__TASK_TEXT];
      weir__check_add(checker,
                      "ACCESS: %s: buffer %" PRIu64 " of the stream is number %" PRIu64 " here, %" PRIu64 " before",
                      weir__check_describe(checker, access->task, text), buffer->id, number, known->number);
    }
    if (known->known && !buffer->parameter && known->pass != task->pass) {
      repeats = true;
      changes |= known->number != number;
    }
    *known = (buffer_number){number, task->pass, true};
  }
  free(numbers);
  checker->kept = checker->options.storage == WEIR__CHECK_STORAGE_KEPT ||
                  (checker->options.storage == WEIR__CHECK_STORAGE_DERIVE && repeats && !changes);
  return true;
}

static void set_objects(weir__checker *checker) {
  for (size_t i = 0; i < checker->access_count; i++) {
    weir__checked_access *access = &checker->accesses[i];
    bool lives_on = checker->kept || checker->stream->buffers[access->buffer].parameter;
    uint64_t pass = lives_on ? 0 : (uint64_t)checker->tasks[access->task].pass + 1;
    access->object = checker->by_address ? 0 : pass << 32 | access->buffer;
  }
}

bool weir__check_accesses(weir__checker *checker) {
  const weir__timeline *timeline = checker->timeline;
  checker->access_capacity = timeline->access_count + 1;
  checker->accesses = malloc(checker->access_capacity * sizeof *checker->accesses);
  if (!checker->accesses) return false;
  for (size_t i = 0; i < checker->task_count; i++) {
    size_t first = checker->access_count;
    add_task(checker, (uint32_t)i);
    for (size_t k = first; k < checker->access_count; k++) { // see number_of
      checker->accesses[k].object = checker->tasks[i].seen->access_first + (k - first);
    }
  }
  checker->report->accesses = checker->access_count;
  if (checker->report->broken > 0) return true;
  check_places(checker);
  if (!checker->by_address && !check_numbers(checker)) return false;
  set_objects(checker);
  return true;
}
