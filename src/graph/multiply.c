// SPDX-License-Identifier: Apache-2.0
#include "graph/multiply.h"

#include <string.h>

#include "base/error.h"
#include "weir/cuda.h"
#include "weir/opencl.h"
#include "weir/vulkan.h"

enum { GROUP = 256, MOST_GROUPS = 65535 };

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

uint32_t weir__multiply_groups(uint32_t count) {
  uint32_t groups = count / GROUP + (count % GROUP != 0);
  return groups > MOST_GROUPS ? MOST_GROUPS : groups;
}

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

static weir_status make(weir_context *context) {
  weir_status status = weir_kernel_create(context, "multiply", &context->multiply);
  if (status == WEIR_OK) status = weir_kernel_set_cpu(context->multiply, multiply);
  // How long it takes is not known: on a simulated device it takes no time.
  const weir_sim_launch launch = {.threads = GROUP};
  if (status == WEIR_OK) status = weir_kernel_set_sim(context->multiply, &launch, 1);
  if (status == WEIR_OK) return WEIR_OK;
  weir_kernel_release(context->multiply);
  context->multiply = NULL;
  return status;
}

static weir_status set_code(weir_kernel *kernel, const weir_device *device) {
  if (strcmp(device->ops->kind, "cuda") == 0) {
    const weir_cuda_code code = {.source = cuda_source};
    const weir_cuda_launch launch = {.function = "weir_multiply", .block = {GROUP}};
    return weir_kernel_set_cuda(kernel, &code, &launch, 1);
  }
  if (strcmp(device->ops->kind, "opencl") == 0) {
    const weir_opencl_code code = {.source = opencl_source};
    return weir_kernel_set_opencl(kernel, &code, &(weir_opencl_launch){.entry = "weir_multiply", .local = {GROUP}});
  }
  if (strcmp(device->ops->kind, "vulkan") == 0) {
    static const uint32_t words[] = {
#include "graph/multiply.inc"
    };
    const weir_vulkan_code code = {.words = words, .bytes = sizeof words};
    return weir_kernel_set_vulkan(kernel, &code, &(weir_vulkan_launch){0}, 1);
  }
  return weir__error(WEIR_ERROR_NO_CODE, "graph multiply: there is no code for device %s", device->name);
}

weir_status weir__multiply_kernel(weir_context *context, weir_device *device, weir_kernel **out_kernel) {
  if (device == NULL) device = context->host.devices[0];
  weir__lock_acquire(&context->multiply_lock);
  weir_status status = context->multiply == NULL ? make(context) : WEIR_OK;
  if (status == WEIR_OK && !device->ops->has_code(device, context->multiply))
    status = set_code(context->multiply, device);
  *out_kernel = context->multiply;
  weir__lock_release(&context->multiply_lock);
  return status;
}
