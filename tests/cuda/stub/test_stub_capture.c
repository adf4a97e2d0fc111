// SPDX-License-Identifier: Apache-2.0
//
// The stub driver captures streams: what is put there becomes nodes with the order of streams and events, and wrong use is
// refused as by the real driver.
#include "stub_test.h"

#include <string.h>

static const stub_options manual = {.seed = 7, .manual = true};

static CUgraphExec instantiate(CUgraph graph) {
  CUgraphExec exec;
  good(cuGraphInstantiateWithFlags(&exec, graph, 0));
  return exec;
}

static void launch_and_wait(CUgraphExec exec) {
  CUstream stream = make_stream();
  good(cuGraphLaunch(exec, stream));
  good(cuStreamSynchronize(stream));
  good(cuStreamDestroy_v2(stream));
}

// A fork and a join: a = 5; b = a; a = 3 * a + 1; then b = 3 * b + 2 behind both.
static void fork_and_join(const fixture *f, CUstream stream, CUdeviceptr a, CUdeviceptr b, CUstream *out_other) {
  CUstream other = make_stream();
  CUevent fork = make_event(CU_EVENT_DISABLE_TIMING), join = make_event(CU_EVENT_DISABLE_TIMING);
  good(launch(f->set, stream, a, 5));
  good(launch(f->copy, stream, b, a));
  good(cuEventRecord(fork, stream));
  good(cuStreamWaitEvent(other, fork, 0));
  good(launch(f->add, other, a, 1));
  good(cuEventRecord(join, other));
  good(cuStreamWaitEvent(stream, join, 0));
  good(launch(f->add, stream, b, 2));
  good(cuEventDestroy_v2(fork));
  good(cuEventDestroy_v2(join));
  *out_other = other;
}

static void streams_become_graphs(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 16; seed++) {
    fixture f;
    fixture_begin(&f, &(stub_options){.seed = seed, .manual = true});
    CUstream stream = make_stream();
    CUdeviceptr a = make_memory(4), b = make_memory(4);
    CUgraph graph;
    good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CUstream other;
    fork_and_join(&f, stream, a, b, &other);
    good(cuStreamEndCapture(stream, &graph));
    good(cuStreamDestroy_v2(other));
    good(cuStreamDestroy_v2(stream));
    CUgraphExec exec = instantiate(graph);
    good(cuGraphDestroy(graph));
    for (int i = 0; i < 3; i++) launch_and_wait(exec);
    assert_int_equal(read_word(a), 16);
    assert_int_equal(read_word(b), 17);
    good(cuGraphExecDestroy(exec));
    good(cuMemFree_v2(a));
    good(cuMemFree_v2(b));
    fixture_end(&f, 0);
  }
}

