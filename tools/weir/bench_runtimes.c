// SPDX-License-Identifier: Apache-2.0
//
// The benchmarks that are measured by programs of their own: submit, forms, ranges, overhead, metg, wait, pipeline.
#include <stdio.h>

#include "bench_programs.h"
#include "cli.h"

enum { MAX_LAUNCHES = 8 };

// The worse of two exit codes: a failure counts more than what the machine lacks.
static int worse(int left, int right) {
  if (left == WEIR__EXIT_FAILED || right == WEIR__EXIT_OK) return left;
  return right;
}

int weir__bench_submit(const weir__bench_options *options, weir__bench_report *report) {
  const char *tasks = options->quick ? "20000" : "1000000";
  const weir__bench_launch launches[] = {
      {&weir__bench_weir, {"submit", "renaming", "--tasks", tasks}},
      {&weir__bench_weir, {"submit", "no renaming", "--tasks", tasks}},
      {&weir__bench_weir, {"submit", "many", "--tasks", tasks}},
      {&weir__bench_weir, {"submit", "prepared", "--tasks", tasks}},
      {&weir__bench_weir, {"submit", "prepared many", "--tasks", tasks}},
      {&weir__bench_weir, {"submit", "bare lists", "--tasks", tasks}},
  };
  return weir__bench_run_programs("submit", launches, sizeof launches / sizeof *launches, options->runs, report);
}

int weir__bench_forms(const weir__bench_options *options, weir__bench_report *report) {
  static const char *const forms[] = {"submit", "many", "prepared", "prepared many", "trace cache", "recorded graph"};
  enum { FORMS = sizeof forms / sizeof *forms };
  weir__bench_launch launches[FORMS];
  for (size_t i = 0; i < FORMS; i++) {
    launches[i] = (weir__bench_launch){&weir__bench_weir,
                                       {"forms", forms[i], "--device", options->device ? options->device : "cpu",
                                        "--passes", options->quick ? "10" : "1000"}};
  }
  return weir__bench_run_programs("forms", launches, FORMS, options->runs, report);
}

int weir__bench_ranges(const weir__bench_options *options, weir__bench_report *report) {
  static const char *const segments[] = {"1024", "2048", "4096", "8192", "16384", "32768", "65536"};
  weir__bench_launch launches[7];
  size_t count = options->quick ? 2 : 7;
  for (size_t i = 0; i < count; i++) {
    launches[i] = (weir__bench_launch){
        &weir__bench_weir,
        {"ranges", "live", "--segments", segments[i], "--tasks", options->quick ? "20000" : "1000000"}};
  }
  int live = weir__bench_run_programs("ranges", launches, count, options->runs, report);
  const char *tasks = options->quick ? "16384" : "1048576";
  const weir__bench_launch ahead[] = {
      {&weir__bench_weir, {"ranges", "ahead", "--tasks", tasks}},
      {&weir__bench_weir_plain, {"ranges", "ahead", "--tasks", tasks}},
  };
  int result = worse(live, weir__bench_run_programs("ranges", ahead, 2, options->runs, report));
  const char *passes = options->quick ? "1" : "10";
  const weir__bench_launch tiles[] = {
      {&weir__bench_weir, {"tiles", "stencil", "--passes", passes}},
      {&weir__bench_weir, {"tiles", "wavefront", "--passes", passes}},
  };
  return worse(result, weir__bench_run_programs("ranges", tiles, 2, options->runs, report));
}

// Measures one case for Weir, Weir without renaming (unless `renaming_only`), and all peers.
static int compare(const char *bench, const char *case_name, const char *count_option, const char *count,
                   bool renaming_only, uint32_t runs, weir__bench_report *report) {
  weir__bench_launch launches[MAX_LAUNCHES];
  size_t launch_count = 0;
  launches[launch_count++] = (weir__bench_launch){&weir__bench_weir, {bench, case_name, count_option, count}};
  if (!renaming_only) {
    launches[launch_count++] = (weir__bench_launch){&weir__bench_weir_plain, {bench, case_name, count_option, count}};
  }
  for (size_t i = 0; i < weir__bench_peer_count; i++) {
    launches[launch_count++] = (weir__bench_launch){&weir__bench_peers[i], {bench, case_name, count_option, count}};
  }
  return weir__bench_run_programs(bench, launches, launch_count, runs, report);
}

int weir__bench_overhead(const weir__bench_options *options, weir__bench_report *report) {
  const char *tasks = options->quick ? "2000" : "100000";
  int result = compare("overhead", "independent", "--tasks", tasks, true, options->runs, report);
  result = worse(result, compare("overhead", "chain", "--tasks", tasks, true, options->runs, report));
  result = worse(result, compare("overhead", "random", "--tasks", tasks, false, options->runs, report));
  const weir__bench_launch replays[] = {
      {&weir__bench_weir, {"overhead", "replay", "--tasks", tasks}},
      {&weir__bench_peers[0], {"overhead", "replay", "--tasks", tasks}},
  };
  return worse(result, weir__bench_run_programs("overhead", replays, 2, options->runs, report));
}

int weir__bench_metg(const weir__bench_options *options, weir__bench_report *report) {
  static const char *const patterns[] = {"trivial", "stencil_1d", "fft", "nearest", "random_nearest", "tree", "sweep"};
  int result = WEIR__EXIT_OK;
  for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
    const char *steps = options->quick ? "50" : "1000";
    result = worse(result, compare("metg", patterns[i], "--steps", steps, true, options->runs, report));
  }
  return result;
}

int weir__bench_wait(const weir__bench_options *options, weir__bench_report *report) {
  static const char *const lengths[] = {"0", "2", "20", "100"}, *const ways[] = {"event", "finish", "read"};
  static const char *const devices[] = {"cpu", "cpu:1"}, *const busy[] = {"0", "1"};
  const char *tasks = options->quick ? "20" : "2000";
  int result = WEIR__EXIT_OK;
  for (size_t i = 0; i < 8; i++) {
    const char *us = lengths[i / 2], *beside = busy[i % 2];
    weir__bench_launch launches[MAX_LAUNCHES];
    size_t count = 0;
    for (size_t j = 0; j < 6; j++)
      launches[count++] = (weir__bench_launch){
          &weir__bench_weir,
          {"wait", us, "--way", ways[j / 2], "--device", devices[j % 2], "--tasks", tasks, "--busy", beside}};
    for (size_t peer = 1; peer <= 2; peer++) // those of OpenMP
      launches[count++] =
          (weir__bench_launch){&weir__bench_peers[peer], {"wait", us, "--tasks", tasks, "--busy", beside}};
    result = worse(result, weir__bench_run_programs("wait", launches, count, options->runs, report));
  }
  return result;
}

int weir__bench_pipeline(const weir__bench_options *options, weir__bench_report *report) {
  static const char *const parts[] = {"stages", "jobs", "latency"};
  weir__bench_launch launches[3] = {{0}};
  for (size_t i = 0; i < 3; i++) {
    launches[i] =
        (weir__bench_launch){&weir__bench_pipelines,
                             {"--part", parts[i], "--samples", "--rounds", "1", "--device",
                              options->device ? options->device : "cpu:2", options->quick ? "--quick" : NULL}};
  }
  return weir__bench_run_programs("pipeline", launches, 3, options->runs, report);
}
