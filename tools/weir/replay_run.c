// SPDX-License-Identifier: Apache-2.0
//
// One replay: a context, a kernel per task of the stream, buffers as the program made and dropped them, and the passes.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check/check.h"
#include "replay.h"

typedef struct replay {
  const weir__stream *stream;
  const weir__replay_options *options;
  weir_context *context;
  weir_device *device;
  weir_kernel **kernels;  // per task
  double *spin_ns;        // per task, on the CPU
  weir_buffer **buffers;  // per buffer of the stream; NULL: not there now
  weir_buffer *addresses; // stands for the address space, in address mode
  uint64_t base;          // the lowest address
  weir_graph *graph;      // with --issue graph
  weir_arg *args;         // scratch
  uint64_t submit_ns;
  char *message;
  size_t message_size;
} replay;

static uint64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// A task on the CPU: keeps its worker busy for as long as was recorded.
static void spin(const weir_work *work) {
  double duration;
  memcpy(&duration, work->user, sizeof duration);
  uint64_t end = clock_ns() + (uint64_t)duration;
  while (clock_ns() < end) {
  }
}

static weir_status failed(replay *self, weir_status status) {
  snprintf(self->message, self->message_size, "%s", weir_last_error());
  return status;
}

static weir_status no_memory(replay *self) {
  snprintf(self->message, self->message_size, "%s: no memory", self->stream->name);
  return WEIR_ERROR_OUT_OF_MEMORY;
}

// Gives the kernel of a task its launches on simulated devices.
static weir_status set_launches(replay *self, uint32_t index) {
  const weir__stream_task *task = &self->stream->tasks[index];
  uint32_t count = task->kernel_count == 0 ? 1 : task->kernel_count;
  weir_sim_launch *launches = calloc(count, sizeof *launches);
  if (launches == NULL) return no_memory(self);
  launches[0] = (weir_sim_launch){.name = "nothing", .blocks = 1, .threads = 32};
  for (uint32_t i = 0; i < task->kernel_count; i++) {
    const weir__stream_kernel *kernel = &task->kernels[i];
    launches[i] = (weir_sim_launch){.name = kernel->name,
                                    .blocks = (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2],
                                    .threads = kernel->block[0] * kernel->block[1] * kernel->block[2],
                                    .registers = kernel->registers,
                                    .shared_bytes = kernel->shared_bytes,
                                    .us = kernel->us * self->options->time_scale,
                                    .copy_bytes = kernel->copy_bytes};
  }
  weir_status status = weir_kernel_set_sim(self->kernels[index], launches, count);
  free(launches);
  return status == WEIR_OK ? WEIR_OK : failed(self, status);
}

static weir_status make_kernels(replay *self) {
  const weir__stream *stream = self->stream;
  bool simulated = strcmp(weir_device_kind(self->device), "sim") == 0;
  self->kernels = calloc(stream->task_count + 1, sizeof(weir_kernel *));
  self->spin_ns = calloc(stream->task_count + 1, sizeof *self->spin_ns);
  self->args = calloc(WEIR_MAX_ARGS, sizeof *self->args);
  self->buffers = calloc((size_t)stream->buffer_count + 1, sizeof(weir_buffer *));
  if (self->kernels == NULL || self->spin_ns == NULL || self->args == NULL || self->buffers == NULL)
    return no_memory(self);
  for (uint32_t i = 0; i < stream->task_count; i++) {
    self->spin_ns[i] = weir__stream_task_us(&stream->tasks[i]) * 1000 * self->options->time_scale;
    weir_status status = weir_kernel_create(self->context, stream->tasks[i].op, &self->kernels[i]);
    if (status != WEIR_OK) return failed(self, status);
    if (simulated) {
      status = set_launches(self, i);
      if (status != WEIR_OK) return status;
    } else {
      status = weir_kernel_set_cpu(self->kernels[i], spin);
      if (status != WEIR_OK) return failed(self, status);
    }
  }
  return WEIR_OK;
}

// Wraps one buffer around all recorded addresses. No task touches its memory, so none is behind it.
static weir_status make_addresses(replay *self) {
  const weir__stream *stream = self->stream;
  uint64_t low = UINT64_MAX, high = 0;
  for (uint32_t i = 0; i < stream->buffer_count; i++) {
    const weir__stream_buffer *buffer = &stream->buffers[i];
    if (buffer->address < low) low = buffer->address;
    if (buffer->address + buffer->bytes > high) high = buffer->address + buffer->bytes;
  }
  if (high == 0) return WEIR_OK;
  self->base = low;
  static char nothing;
  weir_status status = weir_buffer_wrap(self->context, &nothing, high - low, &self->addresses);
  if (status == WEIR_OK) status = weir_buffer_set_label(self->addresses, "addresses");
  return status == WEIR_OK ? WEIR_OK : failed(self, status);
}

