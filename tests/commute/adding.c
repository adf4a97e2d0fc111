// SPDX-License-Identifier: Apache-2.0
#include "adding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "add.spv.h"
#include "combine.spv.h"
#include "program_cuda.h"
#include "scale.spv.h"
#include "weir/cuda.h"
#include "weir/opencl.h"
#include "weir/sim.h"
#include "weir/vulkan.h"

static const char source[] = "__kernel void add(__global const uint *from, __global uint *to, uint2 value) {\n"
                             "  uint i = get_group_id(0);\n"
                             "  to[i] += from[i] * value.x + value.y;\n"
                             "}\n"
                             "__kernel void scale(__global const uint *from, __global uint *to, uint2 value) {\n"
                             "  uint i = get_group_id(0);\n"
                             "  to[i] = to[i] * value.x + from[i] + value.y;\n"
                             "}\n"
                             "__kernel void combine(__global uint *to, __global const uint *from) {\n"
                             "  uint i = get_group_id(0);\n"
                             "  to[i] += from[i];\n"
                             "}\n";

// Words of the stub's image: name, threads, bytes of each parameter.
static const char image[] = "STUB\nadd 1 8 8 8\nscale 1 8 8 8\ncombine 1 8 8\n";

static void add(const weir_work *work) {
  const uint32_t *from = work->args[0];
  uint32_t *to = work->args[1];
  const adding_value *value = work->args[2];
  for (uint64_t i = work->first; i < work->end; i++) to[i] += from[i] * value->factor + value->more;
}

static void scale(const weir_work *work) {
  const uint32_t *from = work->args[0];
  uint32_t *to = work->args[1];
  const adding_value *value = work->args[2];
  for (uint64_t i = work->first; i < work->end; i++) to[i] = to[i] * value->factor + from[i] + value->more;
}

static void combine(const weir_work *work) {
  uint32_t *to = work->args[0];
  const uint32_t *from = work->args[1];
  for (uint64_t i = work->first; i < work->end; i++) to[i] += from[i];
}

static void run_on_stub(const stub_launch *launch, weir_function function) {
  void *args[3] = {0};
  uint64_t bytes = launch->grid[0] * sizeof(uint32_t);
  for (uint32_t i = 0; i < 2; i++) {
    uint64_t pointer;
    memcpy(&pointer, launch->params[i], sizeof pointer);
    args[i] = program_stub_load()->memory(launch, pointer, bytes);
    if (args[i] == NULL) return; // counted as a violation
  }
  if (launch->param_count > 2) args[2] = launch->params[2];
  function(&(weir_work){.args = args, .arg_count = launch->param_count, .end = launch->grid[0]});
}

static void add_on_stub(const stub_launch *launch) {
  run_on_stub(launch, add);
}

static void scale_on_stub(const stub_launch *launch) {
  run_on_stub(launch, scale);
}

static void combine_on_stub(const stub_launch *launch) {
  run_on_stub(launch, combine);
}

static bool has_device(weir_context *context, const char *kind) {
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    if (strcmp(weir_device_information(weir_context_device(context, i))->kind, kind) == 0) return true;
  }
  return false;
}

static weir_kernel *make(weir_context *context, const char *name, weir_function function,
                         const weir_vulkan_code *shader) {
  weir_kernel *kernel = api_kernel(context, name, function);
  api_expect(weir_kernel_set_sim(kernel, &(weir_sim_launch){.threads = 64, .us = 5}, 1), WEIR_OK, NULL);
  if (has_device(context, "opencl"))
    api_expect(
        weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = source}, &(weir_opencl_launch){.entry = name}),
        WEIR_OK, NULL);
  if (has_device(context, "vulkan"))
    api_expect(weir_kernel_set_vulkan(kernel, shader, &(weir_vulkan_launch){0}, 1), WEIR_OK, NULL);
  if (has_device(context, "cuda"))
    api_expect(weir_kernel_set_cuda(kernel, &(weir_cuda_code){.image = image},
                                    &(weir_cuda_launch){.function = name, .block = {1, 1, 1}}, 1),
               WEIR_OK, NULL);
  return kernel;
}

weir_kernel *adding_kernel(weir_context *context, bool scales) {
  if (scales) return make(context, "scale", scale, &(weir_vulkan_code){.words = scale_spv, .bytes = sizeof scale_spv});
  return make(context, "add", add, &(weir_vulkan_code){.words = add_spv, .bytes = sizeof add_spv});
}

weir_kernel *adding_combine(weir_context *context) {
  return make(context, "combine", combine, &(weir_vulkan_code){.words = combine_spv, .bytes = sizeof combine_spv});
}

weir_context *adding_context(const weir_context_options *options, uint64_t seed) {
  const program_stub *stub = program_stub_load();
  if (stub != NULL) {
    stub->configure(&(stub_options){.seed = seed, .executors = 3});
    stub->register_function("add", add_on_stub);
    stub->register_function("scale", scale_on_stub);
    stub->register_function("combine", combine_on_stub);
  }
  weir_context *context = NULL;
  weir_status status = weir_context_create(options, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    exit(77);
  }
  api_expect(status, WEIR_OK, NULL);
  return context;
}
