// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions on CUDA, one by one in queues: order with all other tasks, what they get, lanes, scratch memory, and what
// becomes of those that fail or misuse their queue. On the driver of stub/, in random orders, with every way to issue.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share.h"
#include "weir/batch.h"
#include "weir/enqueue.h"
#include "weir/graph.h"

enum { COUNT = 64, BYTES = COUNT * 4, MOST_LANES = 256 };

// What the functions of a test share, as `data` of their code.
typedef struct library {
  const share *s;
  atomic_bool busy[MOST_LANES];
  atomic_uint prepared[MOST_LANES];
  atomic_uint calls;
  uint64_t scratch_bytes;
} library;

static void launch(const library *lib, CUfunction function, CUstream stream, uint64_t pointer, uint32_t count,
                   uint32_t value) {
  void *parameters[] = {&pointer, &count, &value};
  if (lib->s->driver->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL) != CUDA_SUCCESS) abort();
}

static uint32_t number(const weir_enqueue_arg *arg) {
  uint32_t value;
  memcpy(&value, arg->value, sizeof value);
  return value;
}

static void enter(library *lib, const weir_enqueue *call) {
  if (call->lane >= call->lane_count || call->lane_count > MOST_LANES) abort();
  if (atomic_exchange(&lib->busy[call->lane], true)) abort(); // two calls at the same time in one lane
  CUcontext current = NULL;
  lib->s->driver->cuCtxGetCurrent(&current);
  if (current != lib->s->primary || call->native_context != (void *)current) abort();
}

static void leave(library *lib, const weir_enqueue *call) {
  atomic_fetch_add(&lib->calls, 1);
  atomic_store(&lib->busy[call->lane], false);
}

// data[i] = data[i] * 3 + value, then the same again with value + 1: (data, value).
static weir_status twice(const weir_enqueue *call) {
  library *lib = call->data;
  enter(lib, call);
  const weir_enqueue_arg *data = &call->args[0];
  if (call->arg_count != 2 || data->value != NULL || data->bytes % 4 != 0) abort();
  for (uint32_t i = 0; i < 2; i++)
    launch(lib, lib->s->own_step, call->queue, data->pointer, (uint32_t)data->bytes / 4, number(&call->args[1]) + i);
  leave(lib, call);
  return WEIR_OK;
}

static weir_status prepare(const weir_enqueue *call) {
  library *lib = call->data;
  if (call->capturing) abort();
  atomic_fetch_add(&lib->prepared[call->lane], 1);
  return WEIR_OK;
}

static weir_status after_prepare(const weir_enqueue *call) {
  library *lib = call->data;
  if (atomic_load(&lib->prepared[call->lane]) != 1) abort();
  return twice(call);
}

static weir_kernel *make(const share *s, const char *name, const weir_enqueue_code *code) {
  weir_kernel *kernel;
  share_ok(weir_kernel_create(s->context, name, &kernel));
  share_ok(weir_kernel_set_enqueue(kernel, "cuda", code));
  return kernel;
}

static void submit_twice(const share *s, weir_kernel *kernel, weir_buffer *buffer, uint32_t value, weir_event **event) {
  weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  share_ok(
      weir_submit(s->context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2, .label = "twice"}, event));
}

// ---------------------------------------------------------------------------------------------------------------
// Order

static void step_twice(uint32_t *numbers, uint32_t value) {
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = stepped(stepped(numbers[i], value), value + 1);
}

static void step_once(uint32_t *numbers, uint32_t value) {
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = stepped(numbers[i], value);
}

// Among kernels, copies, overwrites (renaming) and tasks of the CPU.
static void are_in_order_with_all_else(share *s) {
  enum { BUFFERS = 4, TASKS = 120 };
  library lib = {.s = s};
  weir_enqueue_code code = {.function = after_prepare, .prepare = prepare, .data = &lib};
  weir_kernel *kernel = make(s, "library", &code);
  weir_buffer *buffers[BUFFERS];
  static uint32_t model[BUFFERS][COUNT], copies[TASKS][COUNT], wanted[TASKS][COUNT];
  uint32_t calls = 0;
  for (uint32_t i = 0; i < BUFFERS; i++) {
    buffers[i] = share_buffer(s, COUNT);
    share_submit(s, s->set, s->cuda, buffers[i], COUNT, i, NULL);
    for (uint32_t j = 0; j < COUNT; j++) model[i][j] = i + j;
  }
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t at = i * 7 % BUFFERS, other = (at + 1) % BUFFERS;
    switch (i * 11 % 6) {
    case 0:
      share_submit(s, s->step, i % 4 == 0 ? s->cpu : s->cuda, buffers[at], COUNT, i, NULL);
      step_once(model[at], i);
      break;
    case 1:
      share_submit(s, s->set, s->cuda, buffers[at], COUNT, i, NULL);
      for (uint32_t j = 0; j < COUNT; j++) model[at][j] = i + j;
      break;
    case 2:
      share_ok(weir_copy(buffers[at], 0, buffers[other], 0, BYTES, NULL));
      memcpy(model[at], model[other], BYTES);
      break;
    default:
      submit_twice(s, kernel, buffers[at], i, NULL);
      step_twice(model[at], i);
      calls++;
    }
    share_ok(weir_copy_out(buffers[at], 0, BYTES, copies[i], NULL));
    memcpy(wanted[i], model[at], BYTES);
  }
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < TASKS; i++) assert_memory_equal(copies[i], wanted[i], BYTES);
  assert_int_equal(atomic_load(&lib.calls), calls);
  for (uint32_t i = 0; i < MOST_LANES; i++) assert_true(atomic_load(&lib.prepared[i]) <= 1);
}

