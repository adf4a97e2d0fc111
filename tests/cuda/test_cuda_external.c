// SPDX-License-Identifier: Apache-2.0
//
// Events of CUDA code of the caller's as predecessors of single tasks and as the state of single buffers, and events of
// single buffers that a stream of the caller's waits for. On the driver of stub/, in random orders.
#include <sched.h>
#include <string.h>

#include "device/cuda/cuda_device.h"
#include "random.h"
#include "share.h"
#include "weir/enqueue.h"
#include "weir/external.h"
#include "weir/graph.h"

enum { COUNT = 64, BYTES = COUNT * 4 };

static void do_nothing(const weir_work *work) {
  (void)work;
}

static weir_buffer *wrap(const share *s, CUdeviceptr memory) {
  weir_buffer *buffer;
  share_ok(weir_buffer_wrap_cuda(s->cuda, memory, BYTES, &buffer));
  return buffer;
}

// The caller's memory with zeros, and `held` on it in the caller's stream, which makes 7 of each.
static CUdeviceptr begin_own_work(const share *s) {
  uint32_t zero[COUNT] = {0};
  CUdeviceptr memory = share_allocate(s, COUNT);
  share_write(s, memory, zero, COUNT);
  share_launch(s, s->own_held, memory, COUNT, 7);
  return memory;
}

static void submit_after(const share *s, weir_device *device, weir_buffer *buffer, uint32_t value, weir_event *after,
                         weir_event **out_event) {
  uint32_t count = COUNT;
  weir_arg args[] = {weir_updates(buffer), weir_value(&count, 4), weir_value(&value, 4)};
  weir_task task = {
      .kernel = s->step, .args = args, .arg_count = 3, .device = device, .after = &after, .after_count = 1};
  share_ok(weir_submit(s->context, &task, out_event));
}

// What was set to 7 by the work outside, or by a task, was stepped with 1.
static void expect_step(const share *s, weir_buffer *buffer, bool by_task) {
  uint32_t numbers[COUNT];
  share_ok(weir_read(buffer, 0, BYTES, numbers));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(by_task ? 7 + i : 7, 1));
  share_ok(weir_finish(s->context));
}

// Tasks that have nothing to do with the work outside are not held back, however many there are.
static void others_go_on(const share *s, uint32_t rounds) {
  weir_buffer *buffers[8];
  for (uint32_t i = 0; i < 8; i++) buffers[i] = share_buffer(s, COUNT);
  for (uint32_t round = 0; round < rounds; round++) {
    weir_event *events[8];
    for (uint32_t i = 0; i < 8; i++) share_submit(s, s->set, s->cuda, buffers[i], COUNT, i, NULL);
    for (uint32_t i = 0; i < 8; i++) share_submit(s, s->step, s->cuda, buffers[i], COUNT, i, &events[i]);
    for (uint32_t i = 0; i < 8; i++) share_ok(share_await(events[i]));
  }
  for (uint32_t i = 0; i < 8; i++) share_ok(weir_buffer_release(buffers[i]));
}

