// SPDX-License-Identifier: Apache-2.0
//
// The stub driver executes later and in random order, except where streams, events and graphs say otherwise.
#include "stub_test.h"

#include <string.h>

enum { SEEDS = 60 };

static stub_options options_of(uint64_t seed) {
  return (stub_options){.seed = seed, .manual = seed % 3 == 0, .executors = seed % 3 == 1 ? 2 : 1};
}

// Two additions in two streams; with the event the second comes after the first.
static uint32_t two_streams(uint64_t seed, bool ordered) {
  fixture f;
  stub_options options = options_of(seed);
  fixture_begin(&f, &options);
  CUstream first = make_stream(), second = make_stream();
  CUevent event = make_event(CU_EVENT_DISABLE_TIMING);
  CUdeviceptr word = make_memory(4);
  good(launch(f.set, first, word, 1));
  good(cuStreamSynchronize(first));
  good(launch(f.add, first, word, 10));
  if (ordered) good(cuEventRecord(event, first));
  if (ordered) good(cuStreamWaitEvent(second, event, 0));
  good(cuEventDestroy_v2(event)); // what waits for it still does
  good(launch(f.add, second, word, 100));
  good(cuStreamSynchronize(first));
  good(cuStreamSynchronize(second));
  uint32_t result = read_word(word);
  good(cuMemFree_v2(word));
  good(cuStreamDestroy_v2(first));
  good(cuStreamDestroy_v2(second));
  fixture_end(&f, 0);
  return result;
}

static void streams_are_reordered_unless_an_event_orders_them(void **state) {
  (void)state;
  bool seen[2] = {false, false};
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    assert_int_equal(two_streams(seed, true), (1 * 3 + 10) * 3 + 100);
    if (options_of(seed).executors > 1) continue; // both at the same time is neither order
    uint32_t result = two_streams(seed, false);
    seen[0] |= result == (1 * 3 + 10) * 3 + 100;
    seen[1] |= result == (1 * 3 + 100) * 3 + 10;
  }
  assert_true(seen[0] && seen[1]);
}

static void nothing_runs_in_the_call_that_enqueues_it(void **state) {
  (void)state;
  fixture f;
  stub_options options = {.seed = 1, .manual = true};
  fixture_begin(&f, &options);
  CUstream stream = make_stream();
  CUdeviceptr word = make_memory(4);
  for (int i = 0; i < 100; i++) good(launch(f.set, stream, word, 1));
  assert_int_equal(stub_executed(), 0);
  uint64_t polls = 0;
  while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) polls++;
  assert_int_equal(stub_executed(), 100);
  assert_true(polls > 20); // a few at a time
  good(cuMemFree_v2(word));
  good(cuStreamDestroy_v2(stream));
  fixture_end(&f, 0);
}

static void the_legacy_stream_waits_for_blocking_streams_and_they_for_it(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    fixture f;
    stub_options options = options_of(seed);
    fixture_begin(&f, &options);
    CUstream stream;
    good(cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, 0));
    CUdeviceptr word = make_memory(4);
    good(launch(f.set, stream, word, 1));
    good(launch(f.add, NULL, word, 10));
    good(launch(f.add, stream, word, 100));
    good(cuStreamSynchronize(NULL));
    assert_int_equal(read_word(word), (1 * 3 + 10) * 3 + 100);
    good(cuMemFree_v2(word));
    good(cuStreamDestroy_v2(stream));
    fixture_end(&f, 0);
  }
}

static void an_event_is_its_last_record_at_the_time_of_the_wait(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    fixture f;
    stub_options options = options_of(seed);
    fixture_begin(&f, &options);
    CUstream first = make_stream(), second = make_stream();
    CUevent event = make_event(0), end = make_event(0);
    CUdeviceptr words = make_memory(8);
    good(launch(f.set, first, words, 7));
    good(cuEventRecord(event, first));
    good(cuStreamWaitEvent(second, event, 0));
    good(cuEventRecord(event, second)); // later records do not matter to the wait before
    good(launch(f.copy, second, words + 4, words));
    good(cuEventRecord(end, second));
    good(cuEventSynchronize(end));
    assert_int_equal(cuEventQuery(event), CUDA_SUCCESS);
    float milliseconds = -1;
    good(cuEventElapsedTime(&milliseconds, event, end));
    assert_true(milliseconds >= 0);
    assert_int_equal(read_word(words + 4), 7);
    good(cuMemFree_v2(words));
    good(cuEventDestroy_v2(event));
    good(cuEventDestroy_v2(end));
    good(cuStreamDestroy_v2(first));
    good(cuStreamDestroy_v2(second));
    fixture_end(&f, 0);
  }
}

