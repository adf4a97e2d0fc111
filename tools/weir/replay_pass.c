// SPDX-License-Identifier: Apache-2.0
#include "replay_pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

// By address, one buffer stands for the whole address space. Where nothing ever looks at memory, it needs none.
#define ADDRESS_SPACE ((void *)4096)

int weir__replay_failed(const weir__replay *run, weir_status status, const weir__stream_task *task) {
  if (task) {
    weir__cli_error("replay", "%s, line %u (%s): %s", run->stream->name, task->line, task->op, weir_last_error());
  } else {
    weir__cli_error("replay", "%s: %s", run->stream->name, weir_last_error());
  }
  return weir__cli_exit_code(status);
}

int weir__replay_no_memory(const weir__replay *run) {
  weir__cli_error("replay", "%s: no memory", run->stream->name);
  return WEIR__EXIT_FAILED;
}

static bool by_address(const weir__replay *run) {
  return run->options->hazards == WEIR__PLAN_ADDRESS;
}

int weir__replay_create_address_space(weir__replay *run) {
  uint64_t lowest = UINT64_MAX, end = 0;
  for (uint32_t b = 0; b < run->stream->buffer_count; b++) {
    const weir__stream_buffer *buffer = &run->stream->buffers[b];
    if (buffer->address < lowest) lowest = buffer->address;
    if (buffer->address + buffer->bytes > end) end = buffer->address + buffer->bytes;
  }
  if (end <= lowest) return WEIR__EXIT_OK;
  run->base = lowest;
  const char *kind = weir_device_information(run->device)->kind;
  weir_status status = strcmp(kind, "cuda") == 0 || strcmp(kind, "vulkan") == 0
                           ? weir_buffer_create(run->context, end - lowest, &run->address_space)
                           : weir_buffer_wrap(run->context, ADDRESS_SPACE, end - lowest, &run->address_space);
  if (status == WEIR_OK) status = weir_buffer_set_label(run->address_space, "addresses");
  return status == WEIR_OK ? WEIR__EXIT_OK : weir__replay_failed(run, status, NULL);
}

static int create_buffer(weir__replay *run, uint32_t index) {
  if (by_address(run) || run->buffers[index]) return WEIR__EXIT_OK;
  const weir__stream_buffer *recorded = &run->stream->buffers[index];
  weir_status status = weir_buffer_create(run->context, recorded->bytes, &run->buffers[index]);
  if (status == WEIR_OK && run->trace) {
    char label[32];
    snprintf(label, sizeof label, "%s %llu", recorded->parameter ? "parameter" : "b", (unsigned long long)recorded->id);
    status = weir_buffer_set_label(run->buffers[index], label);
  }
  return status == WEIR_OK ? WEIR__EXIT_OK : weir__replay_failed(run, status, NULL);
}

int weir__replay_create_buffers(weir__replay *run, bool parameters) {
  int exit_code = WEIR__EXIT_OK;
  for (uint32_t b = 0; b < run->stream->buffer_count && exit_code == WEIR__EXIT_OK; b++) {
    if (run->stream->buffers[b].parameter == parameters) exit_code = create_buffer(run, b);
  }
  return exit_code;
}

static void release_buffer(weir__replay *run, uint32_t index) {
  weir_buffer_release(run->buffers[index]);
  run->buffers[index] = NULL;
}

void weir__replay_release_buffers(weir__replay *run, bool parameters) {
  for (uint32_t b = 0; b < run->stream->buffer_count; b++) {
    if (parameters || !run->stream->buffers[b].parameter) release_buffer(run, b);
  }
}

static void release_freed(weir__replay *run, const weir__stream_event *event) {
  // A graph uses its buffers when it is launched, after all of them were recorded.
  if (run->options->storage == WEIR__REPLAY_KEPT || run->graph) return;
  for (uint32_t i = 0; i < event->count; i++) release_buffer(run, run->stream->freed[event->index + i]);
}

static int wait_for_host(weir__replay *run, weir_event *event, const weir__stream_task *task) {
  uint64_t start = weir__clock_ns();
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  run->host_wait_ns += weir__clock_ns() - start;
  return status == WEIR_OK ? WEIR__EXIT_OK : weir__replay_failed(run, status, task);
}

