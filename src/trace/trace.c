// SPDX-License-Identifier: Apache-2.0
#include "trace/trace.h"

#include <string.h>

#include "base/allocate.h"
#include "trace/record.h"

weir__trace *weir__trace_create(void) {
  return weir__allocate_zeroed(sizeof(weir__trace));
}

static void free_task(weir__trace_task *task) {
  weir__free(task->accesses);
  weir__free(task->waits);
  weir__free(task->spans);
  weir__free(task->after);
}

static void free_tasks(weir__trace *trace) {
  for (size_t i = 0; i < trace->task_count; i++) free_task(&trace->tasks[i]);
  for (size_t i = 0; i < trace->node_count; i++) free_task(&trace->nodes[i]);
  trace->task_count = trace->node_count = trace->host_wait_count = trace->written_count = 0;
  trace->dropped = 0;
}

void weir__trace_destroy(weir__trace *trace) {
  if (!trace) return;
  free_tasks(trace);
  weir__trace_free_pipelines(trace);
  for (size_t i = 0; i < trace->device_count; i++) weir__free(trace->devices[i].name);
  weir__free(trace->devices);
  weir__free(trace->tasks);
  weir__free(trace->nodes);
  weir__free(trace->buffers);
  weir__free(trace->host_waits);
  weir__free(trace->written);
  weir__free(trace);
}

void weir__trace_clear(weir__trace *trace) {
  free_tasks(trace);
  weir__trace_clear_pipelines(trace);
}

bool weir__trace_make_room(void **entries, size_t count, size_t *capacity, size_t entry_bytes) {
  if (count < *capacity) return true;
  size_t grown = *capacity ? 2 * *capacity : 64;
  if (grown > SIZE_MAX / 2 / entry_bytes) return false;
  void *moved = weir__allocate(grown * entry_bytes);
  if (!moved) return false;
  if (count) memcpy(moved, *entries, count * entry_bytes);
  weir__free(*entries);
  *entries = moved;
  *capacity = grown;
  return true;
}

bool weir__trace_add_device(weir__trace *trace, const char *name, uint32_t lanes) {
  void *devices = trace->devices;
  bool room = weir__trace_make_room(&devices, trace->device_count, &trace->device_capacity, sizeof(*trace->devices));
  trace->devices = devices;
  char *copy = room ? weir__allocate_string(name) : NULL;
  if (!copy) return false;
  trace->devices[trace->device_count++] = (weir__trace_device){.name = copy, .lanes = lanes};
  return true;
}