static void pageable_memory_is_read_in_the_call_and_pinned_memory_later(void **state) {
  (void)state;
  fixture f;
  stub_options options = {.seed = 3, .manual = true};
  fixture_begin(&f, &options);
  CUstream stream = make_stream();
  CUdeviceptr words = make_memory(8);
  uint32_t pageable = 1, *pinned;
  good(cuMemHostAlloc((void **)&pinned, 4, CU_MEMHOSTALLOC_PORTABLE));
  *pinned = 1;
  good(cuMemcpyAsync(words, (CUdeviceptr)(uintptr_t)&pageable, 4, stream));
  good(cuMemcpyAsync(words + 4, (CUdeviceptr)(uintptr_t)pinned, 4, stream));
  pageable = *pinned = 2;
  good(cuStreamSynchronize(stream));
  assert_int_equal(read_word(words), 1);
  assert_int_equal(read_word(words + 4), 2);
  good(cuMemsetD8Async(words, 0x11, 8, stream));
  good(cuMemcpyAsync((CUdeviceptr)(uintptr_t)pinned, words, 4, stream));
  assert_int_equal(*pinned, 2);
  good(cuStreamSynchronize(stream));
  assert_int_equal(*pinned, 0x11111111);
  good(cuMemFreeHost(pinned));
  good(cuMemFree_v2(words));
  good(cuStreamDestroy_v2(stream));
  fixture_end(&f, 0);
}

static CUgraphNode add_kernel(CUgraph graph, CUgraphNode before, CUfunction function, CUdeviceptr pointer,
                              uint64_t operand) {
  void *params[] = {&pointer, &operand};
  CUDA_KERNEL_NODE_PARAMS node = {function, 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
  CUgraphNode made = NULL;
  good(cuGraphAddKernelNode_v2(&made, graph, &before, before != NULL, &node));
  return made;
}

// set; add 10; add 100, with or without the edge between the additions. Then the last operand becomes 1000.
static void graph_launches(uint64_t seed, bool edge, uint32_t out_results[2]) {
  fixture f;
  stub_options options = options_of(seed);
  fixture_begin(&f, &options);
  CUstream stream = make_stream(), other = make_stream();
  CUdeviceptr words = make_memory(8);
  CUgraph graph;
  good(cuGraphCreate(&graph, 0));
  CUgraphNode set = add_kernel(graph, NULL, f.set, words, 1);
  CUgraphNode add = add_kernel(graph, set, f.add, words, 10);
  CUgraphNode last = add_kernel(graph, edge ? add : set, f.add, words, 100);
  CUgraphExec exec;
  good(cuGraphInstantiateWithFlags(&exec, graph, 0));
  good(cuGraphLaunch(exec, stream));
  good(launch(f.copy, stream, words + 4, words)); // after the whole graph

  uint64_t operand = 1000;
  void *params[] = {&words, &operand};
  CUDA_KERNEL_NODE_PARAMS changed = {f.add, 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
  good(cuGraphExecKernelNodeSetParams_v2(exec, last, &changed)); // not for the launch that is in the stream
  CUevent event = make_event(CU_EVENT_DISABLE_TIMING);
  good(cuEventRecord(event, stream));
  good(cuEventSynchronize(event));
  out_results[0] = read_word(words + 4);
  good(cuGraphLaunch(exec, other));
  good(cuGraphExecDestroy(exec)); // the launch goes on
  good(cuGraphDestroy(graph));
  good(cuStreamSynchronize(other));
  out_results[1] = read_word(words);
  good(cuEventDestroy_v2(event));
  good(cuMemFree_v2(words));
  good(cuStreamDestroy_v2(stream));
  good(cuStreamDestroy_v2(other));
  fixture_end(&f, 0);
}

static void nodes_are_reordered_unless_an_edge_orders_them(void **state) {
  (void)state;
  bool reordered = false;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    uint32_t results[2];
    graph_launches(seed, true, results);
    assert_int_equal(results[0], (1 * 3 + 10) * 3 + 100);
    assert_int_equal(results[1], (1 * 3 + 10) * 3 + 1000);
    if (options_of(seed).executors > 1) continue;
    graph_launches(seed, false, results);
    reordered |= results[0] == (1 * 3 + 100) * 3 + 10;
  }
  assert_true(reordered);
}

static void launches_of_one_exec_follow_each_other(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    fixture f;
    stub_options options = options_of(seed);
    fixture_begin(&f, &options);
    CUstream streams[] = {make_stream(), make_stream(), make_stream()};
    CUdeviceptr word = make_memory(4);
    CUgraph graph;
    good(cuGraphCreate(&graph, 0));
    CUgraphNode node = NULL;
    for (uint64_t i = 0; i < 5; i++) node = add_kernel(graph, node, i == 0 ? f.set : f.add, word, i);
    CUgraphExec exec;
    good(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 9; i++) good(cuGraphLaunch(exec, streams[i % 3]));
    for (int i = 0; i < 3; i++) good(cuStreamSynchronize(streams[i]));
    uint32_t expected = 0;
    for (uint32_t i = 1; i < 5; i++) expected = expected * 3 + i;
    assert_int_equal(read_word(word), expected);
    for (int i = 0; i < 3; i++) good(cuStreamDestroy_v2(streams[i]));
    good(cuGraphExecDestroy(exec));
    good(cuGraphDestroy(graph));
    good(cuMemFree_v2(word));
    fixture_end(&f, 0);
  }
}

