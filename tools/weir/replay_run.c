// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"

// In a replay by address, one buffer stands for the whole address space. Nothing ever looks at its memory.
#define ADDRESS_SPACE ((void *)4096)

typedef struct replay {
  const weir__stream *stream;
  const weir__replay_options *options;
  weir_context *context;
  weir_graph *graph;          // being recorded, or to be launched again
  weir_buffer **buffers;      // by index in the stream; NULL: not there (now)
  weir_buffer *address_space; // by address
  bool trace;
  uint64_t base;         // the lowest address
  weir_kernel **kernels; // by task
  uint64_t *spin_ns;     // by task
  weir_arg *args;        // WEIR_MAX_ARGS
  uint64_t pass;
  uint64_t edges, build_ns;
  uint64_t host_wait_ns; // real time spent in them
} replay;

// What a task does on the CPU: takes its time on one worker, and touches nothing.
static void spin(const weir_work *work) {
  const uint64_t *ns = work->user;
  uint64_t start = weir__clock_ns();
  while (weir__clock_ns() - start < *ns) {
  }
}

static int failed(const replay *run, weir_status status, const weir__stream_task *task) {
  if (task) {
    weir__cli_error("replay", "%s, line %u (%s): %s", run->stream->name, task->line, task->op, weir_last_error());
  } else {
    weir__cli_error("replay", "%s: %s", run->stream->name, weir_last_error());
  }
  return weir__cli_exit_code(status);
}

static int no_memory(const replay *run) {
  weir__cli_error("replay", "%s: no memory", run->stream->name);
  return WEIR__EXIT_FAILED;
}

static weir_status set_launches(const replay *run, const weir__stream_task *task, weir_kernel *kernel) {
  // A task without kernels still takes its place in a queue, for no time.
  uint32_t count = task->kernel_count ? task->kernel_count : 1;
  weir_sim_launch *launches = calloc(count, sizeof *launches);
  if (!launches) return WEIR_ERROR_OUT_OF_MEMORY;
  launches[0].threads = 1;
  for (uint32_t i = 0; i < task->kernel_count; i++) {
    const weir__stream_kernel *recorded = &task->kernels[i];
    launches[i] = (weir_sim_launch){
        .name = recorded->name,
        .blocks = (uint64_t)recorded->grid[0] * recorded->grid[1] * recorded->grid[2],
        .threads = recorded->block[0] * recorded->block[1] * recorded->block[2],
        .registers = recorded->registers,
        .shared_bytes = recorded->shared_bytes,
        .us = recorded->us * run->options->time_scale,
        .copy_bytes = recorded->copy_bytes,
    };
  }
  weir_status status = weir_kernel_set_sim(kernel, launches, count);
  free(launches);
  return status;
}

static int create_kernels(replay *run) {
  bool on_cpu = true;
  for (uint32_t i = 0; i < weir_context_device_count(run->context); i++) {
    on_cpu = on_cpu && weir_device_kind(weir_context_device(run->context, i))[0] == 'c';
  }
  for (uint32_t t = 0; t < run->stream->task_count; t++) {
    const weir__stream_task *task = &run->stream->tasks[t];
    run->spin_ns[t] = (uint64_t)llround(weir__stream_task_us(task) * run->options->time_scale * 1000);
    const char *name = task->kernel_count ? task->kernels[0].name : task->op;
    weir_status status = weir_kernel_create(run->context, name, &run->kernels[t]);
    if (status == WEIR_OK) {
      status = on_cpu ? weir_kernel_set_cpu(run->kernels[t], spin) : set_launches(run, task, run->kernels[t]);
    }
    if (status != WEIR_OK) return failed(run, status, task);
  }
  return WEIR__EXIT_OK;
}