void weir__replay_make_task(weir__replay *run, uint32_t index, weir_task *out_task) {
  const weir__stream_task *task = &run->stream->tasks[index];
  uint32_t count = task->access_count;
  for (uint32_t i = 0; i < count; i++) {
    const weir__stream_access *access = &task->accesses[i];
    uint64_t start = by_address(run) ? run->stream->buffers[access->buffer].address - run->base : 0;
    run->args[i] = (weir_arg){
        .mode = access->mode,
        .buffer = by_address(run) ? run->address_space : run->buffers[access->buffer],
        .offset = start + access->offset,
        .bytes = access->bytes,
    };
  }
  if (run->chain && count < WEIR_MAX_ARGS) run->args[count++] = weir_updates(run->chain);
  *out_task = (weir_task){
      .kernel = run->kernels.kernels[index],
      .user = &run->kernels.spin_ns[index],
      .args = run->args,
      .arg_count = count,
      .label = task->op,
      .tag = run->trace ? run->pass << 32 | (index + 1) : 0, // no task that comes again has one
  };
}

static int submit(weir__replay *run, uint32_t index) {
  const weir__stream_task *task = &run->stream->tasks[index];
  weir_task submitted;
  weir__replay_make_task(run, index, &submitted);
  bool waits = task->host_wait && !run->options->no_host_waits;
  weir_event *event = NULL;
  weir_status status = run->graph ? weir_graph_add(run->graph, &submitted, NULL)
                                  : weir_submit(run->context, &submitted, waits ? &event : NULL);
  if (status != WEIR_OK) return weir__replay_failed(run, status, task);
  return event ? wait_for_host(run, event, task) : WEIR__EXIT_OK;
}

// Plays the recorded events: buffers come and go, tasks are submitted, or recorded if there is a graph.
static int play_events(weir__replay *run) {
  int exit_code = WEIR__EXIT_OK;
  for (uint32_t i = 0; i < run->stream->event_count && exit_code == WEIR__EXIT_OK; i++) {
    const weir__stream_event *event = &run->stream->events[i];
    if (event->kind == WEIR__STREAM_BUFFER) exit_code = create_buffer(run, event->index);
    if (event->kind == WEIR__STREAM_FREE) release_freed(run, event);
    if (event->kind == WEIR__STREAM_TASK) exit_code = submit(run, event->index);
  }
  return exit_code;
}

int weir__replay_submit_pass(weir__replay *run) {
  int exit_code = play_events(run);
  if (run->options->storage == WEIR__REPLAY_FRESH) weir__replay_release_buffers(run, false);
  return exit_code;
}

int weir__replay_record_pass(weir__replay *run, weir__replay_recorded *out_recorded) {
  *out_recorded = (weir__replay_recorded){0};
  weir_status status = weir_graph_create(run->context, NULL, &run->graph);
  out_recorded->graph = run->graph;
  int exit_code = status == WEIR_OK ? play_events(run) : weir__replay_failed(run, status, NULL);
  run->graph = NULL;
  if (exit_code != WEIR__EXIT_OK) return exit_code;
  weir_graph_info info;
  status = weir_graph_build(out_recorded->graph);
  if (status == WEIR_OK) status = weir_graph_information(out_recorded->graph, &info);
  if (status != WEIR_OK) return weir__replay_failed(run, status, NULL);
  run->edges += info.edges;
  run->build_ns += info.build_ns;
  if (run->options->storage == WEIR__REPLAY_KEPT || by_address(run)) return WEIR__EXIT_OK;
  out_recorded->buffers = calloc((size_t)run->stream->buffer_count + 1, sizeof(weir_buffer *));
  if (!out_recorded->buffers) return weir__replay_no_memory(run);
  for (uint32_t b = 0; b < run->stream->buffer_count; b++) {
    if (run->stream->buffers[b].parameter) continue;
    out_recorded->buffers[b] = run->buffers[b];
    run->buffers[b] = NULL;
  }
  return WEIR__EXIT_OK;
}

int weir__replay_launch_pass(const weir__replay *run, const weir__replay_recorded *recorded) {
  weir_status status = weir_graph_launch(recorded->graph, NULL);
  if (status != WEIR_OK) return weir__replay_failed(run, status, NULL);
  for (uint32_t b = 0; recorded->buffers && b < run->stream->buffer_count; b++) {
    weir_buffer_release(recorded->buffers[b]);
  }
  return WEIR__EXIT_OK;
}