static void test_order(void **state) {
  (void)state;
  share_run("cpu:2,cuda", are_in_order_with_all_else);
  share_run_with(&(weir_context_options){.devices = "cpu:2,cuda", .flags = WEIR_CONTEXT_IN_ORDER},
                 are_in_order_with_all_else);
  share_run_with(&(weir_context_options){.devices = "cpu:2,cuda", .flags = WEIR_CONTEXT_TRACE, .window = 8},
                 are_in_order_with_all_else);
  share_run_with(&(weir_context_options){.devices = "cpu:2,cuda", .queues = 1}, are_in_order_with_all_else);
}

// A task goes from card to card, and events order what no buffer does.
static void go_to_several_devices(share *s) {
  library lib = {.s = s};
  weir_kernel *kernel = make(s, "library", &(weir_enqueue_code){.function = twice, .data = &lib});
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t copy[COUNT], model[COUNT];
  share_submit(s, s->set, s->second, buffer, COUNT, 3, NULL);
  for (uint32_t j = 0; j < COUNT; j++) model[j] = 3 + j;
  for (uint32_t i = 0; i < 6; i++) {
    share_submit(s, s->step, s->second, buffer, COUNT, i, NULL);
    step_once(model, i);
    uint32_t value = 10 + i;
    weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
    share_ok(
        weir_submit(s->context, &(weir_task){.kernel = kernel, .device = s->cuda, .args = args, .arg_count = 2}, NULL));
    step_twice(model, value);
  }
  share_ok(weir_copy_out(buffer, 0, BYTES, copy, NULL));
  share_ok(weir_finish(s->context));
  assert_memory_equal(copy, model, BYTES);
}

static void test_devices(void **state) {
  (void)state;
  share_run("cpu:1,cuda:0,cuda:1", go_to_several_devices);
}

// ---------------------------------------------------------------------------------------------------------------
// What a call gets

static weir_status look(const weir_enqueue *call) {
  library *lib = call->data;
  enter(lib, call);
  uint32_t first = number(&call->args[0]);
  if (call->arg_count != 22 || call->groups[0] != 5 || call->groups[1] != 1 || call->groups[2] != 2) abort();
  if (call->user != &lib->calls || call->scratch.bytes != 0 || call->task == 0 || first != 77) abort();
  if (weir_device_information(call->device)->enqueue_lanes != call->lane_count) abort();
  const weir_enqueue_arg *box = &call->args[1];
  if (box->box == NULL || box->box->width != 8 || box->box->rows != 3 || box->box->pitch != 32) abort();
  if (box->bytes != 2 * 32 + 8 || box->mode != WEIR_READ || box->value != NULL) abort();
  for (uint32_t i = 2; i < call->arg_count; i++) {
    const weir_enqueue_arg *arg = &call->args[i];
    if (arg->bytes != 8 || arg->mode != WEIR_WRITE || arg->handle != 0 || arg->box != NULL) abort();
    launch(lib, (CUfunction)lib->s->own_step, call->queue, arg->pointer, 0, i);
    if (lib->s->driver->cuMemsetD32Async(arg->pointer, i, 2, call->queue) != CUDA_SUCCESS) abort();
  }
  leave(lib, call);
  return WEIR_OK;
}

static void get_all_arguments(share *s) {
  library lib = {.s = s};
  weir_kernel *kernel = make(s, "look", &(weir_enqueue_code){.function = look, .data = &lib});
  weir_buffer *buffer = share_buffer(s, COUNT), *rows = share_buffer(s, COUNT);
  uint32_t value = 77, copy[40];
  const weir_box box = {.width = 8, .pitch = 32, .rows = 3};
  weir_arg args[22] = {weir_value(&value, sizeof value), weir_reads_box(rows, 16, &box)};
  for (uint32_t i = 2; i < 22; i++) args[i] = weir_writes_range(buffer, (i - 2) * 8, 8);
  share_submit(s, s->set, s->cuda, rows, COUNT, 1, NULL);
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 22, .groups = {5, 0, 2}, .user = &lib.calls};
  share_ok(weir_submit(s->context, &task, NULL));
  share_ok(weir_copy_out(buffer, 0, sizeof copy, copy, NULL));
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < 40; i++) assert_int_equal(copy[i], 2 + i / 2);
  assert_int_equal(atomic_load(&lib.calls), 1);
}

