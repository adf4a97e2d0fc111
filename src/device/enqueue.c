// SPDX-License-Identifier: Apache-2.0
#include "device/enqueue.h"

#include <stdio.h>

#include "base/allocate.h"

// What the task says of its arguments.
static void fill_args(weir__enqueue_call *call, const weir__task *task) {
  const weir__access *access = task->accesses;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    weir_enqueue_arg *arg = &call->args[i];
    if (weir__task_is_value(task, i)) {
      *arg = (weir_enqueue_arg){.value = task->args[i], .bytes = weir__task_value_bytes(task, i), .mode = WEIR_VALUE};
      continue;
    }
    *arg = (weir_enqueue_arg){.pointer = (uintptr_t)task->args[i],
                              .bytes = access->hi - access->lo,
                              .box = weir__access_box(access),
                              .mode = (weir_mode)access->mode};
    access++;
  }
}

bool weir__enqueue_begin(weir__enqueue_call *call, const weir__enqueue *enqueue, weir_device *device,
                         const weir__task *task) {
  call->args = call->few;
  call->arg_count = task->arg_count;
  if (call->arg_count > WEIR__ENQUEUE_FEW_ARGS) {
    call->args = weir__allocate(call->arg_count * sizeof call->args[0]);
    if (call->args == NULL) return false;
  }
  fill_args(call, task);
  bool has_scratch = enqueue->code.scratch_bytes > 0;
  call->failure.failed = false;
  call->call = (weir_enqueue){.device = device,
                              .args = call->args,
                              .arg_count = task->arg_count - has_scratch,
                              .groups = {task->groups[0], task->groups[1], task->groups[2]},
                              .lane_count = device->enqueue_lanes,
                              .user = task->user,
                              .data = enqueue->code.data,
                              .task = task->id,
                              .internal = &call->failure};
  return true;
}

// Calls one of the code's functions. Returns whether it went well.
static weir_status run(weir__enqueue_call *call, weir_enqueue_function function, const char *what) {
  weir_status status = function(&call->call);
  if (status == WEIR_OK && !call->failure.failed) return WEIR_OK;
  bool is_failure = status >= WEIR_ERROR_INVALID_ARGUMENT && status <= WEIR_ERROR_IO;
  const char *said = call->failure.failed ? call->failure.message : "";
  snprintf(call->text, sizeof call->text, "the %s function %s%s%s%s", what, status == WEIR_OK ? "failed" : "returned ",
           status == WEIR_OK ? "" : weir_status_name(status), said[0] == '\0' ? "" : ": ", said);
  return is_failure ? status : WEIR_ERROR_TASK_FAILED;
}

// Whether the code's lane is still to be prepared.
static bool is_new(const weir__enqueue *enqueue, const weir_enqueue *call) {
  if (enqueue->code.prepare == NULL || call->capturing) return false;
  const _Atomic uint64_t *lanes = &enqueue->prepared[call->device->index][call->lane / 64];
  return (atomic_load_explicit(lanes, memory_order_acquire) >> call->lane % 64 & 1) == 0;
}

weir_status weir__enqueue_run(weir__enqueue_call *call, weir__enqueue *enqueue) {
  uint32_t last = call->arg_count - 1;
  if (enqueue->code.scratch_bytes > 0) call->call.scratch = call->args[last];
  if (is_new(enqueue, &call->call)) {
    weir_status status = run(call, enqueue->code.prepare, "prepare");
    if (status != WEIR_OK) return status;
    atomic_fetch_or_explicit(&enqueue->prepared[call->call.device->index][call->call.lane / 64],
                             (uint64_t)1 << call->call.lane % 64, memory_order_release);
  }
  return run(call, enqueue->code.function, "enqueue");
}

void weir__enqueue_end(weir__enqueue_call *call) {
  if (call->args != call->few) weir__free(call->args);
}
