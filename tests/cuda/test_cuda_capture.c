// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions in recorded graphs on CUDA: captured once, updated in place, made anew where they must be; and what becomes of
// functions that cannot be captured. On the driver of stub/, in random orders, with every way to issue.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "part.h"
#include "share.h"
#include "weir/enqueue.h"
#include "weir/graph.h"

enum { COUNT = 64, BYTES = COUNT * 4, MOST_LANES = 256 };

typedef struct library {
  const share *s;
  CUfunction set, sum;
  atomic_bool busy[MOST_LANES];
  CUdeviceptr workspaces[MOST_LANES], memory;
  atomic_uint calls, captures;
  uint32_t joined; // captures in which leave_fork does join
} library;

static uint32_t number(const weir_enqueue_arg *arg) {
  uint32_t value;
  memcpy(&value, arg->value, sizeof value);
  return value;
}

static CUresult put(const library *lib, CUfunction function, void *stream, uint64_t pointer, uint32_t value) {
  uint32_t count = COUNT;
  void *parameters[] = {&pointer, &count, &value};
  return lib->s->driver->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static weir_status status_of(const weir_enqueue *call, CUresult result) {
  if (result != CUDA_SUCCESS) weir_enqueue_fail(call, "the driver refused");
  return WEIR_OK;
}

static void enter(library *lib, const weir_enqueue *call) {
  if (call->lane >= call->lane_count || atomic_exchange(&lib->busy[call->lane], true)) abort();
  atomic_fetch_add(&lib->calls, 1);
  if (call->capturing) atomic_fetch_add(&lib->captures, 1);
}

static weir_status leave(library *lib, const weir_enqueue *call, CUresult result) {
  atomic_store(&lib->busy[call->lane], false);
  return status_of(call, result);
}

// data[i] = data[i] * 3 + value: (data, value).
static weir_status step(const weir_enqueue *call) {
  library *lib = call->data;
  enter(lib, call);
  return leave(lib, call, put(lib, lib->s->own_step, call->queue, call->args[0].pointer, number(&call->args[1])));
}

// The same `value` times, with 1: another topology for another value, and none for 0.
static weir_status step_often(const weir_enqueue *call) {
  library *lib = call->data;
  CUresult result = CUDA_SUCCESS;
  enter(lib, call);
  for (uint32_t i = 0; i < number(&call->args[1]) && result == CUDA_SUCCESS; i++)
    result = put(lib, lib->s->own_step, call->queue, call->args[0].pointer, 1);
  return leave(lib, call, result);
}

static CUresult sum(const library *lib, void *stream, uint64_t out, uint64_t a, uint64_t b) {
  uint32_t count = COUNT;
  void *parameters[] = {&out, &a, &b, &count};
  return lib->s->driver->cuLaunchKernel(lib->sum, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

// out = 2 * (value + i), by way of a workspace of the lane's: (out, value).
static weir_status with_workspace(const weir_enqueue *call) {
  library *lib = call->data;
  enter(lib, call);
  uint64_t memory = lib->workspaces[call->lane];
  CUresult result = put(lib, lib->set, call->queue, memory, number(&call->args[1]));
  if (result == CUDA_SUCCESS) result = sum(lib, call->queue, call->args[0].pointer, memory, memory);
  return leave(lib, call, result);
}

static weir_status make_workspace(const weir_enqueue *call) {
  library *lib = call->data;
  if (call->capturing) abort();
  return status_of(call, lib->s->driver->cuMemAlloc(&lib->workspaces[call->lane], BYTES));
}

// The same with scratch memory, and with a fork to a stream of its own.
static weir_status with_fork(const weir_enqueue *call) {
  library *lib = call->data;
  const weir__cuda_driver *driver = lib->s->driver;
  CUstream other = NULL;
  CUevent fork = NULL, join = NULL;
  enter(lib, call);
  CUresult result = driver->cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0);
  if (result == CUDA_SUCCESS) result = driver->cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS) result = driver->cuEventCreate(&join, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS) result = driver->cuEventRecord(fork, call->queue);
  if (result == CUDA_SUCCESS) result = driver->cuStreamWaitEvent(other, fork, 0);
  if (result == CUDA_SUCCESS) result = put(lib, lib->set, other, call->scratch.pointer, number(&call->args[1]));
  if (result == CUDA_SUCCESS) result = driver->cuEventRecord(join, other);
  if (result == CUDA_SUCCESS) result = driver->cuStreamWaitEvent(call->queue, join, 0);
  if (result == CUDA_SUCCESS)
    result = sum(lib, call->queue, call->args[0].pointer, call->scratch.pointer, call->scratch.pointer);
  if (fork != NULL) driver->cuEventDestroy(fork);
  if (join != NULL) driver->cuEventDestroy(join);
  lib->workspaces[call->lane] = (CUdeviceptr)(uintptr_t)other; // destroyed when nothing is captured
  if (!call->capturing && other != NULL) driver->cuStreamDestroy(other);
  return leave(lib, call, result);
}

// ---------------------------------------------------------------------------------------------------------------

static void begin(const share *s, library *lib) {
  memset(lib, 0, sizeof *lib);
  lib->s = s;
  share_good(s->driver->cuModuleGetFunction(&lib->set, s->module, "set"));
  share_good(s->driver->cuModuleGetFunction(&lib->sum, s->module, "sum"));
}

static weir_kernel *make(const share *s, library *lib, weir_enqueue_code code) {
  weir_kernel *kernel;
  code.data = lib;
  share_ok(weir_kernel_create(s->context, "library", &kernel));
  share_ok(weir_kernel_set_enqueue(kernel, "cuda", &code));
  return kernel;
}

static uint32_t add(weir_graph *graph, weir_kernel *kernel, weir_mode mode, weir_buffer *buffer, uint32_t value) {
  uint32_t node;
  weir_arg args[] = {mode == WEIR_WRITE ? weir_writes(buffer) : weir_updates(buffer), weir_value(&value, sizeof value)};
  share_ok(weir_graph_add(graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, &node));
  return node;
}

static void add_own(const share *s, weir_graph *graph, weir_kernel *kernel, weir_buffer *buffer, uint32_t value) {
  uint32_t count = COUNT;
  weir_arg args[] = {kernel == s->set ? weir_writes(buffer) : weir_updates(buffer), weir_value(&count, sizeof count),
                     weir_value(&value, sizeof value)};
  share_ok(
      weir_graph_add(graph, &(weir_task){.kernel = kernel, .device = s->cuda, .args = args, .arg_count = 3}, NULL));
}

static weir_graph_calls calls_of(weir_graph *graph) {
  weir_graph_calls calls;
  share_ok(weir_graph_get_calls(graph, &calls));
  return calls;
}

static void set_value(weir_graph *graph, uint32_t node, uint32_t value) {
  weir_arg arg = weir_value(&value, sizeof value);
  share_ok(weir_graph_set_arg(graph, node, 1, &arg));
}

static void launch(weir_graph *graph) {
  weir_event *event;
  share_ok(weir_graph_launch(graph, &event));
  assert_int_equal(share_await(event), WEIR_OK);
}

// ---------------------------------------------------------------------------------------------------------------
// What is called again, and what is not

static void are_captured_once(share *s) {
  library lib;
  begin(s, &lib);
  weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = step});
  weir_buffer *buffer = share_buffer(s, COUNT);
  weir_graph *graph;
  share_ok(weir_graph_create(s->context, NULL, &graph));
  add_own(s, graph, s->set, buffer, 1);
  add(graph, kernel, WEIR_READ_WRITE, buffer, 2);
  add_own(s, graph, s->step, buffer, 3);
  uint32_t changing = add(graph, kernel, WEIR_READ_WRITE, buffer, 4), numbers[COUNT];
  // At first the functions are called, for what they may set up; then captured, once.
  for (uint32_t i = 0; i < 5; i++) launch(graph);
  weir_graph_calls calls = calls_of(graph);
  assert_int_equal(calls.nodes, 2);
  assert_int_equal(calls.called, 1);
  assert_int_equal(calls.captured, 2);
  assert_int_equal(calls.made, 1);
  assert_int_equal(calls.updated, 0);
  assert_string_equal(calls.reason, "");
  assert_int_equal(atomic_load(&lib.calls), 4);
  // Another value: at most one other graph, and then updates in place, without calls for values that were met.
  for (uint32_t i = 0; i < 10; i++) {
    uint32_t value = i % 2 == 0 ? 5 : 4;
    set_value(graph, changing, value);
    launch(graph);
    share_ok(weir_read(buffer, 0, BYTES, numbers));
    share_expect(numbers, COUNT, 1, (uint32_t[]){2, 3, value}, 3);
    if (i == 1) calls = calls_of(graph);
  }
  weir_graph_calls later = calls_of(graph);
  assert_int_equal(later.captured, calls.captured);
  assert_int_equal(later.made, calls.made);
  assert_int_equal(later.updated, calls.updated + 8);
  assert_true(later.made <= 2 && later.captured <= 2 + 3);
  assert_int_equal(later.called, 1);
  assert_int_equal(atomic_load(&lib.captures), later.captured);
  share_ok(weir_graph_release(graph));
  share_refused(weir_graph_get_calls(graph, &later), WEIR_ERROR_RELEASED, "graph calls");
}

