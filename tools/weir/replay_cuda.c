// SPDX-License-Identifier: Apache-2.0
//
// Replay on a CUDA device: launches of the spin kernel.
#include <math.h>
#include <stdlib.h>

#include "replay_pass.h"
#include "spin.h"
#include "spin_kernels.kernels.h"
#include "weir/cuda.h"

// How to spin on the device: the options that compile the kernel, and the ticks of its clock.
typedef struct spin_clock {
  const char *options; // NULL: none
  double ticks_per_us;
} spin_clock;

// Runs spin_measure on the context's device. The buffer and the kernel belong to the context.
static weir_status measure(weir_context *context, uint64_t out_measured[2]) {
  const weir_cuda_code code = {.source = weir__spin_source};
  const weir_cuda_launch launch = {.function = "spin_measure", .grid = {1, 1, 1}, .block = {1, 1, 1}};
  weir_buffer *buffer = NULL;
  weir_kernel *kernel = NULL;
  weir_status status = weir_kernel_create(context, "spin_measure", &kernel);
  if (status == WEIR_OK) status = weir_kernel_set_cuda(kernel, &code, &launch, 1);
  if (status == WEIR_OK) status = weir_buffer_create(context, 2 * sizeof(uint64_t), &buffer);
  if (status != WEIR_OK) return status;
  const weir_arg arg = weir_writes(buffer);
  const weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1};
  status = weir_submit(context, &task, NULL);
  if (status == WEIR_OK) status = weir_copy_out(buffer, 0, 2 * sizeof(uint64_t), out_measured, NULL);
  if (status == WEIR_OK) status = weir_finish(context);
  weir_buffer_release(buffer);
  weir_kernel_release(kernel);
  return status;
}

// The clock of the device that --device names, measured once.
static weir_status find_clock(weir_context *context, spin_clock *out_clock) {
  static spin_clock known;
  uint64_t measured[2] = {0};
  weir_status status = known.ticks_per_us > 0 ? WEIR_OK : measure(context, measured);
  if (status != WEIR_OK) return status;
  if (known.ticks_per_us <= 0) known.ticks_per_us = 1000;
  if (measured[0] > WEIR__SPIN_COARSE_NS) known = (spin_clock){"-DWEIR__SPIN_CLOCK64", (double)measured[1] / 1000};
  *out_clock = known;
  return WEIR_OK;
}

weir_status weir__replay_set_cuda(const weir__replay *run, const weir__stream_task *task, bool other,
                                  weir_kernel *kernel) {
  spin_clock clock;
  weir_status status = find_clock(run->context, &clock);
  if (status != WEIR_OK) return status;
  if (task->kernel_count == 0) return weir_kernel_set_cuda(kernel, NULL, NULL, 0);
  weir_cuda_launch *launches = calloc(task->kernel_count, sizeof *launches);
  uint64_t *ticks = calloc(task->kernel_count, sizeof *ticks);
  if (!launches || !ticks) {
    free(launches);
    free(ticks);
    return WEIR_ERROR_OUT_OF_MEMORY;
  }
  double scale = run->options->time_scale * (other ? WEIR__REPLAY_OTHER_TIMES : 1);
  bool groups = run->options->kernels == WEIR__REPLAY_AS_WEIRS || run->options->issue == WEIR__REPLAY_RESIDENT;
  for (uint32_t i = 0; i < task->kernel_count; i++) {
    weir__spin_launch shape;
    if (groups)
      weir__spin_groups_shape(&task->kernels[i], run->stream->sms, &shape);
    else
      weir__spin_shape(&task->kernels[i], run->stream->sms, &shape);
    ticks[i] = (uint64_t)llround(shape.us * scale * clock.ticks_per_us);
    launches[i] = (weir_cuda_launch){
        .function = groups ? spin_group.name : "spin",
        .grid = {shape.grid[0] + other, shape.grid[1], shape.grid[2]},
        .block = {shape.block[0], shape.block[1], shape.block[2]},
        .shared_bytes = shape.shared_bytes,
        .value = &ticks[i],
        .value_bytes = sizeof *ticks,
    };
  }
  const weir_cuda_code code = {
      .source = groups ? spin_group.source : weir__spin_source, .options = clock.options, .groups = groups};
  status = weir_kernel_set_cuda(kernel, &code, launches, task->kernel_count);
  free(launches);
  free(ticks);
  return status;
}
