// SPDX-License-Identifier: Apache-2.0
//
// CUDA graphs of programs.
#ifndef WEIR_BENCH_GPU_GRAPHS_H
#define WEIR_BENCH_GPU_GRAPHS_H

#include "streams.h"

typedef struct gpu_graph {
  void *graph, *exec;
  void **nodes; // one per launch
  uint32_t count;
} gpu_graph;

// Builds the graph of launches [begin, end), with the dependences among them; `order` NULL: a chain.
void gpu_graph_build(const gpu_program *program, const weir__plan_graph *order, uint32_t begin, uint32_t end,
                     gpu_graph *out_graph);
void gpu_graph_instantiate(gpu_graph *graph);
void gpu_graph_destroy(gpu_graph *graph);

// Columns of the table.
gpu_stat gpu_graph_column(const gpu_program *program, const weir__plan_graph *order, uint32_t runs,
                          gpu_stat *out_build);

#endif // WEIR_BENCH_GPU_GRAPHS_H