// Overwritten buffers are renamed while their readers are in flight: all goes on without waits, and right.
static void follow_renaming(share *s) {
  enum { LAUNCHES = 40 };
  library lib;
  begin(s, &lib);
  weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = step});
  weir_buffer *buffer = share_buffer(s, COUNT), *other = share_buffer(s, COUNT);
  weir_graph *graph;
  static uint32_t copies[LAUNCHES][COUNT];
  share_ok(weir_graph_create(s->context, NULL, &graph));
  add_own(s, graph, s->set, buffer, 1);
  add(graph, kernel, WEIR_READ_WRITE, buffer, 2);
  for (uint32_t i = 0; i < LAUNCHES; i++) {
    share_ok(weir_graph_launch(graph, NULL));
    share_sum(s, s->cuda, other, buffer, buffer, COUNT, NULL);
    share_ok(weir_copy_out(buffer, 0, BYTES, copies[i], NULL));
  }
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < LAUNCHES; i++) share_expect(copies[i], COUNT, 1, (uint32_t[]){2}, 1);
  weir_graph_calls calls = calls_of(graph);
  for (uint32_t i = 0; i < 4; i++) launch(graph); // the same storage as before, perhaps after one that is new
  weir_graph_calls after = calls_of(graph);
  for (uint32_t i = 0; i < 4; i++) launch(graph);
  assert_int_equal(calls_of(graph).captured, after.captured);
  assert_true(calls.made <= 2);
  share_ok(weir_graph_release(graph));
}

