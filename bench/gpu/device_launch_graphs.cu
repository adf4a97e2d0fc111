// SPDX-License-Identifier: Apache-2.0
//
// The tasks' kernels and graphs of them.
#include "device_launch.cuh"

namespace {

// One thread of the block looks whether the words before are set and adds to its own; all spin. `done` is the kernel
// that tells.
const char ptx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry task(.param .u64 p_ticks, .param .u64 p_own, .param .u64 p_first, .param .u64 p_second,
                     .param .u64 p_violations, .param .u64 p_spare)
{
  .reg .pred %p<8>;
  .reg .b32 %r<8>;
  .reg .b64 %d<12>;
  mov.u64 %d1, %clock64;
  ld.param.u64 %d2, [p_ticks];
  ld.param.u64 %d3, [p_own];
  ld.param.u64 %d4, [p_first];
  ld.param.u64 %d5, [p_second];
  ld.param.u64 %d6, [p_violations];
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra SPIN;
  setp.eq.u64 %p2, %d4, 0;
  @%p2 bra SECOND;
  ld.relaxed.gpu.global.u32 %r2, [%d4];
  setp.eq.u32 %p3, %r2, 0;
  @%p3 red.relaxed.gpu.global.add.u32 [%d6], 1;
SECOND:
  setp.eq.u64 %p2, %d5, 0;
  @%p2 bra SPIN;
  ld.relaxed.gpu.global.u32 %r3, [%d5];
  setp.eq.u32 %p3, %r3, 0;
  @%p3 red.relaxed.gpu.global.add.u32 [%d6], 1;
SPIN:
  mov.u64 %d7, %clock64;
  sub.u64 %d8, %d7, %d1;
  setp.lt.u64 %p4, %d8, %d2;
  @%p4 bra SPIN;
  @%p1 bra DONE;
  red.relaxed.gpu.global.add.u32 [%d3], 1;
DONE:
  ret;
}
.visible .entry done(.param .u64 p_word)
{
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [p_word];
  red.release.gpu.global.add.u32 [%d1], 1;
  ret;
}
)";

enum { TASK_THREADS = 32, TASK_PARAMETERS = sizeof(task_args) / sizeof(uint64_t) };

// The driver's functions; the program does not link with the driver.
struct {
  decltype(&cuLaunchKernel) launch;
  decltype(&cuGraphAddKernelNode) add_node;
  decltype(&cuGraphKernelNodeSetAttribute) set_attribute;
  decltype(&cuGraphKernelNodeGetAttribute) get_attribute;
  decltype(&cuKernelGetParamInfo) parameter;
  decltype(&cuGetErrorString) text;
} driver;

template <typename function> void find(function *out_function, const char *name) {
  void *address = nullptr;
  cudaDriverEntryPointQueryResult found;
  launch_check(cudaGetDriverEntryPointByVersion(name, &address, CUDA_VERSION, cudaEnableDefault, &found), name);
  if (found != cudaDriverEntryPointSuccess || !address) launch_fail("failed", "the driver has no %s", name);
  *out_function = (function)address;
}

void pointers(task_args *args, void *out_pointers[TASK_PARAMETERS]) {
  for (int i = 0; i < TASK_PARAMETERS; i++) out_pointers[i] = (uint64_t *)args + i;
}

CUgraphNode add_node(CUkernel kernel, cudaGraph_t graph, const CUgraphNode *before, size_t count, unsigned threads,
                     void **parameters) {
  CUDA_KERNEL_NODE_PARAMS node = {};
  CUgraphNode added = nullptr;
  node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.blockDimX = threads;
  node.kernelParams = parameters;
  node.kern = kernel;
  launch_check_driver(driver.add_node(&added, graph, before, count, &node), "cuGraphAddKernelNode");
  return added;
}

