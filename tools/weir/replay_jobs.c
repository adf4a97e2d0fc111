// SPDX-License-Identifier: Apache-2.0
#include "replay_jobs.h"

#include <stdlib.h>
#include <string.h>

static bool writes_parameter(const weir__stream *stream) {
  for (uint32_t t = 0; t < stream->task_count; t++) {
    const weir__stream_task *task = &stream->tasks[t];
    for (uint32_t a = 0; a < task->access_count; a++) {
      if (task->accesses[a].mode != WEIR_READ && stream->buffers[task->accesses[a].buffer].parameter) return true;
    }
  }
  return false;
}

int weir__replay_cut(weir__replay *run, weir__replay_jobs *out_jobs) {
  const weir__stream *stream = run->stream;
  *out_jobs = (weir__replay_jobs){.run = run, .ordered = writes_parameter(stream)};
  uint32_t parts = 0, first = 0;
  for (uint32_t t = 0; t < stream->task_count; t++) {
    bool last = t + 1 == stream->task_count, waits = stream->tasks[t].host_wait && !run->options->no_host_waits;
    if (!last && !waits) continue;
    if (parts < WEIR__REPLAY_MOST_PARTS) out_jobs->parts[parts] = (weir__replay_part){out_jobs, first, t + 1};
    parts++;
    first = t + 1;
  }
  out_jobs->part_count = parts;
  if (parts > WEIR__REPLAY_MOST_PARTS) {
    weir__cli_error("replay", "%s: %u host waits in a job; a pipeline has stages for %d (--no-host-waits goes on)",
                    stream->name, parts - 1, WEIR__REPLAY_MOST_PARTS - 1);
    return WEIR__EXIT_USAGE;
  }
  if (parts > 1 && out_jobs->ordered) {
    weir__cli_error("replay",
                    "%s: its jobs write parameters, which they share, and wait on the host in between: they can only "
                    "run one after the other (--no-host-waits goes on)",
                    stream->name);
    return WEIR__EXIT_USAGE;
  }
  return WEIR__EXIT_OK;
}

// ---------------------------------------------------------------------------------------------------------------
// Stages

static weir_status begin_job(weir_token *token) {
  weir__replay_jobs *jobs = token->user;
  weir__replay_line *line = token->line_state;
  if (jobs->begun == jobs->count) return weir_token_end_input(token);
  jobs->begun++;
  line->replay.pass = token->number - jobs->first;
  line->start_ns = weir__replay_now_ns(jobs->run);
  return WEIR_OK;
}

static weir_status submit_part(weir_token *token) {
  const weir__replay_part *part = token->user;
  weir__replay_line *line = token->line_state;
  for (uint32_t t = part->first; t < part->end; t++) {
    weir_task task;
    weir__replay_make_task(&line->replay, t, &task);
    weir_status status = weir_token_submit(token, &task);
    if (status == WEIR_OK) continue;
    const weir__stream_task *recorded = &line->replay.stream->tasks[t];
    char text[160];
    snprintf(text, sizeof text, "line %u (%s): %s", recorded->line, recorded->op, weir_last_error());
    return weir_token_fail(token, status, text);
  }
  return WEIR_OK;
}

static void deliver(weir_token *token) {
  weir__replay_jobs *jobs = token->user;
  const weir__replay_line *line = token->line_state;
  if (token->status != WEIR_OK) return;
  jobs->latency_us[jobs->delivered++] = (double)(weir__replay_now_ns(jobs->run) - line->start_ns) / 1000;
  if (jobs->progress) jobs->progress(jobs->user, jobs->delivered);
}

// ---------------------------------------------------------------------------------------------------------------
// The pipeline

static void close_line(void *user, uint32_t number, void *state) {
  (void)user, (void)number;
  weir__replay_line *line = state;
  if (line->replay.buffers) weir__replay_release_buffers(&line->replay, false);
  free(line->replay.buffers);
  free(line->replay.args);
  *line = (weir__replay_line){0};
}

static weir_status open_line(void *user, uint32_t number, void **out_state) {
  weir__replay_jobs *jobs = user;
  weir__replay_line *line = &jobs->lines[number];
  size_t buffer_count = (size_t)jobs->run->stream->buffer_count + 1;
  line->replay = *jobs->run;
  line->replay.buffers = malloc(buffer_count * sizeof(weir_buffer *));
  line->replay.args = calloc(WEIR_MAX_ARGS, sizeof(weir_arg));
  int exit_code = line->replay.buffers && line->replay.args ? WEIR__EXIT_OK : weir__replay_no_memory(jobs->run);
  if (exit_code == WEIR__EXIT_OK) {
    memcpy(line->replay.buffers, jobs->run->buffers, buffer_count * sizeof(weir_buffer *));
    exit_code = weir__replay_create_buffers(&line->replay, false);
  }
  if (exit_code == WEIR__EXIT_OK) {
    *out_state = line;
    return WEIR_OK;
  }
  close_line(user, number, line);
  return WEIR_ERROR_OUT_OF_MEMORY; // what went wrong has been said
}

