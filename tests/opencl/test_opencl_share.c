// SPDX-License-Identifier: Apache-2.0
//
// A cl_context, queues and buffers of the caller's, used together with Weir.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "caller.h"

static void refused_registrations(void **state) {
  (void)state;
  char small[8], text[32];
  weir_opencl_handles handles = handles_of_mine();
  caller_expect_refusal(weir_opencl_register(NULL, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT, "handles are NULL");
  caller_expect_refusal(weir_opencl_register(&handles, NULL, 32), WEIR_ERROR_INVALID_ARGUMENT, "out_name is NULL");
  caller_expect_refusal(weir_opencl_register(&handles, small, sizeof small), WEIR_ERROR_INVALID_ARGUMENT, "no room");
  handles.context = NULL;
  caller_expect_refusal(weir_opencl_register(&handles, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT,
                        "cl_context is NULL");
  handles = handles_of_mine();
  handles.device = NULL;
  caller_expect_refusal(weir_opencl_register(&handles, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT, "_id is NULL");
  handles = handles_of_mine();
  handles.queue_count = 0;
  caller_expect_refusal(weir_opencl_register(&handles, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT,
                        "without a count");
  handles.queue_count = WEIR_OPENCL_MOST_QUEUES + 1;
  caller_expect_refusal(weir_opencl_register(&handles, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT, "more queues");
  cl_command_queue foreign = make_queue(mine.other, 0);
  cl_command_queue unordered = make_queue(mine.context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  void *queues[] = {mine.queues[0], foreign};
  handles.queues = queues;
  handles.queue_count = 2;
  caller_expect_refusal(weir_opencl_register(&handles, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT,
                        "queue 1 is of another cl_context");
  queues[1] = unordered;
  caller_expect_refusal(weir_opencl_register(&handles, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT,
                        "queue 1 is out of order");
  queues[1] = mine.queues[0];
  caller_expect_refusal(weir_opencl_register(&handles, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT,
                        "queue 1 is listed twice");
  queues[1] = NULL;
  caller_expect_refusal(weir_opencl_register(&handles, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT,
                        "queue 1: CL_INVALID_COMMAND_QUEUE");
  clReleaseCommandQueue(foreign);
  clReleaseCommandQueue(unordered);
  caller_expect_refusal(weir_opencl_unregister("opencl:shared77"), WEIR_ERROR_INVALID_ARGUMENT, "no 'opencl:shared77'");
  caller_expect_refusal(weir_opencl_unregister(NULL), WEIR_ERROR_INVALID_ARGUMENT, "no ''");
  caller_expect_refusal(weir_context_create(&(weir_context_options){.devices = "opencl:shared77"}, &context),
                        WEIR_ERROR_INVALID_ARGUMENT, "opencl:shared77: no such device is registered");
}

// Every device of the cl_context may be registered, and no other.
static void devices_of_the_context(void **state) {
  (void)state;
  char text[32];
  cl_device_id parts[2] = {NULL};
  const intptr_t halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_uint count = 0;
  assert_int_equal(clCreateSubDevices(mine.device, halves, 2, parts, &count), CL_SUCCESS);
  const weir_opencl_handles handles = {.context = mine.context, .device = parts[0]};
  caller_expect_refusal(weir_opencl_register(&handles, text, sizeof text), WEIR_ERROR_INVALID_ARGUMENT,
                        "none of the cl_context's");
}

static void names_and_references(void **state) {
  (void)state;
  weir_context *second;
  const weir_opencl_handles handles = {.context = mine.context, .device = mine.device};
  assert_int_equal(weir_opencl_register(&handles, name, sizeof name), WEIR_OK);
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = name, .queues = 3}, &context), WEIR_OK);
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = name}, &second), WEIR_OK);
  assert_int_equal(weir_opencl_unregister(name), WEIR_OK);
  caller_expect_refusal(weir_opencl_unregister(name), WEIR_ERROR_INVALID_ARGUMENT, "no 'opencl:shared");
  device = weir_context_device(context, 0);
  assert_string_equal(weir_device_information(device)->name, name);
  assert_int_equal(weir_device_information(device)->queues, 3); // Weir's own
  weir_context_release(second);
  // The caller's reference may go before Weir's.
  cl_mem memory = make_zeros();
  weir_buffer *buffer;
  uint32_t words[WORDS];
  assert_int_equal(weir_buffer_wrap_opencl(device, memory, 0, BYTES, &buffer), WEIR_OK);
  clReleaseMemObject(memory);
  assert_int_equal(weir_fill(buffer, 0, BYTES, 6, NULL), WEIR_OK);
  assert_int_equal(weir_copy_out(buffer, 0, BYTES, words, NULL), WEIR_OK);
  weir_buffer_release(buffer);
  assert_int_equal(weir_finish(context), WEIR_OK);
  for (uint32_t i = 0; i < WORDS; i++) assert_int_equal(words[i], 6);
  weir_context_release(context);
}

static void refused_memory(void **state) {
  (void)state;
  weir_buffer *buffer;
  cl_mem memory = make_memory(mine.context, CL_MEM_READ_WRITE, BYTES);
  cl_mem foreign = make_memory(mine.other, CL_MEM_READ_WRITE, BYTES);
  cl_mem constant = make_memory(mine.context, CL_MEM_READ_ONLY, BYTES);
  cl_mem hidden = make_memory(mine.context, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, BYTES);
  caller_expect_refusal(weir_buffer_wrap_opencl(device, memory, 0, BYTES, NULL), WEIR_ERROR_INVALID_ARGUMENT,
                        "out_buffer");
  caller_expect_refusal(weir_buffer_wrap_opencl(NULL, memory, 0, BYTES, &buffer), WEIR_ERROR_INVALID_ARGUMENT,
                        "the device is NULL");
  caller_expect_refusal(weir_buffer_wrap_opencl(weir_context_device(context, 1), memory, 0, BYTES, &buffer),
                        WEIR_ERROR_INVALID_ARGUMENT, "cpu:1 is no OpenCL device");
  caller_expect_refusal(weir_buffer_wrap_opencl(device, NULL, 0, BYTES, &buffer), WEIR_ERROR_INVALID_ARGUMENT,
                        "the cl_mem is NULL");
  caller_expect_refusal(weir_buffer_wrap_opencl(device, foreign, 0, BYTES, &buffer), WEIR_ERROR_INVALID_ARGUMENT,
                        "of another cl_context");
  caller_expect_refusal(weir_buffer_wrap_opencl(device, constant, 0, BYTES, &buffer), WEIR_ERROR_INVALID_ARGUMENT,
                        "a flag that keeps kernels or the host");
  caller_expect_refusal(weir_buffer_wrap_opencl(device, hidden, 0, BYTES, &buffer), WEIR_ERROR_INVALID_ARGUMENT,
                        "a flag that keeps kernels or the host");
  caller_expect_refusal(weir_buffer_wrap_opencl(device, memory, STEP, BYTES, &buffer), WEIR_ERROR_OUT_OF_RANGE,
                        "leave the cl_mem, which has 4096");
  caller_expect_refusal(weir_buffer_wrap_opencl(device, memory, 4, 4, &buffer), WEIR_ERROR_INVALID_ARGUMENT,
                        "byte 4 of the cl_mem is no multiple of 128");
  caller_expect_refusal(weir_buffer_wrap_opencl(device, memory, 0, 0, &buffer), WEIR_ERROR_INVALID_ARGUMENT, "");
  weir_context *plain;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl"}, &plain), WEIR_OK);
  caller_expect_refusal(weir_buffer_wrap_opencl(weir_context_device(plain, 0), memory, 0, BYTES, &buffer),
                        WEIR_ERROR_INVALID_ARGUMENT, "opencl:0 has a cl_context of Weir's");
  void *event;
  caller_expect_refusal(weir_opencl_create_event(weir_context_device(plain, 0), NULL, &event),
                        WEIR_ERROR_INVALID_ARGUMENT, "opencl:0 has a cl_context of Weir's");
  weir_context_release(plain);
  clReleaseMemObject(memory);
  clReleaseMemObject(foreign);
  clReleaseMemObject(constant);
  clReleaseMemObject(hidden);
}

// Parts of a cl_mem, one of which is a sub-buffer; what another device writes to them comes back.
static void parts_of_memory(void **state) {
  (void)state;
  cl_int result;
  uint32_t words[WORDS], three[32];
  weir_buffer *first, *second, *inner;
  cl_mem memory = make_zeros();
  const cl_buffer_region region = {STEP, 4 * STEP};
  cl_mem part = clCreateSubBuffer(memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &result);
  assert_non_null(part);
  assert_int_equal(weir_buffer_wrap_opencl(device, memory, 0, STEP, &first), WEIR_OK);
  assert_int_equal(weir_buffer_wrap_opencl(device, memory, 8 * STEP, BYTES - 8 * STEP, &second), WEIR_OK);
  assert_int_equal(weir_buffer_wrap_opencl(device, part, 0, 4 * STEP, &inner), WEIR_OK);
  weir_event_release(add_words(first, 0, STEP / 4, 1));
  weir_event_release(add_words(second, STEP, STEP / 4, 2));
  weir_event_release(add_words(inner, 2 * STEP, STEP / 4, 3));
  weir_event_release(add_words(inner, 0, STEP, 10));
  for (int i = 0; i < 32; i++) three[i] = 7;
  assert_int_equal(weir_copy_in(second, 4, 12, three, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(clEnqueueReadBuffer(mine.own, memory, CL_TRUE, 0, BYTES, words, 0, NULL, NULL), CL_SUCCESS);
  for (uint32_t i = 0; i < WORDS; i++) {
    uint32_t at = i * 4, wanted = 0;
    if (at < STEP) wanted = 1;
    if (at >= STEP && at < 5 * STEP) wanted = at >= 3 * STEP && at < 4 * STEP ? 13 : 10;
    if (at >= 9 * STEP && at < 10 * STEP) wanted = 2;
    if (at > 8 * STEP && at <= 8 * STEP + 12) wanted = 7;
    if (words[i] != wanted) fail_msg("word %u: %u, not %u", i, words[i], wanted);
  }
  weir_buffer_release(first);
  weir_buffer_release(second);
  weir_buffer_release(inner);
  clReleaseMemObject(part);
  clReleaseMemObject(memory);
}

static void other_devices_write_back(void **state) {
  (void)state;
  weir_buffer *buffer;
  weir_event *event;
  cl_mem memory = make_zeros();
  assert_int_equal(weir_buffer_wrap_opencl(device, memory, 0, BYTES, &buffer), WEIR_OK);
  weir_event_release(add_words(buffer, 0, WORDS, 1));
  weir_arg args[] = {weir_updates(buffer)};
  const weir_task task = {.host = add_on_host, .args = args, .arg_count = 1};
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
  weir_event_release(event);
  expect_words(memory, 101);
  weir_buffer_release(buffer);
  clReleaseMemObject(memory);
}

static void traced_contexts(void **state) {
  (void)state;
  void *queue = mine.own; // keeps no times
  char text[32];
  weir_context *traced;
  const weir_opencl_handles handles = {
      .context = mine.context, .device = mine.device, .queues = &queue, .queue_count = 1};
  assert_int_equal(weir_opencl_register(&handles, text, sizeof text), WEIR_OK);
  weir_context_options options = {.devices = text, .flags = WEIR_CONTEXT_TRACE};
  caller_expect_refusal(weir_context_create(&options, &traced), WEIR_ERROR_INVALID_ARGUMENT,
                        "CL_QUEUE_PROFILING_ENABLE");
  options.flags = 0;
  options.queues = 7;
  assert_int_equal(weir_context_create(&options, &traced), WEIR_OK);
  assert_int_equal(weir_device_information(weir_context_device(traced, 0))->queues, 1);
  weir_context_release(traced);
  assert_int_equal(weir_opencl_unregister(text), WEIR_OK);
  caller_open_weir("", WEIR_CONTEXT_TRACE);
  assert_int_equal(weir_device_information(device)->queues, 2);
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
  assert_int_equal(weir_fill(buffer, 0, BYTES, 0, NULL), WEIR_OK);
  weir_event_release(add_words(buffer, 0, WORDS, 1));
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_buffer_release(buffer);
  caller_close_context(NULL);
}

// Every call that making and using these takes fails once: nothing is left.
static void refused_calls(void **state) {
  (void)state;
  static const char *const functions[] = {
      "clGetContextInfo",  "clGetCommandQueueInfo", "clRetainContext", "clRetainCommandQueue", "clGetMemObjectInfo",
      "clRetainMemObject", "clCreateUserEvent",     "clRetainEvent",   "clCreateSubBuffer",    "clSetEventCallback"};
  cl_mem memory = make_zeros();
  cl_event done;
  add_by_caller(memory, 0, NULL, &done);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    int64_t before = fault_loader_live();
    bool came = true;
    for (uint64_t n = 1; n < 40 && came; n++) {
      const weir_opencl_handles handles = handles_of_mine();
      weir_buffer *buffer = NULL;
      void *event = NULL;
      char text[32];
      fault_loader_fail(functions[i], n, -6);
      context = NULL;
      weir_status status = weir_opencl_register(&handles, text, sizeof text);
      bool registered = status == WEIR_OK;
      if (registered) status = weir_context_create(&(weir_context_options){.devices = text}, &context);
      if (status == WEIR_OK)
        status = weir_buffer_wrap_opencl(weir_context_device(context, 0), memory, STEP, STEP, &buffer);
      if (status == WEIR_OK) status = weir_opencl_wait_event(weir_context_device(context, 0), done);
      if (status == WEIR_OK) status = weir_fill(buffer, 0, STEP, 0, NULL);
      if (status == WEIR_OK) status = weir_opencl_create_event(weir_context_device(context, 0), NULL, &event);
      if (context != NULL) weir_finish(context);
      if (event != NULL) clReleaseEvent(event);
      if (buffer != NULL) weir_buffer_release(buffer);
      weir_context_release(context);
      came = fault_loader_failed();
      fault_loader_fail("", 0, 0);
      if (registered) assert_int_equal(weir_opencl_unregister(text), WEIR_OK);
      if (status != WEIR_OK && !came) fail_msg("%s", weir_last_error());
      if (fault_loader_live() != before)
        fail_msg("call %llu of %s: %lld objects are left", (unsigned long long)n, functions[i],
                 (long long)(fault_loader_live() - before));
    }
    assert_false(came);
  }
  clReleaseEvent(done);
  clReleaseMemObject(memory);
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
#define WITH_CONTEXT(test) cmocka_unit_test_setup_teardown(test, caller_open_context, caller_close_context)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refused_registrations), cmocka_unit_test(devices_of_the_context),
      cmocka_unit_test(names_and_references),  WITH_CONTEXT(refused_memory),
      WITH_CONTEXT(parts_of_memory),           WITH_CONTEXT(other_devices_write_back),
      cmocka_unit_test(traced_contexts),       cmocka_unit_test(refused_calls),
  };
  return cmocka_run_group_tests_name("OpenCL: sharing", tests, caller_open, caller_close);
}