static void one_task_waits(share *s, bool by_event, weir_device *device) {
  CUdeviceptr memory = begin_own_work(s);
  bool elsewhere = device != s->cuda; // contents go there before the task; `follow` is for that
  weir_buffer *buffer = elsewhere ? share_buffer(s, COUNT) : wrap(s, memory);
  weir_event *outside = NULL, *step = NULL;
  CUevent event = NULL;
  if (elsewhere) share_submit(s, s->set, s->cuda, buffer, COUNT, 7, NULL);
  if (by_event) {
    share_good(s->driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    share_good(s->driver->cuEventRecord(event, s->stream));
    share_ok(weir_cuda_import_event(s->cuda, event, &outside));
  } else {
    share_ok(weir_cuda_import_stream(s->cuda, s->stream, &outside));
  }
  submit_after(s, device, buffer, 1, outside, &step);
  others_go_on(s, 2);
  assert_int_equal(weir_event_poll(step), WEIR_PENDING);
  assert_int_equal(weir_event_poll(outside), WEIR_PENDING);
  share_refused(weir_event_wait(outside, 1000), WEIR_TIMEOUT, by_event ? "CUevent 0x" : "CUstream 0x");
  share_refused(weir_event_wait(step, 1000), WEIR_TIMEOUT, by_event ? "waits for CUevent 0x" : "waits for CUstream 0x");
  share_open();
  share_ok(share_await(step));
  share_ok(weir_event_wait(outside, WEIR_FOREVER));
  expect_step(s, buffer, elsewhere);
  weir_event_release(outside);
  if (event != NULL) { // which is done already
    share_ok(weir_cuda_import_event(s->cuda, event, &outside));
    assert_int_equal(weir_event_poll(outside), WEIR_OK);
    weir_event_release(outside);
    share_good(s->driver->cuEventDestroy(event));
  }
  share_free(s, memory);
}

static void task_of_cuda_waits_for_event(share *s) {
  one_task_waits(s, true, s->cuda);
}

static void task_of_cuda_waits_for_stream(share *s) {
  one_task_waits(s, false, s->cuda);
}

static void task_of_cpu_waits(share *s) {
  one_task_waits(s, true, s->cpu);
}

static void task_of_another_card_waits(share *s) {
  one_task_waits(s, false, s->second);
}

static void test_one_task(void **state) {
  (void)state;
  share_run("cuda", task_of_cuda_waits_for_event);
  share_run("cuda", task_of_cuda_waits_for_stream);
  share_run("cuda,cpu:2", task_of_cpu_waits);
  share_run("cuda:0,cuda:1", task_of_another_card_waits);
}

// More imports than the device has queues, which end in no order, and hold nobody else back.
static void many_imports(share *s) {
  enum { IMPORTS = 20 };
  CUdeviceptr memory = begin_own_work(s);
  weir_buffer *buffers[IMPORTS];
  weir_event *outside[IMPORTS], *steps[IMPORTS];
  for (uint32_t i = 0; i < IMPORTS; i++) {
    buffers[i] = share_buffer(s, COUNT);
    share_submit(s, s->set, s->cuda, buffers[i], COUNT, i, NULL);
    share_ok(weir_cuda_import_stream(s->cuda, s->stream, &outside[i]));
    submit_after(s, s->cuda, buffers[i], 1, outside[i], &steps[i]);
    weir_event_release(outside[i]);
  }
  others_go_on(s, 1);
  for (uint32_t i = 0; i < IMPORTS; i++) assert_int_equal(weir_event_poll(steps[i]), WEIR_PENDING);
  share_open();
  for (uint32_t i = 0; i < IMPORTS; i++) {
    uint32_t numbers[COUNT];
    share_ok(share_await(steps[i]));
    share_ok(weir_read(buffers[i], 0, BYTES, numbers));
    share_expect(numbers, COUNT, i, (uint32_t[]){1}, 1);
  }
  share_free(s, memory);
}

static void test_many(void **state) {
  (void)state;
  share_run("cuda", many_imports);
}

// How many tasks of the device are in streams that wait for the caller.
static uint32_t stalls(const share *s) {
  weir__cuda_device *device = weir__cuda_of(s->cuda);
  weir__host_lock(s->cuda->host);
  uint32_t count = device->imports.stalls;
  weir__host_unlock(s->cuda->host);
  return count;
}

// The card keeps the order: the task is in a stream while the work outside goes on, and a stream of the caller's can
// wait for it.
static void the_card_waits(share *s) {
  CUdeviceptr memory = begin_own_work(s);
  CUstream second;
  weir_buffer *buffer = wrap(s, memory), *other = share_buffer(s, COUNT);
  weir_event *outside = NULL, *step = NULL, *behind = NULL;
  uint32_t numbers[COUNT];
  share_good(s->driver->cuStreamCreateWithPriority(&second, CU_STREAM_NON_BLOCKING, 0));
  share_ok(weir_cuda_import_stream(s->cuda, s->stream, &outside));
  submit_after(s, s->cuda, buffer, 1, outside, &step);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 2, &behind);
  while (stalls(s) == 0) sched_yield();
  others_go_on(s, 3);
  share_submit(s, s->set, s->cuda, other, COUNT, 9, NULL); // by way of the queues for copies as well
  share_ok(weir_read(other, 0, BYTES, numbers));
  share_expect(numbers, COUNT, 9, NULL, 0);
  share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, second, step));
  assert_int_equal(weir_event_poll(step), WEIR_PENDING);
  share_open();
  share_good(s->driver->cuStreamSynchronize(second)); // behind the task, and so behind the work outside
  assert_int_equal(s->driver->cuStreamQuery(s->stream), CUDA_SUCCESS);
  share_ok(share_await(step));
  share_ok(share_await(behind));
  share_ok(weir_finish(s->context));
  assert_int_equal(stalls(s), 0);
  share_read(s, numbers, memory, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(stepped(7, 1), 2));
  weir_event_release(outside);
  share_good(s->driver->cuStreamDestroy(second));
  share_free(s, memory);
}

