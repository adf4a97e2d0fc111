// SPDX-License-Identifier: Apache-2.0
//
// Why a task waited for another: the shortest chain of waits between their records, in words.
#include "trace/why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "trace/record.h"

enum { MOST_STEPS = 8 }; // of a chain that are told one by one

typedef struct why_text {
  char *text;
  size_t size, used;
} why_text;

static __attribute__((format(printf, 2, 3))) void say(why_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text->text + text->used, text->size - text->used, format, arguments);
  va_end(arguments);
  size_t left = text->size - text->used;
  text->used += length < 0 ? 0 : (size_t)length < left ? (size_t)length : left - 1;
}

static void say_task(why_text *text, const weir__trace_task *task) {
  say(text, "task %" PRIu64 " '%s'", task->id, task->label);
}

static void say_bytes(why_text *text, const weir__trace *trace, uint64_t id, uint64_t lo, uint64_t hi) {
  const weir__trace_buffer *buffer = weir__trace_find_buffer(trace, id);
  say(text, "bytes [%" PRIu64 ", %" PRIu64 ") of buffer %" PRIu64 " '%s'", lo, hi, id,
      buffer != NULL ? buffer->label : "");
}

// "reads bytes [0, 64) of buffer 2 'image', which task 7 'blur' writes (RAW)"
static void say_wait(why_text *text, const weir__trace *trace, const weir__trace_wait *wait,
                     const weir__trace_task *predecessor) {
  bool for_bytes = wait->hazard != WEIR__HAZARD_AFTER && wait->hazard != WEIR__HAZARD_STORAGE;
  if (wait->hazard == WEIR__HAZARD_AFTER) say(text, "was to come after ");
  if (wait->hazard == WEIR__HAZARD_STORAGE) say(text, "got memory that was used before by ");
  if (for_bytes) {
    say(text, wait->hazard == WEIR__HAZARD_RAW ? "reads " : "overwrites ");
    say_bytes(text, trace, wait->buffer, wait->lo, wait->hi);
    say(text, ", which ");
  }
  say_task(text, predecessor);
  if (for_bytes) say(text, wait->hazard == WEIR__HAZARD_WAR ? " reads" : " writes");
  say(text, " (%s)", weir__trace_hazard_name(wait->hazard));
}

static const weir__trace_task *find(const weir__trace *trace, uint64_t id) {
  return weir__trace_find((weir__trace *)(uintptr_t)trace, id);
}

// Of a task on the way from the later one back: the task it was reached from, and the wait that leads to it.
typedef struct why_step {
  const weir__trace_task *from; // NULL: not reached
  const weir__trace_wait *wait;
} why_step;

// Breadth first, from `later` back. `steps` are of the tasks from `earlier` on, `queue` has room for as many.
static bool search(const weir__trace *trace, const weir__trace_task *earlier, const weir__trace_task *later,
                   why_step *steps, const weir__trace_task **queue) {
  size_t head = 0, tail = 0;
  queue[tail++] = later;
  while (head < tail && steps[0].from == NULL) {
    const weir__trace_task *task = queue[head++];
    for (uint32_t i = 0; i < task->wait_count; i++) {
      const weir__trace_task *before = find(trace, task->waits[i].task);
      if (before == NULL || before < earlier || steps[before - earlier].from != NULL) continue;
      steps[before - earlier] = (why_step){task, &task->waits[i]};
      queue[tail++] = before;
    }
  }
  return steps[0].from != NULL;
}