static int create_address_space(replay *run) {
  uint64_t lowest = UINT64_MAX, end = 0;
  for (uint32_t b = 0; b < run->stream->buffer_count; b++) {
    const weir__stream_buffer *buffer = &run->stream->buffers[b];
    if (buffer->address < lowest) lowest = buffer->address;
    if (buffer->address + buffer->bytes > end) end = buffer->address + buffer->bytes;
  }
  if (end <= lowest) return WEIR__EXIT_OK;
  run->base = lowest;
  weir_status status = weir_buffer_wrap(run->context, ADDRESS_SPACE, end - lowest, &run->address_space);
  if (status == WEIR_OK) status = weir_buffer_set_label(run->address_space, "addresses");
  return status == WEIR_OK ? WEIR__EXIT_OK : failed(run, status, NULL);
}

static bool by_address(const replay *run) {
  return run->options->hazards == WEIR__PLAN_ADDRESS;
}

static int create_buffer(replay *run, uint32_t index) {
  if (by_address(run) || run->buffers[index]) return WEIR__EXIT_OK;
  const weir__stream_buffer *recorded = &run->stream->buffers[index];
  char label[32];
  snprintf(label, sizeof label, "%s %llu", recorded->parameter ? "parameter" : "b", (unsigned long long)recorded->id);
  weir_status status = weir_buffer_create(run->context, recorded->bytes, &run->buffers[index]);
  if (status == WEIR_OK) status = weir_buffer_set_label(run->buffers[index], label);
  return status == WEIR_OK ? WEIR__EXIT_OK : failed(run, status, NULL);
}

static void release_buffer(replay *run, uint32_t index) {
  weir_buffer_release(run->buffers[index]);
  run->buffers[index] = NULL;
}

// Releases what does not live on after a pass.
static void release_pass_buffers(replay *run) {
  if (run->options->storage == WEIR__REPLAY_KEPT) return;
  for (uint32_t b = 0; b < run->stream->buffer_count; b++) {
    if (!run->stream->buffers[b].parameter) release_buffer(run, b);
  }
}

static void release_freed(replay *run, const weir__stream_event *event) {
  // A graph uses its buffers when it is launched, after all of them were recorded.
  if (run->options->storage == WEIR__REPLAY_KEPT || run->options->issue == WEIR__REPLAY_GRAPH) return;
  for (uint32_t i = 0; i < event->count; i++) release_buffer(run, run->stream->freed[event->index + i]);
}

static int wait_for_host(replay *run, weir_event *event, const weir__stream_task *task) {
  uint64_t start = weir__clock_ns();
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  run->host_wait_ns += weir__clock_ns() - start;
  return status == WEIR_OK ? WEIR__EXIT_OK : failed(run, status, task);
}

static int submit(replay *run, uint32_t index) {
  const weir__stream_task *task = &run->stream->tasks[index];
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__stream_access *access = &task->accesses[i];
    uint64_t start = by_address(run) ? run->stream->buffers[access->buffer].address - run->base : 0;
    run->args[i] = (weir_arg){
        .mode = access->mode,
        .buffer = by_address(run) ? run->address_space : run->buffers[access->buffer],
        .offset = start + access->offset,
        .bytes = access->bytes,
    };
  }
  weir_task submitted = {
      .kernel = run->kernels[index],
      .user = &run->spin_ns[index],
      .args = run->args,
      .arg_count = task->access_count,
      .label = task->op,
      .tag = run->pass << 32 | index,
  };
  weir_event *event = NULL;
  weir_status status = run->graph ? weir_graph_add(run->graph, &submitted, NULL)
                                  : weir_submit(run->context, &submitted, task->host_wait ? &event : NULL);
  if (status != WEIR_OK) return failed(run, status, task);
  return event ? wait_for_host(run, event, task) : WEIR__EXIT_OK;
}

// Plays the recorded events: buffers come and go, tasks are submitted, or recorded if there is a graph.
static int play_events(replay *run) {
  int exit_code = WEIR__EXIT_OK;
  for (uint32_t i = 0; i < run->stream->event_count && exit_code == WEIR__EXIT_OK; i++) {
    const weir__stream_event *event = &run->stream->events[i];
    if (event->kind == WEIR__STREAM_BUFFER) exit_code = create_buffer(run, event->index);
    if (event->kind == WEIR__STREAM_FREE) release_freed(run, event);
    if (event->kind == WEIR__STREAM_TASK) exit_code = submit(run, event->index);
  }
  return exit_code;
}

