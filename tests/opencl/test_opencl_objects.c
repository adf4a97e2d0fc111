// SPDX-License-Identifier: Apache-2.0
//
// Memory as cl_mem objects, on a device of OpenCL 1.2 whose alignment is larger than PoCL's: ranges, copies and fills, what is
// refused, what is kept.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault_loader.h"
#include "leaks.h"
#include "weir/graph.h"
#include "weir/opencl.h"

enum { WORDS = 1024, BYTES = WORDS * 4, STEP = FAULT_LOADER_ALIGNMENT, MANY = 9000, NEVER = 1 << 30 };

static const char source[] = "__kernel void add(__global uint *to, __global const uint *from, uint value) {\n"
                             "  to[get_global_id(0)] = from[get_global_id(0)] + value;\n"
                             "}\n"
                             "__kernel void twice(__global uint *a, __global uint *b) { a[0] += 1; b[0] += 2; }\n"
                             "__kernel void set(__global uint *to, uint value) { to[0] = value; }\n";

static weir_context *context;
static weir_kernel *add, *twice, *set;

static weir_kernel *make_kernel(const char *entry) {
  weir_kernel *made;
  assert_int_equal(weir_kernel_create(context, entry, &made), WEIR_OK);
  const weir_opencl_code code = {.source = source};
  assert_int_equal(weir_kernel_set_opencl(made, &code, &(weir_opencl_launch){.entry = entry}), WEIR_OK);
  return made;
}

static int open_context(void **state) {
  (void)state;
  if (weir_context_create(&(weir_context_options){.devices = "opencl", .queues = 2}, &context) != WEIR_OK) {
    fprintf(stderr, "%s\n", weir_last_error());
    return -1;
  }
  add = make_kernel("add");
  twice = make_kernel("twice");
  set = make_kernel("set");
  return 0;
}

static int close_context(void **state) {
  (void)state;
  weir_kernel_release(add);
  weir_kernel_release(twice);
  weir_kernel_release(set);
  weir_context_release(context);
  assert_int_equal(fault_loader_live(), 0);
  return 0;
}

static weir_buffer *buffer_of(uint64_t bytes) {
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, bytes, &buffer), WEIR_OK);
  return buffer;
}

static void expect_refusal(weir_kernel *kernel, weir_arg *args, uint32_t count, const char *text) {
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = count, .label = "wrong"};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' does not say '%s'", weir_last_error(), text);
}

static void run(weir_kernel *kernel, weir_arg *args, uint32_t count, uint32_t groups) {
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = count, .groups = {groups}};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
}

static void what_the_device_is(void **state) {
  (void)state;
  const char *text = weir_device_information(weir_context_device(context, 0))->description;
  if (strstr(text, "memory objects") == NULL) fail_msg("'%s'", text);
}