// Other values make other work: the graph is made anew where it must be.
static void change_their_work(share *s) {
  static const uint32_t VALUES[] = {2, 3, 0, 2, 5, 0, 1, 1, 3};
  library lib;
  begin(s, &lib);
  weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = step_often});
  weir_buffer *buffer = share_buffer(s, COUNT);
  weir_graph *graph;
  uint32_t numbers[COUNT], ones[5] = {1, 1, 1, 1, 1};
  share_ok(weir_graph_create(s->context, NULL, &graph));
  add_own(s, graph, s->set, buffer, 1);
  uint32_t node = add(graph, kernel, WEIR_READ_WRITE, buffer, 1);
  launch(graph);
  for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
    set_value(graph, node, VALUES[i]);
    launch(graph);
    share_ok(weir_read(buffer, 0, BYTES, numbers));
    share_expect(numbers, COUNT, 1, ones, VALUES[i]);
  }
  assert_string_equal(calls_of(graph).reason, "");
  assert_true(calls_of(graph).made >= 5);
  share_ok(weir_graph_release(graph));
}

static void have_scratch_and_forks(share *s) {
  library lib;
  begin(s, &lib);
  weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = with_fork, .scratch_bytes = BYTES});
  weir_buffer *buffer = share_buffer(s, COUNT);
  weir_graph *graph;
  uint32_t numbers[COUNT];
  share_ok(weir_graph_create(s->context, NULL, &graph));
  add(graph, kernel, WEIR_WRITE, buffer, 7);
  for (uint32_t i = 0; i < 3; i++) {
    launch(graph);
    share_ok(weir_read(buffer, 0, BYTES, numbers));
    for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(numbers[j], 2 * (7 + j));
  }
  assert_string_equal(calls_of(graph).reason, "");
  for (uint32_t i = 0; i < MOST_LANES; i++)
    if (lib.workspaces[i] != 0 && atomic_load(&lib.captures) > 0)
      s->driver->cuStreamDestroy((CUstream)(uintptr_t)lib.workspaces[i]);
  share_ok(weir_graph_release(graph));
}

