// SPDX-License-Identifier: Apache-2.0
//
// `weir bench tasks`: what a task costs that runs nothing, in the patterns of Task Bench. A row of points is computed
// step by step, two buffers per point in turns; each task overwrites its point and reads some of the row before.
#include <string.h>

#include "base/clock.h"
#include "bench.h"
#include "cli.h"
#include "weir/cuda.h"
#include "weir/sim.h"

enum { WIDTH = 16, FFT_LEVELS = 4, MAX_INPUTS = 3, SAMPLES = 1000, TASKS = 100000, QUICK_TASKS = 2000 };

typedef struct grid {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[2][WIDTH];
} grid;

// The points that a task reads of the row before; those that do not exist are left out by the caller.
typedef uint32_t (*pattern_function)(uint32_t step, uint32_t point, int64_t out_points[MAX_INPUTS]);

static uint32_t trivial(uint32_t step, uint32_t point, int64_t out_points[MAX_INPUTS]) {
  (void)step, (void)point, (void)out_points;
  return 0;
}

static uint32_t stencil(uint32_t step, uint32_t point, int64_t out_points[MAX_INPUTS]) {
  (void)step;
  for (int64_t i = 0; i < 3; i++) out_points[i] = point - 1 + i;
  return 3;
}

static uint32_t fft(uint32_t step, uint32_t point, int64_t out_points[MAX_INPUTS]) {
  int64_t distance = 1 << step % FFT_LEVELS;
  for (int64_t i = 0; i < 3; i++) out_points[i] = point + (i - 1) * distance;
  return 3;
}

static uint32_t sweep(uint32_t step, uint32_t point, int64_t out_points[MAX_INPUTS]) {
  (void)step;
  out_points[0] = (int64_t)point - 1;
  out_points[1] = point;
  return 2;
}

static uint32_t tree(uint32_t step, uint32_t point, int64_t out_points[MAX_INPUTS]) {
  (void)step;
  out_points[0] = point / 2;
  return 1;
}

// Two different points, the same in each run.
static uint32_t random_points(uint32_t step, uint32_t point, int64_t out_points[MAX_INPUTS]) {
  uint64_t bits = ((uint64_t)step * WIDTH + point + 1) * 0x9E3779B97F4A7C15u;
  bits = (bits ^ (bits >> 31)) * 0xBF58476D1CE4E5B9u;
  out_points[0] = (int64_t)(bits >> 60);
  out_points[1] = (out_points[0] + 1 + (int64_t)((bits >> 32) % (WIDTH - 1))) % WIDTH;
  return 2;
}

static const struct {
  const char *name;
  pattern_function inputs;
} patterns[] = {{"trivial", trivial}, {"stencil", stencil}, {"fft", fft},
                {"sweep", sweep},     {"tree", tree},       {"random", random_points}};

static void nothing(const weir_work *work) {
  (void)work;
}

static weir_status set_code(weir_kernel *kernel, const char *kind) {
  if (strcmp(kind, "cuda") == 0) return weir_kernel_set_cuda(kernel, NULL, NULL, 0);
  if (strcmp(kind, "sim") == 0) return weir_kernel_set_sim(kernel, &(weir_sim_launch){.blocks = 1, .threads = 1}, 1);
  return weir_kernel_set_cpu(kernel, nothing);
}

static weir_status create(const char *device, grid *out_rows) {
  *out_rows = (grid){0};
  weir_status status = weir_context_create(&(weir_context_options){.devices = device}, &out_rows->context);
  if (status == WEIR_OK) status = weir_kernel_create(out_rows->context, "empty", &out_rows->kernel);
  if (status == WEIR_OK) {
    status = set_code(out_rows->kernel, weir_device_information(weir_context_device(out_rows->context, 0))->kind);
  }
  for (uint32_t i = 0; i < 2 * WIDTH && status == WEIR_OK; i++) {
    status = weir_buffer_create(out_rows->context, 64, &out_rows->buffers[i / WIDTH][i % WIDTH]);
  }
  return status;
}

// Submits `count` tasks and waits until all are done.
static weir_status run(const grid *rows, pattern_function inputs, uint32_t count, double *out_ns_per_task) {
  weir_status status = WEIR_OK;
  uint64_t start = weir__clock_ns();
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++) {
    uint32_t step = i / WIDTH, point = i % WIDTH, arg_count = 0;
    int64_t points[MAX_INPUTS];
    weir_arg args[MAX_INPUTS + 1];
    uint32_t input_count = step > 0 ? inputs(step, point, points) : 0;
    for (uint32_t p = 0; p < input_count; p++) {
      if (points[p] < 0 || points[p] >= WIDTH) continue;
      args[arg_count++] = weir_reads(rows->buffers[(step + 1) % 2][points[p]]);
    }
    args[arg_count++] = weir_writes(rows->buffers[step % 2][point]);
    status =
        weir_submit(rows->context, &(weir_task){.kernel = rows->kernel, .args = args, .arg_count = arg_count}, NULL);
  }
  if (status == WEIR_OK) status = weir_finish(rows->context);
  *out_ns_per_task = (double)(weir__clock_ns() - start) / count;
  return status;
}

static weir_status measure(const grid *rows, const weir__bench_options *options, weir__bench_report *report) {
  char runtime[80];
  snprintf(runtime, sizeof runtime, "weir, %s", weir_device_information(weir_context_device(rows->context, 0))->name);
  uint32_t tasks = options->quick ? QUICK_TASKS : TASKS;
  weir_status status = WEIR_OK;
  for (size_t p = 0; p < sizeof patterns / sizeof *patterns && status == WEIR_OK; p++) {
    double samples[SAMPLES], untimed;
    weir__bench_progress("tasks: %s", patterns[p].name);
    status = run(rows, patterns[p].inputs, tasks / 10, &untimed);
    for (uint32_t i = 0; i < options->runs && status == WEIR_OK; i++) {
      status = run(rows, patterns[p].inputs, tasks, &samples[i]);
    }
    if (status == WEIR_OK) {
      weir__bench_add(report, "tasks", patterns[p].name, runtime, "ns/task", samples, options->runs);
    }
  }
  return status;
}

int weir__bench_tasks(const weir__bench_options *options, weir__bench_report *report) {
  grid rows;
  weir_status status = create(options->device ? options->device : "cpu", &rows);
  if (status == WEIR_OK) status = measure(&rows, options, report);
  if (status != WEIR_OK) weir__cli_error("bench", "tasks: %s", weir_last_error());
  weir_context_release(rows.context);
  return weir__cli_exit_code(status);
}
