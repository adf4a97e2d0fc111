// SPDX-License-Identifier: Apache-2.0
//
// weir-gpu-vulkan: recorded streams replayed on a Vulkan device without Weir, and what Vulkan's building blocks cost there.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan_columns.h"
#include "vulkan_spin.h"
#include "vulkan_ways.h"

static const char usage[] =
    "usage: weir-gpu-vulkan [STREAM...] [--ways[=LETTERS]] [--device N] [--runs N] [--quick] [--json]\n"
    "  STREAM      replayed as kernels that spin: with a barrier after each, with fewer, on several queues\n"
    "  --ways      what calls, dispatches, barriers, events, queues, clocks and copies cost; of a to i:\n"
    "              a record, submit; b execute; c events; d queues, semaphores; e a long kernel beside chains;\n"
    "              f clocks; g occupancy; h copies; i first use\n"
    "  --device N  of those that the loader lists; default: the first that is not the CPU, else the first\n"
    "  --runs N    samples of each row (default 21)\n"
    "  --quick     few and short, to see that all works\n"
    "  --json      JSON in place of a table\n"
    "Exit codes: 0, 1 a call failed, 2 bad usage, 3 no device.\n";

typedef struct arguments {
  const char *ways; // NULL: none
  int device;
  const char **paths;
  uint32_t count;
} arguments;

static bool whole(const char *text, unsigned long least, unsigned long most, unsigned long *out_value) {
  char *end = NULL;
  *out_value = strtoul(text, &end, 10);
  return *text >= '0' && *text <= '9' && !*end && *out_value >= least && *out_value <= most;
}

static bool parse(int argc, char **argv, arguments *out_arguments) {
  *out_arguments = (arguments){.device = -1, .paths = gpu_memory((size_t)argc, sizeof(char *))};
  options = (vulkan_options){.runs = 21};
  bool runs_given = false;
  unsigned long value = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--ways") == 0) {
      out_arguments->ways = "abcdefghi";
    } else if (strncmp(argv[i], "--ways=", 7) == 0 && argv[i][7] &&
               strspn(argv[i] + 7, "abcdefghi") == strlen(argv[i] + 7)) {
      out_arguments->ways = argv[i] + 7;
    } else if (strcmp(argv[i], "--quick") == 0) {
      options.quick = true;
    } else if (strcmp(argv[i], "--json") == 0) {
      options.json = true;
    } else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc && whole(argv[i + 1], 0, 15, &value)) {
      out_arguments->device = (int)value;
      i++;
    } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc && whole(argv[i + 1], 1, VULKAN_MOST_RUNS, &value)) {
      options.runs = (uint32_t)value;
      runs_given = true;
      i++;
    } else if (argv[i][0] != '-') {
      out_arguments->paths[out_arguments->count++] = argv[i];
    } else {
      return false;
    }
  }
  if (options.quick && !runs_given) options.runs = 2;
  return out_arguments->ways || out_arguments->count > 0;
}

static void print_device(void) {
  const char *format = options.json ? "{\"device\": \"%s\", \"driver\": \"%s\", \"runs\": %u, \"families\": ["
                                    : "%s, driver %s; medians of %u samples [10 %% .. 90 %%]\n";
  printf(format, card.properties.deviceName, card.driver, options.runs);
  for (uint32_t f = 0; f < card.family_count; f++) {
    const vulkan_family *family = &card.families[f];
    if (options.json)
      printf("%s{\"name\": \"%s\", \"queues\": %u, \"flags\": %u}", f > 0 ? ", " : "", family->name,
             family->queue_count, family->flags);
    else
      printf("family %s: %u queues, flags %#x%s\n", family->name, family->queue_count, family->flags,
             family->timestamps ? "" : ", no timestamps");
  }
  if (options.json) printf("],\n");
}

static void measure_ways(const char *ways) {
  vulkan_rows_begin();
  if (strchr(ways, 'i')) vulkan_ways_first();
  vulkan_spin_open();
  if (strchr(ways, 'f')) vulkan_ways_clocks();
  if (strchr(ways, 'a')) vulkan_ways_record();
  if (strchr(ways, 'a')) vulkan_ways_submit();
  if (strchr(ways, 'b')) vulkan_ways_execute();
  if (strchr(ways, 'c')) vulkan_ways_events();
  if (strchr(ways, 'd') || strchr(ways, 'e')) vulkan_ways_queues();
  if (strchr(ways, 'd')) vulkan_ways_hops();
  if (strchr(ways, 'g')) vulkan_ways_occupancy();
  if (strchr(ways, 'h')) vulkan_ways_copies();
  vulkan_rows_end();
}

int main(int argc, char **argv) {
  arguments given;
  if (!parse(argc, argv, &given)) {
    fputs(usage, stderr);
    return 2;
  }
  vulkan_open(given.device);
  print_device();
  if (given.ways)
    measure_ways(given.ways);
  else
    vulkan_spin_open();
  if (options.json && given.ways && given.count > 0) printf(",\n");
  if (given.count > 0) vulkan_columns(given.paths, given.count);
  if (options.json) printf("}\n");
  free(given.paths);
  vulkan_close();
  return 0;
}
