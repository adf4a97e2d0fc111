// SPDX-License-Identifier: Apache-2.0
//
// What can be changed in a graph between launches.
#include <string.h>

#include "base/error.h"
#include "engine/boxes.h"
#include "engine/check.h"
#include "graph/plan.h"
#include "graph/queued.h"

static weir_status set_arg(weir_graph *graph, uint32_t node, uint32_t index, const weir_arg *arg) {
  if (node >= graph->recorded_count ||
      index >= graph->recorded[node].task.arg_count - (graph->recorded[node].scratch != NULL))
    return weir__error(WEIR_ERROR_OUT_OF_RANGE, "graph set arg: there is no argument %u of node %u", index, node);
  struct weir__recorded *recorded = &graph->recorded[node];
  if (recorded->adopted)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "graph set arg: node %u was adopted: the addresses that it uses are part of it", node);
  weir_arg *old = &recorded->args[index];
  if (arg->reserved != 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph set arg: the argument's reserved member must be 0");
  if (arg->mode == WEIR_VALUE && arg->shape != WEIR_RANGE)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph set arg: argument %u of node %u: a value has no shape",
                       index, node);
  if (old->mode == WEIR_VALUE) {
    if (recorded->host != NULL)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "graph set arg: argument %u of node %u is memory of the caller's, which "
                         "weir_graph_set_host_memory replaces",
                         index, node);
    if (arg->mode != WEIR_VALUE || arg->value == NULL || arg->bytes != old->bytes)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph set arg: argument %u of node %u is a value of %llu bytes",
                         index, node, (unsigned long long)old->bytes);
    memcpy((void *)(uintptr_t)old->value, arg->value, arg->bytes);
    weir__graph_set_value(graph, node, index);
    return WEIR_OK;
  }
  // The new argument is checked together with the others of its task.
  weir_arg kept = *old;
  weir_arg changed = *arg;
  changed.mode = weir__graph_mode(changed.mode);
  if (changed.mode == WEIR_AUTO && recorded->autos != NULL && recorded->autos[index]) changed.mode = kept.mode;
  if (changed.mode != WEIR_VALUE && changed.bytes == WEIR_WHOLE && changed.offset == kept.offset)
    changed.bytes = kept.bytes;
  if (changed.mode != WEIR_VALUE && changed.shape == WEIR_BOX && weir__arg_same_shape(&changed, &kept)) {
    changed.bytes = kept.bytes;
    changed.value = kept.value; // the graph's own copy
  }
  if (changed.mode == kept.mode && !weir__arg_same_shape(&changed, &kept))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph set arg: argument %u of node %u must keep its shape", index,
                       node);
  if (changed.mode != kept.mode || changed.offset != kept.offset || changed.bytes != kept.bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "graph set arg: argument %u of node %u must keep its mode and its range of %llu bytes from %llu",
                       index, node, (unsigned long long)kept.bytes, (unsigned long long)kept.offset);
  *old = changed;
  weir_context *context = graph->object.context;
  weir__checked checked;
  weir__access accesses[WEIR_MAX_ARGS];
  weir_status status = weir__check_args(context, &recorded->task, weir__graph_device(graph)->space, accesses, &checked);
  if (status == WEIR_OK && (changed.buffer->image || kept.buffer->image))
    status = weir__graph_check_images(graph, &recorded->task, recorded->kind);
  if (status != WEIR_OK)
    *old = kept;
  else
    weir__graph_forget_plan(graph);
  return status;
}

weir_status weir_graph_set_arg(weir_graph *graph, uint32_t node, uint32_t index, const weir_arg *arg) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph set arg");
  if (status != WEIR_OK) return status;
  if (arg == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph set arg: the argument is NULL");
  weir_context *context = graph->object.context;
  weir__context_lock(context);
  status = weir__graph_settle(graph, "graph set arg");
  if (status == WEIR_OK) status = set_arg(graph, node, index, arg);
  weir__context_unlock(context);
  return status;
}

