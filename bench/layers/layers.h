// SPDX-License-Identifier: Apache-2.0
//
// Random layered graphs: each task is one work-group that reads what up to three tasks of the layer before wrote. Weir is told
// what each task reads and writes, and nothing else: a layer writes over the cells of the layer before the last.
#ifndef WEIR_BENCH_LAYERS_LAYERS_H
#define WEIR_BENCH_LAYERS_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/graph.h"
#include "weir/weir.h"

enum { LAYER_WORDS = 32, LAYER_INPUTS = 3, LAYER_MOST_WIDTH = 256 };

// Which tasks of the layer before the tasks read.
typedef struct layer_graph {
  uint32_t tasks, width, rounds; // `rounds` of the kernel's loop
  uint8_t (*inputs)[LAYER_INPUTS];
  uint32_t last[LAYER_MOST_WIDTH][LAYER_WORDS]; // what the last task of each column writes
} layer_graph;

// Makes the graph of a seed, and finds what serial execution writes. False: no memory.
bool layer_graph_make(layer_graph *graph, uint32_t tasks, uint32_t width, uint32_t rounds, uint64_t seed);
void layer_graph_free(layer_graph *graph);

// The graph's tasks in a context.
typedef struct layer_tasks {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *cells[2][LAYER_MOST_WIDTH];
} layer_tasks;

// Owned by the caller until layer_tasks_close, also after an error. Errors are those of the library.
weir_status layer_tasks_open(layer_tasks *tasks, const char *devices, weir_issue issue, uint32_t flags);
void layer_tasks_close(layer_tasks *tasks);

// Clears the cells; then all is done.
weir_status layer_tasks_clear(layer_tasks *tasks);

// Submits all tasks, or records them in `into` if that is not NULL.
weir_status layer_tasks_submit(layer_tasks *tasks, const layer_graph *graph, weir_graph *into);

// Compares the last layers with serial execution; `out_wrong` is the number of columns that differ.
weir_status layer_tasks_check(layer_tasks *tasks, const layer_graph *graph, uint32_t *out_wrong);

#endif // WEIR_BENCH_LAYERS_LAYERS_H