static void test_card(void **state) {
  (void)state;
  share_run("cuda", the_card_waits);
}

// Weir and two streams of the caller's step buffers in turn, ordered task by task and buffer by buffer.
static void random_turns(share *s) {
  enum { BUFFERS = 5, STEPS = 120 };
  CUdeviceptr memory[BUFFERS];
  weir_buffer *buffers[BUFFERS];
  weir_event *outside[BUFFERS] = {NULL}; // what the next task on the buffer must come after
  uint32_t expected[BUFFERS] = {0}, zero[COUNT] = {0}, numbers[COUNT];
  static uint64_t seed = 1;
  random_state random = {++seed};
  CUstream mine = s->stream, streams[2] = {mine, NULL};
  share_good(s->driver->cuStreamCreateWithPriority(&streams[1], CU_STREAM_NON_BLOCKING, 0));
  for (uint32_t i = 0; i < BUFFERS; i++) {
    memory[i] = share_allocate(s, COUNT);
    share_write(s, memory[i], zero, COUNT);
    buffers[i] = wrap(s, memory[i]);
  }
  share_good(s->driver->cuStreamSynchronize(mine));
  for (uint32_t value = 0; value < STEPS; value++) {
    uint32_t i = random_below(&random, BUFFERS), what = random_below(&random, 5);
    expected[i] = stepped(expected[i], value);
    if (what < 3) {
      if (outside[i] != NULL)
        submit_after(s, s->cuda, buffers[i], value, outside[i], NULL);
      else
        share_submit(s, s->step, s->cuda, buffers[i], COUNT, value, NULL);
      weir_event_release(outside[i]);
      outside[i] = NULL;
      continue;
    }
    weir_event *users = NULL, *now = NULL;
    s->stream = streams[random_below(&random, 2)];
    if (outside[i] != NULL) share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, outside[i]));
    weir_event_release(outside[i]);
    outside[i] = NULL;
    share_ok(weir_buffer_event(buffers[i], WEIR_READ_WRITE, &users));
    share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, users));
    weir_event_release(users);
    share_launch(s, s->own_step, memory[i], COUNT, value);
    share_ok(weir_cuda_import_stream(s->cuda, s->stream, &now));
    if (what == 3) {
      outside[i] = now;
      continue;
    }
    share_ok(weir_buffer_follow(buffers[i], WEIR_READ_WRITE, now));
    weir_event_release(now);
  }
  share_ok(weir_finish(s->context));
  for (int i = 0; i < 2; i++) share_good(s->driver->cuStreamSynchronize(streams[i]));
  s->stream = mine;
  for (uint32_t i = 0; i < BUFFERS; i++) {
    share_read(s, numbers, memory[i], COUNT);
    assert_int_equal(numbers[COUNT - 1], expected[i]);
    weir_event_release(outside[i]);
    share_ok(weir_buffer_release(buffers[i]));
    share_free(s, memory[i]);
  }
  share_good(s->driver->cuStreamDestroy(streams[1]));
}

static void test_random_turns(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) share_run("cuda", random_turns);
  share_run_with(&(weir_context_options){.devices = "cuda", .window = 8, .queues = 5}, random_turns);
  share_run_with(&(weir_context_options){.devices = "cuda", .queues = 1}, random_turns);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_TRACE}, random_turns);
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:1", .flags = WEIR_CONTEXT_IN_ORDER}, random_turns);
}

static void one_buffer_waits(share *s) {
  CUdeviceptr memory = begin_own_work(s);
  weir_buffer *buffer = wrap(s, memory);
  weir_event *outside = NULL, *step = NULL, *host = NULL;
  share_ok(weir_cuda_import_stream(s->cuda, s->stream, &outside));
  share_ok(weir_buffer_follow(buffer, WEIR_WRITE, outside));
  weir_event_release(outside);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 1, &step);
  share_submit(s, s->step, s->cpu, buffer, COUNT, 2, &host);
  others_go_on(s, 2);
  assert_int_equal(weir_event_poll(step), WEIR_PENDING);
  assert_int_equal(weir_event_poll(host), WEIR_PENDING);
  share_open();
  share_ok(share_await(step));
  share_ok(share_await(host));
  uint32_t numbers[COUNT];
  share_ok(weir_finish(s->context));
  share_read(s, numbers, memory, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(stepped(7, 1), 2));
  share_free(s, memory);
}