static void test_arguments(void **state) {
  (void)state;
  share_run("cuda", get_all_arguments);
}

// ---------------------------------------------------------------------------------------------------------------
// Lanes and scratch memory

// out = 2 * (value + i), by way of memory that is the lane's, or the call's.
static weir_status by_way_of(library *lib, const weir_enqueue *call, uint64_t memory) {
  const share *s = lib->s;
  uint32_t count = COUNT, value = number(&call->args[1]);
  uint64_t out = call->args[0].pointer;
  void *set[] = {&memory, &count, &value}, *sum[] = {&out, &memory, &memory, &count};
  CUfunction set_numbers, sum_numbers;
  if (s->driver->cuModuleGetFunction(&set_numbers, s->module, "set") != CUDA_SUCCESS ||
      s->driver->cuModuleGetFunction(&sum_numbers, s->module, "sum") != CUDA_SUCCESS)
    abort();
  if (s->driver->cuLaunchKernel(set_numbers, 1, 1, 1, 1, 1, 1, 0, call->queue, set, NULL) != CUDA_SUCCESS) abort();
  if (s->driver->cuLaunchKernel(sum_numbers, 1, 1, 1, 1, 1, 1, 0, call->queue, sum, NULL) != CUDA_SUCCESS) abort();
  return WEIR_OK;
}

static CUdeviceptr workspaces[MOST_LANES];

static weir_status make_workspace(const weir_enqueue *call) {
  library *lib = call->data;
  atomic_fetch_add(&lib->prepared[call->lane], 1);
  return lib->s->driver->cuMemAlloc(&workspaces[call->lane], BYTES) == CUDA_SUCCESS ? WEIR_OK
                                                                                    : WEIR_ERROR_OUT_OF_MEMORY;
}

static weir_status with_workspace(const weir_enqueue *call) {
  library *lib = call->data;
  enter(lib, call);
  weir_status status = by_way_of(lib, call, workspaces[call->lane]);
  leave(lib, call);
  return status;
}

static weir_status with_scratch(const weir_enqueue *call) {
  library *lib = call->data;
  enter(lib, call);
  if (call->scratch.bytes != lib->scratch_bytes || call->scratch.pointer % 256 != 0 || call->arg_count != 2) abort();
  weir_status status = by_way_of(lib, call, call->scratch.pointer);
  leave(lib, call);
  return status;
}

// Independent tasks, which overlap as they like.
static void run_side_by_side(share *s, weir_kernel *kernel) {
  enum { TASKS = 60 };
  weir_buffer *out[TASKS];
  static uint32_t copies[TASKS][COUNT];
  for (uint32_t i = 0; i < TASKS; i++) {
    out[i] = share_buffer(s, COUNT);
    weir_arg args[] = {weir_writes(out[i]), weir_value(&i, sizeof i)};
    share_ok(weir_submit(s->context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, NULL));
    share_ok(weir_copy_out(out[i], 0, BYTES, copies[i], NULL));
    share_ok(weir_buffer_release(out[i]));
  }
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < TASKS; i++)
    for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(copies[i][j], 2 * (i + j));
}

static void lanes_do_not_share(share *s) {
  library lib = {.s = s};
  weir_enqueue_code code = {.function = with_workspace, .prepare = make_workspace, .data = &lib};
  run_side_by_side(s, make(s, "workspace", &code));
  for (uint32_t i = 0; i < MOST_LANES; i++) {
    assert_true(atomic_load(&lib.prepared[i]) <= 1);
    if (workspaces[i] != 0) share_free(s, workspaces[i]);
    workspaces[i] = 0;
  }
}

