// SPDX-License-Identifier: Apache-2.0
#include "device/enqueue.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/graph.h"
#include "window/buffer.h"

static void destroy(weir__code *head) {
  weir__free(head->enqueue);
  weir__free(head);
}

weir__code *weir__enqueue_make_code(const weir_kernel *kernel, size_t bytes, const weir_enqueue_code *code) {
  weir__code *head = weir__allocate_zeroed(bytes);
  weir__enqueue *enqueue = weir__allocate_zeroed(sizeof *enqueue);
  if (head == NULL || enqueue == NULL) {
    weir__free(head);
    weir__free(enqueue);
    weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its code", kernel->name);
    return NULL;
  }
  enqueue->code = *code;
  *head = (weir__code){.destroy = destroy, .takes_all = code->scratch_bytes == 0, .enqueue = enqueue};
  return head;
}

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

weir_status weir__enqueue_check(const weir__enqueue *enqueue, const weir_task *task) {
  if (enqueue->code.scratch_bytes == 0) return WEIR_OK;
  const weir_arg *last = task->arg_count > 0 ? &task->args[task->arg_count - 1] : NULL;
  bool has_buffer = last != NULL && last->mode != WEIR_VALUE && last->buffer != NULL;
  bool has_scratch = has_buffer && weir__object_is(&last->buffer->object, WEIR__KIND_BUFFER) && last->buffer->scratch;
  return has_scratch ? WEIR_OK : WEIR_PENDING;
}

// Makes room for the arguments, and sets what all calls have.
static bool begin(weir__enqueue_call *call, weir_device *device, uint32_t arg_count) {
  call->args = call->few;
  call->arg_count = arg_count;
  if (arg_count > WEIR__ENQUEUE_FEW_ARGS) {
    call->args = weir__allocate(arg_count * sizeof call->args[0]);
    if (call->args == NULL) return false;
  }
  call->failure.failed = false;
  call->call = (weir_enqueue){.device = device,
                              .args = call->args,
                              .arg_count = arg_count,
                              .lane_count = device->enqueue_lanes,
                              .internal = &call->failure};
  return true;
}

static void take_code(weir__enqueue_call *call, const weir__enqueue *enqueue) {
  call->call.data = enqueue->code.data;
  call->call.arg_count -= enqueue->code.scratch_bytes > 0;
}

void weir__enqueue_fill(weir__enqueue_call *call, const weir__task *task) {
  fill_args(call, task);
  memcpy(call->call.groups, task->groups, sizeof call->call.groups);
  call->call.task = task->id;
}

bool weir__enqueue_begin(weir__enqueue_call *call, const weir__enqueue *enqueue, weir_device *device,
                         const weir__task *task) {
  if (!begin(call, device, task->arg_count)) return false;
  take_code(call, enqueue);
  weir__enqueue_fill(call, task);
  call->call.user = task->user;
  return true;
}

bool weir__enqueue_begin_open(weir__enqueue_call *call, weir_device *device, const weir_task *task) {
  if (!begin(call, device, task->arg_count)) return false;
  call->call.user = task->user;
  return true;
}

bool weir__enqueue_begin_node(weir__enqueue_call *call, const weir__enqueue *enqueue, weir_device *device,
                              const weir__graph_run *run, uint32_t index) {
  const weir__graph_node *node = &run->plan->nodes[index];
  if (!begin(call, device, node->arg_count)) return false;
  take_code(call, enqueue);
  for (uint32_t i = 0; i < node->arg_count; i++) {
    const weir__graph_arg *arg = &run->plan->args[node->first_arg + i];
    void *place = run->args[node->first_arg + i];
    call->args[i] = (weir_enqueue_arg){.bytes = arg->bytes, .box = arg->box, .mode = arg->mode};
    if (arg->mode == WEIR_VALUE)
      call->args[i].value = place;
    else
      call->args[i].pointer = (uintptr_t)place;
  }
  memcpy(call->call.groups, node->groups, sizeof call->call.groups);
  call->call.user = node->user;
  call->call.task = run->task_id;
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

// The last argument, from the first aligned byte on.
static void set_scratch(weir__enqueue_call *call, const weir__enqueue *enqueue) {
  weir_enqueue_arg *scratch = &call->call.scratch;
  *scratch = call->args[call->arg_count - 1];
  scratch->pointer += (WEIR__ENQUEUE_ALIGNMENT - scratch->pointer % WEIR__ENQUEUE_ALIGNMENT) % WEIR__ENQUEUE_ALIGNMENT;
  scratch->bytes = enqueue->code.scratch_bytes;
}

static void note(_Atomic uint64_t lanes[][WEIR__ENQUEUE_MOST_LANES / 64], const weir_enqueue *call) {
  _Atomic uint64_t *word = &lanes[call->device->index][call->lane / 64];
  uint64_t bit = (uint64_t)1 << call->lane % 64;
  if ((atomic_load_explicit(word, memory_order_relaxed) & bit) == 0)
    atomic_fetch_or_explicit(word, bit, memory_order_release);
}

weir_status weir__enqueue_prepare(weir__enqueue_call *call, weir__enqueue *enqueue) {
  if (enqueue->code.scratch_bytes > 0) set_scratch(call, enqueue);
  const weir_enqueue *made = &call->call;
  if (made->capturing || weir__enqueue_is_prepared(enqueue, made->device, made->lane)) return WEIR_OK;
  weir_status status = run(call, enqueue->code.prepare, "prepare");
  if (status == WEIR_OK) note(enqueue->prepared, &call->call);
  return status;
}

weir_status weir__enqueue_run(weir__enqueue_call *call, weir__enqueue *enqueue) {
  weir_status status = weir__enqueue_prepare(call, enqueue);
  if (status != WEIR_OK) return status;
  status = run(call, enqueue->code.function, "enqueue");
  if (!call->call.capturing) note(enqueue->called, &call->call);
  return status;
}

void weir__enqueue_end(weir__enqueue_call *call) {
  if (call->args != call->few) weir__free(call->args);
}
