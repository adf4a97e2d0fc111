// SPDX-License-Identifier: Apache-2.0
//
// Collectives: what they compute, for all element types and operators, what they refuse, and who has to wait.
#include <stdio.h>
#include <string.h>

#include "nccl_case.h"

enum { COUNT = 64, BYTES = COUNT * 4 };

static void reduce_to_all(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_buffer *buffers[2];
  weir_event *events[2];
  nccl_buffers(s, COUNT, 100, 7, buffers);
  share_ok(weir_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, events));
  for (int i = 0; i < 2; i++) share_ok(share_await(events[i]));
  for (int i = 0; i < 2; i++) nccl_expect(buffers[i], COUNT, 107, 2);
  // A part of the buffers; the rest stays.
  share_ok(weir_nccl_all_reduce(nccl, buffers, 16, 16, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL));
  uint32_t numbers[COUNT];
  share_ok(weir_read(buffers[1], 0, sizeof numbers, numbers));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], (107 + 2 * i) * (i >= 4 && i < 8 ? 2 : 1));
  assert_int_equal(nccl_stub_done(), 2);
  share_ok(weir_nccl_release(nccl));
}

static void reduce_to_one(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_buffer *buffers[2];
  nccl_buffers(s, COUNT, 100, 7, buffers);
  share_ok(weir_nccl_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_MAX, WEIR_REDUCE_U32, 1, NULL));
  nccl_expect(buffers[1], COUNT, 100, 1);
  nccl_expect(buffers[0], COUNT, 100, 1);
  share_submit(s, s->set, s->second, buffers[1], COUNT, 7, NULL);
  share_ok(weir_nccl_reduce(nccl, buffers, 0, BYTES, WEIR_REDUCE_MIN, WEIR_REDUCE_U32, 0, NULL));
  nccl_expect(buffers[0], COUNT, 7, 1);
  share_ok(weir_nccl_release(nccl));
}

static void broadcast(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_buffer *buffers[2];
  nccl_buffers(s, COUNT, 100, 7, buffers);
  share_ok(weir_nccl_broadcast(nccl, buffers, 0, WEIR_WHOLE, 1, NULL));
  nccl_expect(buffers[0], COUNT, 7, 1);
  share_submit(s, s->step, s->cuda, buffers[0], COUNT, 1, NULL);
  share_ok(weir_nccl_broadcast(nccl, buffers, 4, BYTES - 4, 0, NULL));
  uint32_t numbers[COUNT];
  share_ok(weir_read(buffers[1], 0, sizeof numbers, numbers));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], i == 0 ? 7 : stepped(7 + i, 1));
  share_ok(weir_nccl_release(nccl));
}

static void test_results(void **state) {
  (void)state;
  nccl_run(NULL, reduce_to_all);
  nccl_run(NULL, reduce_to_one);
  nccl_run(NULL, broadcast);
}

// a op b, where a is 6 and b is 3.
static double combined(weir_reduce_operation operation) {
  switch (operation) {
  case WEIR_REDUCE_SUM:
    return 9;
  case WEIR_REDUCE_PRODUCT:
    return 18;
  default:
    return operation == WEIR_REDUCE_MIN ? 3 : 6;
  }
}

static uint64_t put_number(void *memory, weir_reduce_type type, double value) {
  switch (type) {
  case WEIR_REDUCE_F32:
    memcpy(memory, &(float){(float)value}, 4);
    return 4;
  case WEIR_REDUCE_F64:
    memcpy(memory, &value, 8);
    return 8;
  case WEIR_REDUCE_I32:
  case WEIR_REDUCE_U32:
    memcpy(memory, &(int32_t){(int32_t)value}, 4);
    return 4;
  default:
    memcpy(memory, &(int64_t){(int64_t)value}, 8);
    return 8;
  }
}

