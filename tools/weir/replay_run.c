// SPDX-License-Identifier: Apache-2.0
//
// A whole replay: its context, what runs before the first pass, the passes and their times.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "replay_pass.h"

// Times of the passes; by pass. What was not measured is not a number.
typedef struct timing {
  double *pass_us, *submit_ns;
  uint64_t start_ns; // of the first pass
} timing;

uint64_t weir__replay_now_ns(const weir__replay *run) {
  return strcmp(weir_device_information(run->device)->kind, "sim") == 0 ? weir_device_time(run->device)
                                                                        : weir__clock_ns();
}

static int finish(const weir__replay *run) {
  weir_status status = weir_finish(run->context);
  return status == WEIR_OK ? WEIR__EXIT_OK : weir__replay_failed(run, status, NULL);
}

// Submits pass `run->pass`, or launches its graph, and notes its times.
static int play_pass(weir__replay *run, const weir__replay_recorded *recorded, timing *times) {
  uint64_t pass = run->pass, start = weir__replay_now_ns(run), submit_start = weir__clock_ns(),
           waited = run->host_wait_ns;
  int exit_code = recorded ? weir__replay_launch_pass(run, recorded) : weir__replay_submit_pass(run);
  times->submit_ns[pass] = (double)(weir__clock_ns() - submit_start - (run->host_wait_ns - waited));
  times->pass_us[pass] = NAN;
  if (exit_code != WEIR__EXIT_OK || !run->options->apart) return exit_code;
  exit_code = finish(run);
  times->pass_us[pass] = (double)(weir__replay_now_ns(run) - start) / 1000;
  return exit_code;
}

static int play_passes(weir__replay *run, const weir__replay_recorded *recorded, uint64_t recorded_count,
                       weir__replay_progress progress, void *user, timing *times) {
  int exit_code = WEIR__EXIT_OK;
  times->start_ns = weir__replay_now_ns(run);
  for (run->pass = 0; run->pass < run->options->repeat && exit_code == WEIR__EXIT_OK; run->pass++) {
    exit_code = play_pass(run, recorded ? &recorded[run->pass % recorded_count] : NULL, times);
    if (progress) progress(user, run->pass + 1);
  }
  return exit_code;
}

// A graph per pass where buffers are new in each, and for a timeline, whose tasks carry the number of their pass; else one
// graph that is launched again. All are built before the first launch.
static int play_graphs(weir__replay *run, weir__replay_progress progress, void *user, timing *times) {
  uint64_t count = run->options->storage == WEIR__REPLAY_FRESH || run->trace ? run->options->repeat : 1;
  weir__replay_recorded *recorded = calloc(count, sizeof *recorded);
  if (!recorded) return weir__replay_no_memory(run);
  int exit_code = WEIR__EXIT_OK;
  for (run->pass = 0; run->pass < count && exit_code == WEIR__EXIT_OK; run->pass++) {
    exit_code = weir__replay_record_pass(run, &recorded[run->pass]);
  }
  if (exit_code == WEIR__EXIT_OK) exit_code = play_passes(run, recorded, count, progress, user, times);
  if (count < run->options->repeat) run->edges *= run->options->repeat;
  for (uint64_t i = 0; i < count; i++) free(recorded[i].buffers);
  free(recorded);
  return exit_code;
}

// ---------------------------------------------------------------------------------------------------------------
// What the process has met before the first pass

static int play_untimed(weir__replay *run) {
  weir__replay_recorded recorded = {0};
  int exit_code;
  if (weir__replay_by_graph(run->options)) {
    exit_code = weir__replay_record_pass(run, &recorded);
    if (exit_code == WEIR__EXIT_OK) exit_code = weir__replay_launch_pass(run, &recorded);
  } else {
    exit_code = weir__replay_submit_pass(run);
  }
  if (exit_code == WEIR__EXIT_OK) exit_code = finish(run);
  if (recorded.graph) weir_graph_release(recorded.graph);
  free(recorded.buffers);
  run->edges = run->build_ns = run->host_wait_ns = 0;
  return exit_code;
}