static void test_one_buffer(void **state) {
  (void)state;
  share_run("cuda,cpu:2", one_buffer_waits);
}

// The call comes back while the tasks are held, and the stream waits for those of this buffer alone.
static void stream_waits_for_buffer(share *s, weir_device *last) {
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory), *other = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  weir_event *event = NULL, *held = NULL;
  share_submit(s, s->set, s->cuda, other, COUNT, 1, NULL);
  share_submit(s, s->set, s->cuda, buffer, COUNT, 3, NULL);
  share_submit(s, s->step, last, buffer, COUNT, 1, NULL);
  share_ok(weir_buffer_event(buffer, WEIR_READ_WRITE, &event));
  share_submit(s, s->held, s->cuda, other, COUNT, 1, &held);
  share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, event));
  share_launch(s, s->own_step, memory, COUNT, 2);
  share_read(s, numbers, memory, COUNT); // not held by the task of the other buffer
  share_expect(numbers, COUNT, 3, (uint32_t[]){1, 2}, 2);
  share_ok(share_await(event));
  assert_int_equal(weir_event_poll(held), WEIR_PENDING);
  share_open();
  share_ok(share_await(held));
  share_ok(weir_finish(s->context));
  share_free(s, memory);
}

static void stream_waits_for_buffer_of_card(share *s) {
  stream_waits_for_buffer(s, s->cuda);
}

static void stream_waits_for_buffer_of_cpu(share *s) {
  stream_waits_for_buffer(s, s->cpu);
}

static void stream_waits_without_host(share *s) {
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory);
  uint32_t numbers[COUNT];
  weir_event *event = NULL;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 3, NULL);
  share_submit(s, s->held, s->cuda, buffer, COUNT, 1, NULL);
  share_ok(weir_buffer_event(buffer, WEIR_READ, &event));
  share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, event));
  share_launch(s, s->own_step, memory, COUNT, 2);
  assert_int_equal(weir_event_poll(event), WEIR_PENDING);
  share_open();
  share_read(s, numbers, memory, COUNT);
  share_expect(numbers, COUNT, 3, (uint32_t[]){1, 2}, 2);
  share_ok(share_await(event));
  share_ok(weir_finish(s->context));
  share_free(s, memory);
}

static void test_buffer_event(void **state) {
  (void)state;
  share_run("cuda", stream_waits_without_host);
  share_run("cuda", stream_waits_for_buffer_of_card);
  share_run("cuda,cpu:1", stream_waits_for_buffer_of_cpu);
}

// A stream waits for what was imported from another stream, on the card; for an event of the host the host waits.
static void stream_waits_for_external(share *s) {
  CUdeviceptr memory = begin_own_work(s);
  CUstream mine = s->stream, second;
  weir_event *outside = NULL, *host = NULL;
  uint32_t numbers[COUNT];
  share_good(s->driver->cuStreamCreateWithPriority(&second, CU_STREAM_NON_BLOCKING, 0));
  share_ok(weir_cuda_import_stream(s->cuda, s->stream, &outside));
  share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, second, outside));
  s->stream = second;
  share_launch(s, s->own_step, memory, COUNT, 1);
  assert_int_equal(weir_event_poll(outside), WEIR_PENDING);
  share_open();
  share_read(s, numbers, memory, COUNT);
  s->stream = mine;
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(7, 1));
  share_good(s->driver->cuStreamDestroy(second));
  share_ok(weir_host_event_create(s->context, "flag", &host));
  share_ok(weir_host_event_signal(host, WEIR_OK));
  share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, host));
  weir_event_release(host);
  share_ok(weir_event_wait(outside, WEIR_FOREVER));
  share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, outside));
  weir_event_release(outside);
  share_free(s, memory);
}

static void test_stream_behind_external(void **state) {
  (void)state;
  share_run("cuda", stream_waits_for_external);
}