static weir_status make_buffer(replay *self, uint32_t index) {
  if (self->buffers[index] != NULL) return WEIR_OK; // a parameter, or kept
  weir_status status = weir_buffer_create(self->context, self->stream->buffers[index].bytes, &self->buffers[index]);
  if (status == WEIR_OK) {
    char label[32];
    snprintf(label, sizeof label, "%llu", (unsigned long long)self->stream->buffers[index].id);
    status = weir_buffer_set_label(self->buffers[index], label);
  }
  return status == WEIR_OK ? WEIR_OK : failed(self, status);
}

static void drop_buffer(replay *self, uint32_t index) {
  (void)weir_buffer_release(self->buffers[index]);
  self->buffers[index] = NULL;
}

static void fill_task(replay *self, uint32_t pass, uint32_t index, weir_task *task) {
  const weir__stream_task *recorded = &self->stream->tasks[index];
  for (uint32_t i = 0; i < recorded->access_count; i++) {
    const weir__stream_access *access = &recorded->accesses[i];
    weir_arg *arg = &self->args[i];
    *arg = (weir_arg){.mode = access->mode, .offset = access->offset, .bytes = access->bytes};
    if (self->addresses != NULL) {
      arg->buffer = self->addresses;
      arg->offset += self->stream->buffers[access->buffer].address - self->base;
    } else {
      arg->buffer = self->buffers[access->buffer];
    }
  }
  *task = (weir_task){.kernel = self->kernels[index],
                      .user = &self->spin_ns[index],
                      .args = self->args,
                      .arg_count = recorded->access_count,
                      .label = recorded->op,
                      .tag = (uint64_t)pass << 32 | index};
}

static weir_status submit(replay *self, uint32_t pass, uint32_t index) {
  weir_task task;
  fill_task(self, pass, index, &task);
  uint64_t start = clock_ns();
  weir_event *event = NULL;
  bool waits = self->stream->tasks[index].host_wait;
  weir_status status;
  if (self->graph != NULL)
    status = weir_graph_add(self->graph, &task, NULL);
  else
    status = weir_submit(self->context, &task, waits ? &event : NULL);
  self->submit_ns += clock_ns() - start;
  if (status != WEIR_OK) return failed(self, status);
  if (event == NULL) return WEIR_OK;
  status = weir_event_wait(event, WEIR_FOREVER);
  if (status != WEIR_OK) snprintf(self->message, self->message_size, "%s", weir_event_message(event));
  weir_event_release(event);
  return status;
}

// Goes through the stream once: submits its tasks, or records them.
static weir_status run_pass(replay *self, uint32_t pass) {
  const weir__stream *stream = self->stream;
  bool by_buffer = self->addresses == NULL;
  // What a graph names must stay until it is launched, and what is kept stays anyway.
  bool keeps = self->options->kept || self->graph != NULL;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < stream->event_count && status == WEIR_OK; i++) {
    const weir__stream_event *event = &stream->events[i];
    if (event->kind == WEIR__STREAM_TASK) {
      status = submit(self, pass, event->index);
    } else if (event->kind == WEIR__STREAM_BUFFER && by_buffer) {
      status = make_buffer(self, event->index);
    } else if (event->kind == WEIR__STREAM_FREE && by_buffer && !keeps) {
      for (uint32_t j = 0; j < event->count; j++) drop_buffer(self, stream->freed[event->index + j]);
    }
  }
  for (uint32_t i = 0; i < stream->buffer_count && by_buffer && !keeps; i++) {
    if (!stream->buffers[i].parameter) drop_buffer(self, i);
  }
  return status;
}

static weir_status run_graph(replay *self, weir__replay_result *result, uint64_t *out_start_ns) {
  weir_status status = weir_graph_create(self->context, &self->graph);
  if (status != WEIR_OK) return failed(self, status);
  status = run_pass(self, 0);
  if (status != WEIR_OK) return status;
  uint64_t edges = weir_graph_edge_count(self->graph); // builds it
  result->build_us = (double)weir_graph_build_time(self->graph) / 1000;
  *out_start_ns = weir_device_time(self->device);
  for (uint32_t pass = 0; pass < self->options->repeat; pass++) {
    uint64_t start = clock_ns();
    status = weir_graph_launch(self->graph, NULL);
    self->submit_ns += clock_ns() - start;
    if (status != WEIR_OK) return failed(self, status);
  }
  result->edges = edges * self->options->repeat;
  return WEIR_OK;
}

