// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mix.spv.h"
#include "weir/opencl.h"
#include "weir/sim.h"
#include "weir/vulkan.h"

static const char source[] = "__kernel void mix_words(__global uint *first, __global uint *second,\n"
                             "    __global const uint *a, __global const uint *b, uint2 value) {\n"
                             "  uint i = get_group_id(0);\n"
                             "  uint mixed = (a[i] ^ value.x) * 2654435761u + (b[15 - i] >> 3);\n"
                             "  first[i] = mixed;\n"
                             "  second[i] = (mixed ^ b[i]) * 40503u + i;\n"
                             "}\n";

static void mix_word(uint32_t *first, uint32_t *second, const uint32_t *a, const uint32_t *b, uint32_t seed,
                     uint64_t i) {
  uint32_t mixed = (a[i] ^ seed) * 2654435761u + (b[RIG_WORDS - 1 - i] >> 3);
  first[i] = mixed;
  second[i] = (mixed ^ b[i]) * 40503u + (uint32_t)i;
}

void rig_reference(uint32_t *out_first, uint32_t *out_second, const uint32_t *a, const uint32_t *b, uint32_t seed) {
  for (uint64_t i = 0; i < RIG_WORDS; i++) mix_word(out_first, out_second, a, b, seed, i);
}

static void mix(const weir_work *work) {
  const rig_value *value = work->args[4];
  if (value->fails) {
    if (work->first == 0) *(uint32_t *)work->args[0] = 0xdead;
    weir_work_fail(work, "told to");
    return;
  }
  for (uint64_t i = work->first; i < work->end; i++)
    mix_word(work->args[0], work->args[1], work->args[2], work->args[3], value->seed, i);
}

weir_function rig_function(void) {
  return mix;
}

static bool has_device(weir_context *context, const char *kind) {
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    if (strcmp(weir_device_information(weir_context_device(context, i))->kind, kind) == 0) return true;
  }
  return false;
}

weir_kernel *rig_kernel(weir_context *context, const char *name) {
  weir_kernel *kernel = NULL;
  const weir_sim_launch launch = {.threads = 64, .us = 5};
  rig_ok(weir_kernel_create(context, name, &kernel));
  rig_ok(weir_kernel_set_cpu(kernel, mix));
  rig_ok(weir_kernel_set_sim(kernel, &launch, 1));
  if (has_device(context, "opencl"))
    rig_ok(weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = source},
                                  &(weir_opencl_launch){.entry = "mix_words"}));
  if (has_device(context, "vulkan"))
    rig_ok(weir_kernel_set_vulkan(kernel, &(weir_vulkan_code){.words = mix_spv, .bytes = sizeof mix_spv},
                                  &(weir_vulkan_launch){0}, 1));
  return kernel;
}

weir_context *rig_open(const char *devices, uint32_t window, uint32_t flags) {
  weir_context *context = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = devices, .window = window, .flags = flags}, &context));
  return context;
}

void rig_need(const char *devices) {
  weir_context *context = NULL;
  weir_status status = weir_context_create(&(weir_context_options){.devices = devices}, &context);
  weir_context_release(context);
  if (status == WEIR_OK) return;
  printf("skipped: %s\n", weir_last_error());
  exit(77);
}

void rig_ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

void rig_refused(weir_status found, weir_status status, const char *part) {
  if (found != status)
    fail_msg("%s and not %s: %s", weir_status_name(found), weir_status_name(status), weir_last_error());
  if (strstr(weir_last_error(), part) == NULL) fail_msg("'%s' is not in '%s'", part, weir_last_error());
}
