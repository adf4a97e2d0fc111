// SPDX-License-Identifier: Apache-2.0
//
// Memory and order that are shared with CUDA code of the caller's: wrapped device memory, Weir behind a stream, a stream
// behind Weir. On the driver of stub/, in random orders.
#include <string.h>

#include "share.h"
#include "weir/sim.h"

enum { COUNT = 64, BYTES = COUNT * 4 };

static weir_buffer *wrap(const share *s, CUdeviceptr memory, uint64_t bytes) {
  weir_buffer *buffer;
  share_ok(weir_buffer_wrap_cuda(s->cuda, memory, bytes, &buffer));
  return buffer;
}

// ---------------------------------------------------------------------------------------------------------------
// Wrapped device memory

static void wrapped_is_used_in_place(share *s) {
  CUdeviceptr memory = share_allocate(s, 2 * COUNT);
  weir_buffer *buffer = wrap(s, memory + 16, BYTES); // a part of the allocation
  uint32_t numbers[COUNT], copy[COUNT];
  share_submit(s, s->set, s->cuda, buffer, COUNT, 5, NULL);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 1, NULL);
  share_ok(weir_copy_out(buffer, 0, BYTES, copy, NULL));
  share_ok(weir_finish(s->context));
  share_read(s, numbers, memory + 16, COUNT);
  share_expect(numbers, COUNT, 5, (uint32_t[]){1}, 1);
  assert_memory_equal(numbers, copy, BYTES);
  // What the caller puts there is what Weir finds.
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = 1000 + i;
  share_write(s, memory + 16, numbers, COUNT);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 2, NULL);
  share_ok(weir_copy_out(buffer, 0, BYTES, copy, NULL));
  share_ok(weir_finish(s->context));
  share_expect(copy, COUNT, 1000, (uint32_t[]){2}, 1);
  // All of it is overwritten while it is in use, again and again: it stays where it is.
  for (uint32_t i = 0; i < 10; i++) {
    share_submit(s, s->set, s->cuda, buffer, COUNT, i, NULL);
    share_submit(s, s->step, s->cuda, buffer, COUNT, i, NULL);
  }
  share_ok(weir_finish(s->context));
  share_read(s, numbers, memory + 16, COUNT);
  share_expect(numbers, COUNT, 9, (uint32_t[]){9}, 1);
  share_ok(weir_buffer_release(buffer));
  share_free(s, memory);
}

static void test_wrap(void **state) {
  (void)state;
  share_run("cuda", wrapped_is_used_in_place);
}

static uint64_t transfers_of(const share *s) {
  weir_statistics statistics;
  weir_context_statistics(s->context, &statistics);
  return statistics.transfers;
}

// What is copied in is put where the wrapped memory is, also where a device that does not reach this has read it since.
static void wrapped_is_filled_in_place(share *s) {
  weir_device *simulated = s->cuda, *cuda = s->second;
  uint32_t numbers[COUNT], copy[COUNT];
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer, *out;
  share_ok(weir_buffer_create(s->context, BYTES, &out));
  share_ok(weir_buffer_wrap_cuda(cuda, memory, BYTES, &buffer));
  share_ok(weir_kernel_set_sim(s->sum, &(weir_sim_launch){.threads = 64, .us = 1}, 1));
  share_submit(s, s->set, cuda, buffer, COUNT, 5, NULL);
  share_sum(s, simulated, out, buffer, buffer, COUNT, NULL);
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = 1000 + i;
  uint64_t before = transfers_of(s);
  share_ok(weir_copy_in(buffer, 0, BYTES, numbers, NULL));
  assert_int_equal(transfers_of(s), before); // nothing is copied back
  share_sum(s, simulated, out, buffer, buffer, COUNT, NULL);
  share_ok(weir_read(out, 0, BYTES, copy));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(copy[i], 2 * numbers[i]);
  share_ok(weir_finish(s->context));
  share_read(s, copy, memory, COUNT);
  assert_memory_equal(numbers, copy, BYTES);
  share_ok(weir_buffer_release(buffer));
  share_free(s, memory);
}

