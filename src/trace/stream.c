// SPDX-License-Identifier: Apache-2.0
//
// A trace as a recorded stream (examples/streams/README.md has the format, docs/guide/timeline.md what is recorded how).
//
// A stream knows order by bytes only. Order for other reasons is written with *tokens*: buffers of one byte that stand for
// "this task is done". A task writes its token if a later one names it (weir_task.after), or if it writes nothing else, so
// that the host can wait for it; who comes after it reads the token. A wait of the host that is not for the newest task
// is a task without kernels, which reads what was written and which the host waits for.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "trace/stream_lines.h"

enum { WAIT_RANGES = 1000 }; // that the host waits for at once, below WEIR_MAX_ARGS

// Numbers of tokens, which are buffers, and of tasks that stand for waits: beyond those of nodes (weir__trace_node_id), and
// exact as a double.
static const uint64_t TOKENS = 4000000000000000u, WAITS = 8000000000000000u;

// ---------------------------------------------------------------------------------------------------------------
// Finding records

static int by_id(const void *a, const void *b) {
  const weir__trace_task *left = *(const weir__trace_task *const *)a, *right = *(const weir__trace_task *const *)b;
  return (left->id > right->id) - (left->id < right->id);
}

// The first node whose id is at least `id`.
static size_t node_position(const weir__stream_writer *writer, uint64_t id) {
  size_t low = 0, high = writer->trace->node_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (writer->nodes[middle]->id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The nodes of a launch that is written as its nodes: all of them are recorded. 0: it is written as one task.
static size_t nodes_of(const weir__stream_writer *writer, const weir__trace_task *task, size_t *out_first) {
  if (!task->graph) return 0;
  *out_first = node_position(writer, weir__trace_node_id(task->id, 0));
  size_t end = node_position(writer, weir__trace_node_id(task->id + 1, 0));
  return end - *out_first == task->node_count ? task->node_count : 0;
}

// The index in has_token of a task or node; SIZE_MAX: it is not recorded.
static size_t index_of(const weir__stream_writer *writer, uint64_t id) {
  const weir__trace *trace = writer->trace;
  const weir__trace_task *task = weir__trace_find((weir__trace *)(uintptr_t)trace, id);
  if (task != NULL) return (size_t)(task - trace->tasks);
  size_t node = node_position(writer, id);
  return node < trace->node_count && writer->nodes[node]->id == id ? trace->task_count + node : SIZE_MAX;
}

static const weir__trace_task *task_at(const weir__stream_writer *writer, size_t index) {
  return index < writer->trace->task_count ? &writer->trace->tasks[index]
                                           : writer->nodes[index - writer->trace->task_count];
}

static bool writes_any(const weir__trace_task *task) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    if (task->accesses[i].mode != WEIR_READ) return true;
  }
  return false;
}

// Calls `visit` for the tasks that stand for task `id` in the stream: its nodes, or it.
static bool each_written(weir__stream_writer *writer, uint64_t id,
                         bool (*visit)(weir__stream_writer *writer, size_t index)) {
  size_t index = index_of(writer, id), first = 0;
  if (index == SIZE_MAX || task_at(writer, index)->kind == WEIR__TRACE_TRANSFER) return true; // cleared, or not written
  size_t count = nodes_of(writer, task_at(writer, index), &first);
  if (count == 0) return visit(writer, index);
  for (size_t i = 0; i < count; i++) {
    if (!visit(writer, writer->trace->task_count + first + i)) return false;
  }
  return true;
}

static bool mark_token(weir__stream_writer *writer, size_t index) {
  writer->has_token[index] = true;
  return true;
}

