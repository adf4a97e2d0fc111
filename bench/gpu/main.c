// SPDX-License-Identifier: Apache-2.0
//
// weir-gpu-peers: recorded streams replayed on a CUDA card without Weir: in one stream, in 16 streams with events, and
// as CUDA graphs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs.h"
#include "launches.h"

static const char usage[] = "usage: weir-gpu-peers STREAM... [--runs N] [--json]\n"
                            "  --runs N  passes of each column (default 21)\n"
                            "  --json    JSON in place of a table\n";

enum { COLUMNS = 8 };
static const char *const column_names[COLUMNS] = {"one_stream",          "serial_graph",      "streams16_address",
                                                  "streams16_buffer",    "graph_address",     "graph_buffer",
                                                  "build_graph_address", "build_graph_buffer"};
static const char *const column_titles[COLUMNS] = {"one stream", "serial graph", "16 addr",    "16 buffer",
                                                   "DAG addr",   "DAG buffer",   "build addr", "build buffer"};

typedef struct settings {
  uint32_t runs, count;
  bool json;
  const char **paths;
} settings;

static bool parse(int argc, char **argv, settings *out_options) {
  *out_options = (settings){.runs = 21, .paths = gpu_memory((size_t)argc, sizeof(char *))};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      out_options->json = true;
    } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      char *end = NULL;
      unsigned long runs = strtoul(argv[++i], &end, 10);
      if (*end || runs < 1 || runs > 100000) return false;
      out_options->runs = (uint32_t)runs;
    } else if (argv[i][0] == '-') {
      return false;
    } else {
      out_options->paths[out_options->count++] = argv[i];
    }
  }
  return out_options->count > 0;
}

static void measure(const gpu_program *program, uint32_t runs, gpu_stat columns[COLUMNS]) {
  gpu_stat chain_build;
  columns[0] = gpu_one_stream_column(program, runs);
  columns[1] = gpu_graph_column(program, NULL, runs, &chain_build);
  columns[2] = gpu_streams_column(program, &program->address, 16, runs);
  columns[3] = gpu_streams_column(program, &program->buffer, 16, runs);
  columns[4] = gpu_graph_column(program, &program->address, runs, &columns[6]);
  columns[5] = gpu_graph_column(program, &program->buffer, runs, &columns[7]);
}

static void print_json_row(const gpu_program *program, const gpu_stat columns[COLUMNS], bool first) {
  printf("%s\n    {\"stream\": \"%s\", \"tasks\": %u, \"kernels\": %u, \"kernel_us\": %.1f, \"limit_us\": %.1f",
         first ? "" : ",", program->name, program->task_count, program->count, program->kernel_us, program->limit_us);
  for (int c = 0; c < COLUMNS; c++)
    printf(",\n     \"%s_us\": {\"median\": %.1f, \"p10\": %.1f, \"p90\": %.1f}", column_names[c], columns[c].median,
           columns[c].low, columns[c].high);
  printf("}");
}

static void print_row(const gpu_program *program, const gpu_stat columns[COLUMNS]) {
  printf("%-14s %5u %6.0f", program->name, program->task_count, program->kernel_us);
  for (int c = 0; c < COLUMNS; c++)
    printf(" %8.0f +-%2.0f%%", columns[c].median, 50 * (columns[c].high - columns[c].low) / columns[c].median);
  printf(" %6.0f\n", program->limit_us);
  fflush(stdout);
}

static void print_table(const gpu_card *card, const gpu_program *programs, const settings *options) {
  if (options->json)
    printf("{\"card\": \"%s\", \"driver\": %d, \"sms\": %d, \"runs\": %u, \"streams\": [", card->name, card->version,
           card->sms, options->runs);
  else {
    printf("%-14s %5s %6s", "stream", "tasks", "kernel");
    for (int c = 0; c < COLUMNS; c++) printf(" %14s", column_titles[c]);
    printf(" %6s\n", "limit");
  }
  for (uint32_t p = 0; p < options->count; p++) {
    gpu_stat columns[COLUMNS];
    measure(&programs[p], options->runs, columns);
    if (options->json)
      print_json_row(&programs[p], columns, p == 0);
    else
      print_row(&programs[p], columns);
  }
  if (options->json) printf("\n]}\n");
}

int main(int argc, char **argv) {
  settings options;
  if (!parse(argc, argv, &options)) {
    fputs(usage, stderr);
    return 2;
  }
  gpu_card card;
  gpu_open(&card);
  gpu_spin_open();
  if (!options.json)
    printf("%s, driver %d, %d multiprocessors; spin by %s (%.1f ticks a us, globaltimer steps by %.0f ns); us, medians "
           "of %u passes\n",
           card.name, card.version, card.sms, spin.clock, spin.ticks_per_us, spin.globaltimer_step, options.runs);
  gpu_program *programs = gpu_memory(options.count, sizeof *programs);
  for (uint32_t p = 0; p < options.count; p++) {
    gpu_program_read(options.paths[p], (uint32_t)card.sms, &programs[p]);
    gpu_program_shape(&programs[p], (uint32_t)card.sms);
  }
  print_table(&card, programs, &options);
  for (uint32_t p = 0; p < options.count; p++) gpu_program_free(&programs[p]);
  free(programs);
  free(options.paths);
  return 0;
}
