// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline costs per token and stage, beside oneTBB's parallel_pipeline in the same run. Four stages.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "parts.h"
#include "peer.h"
#include "results.h"
#include "weir/pipeline.h"

enum { STAGES = 4, TOKENS = 200000, QUICK_TOKENS = 2000 };

// What a row runs.
typedef struct bench_row {
  const char *name;
  bool parallel; // the two stages in the middle
  bool tasks;    // each stage submits one
  bool times;
  bench_load load;
  double tokens; // of those asked for
} bench_row;

typedef struct weir_run {
  uint64_t left; // tokens that the source has to make
  const bench_row *row;
  weir_buffer *buffers[64]; // by line
  weir_kernel *kernel;
} weir_run;

static void need(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "weir-bench-pipeline: %s\n", weir_last_error());
  exit(1);
}

static void add_one(const weir_work *work) {
  uint64_t *cell = work->args[0];
  *cell += 1;
}

static weir_status work_stage(weir_token *token) {
  const weir_run *run = token->user;
  bench_work(&run->row->load);
  if (!run->row->tasks) return WEIR_OK;
  weir_arg arg = weir_updates(run->buffers[token->line]);
  weir_task task = {.kernel = run->kernel, .args = &arg, .arg_count = 1};
  return weir_token_submit(token, &task);
}

static weir_status source_stage(weir_token *token) {
  weir_run *run = token->user;
  if (run->left == 0) return weir_token_end_input(token);
  run->left--;
  return work_stage(token);
}

static double measure_weir(weir_context *context, const bench_settings *settings, const bench_row *row,
                           uint64_t tokens) {
  weir_run run = {.row = row};
  uint32_t middle = row->parallel ? WEIR_STAGE_PARALLEL : WEIR_STAGE_SERIAL;
  weir_stage stages[STAGES] = {{.function = source_stage, .user = &run, .name = "source"},
                               {.function = work_stage, .user = &run, .flags = middle, .name = "first"},
                               {.function = work_stage, .user = &run, .flags = middle, .name = "second"},
                               {.function = work_stage, .user = &run, .name = "end"}};
  need(weir_kernel_create(context, "add", &run.kernel));
  need(weir_kernel_set_cpu(run.kernel, add_one));
  for (uint32_t i = 0; i < settings->lines; i++) {
    uint64_t zero = 0;
    need(weir_buffer_create(context, sizeof zero, &run.buffers[i]));
    need(weir_fill(run.buffers[i], 0, WEIR_WHOLE, 0, NULL));
  }
  need(weir_finish(context));
  weir_pipeline *pipeline;
  need(weir_pipeline_create(context,
                            &(weir_pipeline_options){.stages = stages,
                                                     .stage_count = STAGES,
                                                     .lines = settings->lines,
                                                     .threads = settings->workers,
                                                     .flags = row->times ? WEIR_PIPELINE_TIMES : 0},
                            &pipeline));
  run.left = tokens / 10 + 1;
  need(weir_pipeline_run(pipeline, WEIR_FOREVER)); // warm
  run.left = tokens;
  double start = weir__bench_seconds();
  need(weir_pipeline_run(pipeline, WEIR_FOREVER));
  double seconds = weir__bench_seconds() - start;
  need(weir_pipeline_release(pipeline));
  for (uint32_t i = 0; i < settings->lines; i++) need(weir_buffer_release(run.buffers[i]));
  need(weir_kernel_release(run.kernel));
  return seconds * 1e9 / (double)tokens / STAGES;
}

#ifdef WEIR_BENCH_TBB
static double measure_tbb(const bench_settings *settings, const bench_row *row, uint64_t tokens) {
  bench_tbb_start((int)settings->workers);
  bench_tbb_run(tokens / 10 + 1, settings->lines, row->parallel, &row->load);
  double start = weir__bench_seconds();
  bench_tbb_run(tokens, settings->lines, row->parallel, &row->load);
  double seconds = weir__bench_seconds() - start;
  bench_tbb_stop();
  return seconds * 1e9 / (double)tokens / STAGES;
}
#endif

static void print_value(const bench_settings *settings, double value) {
  if (isnan(value)) {
    bench_print(settings, " %12s", "-");
  } else {
    bench_print(settings, " %12.1f", value);
  }
}

static void measure_row(weir_context *context, const bench_settings *settings, const bench_row *row) {
  double weir[BENCH_MOST_ROUNDS] = {0}, tbb[BENCH_MOST_ROUNDS] = {0};
  uint64_t asked = settings->tokens ? settings->tokens : settings->quick ? QUICK_TOKENS : TOKENS;
  uint64_t tokens = (uint64_t)((double)asked * row->tokens) + 1;
  bool beside = false;
  for (uint32_t round = 0; round < settings->rounds; round++) {
    weir[round] = measure_weir(context, settings, row, tokens);
#ifdef WEIR_BENCH_TBB
    if (!row->tasks) {
      tbb[round] = measure_tbb(settings, row, tokens);
      beside = true;
    }
#endif
  }
  bench_add(settings, "stages", row->name, "weir", "ns/stage", weir, settings->rounds);
  if (beside) bench_add(settings, "stages", row->name, "oneTBB", "ns/stage", tbb, settings->rounds);
  bench_spread here = bench_spread_of(weir, settings->rounds);
  double there = beside ? bench_spread_of(tbb, settings->rounds).median : NAN;
  bench_print(settings, "%-44s", row->name);
  print_value(settings, here.median);
  print_value(settings, here.least);
  print_value(settings, here.most);
  print_value(settings, there);
  print_value(settings, there / here.median);
  bench_print(settings, "\n");
}

int bench_stages(const bench_settings *settings) {
  char devices[32];
  snprintf(devices, sizeof devices, "cpu:%u", settings->workers);
  weir_context *context;
  need(weir_context_create(&(weir_context_options){.devices = devices}, &context));
  bench_print(settings, "Stages: ns per token and stage: %d stages, %u lines, %u workers, medians of %u rounds\n",
              STAGES, settings->lines, settings->workers, settings->rounds);
#ifndef WEIR_BENCH_TBB
  bench_add_missing(settings, "oneTBB", "the build found no libtbb-dev or no C++ compiler");
#endif
  bench_print(settings, "%-44s %12s %12s %12s %12s %12s\n", "stages", "Weir", "least", "most", "oneTBB", "oneTBB/Weir");
  const bench_row rows[BENCH_STAGE_ROWS] = {
      {.name = "empty, all serial", .tokens = 1},
      {.name = "empty, two of them parallel", .parallel = true, .tokens = 1},
      {.name = "empty, all serial, with times", .times = true, .tokens = 1},
      {.name = "10000 rounds of a loop, all serial", .load = {10000}, .tokens = 0.02},
      {.name = "10000 rounds of a loop, two parallel", .parallel = true, .load = {10000}, .tokens = 0.02},
      {.name = "one task each on the CPU, two parallel", .parallel = true, .tasks = true, .tokens = 0.2},
  };
  for (uint32_t i = 0; i < BENCH_STAGE_ROWS; i++) {
    if (settings->row == 0 || settings->row == i + 1) measure_row(context, settings, &rows[i]);
  }
  weir_context_release(context);
  return BENCH_OK;
}
