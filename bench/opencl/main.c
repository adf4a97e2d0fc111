// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-opencl: small tasks, and recorded streams, on an OpenCL device: by its own queues, and by Weir.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/opencl/driver.h"
#include "recorded.h"
#include "tasks.h"

static const char usage[] =
    "usage: weir-bench-opencl [tasks] [OPTION...]\n"
    "       weir-bench-opencl streams [OPTION...] STREAM...\n"
    "       weir-bench-opencl devices\n"
    "tasks: random tasks of two reads and one update over 64 cells, empty and with some work; the cells are compared "
    "with\n"
    "those of serial execution. streams: recorded streams as kernels that spin, each task on one compute unit; each "
    "task's\n"
    "place in the order is checked. devices: what there is, as JSON.\n"
    "  --device N  opencl:N, default 0\n"
    "  --tasks N   tasks, default 10000\n"
    "  --runs N    runs, or passes, of each way, in turn; default 5\n"
    "  --way TEXT  tasks: only the ways with this in their names\n"
    "  --scale X   streams: multiply the recorded times, default 1\n"
    "  --json      JSON in place of tables\n"
    "Exit codes: 0 done, 1 a run failed or its result is wrong, 2 bad usage, 3 there is no such device.\n";

typedef struct settings {
  unsigned long device, tasks, runs;
  double scale;
  const char *way;
  bool json, streams;
  char **paths;
  uint32_t path_count;
} settings;

static bool read_number(const char *text, unsigned long least, unsigned long most, unsigned long *out_number) {
  char *end;
  *out_number = strtoul(text, &end, 10);
  return end != text && *end == '\0' && *out_number >= least && *out_number <= most;
}

static bool read_scale(const char *text, double *out_scale) {
  char *end;
  *out_scale = strtod(text, &end);
  return end != text && *end == '\0' && *out_scale >= 1e-6 && *out_scale <= 1e6;
}

static bool parse(int argc, char **argv, settings *out_options) {
  int i = 1;
  if (argc > 1 && argv[1][0] != '-') {
    out_options->streams = strcmp(argv[1], "streams") == 0;
    if (!out_options->streams && strcmp(argv[1], "tasks") != 0) return false;
    i = 2;
  }
  out_options->paths = argv; // the arguments that are no options, moved to the front
  for (; i < argc; i++) {
    bool more = i + 1 < argc, good = false;
    if (strcmp(argv[i], "--json") == 0)
      good = out_options->json = true;
    else if (strcmp(argv[i], "--device") == 0 && more)
      good = read_number(argv[++i], 0, WEIR__OPENCL_MOST_DEVICES - 1, &out_options->device);
    else if (strcmp(argv[i], "--tasks") == 0 && more)
      good = read_number(argv[++i], 1, 10000000, &out_options->tasks);
    else if (strcmp(argv[i], "--runs") == 0 && more)
      good = read_number(argv[++i], 1, BENCH_MOST_RUNS, &out_options->runs);
    else if (strcmp(argv[i], "--way") == 0 && more)
      good = (out_options->way = argv[++i]) != NULL;
    else if (strcmp(argv[i], "--scale") == 0 && more)
      good = read_scale(argv[++i], &out_options->scale);
    else if (argv[i][0] != '-' && out_options->streams)
      good = (out_options->paths[out_options->path_count++] = argv[i]) != NULL;
    if (!good) return false;
  }
  return out_options->streams == (out_options->path_count > 0);
}

enum { TYPE_GPU = 1 << 2 }; // CL_DEVICE_TYPE_GPU

static int print_devices(void) {
  char reason[256];
  const weir__opencl_driver *driver = weir__opencl_driver_load(reason, sizeof reason);
  if (driver == NULL) {
    fprintf(stderr, "weir-bench-opencl: %s\n", reason);
    return 3;
  }
  printf("[\n");
  for (uint32_t i = 0; i < driver->count; i++) {
    const weir__opencl_listed *listed = &driver->devices[i];
    char version[BENCH_DRIVER_BYTES];
    const char *type = listed->type & CL_DEVICE_TYPE_CPU ? "cpu" : listed->type & TYPE_GPU ? "gpu" : "other";
    printf(" {\"number\": %u, \"name\": \"%s\", \"platform\": \"%s\", \"driver\": \"%s\", \"type\": \"%s\", \"units\": "
           "%u, "
           "\"reason\": \"%s\"}%s\n",
           i, listed->name, listed->platform_name, bench_driver_text(i, version), type, listed->units, listed->reason,
           i + 1 < driver->count ? "," : "");
  }
  printf("]\n");
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "devices") == 0) return print_devices();
  settings options = {.tasks = 10000, .runs = 5, .scale = 1, .way = ""};
  if (!parse(argc, argv, &options)) {
    fputs(usage, stderr);
    return 2;
  }
  char reason[256];
  const weir__opencl_driver *driver = weir__opencl_driver_load(reason, sizeof reason);
  if (driver == NULL || options.device >= driver->count || driver->devices[options.device].reason[0] != '\0') {
    fprintf(stderr, "weir-bench-opencl: device %lu: %s\n", options.device,
            driver == NULL                    ? reason
            : options.device >= driver->count ? "there is no such device"
                                              : driver->devices[options.device].reason);
    return 3;
  }
  if ((driver->devices[options.device].svm & (CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_SYSTEM)) ==
      0) {
    fprintf(stderr, "weir-bench-opencl: device %lu: it has no shared virtual memory, which this uses\n",
            options.device);
    return 3;
  }
  uint32_t device = (uint32_t)options.device, runs = (uint32_t)options.runs;
  if (!options.streams) return bench_tasks(device, (uint32_t)options.tasks, runs, options.way, options.json);
  return bench_recorded(device, options.paths, options.path_count, options.scale, runs, options.json);
}
