// SPDX-License-Identifier: Apache-2.0
//
// weir-gpu-vulkan: recorded streams replayed on a Vulkan device without Weir.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan_columns.h"
#include "vulkan_spin.h"

static const char usage[] =
    "usage: weir-gpu-vulkan STREAM... [--device N] [--runs N] [--quick] [--json]\n"
    "  STREAM      replayed as kernels that spin: with a barrier after each, with fewer, on several queues\n"
    "  --device N  of those that the loader lists; default: the first that is not the CPU, else the first\n"
    "  --runs N    samples of each column (default 21)\n"
    "  --quick     few and short, to see that all works\n"
    "  --json      JSON in place of a table\n"
    "Exit codes: 0, 1 a call failed, 2 bad usage, 3 no device.\n";

typedef struct arguments {
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
    if (strcmp(argv[i], "--quick") == 0) {
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
  return out_arguments->count > 0;
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
      printf("family %s: %u queues, flags %#x\n", family->name, family->queue_count, family->flags);
  }
  if (options.json) printf("],\n");
}

int main(int argc, char **argv) {
  arguments given;
  if (!parse(argc, argv, &given)) {
    free(given.paths);
    fputs(usage, stderr);
    return 2;
  }
  vulkan_open(given.device);
  print_device();
  vulkan_spin_open();
  vulkan_columns(given.paths, given.count);
  if (options.json) printf("}\n");
  free(given.paths);
  vulkan_close();
  return 0;
}