// Into a graph that is there, behind one of its nodes; the frontier is what later nodes come after.
static void captures_go_into_graphs(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUstream stream = make_stream();
  CUdeviceptr a = make_memory(4);
  CUgraph graph, same;
  CUgraphNode first, last;
  uint64_t operand = 7;
  void *params[] = {&a, &operand};
  CUDA_KERNEL_NODE_PARAMS parameters = {f.set, 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
  good(cuGraphCreate(&graph, 0));
  good(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &parameters));
  good(cuStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  good(launch(f.add, stream, a, 1));
  const CUgraphNode *frontier;
  const CUgraphEdgeData *edges;
  size_t count;
  CUstreamCaptureStatus status;
  good(cuStreamGetCaptureInfo_v3(stream, &status, NULL, NULL, &frontier, &edges, &count));
  assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  assert_int_equal(count, 1);
  CUgraphNode end = frontier[0];
  good(cuStreamEndCapture(stream, &same));
  assert_ptr_equal(same, graph);
  operand = 2;
  parameters.func = f.add;
  good(cuGraphAddKernelNode_v2(&last, graph, &end, 1, &parameters));
  CUgraphExec exec = instantiate(graph);
  launch_and_wait(exec);
  assert_int_equal(read_word(a), (7 * 3 + 1) * 3 + 2);
  good(cuStreamDestroy_v2(stream));
  good(cuGraphExecDestroy(exec));
  good(cuGraphDestroy(graph));
  good(cuMemFree_v2(a));
  fixture_end(&f, 0);
}

// A capture moves to other nodes of its graph, where more can be added meanwhile: b and a are set, then a is added to.
static void captures_move(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUstream stream = make_stream();
  CUdeviceptr a = make_memory(4), b = make_memory(4);
  CUgraph graph, same;
  CUgraphNode first;
  uint64_t operand = 7, walked = stub_capture_walked();
  void *params[] = {&a, &operand};
  CUDA_KERNEL_NODE_PARAMS parameters = {f.set, 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
  const unsigned set = CU_STREAM_SET_CAPTURE_DEPENDENCIES;
  good(cuGraphCreate(&graph, 0));
  assert_int_equal(cuStreamUpdateCaptureDependencies_v2(stream, NULL, NULL, 0, set), CUDA_ERROR_ILLEGAL_STATE);
  good(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  good(launch(f.set, stream, b, 5));
  good(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &parameters));
  good(cuStreamUpdateCaptureDependencies_v2(stream, &first, NULL, 1, set));
  good(launch(f.add, stream, a, 1));
  good(cuStreamEndCapture(stream, &same));
  assert_int_equal(stub_capture_walked() - walked, 3);
  CUgraphExec exec = instantiate(graph);
  launch_and_wait(exec);
  assert_int_equal(read_word(a), 7 * 3 + 1);
  assert_int_equal(read_word(b), 5);
  good(cuStreamDestroy_v2(stream));
  good(cuGraphExecDestroy(exec));
  good(cuGraphDestroy(graph));
  good(cuMemFree_v2(a));
  good(cuMemFree_v2(b));
  fixture_end(&f, 0);
}

static CUgraph capture_add(const fixture *f, CUstream stream, CUdeviceptr a, uint64_t value, int times) {
  CUgraph graph;
  good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < times; i++) good(launch(f->add, stream, a, value));
  good(cuStreamEndCapture(stream, &graph));
  return graph;
}

static void children_are_replaced(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUstream stream = make_stream();
  CUdeviceptr a = make_memory(4), b = make_memory(4);
  CUgraph graph, child = capture_add(&f, stream, a, 1, 2);
  CUgraphNode first, second;
  good(cuGraphCreate(&graph, 0));
  good(cuGraphAddChildGraphNode(&first, graph, NULL, 0, child));
  good(cuGraphAddChildGraphNode(&second, graph, &first, 1, child));
  good(cuGraphDestroy(child));
  CUgraphExec exec = instantiate(graph);
  good(cuMemsetD32Async(a, 0, 1, stream));
  good(cuMemsetD32Async(b, 0, 1, stream));
  good(cuGraphLaunch(exec, stream));
  good(cuStreamSynchronize(stream));
  assert_int_equal(read_word(a), 40); // four times 3 * x + 1
  child = capture_add(&f, stream, b, 2, 2);
  good(cuGraphExecChildGraphNodeSetParams(exec, second, child));
  good(cuGraphDestroy(child));
  good(cuMemsetD32Async(a, 0, 1, stream));
  good(cuGraphLaunch(exec, stream));
  good(cuStreamSynchronize(stream));
  assert_int_equal(read_word(a), 4);
  assert_int_equal(read_word(b), 8);
  child = capture_add(&f, stream, b, 2, 3);
  assert_int_equal(cuGraphExecChildGraphNodeSetParams(exec, second, child), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  good(cuGraphDestroy(child));
  good(cuGraphExecDestroy(exec));
  good(cuGraphDestroy(graph));
  good(cuStreamDestroy_v2(stream));
  good(cuMemFree_v2(a));
  good(cuMemFree_v2(b));
  fixture_end(&f, 0);
}

static void expect_status(CUstream stream, CUstreamCaptureStatus wanted) {
  CUstreamCaptureStatus status;
  good(cuStreamIsCapturing(stream, &status));
  assert_int_equal(status, wanted);
}

static void wrong_use_is_refused(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUstream stream = make_stream(), other = make_stream();
  CUevent event = make_event(CU_EVENT_DISABLE_TIMING), outside = make_event(CU_EVENT_DISABLE_TIMING);
  CUdeviceptr a = make_memory(4), b;
  CUgraph graph;
  good(cuEventRecord(outside, other));
  assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
  // Waiting for what is captured.
  good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  assert_int_equal(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_ERROR_ILLEGAL_STATE);
  assert_int_equal(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_status(stream, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  assert_int_equal(launch(f.set, stream, a, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  expect_status(stream, CU_STREAM_CAPTURE_STATUS_NONE);
  // Memory, which a relaxed capture or thread may take.
  good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  good(cuThreadExchangeStreamCaptureMode(&mode));
  good(cuMemAlloc_v2(&b, 4));
  good(cuThreadExchangeStreamCaptureMode(&mode));
  assert_int_equal(cuMemFree_v2(b), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  good(cuMemFree_v2(b));
  // A stream that does not come back, an event of before, the end on another stream.
  good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  good(cuEventRecord(event, stream));
  assert_int_equal(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  good(cuStreamWaitEvent(other, event, 0));
  good(launch(f.set, other, a, 1));
  assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  assert_int_equal(cuStreamWaitEvent(stream, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  assert_int_equal(stub_violations(), 0);
  good(cuMemFree_v2(a));
  good(cuEventDestroy_v2(event));
  good(cuEventDestroy_v2(outside));
  good(cuStreamDestroy_v2(other));
  good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  good(cuStreamDestroy_v2(stream));
  fixture_end(&f, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_become_graphs), cmocka_unit_test(captures_go_into_graphs),
      cmocka_unit_test(captures_move),         cmocka_unit_test(children_are_replaced),
      cmocka_unit_test(wrong_use_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