// What the driver does for each call in a capture does not grow with the graph: the captures into it are few.
static void capture_in_linear_time(share *s) {
  enum { FEW = 40, MANY = 160, BUFFERS = 10 };
  uint64_t begun[2], walked[2];
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t count = i == 0 ? FEW : MANY;
    library lib;
    begin(s, &lib);
    weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = step});
    weir_buffer *buffers[BUFFERS];
    weir_graph *graph;
    share_ok(weir_graph_create(s->context, NULL, &graph));
    for (uint32_t j = 0; j < BUFFERS; j++) add_own(s, graph, s->set, buffers[j] = share_buffer(s, COUNT), j);
    for (uint32_t j = 0; j < count; j++) add(graph, kernel, WEIR_READ_WRITE, buffers[j % BUFFERS], j);
    launch(graph);
    begun[i] = stub_calls("cuStreamBeginCaptureToGraph");
    walked[i] = stub_capture_walked();
    launch(graph);
    begun[i] = stub_calls("cuStreamBeginCaptureToGraph") - begun[i];
    walked[i] = stub_capture_walked() - walked[i];
    assert_int_equal(calls_of(graph).captured, count);
    share_ok(weir_graph_release(graph));
  }
  assert_true(begun[0] == begun[1] && begun[0] <= 2);
  assert_true(walked[1] <= (uint64_t)2 * MANY + 4 * BUFFERS);
}

static void test_calls(void **state) {
  (void)state;
  share_run("cuda", are_captured_once);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_TRACE}, are_captured_once);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_IN_ORDER}, are_captured_once);
  share_run("cuda", follow_renaming);
  share_run("cuda", change_their_work);
  share_run("cuda", have_scratch_and_forks);
  share_run("cuda", capture_in_linear_time);
}

// ---------------------------------------------------------------------------------------------------------------
// Lanes: many nodes side by side, in graphs side by side, beside single tasks

static void lanes_are_exclusive(share *s) {
  enum { GRAPHS = 6, NODES = 20 };
  library lib;
  begin(s, &lib);
  weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = with_workspace, .prepare = make_workspace});
  weir_buffer *buffers[GRAPHS + 1][NODES];
  weir_graph *graphs[GRAPHS];
  uint32_t numbers[COUNT];
  for (uint32_t g = 0; g <= GRAPHS; g++) {
    if (g < GRAPHS) share_ok(weir_graph_create(s->context, NULL, &graphs[g]));
    for (uint32_t i = 0; i < NODES; i++) {
      buffers[g][i] = share_buffer(s, COUNT);
      if (g < GRAPHS) add(graphs[g], kernel, WEIR_WRITE, buffers[g][i], g * 100 + i);
    }
  }
  for (uint32_t round = 0; round < 4; round++) {
    for (uint32_t g = 0; g < GRAPHS; g++) share_ok(weir_graph_launch(graphs[g], NULL));
    for (uint32_t i = 0; i < NODES; i++) {
      uint32_t value = GRAPHS * 100 + i;
      weir_arg args[] = {weir_writes(buffers[GRAPHS][i]), weir_value(&value, sizeof value)};
      share_ok(weir_submit(s->context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, NULL));
    }
  }
  share_ok(weir_finish(s->context));
  for (uint32_t g = 0; g <= GRAPHS; g++) {
    for (uint32_t i = 0; i < NODES; i++) {
      share_ok(weir_read(buffers[g][i], 0, BYTES, numbers));
      for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(numbers[j], 2 * (g * 100 + i + j));
    }
    if (g < GRAPHS) assert_string_equal(calls_of(graphs[g]).reason, "");
    if (g < GRAPHS) share_ok(weir_graph_release(graphs[g]));
  }
  for (uint32_t i = 0; i < MOST_LANES; i++)
    if (lib.workspaces[i] != 0) share_free(s, lib.workspaces[i]);
}

