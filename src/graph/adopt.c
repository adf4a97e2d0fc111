// SPDX-License-Identifier: Apache-2.0
#include "graph/adopt.h"

#include "base/allocate.h"
#include "engine/buffer.h"

void weir__graph_adopt(weir_graph *graph, const weir__graph_adopted *adopted) {
  weir__context_lock(graph->object.context);
  graph->adopted = *adopted;
  for (uint32_t i = 0; i < adopted->buffer_count; i++) adopted->buffers[i]->adopted = true;
  weir__context_unlock(graph->object.context);
}

void weir__graph_drop_adopted(weir_graph *graph) {
  weir__graph_adopted *adopted = &graph->adopted;
  for (uint32_t i = 0; i < adopted->kernel_count; i++)
    weir__object_give(&graph->object.context->objects.kernels, &adopted->kernels[i]->object);
  for (uint32_t i = 0; i < adopted->buffer_count; i++) weir__buffer_give_up(adopted->buffers[i]);
  adopted->kernel_count = adopted->buffer_count = 0;
}

void weir__graph_forget_adopted(weir_graph *graph) {
  weir__free(graph->adopted.kernels);
  weir__free(graph->adopted.buffers);
  weir__graph_source_drop(graph->adopted.source);
  graph->adopted = (weir__graph_adopted){0};
}
