// SPDX-License-Identifier: Apache-2.0
//
// The driver, cuBLAS, cuSOLVER and NVRTC as this benchmark calls them: types of their headers, functions loaded at run time.
#ifndef WEIR_BENCH_LIBRARY_LIBRARIES_H
#define WEIR_BENCH_LIBRARY_LIBRARIES_H

#include <stdbool.h>

#include <cublas_v2.h>
#include <cuda.h>
#include <cusolverDn.h>
#include <nvrtc.h>

// Names as the headers define them: some are macros for a later version of the function.
#define DRIVER_FUNCTIONS(X)                                                                                            \
  X(cuInit)                                                                                                            \
  X(cuDeviceGet)                                                                                                       \
  X(cuDeviceGetName)                                                                                                   \
  X(cuDevicePrimaryCtxRetain)                                                                                          \
  X(cuCtxSetCurrent)                                                                                                   \
  X(cuCtxSynchronize)                                                                                                  \
  X(cuMemAlloc)                                                                                                        \
  X(cuMemFree)                                                                                                         \
  X(cuMemcpyHtoD)                                                                                                      \
  X(cuMemcpyDtoH)                                                                                                      \
  X(cuMemcpyDtoD)                                                                                                      \
  X(cuMemsetD32)                                                                                                       \
  X(cuStreamCreate)                                                                                                    \
  X(cuStreamCreateWithPriority)                                                                                        \
  X(cuStreamDestroy)                                                                                                   \
  X(cuStreamSynchronize)                                                                                               \
  X(cuStreamWaitEvent)                                                                                                 \
  X(cuStreamBeginCapture)                                                                                              \
  X(cuStreamEndCapture)                                                                                                \
  X(cuEventCreate)                                                                                                     \
  X(cuEventDestroy)                                                                                                    \
  X(cuEventRecord)                                                                                                     \
  X(cuGraphInstantiateWithFlags)                                                                                       \
  X(cuGraphLaunch)                                                                                                     \
  X(cuGraphExecDestroy)                                                                                                \
  X(cuGraphDestroy)                                                                                                    \
  X(cuModuleLoadData)                                                                                                  \
  X(cuModuleGetFunction)                                                                                               \
  X(cuLaunchKernel)
#define BLAS_FUNCTIONS(X)                                                                                              \
  X(cublasCreate)                                                                                                      \
  X(cublasDestroy)                                                                                                     \
  X(cublasSetMathMode)                                                                                                 \
  X(cublasSetStream)                                                                                                   \
  X(cublasDtrsm)                                                                                                       \
  X(cublasDsyrk)                                                                                                       \
  X(cublasDgemm)                                                                                                       \
  X(cublasSgemm)
#define COMPILER_FUNCTIONS(X)                                                                                          \
  X(nvrtcCreateProgram)                                                                                                \
  X(nvrtcCompileProgram)                                                                                               \
  X(nvrtcGetPTXSize)                                                                                                   \
  X(nvrtcGetPTX)
#define SOLVER_FUNCTIONS(X)                                                                                            \
  X(cusolverDnCreate)                                                                                                  \
  X(cusolverDnDestroy)                                                                                                 \
  X(cusolverDnSetStream)                                                                                               \
  X(cusolverDnDpotrf_bufferSize)                                                                                       \
  X(cusolverDnDpotrf)

typedef struct libraries {
#define LIBRARY_FIELD(name) __typeof__(&name) p_##name;
  DRIVER_FUNCTIONS(LIBRARY_FIELD)
  BLAS_FUNCTIONS(LIBRARY_FIELD)
  SOLVER_FUNCTIONS(LIBRARY_FIELD)
  COMPILER_FUNCTIONS(LIBRARY_FIELD)
#undef LIBRARY_FIELD
} libraries;

extern libraries lib;

enum { LIBRARIES_EXIT_NO_CARD = 3 };

// Loads all, and makes the primary context of device 0 current. Where something is missing, says what and ends the program with
// LIBRARIES_EXIT_NO_CARD.
void libraries_open(char name[128]);

// Ends the program with a message when a call failed: a benchmark has no use for what it gave until then.
#define CHECK(call) library_check((int)(call), #call, __FILE__, __LINE__)
void library_check(int result, const char *call, const char *file, int line);

// A stream with handles that work on it.
typedef struct call_lane {
  CUstream stream;
  cublasHandle_t blas;
  cusolverDnHandle_t solver;
  CUdeviceptr work; // for potrf: `work_size` doubles, and an int behind them
  int work_size;
} call_lane;

// Makes handles, for potrf of up to `rows` rows. `stream` NULL: makes one, too.
call_lane lane_create(int rows, CUstream stream, int priority);
void lane_destroy(call_lane *lane, bool has_stream);

#endif // WEIR_BENCH_LIBRARY_LIBRARIES_H
