// SPDX-License-Identifier: Apache-2.0
#include "recorded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/check.h"
#include "device/opencl/driver.h"
#include "plan/critical_path.h"
#include "streams.h"
#include "tasks.h"
#include "weir/replay_pass.h"

// What one stream gave, in microseconds.
typedef struct row {
  gpu_stat in_order, in_order_submit, any_order, any_order_submit;
  weir__replay_run tasks, graph;
  bool checked; // both orders
} row;

typedef struct bench {
  char device[32], version[BENCH_DRIVER_BYTES];
  const weir__opencl_listed *listed;
  double scale;
  uint32_t runs;
  bool json;
  bench_peers *peers;
} bench;

static bool read_stream(const char *path, double scale, bench_recorded_stream *out_recorded) {
  char message[512];
  *out_recorded = (bench_recorded_stream){0};
  if (weir__stream_read(path, message, sizeof message, &out_recorded->stream) != WEIR_OK) {
    fprintf(stderr, "weir-bench-opencl: %s\n", message);
    return false;
  }
  const weir__stream *stream = out_recorded->stream;
  out_recorded->us = gpu_memory(stream->task_count, sizeof *out_recorded->us);
  for (uint32_t t = 0; t < stream->task_count; t++) {
    out_recorded->us[t] = weir__stream_task_us(&stream->tasks[t]) * scale;
    out_recorded->work_us += out_recorded->us[t];
  }
  gpu_task_graph(stream, WEIR__PLAN_BUFFER, &out_recorded->order);
  double *ends = gpu_memory(stream->task_count, sizeof *ends);
  out_recorded->path_us = weir__plan_earliest_ends(&out_recorded->order, out_recorded->us, ends);
  free(ends);
  return true;
}

static void free_stream(bench_recorded_stream *recorded) {
  if (recorded->stream != NULL) weir__stream_destroy(recorded->stream);
  weir__plan_graph_free(&recorded->order);
  free(recorded->us);
}

static weir__replay_options options_of(const bench *b, bool graph) {
  return (weir__replay_options){.device = b->device,
                                .hazards = WEIR__PLAN_BUFFER,
                                .issue = graph ? WEIR__REPLAY_GRAPH : WEIR__REPLAY_AUTO,
                                .met = WEIR__REPLAY_MET_DEVICE,
                                .storage = graph ? WEIR__REPLAY_KEPT : WEIR__REPLAY_FRESH,
                                .repeat = b->runs + 1,
                                .time_scale = b->scale,
                                .apart = true,
                                .no_host_waits = true};
}

static bool replay(const bench *b, const weir__stream *stream, bool graph, weir__replay_run *out_run) {
  weir__replay_options options = options_of(b, graph);
  return weir__replay_run_stream(stream, &options, NULL, NULL, NULL, out_run) == WEIR__EXIT_OK;
}

// Two passes with a timeline, which is proved to keep the order.
static bool check_replay(const bench *b, const weir__stream *stream, bool graph) {
  char path[] = "/tmp/weir-bench-XXXXXX.json";
  int file = mkstemps(path, 5);
  if (file < 0) return false;
  close(file);
  weir__replay_options options = options_of(b, graph);
  options.repeat = 2;
  options.apart = false;
  weir__replay_run run;
  weir__check_report *report = gpu_memory(1, sizeof *report);
  const weir__check_options how = {.storage = graph ? WEIR__CHECK_STORAGE_KEPT : WEIR__CHECK_STORAGE_FRESH,
                                   .passes = (uint32_t)options.repeat,
                                   .ignore_host_waits = true};
  bool good = weir__replay_run_stream(stream, &options, path, NULL, NULL, &run) == WEIR__EXIT_OK;
  if (good && weir__check_file(path, stream, &how, report) != WEIR__CHECK_PROVED) {
    fprintf(stderr, "weir-bench-opencl: %s: the check failed:\n%s\n", stream->name, report->text);
    good = false;
  }
  unlink(path);
  free(report);
  return good;
}

static bool measure(const bench *b, const bench_recorded_stream *recorded, row *out_row) {
  const weir__stream *stream = recorded->stream;
  *out_row = (row){0};
  out_row->checked =
      bench_peers_check(b->peers, recorded) && check_replay(b, stream, false) && check_replay(b, stream, true);
  return bench_peers_measure(b->peers, recorded, false, b->runs, &out_row->in_order, &out_row->in_order_submit) &&
         bench_peers_measure(b->peers, recorded, true, b->runs, &out_row->any_order, &out_row->any_order_submit) &&
         replay(b, stream, false, &out_row->tasks) && replay(b, stream, true, &out_row->graph);
}

static double limit(const bench *b, const bench_recorded_stream *recorded) {
  return fmax(recorded->path_us, recorded->work_us / b->listed->units);
}

