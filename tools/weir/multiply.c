// SPDX-License-Identifier: Apache-2.0
#include "multiply.h"

#include <string.h>

#include "weir/cuda.h"
#include "weir/opencl.h"
#include "weir/sim.h"
#include "weir/vulkan.h"

enum { GROUP = WEIR__MULTIPLY_GROUP };

static const char cuda_source[] =
    "extern \"C\" __global__ void weir_multiply(float *product, const float *first, const float *second, unsigned "
    "count) {\n"
    "  size_t step = (size_t)gridDim.x * blockDim.x;\n"
    "  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)\n"
    "    product[i] = first[i] * second[i];\n"
    "}\n";

static const char opencl_source[] =
    "__kernel void weir_multiply(__global float *product, __global const float *first, __global const float *second,\n"
    "                            uint count) {\n"
    "  for (size_t i = get_global_id(0); i < count; i += get_global_size(0)) product[i] = first[i] * second[i];\n"
    "}\n";

static void multiply(const weir_work *work) {
  float *product = work->args[0];
  const float *first = work->args[1], *second = work->args[2];
  uint32_t count;
  memcpy(&count, work->args[3], sizeof count);
  uint64_t step = (uint64_t)work->groups[0] * GROUP;
  for (uint64_t start = work->first * GROUP; start < count; start += step) {
    uint64_t end = start + (work->end - work->first) * GROUP;
    if (end > count) end = count;
    for (uint64_t i = start; i < end; i++) product[i] = first[i] * second[i];
  }
}

static weir_status set_device_code(weir_kernel *kernel, const char *kind) {
  if (strcmp(kind, "cuda") == 0) {
    const weir_cuda_code code = {.source = cuda_source};
    const weir_cuda_launch launch = {.function = "weir_multiply", .block = {GROUP}};
    return weir_kernel_set_cuda(kernel, &code, &launch, 1);
  }
  if (strcmp(kind, "opencl") == 0) {
    const weir_opencl_code code = {.source = opencl_source};
    return weir_kernel_set_opencl(kernel, &code, &(weir_opencl_launch){.entry = "weir_multiply", .local = {GROUP}});
  }
  if (strcmp(kind, "vulkan") == 0) {
    static const uint32_t words[] = {
#include "multiply.inc"
    };
    const weir_vulkan_code code = {.words = words, .bytes = sizeof words};
    return weir_kernel_set_vulkan(kernel, &code, &(weir_vulkan_launch){0}, 1);
  }
  return WEIR_OK;
}

weir_status weir__multiply_create(weir_context *context, const weir_device *device, weir_kernel **out_kernel) {
  weir_status status = weir_kernel_create(context, "multiply", out_kernel);
  if (status == WEIR_OK) status = weir_kernel_set_cpu(*out_kernel, multiply);
  const weir_sim_launch launch = {.threads = GROUP};
  if (status == WEIR_OK) status = weir_kernel_set_sim(*out_kernel, &launch, 1);
  return status == WEIR_OK ? set_device_code(*out_kernel, weir_device_information(device)->kind) : status;
}