int weir__replay_open_pipeline(weir__replay_jobs *jobs) {
  weir__replay *run = jobs->run;
  int exit_code = weir__replay_create_buffers(run, true);
  if (exit_code != WEIR__EXIT_OK) return exit_code;
  uint32_t flags = (jobs->ordered ? WEIR_STAGE_SERIAL : WEIR_STAGE_PARALLEL) |
                   (run->options->issue == WEIR__REPLAY_QUEUES ? 0 : WEIR_STAGE_GRAPH);
  weir_stage stages[WEIR_PIPELINE_MOST_STAGES] = {{.function = begin_job, .user = jobs, .name = "job"}};
  for (uint32_t i = 0; i < jobs->part_count; i++) {
    bool last = i + 1 == jobs->part_count;
    stages[i + 1] = (weir_stage){.function = submit_part,
                                 .user = &jobs->parts[i],
                                 .flags = flags | (last ? 0 : WEIR_STAGE_AWAIT),
                                 .name = "tasks"};
  }
  // Virtual time passes when a thread waits: with one thread that is when all that can be submitted is.
  bool simulated = strcmp(weir_device_information(run->device)->kind, "sim") == 0;
  const weir_pipeline_options options = {.stages = stages,
                                         .stage_count = jobs->part_count + 1,
                                         .lines = (uint32_t)run->options->lines,
                                         .threads = simulated ? 1 : 0,
                                         .flags = WEIR_PIPELINE_STOP_ON_FAILURE | WEIR_PIPELINE_TIMES,
                                         .deliver = deliver,
                                         .open_line = open_line,
                                         .close_line = close_line,
                                         .user = jobs};
  weir_status status = weir_pipeline_create(run->context, &options, &jobs->pipeline);
  jobs->first = 0;
  return status == WEIR_OK ? WEIR__EXIT_OK : weir__replay_failed(run, status, NULL);
}

void weir__replay_close_pipeline(weir__replay_jobs *jobs) {
  weir_pipeline_release(jobs->pipeline);
  jobs->pipeline = NULL;
}

static uint64_t time_in_stages(const weir__replay_jobs *jobs) {
  weir_pipeline_statistics statistics;
  uint64_t ns = 0;
  weir_pipeline_get_statistics(jobs->pipeline, &statistics);
  for (uint32_t i = 0; i < statistics.line_count; i++) ns += statistics.lines[i].busy_ns;
  return ns;
}

int weir__replay_play_round(weir__replay_jobs *jobs, uint64_t count, double *out_us) {
  jobs->count = count;
  jobs->begun = jobs->delivered = 0;
  uint64_t busy = time_in_stages(jobs);
  uint64_t start = weir__replay_now_ns(jobs->run);
  weir_status status = weir_pipeline_run(jobs->pipeline, WEIR_FOREVER);
  *out_us = (double)(weir__replay_now_ns(jobs->run) - start) / 1000;
  jobs->first += count;
  jobs->submit_ns = time_in_stages(jobs) - busy;
  return status == WEIR_OK ? WEIR__EXIT_OK : weir__replay_failed(jobs->run, status, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// One job at a time

int weir__replay_record_parts(weir__replay_jobs *jobs, weir_graph **out_graphs) {
  weir__replay *replay = &jobs->lines[0].replay;
  for (uint32_t i = 0; i < jobs->part_count; i++) {
    const weir__replay_part *part = &jobs->parts[i];
    weir_status status = weir_graph_create(replay->context, NULL, &out_graphs[i]);
    for (uint32_t t = part->first; t < part->end && status == WEIR_OK; t++) {
      weir_task task;
      weir__replay_make_task(replay, t, &task);
      status = weir_graph_add(out_graphs[i], &task, NULL);
    }
    if (status != WEIR_OK) return weir__replay_failed(replay, status, NULL);
  }
  return WEIR__EXIT_OK;
}

int weir__replay_play_alone(const weir__replay_jobs *jobs, weir_graph *const *graphs, uint64_t count, double *out_us) {
  uint64_t start = weir__replay_now_ns(jobs->run);
  for (uint64_t job = 0; job < count; job++) {
    for (uint32_t i = 0; i < jobs->part_count; i++) {
      weir_status status = weir_graph_evaluate(graphs[i], WEIR_FOREVER);
      if (status != WEIR_OK) return weir__replay_failed(jobs->run, status, NULL);
    }
  }
  *out_us = (double)(weir__replay_now_ns(jobs->run) - start) / 1000;
  return WEIR__EXIT_OK;
}