// What was recorded last is the longest path, and comes first in its lane: edges for lanes go to nodes that were recorded earlier.
static void long_chains_come_first(share *s) {
  enum { SHORT = 6, LONG = 5 };
  library lib;
  begin(s, &lib);
  weir_kernel *fills = make(s, &lib, (weir_enqueue_code){.function = with_workspace, .prepare = make_workspace});
  weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = step});
  weir_buffer *buffers[SHORT], *chain = share_buffer(s, COUNT);
  weir_graph *graph;
  uint32_t numbers[COUNT], steps[LONG];
  share_ok(weir_graph_create(s->context, NULL, &graph));
  for (uint32_t i = 0; i < SHORT; i++) add(graph, fills, WEIR_WRITE, buffers[i] = share_buffer(s, COUNT), i);
  add_own(s, graph, s->set, chain, 1);
  for (uint32_t i = 0; i < LONG; i++) add(graph, kernel, WEIR_READ_WRITE, chain, steps[i] = i);
  for (uint32_t round = 0; round < 4; round++) {
    if (round == 3) set_value(graph, 0, 99);
    launch(graph);
    share_ok(weir_read(chain, 0, BYTES, numbers));
    share_expect(numbers, COUNT, 1, steps, LONG);
    for (uint32_t i = 0; i < SHORT; i++) {
      share_ok(weir_read(buffers[i], 0, BYTES, numbers));
      for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(numbers[j], 2 * ((round == 3 && i == 0 ? 99 : i) + j));
    }
  }
  assert_string_equal(calls_of(graph).reason, "");
  share_ok(weir_graph_release(graph));
  for (uint32_t i = 0; i < MOST_LANES; i++)
    if (lib.workspaces[i] != 0) share_free(s, lib.workspaces[i]);
}

static void test_lanes(void **state) {
  (void)state;
  share_run("cuda", long_chains_come_first);
  share_run("cuda", lanes_are_exclusive);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_TRACE}, lanes_are_exclusive);
}

// ---------------------------------------------------------------------------------------------------------------
// Functions that are not captured

static weir_status fail_in_capture(const weir_enqueue *call) {
  if (call->capturing) weir_enqueue_fail(call, "not in a capture");
  return step(call);
}

static weir_status allocate(const weir_enqueue *call) {
  const library *lib = call->data;
  CUdeviceptr memory;
  if (lib->s->driver->cuMemAlloc(&memory, 16) == CUDA_SUCCESS) lib->s->driver->cuMemFree(memory);
  return step(call);
}

static weir_status synchronize(const weir_enqueue *call) {
  const library *lib = call->data;
  lib->s->driver->cuStreamSynchronize(call->queue);
  return step(call);
}

static weir_status end_capture(const weir_enqueue *call) {
  const library *lib = call->data;
  CUgraph graph = NULL;
  weir_status status = step(call);
  if (call->capturing && lib->s->driver->cuStreamEndCapture(call->queue, &graph) == CUDA_SUCCESS && graph != NULL)
    lib->s->driver->cuGraphDestroy(graph);
  return status;
}

static weir_status change_context(const weir_enqueue *call) {
  const library *lib = call->data;
  weir_status status = step(call);
  lib->s->driver->cuCtxSetCurrent(NULL);
  return status;
}

