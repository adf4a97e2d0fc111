// SPDX-License-Identifier: Apache-2.0
#include "window/window.h"

#include <string.h>

#include "base/allocate.h"

enum { SLAB_CHUNKS = 255 };

struct weir__edge_slab {
  alignas(64) struct weir__edge_slab *next;
  alignas(64) weir__edge_chunk chunks[SLAB_CHUNKS];
};

static bool add_chunks(weir__window *window) {
  struct weir__edge_slab *slab = weir__allocate(sizeof *slab);
  if (slab == NULL) return false;
  slab->next = window->slabs;
  window->slabs = slab;
  for (int i = 0; i < SLAB_CHUNKS; i++) {
    slab->chunks[i].next = window->free_chunks;
    window->free_chunks = &slab->chunks[i];
  }
  return true;
}

bool weir__window_initialize(weir__window *window, uint32_t size, void (*ready)(void *user, weir__task *task),
                             void *user) {
  *window = (weir__window){.size = size, .next = 1, .ready = ready, .user = user};
  window->live = (weir__liveness){.oldest = 1, .mask = size - 1};
  window->tasks = weir__allocate_sparse(size * sizeof *window->tasks);
  window->live.done = weir__allocate_sparse(size);
  if (window->tasks != NULL && window->live.done != NULL) return true;
  weir__window_deinitialize(window);
  return false;
}

void weir__window_deinitialize(weir__window *window) {
  if (window->tasks != NULL) {
    // The slot of the next task may hold a payload of a submission that was refused.
    weir__id used = window->next < window->size ? window->next + 1 : window->size;
    if (used < window->touched) used = window->touched;
    for (weir__id i = 0; i < used; i++) {
      weir__task *task = &window->tasks[i];
      weir__free(task->large_payload);
      if (task->predecessors != task->few_predecessors) weir__free(task->predecessors);
    }
  }
  weir__free_sparse(window->tasks, window->size * sizeof *window->tasks);
  weir__free_sparse(window->live.done, window->size);
  while (window->slabs != NULL) {
    struct weir__edge_slab *slab = window->slabs;
    window->slabs = slab->next;
    weir__free(slab);
  }
  *window = (weir__window){0};
}

void weir__window_touch(weir__window *window, uint32_t count) {
  window->touched = count < window->size ? count : window->size;
  for (uint32_t i = 0; i < window->touched; i++) window->tasks[i].payload[0] = 0;
}

void *weir__window_large_payload(weir__task *task, size_t bytes) {
  if (bytes > task->large_payload_bytes) {
    size_t capacity = bytes * 2;
    void *larger = capacity <= UINT32_MAX ? weir__allocate(capacity) : NULL;
    if (larger == NULL) return NULL;
    if (task->large_payload != NULL) memcpy(larger, task->large_payload, task->large_payload_bytes);
    weir__free(task->large_payload);
    task->large_payload = larger;
    task->large_payload_bytes = (uint32_t)capacity;
  }
  return task->large_payload;
}

bool weir__window_more_predecessors(weir__task *task) {
  uint32_t capacity = 2 * task->predecessor_capacity;
  weir__id *larger = weir__allocate(capacity * sizeof *larger);
  if (larger == NULL) return false;
  memcpy(larger, task->predecessors, task->predecessor_count * sizeof *larger);
  if (task->predecessors != task->few_predecessors) weir__free(task->predecessors);
  task->predecessors = larger;
  task->predecessor_capacity = capacity;
  return true;
}

uint32_t *weir__window_newest_edge(weir__task *task) {
  if (task->more_successors != NULL) return &task->more_successors->edges[task->more_successors->count - 1];
  return &task->successors[task->successor_count - 1];
}

bool weir__window_push_edge(weir__window *window, weir__task *task, uint32_t edge) {
  weir__edge_chunk *chunk = task->more_successors;
  if (chunk == NULL || chunk->count == WEIR__CHUNK_EDGES) {
    if (window->free_chunks == NULL && !add_chunks(window)) return false;
    chunk = window->free_chunks;
    window->free_chunks = chunk->next;
    chunk->next = task->more_successors;
    chunk->count = 0;
    task->more_successors = chunk;
  }
  chunk->edges[chunk->count++] = edge;
  return true;
}

