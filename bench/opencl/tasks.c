// SPDX-License-Identifier: Apache-2.0
#include "tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/opencl/driver.h"
#include "timing.h"

static const bench_way all_ways[] = {
    {"OpenCL, 1 in-order queue", BENCH_RAW, 1, false},
    {"OpenCL, 1 in-order queue, an event each", BENCH_RAW_EVENT, 1, false},
    {"OpenCL, 1 in-order queue, profiling", BENCH_RAW, 1, true},
    {"OpenCL, 1 in-order queue, an event each, profiling", BENCH_RAW_EVENT, 1, true},
    {"OpenCL, 2 in-order queues, event lists by hand", BENCH_RAW, 2, false},
    {"OpenCL, 8 in-order queues, event lists by hand", BENCH_RAW, 8, false},
    {"OpenCL, 1 out-of-order queue, event lists by hand", BENCH_RAW_ANY, 1, false},
    {"OpenCL, 1 out-of-order queue, event lists by hand, profiling", BENCH_RAW_ANY, 1, true},
    {"Weir, 1 queue", BENCH_WEIR, 1, false},
    {"Weir, 2 queues", BENCH_WEIR, 2, false},
    {"Weir, 8 queues", BENCH_WEIR, 8, false},
    {"Weir, its own number of queues", BENCH_WEIR, 0, false},
    {"Weir, its own number of queues, timeline", BENCH_WEIR, 0, true},
};
enum { WAYS = sizeof all_ways / sizeof all_ways[0] };

// Those that are wanted.
static bench_way ways[WAYS];
static int way_count;

static const char *const time_names[BENCH_TIMES] = {"submit_us", "total_us", "thread_cpu_us", "process_cpu_us"};

// NVIDIA's compiler removes loops that only count, and offers a clock.
const char bench_source[] = "#ifdef __NV_CL_C_VERSION\n"
                            "ulong ticks(void) {\n"
                            "  ulong now;\n"
                            "  asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(now));\n"
                            "  return now;\n"
                            "}\n"
                            "void take_time(uint rounds) {\n"
                            "  ulong start = ticks();\n"
                            "  while (ticks() - start < rounds) {\n"
                            "  }\n"
                            "}\n"
                            "#else\n"
                            "void take_time(uint rounds) {\n"
                            "  volatile uint count = 0;\n"
                            "  for (uint i = 0; i < rounds; i++) count = count * 3 + 1;\n"
                            "}\n"
                            "#endif\n"
                            "__kernel void work(__global uint *cell, __global const uint *a, __global const uint *b, "
                            "uint number, uint rounds) {\n"
                            "  if (rounds > 0) take_time(rounds);\n"
                            "  cell[0] = (a[0] * 31 + b[0]) * 17 + cell[0] * 7 + number;\n"
                            "}\n";

static double us_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

bench_clocks bench_start(void) {
  bench_clocks clocks = {{0}};
  clocks.start[BENCH_THREAD] = us_of(CLOCK_THREAD_CPUTIME_ID);
  clocks.start[BENCH_PROCESS] = us_of(CLOCK_PROCESS_CPUTIME_ID);
  clocks.start[BENCH_SUBMIT] = clocks.start[BENCH_TOTAL] = us_of(CLOCK_MONOTONIC);
  return clocks;
}

void bench_submitted(const bench_clocks *clocks, bench_result *out_result) {
  out_result->us[BENCH_SUBMIT] = us_of(CLOCK_MONOTONIC) - clocks->start[BENCH_SUBMIT];
  out_result->us[BENCH_THREAD] = us_of(CLOCK_THREAD_CPUTIME_ID) - clocks->start[BENCH_THREAD];
}

void bench_done(const bench_clocks *clocks, bench_result *out_result) {
  out_result->us[BENCH_TOTAL] = us_of(CLOCK_MONOTONIC) - clocks->start[BENCH_TOTAL];
  out_result->us[BENCH_PROCESS] = us_of(CLOCK_PROCESS_CPUTIME_ID) - clocks->start[BENCH_PROCESS];
}

const char *bench_driver_text(uint32_t device, char text[BENCH_DRIVER_BYTES]) {
  char reason[256];
  const weir__opencl_driver *driver = weir__opencl_driver_load(reason, sizeof reason);
  memset(text, 0, BENCH_DRIVER_BYTES);
  driver->clGetDeviceInfo(driver->devices[device].device, CL_DRIVER_VERSION, BENCH_DRIVER_BYTES - 1, text, NULL);
  return text;
}

bool bench_check(const bench_work *work, const uint32_t cells[CELLS], const char *what) {
  for (uint32_t i = 0; i < CELLS; i++) {
    if (cells[i] == work->expected[i]) continue;
    fprintf(stderr, "weir-bench-opencl: %s: cell %u is %u, not %u\n", what, i, cells[i], work->expected[i]);
    return false;
  }
  return true;
}

