// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph_info.h"
#include "plan/hazards.h"
#include "weir/sim.h"
#include "weir/weir.h"

// A replay by address sees one buffer that holds all recorded memory that is in use, piece after piece: memory that the
// recorded allocator never used is left out.
typedef struct address_layout {
  uint64_t *starts, *ends, *offsets; // stretches of used memory, ascending, and where they lie in the buffer
  uint32_t count;
  uint64_t bytes;
} address_layout;

typedef struct replay_state {
  const weir__stream *stream;
  const replay_options *options;
  weir_context *context;
  weir_graph *graph;
  weir_buffer **buffers; // by index; by address only [0]
  weir_kernel **kernels; // by task
  address_layout layout;
} replay_state;

static void check(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

static void *allocate(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  assert_non_null(memory);
  return memory;
}

weir__stream *replay_read(const char *name) {
  char path[256], message[512];
  snprintf(path, sizeof path, "examples/streams/%s.jsonl", name);
  weir__stream *stream = NULL;
  if (weir__stream_read(path, message, sizeof message, &stream) != WEIR_OK) fail_msg("%s", message);
  return stream;
}

static int by_address(const void *a, const void *b) {
  const weir__stream_buffer *const *left = a, *const *right = b;
  return (*left)->address < (*right)->address ? -1 : (*left)->address > (*right)->address;
}

static address_layout lay_out(const weir__stream *stream) {
  const weir__stream_buffer **sorted = allocate(stream->buffer_count, sizeof(void *));
  for (uint32_t i = 0; i < stream->buffer_count; i++) sorted[i] = &stream->buffers[i];
  qsort(sorted, stream->buffer_count, sizeof(void *), by_address);
  address_layout layout = {.starts = allocate(stream->buffer_count, sizeof(uint64_t)),
                           .ends = allocate(stream->buffer_count, sizeof(uint64_t)),
                           .offsets = allocate(stream->buffer_count, sizeof(uint64_t))};
  for (uint32_t i = 0; i < stream->buffer_count; i++) {
    uint64_t start = sorted[i]->address, end = start + sorted[i]->bytes;
    uint32_t last = layout.count - 1;
    if (layout.count > 0 && start <= layout.ends[last]) {
      if (layout.ends[last] < end) layout.ends[last] = end;
      continue;
    }
    layout.starts[layout.count] = start;
    layout.ends[layout.count++] = end;
  }
  for (uint32_t i = 0; i < layout.count; i++) {
    layout.offsets[i] = layout.bytes;
    layout.bytes += layout.ends[i] - layout.starts[i];
  }
  free(sorted);
  return layout;
}

static uint64_t place(const address_layout *layout, uint64_t address) {
  uint32_t low = 0, high = layout->count;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (layout->starts[middle] <= address)
      low = middle;
    else
      high = middle;
  }
  return layout->offsets[low] + (address - layout->starts[low]);
}

static weir_kernel *make_kernel(replay_state *replay, const weir__stream_task *task) {
  weir_sim_launch *launches = allocate(task->kernel_count, sizeof *launches);
  for (uint32_t i = 0; i < task->kernel_count; i++) {
    const weir__stream_kernel *kernel = &task->kernels[i];
    launches[i] = (weir_sim_launch){.name = kernel->name,
                                    .blocks = (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2],
                                    .threads = kernel->block[0] * kernel->block[1] * kernel->block[2],
                                    .registers = kernel->registers,
                                    .shared_bytes = kernel->shared_bytes,
                                    .us = kernel->us,
                                    .copy_bytes = kernel->copy_bytes};
  }
  weir_kernel *kernel = NULL;
  check(weir_kernel_create(replay->context, task->op, &kernel));
  check(weir_kernel_set_sim(kernel, launches, task->kernel_count));
  free(launches);
  return kernel;
}