typedef struct refusal {
  weir_enqueue_code code;
  const char *reason;
} refusal;

static void go_one_by_one(share *s) {
  static const refusal REFUSALS[] = {
      {{.function = step, .flags = WEIR_ENQUEUE_NO_CAPTURE}, "node 1 'library': its code must not be captured"},
      {{.function = fail_in_capture}, "the enqueue function failed: not in a capture"},
      {{.function = allocate}, "the enqueue function failed: the driver refused"},
      {{.function = synchronize}, "the enqueue function failed: the driver refused"},
      {{.function = end_capture}, "the function ended the capture of its queue"},
      {{.function = change_context}, ""},
  };
  for (size_t i = 0; i < sizeof REFUSALS / sizeof REFUSALS[0]; i++) {
    library lib;
    begin(s, &lib);
    weir_kernel *kernel = make(s, &lib, REFUSALS[i].code);
    weir_buffer *buffer = share_buffer(s, COUNT);
    weir_graph *graph;
    uint32_t numbers[COUNT];
    share_ok(weir_graph_create(s->context, NULL, &graph));
    add_own(s, graph, s->set, buffer, 1);
    add(graph, kernel, WEIR_READ_WRITE, buffer, 2);
    add_own(s, graph, s->step, buffer, 3);
    for (uint32_t k = 0; k < 4; k++) {
      launch(graph);
      share_ok(weir_read(buffer, 0, BYTES, numbers));
      share_expect(numbers, COUNT, 1, (uint32_t[]){2, 3}, 2);
    }
    weir_graph_calls calls = calls_of(graph);
    if (REFUSALS[i].reason[0] == '\0') assert_string_equal(calls.reason, "");
    if (strstr(calls.reason, REFUSALS[i].reason) == NULL) fail_msg("%zu: %s", i, calls.reason);
    assert_int_equal(calls.called, REFUSALS[i].reason[0] == '\0' ? 1 : 4);
    share_ok(weir_graph_release(graph));
  }
}

// Work in another stream, which in a capture is not joined, but for the first ones.
static weir_status leave_fork(const weir_enqueue *call) {
  library *lib = call->data;
  const weir__cuda_driver *driver = lib->s->driver;
  CUstream other;
  CUevent event;
  if (!call->capturing) return step(call);
  weir_status status = step(call);
  share_good(driver->cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
  share_good(driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  share_good(driver->cuEventRecord(event, call->queue));
  share_good(driver->cuStreamWaitEvent(other, event, CU_EVENT_WAIT_DEFAULT));
  share_good(driver->cuMemsetD32Async(lib->memory, 1, 1, other));
  uint32_t number = atomic_load(&lib->captures);
  if (number <= lib->joined) share_good(driver->cuEventRecord(event, other));
  if (number <= lib->joined) share_good(driver->cuStreamWaitEvent(call->queue, event, CU_EVENT_WAIT_DEFAULT));
  share_good(driver->cuEventDestroy(event));
  lib->workspaces[number] = (CUdeviceptr)(uintptr_t)other; // destroyed when nothing is captured
  return status;
}

// It is found when the capture ends, be that after the call or after others.
static void find_forks(share *s) {
  enum { NODES = 3 };
  for (uint32_t joined = 0; joined <= NODES; joined++) {
    library lib;
    begin(s, &lib);
    lib.joined = joined;
    share_good(s->driver->cuMemAlloc(&lib.memory, 4));
    weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = leave_fork});
    weir_buffer *buffer = share_buffer(s, COUNT);
    weir_graph *graph;
    uint32_t numbers[COUNT];
    share_ok(weir_graph_create(s->context, NULL, &graph));
    add_own(s, graph, s->set, buffer, 1);
    for (uint32_t i = 0; i < NODES; i++) add(graph, kernel, WEIR_READ_WRITE, buffer, i);
    for (uint32_t i = 0; i < 3; i++) {
      launch(graph);
      share_ok(weir_read(buffer, 0, BYTES, numbers));
      share_expect(numbers, COUNT, 1, (uint32_t[]){0, 1, 2}, NODES);
    }
    weir_graph_calls calls = calls_of(graph);
    assert_int_equal(strstr(calls.reason, "cannot be captured") != NULL, joined < NODES);
    assert_int_equal(calls.called, joined < NODES ? 3 : 1);
    share_ok(weir_graph_release(graph));
    share_ok(weir_finish(s->context));
    for (uint32_t i = 0; i < MOST_LANES; i++)
      if (lib.workspaces[i] != 0) s->driver->cuStreamDestroy((CUstream)(uintptr_t)lib.workspaces[i]);
    share_free(s, lib.memory);
  }
}

