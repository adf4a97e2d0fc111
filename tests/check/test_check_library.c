// SPDX-License-Identifier: Apache-2.0
//
// Random streams run by the library itself: the checker proves every timeline. Usage: PROGRAM DEVICE...
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "schedule.h"
#include "weir/sim.h"

typedef struct run_options {
  const char *devices;
  uint32_t flags, window, passes;
  uint64_t seed, memory_limit;
  bool by_address, kept;
} run_options;

static void must(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

// Takes a little while, which differs from task to task.
static void work(const weir_work *work) {
  for (volatile uint64_t i = 0; i < (uintptr_t)work->user % 7 * 300;) i = i + 1;
}

typedef struct replay {
  const weir__stream *stream;
  const run_options *options;
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer **buffers; // by address: one, the first
  uint64_t base, span;
} replay;

static bool lives_on(const replay *r, uint32_t buffer) {
  return r->options->kept || r->stream->buffers[buffer].parameter;
}

static void submit(replay *r, uint32_t pass, uint32_t index) {
  const weir__stream_task *planned = &r->stream->tasks[index];
  weir_arg args[WEIR_MAX_ARGS];
  for (uint32_t i = 0; i < planned->access_count; i++) {
    const weir__stream_access *access = &planned->accesses[i];
    const weir__stream_buffer *buffer = &r->stream->buffers[access->buffer];
    args[i] = (weir_arg){
        .mode = access->mode, .buffer = r->buffers[access->buffer], .offset = access->offset, .bytes = access->bytes};
    if (r->options->by_address) args[i].buffer = r->buffers[0];
    if (r->options->by_address) args[i].offset += buffer->address - r->base;
  }
  weir_task task = {.kernel = r->kernel, .args = args, .arg_count = planned->access_count, .label = planned->op};
  task.tag = (uint64_t)pass << 32 | (index + 1);
  task.user = (void *)(uintptr_t)(index * 7919u);
  weir_event *event = NULL;
  must(weir_submit(r->context, &task, planned->host_wait ? &event : NULL));
  if (event) must(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
}

static void run_pass(replay *r, uint32_t pass) {
  const weir__stream *stream = r->stream;
  for (uint32_t i = 0; i < stream->event_count; i++) {
    const weir__stream_event *event = &stream->events[i];
    if (event->kind == WEIR__STREAM_TASK) submit(r, pass, event->index);
    if (r->options->by_address) continue;
    if (event->kind == WEIR__STREAM_BUFFER && !r->buffers[event->index]) {
      must(weir_buffer_create(r->context, stream->buffers[event->index].bytes, &r->buffers[event->index]));
    }
    for (uint32_t k = 0; event->kind == WEIR__STREAM_FREE && k < event->count; k++) {
      uint32_t buffer = stream->freed[event->index + k];
      if (lives_on(r, buffer)) continue;
      must(weir_buffer_release(r->buffers[buffer]));
      r->buffers[buffer] = NULL;
    }
  }
  for (uint32_t i = 0; i < stream->buffer_count && !r->options->by_address; i++) {
    if (lives_on(r, i) || !r->buffers[i]) continue;
    must(weir_buffer_release(r->buffers[i]));
    r->buffers[i] = NULL;
  }
}

static void make_address_space(replay *r) {
  uint64_t end = 0;
  r->base = UINT64_MAX;
  for (uint32_t i = 0; i < r->stream->buffer_count; i++) {
    const weir__stream_buffer *buffer = &r->stream->buffers[i];
    if (buffer->address < r->base) r->base = buffer->address;
    if (buffer->address + buffer->bytes > end) end = buffer->address + buffer->bytes;
  }
  must(weir_buffer_create(r->context, end - r->base, &r->buffers[0]));
}

static void run_and_check(const weir__stream *stream, const run_options *options) {
  char path[] = "/tmp/weir_timeline_XXXXXX.json";
  int file = mkstemps(path, 5);
  assert_true(file >= 0);
  close(file);
  replay r = {.stream = stream, .options = options};
  weir_context_options context = {.devices = options->devices, .window = options->window, .seed = options->seed};
  context.flags = WEIR_CONTEXT_TRACE | options->flags;
  context.memory_limit = options->memory_limit;
  must(weir_context_create(&context, &r.context));
  must(weir_kernel_create(r.context, "work", &r.kernel));
  must(weir_kernel_set_cpu(r.kernel, work));
  weir_sim_launch launch = {.name = "work", .blocks = 3, .threads = 64, .registers = 32, .us = 2.5};
  must(weir_kernel_set_sim(r.kernel, &launch, 1));
  r.buffers = calloc((size_t)stream->buffer_count + 1, sizeof *r.buffers);
  assert_non_null(r.buffers);
  if (options->by_address) make_address_space(&r);
  for (uint32_t pass = 0; pass < options->passes; pass++) run_pass(&r, pass);
  must(weir_finish(r.context));
  must(weir_trace_save(r.context, path, "test"));

  weir__check_options check = {.passes = options->passes};
  check.storage = options->kept ? WEIR__CHECK_STORAGE_KEPT : WEIR__CHECK_STORAGE_FRESH;
  weir__check_report report;
  if (weir__check_file(path, stream, &check, &report) != WEIR__CHECK_PROVED) {
    fail_msg("devices %s, flags %u, window %u, passes %u, %s, %s, memory %llu, seed %llu:\n%s", options->devices,
             options->flags, options->window, options->passes, options->by_address ? "by address" : "by buffer",
             options->kept ? "kept" : "fresh", (unsigned long long)options->memory_limit,
             (unsigned long long)options->seed, report.text);
  }
  for (uint32_t i = 0; i < stream->buffer_count; i++) {
    if (r.buffers[i]) must(weir_buffer_release(r.buffers[i]));
  }
  free(r.buffers);
  must(weir_kernel_release(r.kernel));
  weir_context_release(r.context);
  unlink(path);
}

static char **devices;
static int device_count;

static void test_random_streams(void **state) {
  (void)state;
  uint64_t seed = random_seed(6);
  for (int round = 0; round < 150; round++) {
    stream_shape shape = {.tasks = (uint32_t)random_in(&seed, 1, 80), .buffers = (uint32_t)random_in(&seed, 1, 8)};
    shape.most_bytes = random_in(&seed, 1, 200);
    shape.host_waits = random_in(&seed, 0, 4) == 0;
    shape.commutes = random_in(&seed, 0, 2) == 0;
    weir__stream *stream = random_stream(&shape, random_next(&seed));
    run_options options = {.devices = devices[random_in(&seed, 0, (uint64_t)device_count)],
                           .passes = (uint32_t)random_in(&seed, 1, 4)};
    options.window = random_in(&seed, 0, 2) ? 8 : 1024;
    options.flags = random_in(&seed, 0, 3) == 0 ? WEIR_CONTEXT_NO_RENAME : 0;
    options.flags |= random_in(&seed, 0, 6) == 0 ? WEIR_CONTEXT_IN_ORDER : 0;
    options.by_address = random_in(&seed, 0, 4) == 0;
    options.kept = random_in(&seed, 0, 4) == 0;
    options.seed = random_in(&seed, 0, 2) ? random_next(&seed) : 0;
    options.memory_limit = random_in(&seed, 0, 4) == 0 ? 8192 : 0;
    run_and_check(stream, &options);
    weir__stream_destroy(stream);
  }
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  devices = argv + 1;
  device_count = argc - 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_streams)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