// Index of the first buffer whose id is at least `id`.
static size_t buffer_position(const weir__trace *trace, uint64_t id) {
  size_t low = 0, high = trace->buffer_count;
  if (high && trace->buffers[high - 1].id < id) return high;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (trace->buffers[middle].id < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

const weir__trace_buffer *weir__trace_find_buffer(const weir__trace *trace, uint64_t id) {
  size_t at = buffer_position(trace, id);
  return at < trace->buffer_count && trace->buffers[at].id == id ? &trace->buffers[at] : NULL;
}

static void set_text(char text[48], const char *source) {
  size_t length = source ? strnlen(source, 47) : 0;
  if (length) memcpy(text, source, length);
  text[length] = '\0';
}

void weir__trace_add_buffer(weir__trace *trace, uint64_t id, uint64_t bytes, const char *label) {
  size_t at = buffer_position(trace, id);
  if (at == trace->buffer_count || trace->buffers[at].id != id) {
    void *buffers = trace->buffers;
    bool room = weir__trace_make_room(&buffers, trace->buffer_count, &trace->buffer_capacity, sizeof(*trace->buffers));
    trace->buffers = buffers;
    if (!room) {
      trace->dropped++;
      return;
    }
    memmove(&trace->buffers[at + 1], &trace->buffers[at], (trace->buffer_count - at) * sizeof(*trace->buffers));
    trace->buffer_count++;
    trace->buffers[at].id = id;
    trace->buffers[at].released_after = UINT64_MAX;
    trace->buffers[at].shared = 0;
  }
  trace->buffers[at].bytes = bytes;
  set_text(trace->buffers[at].label, label);
}

void weir__trace_release_buffer(weir__trace *trace, uint64_t id, uint64_t after) {
  size_t at = buffer_position(trace, id);
  if (at < trace->buffer_count && trace->buffers[at].id == id) trace->buffers[at].released_after = after;
}

void weir__trace_add_host_wait(weir__trace *trace, const weir__trace_host_wait *wait) {
  void *waits = trace->host_waits;
  bool room =
      weir__trace_make_room(&waits, trace->host_wait_count, &trace->host_wait_capacity, sizeof(*trace->host_waits));
  trace->host_waits = waits;
  if (room)
    trace->host_waits[trace->host_wait_count++] = *wait;
  else
    trace->dropped++;
}

// *out_copy gets a copy of an array; NULL for an empty one. False: no memory.
static bool copy_array(const void *entries, size_t count, size_t entry_bytes, void **out_copy) {
  *out_copy = count ? weir__allocate(count * entry_bytes) : NULL;
  if (*out_copy) memcpy(*out_copy, entries, count * entry_bytes);
  return !count || *out_copy;
}

// Appends a copy of a record to a list. False: no memory.
static bool append(weir__trace_task **list, size_t *count, size_t *capacity, const weir__trace_task *task) {
  void *tasks = *list, *accesses = NULL, *waits = NULL, *spans = NULL, *after = NULL;
  bool room = weir__trace_make_room(&tasks, *count, capacity, sizeof(**list));
  *list = tasks;
  if (!room || !copy_array(task->accesses, task->access_count, sizeof(*task->accesses), &accesses) ||
      !copy_array(task->waits, task->wait_count, sizeof(*task->waits), &waits) ||
      !copy_array(task->spans, task->span_count, sizeof(*task->spans), &spans) ||
      !copy_array(task->after, task->after_count, sizeof(*task->after), &after)) {
    weir__free(accesses);
    weir__free(waits);
    weir__free(spans);
    return false;
  }
  weir__trace_task *record = &(*list)[(*count)++];
  *record = *task;
  record->accesses = accesses;
  record->waits = waits;
  record->spans = spans;
  record->after = after;
  record->span_capacity = task->span_count;
  return true;
}

void weir__trace_add_task(weir__trace *trace, const weir__trace_task *task) {
  if (!append(&trace->tasks, &trace->task_count, &trace->task_capacity, task)) trace->dropped++;
}

void weir__trace_add_node(weir__trace *trace, const weir__trace_task *node) {
  if (!append(&trace->nodes, &trace->node_count, &trace->node_capacity, node)) trace->dropped++;
}

weir__trace_task *weir__trace_find(weir__trace *trace, uint64_t id) {
  if (trace->task_count == 0 || id < trace->tasks[0].id) return NULL;
  // Ids grow by at least one, so the record is at most that far from the first one.
  uint64_t distance = id - trace->tasks[0].id;
  size_t low = 0, high = distance < trace->task_count ? (size_t)distance + 1 : trace->task_count;
  if (trace->tasks[high - 1].id == id) return &trace->tasks[high - 1];
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (trace->tasks[middle].id == id) return &trace->tasks[middle];
    if (trace->tasks[middle].id < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

void weir__trace_add_span(weir__trace *trace, uint64_t id, const weir__trace_span *span) {
  weir__trace_task *task = weir__trace_find(trace, id);
  if (!task) return;
  if (task->span_count == task->span_capacity) {
    uint32_t capacity = task->span_capacity ? 2 * task->span_capacity : 2;
    weir__trace_span *spans = weir__allocate(capacity * sizeof(*spans));
    if (!spans) {
      trace->dropped++;
      return;
    }
    if (task->span_count) memcpy(spans, task->spans, task->span_count * sizeof(*spans));
    weir__free(task->spans);
    task->spans = spans;
    task->span_capacity = capacity;
  }
  task->spans[task->span_count++] = *span;
}

size_t weir__trace_task_count(const weir__trace *trace) {
  return trace->task_count;
}

const weir__trace_task *weir__trace_task_at(const weir__trace *trace, size_t index) {
  return &trace->tasks[index];
}

uint64_t weir__trace_dropped(const weir__trace *trace) {
  return trace->dropped + weir__trace_dropped_spans(trace);
}