static void test_wrap_filled(void **state) {
  (void)state;
  share_run("sim:h200+memory_mib=16,cuda:0", wrapped_is_filled_in_place);
}

static void refuse(weir_device *device, uint64_t pointer, uint64_t bytes, weir_status status, const char *text) {
  weir_buffer *buffer = (weir_buffer *)&buffer;
  share_refused(weir_buffer_wrap_cuda(device, pointer, bytes, &buffer), status, text);
  assert_null(buffer);
}

static void wrong_memory_is_refused(share *s) {
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  CUdeviceptr memory = share_allocate(s, COUNT), other = 0;
  weir_buffer *buffer;
  void *pinned;
  uint32_t here = 0;
  refuse(NULL, memory, BYTES, invalid, "the device is NULL");
  refuse(s->cpu, memory, BYTES, invalid, "cpu:1 is no CUDA device");
  refuse(s->cuda, memory + 8, 16, invalid, "is no multiple of 16");
  refuse(s->cuda, 0, 16, invalid, "0x0 is no memory of a CUDA device");
  refuse(s->cuda, 0xdead0000, 16, invalid, "0xdead0000 is no memory of a CUDA device");
  refuse(s->cuda, (uintptr_t)&here & ~(uintptr_t)15, 16, invalid, "is no memory of a CUDA device");
  share_ok(weir_host_allocate(s->cuda, 4096, &pinned));
  assert_int_equal((uintptr_t)pinned % 256, 0);
  refuse(s->cuda, (uintptr_t)pinned, 16, invalid, "is no memory of a CUDA device");
  weir_host_free(s->cuda, pinned);
  refuse(s->cuda, memory, 0, invalid, "at least 1 byte");
  refuse(s->cuda, memory, BYTES + 1, WEIR_ERROR_OUT_OF_RANGE, "257 bytes");
  refuse(s->cuda, memory + 16, BYTES, WEIR_ERROR_OUT_OF_RANGE, "leave their allocation of 256 bytes");
  refuse(s->cuda, memory, UINT64_MAX, WEIR_ERROR_OUT_OF_RANGE, "leave their allocation");
  refuse(s->second, memory, BYTES, invalid, "is memory of CUDA device 0, not of cuda:1");
  share_refused(weir_buffer_wrap_cuda(s->cuda, memory, BYTES, NULL), invalid, "out_buffer is NULL");
  // The allocation of the second device is good there.
  CUcontext second;
  share_good(s->driver->cuDevicePrimaryCtxRetain(&second, 1));
  share_good(s->driver->cuCtxPushCurrent(second));
  share_good(s->driver->cuMemAlloc(&other, BYTES));
  refuse(s->cuda, other, BYTES, invalid, "is memory of CUDA device 1, not of cuda:0");
  share_ok(weir_buffer_wrap_cuda(s->second, other, BYTES, &buffer));
  share_submit(s, s->set, s->second, buffer, COUNT, 1, NULL);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 2, NULL);
  share_ok(weir_finish(s->context));
  uint32_t numbers[COUNT];
  share_good(s->driver->cuMemcpyAsync((CUdeviceptr)(uintptr_t)numbers, other, BYTES, NULL));
  share_good(s->driver->cuStreamSynchronize(NULL));
  share_expect(numbers, COUNT, 1, (uint32_t[]){2}, 1);
  share_ok(weir_buffer_release(buffer));
  share_good(s->driver->cuMemFree(other));
  share_good(s->driver->cuCtxPopCurrent(NULL));
  share_good(s->driver->cuDevicePrimaryCtxRelease(1));
  share_free(s, memory);
}

static void test_wrap_refused(void **state) {
  (void)state;
  share_run("cuda:0,cuda:1,cpu:1", wrong_memory_is_refused);
}

