// SPDX-License-Identifier: Apache-2.0
//
// Does each line keep to buffers of its own? Tasks that stages submitted on different lines of a pipeline must not touch the same
// bytes of a buffer, unless all of them read. When they ran does not matter: another time they may be in flight together.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/checker.h"

typedef struct touch {
  uint64_t pipeline, buffer, lo, hi;
  uint32_t task; // index in the timeline
  bool writes;
} touch;

static int compare_touches(const void *a, const void *b) {
  const touch *x = a, *y = b;
  if (x->pipeline != y->pipeline) return x->pipeline < y->pipeline ? -1 : 1;
  if (x->buffer != y->buffer) return x->buffer < y->buffer ? -1 : 1;
  if (x->lo != y->lo) return x->lo < y->lo ? -1 : 1;
  return x->task < y->task ? -1 : x->task > y->task;
}

static uint64_t line_of(const weir__checker *checker, const touch *touched) {
  return checker->timeline->tasks[touched->task].origin.line;
}

// Those of the touches so far that reach furthest, of two lines.
typedef struct furthest {
  const touch *most, *other; // `other`: of another line than `most`
} furthest;

static void note(const weir__checker *checker, furthest *reached, const touch *touched) {
  uint64_t line = line_of(checker, touched);
  const touch *most = reached->most, *other = reached->other;
  if (!most || line_of(checker, most) == line) {
    if (!most || touched->hi > most->hi) reached->most = touched;
  } else if (touched->hi > most->hi) {
    reached->other = most;
    reached->most = touched;
  } else if (!other || touched->hi > other->hi) {
    reached->other = touched;
  }
}

// A touch so far of bytes of `touched`, on another line; NULL: there is none.
static const touch *find(const weir__checker *checker, const furthest *reached, const touch *touched) {
  const touch *best = reached->most;
  if (best && line_of(checker, best) == line_of(checker, touched)) best = reached->other;
  return best && best->hi > touched->lo ? best : NULL;
}

static void describe(const weir__checker *checker, const touch *touched, size_t size, char *text) {
  const weir__timeline_task *task = &checker->timeline->tasks[touched->task];
  snprintf(text, size,
           "task '%s' (id %" PRIu64 ", token %" PRIu64 " on line %" PRIu64 ") %s bytes [%" PRIu64 ", %" PRIu64 ")",
           task->label, task->id, task->origin.token, task->origin.line, touched->writes ? "writes" : "reads",
           touched->lo, touched->hi);
}

static void add(weir__checker *checker, const touch *first, const touch *second) {
  char first_text[256], second_text[256];
  const char *label = weir__timeline_label_of(checker->timeline, first->buffer), *quote = label[0] ? "'" : "";
  describe(checker, first, sizeof first_text, first_text);
  describe(checker, second, sizeof second_text, second_text);
  weir__check_add(checker, "LINES not apart in pipeline %" PRIu64 ": buffer %" PRIu64 "%s%s%s%s: %s; %s",
                  checker->timeline->pipelines[first->pipeline].id, first->buffer, label[0] ? " " : "", quote, label,
                  quote, first_text, second_text);
}

static touch *list_touches(const weir__checker *checker, size_t *out_count) {
  const weir__timeline *timeline = checker->timeline;
  touch *touches = malloc((timeline->access_count + 1) * sizeof *touches);
  *out_count = 0;
  for (size_t i = 0; touches && i < timeline->task_count; i++) {
    const weir__timeline_task *task = &timeline->tasks[i];
    for (uint32_t k = 0; task->has_origin && k < task->access_count; k++) {
      const weir__timeline_access *access = &timeline->accesses[task->access_first + k];
      if (access->bytes == 0) continue;
      touches[(*out_count)++] = (touch){.pipeline = task->origin.pipeline,
                                        .buffer = access->buffer,
                                        .lo = access->offset,
                                        .hi = access->offset + access->bytes,
                                        .task = (uint32_t)i,
                                        .writes = access->mode != WEIR_READ};
    }
  }
  return touches;
}

bool weir__check_lines_apart(weir__checker *checker) {
  size_t count;
  touch *touches = list_touches(checker, &count);
  if (!touches) return false;
  qsort(touches, count, sizeof *touches, compare_touches);
  furthest any = {0}, written = {0};
  bool found = false; // in this buffer: one finding is enough
  for (size_t i = 0; i < count; i++) {
    const touch *touched = &touches[i];
    if (i == 0 || touched->pipeline != touched[-1].pipeline || touched->buffer != touched[-1].buffer) {
      any = written = (furthest){0};
      found = false;
    }
    const touch *other = find(checker, touched->writes ? &any : &written, touched);
    if (other && !found) add(checker, other, touched);
    found = found || other;
    note(checker, &any, touched);
    if (touched->writes) note(checker, &written, touched);
  }
  if (!checker->stream) checker->report->accesses = count;
  free(touches);
  return true;
}
