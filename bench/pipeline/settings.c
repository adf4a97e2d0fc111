// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "every_way.h"
#include "weir/pipeline.h"
#include "workloads.h"

const char *const bench_size_names[BENCH_SIZES] = {"10us", "100us", "1ms"};
const uint64_t bench_size_ns[BENCH_SIZES] = {10000, 100000, 1000000};
static const char *const parts[] = {"stages", "jobs", "latency"};

static const char help[] =
    "Usage: weir-bench-pipeline [OPTION...]\n"
    "\n"
    "Measures pipelines. Three parts:\n"
    "  stages   what a pipeline costs per token and stage on the CPU, beside oneTBB's\n"
    "  jobs     streams of equal jobs on a device: three workloads, three sizes, Weir's ways and baselines\n"
    "  latency  the same jobs at a fixed rate of arrivals: time from a job's arrival to its result\n"
    "Every way's results are compared with the reference before it is timed. Rounds of all ways alternate; medians are "
    "given, with\n"
    "the least and the most. A way that cannot run is listed with its reason.\n"
    "\n"
    "  --part NAME      this part only (may be given more than once, as --workload, --size and --way)\n"
    "  --workload NAME  this workload only\n"
    "  --size SIZE      10us, 100us or 1ms: about that much time in a job's kernels, on the kind of device\n"
    "  --way NAME       this way only\n"
    "  --device NAME    of jobs and latency, as in weir_context_options: cpu:2 (default), opencl, cuda, ...\n"
    "  --lines N        jobs in flight at most (default 4)\n"
    "  --workers N      host threads (default 2); \"stages\" runs on as many CPU workers\n"
    "  --rounds N       measurements of each (default 7)\n"
    "  --tokens N       jobs a round (default: 200000 for stages; 2000, 500 and 60 for jobs of 10us, 100us and 1ms)\n"
    "  --load F         latency: rate of arrivals as a part of the rate that the best way reaches (default 0.7)\n"
    "  --rate N         latency: rate of arrivals in jobs per second\n"
    "  --row N          this row of stages only\n"
    "  --json FILE      write all results to FILE\n"
    "  --samples        print every measurement as a line of JSON, and no tables (for `weir bench`)\n"
    "  --quick          small numbers, to see that all works; times say little\n"
    "  --help           this text\n"
    "\n"
    "Exit codes: 0 done, 1 a failure or a wrong result, 2 bad usage, 3 no such device here.\n";

static bool refuse(bench_settings *settings, const char *option, const char *value, const char *what) {
  fprintf(stderr, "weir-bench-pipeline: %s: '%s' is not %s\n", option, value, what);
  settings->exit_code = BENCH_USAGE;
  return false;
}

static bool read_number(bench_settings *settings, const char *option, const char *value, uint64_t most,
                        uint64_t *out_number) {
  char *end, what[80];
  unsigned long long number = strtoull(value, &end, 10);
  snprintf(what, sizeof what, "a number from 1 to %llu", (unsigned long long)most);
  if (*value < '0' || *value > '9' || *end || number < 1 || number > most) {
    return refuse(settings, option, value, what);
  }
  *out_number = number;
  return true;
}

static bool read_small(bench_settings *settings, const char *option, const char *value, uint64_t most,
                       uint32_t *out_number) {
  uint64_t number;
  if (!read_number(settings, option, value, most, &number)) return false;
  *out_number = (uint32_t)number;
  return true;
}

static bool read_real(bench_settings *settings, const char *option, const char *value, double most, double *out) {
  char *end, what[80];
  double number = strtod(value, &end);
  snprintf(what, sizeof what, "a number above 0, up to %g", most);
  if (*value == '\0' || *end || !(number > 0 && number <= most)) return refuse(settings, option, value, what);
  *out = number;
  return true;
}

// The name at an index of what an option knows; NULL past the end.
static const char *part_name(uint32_t index) {
  return index < sizeof parts / sizeof *parts ? parts[index] : NULL;
}
static const char *workload_name(uint32_t index) {
  return index < JOB_WORKLOADS ? job_workloads[index]->name : NULL;
}
static const char *size_name(uint32_t index) {
  return index < BENCH_SIZES ? bench_size_names[index] : NULL;
}
static const char *way_name(uint32_t index) {
  const job_way *way = bench_way(index);
  return way ? way->name : NULL;
}