static void a_graph_records_events(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    fixture f;
    stub_options options = options_of(seed);
    fixture_begin(&f, &options);
    CUstream stream = make_stream(), other = make_stream();
    CUevent event = make_event(0);
    CUdeviceptr words = make_memory(8);
    CUgraph graph;
    good(cuGraphCreate(&graph, 0));
    CUgraphNode set = add_kernel(graph, NULL, f.set, words, 1), record, empty;
    CUgraphNode add = add_kernel(graph, set, f.add, words, 10);
    good(cuGraphAddEmptyNode(&empty, graph, &add, 1));
    good(cuGraphAddEventRecordNode(&record, graph, &empty, 1, event));
    CUgraphExec exec;
    good(cuGraphInstantiateWithFlags(&exec, graph, 0));
    good(cuGraphUpload(exec, other));
    good(cuGraphLaunch(exec, stream));
    good(cuStreamWaitEvent(other, event, 0));
    good(launch(f.copy, other, words + 4, words));
    good(cuStreamSynchronize(other));
    assert_int_equal(read_word(words + 4), 1 * 3 + 10);
    good(cuGraphLaunch(exec, stream));
    good(cuEventSynchronize(event));
    assert_int_equal(read_word(words), 1 * 3 + 10);
    good(cuStreamDestroy_v2(stream));
    good(cuStreamDestroy_v2(other));
    good(cuGraphDestroy(graph));
    good(cuGraphExecDestroy(exec));
    good(cuEventDestroy_v2(event));
    good(cuMemFree_v2(words));
    fixture_end(&f, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_are_reordered_unless_an_event_orders_them),
      cmocka_unit_test(nothing_runs_in_the_call_that_enqueues_it),
      cmocka_unit_test(the_legacy_stream_waits_for_blocking_streams_and_they_for_it),
      cmocka_unit_test(an_event_is_its_last_record_at_the_time_of_the_wait),
      cmocka_unit_test(pageable_memory_is_read_in_the_call_and_pinned_memory_later),
      cmocka_unit_test(nodes_are_reordered_unless_an_edge_orders_them),
      cmocka_unit_test(launches_of_one_exec_follow_each_other),
      cmocka_unit_test(a_graph_records_events),
  };
  return cmocka_run_group_tests_name("stub driver: order", tests, NULL, NULL);
}
