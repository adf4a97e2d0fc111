// SPDX-License-Identifier: Apache-2.0
//
// Do lines, tokens and stages of pipelines keep their rules? A line has one token at a time, and tokens in the order of their
// numbers; so no more tokens are in flight than there are lines.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/checker.h"

#define SPAN_TEXT 224

static const weir__timeline_pipeline *pipeline_of(const weir__checker *checker, const weir__timeline_span *span) {
  return &checker->timeline->pipelines[span->at.pipeline];
}

static const char *describe(const weir__checker *checker, const weir__timeline_span *span, char text[SPAN_TEXT]) {
  static const char *const states[] = {"is in", "waits for its turn at", "waits for tasks after",
                                       "waits for a thread at"};
  char token[48] = "the end of the input", what[128] = "";
  if (span->has_token) snprintf(token, sizeof token, "token %" PRIu64, span->at.token);
  if (span->state == WEIR__STATE_FREE)
    snprintf(token, sizeof token, "no token");
  else
    snprintf(what, sizeof what, " %s stage %" PRIu64 " '%s'", states[span->state], span->at.stage,
             pipeline_of(checker, span)->stages[span->at.stage].name);
  snprintf(text, SPAN_TEXT, "%s%s on line %" PRIu64 " from %" PRIu64 " to %" PRIu64 " ns", token, what, span->at.line,
           span->start_ns, span->end_ns);
  return text;
}

static void add(weir__checker *checker, const char *rule, const weir__timeline_span *first,
                const weir__timeline_span *second, const char *why) {
  char first_text[SPAN_TEXT], second_text[SPAN_TEXT];
  weir__check_add(checker, "%s broken in pipeline %" PRIu64 ": %s; %s: %s", rule, pipeline_of(checker, first)->id,
                  describe(checker, first, first_text), describe(checker, second, second_text), why);
}

// ---------------------------------------------------------------------------------------------------------------
// Orders of spans

static int compare(uint64_t a, uint64_t b) {
  return a < b ? -1 : a > b;
}

// Numbers of two spans, one after the other, until one differs.
static int compare_all(const uint64_t *a, const uint64_t *b, size_t count) {
  int order = 0;
  for (size_t i = 0; i < count && order == 0; i++) order = compare(a[i], b[i]);
  return order;
}

static int by_line(const void *a, const void *b) {
  const weir__timeline_span *x = a, *y = b;
  const uint64_t left[] = {x->at.pipeline, x->at.line, x->start_ns, x->end_ns, x->at.stage};
  const uint64_t right[] = {y->at.pipeline, y->at.line, y->start_ns, y->end_ns, y->at.stage};
  return compare_all(left, right, 5);
}

static int by_token(const void *a, const void *b) {
  const weir__timeline_span *x = a, *y = b;
  const uint64_t left[] = {x->at.pipeline, !x->has_token, x->at.token, x->at.line};
  const uint64_t right[] = {y->at.pipeline, !y->has_token, y->at.token, y->at.line};
  return compare_all(left, right, 4);
}

// Calls of a stage stand together, in the order of their times.
static int by_stage(const void *a, const void *b) {
  const weir__timeline_span *x = a, *y = b;
  const uint64_t left[] = {x->at.pipeline, x->state, x->at.stage, x->start_ns, x->end_ns, x->at.token};
  const uint64_t right[] = {y->at.pipeline, y->state, y->at.stage, y->start_ns, y->end_ns, y->at.token};
  return compare_all(left, right, 6);
}

static int by_call(const void *a, const void *b) {
  const weir__timeline_span *x = a, *y = b;
  const uint64_t left[] = {x->at.pipeline, x->state, x->at.stage, x->at.line, !x->has_token, x->at.token};
  const uint64_t right[] = {y->at.pipeline, y->state, y->at.stage, y->at.line, !y->has_token, y->at.token};
  return compare_all(left, right, 6);
}

// ---------------------------------------------------------------------------------------------------------------
// Rules

// What one token did on its line, in the order of time: `spans` up to `count`. Returns how many of them there are.
static size_t check_token(weir__checker *checker, const weir__timeline_span *spans, size_t count) {
  const weir__timeline_span *last = &spans[0], *call = NULL;
  size_t next = 0;
  for (; next < count; next++) {
    const weir__timeline_span *span = &spans[next];
    if (span->at.pipeline != last->at.pipeline || span->at.line != last->at.line || !span->has_token ||
        span->at.token != last->at.token)
      break;
    if (span->at.stage < last->at.stage)
      add(checker, "STAGE", last, span, "the token goes back");
    else if (span->state == WEIR__STATE_BUSY && call && call->at.stage == span->at.stage)
      add(checker, "STAGE", call, span, "the stage is called twice for the token");
    if (span->state == WEIR__STATE_BUSY) call = span;
    last = span;
  }
  checker->report->tokens++;
  return next;
}

