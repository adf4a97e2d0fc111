// SPDX-License-Identifier: Apache-2.0
#include "planted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.spv.h"
#include "weir/cuda.h"
#include "weir/opencl.h"
#include "weir/sim.h"
#include "weir/vulkan.h"

static const char source[] = "__kernel void planted(__global uint *from, __global uint *to, uint2 value) {\n"
                             "  uint i = get_group_id(0), kind = value.x, words = value.y;\n"
                             "  uint result = from[i] * 3u + 1u;\n"
                             "  if (kind == 1 && i >= words - 4) return;\n"
                             "  if (kind == 2) result += to[i];\n"
                             "  to[i] = result;\n"
                             "  if (kind == 3 && i == 0) to[words] = 7;\n"
                             "  if (kind == 4 && i == 0) to[-1] = 7;\n"
                             "  if (kind == 5 && i == 0) from[2] = 7;\n"
                             "  if (kind == 6 && i == 5) to[i] = from[words] ^ 1u;\n"
                             "  if (kind == 7 && i == 5) to[i] = to[words + 1] ^ 1u;\n"
                             "}\n";

const char *planted_cuda = "struct planted_value { unsigned kind, words; };\n"
                           "extern \"C\" __global__ void planted(unsigned *from, unsigned *to, planted_value value) {\n"
                           "  unsigned i = blockIdx.x, kind = value.kind, words = value.words;\n"
                           "  unsigned result = from[i] * 3u + 1u;\n"
                           "  if (kind == 1 && i >= words - 4) return;\n"
                           "  if (kind == 2) result += to[i];\n"
                           "  to[i] = result;\n"
                           "  if (kind == 3 && i == 0) to[words] = 7;\n"
                           "  if (kind == 4 && i == 0) to[-1] = 7;\n"
                           // By a pointer that may be another's: else the store is seen in the code, and refused.
                           "  if (kind == 5 && i == 0) (words > 1000 ? to : from)[2] = 7;\n"
                           "  if (kind == 6 && i == 5) to[i] = from[words] ^ 1u;\n"
                           "  if (kind == 7 && i == 5) to[i] = to[words + 1] ^ 1u;\n"
                           "}\n";

static void word(uint32_t *from, uint32_t *to, uint32_t kind, uint32_t words, uint64_t i) {
  uint32_t result = from[i] * 3U + 1U;
  if (kind == PLANTED_PARTIAL && i >= words - 4) return;
  if (kind == PLANTED_ACCUMULATES) result += to[i];
  to[i] = result;
  if (kind == PLANTED_WRITES_BEHIND && i == 0) to[words] = 7;
  if (kind == PLANTED_WRITES_BEFORE && i == 0) to[-1] = 7;
  if (kind == PLANTED_CHANGES && i == 0) from[2] = 7;
  if (kind == PLANTED_READS_BEHIND && i == 5) to[i] = from[words] ^ 1U;
  if (kind == PLANTED_READS_OUTPUT && i == 5) to[i] = to[words + 1] ^ 1U;
}

void planted_words(uint32_t *from, uint32_t *to, planted_value value, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) word(from, to, value.kind, value.words, i);
}

static void planted(const weir_work *work) {
  const planted_value *value = work->args[2];
  for (uint64_t i = work->first; i < work->end; i++) word(work->args[0], work->args[1], value->kind, value->words, i);
}

void planted_host(const weir_work *work) {
  const planted_value *value = work->args[2];
  for (uint64_t i = 0; i < value->words; i++) word(work->args[0], work->args[1], value->kind, value->words, i);
}

static bool has_device(weir_context *context, const char *kind) {
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    if (strcmp(weir_device_information(weir_context_device(context, i))->kind, kind) == 0) return true;
  }
  return false;
}

weir_kernel *planted_kernel(weir_context *context) {
  weir_kernel *kernel = NULL;
  planted_ok(weir_kernel_create(context, "planted", &kernel));
  planted_ok(weir_kernel_set_cpu(kernel, planted));
  planted_ok(weir_kernel_set_sim(kernel, &(weir_sim_launch){.threads = 64, .us = 5}, 1));
  if (has_device(context, "opencl"))
    planted_ok(weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = source},
                                      &(weir_opencl_launch){.entry = "planted"}));
  if (has_device(context, "vulkan"))
    planted_ok(weir_kernel_set_vulkan(kernel, &(weir_vulkan_code){.words = planted_spv, .bytes = sizeof planted_spv},
                                      &(weir_vulkan_launch){0}, 1));
  return kernel;
}

weir_kernel *planted_kernel_on_card(weir_context *context) {
  weir_kernel *kernel = planted_kernel(context);
  if (has_device(context, "cuda"))
    planted_ok(weir_kernel_set_cuda(kernel, &(weir_cuda_code){.source = planted_cuda},
                                    &(weir_cuda_launch){.function = "planted", .block = {1, 1, 1}}, 1));
  return kernel;
}

weir_context *planted_open(const char *devices, uint32_t flags) {
  weir_context *context = NULL;
  weir_status status =
      weir_context_create(&(weir_context_options){.devices = devices, .flags = WEIR_CONTEXT_CHECK | flags}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    exit(77);
  }
  planted_ok(status);
  return context;
}

void planted_ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

void planted_expect(weir_event *event, const char *what, const char *const *parts) {
  weir_status status = weir_event_wait(event, WEIR_FOREVER),
              expected = parts[0] == NULL ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
  const char *message = weir_event_message(event);
  if (status != expected) fail_msg("%s: %s: '%s'", what, weir_status_name(status), message);
  for (; *parts != NULL; parts++) {
    if (strstr(message, *parts) == NULL) fail_msg("%s: '%s' is not in '%s'", what, *parts, message);
  }
  weir_event_release(event);
}