static void scratch_is_the_call_s_own(share *s) {
  library lib = {.s = s, .scratch_bytes = BYTES + 4};
  weir_enqueue_code code = {.function = with_scratch, .scratch_bytes = BYTES + 4, .data = &lib};
  weir_kernel *kernel = make(s, "scratch", &code);
  run_side_by_side(s, kernel);
  weir_arg args[WEIR_MAX_ARGS];
  weir_buffer *buffer = share_buffer(s, COUNT);
  for (uint32_t i = 0; i < WEIR_MAX_ARGS; i++) args[i] = weir_reads(buffer);
  weir_task task = {.kernel = kernel, .args = args, .arg_count = WEIR_MAX_ARGS, .label = "many"};
  share_refused(weir_submit(s->context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "with scratch memory at most 1023");
}

// A prepared task names its buffers later: what stands in their place at first may be anything.
static void scratch_of_prepared_tasks(share *s) {
  library lib = {.s = s, .scratch_bytes = BYTES};
  weir_enqueue_code code = {.function = with_scratch, .scratch_bytes = BYTES, .data = &lib};
  uint32_t value = 5, copy[COUNT];
  weir_arg args[] = {weir_writes((weir_buffer *)(uintptr_t)64), weir_value((const void *)(uintptr_t)64, sizeof value)};
  const weir_task last = {.kernel = make(s, "scratch", &code), .args = args, .arg_count = 1};
  weir_task task = last;
  task.arg_count = 2;
  weir_prepared *prepared, *short_one;
  share_ok(weir_prepare(s->context, &last, &short_one)); // the buffer is the last argument
  share_ok(weir_prepared_release(short_one));
  share_ok(weir_prepare(s->context, &task, &prepared));
  weir_buffer *out = share_buffer(s, COUNT);
  share_ok(weir_prepared_submit(prepared, &out, (const void *[]){&value}, NULL));
  share_ok(weir_read(out, 0, BYTES, copy));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(copy[i], 2 * (value + i));
  share_ok(weir_prepared_release(prepared));
}

// It counts to the limit: tasks wait for it, and one that never fits is refused.
static void scratch_has_a_limit(share *s) {
  library lib = {.s = s, .scratch_bytes = 1 << 20};
  weir_enqueue_code code = {.function = with_scratch, .scratch_bytes = 1 << 20, .data = &lib};
  run_side_by_side(s, make(s, "scratch", &code));
  weir_statistics statistics;
  weir_context_statistics(s->context, &statistics);
  assert_true(statistics.peak_bytes <= (5 << 20));
  code.scratch_bytes = 64 << 20;
  weir_kernel *large = make(s, "large", &code);
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t value = 0;
  weir_arg args[] = {weir_writes(buffer), weir_value(&value, sizeof value)};
  share_refused(weir_submit(s->context, &(weir_task){.kernel = large, .args = args, .arg_count = 2}, NULL),
                WEIR_ERROR_OUT_OF_MEMORY, "'scratch'");
}

static void test_lanes(void **state) {
  (void)state;
  share_run("cuda", lanes_do_not_share);
  share_run_with(&(weir_context_options){.devices = "cuda", .queues = 3}, lanes_do_not_share);
}

static void test_scratch(void **state) {
  (void)state;
  share_run("cuda", scratch_is_the_call_s_own);
  share_run("cuda", scratch_of_prepared_tasks);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_NO_RENAME | WEIR_CONTEXT_TRACE},
                 scratch_is_the_call_s_own);
  share_run_with(&(weir_context_options){.devices = "cuda", .memory_limit = 4 << 20}, scratch_has_a_limit);
}

// ---------------------------------------------------------------------------------------------------------------
// Failures and misuse

static weir_status fail_half_way(const weir_enqueue *call) {
  const library *lib = call->data;
  launch(lib, lib->s->own_step, call->queue, call->args[0].pointer, COUNT, 1);
  weir_enqueue_fail(call, "no plan for this size");
  weir_enqueue_fail(call, "a second text");
  return WEIR_ERROR_UNAVAILABLE;
}

static weir_status only_say_so(const weir_enqueue *call) {
  weir_enqueue_fail(call, NULL);
  return WEIR_OK;
}

static weir_status return_nonsense(const weir_enqueue *call) {
  (void)call;
  return WEIR_TIMEOUT;
}

