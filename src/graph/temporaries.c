// SPDX-License-Identifier: Apache-2.0
#include "graph/temporaries.h"

#include <stdlib.h>

#include "base/allocate.h"

static weir__pool *pool_of(const weir_graph *graph) {
  return &graph->object.context->memory.pools[graph->plan->space];
}

// All that used the buffer's storage before come before the launch, since that has overwritten it, and nothing else names it.
static bool may_be_kept(const weir_graph *graph, const weir_buffer *buffer, weir__id launch) {
  const weir__segment *users = &buffer->whole;
  return (buffer->gone & (buffer->queued == 1) & !buffer->wrapped & !buffer->ranged & !users->commutes) &&
         users->writer == launch && users->reader_count == 0 && buffer->held == weir__space_bit(graph->plan->space) &&
         buffer->parts == NULL;
}

uint64_t weir__temporaries_count(const weir_graph *graph) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < graph->buffer_count; i++) {
    if (may_be_kept(graph, graph->buffers[i], graph->object.last_use))
      bytes += graph->buffers[i]->replicas[graph->plan->space].block->bytes;
  }
  return bytes;
}

bool weir__temporaries_keep(weir_graph *graph) {
  weir__temporaries *kept = &graph->temporaries;
  if (kept->blocks == NULL) kept->blocks = weir__allocate_zeroed(graph->buffer_count * sizeof(weir__block *));
  if (kept->blocks == NULL) return false;
  uint32_t space = graph->plan->space;
  kept->last_launch = graph->object.last_use;
  for (uint32_t i = 0; i < graph->buffer_count; i++) {
    weir_buffer *buffer = graph->buffers[i];
    if (kept->blocks[i] != NULL || !may_be_kept(graph, buffer, kept->last_launch)) continue;
    kept->blocks[i] = buffer->replicas[space].block;
    kept->bytes += kept->blocks[i]->bytes;
    buffer->replicas[space] = (weir__replica){0};
    buffer->held = buffer->valid = 0;
  }
  weir__graph_arrange(graph);
  return true;
}

void weir__temporaries_drop(weir_graph *graph, uint32_t number) {
  weir__temporaries *kept = &graph->temporaries;
  weir__block *block = kept->blocks[number];
  kept->blocks[number] = NULL;
  kept->bytes -= block->bytes;
  block->last_use = block->users[0] = kept->last_launch;
  block->user_count = 1;
  block->users_known = true;
  weir__pool_give_waiting(pool_of(graph), block);
}

static int by_place(const void *left, const void *right) {
  const weir__graph_external *a = left, *b = right;
  if (a->order != b->order) return a->order < b->order ? -1 : 1;
  if (a->buffer != b->buffer) return a->buffer < b->buffer ? -1 : 1;
  return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static uint8_t order_of(const weir_graph *graph, const weir__graph_external *external) {
  weir__block *const *blocks = graph->temporaries.blocks;
  if (blocks != NULL && blocks[external->buffer] != NULL) return WEIR__EXTERNAL_TEMPORARY;
  return external->mode == WEIR_READ && external->all ? WEIR__EXTERNAL_READS_ALL : WEIR__EXTERNAL_ANY;
}

void weir__graph_arrange(weir_graph *graph) {
  weir__graph_plan *plan = graph->plan;
  weir__block *const *blocks = graph->temporaries.blocks;
  uint32_t outer = 0, last = plan->buffer_count;
  for (uint32_t i = 0; i < plan->buffer_count; i++)
    plan->outer[blocks == NULL || blocks[i] == NULL ? outer++ : --last] = i;
  plan->outer_count = outer;
  uint32_t counts[WEIR__EXTERNAL_TEMPORARY + 1] = {0};
  for (uint32_t i = 0; i < plan->all_externals; i++) {
    plan->externals[i].order = order_of(graph, &plan->externals[i]);
    counts[plan->externals[i].order]++;
  }
  plan->first_read = counts[WEIR__EXTERNAL_ANY];
  plan->external_count = plan->first_read + counts[WEIR__EXTERNAL_READS_ALL];
  qsort(plan->externals, plan->all_externals, sizeof *plan->externals, by_place);
  plan->arrangement++;
}

void weir__graph_arrange_anew(weir_graph *graph) {
  for (uint32_t i = 0; i < graph->plan->all_externals; i++) {
    weir__graph_external *external = &graph->plan->externals[i];
    external->all = external->lo == 0 && external->hi == graph->buffers[external->buffer]->bytes;
  }
  weir__graph_arrange(graph);
}

void weir__temporaries_give_up(weir_graph *graph) {
  weir__temporaries *kept = &graph->temporaries;
  if (kept->blocks == NULL) return;
  for (uint32_t i = 0; i < graph->plan->buffer_count; i++) {
    if (kept->blocks[i] != NULL) weir__temporaries_drop(graph, i);
  }
  weir__graph_arrange(graph);
  weir__free(kept->blocks);
  *kept = (weir__temporaries){0};
}
