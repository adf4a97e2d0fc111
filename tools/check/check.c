// SPDX-License-Identifier: Apache-2.0
#include "check/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/controls.h"
#include "check/checker.h"

#define MOST_FINDINGS_SHOWN 16

void weir__check_add(weir__checker *checker, const char *format, ...) {
  weir__check_report *report = checker->report;
  report->result = WEIR__CHECK_BROKEN;
  if (report->broken++ >= MOST_FINDINGS_SHOWN) return;
  size_t used = strlen(report->text), room = sizeof report->text - used;
  if (room < 2) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(report->text + used, room - 1, format, arguments);
  va_end(arguments);
  weir__hide_controls(report->text + used, ""); // labels come from the file
  strcat(report->text, "\n");
}

const char *weir__check_describe(const weir__checker *checker, uint32_t task, char text[WEIR__TASK_TEXT]) {
  if (task == WEIR__END_OF_STREAM) return "the end of the stream";
  const weir__checked_task *checked = &checker->tasks[task];
  const weir__stream *stream = checker->stream;
  if (checker->timeline->rank_count > 0) {
    uint64_t id = checked->seen->id, call = checked->seen->call.number;
    int used =
        snprintf(text, WEIR__TASK_TEXT, "task '%s' (id %" PRIu64, checked->seen->label, id % WEIR__TIMELINE_RANK_IDS);
    if (checker->timeline->rank_count > 1)
      used += snprintf(text + used, WEIR__TASK_TEXT - (size_t)used, " of rank %" PRIu64, id / WEIR__TIMELINE_RANK_IDS);
    if (call != 0)
      snprintf(text + used, WEIR__TASK_TEXT - (size_t)used, ", call %" PRIu64 ")", call);
    else
      snprintf(text + used, WEIR__TASK_TEXT - (size_t)used, ")");
    return text;
  }
  uint64_t number =
      checked->index < stream->task_count ? stream->tasks[checked->index].number : (uint32_t)checked->seen->tag;
  snprintf(text, WEIR__TASK_TEXT, "task '%s' (id %" PRIu64 ", pass %" PRIu32 ", number %" PRIu64 ")",
           checked->seen->label, checked->seen->id, checked->pass, number);
  return text;
}

static void describe_access(const weir__checker *checker, uint32_t index, uint64_t lo, uint64_t hi, size_t size,
                            char *text) {
  static const char *const verbs[] = {"", "reads", "writes", "updates", "commutes on"};
  const weir__checked_access *access = &checker->accesses[index];
  char task[WEIR__TASK_TEXT];
  uint64_t from = lo - access->lo + access->offset;
  int used =
      snprintf(text, size, "%s %s buffer %" PRIu64 " [%" PRIu64 ", %" PRIu64 ")",
               weir__check_describe(checker, access->task, task), access->brings ? "brings" : verbs[access->mode],
               checker->stream->buffers[access->buffer].id, from, from + (hi - lo));
  if (access->task == WEIR__END_OF_STREAM || used < 0 || (size_t)used >= size) return;
  const char *memory = weir__timeline_memory_name(checker->timeline, access->memory);
  snprintf(text + used, size - (size_t)used, " in storage %" PRIu64 "%s%s from %" PRIu64 " to %" PRIu64 " ns",
           access->storage, access->memory > 0 ? " of " : "", access->memory > 0 ? memory : "", access->start_ns,
           access->end_ns);
}

void weir__check_add_conflict(weir__checker *checker, const char *hazard, uint32_t first, uint32_t second, uint64_t lo,
                              uint64_t hi, const char *why) {
  char first_text[400], second_text[400];
  describe_access(checker, first, lo, hi, sizeof first_text, first_text);
  describe_access(checker, second, lo, hi, sizeof second_text, second_text);
  weir__check_add(checker, "%s broken: %s; %s: %s", hazard, first_text, second_text, why);
}

static int compare_order(const void *a, const void *b) {
  const weir__access_order *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  if (x->end_ns != y->end_ns) return x->end_ns < y->end_ns ? -1 : 1;
  return x->access < y->access ? -1 : x->access > y->access;
}

void weir__check_sort(weir__access_order *order, size_t count) {
  qsort(order, count, sizeof *order, compare_order);
}

typedef bool check_step(weir__checker *checker);

static void check_dropped(weir__checker *checker) {
  if (checker->timeline->dropped > 0) {
    weir__check_add(checker, "the timeline has dropped %" PRIu64 " records: it proves nothing",
                    checker->timeline->dropped);
  }
}

static bool run_line_steps(weir__checker *checker) {
  if (checker->timeline->pipeline_count == 0) return true;
  return weir__check_lines(checker) && (!checker->options.lines_apart || weir__check_lines_apart(checker));
}