static void say_chain(why_text *text, const weir__trace *trace, const weir__trace_task *earlier,
                      const weir__trace_task *later, const why_step *steps) {
  // The steps lead from the earlier task to the later one, and are told the other way round.
  uint32_t count = 0;
  for (const weir__trace_task *at = earlier; at != later; at = steps[at - earlier].from) count++;
  say_task(text, later);
  say(text, " waited for ");
  say_task(text, earlier);
  if (count > 1) say(text, " by way of %" PRIu32 " other%s", count - 1, count == 2 ? "" : "s");
  for (uint32_t told = 0; told < count; told++) {
    if (told == MOST_STEPS - 1 && count > MOST_STEPS) {
      say(text, "; ...");
      told = count - 1;
    }
    const weir__trace_task *before = earlier;
    for (uint32_t i = 0; i + told + 1 < count; i++) before = steps[before - earlier].from;
    say(text, told == 0 ? ": " : "; ");
    if (told == 0) say(text, "it ");
    if (told > 0) {
      say_task(text, steps[before - earlier].from);
      say(text, " ");
    }
    say_wait(text, trace, steps[before - earlier].wait, before);
  }
}

// Two accesses to common bytes, at least one of which writes.
typedef struct why_conflict {
  const weir__trace_access *earlier, *later; // NULL: there are none
  bool renamed;
  bool boxes; // some are boxes, which are not compared
} why_conflict;

static why_conflict find_conflict(const weir__trace_task *earlier, const weir__trace_task *later) {
  why_conflict found = {0};
  for (uint32_t i = 0; i < later->access_count; i++) {
    for (uint32_t j = 0; j < earlier->access_count; j++) {
      const weir__trace_access *a = &earlier->accesses[j], *b = &later->accesses[i];
      if (a->buffer != b->buffer || a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes) continue;
      if (a->mode == WEIR_READ && b->mode == WEIR_READ) continue;
      if (a->box.rows > 0 || b->box.rows > 0) {
        found.boxes = true;
        continue;
      }
      found = (why_conflict){a, b, a->storage != b->storage && b->mode == WEIR_WRITE, false};
      if (!found.renamed) return found;
    }
  }
  return found;
}

static void say_no(why_text *text, const weir__trace *trace, const weir__trace_task *earlier,
                   const weir__trace_task *later) {
  why_conflict conflict = find_conflict(earlier, later);
  say_task(text, later);
  say(text, " did not wait for ");
  say_task(text, earlier);
  if (conflict.later == NULL) {
    say(text, conflict.boxes ? ": no byte that one of them writes is used by the other, or the first was done already"
                             : ": no byte that one of them writes is used by the other");
    return;
  }
  bool raw = conflict.later->mode != WEIR_WRITE && conflict.earlier->mode != WEIR_READ;
  uint64_t from = conflict.earlier->offset, to = from + conflict.earlier->bytes;
  if (conflict.later->offset > from) from = conflict.later->offset;
  if (conflict.later->offset + conflict.later->bytes < to) to = conflict.later->offset + conflict.later->bytes;
  say(text, ": it %s ", raw ? "reads" : "overwrites");
  say_bytes(text, trace, conflict.later->buffer, from, to);
  say(text, ", which ");
  say_task(text, earlier);
  say(text, conflict.earlier->mode == WEIR_READ ? " reads, but " : " writes, but ");
  say(text, conflict.renamed ? "the buffer was renamed" : "that was done already");
}

weir_status weir__trace_why(const weir__trace *trace, uint64_t earlier, uint64_t later, char *text, size_t size) {
  why_text to = {.text = text, .size = size};
  const weir__trace_task *first = find(trace, earlier), *second = find(trace, later);
  if (first == NULL || second == NULL) return WEIR_ERROR_UNAVAILABLE;
  if (first >= second) {
    say_task(&to, second);
    say(&to, " did not wait for ");
    say_task(&to, first);
    say(&to, first == second ? ": they are one task" : ", which was submitted later");
    return WEIR_OK;
  }
  size_t count = (size_t)(second - first) + 1;
  why_step *steps = weir__allocate_zeroed(count * sizeof *steps);
  const weir__trace_task **queue = weir__allocate(count * sizeof *queue);
  bool room = steps != NULL && queue != NULL;
  if (room && search(trace, first, second, steps, queue))
    say_chain(&to, trace, first, second, steps);
  else if (room)
    say_no(&to, trace, first, second);
  weir__free(steps);
  weir__free(queue);
  return room ? WEIR_OK : WEIR_ERROR_OUT_OF_MEMORY;
}
