// SPDX-License-Identifier: Apache-2.0
//
// Replay on a Vulkan device: dispatches of the spin shader.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay_calibrate.h"
#include "replay_pass.h"
#include "spin_vulkan.h"
#include "weir/vulkan.h"

static const uint32_t spin_device_words[] = {
#include "spin_device.inc"
};
static const uint32_t spin_subgroup_words[] = {
#include "spin_subgroup.inc"
};

enum { THREADS = 0, SHARED_WORDS = 1 }; // specialization constants of the shader
static const uint64_t most_ticks = (uint64_t)1 << 29;

// How to spin on the device.
typedef struct spin_clock {
  weir_vulkan_code code;
  double ticks_per_us;
  weir__spin_vulkan_limits limits;
} spin_clock;

typedef struct spin_parameters { // push constants
  uint32_t ticks, keep;
  uint64_t sink;
} spin_parameters;

static weir_vulkan_launch make_launch(const spin_parameters *parameters, weir_vulkan_constant constants[2],
                                      uint32_t threads, uint32_t shared_bytes) {
  constants[0] = (weir_vulkan_constant){.id = THREADS, .bytes = 4, .u32 = threads};
  constants[1] = (weir_vulkan_constant){
      .id = SHARED_WORDS, .bytes = 4, .u32 = shared_bytes < sizeof(uint32_t) ? 1 : shared_bytes / 4};
  return (weir_vulkan_launch){
      .constants = constants, .constant_count = 2, .value = parameters, .value_bytes = sizeof *parameters};
}

// One group that spins for so many ticks; `user` is the code.
static weir_status set_spin(const void *user, uint64_t ticks, weir_kernel *kernel) {
  const spin_parameters parameters = {.ticks = (uint32_t)ticks};
  weir_vulkan_constant constants[2];
  weir_vulkan_launch launch = make_launch(&parameters, constants, 32, 0);
  return weir_kernel_set_vulkan(kernel, user, &launch, 1);
}

static void find_limits(const weir_device *device, weir__spin_vulkan_limits *out_limits) {
  weir_vulkan_description description;
  uint32_t index = (uint32_t)strtoul(weir_device_information(device)->name + strlen("vulkan:"), NULL, 10);
  *out_limits = (weir__spin_vulkan_limits){.shared_bytes = 16384, .threads = 128, .groups_x = 65535}; // always offered
  if (weir_vulkan_device_describe(index, &description) != WEIR_OK) return;
  *out_limits = (weir__spin_vulkan_limits){.shared_bytes = description.shared_bytes,
                                           .threads = description.group_threads,
                                           .groups_x = description.groups[0]};
}

// The clock of the device that --device names, measured once. The device's own clock, if shaders may read it; else that of
// a subgroup.
static weir_status find_clock(const weir__replay *run, spin_clock *out_clock) {
  static spin_clock known;
  weir_status status = WEIR_OK;
  if (known.ticks_per_us <= 0) {
    spin_clock clock = {.code = {spin_device_words, sizeof spin_device_words}};
    find_limits(run->device, &clock.limits);
    status = weir__calibrate_spin(run->context, set_spin, &clock.code, most_ticks, &clock.ticks_per_us);
    if (status == WEIR_ERROR_INVALID_ARGUMENT) {
      clock.code = (weir_vulkan_code){spin_subgroup_words, sizeof spin_subgroup_words};
      status = weir__calibrate_spin(run->context, set_spin, &clock.code, most_ticks, &clock.ticks_per_us);
    }
    if (status == WEIR_OK) known = clock;
  }
  *out_clock = known;
  return status;
}

weir_status weir__replay_set_vulkan(const weir__replay *run, const weir__stream_task *task, bool other,
                                    weir_kernel *kernel) {
  spin_clock clock;
  weir_status status = find_clock(run, &clock);
  if (status != WEIR_OK) return status;
  if (task->kernel_count == 0) return weir_kernel_set_vulkan(kernel, NULL, NULL, 0);
  weir_vulkan_launch *launches = calloc(task->kernel_count, sizeof *launches);
  spin_parameters *parameters = calloc(task->kernel_count, sizeof *parameters);
  weir_vulkan_constant(*constants)[2] = calloc(task->kernel_count, sizeof *constants);
  double scale = run->options->time_scale * (other ? WEIR__REPLAY_OTHER_TIMES : 1);
  status = launches && parameters && constants ? WEIR_OK : WEIR_ERROR_OUT_OF_MEMORY;
  for (uint32_t i = 0; status == WEIR_OK && i < task->kernel_count; i++) {
    weir__spin_vulkan_dispatch shape;
    weir__spin_vulkan_shape(&task->kernels[i], run->stream->sms, &clock.limits, &shape);
    parameters[i].ticks = (uint32_t)llround(shape.us * scale * clock.ticks_per_us);
    launches[i] = make_launch(&parameters[i], constants[i], shape.threads, shape.shared_bytes);
    memcpy(launches[i].groups, shape.groups, sizeof shape.groups);
    launches[i].groups[0] += other;
  }
  if (status == WEIR_OK) status = weir_kernel_set_vulkan(kernel, &clock.code, launches, task->kernel_count);
  free(launches);
  free(parameters);
  free(constants);
  return status;
}