// Spans of a line do not overlap, and each token is there once, after those before it.
static void check_lines(weir__checker *checker, const weir__timeline_span *spans, size_t count) {
  for (size_t i = 1; i < count; i++) {
    const weir__timeline_span *last = &spans[i - 1], *span = &spans[i];
    if (last->at.pipeline == span->at.pipeline && last->at.line == span->at.line && last->end_ns > span->start_ns)
      add(checker, "LINE", last, span, "a line does one thing at a time");
  }
  const weir__timeline_span *last = NULL;
  for (size_t i = 0; i < count;) {
    const weir__timeline_span *span = &spans[i];
    if (!span->has_token) {
      i++;
      continue;
    }
    if (last && last->at.pipeline == span->at.pipeline && last->at.line == span->at.line &&
        last->at.token >= span->at.token)
      add(checker, "LINE", last, span, "tokens of a line come one after the other");
    i += check_token(checker, span, count - i);
    last = &spans[i - 1];
  }
}

static void check_tokens(weir__checker *checker, const weir__timeline_span *spans, size_t count) {
  for (size_t i = 1; i < count; i++) {
    const weir__timeline_span *last = &spans[i - 1], *span = &spans[i];
    if (last->has_token && span->has_token && last->at.pipeline == span->at.pipeline &&
        last->at.token == span->at.token && last->at.line != span->at.line)
      add(checker, "TOKEN", last, span, "a token is on one line");
  }
}

// A serial stage is called for one token at a time, in the order of their numbers.
static void check_stages(weir__checker *checker, const weir__timeline_span *spans, size_t count) {
  for (size_t i = 1; i < count; i++) {
    const weir__timeline_span *last = &spans[i - 1], *span = &spans[i];
    if (last->state != WEIR__STATE_BUSY || span->state != WEIR__STATE_BUSY || last->at.pipeline != span->at.pipeline ||
        last->at.stage != span->at.stage || !pipeline_of(checker, span)->stages[span->at.stage].serial)
      continue;
    if (last->end_ns > span->start_ns)
      add(checker, "STAGE", last, span, "a serial stage has one token at a time");
    else if (last->has_token && span->has_token && last->at.token >= span->at.token)
      add(checker, "STAGE", last, span, "a serial stage has tokens in their order");
  }
}

// A task that names a call was submitted in one that there was: for its token, or the one that had no token.
static void check_tasks(weir__checker *checker, const weir__timeline_span *spans, size_t count) {
  const weir__timeline *timeline = checker->timeline;
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_task *task = &timeline->tasks[i];
    if (!task->has_origin) continue;
    if (!checker->stream) checker->report->tasks++;
    weir__timeline_span wanted = {.at = task->origin, .state = WEIR__STATE_BUSY, .has_token = true};
    bool found = count > 0 && bsearch(&wanted, spans, count, sizeof *spans, by_call) != NULL;
    if (!found && task->origin.stage == 0) {
      wanted.has_token = false;
      wanted.at.token = 0;
      found = count > 0 && bsearch(&wanted, spans, count, sizeof *spans, by_call) != NULL;
    }
    if (!found)
      weir__check_add(checker,
                      "TASK broken in pipeline %" PRIu64 ": task '%s' (id %" PRIu64
                      ") is said to come from token %" PRIu64 " in stage %" PRIu64 " on line %" PRIu64
                      ", which was not called",
                      timeline->pipelines[task->origin.pipeline].id, task->label, task->id, task->origin.token,
                      task->origin.stage, task->origin.line);
  }
}

bool weir__check_lines(weir__checker *checker) {
  const weir__timeline *timeline = checker->timeline;
  size_t count = timeline->span_count;
  weir__timeline_span *spans = malloc((count + 1) * sizeof *spans);
  if (!spans) return false;
  if (count > 0) memcpy(spans, timeline->spans, count * sizeof *spans);
  checker->report->pipelines = timeline->pipeline_count;
  checker->report->spans = count;
  qsort(spans, count, sizeof *spans, by_line);
  check_lines(checker, spans, count);
  qsort(spans, count, sizeof *spans, by_token);
  check_tokens(checker, spans, count);
  qsort(spans, count, sizeof *spans, by_stage);
  check_stages(checker, spans, count);
  qsort(spans, count, sizeof *spans, by_call);
  check_tasks(checker, spans, count);
  free(spans);
  return true;
}