static bool run_steps(weir__checker *checker) {
  static check_step *const steps[] = {weir__check_presence, weir__check_accesses, weir__check_commute,
                                      weir__check_program,  weir__check_replicas, weir__check_storage_use,
                                      weir__check_waits};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    if (i <= 3 && checker->report->broken > 0) return true; // the rest has nothing to stand on
    if (!steps[i](checker)) return false;
  }
  return true;
}

static weir__check_result fail(weir__check_report *report, const char *message) {
  report->result = WEIR__CHECK_BAD_INPUT;
  snprintf(report->text, sizeof report->text, "%s\n", message);
  return report->result;
}

weir__check_result weir__check_file(const char *timeline_path, const weir__stream *stream,
                                    const weir__check_options *options, weir__check_report *out_report) {
  char message[512];
  weir__timeline *timeline = NULL;
  *out_report = (weir__check_report){.result = WEIR__CHECK_PROVED};
  if (weir__timeline_read(timeline_path, message, sizeof message, &timeline) != WEIR_OK)
    return fail(out_report, message);
  weir__check_timeline(timeline, stream, options, out_report);
  weir__timeline_destroy(timeline);
  return out_report->result;
}

weir__check_result weir__check_timeline(const weir__timeline *timeline, const weir__stream *stream,
                                        const weir__check_options *options, weir__check_report *out_report) {
  *out_report = (weir__check_report){.result = WEIR__CHECK_PROVED};
  weir__checker checker = {.stream = stream, .timeline = timeline, .report = out_report};
  if (options) checker.options = *options;
  check_dropped(&checker);
  bool good = timeline->rank_count > 0 ? weir__check_ranks(&checker, stream) : run_steps(&checker);
  if (!good || !run_line_steps(&checker)) fail(out_report, "out of memory");
  free(checker.tasks);
  free(checker.accesses);
  free(checker.flows);
  free(checker.initial);
  weir__intervals_destroy(&checker.map);
  return out_report->result;
}

weir__check_result weir__check_ranks_alone(const weir__timeline *timeline, const weir__check_options *options,
                                           weir__check_report *out_report) {
  *out_report = (weir__check_report){.result = WEIR__CHECK_PROVED};
  weir__timeline_rank only = {0};
  weir__timeline whole = *timeline;
  if (timeline->part_of > 0)
    return fail(out_report, "the timeline is that of one of several ranks: `weir timeline` joins those of all");
  if (timeline->rank_count == 0) { // of one process
    whole.ranks = &only;
    whole.rank_count = 1;
  }
  return weir__check_timeline(&whole, NULL, options, out_report);
}

weir__check_result weir__check_ranks_file(const char *timeline_path, const weir__check_options *options,
                                          weir__check_report *out_report) {
  char message[512];
  weir__timeline *timeline = NULL;
  *out_report = (weir__check_report){.result = WEIR__CHECK_PROVED};
  if (weir__timeline_read(timeline_path, message, sizeof message, &timeline) != WEIR_OK)
    return fail(out_report, message);
  weir__check_ranks_alone(timeline, options, out_report);
  weir__timeline_destroy(timeline);
  return out_report->result;
}

weir__check_result weir__check_pipelines(const weir__timeline *timeline, const weir__check_options *options,
                                         weir__check_report *out_report) {
  *out_report = (weir__check_report){.result = WEIR__CHECK_PROVED};
  if (timeline->pipeline_count == 0) return fail(out_report, "the timeline has no pipelines");
  weir__checker checker = {.timeline = timeline, .report = out_report};
  if (options) checker.options = *options;
  check_dropped(&checker);
  if (!run_line_steps(&checker)) fail(out_report, "out of memory");
  return out_report->result;
}

weir__check_result weir__check_pipelines_file(const char *timeline_path, const weir__check_options *options,
                                              weir__check_report *out_report) {
  char message[512];
  weir__timeline *timeline = NULL;
  *out_report = (weir__check_report){.result = WEIR__CHECK_PROVED};
  if (weir__timeline_read(timeline_path, message, sizeof message, &timeline) != WEIR_OK)
    return fail(out_report, message);
  weir__check_pipelines(timeline, options, out_report);
  weir__timeline_destroy(timeline);
  return out_report->result;
}

weir__check_result weir__check_files(const char *timeline_path, const char *stream_path,
                                     const weir__check_options *options, weir__check_report *out_report) {
  char message[512];
  weir__stream *stream = NULL;
  *out_report = (weir__check_report){.result = WEIR__CHECK_PROVED};
  if (weir__stream_read(stream_path, message, sizeof message, &stream) != WEIR_OK) return fail(out_report, message);
  weir__check_file(timeline_path, stream, options, out_report);
  weir__stream_destroy(stream);
  return out_report->result;
}