// What the CPU writes to wrapped device memory is copied back behind the task.
static void cpu_writes_wrapped(share *s) {
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory, BYTES);
  uint32_t numbers[COUNT];
  weir_event *event;
  share_submit(s, s->set, s->cpu, buffer, COUNT, 3, &event);
  share_ok(share_await(event));
  share_read(s, numbers, memory, COUNT);
  share_expect(numbers, COUNT, 3, NULL, 0);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 4, NULL);
  share_submit(s, s->step, s->cpu, buffer, COUNT / 2, 5, NULL); // a part of it
  share_ok(weir_finish(s->context));
  share_read(s, numbers, memory, COUNT);
  share_expect(numbers, COUNT / 2, 3, (uint32_t[]){4, 5}, 2);
  share_expect(numbers + COUNT / 2, COUNT / 2, 3 + COUNT / 2, (uint32_t[]){4}, 1);
  share_free(s, memory);
}

static void test_wrap_cpu(void **state) {
  (void)state;
  share_run("cuda,cpu:2", cpu_writes_wrapped);
}

// ---------------------------------------------------------------------------------------------------------------
// Weir behind a stream

static void raise_flag(const weir_work *work) {
  atomic_store((atomic_bool *)work->user, true);
}

static void tasks_wait_for_stream(share *s) {
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory, BYTES), *other = share_buffer(s, COUNT);
  uint32_t numbers[COUNT], others[COUNT], zero[COUNT] = {0};
  atomic_bool flag = false;
  weir_event *step, *apart, *host, *before;
  share_write(s, memory, zero, COUNT);
  share_submit(s, s->set, s->cuda, other, COUNT, 1, &before);
  share_ok(share_await(before)); // submitted before: does not wait
  share_launch(s, s->own_held, memory, COUNT, 7);
  share_ok(weir_cuda_tasks_wait_for_stream(s->cuda, s->stream));
  share_submit(s, s->step, s->cuda, buffer, COUNT, 1, &step);
  share_submit(s, s->step, s->cuda, other, COUNT, 2, &apart); // has nothing to do with what is in the stream
  weir_task host_task = {.host = raise_flag, .user = &flag};
  share_ok(weir_submit(s->context, &host_task, &host));
  assert_int_equal(weir_event_wait(host, 2000000), WEIR_TIMEOUT);
  assert_int_equal(weir_event_poll(step), WEIR_PENDING);
  assert_int_equal(weir_event_poll(apart), WEIR_PENDING);
  assert_false(atomic_load(&flag));
  share_open();
  share_ok(share_await(host));
  share_ok(share_await(step));
  share_ok(share_await(apart));
  assert_true(atomic_load(&flag));
  share_ok(weir_copy_out(buffer, 0, BYTES, numbers, NULL));
  share_ok(weir_copy_out(other, 0, BYTES, others, NULL));
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(7, 1));
  share_expect(others, COUNT, 1, (uint32_t[]){2}, 1);
  share_free(s, memory);
}

static void test_wait_stream(void **state) {
  (void)state;
  share_run("cuda,cpu:2", tasks_wait_for_stream);
}

// The same with the legacy default stream, and a task of the CPU that reads what the stream wrote.
static void cpu_waits_for_default_stream(share *s) {
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory, BYTES);
  uint32_t numbers[COUNT] = {0};
  weir_event *event;
  share_write(s, memory, numbers, COUNT);
  CUstream own = s->stream;
  s->stream = NULL;
  share_launch(s, s->own_held, memory, COUNT, 7);
  s->stream = own;
  share_ok(weir_cuda_tasks_wait_for_stream(s->cuda, NULL));
  share_submit(s, s->step, s->cpu, buffer, COUNT, 1, &event);
  assert_int_equal(weir_event_wait(event, 1000000), WEIR_TIMEOUT);
  share_open();
  share_ok(share_await(event));
  share_read(s, numbers, memory, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(7, 1));
  share_free(s, memory);
}

