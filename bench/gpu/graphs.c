// SPDX-License-Identifier: Apache-2.0
#include "graphs.h"

#include <stdlib.h>

#include "launches.h"

typedef struct built_graph {
  void *graph, *exec;
} built_graph;

static void build(const gpu_program *program, const weir__plan_graph *order, built_graph *out_graph) {
  void **nodes = gpu_memory(program->count, sizeof *nodes), **before = gpu_memory(program->count, sizeof *before);
  *out_graph = (built_graph){0};
  GPU_CHECK(gpu.graph_create(&out_graph->graph, 0));
  for (uint32_t i = 0; i < program->count; i++) {
    size_t count = 0;
    if (!order && i > 0) before[count++] = nodes[i - 1];
    for (uint64_t e = order ? order->first[i] : 1; order && e < order->first[i + 1]; e++)
      before[count++] = nodes[order->predecessors[e]];
    void *parameters[3];
    gpu_kernel_node node;
    gpu_spin_node(&program->launches[i], parameters, &node);
    GPU_CHECK(gpu.graph_add_kernel(&nodes[i], out_graph->graph, before, count, &node));
  }
  free(before);
  free(nodes);
  GPU_CHECK(gpu.graph_instantiate(&out_graph->exec, out_graph->graph, 0));
}

static void destroy(built_graph *graph) {
  GPU_CHECK(gpu.exec_destroy(graph->exec));
  GPU_CHECK(gpu.graph_destroy(graph->graph));
}

static void launch(void *argument) {
  built_graph *graph = argument;
  GPU_CHECK(gpu.graph_launch(graph->exec, NULL));
}

gpu_stat gpu_graph_column(const gpu_program *program, const weir__plan_graph *order, uint32_t runs,
                          gpu_stat *out_build) {
  enum { BUILDS = 5 };
  double builds[BUILDS];
  built_graph graph;
  for (int i = 0; i < BUILDS; i++) {
    if (i > 0) destroy(&graph);
    double start = gpu_now_us();
    build(program, order, &graph);
    builds[i] = gpu_now_us() - start;
  }
  *out_build = gpu_statistics(builds, BUILDS);
  gpu_stat stat = gpu_time(runs, launch, &graph);
  destroy(&graph);
  return stat;
}