static weir_status leave_capture(const weir_enqueue *call) {
  const library *lib = call->data;
  if (lib->s->driver->cuStreamBeginCapture(call->queue, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS) abort();
  launch(lib, lib->s->own_step, call->queue, call->args[0].pointer, COUNT, 1);
  return WEIR_OK;
}

static weir_status break_capture(const weir_enqueue *call) {
  const library *lib = call->data;
  if (lib->s->driver->cuStreamBeginCapture(call->queue, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS) abort();
  lib->s->driver->cuStreamSynchronize(call->queue);
  return WEIR_OK;
}

static weir_status change_context(const weir_enqueue *call) {
  const library *lib = call->data;
  lib->s->driver->cuCtxSetCurrent(NULL);
  return WEIR_OK;
}

static weir_status do_nothing(const weir_enqueue *call) {
  (void)call;
  return WEIR_OK;
}

static weir_status wait_for_all(const weir_enqueue *call) {
  const library *lib = call->data;
  share_refused(weir_finish(lib->s->context), WEIR_ERROR_INVALID_ARGUMENT, "called from a task");
  return WEIR_OK;
}

static weir_status cancel(const weir_enqueue *call) {
  const library *lib = call->data;
  weir_context_cancel(lib->s->context);
  return twice(call);
}

typedef struct fault {
  weir_enqueue_function function;
  weir_status status;
  const char *text;
} fault;

// The task fails, what reads its output is skipped, and what overwrites that runs.
static void fail_alone(share *s) {
  static const fault FAULTS[] = {
      {fail_half_way, WEIR_ERROR_UNAVAILABLE,
       "enqueue function returned WEIR_ERROR_UNAVAILABLE: no plan for this size"},
      {only_say_so, WEIR_ERROR_TASK_FAILED, "the enqueue function failed"},
      {return_nonsense, WEIR_ERROR_TASK_FAILED, "the enqueue function returned WEIR_TIMEOUT"},
      {leave_capture, WEIR_ERROR_TASK_FAILED, "began to capture its queue and did not end that"},
      {break_capture, WEIR_ERROR_TASK_FAILED, "began to capture its queue and did not end that"},
      {change_context, WEIR_OK, ""},
      {do_nothing, WEIR_OK, ""},
      {wait_for_all, WEIR_OK, ""},
  };
  library lib = {.s = s};
  weir_kernel *good = make(s, "good", &(weir_enqueue_code){.function = twice, .data = &lib});
  for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
    const fault *f = &FAULTS[i];
    weir_kernel *bad = make(s, "bad", &(weir_enqueue_code){.function = f->function, .data = &lib});
    weir_buffer *buffer = share_buffer(s, COUNT), *other = share_buffer(s, COUNT);
    uint32_t copy[COUNT];
    weir_event *failed, *skipped, *after;
    share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
    share_submit(s, s->set, s->cuda, other, COUNT, 1, NULL);
    submit_twice(s, bad, buffer, 4, &failed);
    submit_twice(s, good, buffer, 5, &skipped);
    submit_twice(s, good, other, 5, &after);
    share_submit(s, s->set, s->cuda, buffer, COUNT, 9, NULL);
    share_ok(weir_copy_out(buffer, 0, BYTES, copy, NULL));
    assert_int_equal(weir_event_wait(failed, WEIR_FOREVER), f->status);
    if (strstr(weir_event_message(failed), f->text) == NULL) fail_msg("%s", weir_event_message(failed));
    if (f->status != WEIR_OK) assert_non_null(strstr(weir_event_message(failed), "'twice' (bad"));
    assert_int_equal(share_await(skipped), f->status == WEIR_OK ? WEIR_OK : WEIR_ERROR_UPSTREAM_FAILED);
    assert_int_equal(share_await(after), WEIR_OK);
    weir_event_release(failed);
    assert_int_equal(weir_finish(s->context), f->status);
    for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(copy[j], 9 + j);
    share_ok(weir_kernel_release(bad));
  }
}

static void test_failures(void **state) {
  (void)state;
  share_run("cpu:1,cuda", fail_alone);
  share_run_with(&(weir_context_options){.devices = "cpu:1,cuda", .flags = WEIR_CONTEXT_TRACE}, fail_alone);
}

// A preparation that failed is made again, and fails no more tasks than its own.
static atomic_int failures_left;

static weir_status prepare_later(const weir_enqueue *call) {
  (void)call;
  if (atomic_fetch_sub(&failures_left, 1) <= 0) return WEIR_OK;
  weir_enqueue_fail(call, "not yet");
  return WEIR_ERROR_OUT_OF_MEMORY;
}

static void preparations_fail_and_come_again(share *s) {
  library lib = {.s = s};
  weir_kernel *kernel =
      make(s, "late", &(weir_enqueue_code){.function = twice, .prepare = prepare_later, .data = &lib});
  atomic_store(&failures_left, 2);
  uint32_t failed = 0;
  for (uint32_t i = 0; i < 12; i++) {
    weir_buffer *buffer = share_buffer(s, COUNT);
    weir_event *event;
    share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
    submit_twice(s, kernel, buffer, i, &event);
    weir_status status = weir_event_wait(event, WEIR_FOREVER);
    if (status != WEIR_OK && strstr(weir_event_message(event), "prepare function") == NULL)
      fail_msg("%s", weir_event_message(event));
    failed += status == WEIR_ERROR_OUT_OF_MEMORY;
    weir_event_release(event);
  }
  assert_int_equal(failed, 2);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_OUT_OF_MEMORY);
}

static void test_prepare(void **state) {
  (void)state;
  share_run("cuda", preparations_fail_and_come_again);
}

