// SPDX-License-Identifier: Apache-2.0
//
// Replay on a Vulkan device: dispatches of the spin shader.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "replay_pass.h"
#include "spin_device.spv.h"
#include "spin_subgroup.spv.h"
#include "spin_vulkan.h"
#include "weir/vulkan.h"

enum { THREADS = 0, SHARED_WORDS = 1 }; // specialization constants of the shader
enum { SPIN_RUNS = 3, MEASUREMENTS = 5, LEAST_SPIN_US = 4000 };

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

// Runs one group that spins for so many ticks, and says how long that took: the least of some runs.
static weir_status time_spin(weir_context *context, const weir_vulkan_code *code, uint32_t ticks, double *out_us) {
  const spin_parameters parameters = {.ticks = ticks};
  weir_vulkan_constant constants[2];
  weir_vulkan_launch launch = make_launch(&parameters, constants, 32, 0);
  weir_kernel *kernel = NULL;
  weir_status status = weir_kernel_create(context, "spin", &kernel);
  if (status == WEIR_OK) status = weir_kernel_set_vulkan(kernel, code, &launch, 1);
  const weir_task task = {.kernel = kernel};
  *out_us = INFINITY;
  for (int run = 0; run < SPIN_RUNS && status == WEIR_OK; run++) {
    uint64_t start = weir__clock_ns();
    status = weir_submit(context, &task, NULL);
    if (status == WEIR_OK) status = weir_finish(context);
    *out_us = fmin(*out_us, (double)(weir__clock_ns() - start) / 1000);
  }
  weir_kernel_release(kernel);
  return status;
}

// Ticks of the shader's clock in a microsecond: two spins, one twice as long, which takes some 50 ms. On a machine that is
// busy with other things they are repeated until the second is about twice the first.
static weir_status measure(weir_context *context, const weir_vulkan_code *code, double *out_ticks_per_us) {
  double once = 0, twice = 0;
  uint32_t ticks = 1 << 16;
  weir_status status = WEIR_OK;
  for (; status == WEIR_OK && once < LEAST_SPIN_US && ticks < (uint32_t)1 << 29; ticks *= 2)
    status = time_spin(context, code, ticks, &once);
  for (int i = 0; i < MEASUREMENTS && status == WEIR_OK; i++) {
    status = time_spin(context, code, ticks, &once);
    if (status == WEIR_OK) status = time_spin(context, code, 2 * ticks, &twice);
    if (twice > 1.5 * once && twice < 2.5 * once) break;
  }
  *out_ticks_per_us = twice > once ? ticks / (twice - once) : 2 * ticks / twice;
  return status;
}

static void find_limits(const weir_device *device, weir__spin_vulkan_limits *out_limits) {
  weir_vulkan_description description;
  uint32_t index = (uint32_t)strtoul(weir_device_name(device) + strlen("vulkan:"), NULL, 10);
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
    spin_clock clock = {.code = {spin_device_spv, sizeof spin_device_spv}};
    find_limits(run->device, &clock.limits);
    status = measure(run->context, &clock.code, &clock.ticks_per_us);
    if (status == WEIR_ERROR_INVALID_ARGUMENT) {
      clock.code = (weir_vulkan_code){spin_subgroup_spv, sizeof spin_subgroup_spv};
      status = measure(run->context, &clock.code, &clock.ticks_per_us);
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
