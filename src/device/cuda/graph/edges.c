// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/edges.h"

#include "base/allocate.h"
#include "base/error.h"

bool weir__cuda_edges_allocate(weir__cuda_edges *edges, size_t count) {
  *edges = (weir__cuda_edges){.count = count,
                              .from = weir__allocate((count + 1) * sizeof *edges->from),
                              .to = weir__allocate((count + 1) * sizeof *edges->to)};
  if (edges->from != NULL && edges->to != NULL) return true;
  weir__cuda_edges_free(edges);
  return false;
}

void weir__cuda_edges_free(weir__cuda_edges *edges) {
  weir__free(edges->from);
  weir__free(edges->to);
  weir__free(edges->data);
  *edges = (weir__cuda_edges){0};
}

static weir_status read_edges(const weir__cuda_driver *driver, CUgraph graph, weir__cuda_edges *out_edges) {
  size_t count = 0;
  CUresult result = driver->cuGraphGetEdges(graph, NULL, NULL, NULL, &count);
  if (result != CUDA_SUCCESS) return weir__cuda_error(driver, result, "relax: the graph's edges");
  bool good = weir__cuda_edges_allocate(out_edges, count);
  if (good) out_edges->data = weir__allocate_zeroed((count + 1) * sizeof *out_edges->data);
  if (!good || out_edges->data == NULL)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "relax: no memory for %zu edges", count);
  if (count == 0) return WEIR_OK;
  result = driver->cuGraphGetEdges(graph, out_edges->from, out_edges->to, out_edges->data, &out_edges->count);
  return weir__cuda_error(driver, result, "relax: the graph's edges");
}

static CUresult add(const weir__cuda_driver *driver, CUgraph graph, const weir__cuda_edges *edges) {
  if (edges->count == 0) return CUDA_SUCCESS;
  return driver->cuGraphAddDependencies(graph, edges->from, edges->to, edges->data, edges->count);
}

weir_status weir__cuda_edges_replace(const weir__cuda_driver *driver, CUgraph graph, const weir__cuda_edges *edges) {
  weir__cuda_edges own = {0};
  CUresult result = CUDA_SUCCESS;
  weir_status status = read_edges(driver, graph, &own);
  if (status == WEIR_OK && own.count > 0)
    result = driver->cuGraphRemoveDependencies(graph, own.from, own.to, own.data, own.count);
  if (status == WEIR_OK) status = weir__cuda_error(driver, result, "relax: removing edges");
  if (status == WEIR_OK) {
    result = add(driver, graph, edges);
    bool lost = result != CUDA_SUCCESS && add(driver, graph, &own) != CUDA_SUCCESS;
    status = weir__cuda_error(driver, result, "relax: adding edges%s", lost ? "; the graph has lost its own" : "");
  }
  weir__cuda_edges_free(&own);
  return status;
}