cudaGraphExec_t device_graph(cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t exec = nullptr;
  launch_check(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch),
               "cudaGraphInstantiate for the card");
  launch_check(cudaGraphUpload(exec, stream), "cudaGraphUpload");
  return exec;
}

} // namespace

void launch_check_driver(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS) return;
  const char *text = nullptr;
  if (driver.text) driver.text(result, &text);
  launch_fail("failed", "%s: %s", what, text ? text : "unknown error");
}

void task_kernels_load(task_kernels *out_kernels) {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  find(&driver.text, "cuGetErrorString");
  find(&driver.launch, "cuLaunchKernel");
  find(&driver.add_node, "cuGraphAddKernelNode");
  find(&driver.set_attribute, "cuGraphKernelNodeSetAttribute");
  find(&driver.get_attribute, "cuGraphKernelNodeGetAttribute");
  find(&driver.parameter, "cuKernelGetParamInfo");
  launch_check(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
  launch_check(cudaLibraryGetKernel(&kernel, library, "task"), "cudaLibraryGetKernel");
  out_kernels->task = (CUkernel)kernel;
  launch_check(cudaLibraryGetKernel(&kernel, library, "done"), "cudaLibraryGetKernel");
  out_kernels->done = (CUkernel)kernel;
  for (size_t i = 0; i < TASK_PARAMETERS; i++) {
    size_t offset = 0, size = 0;
    launch_check_driver(driver.parameter(out_kernels->task, i, &offset, &size), "cuKernelGetParamInfo");
    if (i == 0) out_kernels->offset = offset;
    if (size != sizeof(uint64_t) || offset != out_kernels->offset + i * sizeof(uint64_t))
      launch_fail("failed", "parameters do not follow each other without gaps");
  }
}

void task_put(const task_kernels *kernels, task_args *args, cudaStream_t stream) {
  void *parameters[TASK_PARAMETERS];
  pointers(args, parameters);
  launch_check_driver(
      driver.launch((CUfunction)kernels->task, 1, 1, 1, TASK_THREADS, 1, 1, 0, stream, parameters, nullptr),
      "cuLaunchKernel");
}

CUgraphNode task_node(const task_kernels *kernels, cudaGraph_t graph, const CUgraphNode *before, size_t count,
                      task_args *args) {
  void *parameters[TASK_PARAMETERS];
  pointers(args, parameters);
  return add_node(kernels->task, graph, before, count, TASK_THREADS, parameters);
}

cudaGraphExec_t task_device_graph(const task_kernels *kernels, task_args *args, uint64_t word, cudaStream_t stream,
                                  cudaGraphDeviceNode_t *out_node) {
  cudaGraph_t graph = nullptr;
  launch_check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  CUgraphNode task = task_node(kernels, graph, nullptr, 0, args);
  if (out_node) {
    CUkernelNodeAttrValue value = {};
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    launch_check_driver(driver.set_attribute(task, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value),
                        "making a node that the card may update");
    launch_check_driver(driver.get_attribute(task, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value),
                        "the handle of a node that the card may update");
    *out_node = (cudaGraphDeviceNode_t)value.deviceUpdatableKernelNode.devNode;
  }
  void *parameters[] = {&word};
  if (word != 0) add_node(kernels->done, graph, &task, 1, 1, parameters);
  cudaGraphExec_t exec = device_graph(graph, stream);
  if (!out_node) launch_check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return exec;
}

cudaGraphExec_t scheduler_graph(card_way way, unsigned blocks, unsigned threads, card_plan *plan, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  void *parameters[] = {plan};
  cudaKernelNodeParams kernel = {};
  kernel.func = const_cast<void *>(card_kernel(way));
  kernel.gridDim = dim3(blocks);
  kernel.blockDim = dim3(threads);
  kernel.kernelParams = parameters;
  launch_check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  launch_check(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel), "cudaGraphAddKernelNode");
  cudaGraphExec_t exec = device_graph(graph, stream);
  launch_check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return exec;
}