static void test_wait_default_stream(void **state) {
  (void)state;
  share_run("cuda,cpu:2", cpu_waits_for_default_stream);
}

// ---------------------------------------------------------------------------------------------------------------
// A stream behind Weir

// The call comes back while the task is held, so the host did not wait; what is put in the stream then does.
static void stream_waits(share *s, bool by_event) {
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory, BYTES);
  uint32_t numbers[COUNT];
  weir_event *event;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 3, NULL);
  share_submit(s, s->held, s->cuda, buffer, COUNT, 1, NULL);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 2, &event);
  share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, by_event ? event : NULL));
  share_launch(s, s->own_step, memory, COUNT, 4);
  assert_int_equal(weir_event_poll(event), WEIR_PENDING);
  share_open();
  share_read(s, numbers, memory, COUNT);
  share_expect(numbers, COUNT, 3, (uint32_t[]){1, 2, 4}, 3);
  share_ok(share_await(event));
  share_ok(weir_finish(s->context));
  share_free(s, memory);
}

static void stream_waits_for_event(share *s) {
  stream_waits(s, true);
}

static void stream_waits_for_all(share *s) {
  stream_waits(s, false);
}

static void test_stream_wait(void **state) {
  (void)state;
  share_run("cuda", stream_waits_for_event);
  share_run("cuda,cpu:1", stream_waits_for_all);
}

// Nothing is waited for that the event does not stand for, and an event that is done stands for nothing.
static void event_done(share *s) {
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory, BYTES), *other = share_buffer(s, COUNT);
  uint32_t numbers[COUNT];
  weir_event *event;
  share_submit(s, s->set, s->cuda, other, COUNT, 1, NULL);
  share_submit(s, s->set, s->cuda, buffer, COUNT, 3, &event);
  share_ok(weir_event_wait(event, WEIR_FOREVER));
  share_submit(s, s->held, s->cuda, other, COUNT, 1, NULL);
  share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, event));
  share_read(s, numbers, memory, COUNT);
  share_expect(numbers, COUNT, 3, NULL, 0);
  weir_event_release(event);
  share_open();
  share_ok(weir_finish(s->context));
  share_free(s, memory);
}

static void test_stream_wait_done(void **state) {
  (void)state;
  share_run("cuda", event_done);
}

// Tasks of the CPU among those that the stream waits for: at the end, before one of the device, after one of the device.
static void stream_waits_for_cpu(share *s) {
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory, BYTES);
  uint32_t numbers[COUNT];
  for (int by_event = 0; by_event < 2; by_event++) {
    for (int last_on_cpu = 0; last_on_cpu < 2; last_on_cpu++) {
      weir_event *event;
      share_submit(s, s->set, s->cpu, buffer, COUNT, 3, NULL);
      share_submit(s, s->step, s->cuda, buffer, COUNT, 1, NULL);
      share_submit(s, s->step, s->cpu, buffer, COUNT, 2, NULL);
      share_submit(s, s->step, s->cuda, buffer, COUNT, 3, NULL);
      share_submit(s, s->step, last_on_cpu ? s->cpu : s->cuda, buffer, COUNT, 4, &event);
      share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, by_event ? event : NULL));
      share_launch(s, s->own_step, memory, COUNT, 5);
      share_read(s, numbers, memory, COUNT);
      share_expect(numbers, COUNT, 3, (uint32_t[]){1, 2, 3, 4, 5}, 5);
      share_ok(share_await(event));
      share_ok(weir_finish(s->context));
    }
  }
  share_free(s, memory);
}

static void test_stream_wait_cpu(void **state) {
  (void)state;
  share_run("cuda,cpu:2", stream_waits_for_cpu);
}