static int play_others(weir__replay *run) {
  weir__replay_kernels own = run->kernels;
  int exit_code = weir__replay_create_kernels(run, true, &run->kernels);
  weir_status status = WEIR_OK;
  if (run->options->met == WEIR__REPLAY_MET_DEVICE) status = weir_buffer_create(run->context, 64, &run->chain);
  if (exit_code == WEIR__EXIT_OK && status != WEIR_OK) exit_code = weir__replay_failed(run, status, NULL);
  if (exit_code == WEIR__EXIT_OK) exit_code = play_untimed(run);
  if (exit_code != WEIR__EXIT_OK) weir_finish(run->context); // tasks in flight use the kernels' times
  weir__replay_release_buffers(run, true);
  weir_buffer_release(run->chain);
  run->chain = NULL;
  weir__replay_free_kernels(&run->kernels);
  run->kernels = own;
  return exit_code;
}

enum { SETTLING_NS = 100000000 };

static int meet(weir__replay *run) {
  if (run->stream->task_count == 0 || run->options->met == WEIR__REPLAY_MET_NOTHING) return WEIR__EXIT_OK;
  bool stream = run->options->met == WEIR__REPLAY_MET_STREAM;
  int exit_code = stream ? play_untimed(run) : play_others(run);
  // What a device does in the background with what it met (making graphs) has time to end. The second time the device is
  // awake, as it is in a program that goes on.
  nanosleep(&(struct timespec){.tv_nsec = SETTLING_NS}, NULL);
  if (exit_code != WEIR__EXIT_OK) return exit_code;
  return stream ? play_untimed(run) : play_others(run);
}

// ---------------------------------------------------------------------------------------------------------------
// The run

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

