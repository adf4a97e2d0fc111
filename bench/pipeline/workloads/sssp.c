// SPDX-License-Identifier: Apache-2.0
//
// Shortest paths in a graph. Node i has edges to nodes degree * i + 1 to degree * i + degree, as far as there are such, and else to
// random ones; so every node is `depth` edges from node 0 at most. Lengths are from 64 to 95, so that a shortest path has at most
// depth * 95 / 64 edges: as many rounds suffice. The reference is Dijkstra's algorithm.
#include <stdlib.h>

#include "shape.h"
#include "sssp.kernels.h"
#include "workloads.h"

typedef struct size {
  int32_t nodes, degree;
} size;

static const size sizes[JOB_KINDS][JOB_SIZES] = {
    {{768, 4}, {6144, 4}, {49152, 4}},
    {{17, 16}, {73, 8}, {6144, 4}},
    {{64, 63}, {8192, 8}, {786432, 3}},
};

enum { LEAST_LENGTH = 64, MOST_LENGTH = 95 };

static bool shape(const char *kind, uint64_t kernels_ns, job_shape *out_shape) {
  const size *s = &sizes[job_kind_index(kind)][job_size_index(kernels_ns)];
  uint64_t nodes = (uint64_t)s->nodes, edges = nodes * (uint64_t)s->degree;
  uint32_t groups = (uint32_t)((nodes + 63) / 64);
  int32_t depth = 0;
  for (int64_t node = s->nodes - 1; node > 0; node = (node - 1) / s->degree) depth++;
  job_builder b = {.shape.name = "sssp"};
  uint32_t rows = job_add_input(&b, 4 * (nodes + 1));
  uint32_t targets = job_add_input(&b, 4 * edges);
  uint32_t lengths = job_add_input(&b, 4 * edges);
  uint32_t distances = job_add_buffer(&b, 4 * nodes);
  uint32_t shorter = job_add_buffer(&b, 4 * nodes);
  uint32_t changed = job_add_buffer(&b, 4 * nodes);
  job_arg count = job_int(s->nodes);
  job_add_kernel(&b, &sssp_begin, groups, 1,
                 JOB_KERNEL_ARGS(job_writes(distances), job_writes(shorter), job_writes(changed), count));
  for (int32_t round = 0; round < depth * MOST_LENGTH / LEAST_LENGTH; round++) {
    job_add_kernel(&b, &sssp_relax, groups, 1,
                   JOB_KERNEL_ARGS(job_reads(rows), job_reads(targets), job_reads(lengths), job_reads(distances),
                                   job_reads(changed), job_updates(shorter), count));
    job_add_kernel(&b, &sssp_settle, groups, 1,
                   JOB_KERNEL_ARGS(job_reads(shorter), job_updates(distances), job_writes(changed), count));
  }
  job_add_result(&b, distances);
  return job_shape_built(&b, out_shape);
}

static void input(const job_shape *shape, uint32_t variant, void *const *hosts) {
  int32_t *rows = hosts[0], *targets = hosts[1], *lengths = hosts[2];
  int32_t nodes = (int32_t)(shape->host_bytes[0] / 4) - 1;
  int32_t degree = (int32_t)(shape->host_bytes[1] / 4) / nodes;
  uint64_t state = job_seed(variant);
  for (int32_t node = 0; node <= nodes; node++) rows[node] = node * degree;
  for (int32_t edge = 0; edge < nodes * degree; edge++) {
    // Edge e of node i is number degree * i + e, and goes to the node after that number.
    targets[edge] = edge + 1 < nodes ? edge + 1 : (int32_t)(job_random(&state) % (uint32_t)nodes);
    lengths[edge] = LEAST_LENGTH + (int32_t)(job_random(&state) % (MOST_LENGTH - LEAST_LENGTH + 1));
  }
}

// A binary heap of distances with their nodes, the least on top.
typedef struct entry {
  int32_t distance, node;
} entry;

static void heap_push(entry *heap, int32_t *count, entry new) {
  int32_t i = (*count)++;
  for (; i > 0 && heap[(i - 1) / 2].distance > new.distance; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
  heap[i] = new;
}

static entry heap_pop(entry *heap, int32_t *count) {
  entry top = heap[0], last = heap[--*count];
  int32_t i = 0;
  for (;;) {
    int32_t child = 2 * i + 1;
    if (child >= *count) break;
    if (child + 1 < *count && heap[child + 1].distance < heap[child].distance) child++;
    if (heap[child].distance >= last.distance) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = last;
  return top;
}

static void reference(const job_shape *shape, uint32_t variant, void *const *hosts) {
  (void)variant;
  const int32_t *rows = hosts[0], *targets = hosts[1], *lengths = hosts[2];
  int32_t *distances = hosts[3];
  int32_t nodes = (int32_t)(shape->host_bytes[0] / 4) - 1, count = 0;
  for (int32_t node = 0; node < nodes; node++) distances[node] = INT32_MAX;
  entry *heap = malloc((size_t)(rows[nodes] + 1) * sizeof *heap); // each edge enters it once at most
  if (!heap) return;                                              // then no result equals this one
  distances[0] = 0;
  heap_push(heap, &count, (entry){0, 0});
  while (count > 0) {
    entry near = heap_pop(heap, &count);
    if (near.distance > distances[near.node]) continue;
    for (int32_t edge = rows[near.node]; edge < rows[near.node + 1]; edge++) {
      int32_t distance = near.distance + lengths[edge];
      if (distance >= distances[targets[edge]]) continue;
      distances[targets[edge]] = distance;
      heap_push(heap, &count, (entry){distance, targets[edge]});
    }
  }
  free(heap);
}

const job_workload job_sssp = {.name = "sssp",
                               .about = "shortest paths by rounds of relaxations: 2 kernels a round",
                               .shape = shape,
                               .input = input,
                               .reference = reference};
