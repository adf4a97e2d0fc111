// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills as nodes of graphs.
#include <string.h>

#include "base/error.h"
#include "engine/check.h"
#include "graph/plan.h"

// In place of the value of an argument that is the caller's memory.
static const uint64_t no_value;

static uint64_t resolve(const weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return bytes == WEIR_WHOLE && offset <= buffer->bytes ? buffer->bytes - offset : bytes;
}

static weir_status check(const weir_graph *graph, const weir_buffer *buffer, const char *what) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, what);
  return status == WEIR_OK ? weir__object_check(buffer, WEIR__KIND_BUFFER, graph->object.context, what) : status;
}

weir_status weir__graph_check_images(const weir_graph *graph, const weir_task *task, weir__graph_kind kind) {
  const weir_buffer *buffers[2] = {NULL, NULL};
  const weir_device *device = NULL;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    if (arg->mode == WEIR_VALUE) continue;
    if (i < 2) buffers[i] = arg->buffer;
    if (arg->buffer->image) device = graph->object.context->memory.devices[arg->buffer->home];
  }
  if (device == NULL) return WEIR_OK;
  if (kind == WEIR__GRAPH_CALL) {
    const weir_device *runs = weir__graph_device(graph);
    return runs->ops->check == NULL ? WEIR_OK : runs->ops->check(runs, task);
  }
  uint32_t pattern = 0;
  bool from_host = buffers[1] == NULL && kind == WEIR__GRAPH_COPY, to_host = buffers[0] == NULL;
  if (kind == WEIR__GRAPH_FILL) memcpy(&pattern, task->args[1].value, sizeof pattern);
  if (from_host || to_host ||
      device->ops->images->can_copy(device, buffers[0], task->args[0].offset, buffers[1],
                                    buffers[1] != NULL ? task->args[1].offset : 0, pattern))
    return WEIR_OK;
  if (kind == WEIR__GRAPH_FILL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph fill: buffer %llu '%s' is an image; only 0 fills it",
                       (unsigned long long)buffers[0]->id, buffers[0]->label);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "graph copy: images of different shapes, or a range of a buffer that begins at no texel: buffers "
                     "%llu '%s' and %llu '%s'",
                     (unsigned long long)buffers[0]->id, buffers[0]->label, (unsigned long long)buffers[1]->id,
                     buffers[1]->label);
}

// Records a node whose arguments are `to` and `from`.
static weir_status add(weir_graph *graph, const char *label, weir_arg to, weir_arg from,
                       const struct weir__recorded *like, uint32_t *out_node) {
  const weir_arg args[] = {to, from};
  weir_task task = {.args = args, .arg_count = 2, .label = label};
  weir__context_lock_at_once(graph->object.context);
  weir_status status = weir__graph_add(graph, &task, like, out_node);
  weir__context_unlock(graph->object.context);
  return status;
}

weir_status weir_graph_copy_in(weir_graph *graph, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                               const void *source, uint32_t *out_node) {
  if (out_node != NULL) *out_node = 0;
  weir_status status = check(graph, buffer, "graph copy in");
  if (status != WEIR_OK) return status;
  if (source == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph copy in: the source is NULL");
  bytes = resolve(buffer, offset, bytes);
  const struct weir__recorded like = {.kind = WEIR__GRAPH_COPY, .bytes = bytes, .host = (void *)(uintptr_t)source};
  return add(graph, "copy in", weir_writes_range(buffer, offset, bytes), weir_value(&no_value, sizeof no_value), &like,
             out_node);
}

weir_status weir_graph_copy_out(weir_graph *graph, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                void *destination, uint32_t *out_node) {
  if (out_node != NULL) *out_node = 0;
  weir_status status = check(graph, buffer, "graph copy out");
  if (status != WEIR_OK) return status;
  if (destination == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph copy out: the destination is NULL");
  bytes = resolve(buffer, offset, bytes);
  const struct weir__recorded like = {
      .kind = WEIR__GRAPH_COPY, .bytes = bytes, .host = destination, .writes_host = true};
  return add(graph, "copy out", weir_value(&no_value, sizeof no_value), weir_reads_range(buffer, offset, bytes), &like,
             out_node);
}

weir_status weir_graph_copy(weir_graph *graph, weir_buffer *destination, uint64_t destination_offset,
                            weir_buffer *source, uint64_t source_offset, uint64_t bytes, uint32_t *out_node) {
  if (out_node != NULL) *out_node = 0;
  weir_status status = check(graph, source, "graph copy");
  if (status == WEIR_OK) status = check(graph, destination, "graph copy");
  if (status != WEIR_OK) return status;
  bytes = resolve(source, source_offset, bytes);
  if (destination == source && bytes > 0 && destination_offset < source_offset + bytes &&
      source_offset < destination_offset + bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph copy: source and destination overlap in buffer %llu '%s'",
                       (unsigned long long)source->id, source->label);
  const struct weir__recorded like = {.kind = WEIR__GRAPH_COPY, .bytes = bytes};
  return add(graph, "copy", weir_writes_range(destination, destination_offset, bytes),
             weir_reads_range(source, source_offset, bytes), &like, out_node);
}

weir_status weir_graph_fill(weir_graph *graph, weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t pattern,
                            uint32_t *out_node) {
  if (out_node != NULL) *out_node = 0;
  weir_status status = check(graph, buffer, "graph fill");
  if (status != WEIR_OK) return status;
  bytes = resolve(buffer, offset, bytes);
  status = weir__check_fill(buffer, offset, bytes, "graph fill");
  if (status != WEIR_OK) return status;
  const struct weir__recorded like = {.kind = WEIR__GRAPH_FILL, .bytes = bytes};
  return add(graph, "fill", weir_writes_range(buffer, offset, bytes), weir_value(&pattern, sizeof pattern), &like,
             out_node);
}