static weir_status replace_buffer(weir_graph *graph, weir_buffer *buffer, weir_buffer *replacement) {
  if (replacement->bytes < buffer->bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "graph replace buffer: buffer %llu '%s' has %llu bytes, its replacement %llu '%s' only %llu",
                       (unsigned long long)buffer->id, buffer->label, (unsigned long long)buffer->bytes,
                       (unsigned long long)replacement->id, replacement->label, (unsigned long long)replacement->bytes);
  if (buffer->image || replacement->image)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "graph replace buffer: buffer %llu '%s' is an image; weir_graph_set_arg changes images",
                       (unsigned long long)(buffer->image ? buffer : replacement)->id,
                       (buffer->image ? buffer : replacement)->label);
  bool replacement_known = false, found = false;
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    const weir_task *task = &graph->recorded[i].task;
    for (uint32_t j = 0; j < task->arg_count; j++) {
      if (task->args[j].mode == WEIR_VALUE) continue;
      if (graph->recorded[i].adopted && task->args[j].buffer == buffer)
        return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                           "graph replace buffer: node %u, which uses buffer %llu '%s', was adopted: the addresses "
                           "that it uses are part of it",
                           i, (unsigned long long)buffer->id, buffer->label);
      found = found || task->args[j].buffer == buffer;
      replacement_known = replacement_known || task->args[j].buffer == replacement;
    }
  }
  if (!found)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph replace buffer: no task names buffer %llu '%s'",
                       (unsigned long long)buffer->id, buffer->label);
  if (replacement_known && replacement != buffer)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "graph replace buffer: the graph names the replacement %llu '%s' already",
                       (unsigned long long)replacement->id, replacement->label);
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    struct weir__recorded *recorded = &graph->recorded[i];
    for (uint32_t j = 0; j < recorded->task.arg_count; j++) {
      if (recorded->args[j].mode != WEIR_VALUE && recorded->args[j].buffer == buffer)
        recorded->args[j].buffer = replacement;
    }
  }
  weir__graph_buffer_replaced(graph, buffer, replacement);
  return WEIR_OK;
}

weir_status weir_graph_replace_buffer(weir_graph *graph, weir_buffer *buffer, weir_buffer *replacement) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph replace buffer");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  // The buffer that is replaced may be released already.
  if (buffer == NULL || buffer->object.kind != WEIR__KIND_BUFFER)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph replace buffer: the buffer is %s",
                       buffer == NULL ? "NULL" : "not a buffer");
  status = weir__object_check(replacement, WEIR__KIND_BUFFER, context, "graph replace buffer, replacement");
  if (status != WEIR_OK) return status;
  weir__context_lock(context);
  status = weir__graph_settle(graph, "graph replace buffer");
  if (status == WEIR_OK) status = replace_buffer(graph, buffer, replacement);
  weir__context_unlock(context);
  return status;
}

weir_status weir_graph_set_host_memory(weir_graph *graph, uint32_t node, void *memory) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph set host memory");
  if (status != WEIR_OK) return status;
  if (memory == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph set host memory: the memory is NULL");
  weir__context_lock(graph->object.context);
  status = weir__graph_settle(graph, "graph set host memory");
  if (status != WEIR_OK) {
    weir__context_unlock(graph->object.context);
    return status;
  }
  if (node >= graph->recorded_count)
    status = weir__error(WEIR_ERROR_OUT_OF_RANGE, "graph set host memory: there is no node %u", node);
  else if (graph->recorded[node].host == NULL)
    status = weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "graph set host memory: node %u is no copy from or to the caller's memory", node);
  else
    graph->recorded[node].host = memory;
  weir__context_unlock(graph->object.context);
  return status;
}

weir_status weir__graph_check_queue(const weir_device *device, uint32_t queue, const char *what) {
  if (queue == WEIR__GRAPH_ANY_QUEUE || device->queues == 0 || queue < device->queues) return WEIR_OK;
  return weir__error(WEIR_ERROR_OUT_OF_RANGE, "%s: there is no queue %u: device %s has %u, from 1 on", what, queue + 1,
                     device->name, device->queues);
}
