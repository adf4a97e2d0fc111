// SPDX-License-Identifier: Apache-2.0
//
// The stub driver catches wrong use, fails when it is told to, and its ledger is right.
#include "stub_test.h"

#include <stdlib.h>
#include <string.h>

static const stub_options manual = {.seed = 5, .manual = true};

static void expect(const char *text) {
  if (strstr(stub_violation_text(), text) == NULL)
    print_message("expected \"%s\" in:\n%s", text, stub_violation_text());
  assert_non_null(strstr(stub_violation_text(), text));
}

static void memory_that_work_refers_to_must_not_be_freed(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUstream stream = make_stream();
  CUdeviceptr by_kernel = make_memory(64), by_copy = make_memory(64), by_graph = make_memory(64);
  good(launch(f.set, stream, by_kernel + 8, 1));
  good(cuMemsetD8Async(by_copy + 60, 0, 4, stream));
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec exec;
  uint64_t operand = 1;
  void *params[] = {&by_graph, &operand};
  CUDA_KERNEL_NODE_PARAMS parameters = {f.set, 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
  good(cuGraphCreate(&graph, 0));
  good(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &parameters));
  good(cuGraphInstantiateWithFlags(&exec, graph, 0));
  good(cuGraphLaunch(exec, stream));
  assert_int_equal(stub_violations(), 0);
  good(cuMemFree_v2(by_kernel));
  assert_int_equal(stub_violations(), 1);
  expect("1 operations that are not done");
  good(cuMemFree_v2(by_copy));
  assert_int_equal(stub_violations(), 2);
  good(cuMemFree_v2(by_graph));
  assert_int_equal(stub_violations(), 3);
  good(cuModuleUnload(f.module));
  expect("2 launches of set are not done");
  good(cuStreamSynchronize(stream));
  good(cuGraphExecDestroy(exec));
  good(cuGraphDestroy(graph));
  good(cuStreamDestroy_v2(stream));
  assert_int_equal(cuModuleUnload(f.module), CUDA_ERROR_INVALID_HANDLE);
  expect("the module was destroyed");
  uint64_t seen = stub_violations();
  fixture_end(&f, seen + 1);
}

static void freed_memory_and_wrong_ranges_are_recognised(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUstream stream = make_stream();
  CUdeviceptr freed = make_memory(64), word = make_memory(64);
  uint32_t host = 0;
  good(cuMemFree_v2(freed));
  assert_int_equal(stub_violations(), 0);
  assert_int_equal(cuMemFree_v2(freed), CUDA_ERROR_INVALID_VALUE);
  expect("was freed before");
  assert_int_equal(cuMemFree_v2(word + 8), CUDA_ERROR_INVALID_VALUE);
  expect("is not what was allocated");
  good(launch(f.set, stream, freed, 1));
  expect("launch of set: parameter 0 points to");
  assert_int_equal(cuMemsetD8Async(word + 60, 0, 8, stream), CUDA_ERROR_INVALID_VALUE);
  expect("8 bytes at byte 60 of an allocation of 64");
  assert_int_equal(cuMemsetD8Async((CUdeviceptr)(uintptr_t)&host, 0, 4, stream), CUDA_ERROR_INVALID_VALUE);
  expect("cuMemsetD8Async: memory of the host");
  CUdeviceptr on_host = (CUdeviceptr)(uintptr_t)&host;
  assert_int_equal(cuMemcpyAsync(on_host, on_host + 8, 4, stream), CUDA_ERROR_INVALID_VALUE);
  expect("neither end is memory of a device");
  assert_int_equal(cuMemcpyAsync(word, word + 4, 8, stream), CUDA_ERROR_INVALID_VALUE);
  expect(" overlap");
  good(cuStreamSynchronize(stream)); // runs the launch
  uint64_t seen = stub_violations();
  good(launch(f.set, stream, on_host, 1));
  good(launch(f.set, stream, word + 62, 1));
  good(cuStreamSynchronize(stream));
  expect("kernel set: 4 bytes at byte 62");
  expect("is memory of the host");
  assert_int_equal(stub_violations(), seen + 2);
  good(cuMemFree_v2(word));
  good(cuStreamDestroy_v2(stream));
  fixture_end(&f, seen + 2);
}

