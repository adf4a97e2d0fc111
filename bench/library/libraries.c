// SPDX-License-Identifier: Apache-2.0
#include "libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

libraries lib;

void library_check(int result, const char *call, const char *file, int line) {
  if (result == 0) return;
  fprintf(stderr, "weir-bench-library: %s:%d: %s: %d\n", file, line, call, result);
  exit(1);
}

static _Noreturn void missing(const char *what) {
  fprintf(stderr, "weir-bench-library: nothing to measure: %s\n", what);
  exit(LIBRARIES_EXIT_NO_CARD);
}

static void *open_one(const char *first, const char *second) {
  void *library = dlopen(first, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) library = dlopen(second, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) missing(dlerror());
  return library;
}

static void find(void *library, const char *name, void *out_function) {
  void *found = dlsym(library, name);
  if (found == NULL) missing(dlerror());
  memcpy(out_function, &found, sizeof found);
}

// The name behind a macro of the header's.
#define SYMBOL(name) SYMBOL_TEXT(name)
#define SYMBOL_TEXT(name) #name

void libraries_open(char name[128]) {
  void *library = open_one("libcuda.so.1", "libcuda.so");
#define FIND(function) find(library, SYMBOL(function), &lib.p_##function);
  DRIVER_FUNCTIONS(FIND)
  library = open_one("libcublas.so.13", "libcublas.so.12");
  BLAS_FUNCTIONS(FIND)
  library = open_one("libcusolver.so.12", "libcusolver.so.11");
  SOLVER_FUNCTIONS(FIND)
  library = open_one("libnvrtc.so.13", "libnvrtc.so.12");
  COMPILER_FUNCTIONS(FIND)
#undef FIND
  CUdevice device;
  CUcontext context;
  if (lib.p_cuInit(0) != CUDA_SUCCESS || lib.p_cuDeviceGet(&device, 0) != CUDA_SUCCESS)
    missing("the driver finds no card");
  CHECK(lib.p_cuDeviceGetName(name, 128, device));
  CHECK(lib.p_cuDevicePrimaryCtxRetain(&context, device));
  CHECK(lib.p_cuCtxSetCurrent(context));
}

call_lane lane_create(int rows, CUstream stream, int priority) {
  call_lane made = {.stream = stream};
  if (stream == NULL) CHECK(lib.p_cuStreamCreateWithPriority(&made.stream, CU_STREAM_NON_BLOCKING, priority));
  CHECK(lib.p_cublasCreate(&made.blas));
  CHECK(lib.p_cublasSetStream(made.blas, made.stream));
  CHECK(lib.p_cusolverDnCreate(&made.solver));
  CHECK(lib.p_cusolverDnSetStream(made.solver, made.stream));
  CHECK(lib.p_cusolverDnDpotrf_bufferSize(made.solver, CUBLAS_FILL_MODE_LOWER, rows, NULL, rows, &made.work_size));
  CHECK(lib.p_cuMemAlloc(&made.work, (size_t)made.work_size * sizeof(double) + sizeof(int)));
  return made;
}

void lane_destroy(call_lane *lane, bool has_stream) {
  CHECK(lib.p_cuMemFree(lane->work));
  CHECK(lib.p_cusolverDnDestroy(lane->solver));
  CHECK(lib.p_cublasDestroy(lane->blas));
  if (has_stream) CHECK(lib.p_cuStreamDestroy(lane->stream));
}
