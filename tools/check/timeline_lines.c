// SPDX-License-Identifier: Apache-2.0
//
// Pipelines and their lines, as a timeline has them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/timeline_reader.h"

static bool read_stages(weir__timeline_reader *reader, const json_t *list, weir__timeline_pipeline *pipeline) {
  size_t count = json_array_size(list);
  if (count == 0 || count > WEIR__TIMELINE_MOST_STAGES)
    return weir__timeline_fail(reader, "a pipeline has %zu stages; 1 to %d are possible", count,
                               WEIR__TIMELINE_MOST_STAGES);
  pipeline->stages = calloc(count, sizeof *pipeline->stages);
  if (!pipeline->stages) return weir__timeline_no_memory(reader);
  pipeline->stage_count = (uint32_t)count;
  for (size_t i = 0; i < count; i++) {
    const json_t *stage = json_array_get(list, i), *serial = json_object_get(stage, "serial");
    if (!json_is_object(stage)) return weir__timeline_fail(reader, "a stage is not an object");
    if (!weir__timeline_text(reader, stage, "a stage", "name", sizeof pipeline->stages[i].name,
                             pipeline->stages[i].name))
      return false;
    if (!json_is_boolean(serial))
      return weir__timeline_fail(reader, "stage '%s': serial is not true or false", pipeline->stages[i].name);
    pipeline->stages[i].serial = json_is_true(serial);
  }
  return true;
}

static bool read_pipeline(weir__timeline_reader *reader, const json_t *object, weir__timeline_pipeline *pipeline) {
  const json_t *stages = NULL;
  if (!json_is_object(object)) return weir__timeline_fail(reader, "a pipeline is not an object");
  if (!weir__timeline_whole(reader, object, "a pipeline", "id", &pipeline->id) ||
      !weir__timeline_whole(reader, object, "a pipeline", "lines", &pipeline->lines) ||
      !weir__timeline_list(reader, object, "a pipeline", "stages", &stages))
    return false;
  if (pipeline->lines == 0 || pipeline->lines > WEIR__TIMELINE_MOST_LINES)
    return weir__timeline_fail(reader, "a pipeline has %llu lines; 1 to %d are possible",
                               (unsigned long long)pipeline->lines, WEIR__TIMELINE_MOST_LINES);
  return read_stages(reader, stages, pipeline);
}

