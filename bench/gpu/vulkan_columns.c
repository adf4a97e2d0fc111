// SPDX-License-Identifier: Apache-2.0
#include "vulkan_columns.h"

#include <stdio.h>
#include <stdlib.h>

#include "vulkan_batches.h"

enum { CHUNK = 32 }; // dispatches in a submission of a first pass

vulkan_options options;

typedef struct column {
  const char *name, *title;
  vulkan_order order;
  bool by_buffer;
  uint32_t queues; // 0: all of the compute family
  bool chains;     // queues are chosen by chains
  uint32_t chunk;
  vulkan_pass pass;
} column;

// Names that begin with "first": with the time to record. What a plan costs to make is in none of them.
static const column columns[] = {
    {.name = "unordered", .title = "unordered", .order = VULKAN_UNORDERED, .queues = 1},
    {.name = "each", .title = "each", .order = VULKAN_EACH, .queues = 1},
    {.name = "order_address", .title = "order addr", .order = VULKAN_PROGRAM, .queues = 1},
    {.name = "order_buffer", .title = "order buf", .order = VULKAN_PROGRAM, .by_buffer = true, .queues = 1},
    {.name = "levels_address", .title = "levels addr", .order = VULKAN_LEVELS, .queues = 1},
    {.name = "levels_buffer", .title = "levels buf", .order = VULKAN_LEVELS, .by_buffer = true, .queues = 1},
    {.name = "balanced_address", .title = "balanced addr", .order = VULKAN_BALANCED, .queues = 1},
    {.name = "balanced_buffer", .title = "balanced buf", .order = VULKAN_BALANCED, .by_buffer = true, .queues = 1},
    {.name = "queues2_buffer", .title = "2 queues", .order = VULKAN_PROGRAM, .by_buffer = true, .queues = 2},
    {.name = "queues4_buffer", .title = "4 queues", .order = VULKAN_PROGRAM, .by_buffer = true, .queues = 4},
    {.name = "queues_buffer", .title = "all queues", .order = VULKAN_PROGRAM, .by_buffer = true},
    {.name = "queues_calls_buffer",
     .title = "all, calls",
     .order = VULKAN_PROGRAM,
     .by_buffer = true,
     .pass = VULKAN_BATCH_A_CALL},
    {.name = "chains_buffer", .title = "all, chains", .order = VULKAN_PROGRAM, .by_buffer = true, .chains = true},
    {.name = "queues_levels_buffer", .title = "all, levels", .order = VULKAN_LEVELS, .by_buffer = true},
    {.name = "queues_address", .title = "all, addr", .order = VULKAN_PROGRAM},
    {.name = "first_each",
     .title = "1st each",
     .order = VULKAN_EACH,
     .queues = 1,
     .chunk = CHUNK,
     .pass = VULKAN_AS_RECORDED},
    {.name = "first_order_buffer",
     .title = "1st order",
     .order = VULKAN_PROGRAM,
     .by_buffer = true,
     .queues = 1,
     .chunk = CHUNK,
     .pass = VULKAN_AS_RECORDED},
    {.name = "first_levels_buffer",
     .title = "1st levels",
     .order = VULKAN_LEVELS,
     .by_buffer = true,
     .queues = 1,
     .chunk = CHUNK,
     .pass = VULKAN_AS_RECORDED},
    {.name = "first_whole_buffer",
     .title = "1st whole",
     .order = VULKAN_PROGRAM,
     .by_buffer = true,
     .queues = 1,
     .pass = VULKAN_RECORD_FIRST},
    {.name = "first_queues_buffer",
     .title = "1st queues",
     .order = VULKAN_PROGRAM,
     .by_buffer = true,
     .chunk = CHUNK,
     .pass = VULKAN_AS_RECORDED},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct result {
  bool measured;
  uint32_t queues, barriers, semaphores, submissions;
  gpu_stat pass, record; // microseconds: a pass; to record a dispatch
} result;

typedef struct pass_state {
  vulkan_batches *batches;
  uint32_t dispatches;
  vulkan_pass pass;
} pass_state;

// Takes `options.runs` samples after one that does not count.
static gpu_stat sample(double (*once)(void *argument), void *argument) {
  double samples[VULKAN_MOST_RUNS];
  once(argument);
  for (uint32_t run = 0; run < options.runs; run++) samples[run] = once(argument);
  return gpu_statistics(samples, options.runs);
}

static double pass_once(void *argument) {
  const pass_state *state = argument;
  return vulkan_batches_run(state->batches, state->pass);
}

static double record_once(void *argument) {
  const pass_state *state = argument;
  double start = gpu_now_us();
  vulkan_batches_record(state->batches);
  return (gpu_now_us() - start) / state->dispatches;
}

static result measure(const vulkan_program *program, const column *what) {
  result out = {.queues = what->queues > 0 ? what->queues : card.compute->queue_count};
  if (out.queues > card.compute->queue_count || (what->queues == 0 && out.queues == 1)) return out;
  weir__barrier_plan plan;
  vulkan_plan(program, what->by_buffer ? &program->recorded.buffer : &program->recorded.address, what->order,
              out.queues, what->chains, &plan);
  pass_state state = {.batches = vulkan_batches_create(program, &plan, card.compute, what->chunk),
                      .dispatches = program->recorded.count,
                      .pass = what->pass};
  out.measured = true;
  out.barriers = plan.barriers;
  out.semaphores = plan.waits;
  out.submissions = vulkan_batches_count(state.batches);
  out.pass = sample(pass_once, &state);
  out.record = sample(record_once, &state);
  vulkan_batches_destroy(state.batches);
  weir__barrier_plan_free(&plan);
  return out;
}

static void print_json_row(const gpu_program *program, const result results[COLUMNS], bool first) {
  printf("%s\n {\"stream\": \"%s\", \"tasks\": %u, \"kernels\": %u, \"kernel_us\": %.1f, \"limit_us\": %.1f, "
         "\"columns\": {",
         first ? "" : ",", program->name, program->task_count, program->count, program->kernel_us, program->limit_us);
  bool none = true;
  for (int c = 0; c < COLUMNS; c++) {
    const result *cell = &results[c];
    if (!cell->measured) continue;
    printf("%s\n  \"%s\": {\"us\": {\"median\": %.1f, \"p10\": %.1f, \"p90\": %.1f}, \"queues\": %u, \"barriers\": %u, "
           "\"waits\": %u, \"submissions\": %u, \"record_us\": {\"median\": %.3f, \"p10\": %.3f, \"p90\": %.3f}}",
           none ? "" : ",", columns[c].name, cell->pass.median, cell->pass.low, cell->pass.high, cell->queues,
           cell->barriers, cell->semaphores, cell->submissions, cell->record.median, cell->record.low,
           cell->record.high);
    none = false;
  }
  printf("}}");
}

static void print_head(void) {
  printf("\nA pass from submission until seen, us; +- half of p90 - p10; below: barriers, semaphore waits, "
         "submissions; us of "
         "host time to record a dispatch\n%-14s %6s",
         "stream", "limit");
  for (int c = 0; c < COLUMNS; c++) printf(" %12s", columns[c].title);
  printf("\n");
}

static void print_row(const gpu_program *program, const result results[COLUMNS]) {
  printf("%-14s %6.0f", program->name, program->limit_us);
  for (int c = 0; c < COLUMNS; c++) {
    if (results[c].measured)
      printf(" %7.0f +-%2.0f%%", results[c].pass.median,
             50 * (results[c].pass.high - results[c].pass.low) / results[c].pass.median);
    else
      printf(" %12s", "-");
  }
  printf("\n%-21s", "");
  for (int c = 0; c < COLUMNS; c++) {
    char text[32];
    snprintf(text, sizeof text, "%u %u %u", results[c].barriers, results[c].semaphores, results[c].submissions);
    printf(" %12s", results[c].measured ? text : "");
  }
  printf("\n%-21s", "");
  for (int c = 0; c < COLUMNS; c++) {
    char text[32];
    snprintf(text, sizeof text, "%.2f", results[c].record.median);
    printf(" %12s", results[c].measured ? text : "");
  }
  printf("\n");
  fflush(stdout);
}

void vulkan_columns(const char *const *paths, uint32_t count) {
  if (options.json)
    printf("\"streams\": [");
  else
    print_head();
  for (uint32_t p = 0; p < count; p++) {
    vulkan_program program;
    result results[COLUMNS];
    vulkan_program_read(paths[p], options.quick, &program);
    for (int c = 0; c < COLUMNS; c++) results[c] = measure(&program, &columns[c]);
    if (options.json)
      print_json_row(&program.recorded, results, p == 0);
    else
      print_row(&program.recorded, results);
    vulkan_program_free(&program);
  }
  if (options.json) printf("\n]");
}