bool weir__window_connect_late(weir__window *window, weir__task *before, weir__task *task, bool blocks) {
  uint32_t slot = (uint32_t)(task->id & window->live.mask);
  uint32_t edge = slot << WEIR__EDGE_BITS | WEIR__EDGE_DATA | (blocks ? WEIR__EDGE_BLOCKS : 0);
  if (before->successor_count < WEIR__TASK_INLINE_SUCCESSORS)
    before->successors[before->successor_count++] = edge;
  else if (!weir__window_push_edge(window, before, edge))
    return false;
  task->blockers += blocks;
  window->edges++;
  return true;
}

static inline void unblock(weir__window *window, weir__task *task) {
  if (--task->blockers == 0) window->ready(window->user, task);
}

void weir__window_commit(weir__window *window, weir__task *task) {
  window->next++;
  unblock(window, task);
}

void weir__window_release(weir__window *window, weir__task *task) {
  unblock(window, task);
}

void weir__window_upstream_failed(weir__window *window, weir__task *task, weir__id predecessor) {
  task->reads_poison = true;
  if (window->upstream_failed != NULL) window->upstream_failed(window->user, task, predecessor);
}

static inline void resolve(weir__window *window, uint32_t edge, weir__id predecessor, bool failed) {
  weir__task *task = &window->tasks[edge >> WEIR__EDGE_BITS];
  if (failed && (edge & WEIR__EDGE_DATA)) weir__window_upstream_failed(window, task, predecessor);
  if (edge & WEIR__EDGE_BLOCKS) unblock(window, task);
}

static void resolve_on_device(weir__window *window, uint32_t *edges, uint32_t count, uint8_t device) {
  for (uint32_t i = 0; i < count; i++) {
    weir__task *task = &window->tasks[edges[i] >> WEIR__EDGE_BITS];
    if (task->device != device || !(edges[i] & WEIR__EDGE_BLOCKS)) continue;
    edges[i] &= ~(uint32_t)WEIR__EDGE_BLOCKS;
    unblock(window, task);
  }
}

void weir__window_issued(weir__window *window, weir__task *task) {
  resolve_on_device(window, task->successors, task->successor_count, task->device);
  for (weir__edge_chunk *chunk = task->more_successors; chunk != NULL; chunk = chunk->next)
    resolve_on_device(window, chunk->edges, chunk->count, task->device);
}

static void mark_successors(weir__window *window, const uint32_t *edges, uint32_t count, weir__id predecessor) {
  for (uint32_t i = 0; i < count; i++) {
    if (edges[i] & WEIR__EDGE_DATA)
      weir__window_upstream_failed(window, &window->tasks[edges[i] >> WEIR__EDGE_BITS], predecessor);
  }
}

void weir__window_mark_failing(weir__window *window, weir__task *task) {
  task->failing = true;
  mark_successors(window, task->successors, task->successor_count, task->id);
  for (const weir__edge_chunk *chunk = task->more_successors; chunk != NULL; chunk = chunk->next)
    mark_successors(window, chunk->edges, chunk->count, task->id);
}

void weir__window_complete(weir__window *window, weir__task *task, bool failed) {
  weir__liveness *live = &window->live;
  live->done[task->id & live->mask] = 1;
  for (uint32_t i = 0; i < task->successor_count; i++) resolve(window, task->successors[i], task->id, failed);
  while (task->more_successors != NULL) {
    weir__edge_chunk *chunk = task->more_successors;
    for (uint32_t i = 0; i < chunk->count; i++) resolve(window, chunk->edges[i], task->id, failed);
    task->more_successors = chunk->next;
    chunk->next = window->free_chunks;
    window->free_chunks = chunk;
  }
  while (live->oldest < window->next && live->done[live->oldest & live->mask]) live->oldest++;
}