// A task of the device writes to memory of the host that is wrapped; the event is done, for the stream too, when the bytes
// are there.
static void stream_waits_for_write_back(share *s) {
  uint32_t *pinned, numbers[COUNT];
  weir_buffer *buffer;
  weir_event *event;
  CUdeviceptr memory = share_allocate(s, COUNT);
  share_ok(weir_host_allocate(s->cuda, BYTES, (void **)&pinned));
  memset(pinned, 0, BYTES);
  share_ok(weir_buffer_wrap(s->context, pinned, BYTES, &buffer));
  share_submit(s, s->set, s->cuda, buffer, COUNT, 3, NULL);
  share_submit(s, s->held, s->cuda, buffer, COUNT, 1, &event);
  share_open();
  share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, event));
  share_good(s->driver->cuMemcpyAsync(memory, (CUdeviceptr)(uintptr_t)pinned, BYTES, s->stream));
  share_read(s, numbers, memory, COUNT);
  share_expect(numbers, COUNT, 3, (uint32_t[]){1}, 1);
  share_ok(share_await(event));
  share_ok(weir_finish(s->context));
  share_ok(weir_buffer_release(buffer));
  weir_host_free(s->cuda, pinned);
  share_free(s, memory);
}

static void test_stream_wait_write_back(void **state) {
  (void)state;
  share_run("cuda", stream_waits_for_write_back);
}

// A program in turns: its stream, Weir, its stream, ... and the host waits only at the end.
static void turns(share *s) {
  enum { TURNS = 12 };
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory, BYTES);
  uint32_t numbers[COUNT], steps[4 * TURNS], count = 0;
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = 1 + i;
  share_write(s, memory, numbers, COUNT);
  for (uint32_t i = 0; i < TURNS; i++) {
    share_launch(s, s->own_step, memory, COUNT, steps[count++] = 10 * i);
    share_ok(weir_cuda_tasks_wait_for_stream(s->cuda, s->stream));
    share_submit(s, s->step, s->cuda, buffer, COUNT, steps[count++] = 10 * i + 1, NULL);
    if (s->cpu != NULL && i % 3 == 0)
      share_submit(s, s->step, s->cpu, buffer, COUNT, steps[count++] = 10 * i + 2, NULL);
    weir_event *event;
    share_submit(s, s->step, s->cuda, buffer, COUNT, steps[count++] = 10 * i + 3, &event);
    share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, i % 2 == 0 ? event : NULL));
    weir_event_release(event);
  }
  share_read(s, numbers, memory, COUNT);
  share_expect(numbers, COUNT, 1, steps, count);
  share_ok(weir_finish(s->context));
  share_free(s, memory);
}

static void test_turns(void **state) {
  (void)state;
  share_run("cuda", turns);
  share_run("cuda,cpu:2", turns);
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .flags = WEIR_CONTEXT_TRACE}, turns);
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .flags = WEIR_CONTEXT_IN_ORDER}, turns);
}

// The same program again and again, with enough tasks for graphs that are found and kept, between two uses of a stream.
static void repeated_program(share *s) {
  enum { ROUNDS = 12, CHAINS = 6 };
  CUdeviceptr memory = share_allocate(s, COUNT);
  weir_buffer *buffer = wrap(s, memory, BYTES), *scratch = share_buffer(s, COUNT), *total = share_buffer(s, COUNT);
  weir_buffer *nothing = share_buffer(s, COUNT);
  uint32_t numbers[COUNT], wanted[COUNT], zero[COUNT] = {0};
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = wanted[i] = i;
  share_write(s, memory, numbers, COUNT);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    share_launch(s, s->own_step, memory, COUNT, round);
    for (uint32_t i = 0; i < COUNT; i++) wanted[i] = stepped(wanted[i], round);
    share_ok(weir_cuda_tasks_wait_for_stream(s->cuda, s->stream));
    share_ok(weir_copy_in(nothing, 0, BYTES, zero, NULL));
    for (uint32_t chain = 0; chain < CHAINS; chain++) {
      share_submit(s, s->set, s->cuda, scratch, COUNT, chain, NULL); // renamed, so that chains overlap
      share_submit(s, s->step, s->cuda, scratch, COUNT, 1, NULL);
      share_submit(s, s->step, s->cuda, scratch, COUNT, 2, NULL);
      share_sum(s, s->cuda, total, scratch, buffer, COUNT, NULL);
      share_sum(s, s->cuda, buffer, total, nothing, COUNT, NULL);
      for (uint32_t i = 0; i < COUNT; i++) wanted[i] += stepped(stepped(chain + i, 1), 2);
    }
    share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, NULL));
    if (round % 5 == 4) share_ok(weir_finish(s->context));
  }
  share_read(s, numbers, memory, COUNT);
  assert_memory_equal(numbers, wanted, BYTES);
  share_ok(weir_finish(s->context));
  share_free(s, memory);
}