static bool read_name(bench_settings *settings, const char *option, const char *value,
                      const char *(*known)(uint32_t index), bench_names *names) {
  char what[1024] = "one of";
  for (uint32_t i = 0; known(i); i++) {
    if (strcmp(known(i), value) == 0 && names->count < BENCH_MOST_NAMES) {
      names->names[names->count++] = value;
      return true;
    }
    size_t length = strlen(what);
    snprintf(what + length, sizeof what - length, "%s '%s'", i ? "," : "", known(i));
  }
  return refuse(settings, option, value, what);
}

static bool read_option(bench_settings *s, const char *option, const char *value) {
  if (strcmp(option, "--part") == 0) return read_name(s, option, value, part_name, &s->parts);
  if (strcmp(option, "--workload") == 0) return read_name(s, option, value, workload_name, &s->workloads);
  if (strcmp(option, "--size") == 0) return read_name(s, option, value, size_name, &s->sizes);
  if (strcmp(option, "--way") == 0) return read_name(s, option, value, way_name, &s->ways);
  if (strcmp(option, "--tokens") == 0) return read_number(s, option, value, 1000000000, &s->tokens);
  if (strcmp(option, "--lines") == 0) return read_small(s, option, value, WEIR_PIPELINE_MOST_LINES, &s->lines);
  if (strcmp(option, "--workers") == 0) return read_small(s, option, value, WEIR_PIPELINE_MOST_THREADS, &s->workers);
  if (strcmp(option, "--rounds") == 0) return read_small(s, option, value, BENCH_MOST_ROUNDS, &s->rounds);
  if (strcmp(option, "--row") == 0) return read_small(s, option, value, BENCH_STAGE_ROWS, &s->row);
  if (strcmp(option, "--load") == 0) return read_real(s, option, value, 2, &s->load);
  if (strcmp(option, "--rate") == 0) return read_real(s, option, value, 1e9, &s->rate);
  if (strcmp(option, "--device") == 0) s->device = value;
  if (strcmp(option, "--json") == 0) s->json = value;
  return true;
}

static bool takes_value(const char *option) {
  static const char *const options[] = {"--part",  "--workload", "--size",   "--way", "--tokens",
                                        "--lines", "--workers",  "--rounds", "--row", "--load",
                                        "--rate",  "--device",   "--json"};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (strcmp(option, options[i]) == 0) return true;
  }
  return false;
}

bool bench_settings_parse(int argc, char **argv, bench_settings *out_settings) {
  bench_settings *s = out_settings;
  *s = (bench_settings){.device = "cpu:2", .lines = 4, .workers = 2, .rounds = 7, .load = 0.7};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(help, stdout);
      printf("\nWorkloads:\n");
      for (uint32_t j = 0; j < JOB_WORKLOADS; j++)
        printf("  %-24s %s\n", job_workloads[j]->name, job_workloads[j]->about);
      printf("\nWays:\n");
      for (uint32_t j = 0; bench_way(j); j++) printf("  %-24s %s\n", bench_way(j)->name, bench_way(j)->about);
      return false;
    }
    if (strcmp(argv[i], "--samples") == 0) {
      s->samples = true;
    } else if (strcmp(argv[i], "--quick") == 0) {
      s->quick = true;
    } else if (!takes_value(argv[i])) {
      fprintf(stderr, "weir-bench-pipeline: there is no option '%s'; --help lists them\n", argv[i]);
      s->exit_code = BENCH_USAGE;
      return false;
    } else if (i + 1 == argc) {
      fprintf(stderr, "weir-bench-pipeline: %s needs a value\n", argv[i]);
      s->exit_code = BENCH_USAGE;
      return false;
    } else {
      if (!read_option(s, argv[i], argv[i + 1])) return false;
      i++;
    }
  }
  return true;
}

bool bench_chosen(const bench_names *names, const char *name) {
  for (uint32_t i = 0; i < names->count; i++) {
    if (strcmp(names->names[i], name) == 0) return true;
  }
  return names->count == 0;
}

uint64_t bench_tokens(const bench_settings *settings, uint32_t size) {
  static const uint64_t tokens[BENCH_SIZES] = {2000, 500, 60};
  if (settings->tokens) return settings->tokens;
  return settings->quick ? 20 : tokens[size];
}

void bench_kind(const bench_settings *settings, char *out_kind) {
  size_t length = strcspn(settings->device, ":");
  snprintf(out_kind, 16, "%.*s", (int)(length < 15 ? length : 15), settings->device);
}