// Times are wanted: node by node as well.
static void with_times(share *s) {
  library lib;
  begin(s, &lib);
  weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = step});
  weir_buffer *buffer = share_buffer(s, COUNT);
  weir_graph *graph;
  uint64_t starts[2], ends[2];
  share_ok(weir_graph_create(s->context, &(weir_graph_options){.timing = true}, &graph));
  add_own(s, graph, s->set, buffer, 1);
  add(graph, kernel, WEIR_READ_WRITE, buffer, 2);
  launch(graph);
  share_ok(weir_graph_times(graph, 2, starts, ends));
  assert_true(starts[1] >= ends[0] && ends[1] >= starts[1]);
  assert_string_equal(calls_of(graph).reason, "times of its nodes are wanted");
  share_ok(weir_graph_release(graph));
}

static void test_refusals(void **state) {
  (void)state;
  share_run("cuda", go_one_by_one);
  share_run("cuda", find_forks);
  share_run("cuda", with_times);
}

// ---------------------------------------------------------------------------------------------------------------
// Repeats that Weir finds

enum { RING = 3, ROUND = 12 };

// A round of tasks that is the same each time, among kernels.
static void submit_round(const share *s, weir_kernel *kernel, weir_buffer *const *buffers) {
  for (uint32_t i = 0; i < RING; i++) share_submit(s, s->set, s->cuda, buffers[i], COUNT, i, NULL);
  for (uint32_t i = 0; i < ROUND; i++) {
    weir_buffer *buffer = buffers[i % RING];
    weir_arg args[] = {weir_updates(buffer), weir_value(&i, sizeof i)};
    share_ok(weir_submit(s->context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, NULL));
    if (i % 4 == 0) share_submit(s, s->step, s->cuda, buffer, COUNT, 100 + i, NULL);
  }
  share_ok(weir_finish(s->context));
}

static void check_round(weir_buffer *const *buffers) {
  for (uint32_t b = 0; b < RING; b++) {
    uint32_t steps[2 * ROUND], count = 0, numbers[COUNT];
    for (uint32_t i = b; i < ROUND; i += RING) {
      steps[count++] = i;
      if (i % 4 == 0) steps[count++] = 100 + i;
    }
    share_ok(weir_read(buffers[b], 0, BYTES, numbers));
    share_expect(numbers, COUNT, b, steps, count);
  }
}

// Rounds, until the functions are not called for some.
static uint32_t repeat(share *s, weir_kernel *kernel, library *lib) {
  weir_buffer *buffers[RING];
  uint32_t quiet = 0;
  for (uint32_t i = 0; i < RING; i++) buffers[i] = share_buffer(s, COUNT);
  for (uint32_t rounds = 0; rounds < 40 && quiet < 5; rounds++) {
    uint32_t before = atomic_load(&lib->calls);
    submit_round(s, kernel, buffers);
    check_round(buffers);
    quiet = atomic_load(&lib->calls) == before ? quiet + 1 : 0;
  }
  return quiet;
}