// Steps with 1, by a call of the caller's on the task's queue.
static weir_status step_by_call(const weir_enqueue *call) {
  const share *s = call->data;
  CUdeviceptr pointer = call->args[0].pointer;
  uint32_t count = COUNT, value = 1;
  void *params[] = {&pointer, &count, &value};
  CUresult result = s->driver->cuLaunchKernel(s->own_step, 1, 1, 1, 1, 1, 1, 0, (CUstream)call->queue, params, NULL);
  return result == CUDA_SUCCESS ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

// Tasks that are calls, and open tasks, come after what is outside, too.
static void calls_wait(share *s) {
  CUdeviceptr memory = begin_own_work(s);
  weir_buffer *buffer = wrap(s, memory);
  weir_event *outside = NULL, *step = NULL;
  weir_kernel *kernel;
  weir_open_task *open;
  const weir_enqueue *call;
  const weir_arg arg = weir_updates(buffer);
  share_ok(weir_kernel_create(s->context, "call", &kernel));
  share_ok(weir_kernel_set_enqueue(kernel, "cuda", &(weir_enqueue_code){.function = step_by_call, .data = s}));
  share_ok(weir_cuda_import_stream(s->cuda, s->stream, &outside));
  weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1, .after = &outside, .after_count = 1};
  share_ok(weir_submit(s->context, &task, &step));
  others_go_on(s, 1);
  assert_int_equal(weir_event_poll(step), WEIR_PENDING);
  share_open();
  task.kernel = NULL;
  task.device = s->cuda;
  share_ok(weir_task_begin(s->context, &task, &open, &call));
  assert_int_equal(weir_event_poll(outside), WEIR_OK); // the call waited for it
  weir_enqueue again = *call;
  again.data = s;
  share_ok(step_by_call(&again));
  share_ok(weir_task_end(open, NULL, 0, NULL));
  share_ok(share_await(step));
  uint32_t numbers[COUNT];
  share_ok(weir_finish(s->context));
  share_read(s, numbers, memory, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(stepped(7, 1), 1));
  weir_event_release(outside);
  share_free(s, memory);
}

static void test_calls(void **state) {
  (void)state;
  share_run("cuda", calls_wait);
}

typedef struct heard {
  atomic_uint count;
  _Atomic int status;
} heard;

static void hear(void *user, weir_status status) {
  heard *self = user;
  atomic_store(&self->status, (int)status);
  atomic_fetch_add(&self->count, 1);
}

// A context does not wait for imports that no task waits for; they end with it.
static heard left;

static void leave_behind(share *s) {
  weir_event *outside = NULL;
  left = (heard){0};
  CUdeviceptr memory = begin_own_work(s);
  share_ok(weir_cuda_import_stream(s->cuda, s->stream, &outside));
  share_ok(weir_event_on_done(outside, hear, &left));
  weir_event_release(outside);
  share_ok(weir_context_release(s->context));
  s->context = NULL;
  assert_int_equal(left.count, 1);
  assert_int_equal(left.status, WEIR_ERROR_CANCELLED);
  share_open();
  share_good(s->driver->cuStreamSynchronize(s->stream));
  share_free(s, memory);
}

static void test_release(void **state) {
  (void)state;
  share_run("cuda", leave_behind);
}

// The device is lost: imports end, and so do tasks that wait for them.
static void lost_device_ends_imports(share *s) {
  weir_event *outside = NULL, *step = NULL;
  weir_buffer *buffer = share_buffer(s, COUNT), *other = share_buffer(s, COUNT);
  CUdeviceptr memory = begin_own_work(s);
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  share_ok(weir_cuda_import_stream(s->cuda, s->stream, &outside));
  submit_after(s, s->cuda, buffer, 1, outside, &step);
  share_submit(s, s->broken, s->cuda, other, COUNT, 1, NULL);
  share_open();
  weir_status status = weir_event_wait(outside, WEIR_FOREVER);
  assert_true(status == WEIR_OK || status == WEIR_ERROR_DEVICE_LOST);
  (void)share_await(step);
  weir_event_release(outside);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_DEVICE_LOST);
  s->driver->cuMemFree(memory); // fails, and frees
}

static void test_lost(void **state) {
  (void)state;
  share_run("cuda", lost_device_ends_imports);
}

