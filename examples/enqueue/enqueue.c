// SPDX-License-Identifier: Apache-2.0
//
// A library's calls as tasks. The "library" is the CUDA driver itself: filling and copying memory, asynchronously, on a
// stream. Its calls become kernels by enqueue functions, nodes of a graph, and the work of an open task.
//
// Exits with 77 if there is no CUDA device.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/enqueue.h"

enum { COUNT = 1 << 16, BYTES = COUNT * 4, SKIPPED = 77 };

// The library.
static int (*fill_async)(unsigned long long to, unsigned value, size_t count, void *stream);
static int (*push_context)(void *context);
static int (*pop_context)(void **context);
static int (*copy_async)(unsigned long long to, unsigned long long from, size_t bytes, void *stream);

static void check(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "enqueue: %s\n", weir_last_error());
  exit(1);
}

// Looks a function of the library up. The pointer to it is an object's address in dlsym, which C does not convert.
static void find(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
  if (symbol != NULL) return;
  fprintf(stderr, "enqueue: the driver has no %s\n", name);
  exit(1);
}

// What the library says becomes what the task says.
static weir_status done(const weir_enqueue *call, int result, const char *what) {
  if (result != 0) weir_enqueue_fail(call, what);
  return WEIR_OK;
}

// Arguments: what is overwritten, and a number.
static weir_status fill(const weir_enqueue *call) {
  unsigned value;
  memcpy(&value, call->args[1].value, sizeof value);
  int result = fill_async(call->args[0].pointer, value, call->args[0].bytes / 4, call->queue);
  return done(call, result, "cuMemsetD32Async refused");
}

// Arguments: what is overwritten, and what is read. By way of scratch memory, to show some.
static weir_status copy(const weir_enqueue *call) {
  int result = copy_async(call->scratch.pointer, call->args[1].pointer, call->args[1].bytes, call->queue);
  if (result == 0) result = copy_async(call->args[0].pointer, call->scratch.pointer, call->args[0].bytes, call->queue);
  return done(call, result, "cuMemcpyAsync refused");
}

static weir_kernel *make_kernel(weir_context *context, const char *name, weir_enqueue_code code) {
  weir_kernel *kernel;
  check(weir_kernel_create(context, name, &kernel));
  check(weir_kernel_set_enqueue(kernel, "cuda", &code));
  return kernel;
}

static void expect(weir_buffer *buffer, unsigned wanted, const char *what) {
  unsigned *numbers = malloc(BYTES), wrong = 0;
  if (numbers == NULL) exit(1);
  check(weir_read(buffer, 0, BYTES, numbers));
  for (int i = 0; i < COUNT; i++) wrong += numbers[i] != wanted;
  printf("%s: %u of %d numbers are wrong\n", what, wrong, COUNT);
  free(numbers);
  if (wrong > 0) exit(1);
}

// Single tasks: ordered by what they read and write.
static void submit_tasks(weir_context *context, weir_kernel *const kernels[2], weir_buffer *const buffers[2]) {
  unsigned value = 7;
  weir_arg fills[] = {weir_writes(buffers[0]), weir_value(&value, sizeof value)};
  weir_arg copies[] = {weir_writes(buffers[1]), weir_reads(buffers[0])};
  check(weir_submit(context, &(weir_task){.kernel = kernels[0], .args = fills, .arg_count = 2}, NULL));
  check(weir_submit(context, &(weir_task){.kernel = kernels[1], .args = copies, .arg_count = 2}, NULL));
  expect(buffers[1], 7, "tasks");
}

// The same in a graph: its launches put the work there without calling the functions again.
static void launch_graph(weir_context *context, weir_kernel *const kernels[2], weir_buffer *const buffers[2]) {
  weir_graph *graph;
  weir_graph_calls calls;
  unsigned value = 8;
  weir_arg fills[] = {weir_writes(buffers[0]), weir_value(&value, sizeof value)};
  weir_arg copies[] = {weir_writes(buffers[1]), weir_reads(buffers[0])};
  check(weir_graph_create(context, NULL, &graph));
  check(weir_graph_add(graph, &(weir_task){.kernel = kernels[0], .args = fills, .arg_count = 2}, NULL));
  check(weir_graph_add(graph, &(weir_task){.kernel = kernels[1], .args = copies, .arg_count = 2}, NULL));
  for (int i = 0; i < 10; i++) {
    check(weir_graph_launch(graph, NULL));
    check(weir_finish(context));
  }
  expect(buffers[1], 8, "graph");
  check(weir_graph_get_calls(graph, &calls));
  printf("10 launches of %u calls: %llu called them, %llu calls were captured%s%s\n", calls.nodes,
         (unsigned long long)calls.called, (unsigned long long)calls.captured, calls.reason[0] != '\0' ? "; " : "",
         calls.reason);
  check(weir_graph_release(graph));
}

// No function: this thread puts the work on the queue.
static void use_queue(weir_context *context, weir_buffer *buffer) {
  weir_open_task *open;
  const weir_enqueue *call;
  weir_arg args[] = {weir_writes(buffer)};
  check(weir_task_begin(context, &(weir_task){.args = args, .arg_count = 1, .label = "by hand"}, &open, &call));
  int result = push_context(call->native_context); // this thread has none that is current
  if (result == 0) {
    result = fill_async(call->args[0].pointer, 9, COUNT, call->queue);
    pop_context(NULL);
  }
  if (result == 0)
    check(weir_task_end(open, NULL, 0, NULL));
  else
    check(weir_task_abandon(open, WEIR_ERROR_TASK_FAILED, "cuMemsetD32Async refused"));
  expect(buffer, 9, "open task");
}

int main(void) {
  const char *file = getenv("WEIR_CUDA_DRIVER");
  weir_context *context;
  if (weir_context_create(&(weir_context_options){.devices = "cuda"}, &context) != WEIR_OK) {
    printf("skipped: %s\n", weir_last_error());
    return SKIPPED;
  }
  void *library = dlopen(file != NULL ? file : "libcuda.so.1", RTLD_NOW);
  if (library == NULL) return 1;
  find(library, "cuCtxPushCurrent_v2", &push_context);
  find(library, "cuCtxPopCurrent_v2", &pop_context);
  find(library, "cuMemsetD32Async", &fill_async);
  find(library, "cuMemcpyAsync", &copy_async);
  weir_kernel *kernels[] = {
      make_kernel(context, "fill", (weir_enqueue_code){.function = fill}),
      make_kernel(context, "copy", (weir_enqueue_code){.function = copy, .scratch_bytes = BYTES})};
  weir_buffer *buffers[2];
  for (int i = 0; i < 2; i++) check(weir_buffer_create(context, BYTES, &buffers[i]));
  submit_tasks(context, kernels, buffers);
  launch_graph(context, kernels, buffers);
  use_queue(context, buffers[0]);
  check(weir_context_release(context));
  return fflush(stdout) == 0 ? 0 : 1;
}
