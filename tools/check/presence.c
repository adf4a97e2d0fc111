// SPDX-License-Identifier: Apache-2.0
//
// Is every task of every pass in the timeline, once, and did it end well?
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/checker.h"

static int compare_tags(const void *a, const void *b) {
  const weir__checked_task *x = a, *y = b;
  if (x->seen->tag != y->seen->tag) return x->seen->tag < y->seen->tag ? -1 : 1;
  return x->seen->id < y->seen->id ? -1 : x->seen->id > y->seen->id;
}

void weir__check_ended(weir__checker *checker, uint32_t task) {
  const weir__timeline_task *seen = checker->tasks[task].seen;
  char text[WEIR__TASK_TEXT];
  if (strcmp(seen->status, "WEIR_OK") != 0) {
    weir__check_add(checker, "STATUS: %s ended with %s", weir__check_describe(checker, task, text), seen->status);
  }
  if (seen->submit_ns > seen->start_ns || seen->start_ns > seen->end_ns) {
    weir__check_add(checker,
                    "TIMES: %s is submitted at %" PRIu64 ", starts at %" PRIu64 " and ends at %" PRIu64
                    " ns, which is no order",
                    weir__check_describe(checker, task, text), seen->submit_ns, seen->start_ns, seen->end_ns);
  }
}

// Compares the sorted tasks with the sequence that they should be; stops at the first that is missing.
static void check_sequence(weir__checker *checker) {
  uint32_t length = checker->stream->task_count;
  uint64_t pass = 0, index = 0;
  for (size_t i = 0; i < checker->task_count; i++) {
    const weir__checked_task *task = &checker->tasks[i];
    char text[WEIR__TASK_TEXT];
    if (i > 0 && task->seen->tag == checker->tasks[i - 1].seen->tag) {
      weir__check_add(checker, "DUPLICATE: %s is there twice", weir__check_describe(checker, (uint32_t)i, text));
      continue;
    }
    if (task->index >= length || (checker->options.passes && task->pass >= checker->options.passes)) {
      weir__check_add(checker, "UNKNOWN: %s is not part of the stream",
                      weir__check_describe(checker, (uint32_t)i, text));
      continue;
    }
    if (task->pass != pass || task->index != index) {
      weir__check_add(checker, "MISSING: task '%s' (pass %" PRIu64 ", number %" PRIu64 ") is not in the timeline",
                      checker->stream->tasks[index].op, pass, checker->stream->tasks[index].number);
      return;
    }
    pass += index + 1 == length;
    index = (index + 1) % length;
  }
  uint64_t complete = index == 0 && pass > 0 ? pass : pass + 1;
  uint64_t passes = checker->options.passes ? checker->options.passes : complete;
  if (length > 0 && pass < passes) {
    weir__check_add(checker, "MISSING: task '%s' (pass %" PRIu64 ", number %" PRIu64 ") is not in the timeline",
                    checker->stream->tasks[index].op, pass, checker->stream->tasks[index].number);
  }
}

bool weir__check_presence(weir__checker *checker) {
  const weir__timeline *timeline = checker->timeline;
  checker->task_count = timeline->task_count;
  checker->report->tasks = timeline->task_count;
  checker->tasks = malloc((timeline->task_count + 1) * sizeof *checker->tasks);
  if (!checker->tasks) return false;
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_task *seen = &timeline->tasks[i];
    uint32_t index = (uint32_t)seen->tag - 1; // tasks count from 1
    const weir__stream_task *planned = index < checker->stream->task_count ? &checker->stream->tasks[index] : NULL;
    checker->tasks[i] = (weir__checked_task){seen, planned, (uint32_t)(seen->tag >> 32), index};
  }
  qsort(checker->tasks, checker->task_count, sizeof *checker->tasks, compare_tags);
  check_sequence(checker);
  for (size_t i = 0; i < checker->task_count; i++) weir__check_ended(checker, (uint32_t)i);
  return true;
}