static void test_repeated_program(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda", .window = 512}, repeated_program);
  share_run_with(&(weir_context_options){.devices = "cuda", .window = 32}, repeated_program);
}

// ---------------------------------------------------------------------------------------------------------------
// What is refused

static weir_status in_callback;

static void wait_in_callback(void *user, weir_status status) {
  const share *s = user;
  (void)status;
  in_callback = weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, NULL);
}

static void wrong_calls_are_refused(share *s) {
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  weir_context *other;
  weir_event *foreign;
  void *memory;
  share_refused(weir_cuda_tasks_wait_for_stream(NULL, s->stream), invalid, "the device is NULL");
  share_refused(weir_cuda_tasks_wait_for_stream(s->cpu, s->stream), invalid, "cpu:1 is no CUDA device");
  share_refused(weir_cuda_stream_waits_for_tasks(NULL, s->stream, NULL), invalid, "the device is NULL");
  share_refused(weir_cuda_stream_waits_for_tasks(s->cpu, s->stream, NULL), invalid, "cpu:1 is no CUDA device");
  share_refused(weir_host_allocate(s->cuda, 0, &memory), invalid, "0 bytes");
  assert_null(memory);
  share_refused(weir_host_allocate(s->cuda, 16, NULL), invalid, "out_memory is NULL");
  weir_host_free(s->cuda, NULL);
  share_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &other));
  atomic_bool flag = false;
  weir_task task = {.host = raise_flag, .user = &flag};
  share_ok(weir_submit(other, &task, &foreign));
  share_refused(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, foreign), invalid, "another context");
  weir_event_release(foreign);
  weir_context_release(other);
  weir_event *event;
  share_ok(weir_submit(s->context, &task, &event));
  in_callback = WEIR_OK;
  share_ok(weir_event_on_done(event, wait_in_callback, s));
  share_ok(weir_finish(s->context));
  weir_context_cancel(s->context);
  while (weir_event_poll(event) == WEIR_PENDING) {
  }
  weir_event_release(event);
}