// Kernels on aligned ranges, copies and fills on any.
static void ranges(void **state) {
  (void)state;
  uint32_t value = 7, host[WORDS], wanted[WORDS], some[3] = {1, 2, 3}, out[3] = {0};
  weir_buffer *first = buffer_of(BYTES), *second = buffer_of(BYTES);
  for (uint32_t i = 0; i < WORDS; i++) host[i] = wanted[i] = i * i;
  assert_int_equal(weir_copy_in(first, 0, BYTES, host, NULL), WEIR_OK);
  assert_int_equal(weir_fill(second, 0, BYTES, 5, NULL), WEIR_OK);
  weir_arg args[] = {weir_writes_range(second, 2 * STEP, 100 * 4), weir_reads_range(first, STEP, 100 * 4),
                     weir_value(&value, sizeof value)};
  run(add, args, 3, 100);
  assert_int_equal(weir_copy_in(second, 4, sizeof some, some, NULL), WEIR_OK);
  assert_int_equal(weir_fill(second, STEP + 12, 8, 9, NULL), WEIR_OK);
  assert_int_equal(weir_copy(second, BYTES - 12, second, 4, 12, NULL), WEIR_OK);
  assert_int_equal(weir_copy(second, 1032, second, 1052, 20, NULL), WEIR_OK); // a step before what it copies
  assert_int_equal(weir_copy(first, 3, second, 2, 7, NULL), WEIR_OK);
  assert_int_equal(weir_copy_out(second, BYTES - 12, sizeof out, out, NULL), WEIR_OK);
  assert_int_equal(weir_copy_out(second, 0, BYTES, host, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_memory_equal(out, some, sizeof some);
  uint32_t expected[WORDS];
  for (uint32_t i = 0; i < WORDS; i++) expected[i] = 5;
  for (uint32_t i = 0; i < 100; i++) expected[2 * STEP / 4 + i] = wanted[STEP / 4 + i] + value;
  memcpy(&expected[1], some, sizeof some);
  expected[STEP / 4 + 3] = expected[STEP / 4 + 4] = 9;
  memcpy(&expected[WORDS - 3], some, sizeof some);
  memcpy((char *)expected + 1032, (char *)expected + 1052, 20);
  assert_memory_equal(host, expected, BYTES);
  assert_int_equal(weir_copy_out(first, 0, BYTES, host, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  memcpy((char *)wanted + 3, (char *)expected + 2, 7);
  assert_memory_equal(host, wanted, BYTES);
  weir_buffer_release(first);
  weir_buffer_release(second);
}

static void arguments_that_share_bytes(void **state) {
  (void)state;
  uint32_t value = 1, host[WORDS] = {0};
  weir_buffer *buffer = buffer_of(BYTES), *to = buffer_of(BYTES);
  assert_int_equal(weir_fill(buffer, 0, BYTES, 3, NULL), WEIR_OK);
  weir_arg overlap[] = {weir_writes_range(buffer, 0, STEP + 4), weir_reads_range(buffer, STEP, STEP),
                        weir_value(&value, sizeof value)};
  expect_refusal(add, overlap, 3, "two arguments overlap and disagree");
  weir_arg both[] = {weir_updates_range(buffer, STEP, STEP), weir_updates_range(buffer, STEP, STEP)};
  run(twice, both, 2, 1);
  weir_arg beside[] = {weir_writes_range(buffer, 2 * STEP, STEP), weir_reads_range(buffer, STEP, STEP),
                       weir_value(&value, sizeof value)};
  run(add, beside, 3, STEP / 4);
  weir_arg readers[] = {weir_writes(to), weir_reads(buffer), weir_value(&value, sizeof value)};
  run(add, readers, 3, WORDS);
  readers[1] = weir_reads_range(buffer, STEP, BYTES - STEP);
  readers[0] = weir_writes_range(to, 0, BYTES - STEP);
  run(add, readers, 3, WORDS - STEP / 4);
  assert_int_equal(weir_copy_out(to, 0, BYTES, host, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(host[0], 3 + 3 + 1);            // first word of the range that is updated twice
  assert_int_equal(host[STEP / 4], 3 + 3 + 1 + 1); // what `beside` made of it
  assert_int_equal(host[STEP / 4 + 1], 3 + 1 + 1);
  weir_buffer_release(buffer);
  weir_buffer_release(to);
}

static void ranges_at_other_offsets(void **state) {
  (void)state;
  uint32_t value = 1;
  weir_graph *graph;
  weir_buffer *buffer = buffer_of(BYTES);
  assert_int_equal(weir_buffer_set_label(buffer, "frame"), WEIR_OK);
  weir_arg args[] = {weir_writes_range(buffer, 0, 64), weir_reads_range(buffer, STEP + 64, 64),
                     weir_value(&value, sizeof value)};
  expect_refusal(add, args, 3, "task 'wrong' (tag 0), argument 1: a range from byte 576 on of buffer ");
  expect_refusal(add, args, 3, "'frame'; on opencl:0, whose memory is objects, ranges begin at multiples of 512 bytes");
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  const weir_task task = {.kernel = add, .args = args, .arg_count = 3};
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "multiples of 512 bytes"));
  args[1].offset = STEP;
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  weir_graph_release(graph);
  weir_buffer_release(buffer);
}

static void steady_state_makes_nothing(void **state) {
  (void)state;
  static const char *const functions[] = {"clCreateBuffer", "clCreateSubBuffer"};
  uint32_t value = 1, host[16];
  weir_buffer *first = buffer_of(BYTES), *second = buffer_of(BYTES);
  for (int round = 0; round < 3; round++) {
    const char *function = functions[round & 1];
    if (round > 0) fault_loader_fail(function, NEVER, -5);
    for (int i = 0; i < 50; i++) {
      weir_arg args[] = {weir_writes(second), weir_reads(first), weir_value(&value, sizeof value)};
      weir_arg part[] = {weir_writes_range(first, STEP, 64), weir_reads_range(second, 2 * STEP, 64),
                         weir_value(&value, sizeof value)};
      if (i == 0) assert_int_equal(weir_fill(first, 0, BYTES, 0, NULL), WEIR_OK);
      run(add, args, 3, WORDS);
      run(add, part, 3, 16);
      assert_int_equal(weir_copy_out(first, 40, sizeof host, host, NULL), WEIR_OK);
      assert_int_equal(weir_finish(context), WEIR_OK);
    }
    if (round > 0 && fault_loader_left() != NEVER)
      fail_msg("%llu calls of %s", (unsigned long long)(NEVER - fault_loader_left()), function);
  }
  fault_loader_fail("", 0, 0);
  weir_buffer_release(first);
  weir_buffer_release(second);
}

// More ranges than sub-buffers are kept.
static void many_ranges(void **state) {
  (void)state;
  weir_buffer *buffer = buffer_of((uint64_t)MANY * STEP);
  uint32_t *host = calloc(MANY, STEP);
  assert_non_null(host);
#ifdef WEIR_SMALL_TESTS
  enum { ROUNDS = 1 };
#else
  enum { ROUNDS = 2 };
#endif
  for (int round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < MANY; i++) {
      uint32_t value = i + 1;
      weir_arg args[] = {weir_writes_range(buffer, (uint64_t)i * STEP, 4), weir_value(&value, sizeof value)};
      run(set, args, 2, 1);
    }
  }
  assert_int_equal(weir_copy_out(buffer, 0, WEIR_WHOLE, host, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  for (uint32_t i = 0; i < MANY; i++) assert_int_equal(host[i * (STEP / 4)], i + 1);
  assert_true(fault_loader_live() > 8000 && fault_loader_live() < 9000); // sub-buffers, for the most part
  free(host);
  weir_buffer_release(buffer);
}

static void expect_failure(weir_event *event, const char *text) {
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_OUT_OF_MEMORY);
  if (strstr(weir_event_message(event), text) == NULL) fail_msg("'%s'", weir_event_message(event));
  weir_event_release(event);
}

static void commands_that_are_refused(void **state) {
  (void)state;
  weir_event *event;
  weir_buffer *first = buffer_of(BYTES), *second = buffer_of(BYTES);
  fault_loader_fail("clEnqueueFillBuffer", 1, -5);
  assert_int_equal(weir_fill(first, 0, BYTES, 1, &event), WEIR_OK);
  expect_failure(event, "CL_OUT_OF_RESOURCES");
  assert_int_equal(weir_fill(first, 0, BYTES, 1, NULL), WEIR_OK);
  fault_loader_fail("clEnqueueCopyBuffer", 1, -4);
  assert_int_equal(weir_copy(second, 0, first, 0, BYTES, &event), WEIR_OK);
  expect_failure(event, "CL_MEM_OBJECT_ALLOCATION_FAILURE");
  fault_loader_fail("clCreateSubBuffer", 1, -4);
  assert_int_equal(weir_copy(second, STEP, first, 0, 4, &event), WEIR_OK);
  expect_failure(event, "CL_MEM_OBJECT_ALLOCATION_FAILURE");
  fault_loader_fail("", 0, 0);
  assert_int_not_equal(weir_finish(context), WEIR_OK);
  weir_buffer_release(first);
  weir_buffer_release(second);
}

static void nothing_newer_was_called(void **state) {
  (void)state;
  assert_int_equal(fault_loader_newer_calls(), 0);
  check_leaks();
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
  fault_loader_hide(false, true);
#define WITH_CONTEXT(test) cmocka_unit_test_setup_teardown(test, open_context, close_context)
  const struct CMUnitTest tests[] = {
      WITH_CONTEXT(what_the_device_is),         WITH_CONTEXT(ranges),
      WITH_CONTEXT(arguments_that_share_bytes), WITH_CONTEXT(ranges_at_other_offsets),
      WITH_CONTEXT(steady_state_makes_nothing), WITH_CONTEXT(many_ranges),
      WITH_CONTEXT(commands_that_are_refused),  cmocka_unit_test(nothing_newer_was_called),
  };
  return cmocka_run_group_tests_name("OpenCL: memory objects", tests, NULL, NULL);
}
