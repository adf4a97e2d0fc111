// SPDX-License-Identifier: Apache-2.0
//
// `weir bench`: runs the benchmarks and prints their results.
#include <string.h>

#include "bench_report.h"
#include "cli.h"

typedef struct benchmark {
  const char *name;
  int (*run)(const weir__bench_options *options, weir__bench_report *report);
  bool takes_device;
} benchmark;

static const benchmark benchmarks[] = {
    {"submit", weir__bench_submit, false},    {"forms", weir__bench_forms, true},
    {"ranges", weir__bench_ranges, false},    {"overhead", weir__bench_overhead, false},
    {"metg", weir__bench_metg, false},        {"parallelism", weir__bench_parallelism, false},
    {"tasks", weir__bench_tasks, true},       {"sequences", weir__bench_sequences, true},
    {"copies", weir__bench_copies, true},     {"barriers", weir__bench_barriers, false},
    {"pipeline", weir__bench_pipeline, true}, {"wait", weir__bench_wait, false},
};

enum { BENCHMARK_COUNT = sizeof(benchmarks) / sizeof(*benchmarks), DEFAULT_RUNS = 5, QUICK_RUNS = 1 };

static const char summary[] =
    "Measures Weir, side by side with other runtimes in the same run. Without NAME, all of:\n"
    "  submit       submission with hazard detection, nothing executed (ns per task)\n"
    "  forms        each form of submission, empty tasks run by workers: time in calls, and in all (ns per task)\n"
    "  ranges       submission on random byte ranges of one buffer, and far ahead of execution\n"
    "  overhead     empty tasks end to end on 2 CPU workers, and a recorded graph replayed\n"
    "  metg         smallest task that keeps 50 % efficiency, as Task Bench defines it, on 2 workers\n"
    "  parallelism  parallelism of the sample streams against the size of the window\n"
    "  tasks        tasks that run nothing, in six patterns, on one device (ns per task)\n"
    "  sequences    a recorded sequence of 1000 small tasks: recorded, evaluated again, changed (us, ns per task)\n"
    "  copies       copies between pinned memory and a CUDA device, beside those of the driver (GB/s)\n"
    "  barriers     barriers of the sample streams: how many, estimated cost, time to plan (ns per dispatch)\n"
    "  pipeline     pipelines: cost of a stage, three workloads as streams of jobs (us per job), their latency\n"
    "  wait         one task submitted and waited for, by each way to wait, beside a busy core, too (us)";

static const char details[] =
    "Each line gives median, minimum and maximum of its runs; \"weir/this\" is Weir's median by the line's.\n"
    "Programs of the runtimes (weir-bench-NAME) are looked for next to weir; peers that are missing are named.\n"
    "JSON: [{bench, case, runtime, unit, median, min, max, runs}].\n"
    "Exit codes: 0 done, 1 a runtime failed or its result was not that of serial execution, 2 bad usage,\n"
    "3 Weir's own benchmark program, or the device, is missing.";

static int find_benchmark(const char *name) {
  for (int i = 0; i < BENCHMARK_COUNT; i++) {
    if (strcmp(benchmarks[i].name, name) == 0) return i;
  }
  weir__cli_error("bench", "there is no benchmark \"%s\"; `weir bench --help` lists them", name);
  return -1;
}

int weir__bench_main(int argc, char **argv) {
  bool as_json = false, quick = false;
  const char *device = NULL;
  uint64_t runs = 0;
  const weir__cli_option options[] = {
      {"json", WEIR__CLI_FLAG, &as_json, NULL, "print JSON", 0, 0},
      {"device", WEIR__CLI_TEXT, &device, "NAME",
       "for forms, tasks and sequences (default cpu), copies (default cuda) and pipeline (default cpu:2);\n"
       "others take none",
       0, 0},
      {"runs", WEIR__CLI_COUNT, &runs, "N", "measurements of each case (default 5; with --quick 1)", 1, 1000},
      {"quick", WEIR__CLI_FLAG, &quick, NULL, "small counts, to see that all works; times say little", 0, 0},
  };
  const weir__cli_command command = {
      .name = "bench",
      .arguments = "[NAME...]",
      .summary = summary,
      .details = details,
      .options = options,
      .option_count = sizeof(options) / sizeof(*options),
      .most_arguments = SIZE_MAX,
  };
  char **names;
  size_t count;
  int exit_code;
  if (!weir__cli_parse(&command, argc, argv, &names, &count, &exit_code)) return exit_code;
  bool chosen[BENCHMARK_COUNT] = {false};
  for (size_t i = 0; i < count; i++) {
    int index = find_benchmark(names[i]);
    if (index < 0) return WEIR__EXIT_USAGE;
    if (device && !benchmarks[index].takes_device) {
      weir__cli_error("bench", "--device: %s takes no device", names[i]);
      return WEIR__EXIT_USAGE;
    }
    chosen[index] = true;
  }

  weir__bench_report *report = weir__bench_report_create();
  if (!report) {
    weir__cli_error("bench", "no memory for the results");
    return WEIR__EXIT_FAILED;
  }
  if (runs == 0) runs = quick ? QUICK_RUNS : DEFAULT_RUNS;
  int result = WEIR__EXIT_OK;
  for (int i = 0; i < BENCHMARK_COUNT; i++) {
    const weir__bench_options bench_options = {
        .runs = (uint32_t)runs, .quick = quick, .named = chosen[i], .device = device};
    int ended = chosen[i] || count == 0 ? benchmarks[i].run(&bench_options, report) : WEIR__EXIT_OK;
    if (ended != WEIR__EXIT_OK && result != WEIR__EXIT_FAILED) result = ended;
  }
  int printed = weir__bench_report_print(report, as_json);
  weir__bench_report_destroy(report);
  return result != WEIR__EXIT_OK ? result : printed;
}
