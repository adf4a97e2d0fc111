// SPDX-License-Identifier: Apache-2.0
//
// The calls of all ranks as one program: those of them that are tasks must be the tasks of a stream.
#include <stdlib.h>

#include "check/ranks.h"

static void check_order(weir__ranks *self, const weir__checker *program) {
  for (uint32_t i = 1; i < program->task_count; i++) {
    char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
    if (program->tasks[i].seen->call.number > program->tasks[i - 1].seen->call.number) continue;
    weir__check_add(self->checker, "ORDER: %s comes before %s in the calls of the ranks, not as in the stream",
                    weir__check_describe(program, i, text), weir__check_describe(program, i - 1, other));
  }
}

// A timeline of the calls alone, in which buffers have the numbers that all ranks give them. Shares what it does not change.
static bool take_calls(const weir__timeline *timeline, weir__timeline *out_calls) {
  *out_calls = *timeline;
  out_calls->task_count = 0;
  out_calls->tasks = malloc((timeline->task_count + 1) * sizeof *timeline->tasks);
  out_calls->accesses = malloc((timeline->access_count + 1) * sizeof *timeline->accesses);
  if (!out_calls->tasks || !out_calls->accesses) return false;
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_call *call = &timeline->tasks[i].call;
    if (call->number != 0 && call->direction == WEIR__TIMELINE_NO_MESSAGE)
      out_calls->tasks[out_calls->task_count++] = timeline->tasks[i];
  }
  for (size_t i = 0; i < timeline->access_count; i++) {
    out_calls->accesses[i] = timeline->accesses[i];
    out_calls->accesses[i].buffer = timeline->accesses[i].shared;
  }
  return true;
}

bool weir__ranks_stream(weir__ranks *self, const weir__stream *stream) {
  weir__timeline calls;
  weir__check_report *report = self->checker->report;
  uint64_t tasks = report->tasks, accesses = report->accesses;
  weir__checker program = {.stream = stream, .timeline = &calls, .report = report, .options = self->checker->options};
  bool good = take_calls(self->checker->timeline, &calls);
  good = good && weir__check_presence(&program);
  if (good && report->broken == 0) good = weir__check_accesses(&program);
  if (good && report->broken == 0) check_order(self, &program);
  report->tasks = tasks;
  report->accesses = accesses;
  free(program.tasks);
  free(program.accesses);
  free(calls.tasks);
  free(calls.accesses);
  return good;
}