// Cancelled in the middle of a call: that task goes on, later ones are skipped, and tasks after the call run.
static void cancelling_in_a_call(share *s) {
  library lib = {.s = s};
  weir_kernel *kernel = make(s, "cancel", &(weir_enqueue_code){.function = cancel, .data = &lib});
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t copy[COUNT];
  weir_event *event;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, &event);
  share_ok(share_await(event));
  submit_twice(s, kernel, buffer, 4, &event);
  assert_int_equal(share_await(event), WEIR_OK);
  share_submit(s, s->set, s->cuda, buffer, COUNT, 6, NULL);
  share_ok(weir_copy_out(buffer, 0, BYTES, copy, NULL));
  share_ok(weir_finish(s->context));
  for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(copy[j], 6 + j);
}

static void test_cancel(void **state) {
  (void)state;
  share_run("cuda", cancelling_in_a_call);
}

static weir_status lose_inside(const weir_enqueue *call) {
  const library *lib = call->data;
  uint64_t pointer = call->args[0].pointer;
  uint32_t count = 1, value = 1;
  void *parameters[] = {&pointer, &count, &value};
  stub_fail_nth("cuLaunchKernel", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
  lib->s->driver->cuLaunchKernel(lib->s->own_step, 1, 1, 1, 1, 1, 1, 0, call->queue, parameters, NULL);
  return WEIR_OK;
}

static weir_status destroy_queue(const weir_enqueue *call) {
  const library *lib = call->data;
  if (lib->s->driver->cuStreamDestroy(call->queue) != CUDA_SUCCESS) abort();
  return WEIR_OK;
}

static void lose_the_device(share *s, weir_enqueue_function function, const char *text) {
  library lib = {.s = s};
  weir_kernel *bad = make(s, "bad", &(weir_enqueue_code){.function = function, .data = &lib});
  weir_buffer *buffer = share_buffer(s, COUNT);
  weir_event *event;
  // Done before, since nobody can wait for a stream that is gone: CUDA frees memory and modules behind its work, and the
  // stub driver wants to see who waits.
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, &event);
  assert_int_equal(share_await(event), WEIR_OK);
  submit_twice(s, bad, buffer, 4, &event);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
  if (strstr(weir_event_message(event), text) == NULL) fail_msg("%s", weir_event_message(event));
  weir_event_release(event);
  weir_finish(s->context);
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, &event);
  assert_int_equal(share_await(event), WEIR_ERROR_DEVICE_LOST);
}

static void loses_the_context(share *s) {
  lose_the_device(s, lose_inside, "after the enqueue function the device was lost: CUDA_ERROR_ILLEGAL_ADDRESS");
}

static void loses_its_queue(share *s) {
  lose_the_device(s, destroy_queue, "the enqueue function destroyed its queue");
}

static void test_loss(void **state) {
  (void)state;
  share_run("cuda", loses_the_context);
  share_run("cuda", loses_its_queue);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs, groups of tasks, other ways of submission

static uint32_t add(weir_graph *graph, weir_kernel *kernel, weir_mode mode, weir_buffer *buffer, uint32_t value) {
  uint32_t node;
  weir_arg args[] = {mode == WEIR_WRITE ? weir_writes(buffer) : weir_updates(buffer), weir_value(&value, sizeof value)};
  share_ok(weir_graph_add(graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, &node));
  return node;
}

static void graphs_have_them_in_order(share *s) {
  library lib = {.s = s, .scratch_bytes = BYTES};
  weir_kernel *kernel = make(s, "library", &(weir_enqueue_code){.function = twice, .data = &lib});
  weir_enqueue_code code = {.function = with_scratch, .scratch_bytes = BYTES, .data = &lib};
  weir_kernel *scratch = make(s, "scratch", &code);
  weir_graph *graph;
  weir_buffer *a = share_buffer(s, COUNT), *b = share_buffer(s, COUNT);
  share_ok(weir_graph_create(s->context, NULL, &graph));
  add(graph, scratch, WEIR_WRITE, a, 3);
  uint32_t changed = add(graph, kernel, WEIR_READ_WRITE, a, 4);
  add(graph, scratch, WEIR_WRITE, b, 5);
  uint32_t value = 8;
  weir_arg arg = weir_reads(b);
  share_refused(weir_graph_set_arg(graph, 0, 2, &arg), WEIR_ERROR_OUT_OF_RANGE, "no argument 2 of node 0");
  static uint32_t copies[6][2][COUNT];
  for (uint32_t i = 0; i < 6; i++) {
    if (i == 3) arg = weir_value(&value, sizeof value);
    if (i == 3) share_ok(weir_graph_set_arg(graph, changed, 1, &arg));
    share_ok(weir_graph_launch(graph, NULL));
    share_submit(s, s->step, s->cuda, b, COUNT, i, NULL);
    share_ok(weir_copy_out(a, 0, BYTES, copies[i][0], NULL));
    share_ok(weir_copy_out(b, 0, BYTES, copies[i][1], NULL));
  }
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < 6; i++) {
    uint32_t now = i < 3 ? 4 : 8;
    for (uint32_t j = 0; j < COUNT; j++) {
      assert_int_equal(copies[i][0][j], stepped(stepped(2 * (3 + j), now), now + 1));
      assert_int_equal(copies[i][1][j], stepped(2 * (5 + j), i));
    }
  }
  // Other code makes the graph one that must be recorded anew, if it wants other scratch memory.
  code.scratch_bytes = 2 * BYTES;
  share_ok(weir_kernel_set_enqueue(scratch, "cuda", &code));
  share_refused(weir_graph_launch(graph, NULL), WEIR_ERROR_INVALID_ARGUMENT, "record the graph anew");
  share_ok(weir_graph_clear(graph));
  lib.scratch_bytes = 2 * BYTES;
  add(graph, scratch, WEIR_WRITE, a, 9);
  share_ok(weir_graph_launch(graph, NULL));
  share_ok(weir_graph_release(graph));
  share_ok(weir_read(a, 0, BYTES, copies[0][0]));
  for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(copies[0][0][j], 2 * (9 + j));
}

