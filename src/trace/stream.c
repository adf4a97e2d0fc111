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
#include "trace/record.h"

enum {
  WAIT_RANGES = 1000,  // that the host waits for at once, below WEIR_MAX_ARGS
  ALIGNMENT = 64,      // of the addresses, which are made up: no two buffers share any
  GROUP_THREADS = 256, // of a work-group on a device with queues; how many it really has is not recorded
  WORKER_THREADS = 1024,
  WORKER_SHARED_BYTES = 114 * 1024, // so that a work-group has a multiprocessor, as it had a worker, to itself
};

// Numbers of tokens, which are buffers, and of tasks that stand for waits: beyond those of nodes (weir__trace_node_id), and
// exact as a double.
static const uint64_t TOKENS = 4000000000000000u, WAITS = 8000000000000000u;

typedef struct stream_range {
  uint64_t buffer, offset, bytes;
} stream_range;

typedef struct stream_buffer {
  bool declared, freed, dirty; // dirty: written since the host waited for all
} stream_buffer;

typedef struct stream_writer {
  const weir__trace *trace;
  FILE *file; // NULL: tasks are only counted
  char *message;
  size_t message_size;
  weir_status status;
  uint64_t tasks, kernels, waits, next_address;
  double kernel_us;
  const weir__trace_task **nodes; // by id
  bool *has_token, *token_dirty;  // of tasks, then of nodes in the order of `nodes`
  stream_buffer *buffers;         // as in the trace
  size_t *by_release;             // indices of buffers that were released
  size_t release_count, released; // how many are freed, or never will be
  size_t host_wait;               // the next
  stream_range *reads, *writes;   // of the present task
  size_t read_count, write_count, capacity;
  uint64_t ranges; // what it accesses, each counted once
} stream_writer;

static bool fail(stream_writer *writer, weir_status status, const char *text, uint64_t task) {
  writer->status = status;
  if (task > 0)
    snprintf(writer->message, writer->message_size, "task %" PRIu64 " %s", task, text);
  else
    snprintf(writer->message, writer->message_size, "%s", text);
  return false;
}

