// SPDX-License-Identifier: Apache-2.0
//
// A memory limit on a device with memory of its own: copies that are elsewhere, too, and what idle graphs hold make room.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/opencl/opencl.h"
#include "weir/graph.h"
#include "weir/opencl.h"

enum { BYTES = 4096, COUNT = 3 };

static const char source[] = "__kernel void next(__global uchar *to, __global const uchar *from) {\n"
                             "  to[get_global_id(0)] = from[get_global_id(0)] + 1;\n"
                             "}\n";

static void ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

static weir_context *limited(uint64_t limit) {
  weir_context *context = NULL;
  ok(weir_context_create(&(weir_context_options){.devices = "cpu:1,opencl", .memory_limit = limit}, &context));
  return context;
}

// Each wrapped buffer takes most of the device's limit while it is read there.
static void copies_of_wrapped_memory_make_room(void **state) {
  (void)state;
  static unsigned char memory[COUNT][BYTES];
  weir_context *context = limited(BYTES + BYTES / 2);
  weir_kernel *kernel = NULL;
  ok(weir_kernel_create(context, "next", &kernel));
  ok(weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = source}, &(weir_opencl_launch){.entry = "next"}));
  weir_buffer *last = NULL, *wrapped[COUNT];
  ok(weir_buffer_create(context, 64, &last));
  for (int i = 0; i < COUNT; i++) {
    memset(memory[i], 10 * i, BYTES);
    ok(weir_buffer_wrap(context, memory[i], BYTES, &wrapped[i]));
  }
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < COUNT; i++) {
      weir_arg args[] = {weir_writes(last), weir_reads(wrapped[i])};
      weir_task task = {.kernel = kernel, .args = args, .arg_count = 2, .groups = {64, 1, 1}};
      task.device = weir_context_device(context, 1);
      ok(weir_submit(context, &task, NULL));
      unsigned char found[64];
      ok(weir_read(last, 0, sizeof found, found));
      assert_int_equal(found[63], 10 * i + 1);
    }
  }
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  assert_true(statistics.peak_bytes <= 2 * (BYTES + BYTES / 2));
  weir_context_release(context);
}

// Copies of a graph go through memory on the host, of which there is enough for two graphs at a time.
static void memory_of_idle_graphs_makes_room(void **state) {
  (void)state;
  static unsigned char in[COUNT][BYTES], out[COUNT][BYTES];
  weir_context *context = limited(5 * BYTES);
  weir_graph *graphs[COUNT];
  weir_buffer *buffer = NULL;
  ok(weir_buffer_create(context, BYTES, &buffer));
  for (int i = 0; i < COUNT; i++) {
    weir_graph_options options = {.device = weir_context_device(context, 1)};
    memset(in[i], 7 + i, BYTES);
    ok(weir_graph_create(context, &options, &graphs[i]));
    ok(weir_graph_copy_in(graphs[i], buffer, 0, BYTES, in[i], NULL));
    ok(weir_graph_copy_out(graphs[i], buffer, 0, BYTES, out[i], NULL));
  }
  for (int turn = 0; turn < 2 * COUNT; turn++) {
    int i = turn % COUNT;
    memset(out[i], 0, BYTES);
    ok(weir_graph_evaluate(graphs[i], WEIR_FOREVER));
    assert_memory_equal(in[i], out[i], BYTES);
  }
  ok(weir_copy_in(buffer, 0, BYTES, in[0], NULL));
  ok(weir_finish(context));
  weir_context_release(context);
}

// An eighth of it is what overwritten storage in use may take by default.
static void memory_has_a_size(void **state) {
  (void)state;
  weir_context *context = NULL;
  ok(weir_context_create(&(weir_context_options){.devices = "opencl:0,opencl:0/1.0"}, &context));
  for (uint32_t i = 0; i < 2; i++) assert_true(weir_context_device(context, i)->memory_bytes > 0);
  weir_context_release(context);
}

int main(void) {
  weir_context *context = NULL;
  setenv("WEIR_OPENCL_MEMORY", "device", 1);
  if (weir_context_create(&(weir_context_options){.devices = "opencl"}, &context) == WEIR_ERROR_UNAVAILABLE) return 77;
  weir_context_release(context);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_of_wrapped_memory_make_room),
      cmocka_unit_test(memory_has_a_size),
      cmocka_unit_test(memory_of_idle_graphs_makes_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