static void repeats_are_captured(share *s) {
  library lib;
  begin(s, &lib);
  uint32_t quiet = repeat(s, make(s, &lib, (weir_enqueue_code){.function = step, .flags = WEIR_ENQUEUE_PURE}), &lib);
  bool must = s->issue == WEIR_ISSUE_GRAPHS, may = s->issue != WEIR_ISSUE_QUEUES;
  if (must) assert_int_equal(quiet, 5);
  if (!may) assert_int_equal(quiet, 0);
  if (!may) assert_int_equal(atomic_load(&lib.captures), 0);
}

static void others_are_called(share *s) {
  library lib;
  begin(s, &lib);
  assert_int_equal(repeat(s, make(s, &lib, (weir_enqueue_code){.function = step}), &lib), 0);
  assert_int_equal(atomic_load(&lib.captures), 0);
}

// One that cannot be captured is called for each task, after the attempt.
static void refusals_are_noted(share *s) {
  library lib;
  begin(s, &lib);
  weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = fail_in_capture, .flags = WEIR_ENQUEUE_PURE});
  weir_buffer *buffers[RING];
  for (uint32_t i = 0; i < RING; i++) buffers[i] = share_buffer(s, COUNT);
  for (uint32_t i = 0; i < 10; i++) {
    submit_round(s, kernel, buffers);
    check_round(buffers);
  }
  assert_true(atomic_load(&lib.captures) <= 1);
}

static void test_repeats(void **state) {
  (void)state;
  share_run("cuda", repeats_are_captured);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_TRACE}, repeats_are_captured);
  share_run("cuda", others_are_called);
  share_run("cuda", refusals_are_noted);
}

// ---------------------------------------------------------------------------------------------------------------
// Each call of the driver fails in turn: launches end well and are right, or fail; nothing hangs or is left

static uint64_t failing;
static bool failing_allocation; // of Weir's own, in place of calls

static void with_a_failure(share *s) {
  library lib;
  begin(s, &lib);
  weir_kernel *kernel = make(s, &lib, (weir_enqueue_code){.function = step});
  weir_buffer *buffer = share_buffer(s, COUNT);
  weir_graph *graph;
  share_ok(weir_graph_create(s->context, NULL, &graph));
  add_own(s, graph, s->set, buffer, 1);
  add(graph, kernel, WEIR_READ_WRITE, buffer, 2);
  uint32_t node = add(graph, kernel, WEIR_READ_WRITE, buffer, 3), numbers[COUNT];
  share_ok(weir_finish(s->context));
  if (failing_allocation)
    weir__allocate_fail_at(failing);
  else
    stub_fail_nth(NULL, failing, CUDA_ERROR_OUT_OF_MEMORY);
  for (uint32_t i = 0; i < 5; i++) {
    weir_event *event = NULL;
    uint32_t value = 3 + i / 2;
    weir_arg arg = weir_value(&value, sizeof value);
    weir_status status = weir_graph_set_arg(graph, node, 1, &arg);
    if (status == WEIR_OK) status = weir_graph_launch(graph, &event);
    if (status == WEIR_OK) status = share_await(event);
    if (status != WEIR_OK || weir_read(buffer, 0, BYTES, numbers) != WEIR_OK) continue;
    share_expect(numbers, COUNT, 1, (uint32_t[]){2, 3 + i / 2}, 2);
  }
  stub_fail_nth(NULL, 0, CUDA_SUCCESS);
  weir__allocate_fail_at(0);
  share_ok(weir_graph_release(graph));
  weir_finish(s->context);
}

static void test_failing_calls(void **state) {
  (void)state;
#ifdef WEIR_SMALL_TESTS
  uint32_t stride = 3 * part_divisor();
#else
  uint32_t stride = 1;
#endif
  for (failing = 1 + part_offset(stride); failing < 120; failing += stride)
    share_run_with(&(weir_context_options){.devices = "cuda", .queues = 3, .flags = failing % 2 * WEIR_CONTEXT_TRACE},
                   with_a_failure);
  failing_allocation = true;
  for (failing = 1 + part_offset(stride); failing < 60; failing += stride) share_run("cuda", with_a_failure);
  failing_allocation = false;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_calls),   cmocka_unit_test(test_lanes),         cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_repeats), cmocka_unit_test(test_failing_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
