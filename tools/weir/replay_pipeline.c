// SPDX-License-Identifier: Apache-2.0
//
// Replay of a stream as the jobs of a pipeline: the rounds, beside one job at a time.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay_jobs.h"

enum { ROUNDS = 5, UNTIMED_PER_LINE = 4 };

static bool refuse(const char *option) {
  weir__cli_error("replay", "%s does not go with --pipeline", option);
  return false;
}

bool weir__replay_settle_pipeline(weir__replay_options *options) {
  if (options->lines == 0) {
    if (options->rounds > 0) weir__cli_error("replay", "--rounds needs --pipeline");
    if (options->storage < 0) options->storage = WEIR__REPLAY_FRESH;
    return options->rounds == 0;
  }
  if (options->issue == WEIR__REPLAY_SERIAL) return refuse("--issue serial");
  if (options->issue == WEIR__REPLAY_SERIAL_GRAPH) return refuse("--issue serial-graph");
  if (options->hazards != WEIR__PLAN_BUFFER) return refuse("--hazards serial or address");
  if (options->apart) return refuse("--apart (one job at a time is measured beside it)");
  if (options->storage == WEIR__REPLAY_FRESH) return refuse("--storage fresh (each line keeps its buffers)");
  if (options->met != WEIR__REPLAY_MET_NOTHING) return refuse("--met (some jobs go before, untimed)");
  options->storage = WEIR__REPLAY_KEPT;
  if (options->rounds == 0) options->rounds = ROUNDS;
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Rounds

// By round, in turn: back to back, one job at a time, the pipeline. Latencies: median, 90th and 99th percentile, most.
enum { ALONE, BACK, PIPELINE, SUBMIT, LATENCY, VALUES = LATENCY + 4 };

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void note_latencies(double *latencies, uint64_t count, double *const values[VALUES], uint64_t round) {
  static const uint32_t percent[] = {50, 90, 99, 100};
  qsort(latencies, count, sizeof *latencies, compare);
  for (uint32_t i = 0; i < 4; i++) values[LATENCY + i][round] = latencies[(count - 1) * percent[i] / 100];
}

// All jobs as launches of one graph in a context of its own, where buffers are not renamed, so that jobs do not overlap.
static int play_back_to_back(const weir__replay_jobs *jobs, double *out_us) {
  *out_us = NAN;
  if (jobs->part_count > 1) return WEIR__EXIT_OK;
  weir__replay_options options = *jobs->run->options;
  options.issue = WEIR__REPLAY_GRAPH;
  options.rename = WEIR__REPLAY_OFF;
  options.met = WEIR__REPLAY_MET_STREAM;
  weir__replay_run run;
  int exit_code = weir__replay_run_stream(jobs->run->stream, &options, NULL, NULL, NULL, &run);
  *out_us = run.pass_us;
  return exit_code;
}

static int play_rounds(weir__replay_jobs *jobs, weir_graph **graphs, double *const values[VALUES]) {
  uint64_t repeat = jobs->run->options->repeat, untimed = UNTIMED_PER_LINE * jobs->run->options->lines;
  if (untimed > repeat) untimed = repeat;
  double us;
  int exit_code = weir__replay_record_parts(jobs, graphs);
  if (exit_code == WEIR__EXIT_OK) exit_code = weir__replay_play_alone(jobs, graphs, 2, &us);
  if (exit_code == WEIR__EXIT_OK) exit_code = weir__replay_play_round(jobs, untimed, &us);
  for (uint64_t round = 0; round < jobs->run->options->rounds && exit_code == WEIR__EXIT_OK; round++) {
    exit_code = play_back_to_back(jobs, &values[BACK][round]);
    if (exit_code == WEIR__EXIT_OK) exit_code = weir__replay_play_alone(jobs, graphs, repeat, &us);
    values[ALONE][round] = us / (double)repeat;
    if (exit_code == WEIR__EXIT_OK) exit_code = weir__replay_play_round(jobs, repeat, &us);
    if (exit_code != WEIR__EXIT_OK) break;
    values[PIPELINE][round] = us / (double)repeat;
    values[SUBMIT][round] = (double)jobs->submit_ns / (double)repeat;
    note_latencies(jobs->latency_us, repeat, values, round);
  }
  return exit_code;
}

// Sorts the values.
static weir__replay_spread spread_of(double *values, uint64_t count) {
  double median = weir__replay_median(values, count);
  return (weir__replay_spread){median, values[0], values[count - 1]};
}

static void summarise(const weir__replay_jobs *jobs, double *const values[VALUES], weir__replay_pipelined *out) {
  const weir__replay *run = jobs->run;
  uint64_t rounds = run->options->rounds;
  out->job = spread_of(values[PIPELINE], rounds);
  out->alone = spread_of(values[ALONE], rounds);
  out->back_to_back = spread_of(values[BACK], rounds);
  out->submit_ns = weir__replay_median(values[SUBMIT], rounds);
  out->latency_median_us = weir__replay_median(values[LATENCY], rounds);
  out->latency_90_us = weir__replay_median(values[LATENCY + 1], rounds);
  out->latency_99_us = weir__replay_median(values[LATENCY + 2], rounds);
  out->latency_most_us = weir__replay_median(values[LATENCY + 3], rounds);
  out->host_waits = jobs->part_count > 0 ? jobs->part_count - 1 : 0;
  weir_pipeline_statistics pipeline_statistics;
  weir_pipeline_get_statistics(jobs->pipeline, &pipeline_statistics);
  out->graph_jobs = pipeline_statistics.graph_jobs;
  out->task_jobs = pipeline_statistics.task_jobs;
  weir_statistics statistics;
  weir_context_statistics(run->context, &statistics);
  out->peak_bytes = statistics.peak_bytes;
  out->window = statistics.window;
  snprintf(out->device, sizeof out->device, "%s", weir_device_information(run->device)->name);
}

// ---------------------------------------------------------------------------------------------------------------
// The run

static int measure(weir__replay_jobs *jobs, weir__replay_pipelined *out_pipelined) {
  double *values[VALUES] = {NULL};
  uint64_t rounds = jobs->run->options->rounds;
  weir_graph *graphs[WEIR__REPLAY_MOST_PARTS] = {NULL};
  double *all = calloc(VALUES * rounds, sizeof *all);
  if (!all) return weir__replay_no_memory(jobs->run);
  for (uint32_t i = 0; i < VALUES; i++) values[i] = all + i * rounds;
  int exit_code = play_rounds(jobs, graphs, values);
  if (exit_code == WEIR__EXIT_OK) summarise(jobs, values, out_pipelined);
  for (uint32_t i = 0; i < jobs->part_count; i++) weir_graph_release(graphs[i]);
  free(all);
  return exit_code;
}

// Without a timeline: measures. With one: has the jobs go through once, and writes it.
static int play(weir__replay *run, const char *trace_path, weir__replay_progress progress, void *user,
                weir__replay_pipelined *out_pipelined) {
  weir__replay_jobs *jobs = malloc(sizeof *jobs);
  double *latencies = calloc(run->options->repeat, sizeof *latencies);
  int exit_code = jobs && latencies ? weir__replay_cut(run, jobs) : weir__replay_no_memory(run);
  if (exit_code == WEIR__EXIT_OK) {
    out_pipelined->ordered = jobs->ordered;
    jobs->latency_us = latencies;
    jobs->progress = progress;
    jobs->user = user;
    exit_code = weir__replay_open_pipeline(jobs);
    double us;
    if (exit_code == WEIR__EXIT_OK)
      exit_code = run->trace ? weir__replay_play_round(jobs, run->options->repeat, &us) : measure(jobs, out_pipelined);
    weir__replay_close_pipeline(jobs);
  }
  if (exit_code == WEIR__EXIT_OK) exit_code = weir__replay_save_trace(run, trace_path);
  free(latencies);
  free(jobs);
  return exit_code;
}

static int open_and_play(const weir__stream *stream, const weir__replay_options *options, const char *trace_path,
                         weir__replay_progress progress, void *user, weir__replay_pipelined *out_pipelined) {
  weir__replay run = {.stream = stream, .options = options, .trace = trace_path != NULL};
  int exit_code = weir__replay_open(&run);
  if (run.trace && exit_code == WEIR__EXIT_OK) weir_trace_clear(run.context); // of what was measured for the kernels
  if (exit_code == WEIR__EXIT_OK) exit_code = play(&run, trace_path, progress, user, out_pipelined);
  weir__replay_close(&run);
  return exit_code;
}

int weir__replay_run_pipeline(const weir__stream *stream, const weir__replay_options *options, const char *trace_path,
                              weir__replay_progress progress, void *user, weir__replay_pipelined *out_pipelined) {
  *out_pipelined = (weir__replay_pipelined){0};
  weir_status status = weir__stream_limits(stream, WEIR__PLAN_BUFFER, &out_pipelined->critical_us, NULL);
  if (status != WEIR_OK) {
    weir__cli_error("replay", "%s: no memory", stream->name);
    return WEIR__EXIT_FAILED;
  }
  out_pipelined->critical_us *= options->time_scale;
  for (uint32_t t = 0; t < stream->task_count; t++)
    out_pipelined->work_us += weir__stream_task_work_us(&stream->tasks[t], stream->sms) * options->time_scale;
  int exit_code = open_and_play(stream, options, NULL, progress, user, out_pipelined);
  if (exit_code != WEIR__EXIT_OK || !trace_path) return exit_code;
  return open_and_play(stream, options, trace_path, progress, user, out_pipelined);
}