static int compare_pipelines(const void *a, const void *b) {
  const weir__timeline_pipeline *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

bool weir__timeline_add_pipelines(weir__timeline_reader *reader, const json_t *head) {
  weir__timeline *timeline = reader->timeline;
  const json_t *list = NULL;
  if (!json_object_get(head, "pipelines")) return true;
  if (!weir__timeline_list(reader, head, "weir", "pipelines", &list)) return false;
  size_t count = json_array_size(list);
  timeline->pipelines = calloc(count + 1, sizeof *timeline->pipelines);
  if (!timeline->pipelines) return weir__timeline_no_memory(reader);
  timeline->pipeline_count = count;
  for (size_t i = 0; i < count; i++) {
    if (!read_pipeline(reader, json_array_get(list, i), &timeline->pipelines[i])) return false;
  }
  qsort(timeline->pipelines, count, sizeof *timeline->pipelines, compare_pipelines);
  for (size_t i = 1; i < count; i++) {
    if (timeline->pipelines[i - 1].id == timeline->pipelines[i].id)
      return weir__timeline_fail(reader, "pipeline %llu is there twice", (unsigned long long)timeline->pipelines[i].id);
  }
  return true;
}

bool weir__timeline_take_origin(weir__timeline_reader *reader, const json_t *args, const char *what,
                                weir__timeline_task *task) {
  task->has_origin = json_object_get(args, "pipeline") != NULL;
  return !task->has_origin || (weir__timeline_whole(reader, args, what, "pipeline", &task->origin.pipeline) &&
                               weir__timeline_whole(reader, args, what, "line", &task->origin.line) &&
                               weir__timeline_whole(reader, args, what, "stage", &task->origin.stage) &&
                               weir__timeline_whole(reader, args, what, "token", &task->origin.token));
}

static bool read_state(weir__timeline_reader *reader, const json_t *args, const char *what, weir__timeline_span *span) {
  static const char *const names[] = {"busy", "turn", "tasks", "thread", "free"};
  char state[16] = "";
  if (!weir__timeline_text(reader, args, what, "state", sizeof state, state)) return false;
  while (span->state <= WEIR__STATE_FREE && strcmp(state, names[span->state]) != 0) span->state++;
  if (span->state > WEIR__STATE_FREE)
    return weir__timeline_fail(reader, "%s: '%s' is not a state of a line", what, state);
  span->has_token = json_object_get(args, "token") != NULL;
  if (span->state == WEIR__STATE_FREE)
    return !span->has_token || weir__timeline_fail(reader, "%s: a free line has a token", what);
  return weir__timeline_whole(reader, args, what, "stage", &span->at.stage) &&
         (!span->has_token || weir__timeline_whole(reader, args, what, "token", &span->at.token));
}

bool weir__timeline_add_span(weir__timeline_reader *reader, const json_t *event) {
  weir__timeline *timeline = reader->timeline;
  weir__timeline_span span = {.file_line = reader->line};
  char name[48], phase[8], what[80];
  if (!weir__timeline_text(reader, event, "a span of a line", "name", sizeof name, name)) return false;
  snprintf(what, sizeof what, "span '%s'", name);
  if (!weir__timeline_text(reader, event, what, "ph", sizeof phase, phase)) return false;
  if (strcmp(phase, "X") != 0) return weir__timeline_fail(reader, "%s: ph is '%s', not 'X'", what, phase);
  const json_t *args = json_object_get(event, "args");
  if (!json_is_object(args)) return weir__timeline_fail(reader, "%s: args is not an object", what);
  if (!weir__timeline_whole(reader, args, what, "pipeline", &span.at.pipeline) ||
      !weir__timeline_whole(reader, args, what, "line", &span.at.line) || !read_state(reader, args, what, &span) ||
      !weir__timeline_whole(reader, args, what, "start_ns", &span.start_ns) ||
      !weir__timeline_whole(reader, args, what, "end_ns", &span.end_ns))
    return false;
  if (span.end_ns < span.start_ns) return weir__timeline_fail(reader, "%s: it ends before it starts", what);
  if (!weir__timeline_grow(reader, (void **)&timeline->spans, &timeline->span_capacity, timeline->span_count,
                           sizeof *timeline->spans))
    return false;
  timeline->spans[timeline->span_count++] = span;
  return true;
}

// ---------------------------------------------------------------------------------------------------------------

// Puts the pipeline's index in place of its id.
static bool join(weir__timeline_reader *reader, weir__timeline_origin *at, const char *what, uint32_t file_line) {
  const weir__timeline *timeline = reader->timeline;
  const weir__timeline_pipeline wanted = {.id = at->pipeline}, *found = NULL;
  if (timeline->pipeline_count > 0)
    found = bsearch(&wanted, timeline->pipelines, timeline->pipeline_count, sizeof wanted, compare_pipelines);
  if (found && at->line < found->lines && at->stage < found->stage_count) {
    at->pipeline = (uint64_t)(found - timeline->pipelines);
    return true;
  }
  reader->line = file_line;
  if (!found)
    return weir__timeline_fail(reader, "%s: pipeline %llu is not among those of weir", what,
                               (unsigned long long)at->pipeline);
  bool is_line = at->line >= found->lines;
  return weir__timeline_fail(reader, "%s: %s %llu of pipeline %llu, which has %llu", what, is_line ? "line" : "stage",
                             (unsigned long long)(is_line ? at->line : at->stage), (unsigned long long)found->id,
                             (unsigned long long)(is_line ? found->lines : found->stage_count));
}

bool weir__timeline_join_pipelines(weir__timeline_reader *reader) {
  weir__timeline *timeline = reader->timeline;
  for (size_t i = 0; i < timeline->span_count; i++) {
    weir__timeline_span *span = &timeline->spans[i];
    if (!join(reader, &span->at, "a span", span->file_line)) return false;
  }
  for (size_t i = 0; i < timeline->task_count; i++) {
    weir__timeline_task *task = &timeline->tasks[i];
    char what[80];
    snprintf(what, sizeof what, "task '%s'", task->label);
    if (task->has_origin && !join(reader, &task->origin, what, task->line)) return false;
  }
  return true;
}