// Which tasks need tokens.
static void find_tokens(weir__stream_writer *writer) {
  size_t count = writer->trace->task_count + writer->trace->node_count;
  for (size_t i = 0; i < count; i++) {
    const weir__trace_task *task = task_at(writer, i);
    if (!writes_any(task)) writer->has_token[i] = true;
    for (uint32_t j = 0; j < task->after_count; j++) each_written(writer, task->after[j], mark_token);
    for (uint32_t j = 0; j < task->wait_count; j++) {
      if (task->waits[j].hazard == WEIR__HAZARD_AFTER) each_written(writer, task->waits[j].task, mark_token);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Tasks

static bool read_token(weir__stream_writer *writer, size_t index) {
  writer->ranges++;
  return weir__stream_writer_add_range(writer, false,
                                       (weir__stream_writer_range){TOKENS + task_at(writer, index)->id, 0, 1});
}

static bool write_token(weir__stream_writer *writer, size_t index) {
  if (!writer->has_token[index]) return true;
  uint64_t token = TOKENS + task_at(writer, index)->id;
  writer->token_dirty[index] = true;
  writer->ranges++;
  return weir__stream_writer_declare(writer, token, 1, "") &&
         weir__stream_writer_add_range(writer, true, (weir__stream_writer_range){token, 0, 1});
}

// Reads the tokens of the tasks that this one comes after.
static bool come_after(weir__stream_writer *writer, const weir__trace_task *task) {
  for (uint32_t i = 0; i < task->after_count; i++) {
    if (!each_written(writer, task->after[i], read_token)) return false;
  }
  for (uint32_t i = 0; i < task->wait_count; i++) {
    bool named = task->waits[i].hazard != WEIR__HAZARD_AFTER;
    for (uint32_t j = 0; j < task->after_count && !named; j++) named = task->after[j] == task->waits[i].task;
    if (!named && !each_written(writer, task->waits[i].task, read_token)) return false;
  }
  return true;
}

static bool write_task(weir__stream_writer *writer, size_t index, const weir__trace_task *launch, bool wait) {
  const weir__trace_task *task = task_at(writer, index);
  if (task->kind == WEIR__TRACE_FENCE)
    return weir__stream_writer_fail(writer, WEIR_ERROR_INVALID_ARGUMENT,
                                    "stands for work outside Weir, which a stream cannot express", task->id);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__trace_access *access = &task->accesses[i];
    if (!weir__stream_writer_use_buffer(writer, access->buffer, access->mode != WEIR_READ)) return false;
    writer->ranges += access->box.rows == 0 ? 1 : access->box.rows * access->box.slices;
    if (access->mode != WEIR_WRITE && !weir__stream_writer_add_access(writer, false, access)) return false;
    if (access->mode != WEIR_READ && !weir__stream_writer_add_access(writer, true, access)) return false;
  }
  if (!come_after(writer, task) || (launch != NULL && !come_after(writer, launch)) || !write_token(writer, index))
    return false;
  return weir__stream_writer_write(writer, task->id, task->label, task, wait);
}

// ---------------------------------------------------------------------------------------------------------------
// Waits of the host

static bool flush_wait(weir__stream_writer *writer, const char *op, size_t least) {
  if (writer->read_count < least) return true;
  return weir__stream_writer_write(writer, WAITS + ++writer->waits, op, NULL, true);
}

static bool wait_for_token(weir__stream_writer *writer, size_t index) {
  if (!writer->token_dirty[index]) return true;
  writer->token_dirty[index] = false;
  return read_token(writer, index) && flush_wait(writer, "finish", WAIT_RANGES);
}

static bool wait_for_all(weir__stream_writer *writer) {
  for (size_t i = 0; i < writer->trace->buffer_count; i++) {
    const weir__trace_buffer *buffer = &writer->trace->buffers[i];
    weir__stream_writer_buffer *state = &writer->buffers[i];
    if (!state->dirty || state->freed) continue;
    state->dirty = false;
    if (!weir__stream_writer_add_range(writer, false, (weir__stream_writer_range){buffer->id, 0, buffer->bytes}) ||
        !flush_wait(writer, "finish", WAIT_RANGES))
      return false;
  }
  size_t count = writer->trace->task_count + writer->trace->node_count;
  for (size_t i = 0; i < count; i++) {
    if (!wait_for_token(writer, i)) return false;
  }
  return flush_wait(writer, "finish", 1);
}

// What a task wrote, as far as its buffers are still there; its token else.
static bool read_results(weir__stream_writer *writer, size_t index) {
  const weir__trace_task *task = task_at(writer, index);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__trace_access *access = &task->accesses[i];
    const weir__trace_buffer *buffer = weir__trace_find_buffer(writer->trace, access->buffer);
    if (access->mode == WEIR_READ || buffer == NULL || writer->buffers[buffer - writer->trace->buffers].freed) continue;
    if (!weir__stream_writer_add_access(writer, false, access) || !flush_wait(writer, "wait", WAIT_RANGES))
      return false;
  }
  if (writer->has_token[index] && !read_token(writer, index)) return false;
  return flush_wait(writer, "wait", WAIT_RANGES);
}

static bool write_host_wait(weir__stream_writer *writer, const weir__trace_host_wait *wait) {
  if (wait->task == 0) return wait_for_all(writer);
  return each_written(writer, wait->task, read_results) && flush_wait(writer, "wait", 1);
}

// Whether what the program does next comes after what was waited for.
static bool is_order(const weir__trace_host_wait *wait) {
  return wait->reached && wait->cause <= WEIR__TRACE_READ;
}

// Whether the host waits for the newest task, right after it.
static bool waits_at_once(const weir__stream_writer *writer, const weir__trace_task *task) {
  const weir__trace *trace = writer->trace;
  size_t next = writer->host_wait;
  while (next < trace->host_wait_count && !is_order(&trace->host_waits[next])) next++;
  return next < trace->host_wait_count && trace->host_waits[next].after == task->id &&
         trace->host_waits[next].task == task->id;
}

// Waits that ended before task `id` was submitted.
static bool write_host_waits(weir__stream_writer *writer, uint64_t id) {
  const weir__trace *trace = writer->trace;
  for (; writer->host_wait < trace->host_wait_count; writer->host_wait++) {
    const weir__trace_host_wait *wait = &trace->host_waits[writer->host_wait];
    if (wait->after >= id) return true;
    const weir__trace_task *task = weir__trace_find((weir__trace *)(uintptr_t)trace, wait->task);
    bool written = task != NULL && wait->task == wait->after && !task->graph; // with its task
    if (is_order(wait) && !written && !write_host_wait(writer, wait)) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The whole

// Buffers that were released before task `id` was submitted.
static void write_frees(weir__stream_writer *writer, uint64_t id) {
  const weir__trace_buffer *buffers = writer->trace->buffers;
  for (; writer->released < writer->release_count; writer->released++) {
    size_t index = writer->by_release[writer->released];
    if (buffers[index].released_after >= id) return;
    writer->buffers[index].freed = true;
    if (writer->file != NULL && writer->buffers[index].declared)
      fprintf(writer->file, "{\"free\":[%" PRIu64 "]}\n", buffers[index].id);
  }
}

static bool write_tasks(weir__stream_writer *writer) {
  const weir__trace *trace = writer->trace;
  for (size_t i = 0; i < trace->task_count; i++) {
    const weir__trace_task *task = &trace->tasks[i];
    if (!write_host_waits(writer, task->id)) return false;
    write_frees(writer, task->id);
    if (task->kind == WEIR__TRACE_TRANSFER) continue;
    size_t first = 0, nodes = nodes_of(writer, task, &first);
    if (nodes == 0 && !write_task(writer, i, NULL, !task->graph && waits_at_once(writer, task))) return false;
    for (size_t node = 0; node < nodes; node++) {
      if (!write_task(writer, trace->task_count + first + node, task, false)) return false;
    }
  }
  return write_host_waits(writer, UINT64_MAX);
}

static void write_header(const weir__stream_writer *counted, const char *title, FILE *file) {
  const weir__trace *trace = counted->trace;
  uint32_t lanes = trace->device_count > 0 && trace->devices[0].lanes > 0 ? trace->devices[0].lanes : 1;
  fputs("{\"weir_stream\":1,\"name\":", file);
  weir__text_string(title, file);
  fprintf(file, ",\"source\":\"Weir %s\",\"device\":", weir_version());
  weir__text_string(trace->device_count > 0 ? trace->devices[0].name : "", file);
  fprintf(file, ",\"sms\":%" PRIu32 ",\"tasks\":%" PRIu64 ",\"kernels\":%" PRIu64 ",\"kernel_us\":%.3f}\n",
          lanes < 65536 ? lanes : 65536, counted->tasks, counted->kernels, counted->kernel_us);
}

// For qsort, which passes no pointer.
typedef struct stream_release {
  uint64_t after;
  size_t index;
} stream_release;

static int by_release(const void *a, const void *b) {
  const stream_release *left = a, *right = b;
  if (left->after != right->after) return left->after < right->after ? -1 : 1;
  return (left->index > right->index) - (left->index < right->index);
}

static bool sort_releases(weir__stream_writer *writer) {
  const weir__trace *trace = writer->trace;
  stream_release *releases = weir__allocate((trace->buffer_count + 1) * sizeof *releases);
  if (releases == NULL) return false;
  for (size_t i = 0; i < trace->buffer_count; i++) {
    if (trace->buffers[i].released_after != UINT64_MAX)
      releases[writer->release_count++] = (stream_release){trace->buffers[i].released_after, i};
  }
  qsort(releases, writer->release_count, sizeof *releases, by_release);
  for (size_t i = 0; i < writer->release_count; i++) writer->by_release[i] = releases[i].index;
  weir__free(releases);
  return true;
}

static bool prepare(weir__stream_writer *writer) {
  const weir__trace *trace = writer->trace;
  size_t tasks = trace->task_count + trace->node_count + 1;
  writer->capacity = 64;
  writer->next_address = WEIR__STREAM_ALIGNMENT;
  writer->nodes = weir__allocate((trace->node_count + 1) * sizeof *writer->nodes);
  writer->has_token = weir__allocate_zeroed(tasks * sizeof *writer->has_token);
  writer->token_dirty = weir__allocate_zeroed(tasks * sizeof *writer->token_dirty);
  writer->buffers = weir__allocate_zeroed((trace->buffer_count + 1) * sizeof *writer->buffers);
  writer->by_release = weir__allocate((trace->buffer_count + 1) * sizeof *writer->by_release);
  writer->reads = weir__allocate(writer->capacity * sizeof *writer->reads);
  writer->writes = weir__allocate(writer->capacity * sizeof *writer->writes);
  if (writer->nodes == NULL || writer->has_token == NULL || writer->token_dirty == NULL || writer->buffers == NULL ||
      writer->by_release == NULL || writer->reads == NULL || writer->writes == NULL || !sort_releases(writer))
    return weir__stream_writer_no_memory(writer);
  for (size_t i = 0; i < trace->node_count; i++) writer->nodes[i] = &trace->nodes[i];
  qsort(writer->nodes, trace->node_count, sizeof *writer->nodes, by_id);
  find_tokens(writer);
  return true;
}

static void clean_up(weir__stream_writer *writer) {
  weir__free(writer->nodes);
  weir__free(writer->has_token);
  weir__free(writer->token_dirty);
  weir__free(writer->buffers);
  weir__free(writer->by_release);
  weir__free(writer->reads);
  weir__free(writer->writes);
}

// Once to count, as the header says how many tasks there are, and once to write.
static bool run(const weir__trace *trace, weir__stream_writer *counted, FILE *file, char *message,
                size_t message_size) {
  *counted = (weir__stream_writer){.trace = trace, .file = file, .message = message, .message_size = message_size};
  bool good = prepare(counted) && write_tasks(counted);
  clean_up(counted);
  return good;
}

weir_status weir__trace_write_stream(const weir__trace *trace, const char *title, FILE *file, char *message,
                                     size_t message_size) {
  weir__stream_writer writer = {.message = message, .message_size = message_size};
  if (weir__trace_dropped(trace) > 0) {
    weir__stream_writer_fail(&writer, WEIR_ERROR_OUT_OF_MEMORY,
                             "records were lost for lack of memory, and a stream must be whole", 0);
    return writer.status;
  }
  if (run(trace, &writer, NULL, message, message_size)) {
    write_header(&writer, title, file);
    run(trace, &writer, file, message, message_size);
  }
  return writer.status;
}