double weir__replay_median(double *values, uint64_t count) {
  if (count == 0) return NAN;
  qsort(values, count, sizeof *values, compare_numbers);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static void summarise(const weir__replay *run, const timing *times, weir__replay_run *out_run) {
  uint64_t repeat = run->options->repeat, others = repeat - 1;
  for (uint64_t i = 0; i < repeat; i++) out_run->submit_ns += times->submit_ns[i];
  out_run->first_submit_ns = times->submit_ns[0];
  out_run->later_submit_ns = weir__replay_median(times->submit_ns + 1, others);
  out_run->first_us = times->pass_us[0];
  out_run->pass_us =
      run->options->apart ? weir__replay_median(times->pass_us + 1, others) : out_run->makespan_us / (double)repeat;
  bool spread = run->options->apart && others > 0;
  out_run->least_us = spread ? times->pass_us[1] : NAN;
  out_run->most_us = spread ? times->pass_us[repeat - 1] : NAN;
  out_run->build_us = (double)run->build_ns / 1000;
}

static int play(weir__replay *run, weir__replay_progress progress, void *user, weir__replay_run *out_run) {
  uint64_t repeat = run->options->repeat;
  timing times = {.pass_us = calloc(repeat, sizeof(double)), .submit_ns = calloc(repeat, sizeof(double))};
  int exit_code = times.pass_us && times.submit_ns ? WEIR__EXIT_OK : weir__replay_no_memory(run);
  if (exit_code == WEIR__EXIT_OK) {
    bool graphs = weir__replay_by_graph(run->options) && run->stream->task_count > 0;
    exit_code = graphs ? play_graphs(run, progress, user, &times) : play_passes(run, NULL, 0, progress, user, &times);
  }
  if (exit_code == WEIR__EXIT_OK) exit_code = finish(run);
  if (exit_code == WEIR__EXIT_OK) {
    out_run->makespan_us = (double)(weir__replay_now_ns(run) - times.start_ns) / 1000;
    summarise(run, &times, out_run);
  }
  free(times.pass_us);
  free(times.submit_ns);
  return exit_code;
}

int weir__replay_open(weir__replay *run) {
  const weir__replay_options *options = run->options;
  bool own_memory = strncmp(options->device, "cuda", 4) == 0 || strncmp(options->device, "vulkan", 6) == 0 ||
                    strncmp(options->device, "opencl", 6) == 0;
  bool address = options->hazards == WEIR__PLAN_ADDRESS;
  bool task_by_task = options->issue == WEIR__REPLAY_SERIAL || options->issue == WEIR__REPLAY_QUEUES;
  // An address space that has memory, on a device with memory of its own, is never renamed either.
  bool rename = options->rename == WEIR__REPLAY_ON && !(own_memory && address);
  weir_context_options context_options = {
      .devices = options->device,
      .window = (uint32_t)options->window,
      .queues = options->hazards == WEIR__PLAN_SERIAL ? 1 : (uint32_t)options->queues,
      .memory_limit = options->memory,
      .issue = task_by_task                              ? WEIR_ISSUE_QUEUES
               : options->issue == WEIR__REPLAY_RESIDENT ? WEIR_ISSUE_RESIDENT
                                                         : WEIR_ISSUE_AUTO,
      .flags = (rename ? 0u : WEIR_CONTEXT_NO_RENAME) | (run->trace ? WEIR_CONTEXT_TRACE : 0u) |
               (options->hazards == WEIR__PLAN_SERIAL ? WEIR_CONTEXT_IN_ORDER : 0u) |
               (options->issue == WEIR__REPLAY_REPEATS ? WEIR_CONTEXT_REPEATS : 0u),
  };
  weir_status status = weir_context_create(&context_options, &run->context);
  if (status != WEIR_OK) return weir__replay_failed(run, status, NULL);
  run->device = weir_context_device(run->context, 0);
  run->buffers = calloc((size_t)run->stream->buffer_count + 1, sizeof(*run->buffers));
  run->args = calloc(WEIR_MAX_ARGS, sizeof *run->args);
  if (!run->buffers || !run->args) return weir__replay_no_memory(run);
  int exit_code = weir__replay_create_kernels(run, false, &run->kernels);
  if (exit_code == WEIR__EXIT_OK && address) exit_code = weir__replay_create_address_space(run);
  return exit_code;
}

void weir__replay_close(weir__replay *run) {
  weir_context_release(run->context); // with its buffers, kernels and graphs
  free(run->kernels.kernels);
  free(run->kernels.spin_ns);
  free(run->buffers);
  free(run->args);
}

static void read_statistics(const weir__replay *run, const weir_statistics *before, weir__replay_run *out_run) {
  weir_statistics now;
  weir_context_statistics(run->context, &now);
  snprintf(out_run->device, sizeof out_run->device, "%s", weir_device_information(run->device)->name);
  out_run->edges = weir__replay_by_graph(run->options) ? run->edges : now.edges - before->edges;
  out_run->renamed = now.renamed - before->renamed;
  out_run->repeated = now.repeated - before->repeated;
  out_run->window_waits = now.window_waits - before->window_waits;
  out_run->peak_bytes = now.peak_bytes;
  out_run->window = now.window;
}

int weir__replay_save_trace(const weir__replay *run, const char *path) {
  if (!path) return WEIR__EXIT_OK;
  char title[256];
  snprintf(title, sizeof title, "%s on %s, hazards by %s", run->stream->name,
           weir_device_information(run->device)->name,
           run->options->hazards == WEIR__PLAN_SERIAL ? "order (serial)"
                                                      : weir__plan_mode_name((weir__plan_mode)run->options->hazards));
  weir_status status = weir_trace_save(run->context, path, title);
  return status == WEIR_OK ? WEIR__EXIT_OK : weir__replay_failed(run, status, NULL);
}

int weir__replay_run_stream(const weir__stream *stream, const weir__replay_options *options, const char *trace_path,
                            weir__replay_progress progress, void *user, weir__replay_run *out_run) {
  *out_run = (weir__replay_run){0};
  weir__replay run = {.stream = stream, .options = options, .trace = trace_path != NULL};
  weir_statistics before;
  int exit_code = weir__replay_open(&run);
  if (exit_code == WEIR__EXIT_OK) exit_code = meet(&run);
  if (exit_code == WEIR__EXIT_OK) {
    weir_context_statistics(run.context, &before);
    if (run.trace) weir_trace_clear(run.context); // of what came before the first pass
    exit_code = play(&run, progress, user, out_run);
  }
  if (exit_code == WEIR__EXIT_OK) read_statistics(&run, &before, out_run);
  if (exit_code == WEIR__EXIT_OK) exit_code = weir__replay_save_trace(&run, trace_path);
  weir__replay_close(&run);
  return exit_code;
}