// Calls of the driver fail: the call of Weir's that made them says so, or weir_finish does, or the order was kept
// otherwise.
static void driver_fails(share *s) {
  static const char *const CALLS[] = {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventQuery"};
  CUdeviceptr memory = share_allocate(s, COUNT);
  uint32_t numbers[COUNT] = {0};
  for (size_t call = 0; call < sizeof CALLS / sizeof CALLS[0]; call++) {
    for (uint64_t n = 1; n <= 6; n++) {
      weir_buffer *buffer = wrap(s, memory);
      weir_event *outside = NULL, *users = NULL;
      for (uint32_t i = 0; i < COUNT; i++) numbers[i] = i;
      share_write(s, memory, numbers, COUNT);
      share_launch(s, s->own_step, memory, COUNT, 1);
      stub_fail_nth(CALLS[call], n, CUDA_ERROR_OPERATING_SYSTEM);
      if (weir_cuda_import_stream(s->cuda, s->stream, &outside) != WEIR_OK) {
        assert_null(outside);
        assert_true(stub_failed());
        share_ok(weir_cuda_import_stream(s->cuda, s->stream, &outside));
      }
      submit_after(s, s->cuda, buffer, 2, outside, NULL);
      share_ok(weir_buffer_event(buffer, WEIR_WRITE, &users));
      if (weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, users) != WEIR_OK) {
        assert_true(stub_failed());
        share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, users));
      }
      share_launch(s, s->own_step, memory, COUNT, 3);
      share_ok(weir_event_wait(outside, WEIR_FOREVER));
      weir_status status = weir_finish(s->context);
      bool failed = stub_failed();
      stub_fail_nth(CALLS[call], 0, 0);
      share_read(s, numbers, memory, COUNT);
      if (status == WEIR_OK)
        share_expect(numbers, COUNT, 0, (uint32_t[]){1, 2, 3}, 3);
      else
        assert_true(failed);
      weir_event_release(outside);
      weir_event_release(users);
      share_ok(weir_buffer_release(buffer));
    }
  }
  share_free(s, memory);
}

static void test_driver_fails(void **state) {
  (void)state;
  share_run("cuda", driver_fails);
}

typedef struct copied {
  const uint32_t *memory;
  uint32_t seen;
} copied;

static void look(const weir_work *work) {
  copied *self = work->user;
  self->seen = self->memory[COUNT - 1];
}

// The second launch of a graph is done before the first, and its bytes come to the caller's memory after those of the first.
// Tasks that come after it, and who reads a buffer that follows it, find them there.
static void task_waits_for_copies_out(share *s) {
  uint32_t outside[COUNT] = {0}, memory[COUNT] = {0};
  weir_buffer *first, *second = share_buffer(s, COUNT), *out = share_buffer(s, COUNT), *destination;
  share_ok(weir_buffer_wrap(s->context, outside, BYTES, &first));
  share_ok(weir_buffer_wrap(s->context, memory, BYTES, &destination));
  share_ok(weir_fill(second, 0, BYTES, 9, NULL));
  weir_graph *graph;
  share_ok(weir_graph_create(s->context, &(weir_graph_options){.device = s->cuda}, &graph));
  share_ok(weir_graph_copy(graph, out, 0, first, 0, BYTES, NULL));
  share_ok(weir_graph_copy_out(graph, out, 0, BYTES, memory, NULL));
  weir_event *host, *launch, *task;
  share_ok(weir_host_event_create(s->context, "outside", &host));
  share_ok(weir_buffer_follow(first, WEIR_WRITE, host));
  share_ok(weir_graph_launch(graph, NULL));
  share_ok(weir_graph_replace_buffer(graph, first, second));
  share_ok(weir_graph_launch(graph, &launch));
  copied after = {.memory = memory}, reader = {.memory = memory};
  weir_task looks = {.host = look, .user = &after, .after = &launch, .after_count = 1};
  share_ok(weir_submit(s->context, &looks, &task));
  share_ok(weir_buffer_follow(destination, WEIR_WRITE, launch));
  const weir_arg arg = weir_reads(destination);
  share_ok(weir_submit(s->context, &(weir_task){.host = look, .user = &reader, .args = &arg, .arg_count = 1}, NULL));
  assert_int_equal(weir_event_wait(launch, 1000000), WEIR_TIMEOUT);
  assert_int_equal(weir_event_wait(task, 20000000), WEIR_TIMEOUT);
  share_ok(weir_host_event_signal(host, WEIR_OK));
  share_ok(weir_finish(s->context));
  assert_int_equal(after.seen, 9);
  assert_int_equal(reader.seen, 9);
  weir_event_release(host);
  weir_event_release(launch);
  weir_event_release(task);
  share_ok(weir_graph_release(graph));
}