// Calls of the driver fail: the call of Weir's that made them says so, or weir_finish does, or the order was kept otherwise.
static void driver_fails(share *s) {
  static const char *const CALLS[] = {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuPointerGetAttribute",
                                      "cuMemGetAddressRange"};
  CUdeviceptr memory = share_allocate(s, COUNT);
  uint32_t numbers[COUNT] = {0};
  for (size_t call = 0; call < sizeof CALLS / sizeof CALLS[0]; call++) {
    for (uint64_t n = 1; n <= 4; n++) {
      weir_buffer *buffer;
      for (uint32_t i = 0; i < COUNT; i++) numbers[i] = i;
      share_write(s, memory, numbers, COUNT);
      share_launch(s, s->own_step, memory, COUNT, 1);
      stub_fail_nth(CALLS[call], n, CUDA_ERROR_OPERATING_SYSTEM);
      if (weir_buffer_wrap_cuda(s->cuda, memory, BYTES, &buffer) != WEIR_OK) {
        assert_null(buffer);
        assert_true(stub_failed());
        share_ok(weir_buffer_wrap_cuda(s->cuda, memory, BYTES, &buffer));
      }
      if (weir_cuda_tasks_wait_for_stream(s->cuda, s->stream) != WEIR_OK) {
        assert_true(stub_failed());
        share_ok(weir_cuda_tasks_wait_for_stream(s->cuda, s->stream));
      }
      share_submit(s, s->step, s->cuda, buffer, COUNT, 2, NULL);
      share_submit(s, s->step, s->cuda, buffer, COUNT, 3, NULL);
      if (weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, NULL) != WEIR_OK) {
        assert_true(stub_failed());
        share_ok(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, NULL));
      }
      share_launch(s, s->own_step, memory, COUNT, 4);
      weir_status status = weir_finish(s->context);
      bool failed = stub_failed();
      stub_fail_nth(CALLS[call], 0, 0);
      share_read(s, numbers, memory, COUNT);
      if (status == WEIR_OK)
        share_expect(numbers, COUNT, 0, (uint32_t[]){1, 2, 3, 4}, 4);
      else
        assert_true(failed);
      share_ok(weir_buffer_release(buffer));
    }
  }
  share_free(s, memory);
}

// A wait for a stream that the device cannot keep track of: the wait is reported as failed, but tasks still come after it.
static void no_event_for_a_wait(share *s) {
  CUdeviceptr memory = share_allocate(s, COUNT);
  uint32_t numbers[COUNT] = {0};
  weir_context *own;
  weir_event *event;
  weir_buffer *buffer;
  stub_fail_nth("cuEventCreate", 1, CUDA_ERROR_OUT_OF_MEMORY); // of those that are made early
  share_ok(weir_context_create(&(weir_context_options){.devices = "cuda", .seed = 1}, &own));
  weir_device *device = weir_context_device(own, 0);
  share_ok(weir_buffer_wrap_cuda(device, memory, BYTES, &buffer));
  share_write(s, memory, numbers, COUNT);
  share_launch(s, s->own_held, memory, COUNT, 7);
  stub_fail_nth("cuEventCreate", 2, CUDA_ERROR_OUT_OF_MEMORY); // behind the one in the stream
  share_ok(weir_cuda_tasks_wait_for_stream(device, s->stream));
  share_ok(weir_copy_out(buffer, 0, BYTES, numbers, &event));
  assert_int_equal(weir_event_wait(event, 2000000), WEIR_TIMEOUT);
  share_open();
  share_ok(share_await(event));
  assert_non_null(stub_failed());
  share_refused(weir_finish(own), WEIR_ERROR_OUT_OF_MEMORY, "no memory to keep track of it");
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(0, 7));
  weir_context_release(own);
  share_free(s, memory);
}

static void test_no_event(void **state) {
  (void)state;
  share_run("cuda", no_event_for_a_wait);
}

static void test_driver_fails(void **state) {
  (void)state;
  share_run("cuda", driver_fails);
}

static void test_refused(void **state) {
  (void)state;
  share_run("cuda,cpu:1", wrong_calls_are_refused);
  assert_int_equal(in_callback, WEIR_ERROR_INVALID_ARGUMENT); // of the last context, which is released
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrap),
      cmocka_unit_test(test_wrap_filled),
      cmocka_unit_test(test_wrap_refused),
      cmocka_unit_test(test_wrap_cpu),
      cmocka_unit_test(test_wait_stream),
      cmocka_unit_test(test_wait_default_stream),
      cmocka_unit_test(test_stream_wait),
      cmocka_unit_test(test_stream_wait_done),
      cmocka_unit_test(test_stream_wait_cpu),
      cmocka_unit_test(test_stream_wait_write_back),
      cmocka_unit_test(test_turns),
      cmocka_unit_test(test_repeated_program),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_driver_fails),
      cmocka_unit_test(test_no_event),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