static void a_kernel_that_writes_past_its_memory_is_noticed(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUdeviceptr word = make_memory(64);
  unsigned char *memory = (unsigned char *)(uintptr_t)(word & ~(UINT64_C(1) << 56));
  memory[66] = 0;
  good(cuMemFree_v2(word));
  expect("written to 2 bytes past an allocation of 64 bytes");
  fixture_end(&f, 1);
}

static void events_must_be_recorded_and_alive(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUstream stream = make_stream();
  CUevent event = make_event(CU_EVENT_DISABLE_TIMING);
  good(cuStreamWaitEvent(stream, event, 0));
  expect("cuStreamWaitEvent: the event was never recorded");
  good(cuEventQuery(event));
  expect("cuEventQuery: the event was never recorded");
  good(cuEventRecord(event, stream));
  good(cuEventSynchronize(event));
  float milliseconds;
  assert_int_equal(cuEventElapsedTime(&milliseconds, event, event), CUDA_ERROR_INVALID_HANDLE);
  expect("the event takes no time");
  good(cuEventDestroy_v2(event));
  assert_int_equal(cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE);
  expect("cuEventRecord: the event was destroyed");
  assert_int_equal(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
  assert_int_equal(cuStreamQuery((CUstream)(void *)event), CUDA_ERROR_INVALID_HANDLE);
  expect("cuStreamQuery: a event in place of a stream");
  assert_int_equal(cuEventQuery((CUevent)(void *)&f), CUDA_ERROR_INVALID_HANDLE);
  expect("was never a event");
  good(cuStreamDestroy_v2(stream));
  assert_int_equal(launch(f.set, stream, 0, 0), CUDA_ERROR_INVALID_HANDLE);
  expect("cuLaunchKernel: the stream was destroyed");
  fixture_end(&f, 8);
}

static void launches_are_checked(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  uint64_t words[2] = {0};
  void *params[] = {&words[0], &words[1]};
  assert_int_equal(cuLaunchKernel(f.set, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuLaunchKernel(f.set, 1, 70000, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuLaunchKernel(f.set, 1, 1, 1, 257, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuLaunchKernel(f.set, 1, 1, 1, 1, 1, 1, 50000, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuLaunchKernel(f.set, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(stub_violations(), 5);
  good(cuFuncSetAttribute(f.fault, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000));
  size_t offset, bytes;
  good(cuFuncGetParamInfo(f.set, 1, &offset, &bytes));
  assert_int_equal(offset, 8);
  assert_int_equal(bytes, 8);
  assert_int_equal(cuFuncGetParamInfo(f.set, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  CUmodule module;
  assert_int_equal(cuModuleLoadDataEx(&module, "\177ELF..", 0, NULL, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU);
  assert_int_equal(cuModuleLoadDataEx(&module, ".version 8.0", 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE);
  assert_int_equal(cuModuleLoadDataEx(&module, "STUB\nset\n", 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE);
  CUfunction function;
  assert_int_equal(cuModuleGetFunction(&function, f.module, "sub"), CUDA_ERROR_NOT_FOUND);
  fixture_end(&f, 5);
}

static void calls_need_a_current_context(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUdeviceptr word;
  good(cuCtxPopCurrent_v2(NULL));
  assert_int_equal(cuMemAlloc_v2(&word, 4), CUDA_ERROR_INVALID_CONTEXT);
  expect("cuMemAlloc_v2: no context is current");
  good(cuCtxPushCurrent_v2(f.context));
  good(cuCtxPushCurrent_v2(f.context));
  CUcontext context;
  good(cuCtxGetCurrent(&context));
  assert_ptr_equal(context, f.context);
  good(cuCtxPopCurrent_v2(&context));
  assert_ptr_equal(context, f.context);
  good(cuDevicePrimaryCtxRetain(&context, 0));
  assert_ptr_equal(context, f.context);
  good(cuDevicePrimaryCtxRelease_v2(0)); // one more holds it
  word = make_memory(4);
  good(cuMemFree_v2(word));
  fixture_end(&f, 1);
}

static void memory_is_bounded(void **state) {
  (void)state;
  fixture f;
  stub_options options = {.memory = 1 << 20};
  fixture_begin(&f, &options);
  CUdeviceptr most = make_memory(1 << 19), more;
  assert_int_equal(cuMemAlloc_v2(&more, (1 << 19) + 1), CUDA_ERROR_OUT_OF_MEMORY);
  good(cuMemAlloc_v2(&more, 1 << 19));
  good(cuMemFree_v2(more));
  CUdeviceptr base;
  size_t bytes;
  good(cuMemGetAddressRange_v2(&base, &bytes, most + 77));
  assert_true(base == most && bytes == 1 << 19);
  unsigned type = 0;
  good(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, most + 77));
  assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
  assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&f),
                   CUDA_ERROR_INVALID_VALUE);
  void *host;
  good(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_PORTABLE));
  good(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)host + 5));
  assert_int_equal(type, CU_MEMORYTYPE_HOST);
  stub_live_objects live = stub_live();
  assert_int_equal(live.device_bytes, 1 << 19);
  assert_int_equal(live.pinned, 1);
  good(cuMemFreeHost(host));
  good(cuMemFree_v2(most));
  fixture_end(&f, 0);
}

static void the_nth_call_fails_once(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  stub_fail_nth("cuMemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr first = make_memory(4), second;
  assert_null(stub_failed());
  assert_int_equal(cuMemAlloc_v2(&second, 4), CUDA_ERROR_OUT_OF_MEMORY);
  assert_string_equal(stub_failed(), "cuMemAlloc_v2");
  second = make_memory(4);
  assert_int_equal(stub_calls("cuMemAlloc"), 3);
  assert_int_equal(stub_calls("cuMem"), 0);
  stub_fail_nth(NULL, 1, CUDA_ERROR_OPERATING_SYSTEM);
  assert_int_equal(cuMemFree_v2(first), CUDA_ERROR_OPERATING_SYSTEM); // but it is freed
  assert_int_equal(stub_live().device_allocations, 1);
  stub_fail_nth(NULL, 1, CUDA_ERROR_LAUNCH_FAILED);
  CUcontext current;
  good(cuCtxPushCurrent_v2(f.context)); // not counted
  good(cuCtxPopCurrent_v2(&current));
  assert_int_equal(cuStreamSynchronize(NULL), CUDA_ERROR_LAUNCH_FAILED);
  assert_int_equal(cuMemFree_v2(second), CUDA_ERROR_LAUNCH_FAILED); // from now on
  fixture_end(&f, 0);
}

static void a_fault_loses_the_context_and_nothing_else(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    fixture f;
    stub_options options = {.devices = 2, .seed = seed, .manual = true};
    fixture_begin(&f, &options);
    CUstream first = make_stream(), second = make_stream();
    CUevent event = make_event(0), other_event;
    CUdeviceptr word = make_memory(4);
    CUcontext other;
    good(cuDevicePrimaryCtxRetain(&other, 1));
    good(launch(f.set, first, word, 1));
    good(launch(f.fault, first, word, 1));
    good(launch(f.set, first, word, 2));
    good(cuEventRecord(event, first));
    good(cuStreamWaitEvent(second, event, 0));
    for (int i = 0; i < 5; i++) good(launch(f.set, second, word, 3));
    good(cuCtxPushCurrent_v2(other));
    CUstream third = make_stream();
    good(cuStreamWaitEvent(third, event, 0));
    good(cuEventCreate(&other_event, 0));
    good(cuEventRecord(other_event, third));
    good(cuEventSynchronize(other_event)); // is let go
    good(cuStreamDestroy_v2(third));
    good(cuEventDestroy_v2(other_event));
    good(cuDevicePrimaryCtxRelease_v2(1));
    good(cuCtxPopCurrent_v2(NULL));
    assert_int_equal(cuStreamSynchronize(second), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(launch(f.set, second, word, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemAlloc_v2(&word, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(stub_executed(), 2);
    assert_int_equal(cuMemFree_v2(word), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuStreamDestroy_v2(first), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuStreamDestroy_v2(second), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuEventDestroy_v2(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    fixture_end(&f, 0);
  }
}

static void a_fault_ends_what_threads_execute(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    fixture f;
    stub_options options = {.seed = seed, .executors = 1 + (uint32_t)(seed % 3)};
    fixture_begin(&f, &options);
    CUstream streams[] = {make_stream(), make_stream(), make_stream()};
    CUdeviceptr words = make_memory(12);
    CUresult results[4] = {CUDA_SUCCESS};
    for (int i = 0; i < 60; i++) {
      CUresult result = launch(i == 30 ? f.fault : f.add, streams[i % 3], words + 4 * (CUdeviceptr)(i % 3), 1);
      assert_true(result == CUDA_SUCCESS || (i > 30 && result == CUDA_ERROR_ILLEGAL_ADDRESS));
    }
    for (int i = 0; i < 3; i++) results[i] = cuStreamSynchronize(streams[i]);
    assert_int_equal(results[0], CUDA_ERROR_ILLEGAL_ADDRESS);
    for (int i = 0; i < 3; i++) assert_int_equal(cuStreamDestroy_v2(streams[i]), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemFree_v2(words), CUDA_ERROR_ILLEGAL_ADDRESS);
    fixture_end(&f, 0);
  }
}

static void devices_reach_each_others_memory_by_copies_or_as_peers(void **state) {
  (void)state;
  fixture f;
  stub_options options = {.devices = 2, .seed = 1, .manual = true};
  fixture_begin(&f, &options);
  CUstream stream = make_stream();
  CUdeviceptr here = make_memory(4), there;
  CUcontext other;
  good(cuDevicePrimaryCtxRetain(&other, 1));
  good(cuCtxPushCurrent_v2(other));
  there = make_memory(4);
  good(cuCtxPopCurrent_v2(NULL));
  good(launch(f.set, stream, here, 9));
  good(cuMemcpyAsync(there, here, 4, stream));
  good(cuStreamSynchronize(stream));
  assert_int_equal(read_word(there), 9);
  assert_int_equal(stub_violations(), 0);
  good(launch(f.add, stream, there, 1));
  good(cuStreamSynchronize(stream));
  expect("to which device 0 has no access");
  int can = 0;
  good(cuDeviceCanAccessPeer(&can, 0, 1));
  assert_int_equal(can, 1);
  good(cuCtxEnablePeerAccess(other, 0));
  assert_int_equal(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  good(launch(f.add, stream, there, 1));
  good(cuStreamSynchronize(stream));
  assert_int_equal(read_word(there), 28);
  good(cuCtxPushCurrent_v2(other));
  assert_int_equal(launch(f.set, NULL, there, 1), CUDA_ERROR_INVALID_HANDLE);
  expect("another context than the stream's");
  good(cuMemFree_v2(there));
  good(cuCtxPopCurrent_v2(NULL));
  good(cuDevicePrimaryCtxRelease_v2(1));
  good(cuMemFree_v2(here));
  good(cuStreamDestroy_v2(stream));
  fixture_end(&f, 2);
}

static void what_is_left_is_counted(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, &manual);
  CUstream stream = make_stream();
  make_event(0);
  make_memory(100);
  CUgraph graph;
  good(cuGraphCreate(&graph, 0));
  good(launch(f.fault, stream, 0, 0));
  stub_live_objects live = stub_live();
  assert_int_equal(live.contexts, 1);
  assert_int_equal(live.streams, 1);
  assert_int_equal(live.events, 1);
  assert_int_equal(live.graphs, 1);
  assert_int_equal(live.modules, 1);
  assert_int_equal(live.device_allocations, 1);
  assert_int_equal(live.queued, 1);
  assert_false(stub_configure(&manual)); // the context is alive
  good(cuGraphDestroy(graph));
  good(cuModuleUnload(f.module)); // with a launch in flight
  good(cuDevicePrimaryCtxRelease_v2(0));
  expect("the last context was released with 1 streams, 1 events, 0 modules, 1 allocations");
  assert_int_equal(stub_live().queued, 0);
  assert_int_equal(stub_live().device_allocations, 0);
  assert_int_equal(cuStreamSynchronize(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  good(cuCtxPopCurrent_v2(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_that_work_refers_to_must_not_be_freed),
      cmocka_unit_test(freed_memory_and_wrong_ranges_are_recognised),
      cmocka_unit_test(a_kernel_that_writes_past_its_memory_is_noticed),
      cmocka_unit_test(events_must_be_recorded_and_alive),
      cmocka_unit_test(launches_are_checked),
      cmocka_unit_test(calls_need_a_current_context),
      cmocka_unit_test(memory_is_bounded),
      cmocka_unit_test(the_nth_call_fails_once),
      cmocka_unit_test(a_fault_loses_the_context_and_nothing_else),
      cmocka_unit_test(a_fault_ends_what_threads_execute),
      cmocka_unit_test(devices_reach_each_others_memory_by_copies_or_as_peers),
      cmocka_unit_test(what_is_left_is_counted),
  };
  return cmocka_run_group_tests_name("stub driver: strictness", tests, NULL, NULL);
}
