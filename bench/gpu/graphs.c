// SPDX-License-Identifier: Apache-2.0
#include "graphs.h"

#include <stdlib.h>

#include "launches.h"

void gpu_graph_build(const gpu_program *program, const weir__plan_graph *order, uint32_t begin, uint32_t end,
                     gpu_graph *out_graph) {
  gpu_graph built = {.nodes = gpu_memory(end - begin, sizeof(void *)), .count = end - begin};
  void **before = gpu_memory(end - begin, sizeof *before);
  GPU_CHECK(gpu.graph_create(&built.graph, 0));
  for (uint32_t i = begin; i < end; i++) {
    size_t count = 0;
    if (!order && i > begin) before[count++] = built.nodes[i - 1 - begin];
    for (uint64_t e = order ? order->first[i] : 1; order && e < order->first[i + 1]; e++) {
      if (order->predecessors[e] >= begin) before[count++] = built.nodes[order->predecessors[e] - begin];
    }
    void *parameters[3];
    gpu_kernel_node node;
    gpu_spin_node(&program->launches[i], spin.function, parameters, &node);
    GPU_CHECK(gpu.graph_add_kernel(&built.nodes[i - begin], built.graph, before, count, &node));
  }
  free(before);
  *out_graph = built;
}

void gpu_graph_instantiate(gpu_graph *graph) {
  GPU_CHECK(gpu.graph_instantiate(&graph->exec, graph->graph, 0));
}

void gpu_graph_destroy(gpu_graph *graph) {
  if (graph->exec) GPU_CHECK(gpu.exec_destroy(graph->exec));
  GPU_CHECK(gpu.graph_destroy(graph->graph));
  free(graph->nodes);
  *graph = (gpu_graph){0};
}

static void launch(void *argument) {
  gpu_graph *graph = argument;
  GPU_CHECK(gpu.graph_launch(graph->exec, NULL));
}

gpu_stat gpu_graph_column(const gpu_program *program, const weir__plan_graph *order, uint32_t runs,
                          gpu_stat *out_build) {
  enum { BUILDS = 5 };
  double builds[BUILDS];
  gpu_graph graph = {0};
  for (int i = 0; i < BUILDS; i++) {
    if (graph.graph) gpu_graph_destroy(&graph);
    double start = gpu_now_us();
    gpu_graph_build(program, order, 0, program->count, &graph);
    gpu_graph_instantiate(&graph);
    builds[i] = gpu_now_us() - start;
  }
  *out_build = gpu_statistics(builds, BUILDS);
  gpu_stat stat = gpu_time(runs, launch, &graph);
  gpu_graph_destroy(&graph);
  return stat;
}