static void know_all_types(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_buffer *buffers[2] = {share_buffer(s, 4), share_buffer(s, 4)};
  for (int type = WEIR_REDUCE_F32; type <= WEIR_REDUCE_U64; type++) {
    for (int operation = WEIR_REDUCE_SUM; operation <= WEIR_REDUCE_MAX; operation++) {
      unsigned char a[8], b[8], got[8], want[8];
      uint64_t bytes = put_number(a, (weir_reduce_type)type, 6);
      put_number(b, (weir_reduce_type)type, 3);
      put_number(want, (weir_reduce_type)type, combined((weir_reduce_operation)operation));
      share_ok(weir_copy_in(buffers[0], 8, bytes, a, NULL));
      share_ok(weir_copy_in(buffers[1], 8, bytes, b, NULL));
      share_ok(weir_nccl_all_reduce(nccl, buffers, 8, bytes, (weir_reduce_operation)operation, (weir_reduce_type)type,
                                    NULL));
      for (int i = 0; i < 2; i++) {
        share_ok(weir_read(buffers[i], 8, bytes, got));
        assert_memory_equal(got, want, bytes);
      }
    }
  }
  share_ok(weir_nccl_release(nccl));
}

static void test_types(void **state) {
  (void)state;
  nccl_run(NULL, know_all_types);
}

// ---------------------------------------------------------------------------------------------------------------
// Refusals

static weir_status sum(weir_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes) {
  weir_event *events[2] = {(void *)&events, (void *)&events};
  weir_status status = weir_nccl_all_reduce(nccl, buffers, offset, bytes, WEIR_REDUCE_SUM, WEIR_REDUCE_U32,
                                            nccl != NULL ? events : NULL);
  if (status != WEIR_OK && nccl != NULL) assert_true(events[0] == NULL && events[1] == NULL);
  return status;
}