// The sequence, and what serial execution gives.
static void make(bench_task *tasks, uint32_t count, uint32_t cells[CELLS]) {
  uint64_t state = 1;
  for (uint32_t i = 0; i < CELLS; i++) cells[i] = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t drawn[3];
    for (int j = 0; j < 3; j++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      drawn[j] = (uint32_t)(state >> 33) % CELLS;
    }
    // A task's cells are different ones.
    while (drawn[1] == drawn[0]) drawn[1] = (drawn[1] + 1) % CELLS;
    while (drawn[2] == drawn[0] || drawn[2] == drawn[1]) drawn[2] = (drawn[2] + 1) % CELLS;
    tasks[i] = (bench_task){{drawn[0], drawn[1]}, drawn[2]};
    cells[drawn[2]] = bench_mix(cells[drawn[0]], cells[drawn[1]], cells[drawn[2]], i);
  }
}

static void print_case(const bench_work *work, gpu_stat stats[WAYS][BENCH_TIMES], bool json, bool last) {
  if (!json) {
    printf(
        "| %u tasks that count to %u; us a task | to submit | 10 to 90 %% | in all | CPU, submitter | CPU, process |\n"
        "|---|--:|--:|--:|--:|--:|\n",
        work->count, work->rounds);
    for (int way = 0; way < way_count; way++) {
      const gpu_stat *times = stats[way];
      printf("| %s | %.2f | %.2f to %.2f | %.2f | %.2f | %.2f |\n", ways[way].name, times[BENCH_SUBMIT].median,
             times[BENCH_SUBMIT].low, times[BENCH_SUBMIT].high, times[BENCH_TOTAL].median, times[BENCH_THREAD].median,
             times[BENCH_PROCESS].median);
    }
    printf("\n");
    return;
  }
  printf(" {\"tasks\": %u, \"rounds\": %u, \"ways\": [\n", work->count, work->rounds);
  for (int way = 0; way < way_count; way++) {
    printf("  {\"way\": \"%s\"", ways[way].name);
    for (int i = 0; i < BENCH_TIMES; i++)
      printf(", \"%s\": {\"median\": %.3f, \"p10\": %.3f, \"p90\": %.3f}", time_names[i], stats[way][i].median,
             stats[way][i].low, stats[way][i].high);
    printf("}%s\n", way + 1 < way_count ? "," : "");
  }
  printf(" ]}%s\n", last ? "" : ",");
}

static bool measure(uint32_t device, const bench_work *work, uint32_t runs, bool json, bool last) {
  static double samples[WAYS][BENCH_TIMES][BENCH_MOST_RUNS];
  static gpu_stat stats[WAYS][BENCH_TIMES];
  for (uint32_t run = 0; run <= runs; run++) { // the first is not counted
    for (int way = 0; way < way_count; way++) {
      bench_result result;
      bool good = ways[way].kind == BENCH_WEIR ? bench_weir(device, work, &ways[way], &result)
                                               : bench_raw(device, work, &ways[way], &result);
      if (!good) return false;
      for (int i = 0; i < BENCH_TIMES && run > 0; i++) samples[way][i][run - 1] = result.us[i] / work->count;
    }
  }
  for (int way = 0; way < way_count; way++) {
    for (int i = 0; i < BENCH_TIMES; i++) stats[way][i] = gpu_statistics(samples[way][i], runs);
  }
  print_case(work, stats, json, last);
  return true;
}

int bench_tasks(uint32_t device, uint32_t count, uint32_t runs, const char *named, bool json) {
  char reason[256];
  const weir__opencl_listed *listed = &weir__opencl_driver_load(reason, sizeof reason)->devices[device];
  char version[BENCH_DRIVER_BYTES];
  uint32_t cells[CELLS];
  bench_task *tasks = gpu_memory(count, sizeof *tasks);
  bench_work work = {.tasks = tasks, .count = count, .expected = cells};
  make(tasks, count, cells);
  for (int i = 0; i < WAYS; i++) {
    if (strstr(all_ways[i].name, named) != NULL) ways[way_count++] = all_ways[i];
  }
  if (json)
    printf("{\"device\": \"%s\", \"platform\": \"%s\", \"driver\": \"%s\", \"runs\": %u, \"cases\": [\n", listed->name,
           listed->platform_name, bench_driver_text(device, version), runs);
  else
    printf("%s, %s, %s; medians of %u runs\n\n", listed->name, listed->platform_name,
           bench_driver_text(device, version), runs);
  bool good = measure(device, &work, runs, json, false);
  work.rounds = 10000;
  work.count = count / 10 + 1;
  make(tasks, work.count, cells);
  good = good && measure(device, &work, runs, json, true);
  if (json) printf("]}\n");
  free(tasks);
  return good ? 0 : 1;
}