// A graph that is recorded and built, with the buffers that live until it was launched.
typedef struct recorded_pass {
  weir_graph *graph;
  weir_buffer **buffers; // by index in the stream; NULL: none to release
} recorded_pass;

// Records one pass. The buffers of the pass move from `run` to it.
static int record_pass(replay *run, recorded_pass *pass) {
  weir_status status = weir_graph_create(run->context, &run->graph);
  pass->graph = run->graph;
  int exit_code = status == WEIR_OK ? play_events(run) : failed(run, status, NULL);
  run->graph = NULL;
  if (exit_code != WEIR__EXIT_OK) return exit_code;
  run->edges += weir_graph_edge_count(pass->graph); // builds it
  run->build_ns += weir_graph_build_time(pass->graph);
  if (run->options->storage == WEIR__REPLAY_KEPT || by_address(run)) return WEIR__EXIT_OK;
  pass->buffers = calloc((size_t)run->stream->buffer_count + 1, sizeof(weir_buffer *));
  if (!pass->buffers) return no_memory(run);
  for (uint32_t b = 0; b < run->stream->buffer_count; b++) {
    if (run->stream->buffers[b].parameter) continue;
    pass->buffers[b] = run->buffers[b];
    run->buffers[b] = NULL;
  }
  return WEIR__EXIT_OK;
}

// Launches what was recorded, `repeat` times in all. Buffers are released as soon as nothing more will use them.
static int launch_passes(replay *run, const recorded_pass *passes, uint64_t recorded, weir__replay_progress progress,
                         void *user) {
  for (uint64_t i = 0; i < run->options->repeat; i++) {
    const recorded_pass *pass = &passes[i % recorded];
    weir_status status = weir_graph_launch(pass->graph, NULL);
    if (status != WEIR_OK) return failed(run, status, NULL);
    for (uint32_t b = 0; pass->buffers && b < run->stream->buffer_count; b++) weir_buffer_release(pass->buffers[b]);
    if (progress) progress(user, i + 1);
  }
  return WEIR__EXIT_OK;
}

// A graph per pass where buffers are new in each, and for a timeline, whose tasks carry the number of their pass; else one
// graph that is launched again. All are built before the first launch.
static int play_graphs(replay *run, weir__replay_progress progress, void *user, uint64_t *out_start_ns) {
  uint64_t count = run->options->storage == WEIR__REPLAY_FRESH || run->trace ? run->options->repeat : 1;
  recorded_pass *passes = calloc(count, sizeof *passes);
  if (!passes) return no_memory(run);
  int exit_code = WEIR__EXIT_OK;
  for (; run->pass < count && exit_code == WEIR__EXIT_OK; run->pass++) exit_code = record_pass(run, &passes[run->pass]);
  *out_start_ns = weir_device_time(weir_context_device(run->context, 0));
  if (exit_code == WEIR__EXIT_OK) exit_code = launch_passes(run, passes, count, progress, user);
  if (count < run->options->repeat) run->edges *= run->options->repeat;
  for (uint64_t i = 0; i < count; i++) free(passes[i].buffers);
  free(passes);
  return exit_code;
}