static bool no_memory(stream_writer *writer) {
  return fail(writer, WEIR_ERROR_OUT_OF_MEMORY, "no memory to write a stream", 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Finding records

static int by_id(const void *a, const void *b) {
  const weir__trace_task *left = *(const weir__trace_task *const *)a, *right = *(const weir__trace_task *const *)b;
  return (left->id > right->id) - (left->id < right->id);
}

// The first node whose id is at least `id`.
static size_t node_position(const stream_writer *writer, uint64_t id) {
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
static size_t nodes_of(const stream_writer *writer, const weir__trace_task *task, size_t *out_first) {
  if (!task->graph) return 0;
  *out_first = node_position(writer, weir__trace_node_id(task->id, 0));
  size_t end = node_position(writer, weir__trace_node_id(task->id + 1, 0));
  return end - *out_first == task->node_count ? task->node_count : 0;
}

// The index in has_token of a task or node; SIZE_MAX: it is not recorded.
static size_t index_of(const stream_writer *writer, uint64_t id) {
  const weir__trace *trace = writer->trace;
  const weir__trace_task *task = weir__trace_find((weir__trace *)(uintptr_t)trace, id);
  if (task != NULL) return (size_t)(task - trace->tasks);
  size_t node = node_position(writer, id);
  return node < trace->node_count && writer->nodes[node]->id == id ? trace->task_count + node : SIZE_MAX;
}

static const weir__trace_task *task_at(const stream_writer *writer, size_t index) {
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
static bool each_written(stream_writer *writer, uint64_t id, bool (*visit)(stream_writer *writer, size_t index)) {
  size_t index = index_of(writer, id), first = 0;
  if (index == SIZE_MAX || task_at(writer, index)->kind == WEIR__TRACE_TRANSFER) return true; // cleared, or not written
  size_t count = nodes_of(writer, task_at(writer, index), &first);
  if (count == 0) return visit(writer, index);
  for (size_t i = 0; i < count; i++) {
    if (!visit(writer, writer->trace->task_count + first + i)) return false;
  }
  return true;
}

static bool mark_token(stream_writer *writer, size_t index) {
  writer->has_token[index] = true;
  return true;
}

// Which tasks need tokens.
static void find_tokens(stream_writer *writer) {
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
// Lines

static bool declare(stream_writer *writer, uint64_t id, uint64_t bytes, const char *label) {
  if (writer->file == NULL) return true;
  fputs("{\"buffer\":", writer->file);
  weir__text_number(id, writer->file);
  fprintf(writer->file, ",\"bytes\":%" PRIu64 ",\"address\":%" PRIu64, bytes, writer->next_address);
  if (label[0] != '\0') {
    fputs(",\"label\":", writer->file);
    weir__text_string(label, writer->file);
  }
  fputs("}\n", writer->file);
  writer->next_address += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return true;
}

static bool use_buffer(stream_writer *writer, uint64_t id, bool writes) {
  const weir__trace_buffer *buffer = weir__trace_find_buffer(writer->trace, id);
  if (buffer == NULL) return no_memory(writer);
  stream_buffer *state = &writer->buffers[buffer - writer->trace->buffers];
  state->dirty = state->dirty || writes;
  if (state->declared) return true;
  state->declared = true;
  return declare(writer, id, buffer->bytes, buffer->label);
}

static bool add_range(stream_writer *writer, bool writes, stream_range range) {
  size_t *count = writes ? &writer->write_count : &writer->read_count;
  if (*count == writer->capacity) {
    size_t capacity = writer->capacity * 2;
    stream_range *reads = weir__allocate(capacity * sizeof *reads),
                 *written = weir__allocate(capacity * sizeof *written);
    if (reads == NULL || written == NULL) {
      weir__free(reads);
      weir__free(written);
      return no_memory(writer);
    }
    memcpy(reads, writer->reads, writer->read_count * sizeof *reads);
    memcpy(written, writer->writes, writer->write_count * sizeof *written);
    weir__free(writer->reads);
    weir__free(writer->writes);
    writer->reads = reads;
    writer->writes = written;
    writer->capacity = capacity;
  }
  (writes ? writer->writes : writer->reads)[(*count)++] = range;
  return true;
}

// A box is its rows.
static bool add_access(stream_writer *writer, bool writes, const weir__trace_access *access) {
  const weir_box *box = &access->box;
  if (box->rows == 0) return add_range(writer, writes, (stream_range){access->buffer, access->offset, access->bytes});
  if (box->rows * box->slices > WEIR_MAX_ARGS)
    return fail(writer, WEIR_ERROR_INVALID_ARGUMENT, "a box has more rows than a stream can express", 0);
  for (uint64_t slice = 0; slice < box->slices; slice++) {
    for (uint64_t row = 0; row < box->rows; row++) {
      uint64_t offset = access->offset + slice * box->slice_pitch + row * box->pitch;
      if (!add_range(writer, writes, (stream_range){access->buffer, offset, box->width})) return false;
    }
  }
  return true;
}

static void write_ranges(const char *key, const stream_range *ranges, size_t count, FILE *file) {
  fprintf(file, ",\"%s\":[", key);
  for (size_t i = 0; i < count; i++) {
    fprintf(file, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "", ranges[i].buffer, ranges[i].offset,
            ranges[i].bytes);
  }
  fputc(']', file);
}

static void write_kernel(stream_writer *writer, const weir__trace_task *task) {
  double us = task->end_ns > task->start_ns ? (double)(task->end_ns - task->start_ns) / 1000 : 0;
  FILE *file = writer->file;
  writer->kernels++;
  writer->kernel_us += us;
  if (file == NULL) return;
  fputs("{\"name\":", file);
  weir__text_string(task->kind == WEIR__TRACE_COPY ? task->label : task->kernel, file);
  if (task->kind == WEIR__TRACE_COPY) {
    uint64_t bytes = task->access_count > 0 ? task->accesses[0].bytes : 1;
    fprintf(file, ",\"bytes\":%" PRIu64, bytes);
  } else {
    bool worker = weir__trace_lane_word(&writer->trace->devices[task->device])[0] == 'w';
    uint32_t groups[3];
    for (int i = 0; i < 3; i++) groups[i] = task->groups[i] == 0 ? 1 : task->groups[i];
    fprintf(file, ",\"grid\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],\"block\":[%d,1,1],\"regs\":0,\"smem\":%d",
            groups[0], groups[1], groups[2], worker ? WORKER_THREADS : GROUP_THREADS, worker ? WORKER_SHARED_BYTES : 0);
  }
  fprintf(file, ",\"us\":%.3f}", us);
}

// Writes the task that is collected in reads and writes. `task` NULL: it has no kernel.
static bool write_line(stream_writer *writer, uint64_t number, const char *op, const weir__trace_task *task,
                       bool wait) {
  writer->tasks++;
  FILE *file = writer->file;
  if (task != NULL && writer->ranges > WEIR_MAX_ARGS)
    return fail(writer, WEIR_ERROR_INVALID_ARGUMENT,
                "has more accesses, with rows of boxes and tasks that it comes after, than a stream can express",
                number);
  writer->ranges = 0;
  if (file != NULL) {
    fprintf(file, "{\"task\":%" PRIu64 ",\"op\":", number);
    weir__text_string(op, file);
    write_ranges("reads", writer->reads, writer->read_count, file);
    write_ranges("writes", writer->writes, writer->write_count, file);
    fputs(",\"kernels\":[", file);
  }
  if (task != NULL) write_kernel(writer, task);
  if (file != NULL) fputs(wait ? "],\"host_wait\":true}\n" : "]}\n", file);
  writer->read_count = writer->write_count = 0;
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Tasks

static bool read_token(stream_writer *writer, size_t index) {
  writer->ranges++;
  return add_range(writer, false, (stream_range){TOKENS + task_at(writer, index)->id, 0, 1});
}

static bool write_token(stream_writer *writer, size_t index) {
  if (!writer->has_token[index]) return true;
  uint64_t token = TOKENS + task_at(writer, index)->id;
  writer->token_dirty[index] = true;
  writer->ranges++;
  return declare(writer, token, 1, "") && add_range(writer, true, (stream_range){token, 0, 1});
}

// Reads the tokens of the tasks that this one comes after.
static bool come_after(stream_writer *writer, const weir__trace_task *task) {
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

static bool write_task(stream_writer *writer, size_t index, const weir__trace_task *launch, bool wait) {
  const weir__trace_task *task = task_at(writer, index);
  if (task->kind == WEIR__TRACE_FENCE)
    return fail(writer, WEIR_ERROR_INVALID_ARGUMENT, "stands for work outside Weir, which a stream cannot express",
                task->id);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__trace_access *access = &task->accesses[i];
    if (!use_buffer(writer, access->buffer, access->mode != WEIR_READ)) return false;
    writer->ranges += access->box.rows == 0 ? 1 : access->box.rows * access->box.slices;
    if (access->mode != WEIR_WRITE && !add_access(writer, false, access)) return false;
    if (access->mode != WEIR_READ && !add_access(writer, true, access)) return false;
  }
  if (!come_after(writer, task) || (launch != NULL && !come_after(writer, launch)) || !write_token(writer, index))
    return false;
  return write_line(writer, task->id, task->label, task, wait);
}

// ---------------------------------------------------------------------------------------------------------------
// Waits of the host

static bool flush_wait(stream_writer *writer, const char *op, size_t least) {
  if (writer->read_count < least) return true;
  return write_line(writer, WAITS + ++writer->waits, op, NULL, true);
}

static bool wait_for_token(stream_writer *writer, size_t index) {
  if (!writer->token_dirty[index]) return true;
  writer->token_dirty[index] = false;
  return read_token(writer, index) && flush_wait(writer, "finish", WAIT_RANGES);
}

static bool wait_for_all(stream_writer *writer) {
  for (size_t i = 0; i < writer->trace->buffer_count; i++) {
    const weir__trace_buffer *buffer = &writer->trace->buffers[i];
    stream_buffer *state = &writer->buffers[i];
    if (!state->dirty || state->freed) continue;
    state->dirty = false;
    if (!add_range(writer, false, (stream_range){buffer->id, 0, buffer->bytes}) ||
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
static bool read_results(stream_writer *writer, size_t index) {
  const weir__trace_task *task = task_at(writer, index);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__trace_access *access = &task->accesses[i];
    const weir__trace_buffer *buffer = weir__trace_find_buffer(writer->trace, access->buffer);
    if (access->mode == WEIR_READ || buffer == NULL || writer->buffers[buffer - writer->trace->buffers].freed) continue;
    if (!add_access(writer, false, access) || !flush_wait(writer, "wait", WAIT_RANGES)) return false;
  }
  if (writer->has_token[index] && !read_token(writer, index)) return false;
  return flush_wait(writer, "wait", WAIT_RANGES);
}

static bool write_host_wait(stream_writer *writer, const weir__trace_host_wait *wait) {
  if (wait->task == 0) return wait_for_all(writer);
  return each_written(writer, wait->task, read_results) && flush_wait(writer, "wait", 1);
}

// Whether what the program does next comes after what was waited for.
static bool is_order(const weir__trace_host_wait *wait) {
  return wait->reached && wait->cause <= WEIR__TRACE_READ;
}

// Whether the host waits for the newest task, right after it.
static bool waits_at_once(const stream_writer *writer, const weir__trace_task *task) {
  const weir__trace *trace = writer->trace;
  size_t next = writer->host_wait;
  while (next < trace->host_wait_count && !is_order(&trace->host_waits[next])) next++;
  return next < trace->host_wait_count && trace->host_waits[next].after == task->id &&
         trace->host_waits[next].task == task->id;
}

// Waits that ended before task `id` was submitted.
static bool write_host_waits(stream_writer *writer, uint64_t id) {
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
static void write_frees(stream_writer *writer, uint64_t id) {
  const weir__trace_buffer *buffers = writer->trace->buffers;
  for (; writer->released < writer->release_count; writer->released++) {
    size_t index = writer->by_release[writer->released];
    if (buffers[index].released_after >= id) return;
    writer->buffers[index].freed = true;
    if (writer->file != NULL && writer->buffers[index].declared)
      fprintf(writer->file, "{\"free\":[%" PRIu64 "]}\n", buffers[index].id);
  }
}

static bool write_tasks(stream_writer *writer) {
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

static void write_header(const stream_writer *counted, const char *title, FILE *file) {
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

static bool sort_releases(stream_writer *writer) {
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

static bool prepare(stream_writer *writer) {
  const weir__trace *trace = writer->trace;
  size_t tasks = trace->task_count + trace->node_count + 1;
  writer->capacity = 64;
  writer->next_address = ALIGNMENT;
  writer->nodes = weir__allocate((trace->node_count + 1) * sizeof *writer->nodes);
  writer->has_token = weir__allocate_zeroed(tasks * sizeof *writer->has_token);
  writer->token_dirty = weir__allocate_zeroed(tasks * sizeof *writer->token_dirty);
  writer->buffers = weir__allocate_zeroed((trace->buffer_count + 1) * sizeof *writer->buffers);
  writer->by_release = weir__allocate((trace->buffer_count + 1) * sizeof *writer->by_release);
  writer->reads = weir__allocate(writer->capacity * sizeof *writer->reads);
  writer->writes = weir__allocate(writer->capacity * sizeof *writer->writes);
  if (writer->nodes == NULL || writer->has_token == NULL || writer->token_dirty == NULL || writer->buffers == NULL ||
      writer->by_release == NULL || writer->reads == NULL || writer->writes == NULL || !sort_releases(writer))
    return no_memory(writer);
  for (size_t i = 0; i < trace->node_count; i++) writer->nodes[i] = &trace->nodes[i];
  qsort(writer->nodes, trace->node_count, sizeof *writer->nodes, by_id);
  find_tokens(writer);
  return true;
}

static void clean_up(stream_writer *writer) {
  weir__free(writer->nodes);
  weir__free(writer->has_token);
  weir__free(writer->token_dirty);
  weir__free(writer->buffers);
  weir__free(writer->by_release);
  weir__free(writer->reads);
  weir__free(writer->writes);
}

// Once to count, as the header says how many tasks there are, and once to write.
static bool run(const weir__trace *trace, stream_writer *counted, FILE *file, char *message, size_t message_size) {
  *counted = (stream_writer){.trace = trace, .file = file, .message = message, .message_size = message_size};
  bool good = prepare(counted) && write_tasks(counted);
  clean_up(counted);
  return good;
}

weir_status weir__trace_write_stream(const weir__trace *trace, const char *title, FILE *file, char *message,
                                     size_t message_size) {
  stream_writer writer = {.message = message, .message_size = message_size};
  if (weir__trace_dropped(trace) > 0) {
    fail(&writer, WEIR_ERROR_OUT_OF_MEMORY, "records were lost for lack of memory, and a stream must be whole", 0);
    return writer.status;
  }
  if (run(trace, &writer, NULL, message, message_size)) {
    write_header(&writer, title, file);
    run(trace, &writer, file, message, message_size);
  }
  return writer.status;
}