static void test_copies_out(void **state) {
  (void)state;
  share_run("cuda,cpu:2", task_waits_for_copies_out);
}

static weir_device *device_of(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  weir_device *device = NULL;
  share_ok(weir_buffer_device(buffer, offset, bytes, &device));
  return device;
}

// Contents are said to be where the tasks that were submitted put them, whether they are done or not.
static void contents_are_found(share *s) {
  uint32_t numbers[COUNT] = {0};
  weir_device *device;
  weir_event *event;
  weir_buffer *buffer = share_buffer(s, COUNT);
  assert_null(device_of(buffer, 0, WEIR_WHOLE));
  share_ok(weir_host_event_create(s->context, "later", &event));
  submit_after(s, s->cuda, buffer, 1, event, NULL);
  assert_ptr_equal(device_of(buffer, 0, WEIR_WHOLE), s->cuda);
  assert_ptr_equal(device_of(buffer, 4, 8), s->cuda);
  share_ok(weir_host_event_signal(event, WEIR_OK));
  weir_event_release(event);
  share_ok(weir_read(buffer, 0, BYTES, numbers)); // straight from the device
  assert_ptr_equal(device_of(buffer, 0, WEIR_WHOLE), s->cuda);
  uint32_t count = COUNT, value = 2;
  weir_arg args[] = {weir_updates_range(buffer, 0, 32), weir_value(&count, 4), weir_value(&value, 4)};
  share_ok(weir_submit(s->context, &(weir_task){.host = do_nothing, .args = args, .arg_count = 3}, NULL));
  assert_null(device_of(buffer, 0, 32));
  assert_null(device_of(buffer, 0, WEIR_WHOLE)); // no memory has all
  assert_ptr_equal(device_of(buffer, 32, WEIR_WHOLE), s->cuda);
  share_refused(weir_buffer_device(buffer, 0, BYTES + 1, &device), WEIR_ERROR_OUT_OF_RANGE, "257 bytes from byte 0 on");
  share_refused(weir_buffer_device(buffer, BYTES, WEIR_WHOLE, &device), WEIR_ERROR_OUT_OF_RANGE, "all bytes from byte");
  share_refused(weir_buffer_device(buffer, 0, WEIR_WHOLE, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_device is NULL");
  share_ok(weir_finish(s->context));
  share_ok(weir_buffer_release(buffer));
  assert_ptr_equal(weir_kernel_device(s->step), s->cpu); // the first one that has code
  assert_null(weir_kernel_device(NULL));
}

static void test_contents(void **state) {
  (void)state;
  share_run("cpu:1,cuda", contents_are_found);
}

static void misuse_is_refused(share *s) {
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  weir_event *outside = NULL;
  share_refused(weir_cuda_import_event(NULL, s, &outside), invalid, "the device is NULL");
  share_refused(weir_cuda_import_event(s->cpu, s, &outside), invalid, "is no CUDA device");
  share_refused(weir_cuda_import_event(s->cuda, NULL, &outside), invalid, "the CUevent is NULL");
  share_refused(weir_cuda_import_event(s->cuda, s, NULL), invalid, "out_event is NULL");
  share_refused(weir_cuda_import_stream(s->cpu, NULL, &outside), invalid, "is no CUDA device");
  share_refused(weir_cuda_import_stream(s->cuda, NULL, NULL), invalid, "out_event is NULL");
  share_ok(weir_cuda_import_stream(s->cuda, NULL, &outside));
  share_ok(share_await(outside));
}

static void test_misuse(void **state) {
  (void)state;
  share_run("cuda,cpu:1", misuse_is_refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_task),
      cmocka_unit_test(test_many),
      cmocka_unit_test(test_card),
      cmocka_unit_test(test_random_turns),
      cmocka_unit_test(test_one_buffer),
      cmocka_unit_test(test_buffer_event),
      cmocka_unit_test(test_stream_behind_external),
      cmocka_unit_test(test_release),
      cmocka_unit_test(test_calls),
      cmocka_unit_test(test_lost),
      cmocka_unit_test(test_copies_out),
      cmocka_unit_test(test_driver_fails),
      cmocka_unit_test(test_contents),
      cmocka_unit_test(test_misuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
