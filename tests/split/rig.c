// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "device/work.h"
#include "engine/context.h"
#include "weir/sim.h"

enum { TASK_NS = 1000, GROUP_NS = 1000 };

typedef struct fake_device {
  weir_device base;
  double speed;
  uint32_t tasks;
  uint64_t now_ns;
  weir__task *first, *last;
} fake_device;

static void destroy(weir_device *device) {
  free(device);
}

static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  (void)device;
  return kernel != NULL && kernel->function != NULL;
}

static void issue(weir_device *base, weir__task *task) {
  fake_device *device = (fake_device *)base;
  task->next = NULL;
  if (device->first == NULL)
    device->first = task;
  else
    device->last->next = task;
  device->last = task;
}

static void run(fake_device *device, weir__task *task) {
  weir__failure failure = {.failed = false};
  uint64_t groups = (uint64_t)task->groups[0] * task->groups[1] * task->groups[2];
  weir_work work = {.args = task->args,
                    .arg_count = task->arg_count,
                    .groups = {task->groups[0], task->groups[1], task->groups[2]},
                    .end = groups,
                    .user = task->user,
                    .internal = &failure};
  weir__completion completion = {.status = weir__host_skip_status(device->base.host, task), .start_ns = device->now_ns};
  if (device->tasks == 0) {
    device->base.lost = true;
    completion.status = WEIR_ERROR_DEVICE_LOST;
    completion.message = "it fell off";
  } else if (completion.status == WEIR_OK) {
    device->tasks -= device->tasks != UINT32_MAX;
    task->function(&work);
    device->now_ns += TASK_NS + (uint64_t)((double)(GROUP_NS * groups) / device->speed);
    if (failure.failed) {
      completion.status = WEIR_ERROR_TASK_FAILED;
      completion.message = failure.message;
    }
  }
  completion.end_ns = device->now_ns;
  weir__host_complete(device->base.host, task, &completion);
}

static bool progress(weir_device *base) {
  fake_device *device = (fake_device *)base;
  weir__task *task = device->first;
  if (task == NULL) return false;
  device->first = task->next;
  run(device, task);
  return true;
}

static uint64_t time_now(weir_device *device) {
  return ((fake_device *)device)->now_ns;
}

static const weir__polled_ops polled_ops = {.progress = progress};

static const weir__device_ops ops = {.kind = "fake",
                                     .hidden = true,
                                     .destroy = destroy,
                                     .has_code = has_code,
                                     .issue = issue,
                                     .polled = &polled_ops,
                                     .time = time_now};

weir_device *rig_add_device(weir_context *context, double speed, uint32_t tasks) {
  fake_device *device = calloc(1, sizeof *device);
  assert_non_null(device);
  device->base = (weir_device){.ops = &ops, .host = &context->host, .lanes = 1};
  device->speed = speed;
  device->tasks = tasks;
  device->now_ns = 1;
  weir__context_lock(context);
  device->base.index = context->host.device_count;
  snprintf(device->base.name, sizeof device->base.name, "fake:%u", device->base.index);
  context->host.devices[context->host.device_count++] = &device->base;
  context->devices.polled = true;
  weir__context_unlock(context);
  return &device->base;
}

static uint32_t mix(uint32_t a, uint32_t b) {
  return (a ^ b) * 2654435761u + (a >> 15);
}

static uint32_t cell(const rig_field *field, const uint32_t *table, const uint32_t *in, int64_t row, uint32_t column,
                     int64_t first_row) {
  uint32_t sum = 0;
  for (int64_t other = row - field->reach; other <= row + field->reach; other++) {
    if (other >= 0 && other < field->rows)
      sum = mix(sum, in[(other - first_row) * field->width + column] + (uint32_t)(other - row));
  }
  return mix(sum + field->value, table[(row + column) % 16] + (uint32_t)row);
}

void rig_reference(const rig_field *field, const uint32_t *table, const uint32_t *in, uint32_t *out) {
  for (uint32_t row = 0; row < field->rows; row++) {
    for (uint32_t column = 0; column < field->width; column++)
      out[row * field->width + column] = cell(field, table, in, row, column, 0);
  }
}

static void field_on_cpu(const weir_work *work) {
  const uint32_t *in = work->args[0], *table = work->args[2];
  uint32_t *out = work->args[1];
  const rig_field *field = work->args[3];
  const weir_split_part *part = work->args[4];
  const rig_failure *failure = work->user;
  if (failure != NULL && part->device == failure->device && part->index >= failure->part) {
    for (uint64_t i = work->first; i < work->end; i++) out[i] = 0xdead;
    weir_work_fail(work, "told to");
    return;
  }
  for (uint64_t i = work->first; i < work->end; i++) { // a work-group is a cell, the rows are cut
    uint32_t row = (uint32_t)(i / field->width), column = (uint32_t)(i % field->width);
    out[i] = cell(field, table, in, (int64_t)part->first + row, column, (int64_t)part->first - part->halo_before);
  }
}

static void add_on_cpu(const weir_work *work) {
  uint32_t *cells = work->args[0];
  const rig_field *field = work->args[1];
  const weir_split_part *part = work->args[2];
  const rig_failure *failure = work->user;
  if (failure != NULL && part->device == failure->device && part->index >= failure->part)
    weir_work_fail(work, "told to");
  for (uint64_t i = work->first; i < work->end; i++) cells[i] += part->first + (uint32_t)(i / field->width) + 1;
}

static weir_kernel *make_kernel(weir_context *context, const char *name, weir_function function) {
  weir_kernel *kernel = NULL;
  weir_sim_launch launch = {.threads = 64, .us = 5};
  rig_ok(weir_kernel_create(context, name, &kernel));
  rig_ok(weir_kernel_set_cpu(kernel, function));
  rig_ok(weir_kernel_set_sim(kernel, &launch, 1));
  return kernel;
}

weir_function rig_function(void) {
  return field_on_cpu;
}

weir_kernel *rig_kernel(weir_context *context) {
  return make_kernel(context, "field", field_on_cpu);
}

weir_kernel *rig_add_kernel(weir_context *context) {
  return make_kernel(context, "add", add_on_cpu);
}

void rig_args(weir_split_arg args[RIG_ARGS], const rig_field *field, weir_arg in, weir_arg out, weir_buffer *table) {
  uint64_t row = field->width * sizeof(uint32_t);
  args[0] = weir_split_halo(in, row, field->reach, field->reach);
  args[1] = weir_split_block(out, row);
  args[2] = weir_split_whole(weir_reads(table));
  args[3] = weir_split_whole(weir_value(field, sizeof *field));
  args[4] = weir_split_part_of(0);
}

static void do_nothing(const weir_work *work) {
  (void)work;
}

weir_status rig_read(weir_context *context, weir_buffer *buffer) {
  weir_arg arg = weir_reads(buffer);
  weir_task task = {.host = do_nothing, .args = &arg, .arg_count = 1};
  return weir_submit(context, &task, NULL);
}

void rig_ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}