// A node that fails poisons what it should have written, inside the graph and behind it, and nothing else.
static void nodes_fail_alone(share *s) {
  library lib = {.s = s};
  weir_kernel *good = make(s, "good", &(weir_enqueue_code){.function = twice, .data = &lib});
  weir_kernel *bad = make(s, "bad", &(weir_enqueue_code){.function = fail_half_way, .data = &lib});
  weir_graph *graph;
  weir_event *launch_event, *reader;
  weir_buffer *a = share_buffer(s, COUNT), *b = share_buffer(s, COUNT);
  uint32_t copy[COUNT];
  share_ok(weir_graph_create(s->context, NULL, &graph));
  add(graph, bad, WEIR_READ_WRITE, a, 4);
  add(graph, good, WEIR_READ_WRITE, a, 5);
  add(graph, good, WEIR_READ_WRITE, b, 6);
  for (uint32_t i = 0; i < 3; i++) {
    share_submit(s, s->set, s->cuda, a, COUNT, 1, NULL);
    share_submit(s, s->set, s->cuda, b, COUNT, 1, NULL);
    share_ok(weir_graph_launch(graph, &launch_event));
    submit_twice(s, good, a, 1, &reader);
    share_submit(s, s->step, s->cuda, b, COUNT, 2, NULL);
    share_ok(weir_copy_out(b, 0, BYTES, copy, NULL));
    assert_int_equal(weir_event_wait(launch_event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    if (strstr(weir_event_message(launch_event), "node 0 'bad': the enqueue function returned") == NULL)
      fail_msg("%s", weir_event_message(launch_event));
    weir_event_release(launch_event);
    assert_int_equal(share_await(reader), WEIR_ERROR_UPSTREAM_FAILED);
    assert_int_equal(weir_finish(s->context), WEIR_ERROR_TASK_FAILED);
    for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(copy[j], stepped(stepped(stepped(1 + j, 6), 7), 2));
  }
  share_ok(weir_graph_release(graph));
}

static void graphs_lose_the_device(share *s) {
  library lib = {.s = s};
  weir_kernel *bad = make(s, "bad", &(weir_enqueue_code){.function = destroy_queue, .data = &lib});
  weir_graph *graph;
  weir_event *event;
  weir_buffer *a = share_buffer(s, COUNT);
  share_ok(weir_graph_create(s->context, NULL, &graph));
  add(graph, bad, WEIR_WRITE, a, 4);
  add(graph, bad, WEIR_WRITE, a, 5);
  share_ok(weir_graph_launch(graph, &event));
  assert_int_equal(share_await(event), WEIR_ERROR_DEVICE_LOST);
  weir_finish(s->context);
  share_ok(weir_graph_release(graph));
}

static void test_graphs(void **state) {
  (void)state;
  share_run("cpu:1,cuda", graphs_have_them_in_order);
  share_run_with(&(weir_context_options){.devices = "cpu:1,cuda", .flags = WEIR_CONTEXT_TRACE},
                 graphs_have_them_in_order);
  share_run_with(&(weir_context_options){.devices = "cpu:1,cuda", .flags = WEIR_CONTEXT_IN_ORDER},
                 graphs_have_them_in_order);
  share_run("cpu:1,cuda", nodes_fail_alone);
  share_run("cuda", graphs_lose_the_device);
}

// A host task that fills a full window with them: they queue, with their scratch memory.
static weir_kernel *child_kernel;
static weir_buffer *child_buffers[40];

static void submit_children(const weir_work *work) {
  const share *s = work->user;
  for (uint32_t i = 0; i < 40; i++) {
    weir_arg args[] = {weir_writes(child_buffers[i]), weir_value(&i, sizeof i)};
    share_ok(weir_submit(s->context, &(weir_task){.kernel = child_kernel, .args = args, .arg_count = 2}, NULL));
  }
}

static void queue_where_there_is_no_room(share *s) {
  library lib = {.s = s, .scratch_bytes = BYTES};
  weir_enqueue_code code = {.function = with_scratch, .scratch_bytes = BYTES, .data = &lib};
  uint32_t copy[COUNT];
  child_kernel = make(s, "scratch", &code);
  for (uint32_t i = 0; i < 40; i++) child_buffers[i] = share_buffer(s, COUNT);
  share_ok(weir_submit(s->context, &(weir_task){.host = submit_children, .user = s}, NULL));
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < 40; i++) {
    share_ok(weir_read(child_buffers[i], 0, BYTES, copy));
    for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(copy[j], 2 * (i + j));
  }
}

static void test_nesting(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cpu:1,cuda", .window = 8}, queue_where_there_is_no_room);
}

// Check mode says that it does not check them, and runs them right.
static void check_mode_runs_them(share *s) {
  library lib = {.s = s, .scratch_bytes = BYTES};
  weir_kernel *kernel = make(s, "library", &(weir_enqueue_code){.function = twice, .data = &lib});
  weir_enqueue_code code = {.function = with_scratch, .scratch_bytes = BYTES, .data = &lib};
  weir_kernel *scratch = make(s, "scratch", &code);
  weir_buffer *a = share_buffer(s, COUNT);
  uint32_t copy[COUNT], value = 3;
  weir_arg args[] = {weir_writes(a), weir_value(&value, sizeof value)};
  share_ok(weir_submit(s->context, &(weir_task){.kernel = scratch, .args = args, .arg_count = 2}, NULL));
  submit_twice(s, kernel, a, 4, NULL);
  share_submit(s, s->step, s->cuda, a, COUNT, 2, NULL);
  share_ok(weir_read(a, 0, BYTES, copy));
  for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(copy[j], stepped(stepped(stepped(2 * (3 + j), 4), 5), 2));
  weir_graph *graph;
  share_ok(weir_graph_create(s->context, NULL, &graph));
  add(graph, scratch, WEIR_WRITE, a, 3);
  share_ok(weir_graph_launch(graph, NULL));
  share_ok(weir_read(a, 0, BYTES, copy));
  for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(copy[j], 2 * (3 + j));
  share_ok(weir_graph_release(graph));
}

static void test_check_mode(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cpu:1,cuda", .flags = WEIR_CONTEXT_CHECK}, check_mode_runs_them);
}

static void are_set_once(share *s) {
  library lib = {.s = s};
  weir_enqueue_code code = {.function = twice, .data = &lib};
  weir_kernel *kernel;
  share_ok(weir_kernel_create(s->context, "k", &kernel));
  code.function = NULL;
  share_refused(weir_kernel_set_enqueue(kernel, "cuda", &code), WEIR_ERROR_INVALID_ARGUMENT, "function is NULL");
  code = (weir_enqueue_code){.function = twice, .data = &lib, .flags = 1u << 31};
  share_refused(weir_kernel_set_enqueue(kernel, "cuda", &code), WEIR_ERROR_INVALID_ARGUMENT, "0x80000000");
  code.flags = 0;
  share_refused(weir_kernel_set_enqueue(kernel, "sim", &code), WEIR_ERROR_INVALID_ARGUMENT, "'sim'");
  share_ok(weir_kernel_set_enqueue(kernel, "cuda", &code));
  weir_buffer *buffer = share_buffer(s, COUNT);
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  share_submit(s, s->held, s->cuda, buffer, COUNT, 1, NULL);
  submit_twice(s, kernel, buffer, 1, NULL);
  share_refused(weir_kernel_set_enqueue(kernel, "cuda", &code), WEIR_ERROR_INVALID_ARGUMENT, "tasks in flight");
  share_open();
  share_ok(weir_finish(s->context));
  share_ok(weir_kernel_set_cuda(kernel, NULL, NULL, 0)); // in place of the function
  submit_twice(s, kernel, buffer, 1, NULL);
  share_ok(weir_finish(s->context));
  assert_int_equal(atomic_load(&lib.calls), 1);
}

static void test_set(void **state) {
  (void)state;
  share_run("cuda", are_set_once);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),   cmocka_unit_test(test_devices), cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_lanes),   cmocka_unit_test(test_scratch), cmocka_unit_test(test_failures),
      cmocka_unit_test(test_prepare), cmocka_unit_test(test_cancel),  cmocka_unit_test(test_loss),
      cmocka_unit_test(test_graphs),  cmocka_unit_test(test_nesting), cmocka_unit_test(test_check_mode),
      cmocka_unit_test(test_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