static void call_in_task(const weir_work *work) {
  weir_nccl *nccl = work->user;
  share_refused(weir_nccl_broadcast(nccl, NULL, 0, 1, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "task");
  share_refused(weir_nccl_release(nccl), WEIR_ERROR_INVALID_ARGUMENT, "task");
}

static void refuse(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_buffer *buffers[2], *longer = share_buffer(s, COUNT + 1), *gone = share_buffer(s, COUNT);
  nccl_buffers(s, COUNT, 1, 2, buffers);
  share_ok(weir_buffer_release(gone));
  share_refused(sum(NULL, buffers, 0, BYTES), WEIR_ERROR_INVALID_ARGUMENT, "communicator is NULL");
  share_refused(sum(nccl, NULL, 0, BYTES), WEIR_ERROR_INVALID_ARGUMENT, "buffers are NULL");
  share_refused(sum(nccl, buffers, 0, 0), WEIR_ERROR_INVALID_ARGUMENT, "no bytes");
  share_refused(sum(nccl, buffers, 0, 6), WEIR_ERROR_INVALID_ARGUMENT, "no elements of 4 bytes");
  share_refused(sum(nccl, buffers, 2, 4), WEIR_ERROR_INVALID_ARGUMENT, "no elements of 4 bytes");
  share_refused(sum(nccl, buffers, 4, BYTES), WEIR_ERROR_OUT_OF_RANGE, "buffer 0");
  share_refused(sum(nccl, buffers, BYTES, WEIR_WHOLE), WEIR_ERROR_OUT_OF_RANGE, "no byte 256: it has 256 bytes");
  share_refused(sum(nccl, (weir_buffer *[]){buffers[0], longer}, 0, WEIR_WHOLE), WEIR_ERROR_INVALID_ARGUMENT,
                "has 260 bytes, and buffer 0 has 256");
  share_refused(sum(nccl, (weir_buffer *[]){buffers[0], buffers[0]}, 0, BYTES), WEIR_ERROR_INVALID_ARGUMENT,
                "also buffer 0");
  share_refused(sum(nccl, (weir_buffer *[]){buffers[0], NULL}, 0, BYTES), WEIR_ERROR_INVALID_ARGUMENT, "buffer 1");
  share_refused(sum(nccl, (weir_buffer *[]){buffers[0], gone}, 0, BYTES), WEIR_ERROR_RELEASED, "buffer 1");
  share_refused(weir_nccl_broadcast(nccl, buffers, 0, BYTES, 2, NULL), WEIR_ERROR_INVALID_ARGUMENT, "no device 2");
  share_refused(weir_nccl_all_reduce(nccl, buffers, 0, BYTES, WEIR_REDUCE_KERNEL, WEIR_REDUCE_U32, NULL),
                WEIR_ERROR_INVALID_ARGUMENT, "operation 0");
  share_refused(weir_nccl_all_reduce(nccl, buffers, 0, BYTES, WEIR_REDUCE_SUM, (weir_reduce_type)6, NULL),
                WEIR_ERROR_INVALID_ARGUMENT, "type 6");
  share_ok(weir_submit(s->context, &(weir_task){.host = call_in_task, .user = nccl}, NULL));
  share_ok(weir_finish(s->context));
  assert_int_equal(nccl_stub_done(), 0);
  share_ok(weir_nccl_release(nccl));
}

static void refuse_devices(share *s) {
  weir_nccl *nccl = (void *)s;
  weir_context *other;
  weir_device *twice[] = {s->cuda, s->cuda}, *cpu[] = {s->cuda, s->cpu}, *none[] = {s->cuda, NULL};
  share_refused(weir_nccl_create(NULL, NULL, &nccl), WEIR_ERROR_INVALID_ARGUMENT, "context is NULL");
  assert_null(nccl);
  share_refused(weir_nccl_create(s->context, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_nccl");
  share_refused(weir_nccl_create(s->context, &(weir_nccl_options){.devices = twice, .device_count = 2}, &nccl),
                WEIR_ERROR_INVALID_ARGUMENT, "cuda:0 is named twice");
  share_refused(weir_nccl_create(s->context, &(weir_nccl_options){.devices = cpu, .device_count = 2}, &nccl),
                WEIR_ERROR_INVALID_ARGUMENT, "is no CUDA device");
  share_refused(weir_nccl_create(s->context, &(weir_nccl_options){.devices = none, .device_count = 2}, &nccl),
                WEIR_ERROR_INVALID_ARGUMENT, "a device is NULL");
  share_refused(weir_nccl_create(s->context, &(weir_nccl_options){.devices = twice}, &nccl),
                WEIR_ERROR_INVALID_ARGUMENT, "without");
  share_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1,cuda:1"}, &other));
  weir_device *foreign[] = {s->cuda, weir_context_device(other, 1)};
  share_refused(weir_nccl_create(s->context, &(weir_nccl_options){.devices = foreign, .device_count = 2}, &nccl),
                WEIR_ERROR_INVALID_ARGUMENT, "another context");
  share_ok(weir_context_release(other));
  share_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &other));
  share_refused(weir_nccl_create(other, NULL, &nccl), WEIR_ERROR_UNAVAILABLE, "no CUDA device");
  share_ok(weir_context_release(other));
  static const uint32_t FLAGS[] = {WEIR_CONTEXT_IN_ORDER, WEIR_CONTEXT_CHECK};
  for (int i = 0; i < 2; i++) {
    share_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1,cuda:0,cuda:1", .flags = FLAGS[i]}, &other));
    share_refused(weir_nccl_create(other, NULL, &nccl), WEIR_ERROR_UNAVAILABLE, "one task at a time");
    share_ok(weir_context_release(other));
  }
  share_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1,cuda:0,cuda:1", .window = 8}, &other));
  share_refused(weir_nccl_create(other, NULL, &nccl), WEIR_ERROR_INVALID_ARGUMENT, "window of 8 slots");
  share_ok(weir_context_release(other));
  nccl_stub_fail_nth("ncclCommInitAll", 1, 2);
  share_refused(weir_nccl_create(s->context, NULL, &nccl), WEIR_ERROR_UNAVAILABLE,
                "no communicator of 2 devices by NCCL 22703: system error: as the test wanted");
  assert_null(nccl);
}

static void test_refusals(void **state) {
  (void)state;
  nccl_run(NULL, refuse);
  nccl_run(NULL, refuse_devices);
}

// ---------------------------------------------------------------------------------------------------------------
// Communicators

// Of one device, with the devices the other way round, and two with devices in common.
static void have_several(share *s) {
  weir_device *one[] = {s->second}, *turned[] = {s->second, s->cuda};
  weir_nccl *both = nccl_make(s), *alone, *other;
  weir_buffer *buffers[2];
  share_ok(weir_nccl_create(s->context, &(weir_nccl_options){.devices = one, .device_count = 1}, &alone));
  share_ok(weir_nccl_create(s->context, &(weir_nccl_options){.devices = turned, .device_count = 2}, &other));
  nccl_buffers(s, COUNT, 100, 7, buffers);
  share_ok(weir_nccl_all_reduce(both, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL));
  share_ok(weir_nccl_all_reduce(other, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL));
  share_ok(weir_nccl_all_reduce(alone, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL));
  share_ok(weir_nccl_release(other));
  nccl_expect(buffers[0], COUNT, 214, 4);
  nccl_expect(buffers[1], COUNT, 214, 4);
  share_ok(weir_nccl_release(alone));
  // What is left when the context is released is released then.
  share_ok(weir_nccl_all_reduce(both, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL));
  share_ok(weir_context_release(s->context));
  s->context = NULL;
  assert_int_equal(nccl_stub_done(), 4);
}

static void test_communicators(void **state) {
  (void)state;
  nccl_run(NULL, have_several);
  share_ok(weir_nccl_release(NULL));
}

// NCCL's first call on each device may wait in the host for the others.
static void connect_late(share *s) {
  nccl_stub_connect(true);
  weir_nccl *nccl = nccl_make(s);
  weir_buffer *buffers[2];
  nccl_buffers(s, COUNT, 100, 7, buffers);
  share_ok(weir_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL));
  share_submit(s, s->step, s->cuda, buffers[0], COUNT, 1, NULL);
  share_ok(weir_nccl_broadcast(nccl, buffers, 0, WEIR_WHOLE, 0, NULL));
  uint32_t numbers[COUNT];
  share_ok(weir_read(buffers[1], 0, sizeof numbers, numbers));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(107 + 2 * i, 1));
  share_ok(weir_nccl_release(nccl));
}