static weir_status run_passes(replay *self, weir__replay_result *result) {
  uint64_t start_ns = weir_device_time(self->device);
  weir_status status = WEIR_OK;
  if (self->stream->task_count == 0) return WEIR_OK;
  if (self->options->graph) {
    status = run_graph(self, result, &start_ns);
  } else {
    for (uint32_t pass = 0; pass < self->options->repeat && status == WEIR_OK; pass++) status = run_pass(self, pass);
  }
  if (status != WEIR_OK) return status;
  status = weir_finish(self->context);
  if (status != WEIR_OK) return failed(self, status);
  result->makespan_us = (double)(weir_device_time(self->device) - start_ns) / 1000;
  double submissions = (double)self->stream->task_count * (self->options->graph ? 1 : self->options->repeat);
  result->submit_ns = (double)self->submit_ns / submissions;
  weir_context_statistics(self->context, &result->statistics);
  if (!self->options->graph) result->edges = result->statistics.edges;
  return WEIR_OK;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

// Saves the timeline where it was asked for, and proves it.
static weir_status finish_timeline(replay *self, weir__replay_result *result) {
  const weir__replay_options *options = self->options;
  weir_status status = WEIR_OK;
  if (options->timeline != NULL) status = weir_trace_save(self->context, options->timeline, self->stream->name);
  if (status != WEIR_OK || !options->check) return status == WEIR_OK ? WEIR_OK : failed(self, status);
  char temporary[] = "/tmp/weir-timeline-XXXXXX.json";
  const char *path = options->timeline;
  if (path == NULL || !ends_with(path, ".json")) {
    int file = mkstemps(temporary, 5);
    if (file < 0) {
      snprintf(self->message, self->message_size, "%s: no temporary file for the check", self->stream->name);
      return WEIR_ERROR_IO;
    }
    close(file);
    path = temporary;
    status = weir_trace_save(self->context, path, self->stream->name);
  }
  weir__check_report *report = calloc(1, sizeof *report);
  if (status == WEIR_OK && report != NULL) {
    weir__check_options check = {.storage = options->kept || options->graph ? WEIR__CHECK_STORAGE_KEPT
                                                                            : WEIR__CHECK_STORAGE_FRESH,
                                 .passes = options->repeat,
                                 .ignore_host_waits = options->graph};
    result->checked = true;
    result->honoured = weir__check_file(path, self->stream, &check, report) == WEIR__CHECK_PROVED;
    if (!result->honoured) fprintf(stderr, "weir replay: %s: %s\n", self->stream->name, report->text);
  }
  if (path == temporary) unlink(temporary);
  free(report);
  if (status == WEIR_OK && !result->checked) return no_memory(self);
  return status == WEIR_OK ? WEIR_OK : failed(self, status);
}

static weir_status run(replay *self, weir__replay_result *result) {
  const weir__replay_options *options = self->options;
  weir_context_options context = {.devices = options->device,
                                  .window = options->window,
                                  .queues = options->hazards == WEIR__PLAN_SERIAL ? 1 : options->queues,
                                  .memory_limit = options->memory};
  if (!options->rename) context.flags |= WEIR_CONTEXT_NO_RENAME;
  if (options->hazards == WEIR__PLAN_SERIAL && !options->graph) context.flags |= WEIR_CONTEXT_IN_ORDER;
  if (options->check || options->timeline != NULL) context.flags |= WEIR_CONTEXT_TRACE;
  weir_status status = weir_context_create(&context, &self->context);
  if (status != WEIR_OK) return failed(self, status);
  self->device = weir_context_device(self->context, 0);
  snprintf(result->device, sizeof result->device, "%s", weir_device_name(self->device));
  status = make_kernels(self);
  if (status == WEIR_OK && options->hazards == WEIR__PLAN_ADDRESS) status = make_addresses(self);
  if (status == WEIR_OK) status = run_passes(self, result);
  if (status == WEIR_OK && (context.flags & WEIR_CONTEXT_TRACE)) status = finish_timeline(self, result);
  return status;
}

weir_status weir__replay_run(const weir__stream *stream, const weir__replay_options *options,
                             weir__replay_result *out_result, char *message, size_t message_size) {
  *out_result = (weir__replay_result){.edges = 0};
  message[0] = '\0';
  replay self = {.stream = stream, .options = options, .message = message, .message_size = message_size};
  weir_status status = run(&self, out_result);
  weir_context_release(self.context);
  free(self.kernels);
  free(self.spin_ns);
  free(self.buffers);
  free(self.args);
  return status;
}