static void print_stat(const char *name, gpu_stat stat) {
  printf(",\n   \"%s\": {\"median\": %.2f, \"p10\": %.2f, \"p90\": %.2f}", name, stat.median, stat.low, stat.high);
}

static void print_json(const bench *b, const bench_recorded_stream *recorded, const row *r, bool last) {
  uint32_t tasks = recorded->stream->task_count;
  printf("  {\"stream\": \"%s\", \"tasks\": %u, \"work_us\": %.1f, \"path_us\": %.1f, \"limit_us\": %.1f",
         recorded->stream->name, tasks, recorded->work_us, recorded->path_us, limit(b, recorded));
  print_stat("in_order_us", r->in_order);
  print_stat("in_order_submit_us", r->in_order_submit);
  print_stat("out_of_order_us", r->any_order);
  print_stat("out_of_order_submit_us", r->any_order_submit);
  printf(",\n   \"weir_first_us\": %.2f, \"weir_us\": {\"median\": %.2f, \"least\": %.2f, \"most\": %.2f}",
         r->tasks.first_us, r->tasks.pass_us, r->tasks.least_us, r->tasks.most_us);
  printf(
      ", \"weir_submit_ns_per_task\": %.1f,\n   \"weir_graph_us\": {\"median\": %.2f, \"least\": %.2f, \"most\": %.2f}",
      r->tasks.later_submit_ns / tasks, r->graph.pass_us, r->graph.least_us, r->graph.most_us);
  printf(", \"checked\": %s}%s\n", r->checked ? "true" : "false", last ? "" : ",");
}

static void print_row(const bench *b, const bench_recorded_stream *recorded, const row *r) {
  double best = fmin(r->tasks.pass_us, r->graph.pass_us), peer = fmin(r->in_order.median, r->any_order.median);
  printf("| %s | %u | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %s |\n", recorded->stream->name,
         recorded->stream->task_count, limit(b, recorded), r->in_order.median, r->any_order.median, r->tasks.first_us,
         r->tasks.pass_us, r->graph.pass_us, peer / best, r->checked ? "yes" : "NO");
  fflush(stdout);
}

static void print_head(const bench *b) {
  if (b->json)
    printf("{\"device\": \"%s\", \"platform\": \"%s\", \"driver\": \"%s\", \"units\": %u, \"scale\": %g, \"runs\": %u, "
           "\"streams\": [\n",
           b->listed->name, b->listed->platform_name, b->version, b->listed->units, b->scale, b->runs);
  else
    printf("%s, %s, %s; %u compute units; recorded times x %g; us, medians of %u passes\n\n"
           "| stream | tasks | limit | in-order queue | out-of-order queue | Weir, first pass | Weir, repeated | Weir, "
           "graph | "
           "better queue / better Weir | order checked |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
           b->listed->name, b->listed->platform_name, b->version, b->listed->units, b->scale, b->runs);
}

static bool find_rate(const char *device, double *out_per_us) {
  weir_context *context;
  weir_status status = weir_context_create(&(weir_context_options){.devices = device}, &context);
  if (status == WEIR_OK) status = weir__replay_opencl_rounds(context, out_per_us);
  if (status != WEIR_OK) fprintf(stderr, "weir-bench-opencl: %s\n", weir_last_error());
  weir_context_release(context);
  return status == WEIR_OK;
}

static bool run_stream(const bench *b, const char *path, bool last, bool *out_checked) {
  bench_recorded_stream recorded;
  row r;
  bool good = read_stream(path, b->scale, &recorded);
  if (good) {
    good = measure(b, &recorded, &r);
    if (good && b->json) print_json(b, &recorded, &r, last);
    if (good && !b->json) print_row(b, &recorded, &r);
    *out_checked = *out_checked && r.checked;
  }
  free_stream(&recorded);
  return good;
}

int bench_recorded(uint32_t device, char **paths, uint32_t count, double scale, uint32_t runs, bool json) {
  char reason[256];
  bench b = {.scale = scale, .runs = runs, .json = json};
  double per_us;
  snprintf(b.device, sizeof b.device, "opencl:%u", device);
  bench_driver_text(device, b.version);
  b.listed = &weir__opencl_driver_load(reason, sizeof reason)->devices[device];
  if (!find_rate(b.device, &per_us) || (b.peers = bench_peers_open(device, per_us)) == NULL) return 1;
  print_head(&b);
  bool good = true, checked = true;
  for (uint32_t i = 0; i < count && good; i++) good = run_stream(&b, paths[i], i + 1 == count, &checked);
  if (json) printf("]}\n");
  bench_peers_close(b.peers);
  return good && checked ? 0 : 1;
}
