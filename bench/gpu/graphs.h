// SPDX-License-Identifier: Apache-2.0
//
// Programs as CUDA graphs.
#ifndef WEIR_BENCH_GPU_GRAPHS_H
#define WEIR_BENCH_GPU_GRAPHS_H

#include "streams.h"

// Columns of the table: passes of a graph with the dependences of `order` (NULL: a chain), and what it takes to build it.
gpu_stat gpu_graph_column(const gpu_program *program, const weir__plan_graph *order, uint32_t runs,
                          gpu_stat *out_build);

#endif // WEIR_BENCH_GPU_GRAPHS_H