static int play_passes(replay *run, weir__replay_progress progress, void *user, weir__replay_run *out_run) {
  weir_device *device = weir_context_device(run->context, 0);
  uint64_t submit_start = weir__clock_ns(), start = weir_device_time(device);
  int exit_code = WEIR__EXIT_OK;
  if (run->options->issue == WEIR__REPLAY_GRAPH && run->stream->task_count > 0) {
    exit_code = play_graphs(run, progress, user, &start);
  } else {
    for (; run->pass < run->options->repeat && exit_code == WEIR__EXIT_OK; run->pass++) {
      exit_code = play_events(run);
      release_pass_buffers(run);
      if (progress) progress(user, run->pass + 1);
    }
  }
  if (exit_code != WEIR__EXIT_OK) return exit_code;
  out_run->submit_ns = (double)(weir__clock_ns() - submit_start - run->host_wait_ns);
  weir_status status = weir_finish(run->context);
  if (status != WEIR_OK) return failed(run, status, NULL);
  out_run->build_us = (double)run->build_ns / 1000;
  out_run->makespan_us = (double)(weir_device_time(device) - start) / 1000;
  return WEIR__EXIT_OK;
}

static int prepare(replay *run, bool trace) {
  const weir__replay_options *options = run->options;
  weir_context_options context_options = {
      .devices = options->device,
      .window = (uint32_t)options->window,
      .queues = options->hazards == WEIR__PLAN_SERIAL ? 1 : (uint32_t)options->queues,
      .memory_limit = options->memory,
      .flags = (options->rename == WEIR__REPLAY_OFF ? WEIR_CONTEXT_NO_RENAME : 0u) | (trace ? WEIR_CONTEXT_TRACE : 0u) |
               (options->hazards == WEIR__PLAN_SERIAL ? WEIR_CONTEXT_IN_ORDER : 0u),
  };
  weir_status status = weir_context_create(&context_options, &run->context);
  if (status != WEIR_OK) return failed(run, status, NULL);
  run->buffers = calloc((size_t)run->stream->buffer_count + 1, sizeof(*run->buffers));
  run->kernels = calloc((size_t)run->stream->task_count + 1, sizeof(*run->kernels));
  run->spin_ns = calloc((size_t)run->stream->task_count + 1, sizeof(*run->spin_ns));
  run->args = calloc(WEIR_MAX_ARGS, sizeof *run->args);
  run->trace = trace;
  if (!run->buffers || !run->kernels || !run->spin_ns || !run->args) return no_memory(run);
  int exit_code = create_kernels(run);
  return exit_code == WEIR__EXIT_OK && by_address(run) ? create_address_space(run) : exit_code;
}

static void read_statistics(const replay *run, weir__replay_run *out_run) {
  weir_statistics statistics;
  weir_context_statistics(run->context, &statistics);
  snprintf(out_run->device, sizeof out_run->device, "%s", weir_device_name(weir_context_device(run->context, 0)));
  out_run->edges = run->options->issue == WEIR__REPLAY_GRAPH ? run->edges : statistics.edges;
  out_run->renamed = statistics.renamed;
  out_run->peak_bytes = statistics.peak_bytes;
  out_run->window = statistics.window;
}

int weir__replay_run_stream(const weir__stream *stream, const weir__replay_options *options,
                            const char *const *trace_paths, weir__replay_progress progress, void *user,
                            weir__replay_run *out_run) {
  *out_run = (weir__replay_run){0};
  replay run = {.stream = stream, .options = options};
  int exit_code = prepare(&run, trace_paths != NULL);
  if (exit_code == WEIR__EXIT_OK) exit_code = play_passes(&run, progress, user, out_run);
  if (exit_code == WEIR__EXIT_OK) read_statistics(&run, out_run);
  for (size_t i = 0; exit_code == WEIR__EXIT_OK && trace_paths && trace_paths[i]; i++) {
    char title[256];
    snprintf(title, sizeof title, "%s on %s, hazards by %s", stream->name, out_run->device,
             options->hazards == WEIR__PLAN_SERIAL ? "order (serial)"
                                                   : weir__plan_mode_name((weir__plan_mode)options->hazards));
    weir_status status = weir_trace_save(run.context, trace_paths[i], title);
    if (status != WEIR_OK) exit_code = failed(&run, status, NULL);
  }
  weir_context_release(run.context); // with its buffers, kernels and graphs
  free(run.buffers);
  free(run.kernels);
  free(run.spin_ns);
  free(run.args);
  return exit_code;
}
