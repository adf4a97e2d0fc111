// SPDX-License-Identifier: Apache-2.0
//
// Shortest paths from node 0, by Bellman and Ford's rounds over a graph in compressed rows: each round relaxes the edges of the
// nodes whose distance the round before made shorter. One work-item a node. Distances of a round are read from one array
// and made shorter in another, so that no order of work-items shows.
#include <weir/kernel.h>

WEIR_KERNEL(sssp_begin, 64, 1, 1,
            (WEIR_BUFFER(int32_t, distances), WEIR_BUFFER(int32_t, shorter), WEIR_BUFFER(int32_t, changed),
             WEIR_SCALAR(int32_t, nodes))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int node = weir_global_id(0);
    if (node < nodes) {
      distances[node] = node == 0 ? 0 : 0x7fffffff;
      shorter[node] = node == 0 ? 0 : 0x7fffffff;
      changed[node] = node == 0;
    }
  }
}

WEIR_KERNEL(sssp_relax, 64, 1, 1,
            (WEIR_BUFFER(const int32_t, rows), WEIR_BUFFER(const int32_t, targets), WEIR_BUFFER(const int32_t, lengths),
             WEIR_BUFFER(const int32_t, distances), WEIR_BUFFER(const int32_t, changed), WEIR_BUFFER(int32_t, shorter),
             WEIR_SCALAR(int32_t, nodes))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int node = weir_global_id(0);
    if (node < nodes && changed[node]) {
      int distance = distances[node];
      for (int edge = rows[node]; edge < rows[node + 1]; edge++) {
        weir_atomic_min(&shorter[targets[edge]], distance + lengths[edge]);
      }
    }
  }
}

WEIR_KERNEL(sssp_settle, 64, 1, 1,
            (WEIR_BUFFER(const int32_t, shorter), WEIR_BUFFER(int32_t, distances), WEIR_BUFFER(int32_t, changed),
             WEIR_SCALAR(int32_t, nodes))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int node = weir_global_id(0);
    if (node < nodes) {
      changed[node] = shorter[node] < distances[node];
      distances[node] = shorter[node];
    }
  }
}
