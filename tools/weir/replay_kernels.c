// SPDX-License-Identifier: Apache-2.0
//
// What the tasks of a replay run on each kind of device.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "replay_pass.h"

// What a task does on the CPU: takes its time on one worker, and touches nothing.
static void spin(const weir_work *work) {
  const uint64_t *ns = work->user;
  uint64_t start = weir__clock_ns();
  while (weir__clock_ns() - start < *ns) {
  }
}

weir_sim_launch weir__replay_sim_launch(const weir__stream_kernel *recorded, double time_scale) {
  return (weir_sim_launch){
      .name = recorded->name,
      .blocks = (uint64_t)recorded->grid[0] * recorded->grid[1] * recorded->grid[2],
      .threads = recorded->block[0] * recorded->block[1] * recorded->block[2],
      .registers = recorded->registers,
      .shared_bytes = recorded->shared_bytes,
      .us = recorded->us * time_scale,
      .copy_bytes = recorded->copy_bytes,
  };
}

static weir_status set_sim(const weir__replay *run, const weir__stream_task *task, bool other, weir_kernel *kernel) {
  // A task without kernels still takes its place in a queue, for no time.
  uint32_t count = task->kernel_count ? task->kernel_count : 1;
  weir_sim_launch *launches = calloc(count, sizeof *launches);
  if (!launches) return WEIR_ERROR_OUT_OF_MEMORY;
  launches[0].threads = 1;
  for (uint32_t i = 0; i < task->kernel_count; i++) {
    double scale = run->options->time_scale * (other ? WEIR__REPLAY_OTHER_TIMES : 1);
    launches[i] = weir__replay_sim_launch(&task->kernels[i], scale);
    launches[i].blocks += other;
  }
  weir_status status = weir_kernel_set_sim(kernel, launches, count);
  free(launches);
  return status;
}

static weir_status create_kernel(const weir__replay *run, uint32_t index, bool other, weir__replay_kernels *kernels) {
  const weir__stream_task *task = &run->stream->tasks[index];
  double us = weir__stream_task_us(task) * run->options->time_scale * (other ? WEIR__REPLAY_OTHER_TIMES : 1);
  kernels->spin_ns[index] = (uint64_t)llround(us * 1000);
  const char *name = task->kernel_count ? task->kernels[0].name : task->op,
             *kind = weir_device_information(run->device)->kind;
  weir_status status = weir_kernel_create(run->context, name, &kernels->kernels[index]);
  if (status != WEIR_OK) return status;
  if (strcmp(kind, "cpu") == 0) return weir_kernel_set_cpu(kernels->kernels[index], spin);
  if (strcmp(kind, "cuda") == 0) return weir__replay_set_cuda(run, task, other, kernels->kernels[index]);
  if (strcmp(kind, "vulkan") == 0) return weir__replay_set_vulkan(run, task, other, kernels->kernels[index]);
  if (strcmp(kind, "opencl") == 0) return weir__replay_set_opencl(run, us, kernels->kernels[index]);
  return set_sim(run, task, other, kernels->kernels[index]);
}

int weir__replay_create_kernels(const weir__replay *run, bool others, weir__replay_kernels *out_kernels) {
  size_t count = (size_t)run->stream->task_count + 1; // the last one stays NULL
  *out_kernels = (weir__replay_kernels){calloc(count, sizeof(weir_kernel *)), calloc(count, sizeof(uint64_t))};
  if (!out_kernels->kernels || !out_kernels->spin_ns) return weir__replay_no_memory(run);
  for (uint32_t t = 0; t < run->stream->task_count; t++) {
    weir_status status = create_kernel(run, t, others, out_kernels);
    if (status != WEIR_OK) return weir__replay_failed(run, status, &run->stream->tasks[t]);
  }
  return WEIR__EXIT_OK;
}

void weir__replay_free_kernels(weir__replay_kernels *kernels) {
  for (size_t t = 0; kernels->kernels && kernels->kernels[t]; t++) weir_kernel_release(kernels->kernels[t]);
  free(kernels->kernels);
  free(kernels->spin_ns);
  *kernels = (weir__replay_kernels){0};
}