static void submit(replay_state *replay, const weir__stream_task *task, weir_kernel *kernel) {
  const weir__stream *stream = replay->stream;
  bool addresses = replay->options->hazards == REPLAY_ADDRESS;
  weir_arg args[WEIR_MAX_ARGS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__stream_access *access = &task->accesses[i];
    args[count++] = (weir_arg){
        .mode = access->mode,
        .buffer = replay->buffers[addresses ? 0 : access->buffer],
        .offset = addresses ? place(&replay->layout, stream->buffers[access->buffer].address + access->offset)
                            : access->offset,
        .bytes = access->bytes};
  }
  weir_task submitted = {.kernel = kernel, .args = args, .arg_count = count};
  if (replay->graph != NULL) {
    check(weir_graph_add(replay->graph, &submitted, NULL));
    return;
  }
  weir_event *event = NULL;
  check(weir_submit(replay->context, &submitted, task->host_wait ? &event : NULL));
  if (event == NULL) return;
  check(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
}

static void create_buffer(replay_state *replay, uint32_t index) {
  if (replay->options->hazards == REPLAY_ADDRESS || replay->buffers[index] != NULL) return;
  check(weir_buffer_create(replay->context, replay->stream->buffers[index].bytes, &replay->buffers[index]));
}

static void play_events(replay_state *replay) {
  const weir__stream *stream = replay->stream;
  for (uint32_t i = 0; i < stream->event_count; i++) {
    const weir__stream_event *event = &stream->events[i];
    if (event->kind == WEIR__STREAM_BUFFER) create_buffer(replay, event->index);
    if (event->kind == WEIR__STREAM_TASK) submit(replay, &stream->tasks[event->index], replay->kernels[event->index]);
    if (event->kind != WEIR__STREAM_FREE || replay->options->hazards == REPLAY_ADDRESS || replay->graph != NULL)
      continue;
    for (uint32_t j = 0; j < event->count; j++) {
      uint32_t buffer = stream->freed[event->index + j];
      check(weir_buffer_release(replay->buffers[buffer]));
      replay->buffers[buffer] = NULL;
    }
  }
}

double replay_run(const weir__stream *stream, const replay_options *options) {
  replay_state replay = {.stream = stream, .options = options, .layout = lay_out(stream)};
  weir_context_options context_options = {.devices = options->device,
                                          .window = options->window,
                                          .queues = options->queues,
                                          .flags = options->hazards == REPLAY_SERIAL ? WEIR_CONTEXT_IN_ORDER : 0};
  check(weir_context_create(&context_options, &replay.context));
  replay.buffers = allocate(stream->buffer_count, sizeof(weir_buffer *));
  replay.kernels = allocate(stream->task_count, sizeof(weir_kernel *));
  for (uint32_t i = 0; i < stream->task_count; i++) replay.kernels[i] = make_kernel(&replay, &stream->tasks[i]);
  if (options->hazards == REPLAY_ADDRESS)
    check(weir_buffer_create(replay.context, replay.layout.bytes, &replay.buffers[0]));
  if (options->graph) check(weir_graph_create(replay.context, NULL, &replay.graph));
  weir_device *device = weir_context_device(replay.context, 0);
  uint64_t start_ns = weir_device_time(device);
  play_events(&replay);
  if (options->graph) check(weir_graph_launch(replay.graph, NULL));
  check(weir_finish(replay.context));
  uint64_t end_ns = weir_device_time(device);
  if (options->graph) start_ns += graph_info(replay.graph).build_ns;
  weir_context_release(replay.context);
  free(replay.buffers);
  free(replay.kernels);
  free(replay.layout.starts);
  free(replay.layout.ends);
  free(replay.layout.offsets);
  return (double)(end_ns - start_ns) / 1000;
}

static void plan_graph(const weir__stream *stream, weir__plan_graph *out_graph) {
  weir__plan_buffer *buffers = allocate(stream->buffer_count, sizeof *buffers);
  weir__plan_task *tasks = allocate(stream->task_count, sizeof *tasks);
  for (uint32_t i = 0; i < stream->buffer_count; i++) {
    buffers[i] = (weir__plan_buffer){.bytes = stream->buffers[i].bytes, .address = stream->buffers[i].address};
  }
  for (uint32_t i = 0; i < stream->task_count; i++) {
    const weir__stream_task *task = &stream->tasks[i];
    weir__plan_access *accesses = allocate(task->access_count, sizeof *accesses);
    for (uint32_t j = 0; j < task->access_count; j++) {
      const weir__stream_access *access = &task->accesses[j];
      accesses[j] = (weir__plan_access){access->mode, access->buffer, access->offset, access->bytes};
    }
    tasks[i] = (weir__plan_task){accesses, task->access_count, task->host_wait};
  }
  weir__plan_program program = {buffers, stream->buffer_count, tasks, stream->task_count};
  weir__plan_hazards hazards;
  check(weir__plan_find_hazards(&program, WEIR__PLAN_BUFFER, &hazards));
  check(weir__plan_hazard_graph(stream->task_count, &hazards, true, out_graph));
  weir__plan_hazards_free(&hazards);
  for (uint32_t i = 0; i < stream->task_count; i++) free((void *)(uintptr_t)tasks[i].accesses);
  free(tasks);
  free(buffers);
}

double replay_bound(const weir__stream *stream) {
  weir__plan_graph graph;
  plan_graph(stream, &graph);
  double *ends = allocate(stream->task_count, sizeof *ends);
  double longest = 0, work = 0;
  for (uint32_t i = 0; i < stream->task_count; i++) {
    double start = 0;
    for (uint64_t j = graph.first[i]; j < graph.first[i + 1]; j++) {
      if (start < ends[graph.predecessors[j]]) start = ends[graph.predecessors[j]];
    }
    ends[i] = start + weir__stream_task_us(&stream->tasks[i]);
    work += weir__stream_task_work_us(&stream->tasks[i], stream->sms);
    if (longest < ends[i]) longest = ends[i];
  }
  free(ends);
  weir__plan_graph_free(&graph);
  return longest > work ? longest : work;
}