static void test_connection(void **state) {
  (void)state;
  nccl_run(NULL, connect_late);
  nccl_run(&(weir_context_options){.queues = 1}, connect_late);
}

// Memory of the caller's: of the device, and of the host, where results are copied back.
static void work_on_wrapped_memory(share *s) {
  weir_nccl *nccl = nccl_make(s);
  CUdeviceptr memory = share_allocate(s, COUNT);
  uint32_t host[COUNT], numbers[COUNT];
  weir_buffer *buffers[2];
  share_ok(weir_buffer_wrap_cuda(s->cuda, memory, BYTES, &buffers[0]));
  share_ok(weir_buffer_wrap(s->context, host, BYTES, &buffers[1]));
  share_submit(s, s->set, s->cuda, buffers[0], COUNT, 100, NULL);
  for (uint32_t i = 0; i < COUNT; i++) host[i] = 7;
  weir_event *events[2];
  share_ok(weir_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, events));
  for (int i = 0; i < 2; i++) share_ok(share_await(events[i]));
  share_read(s, numbers, memory, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_int_equal(numbers[i], 107 + i);
    assert_int_equal(host[i], 107 + i);
  }
  share_ok(weir_finish(s->context));
  for (int i = 0; i < 2; i++) share_ok(weir_buffer_release(buffers[i]));
  share_ok(weir_nccl_release(nccl));
  share_free(s, memory);
}

static void test_wrapped_memory(void **state) {
  (void)state;
  nccl_run(NULL, work_on_wrapped_memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results),       cmocka_unit_test(test_types),      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_communicators), cmocka_unit_test(test_connection), cmocka_unit_test(test_wrapped_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
