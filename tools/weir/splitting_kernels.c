// SPDX-License-Identifier: Apache-2.0
//
// The kernels of `weir split` on each device, and as plain loops.
#include <string.h>

#include "split_kernels.kernels.h"
#include "split_steps.h"
#include "splitting.h"
#include "weir/sim.h"
#include "weir/vulkan.h"

static const uint32_t split_compute_words[] = {
#include "split_compute.inc"
};
static const uint32_t split_memory_words[] = {
#include "split_memory.inc"
};

// What a simulated device of speed 1 needs for a step of one number, and for a byte: as one core would.
static const double STEP_US = 0.25e-3, BYTE_US = 0.1e-3;

uint32_t weir__splitting_words(const weir__splitting *options) {
  return WEIR__SPLITTING_ITEMS * (options->kernel == WEIR__SPLITTING_MEMORY ? options->work : 1);
}

static weir_status set_vulkan(bool memory, weir_context *context, weir_kernel *kernel) {
  const weir_vulkan_code code = memory ? (weir_vulkan_code){split_memory_words, sizeof split_memory_words}
                                       : (weir_vulkan_code){split_compute_words, sizeof split_compute_words};
  const weir_vulkan_launch launch = {0};
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    if (strcmp(weir_device_information(weir_context_device(context, i))->kind, "vulkan") == 0)
      return weir_kernel_set_vulkan(kernel, &code, &launch, 1);
  }
  return WEIR_OK;
}

weir_status weir__splitting_kernel_create(const weir__splitting *options, weir_context *context,
                                          weir_kernel **out_kernel) {
  bool memory = options->kernel == WEIR__SPLITTING_MEMORY;
  weir_status status = weir_kernel_create_from(context, memory ? &split_memory : &split_compute, out_kernel);
  double words = weir__splitting_words(options);
  double us = memory ? words * 2 * sizeof(uint32_t) * BYTE_US : words * options->work * STEP_US;
  const weir_sim_launch launch = {.threads = WEIR__SPLITTING_ITEMS, .group_us = us};
  if (status == WEIR_OK) status = weir_kernel_set_sim(*out_kernel, &launch, 1);
  if (status == WEIR_OK) status = set_vulkan(memory, context, *out_kernel);
  return status;
}

void weir__splitting_serial(const weir__splitting *options, const uint32_t *in, uint32_t *out, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    uint32_t x = in[i];
    if (options->kernel == WEIR__SPLITTING_MEMORY) x = SPLIT_MOVE(x);
    for (uint32_t k = 0; options->kernel == WEIR__SPLITTING_COMPUTE && k < options->work; k++) SPLIT_STEPS(x);
    out[i] = x;
  }
}
