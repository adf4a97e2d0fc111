// SPDX-License-Identifier: Apache-2.0
#include "stub_test.h"

#include <string.h>

static uint64_t operand_of(const stub_launch *launch, uint32_t index) {
  uint64_t value;
  memcpy(&value, launch->params[index], sizeof value);
  return value;
}

static void run_set(const stub_launch *launch) {
  uint32_t *word = stub_memory(launch, operand_of(launch, 0), sizeof *word);
  if (word != NULL) *word = (uint32_t)operand_of(launch, 1);
}

static void run_add(const stub_launch *launch) {
  uint32_t *word = stub_memory(launch, operand_of(launch, 0), sizeof *word);
  if (word != NULL) *word = *word * 3 + (uint32_t)operand_of(launch, 1);
}

static void run_copy(const stub_launch *launch) {
  uint32_t *word = stub_memory(launch, operand_of(launch, 0), sizeof *word);
  const uint32_t *other = stub_memory(launch, operand_of(launch, 1), sizeof *other);
  if (word != NULL && other != NULL) *word = *other;
}

static void run_fault(const stub_launch *launch) {
  stub_fault(launch, CUDA_ERROR_ILLEGAL_ADDRESS);
}

void fixture_begin(fixture *f, const stub_options *options) {
  assert_true(stub_configure(options));
  stub_register("set", run_set);
  stub_register("add", run_add);
  stub_register("copy", run_copy);
  stub_register("fault", run_fault);
  good(cuInit(0));
  good(cuDevicePrimaryCtxRetain(&f->context, 0));
  good(cuCtxPushCurrent_v2(f->context));
  const char *image = "STUB\nset 256 8 8\nadd 256 8 8\ncopy 256 8 8\nfault 256 8 8\n";
  good(cuModuleLoadDataEx(&f->module, image, 0, NULL, NULL));
  good(cuModuleGetFunction(&f->set, f->module, "set"));
  good(cuModuleGetFunction(&f->add, f->module, "add"));
  good(cuModuleGetFunction(&f->copy, f->module, "copy"));
  good(cuModuleGetFunction(&f->fault, f->module, "fault"));
}

void fixture_end(fixture *f, uint64_t violations) {
  cuModuleUnload(f->module);
  good(cuCtxPopCurrent_v2(NULL));
  good(cuDevicePrimaryCtxRelease_v2(0));
  if (stub_violations() != violations) print_message("%s", stub_violation_text());
  assert_int_equal(stub_violations(), violations);
  assert_int_equal(stub_live_count(), 0);
}

CUstream make_stream(void) {
  CUstream stream = NULL;
  good(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  return stream;
}

CUevent make_event(unsigned flags) {
  CUevent event = NULL;
  good(cuEventCreate(&event, flags));
  return event;
}

CUdeviceptr make_memory(size_t bytes) {
  CUdeviceptr pointer = 0;
  good(cuMemAlloc_v2(&pointer, bytes));
  return pointer;
}

CUresult launch(CUfunction function, CUstream stream, CUdeviceptr pointer, uint64_t operand) {
  void *params[] = {&pointer, &operand};
  return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

uint32_t read_word(CUdeviceptr pointer) {
  CUstream stream = make_stream();
  uint32_t word = 0;
  good(cuMemcpyAsync((CUdeviceptr)(uintptr_t)&word, pointer, sizeof word, stream));
  good(cuStreamDestroy_v2(stream));
  return word;
}
