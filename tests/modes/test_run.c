// SPDX-License-Identifier: Apache-2.0
//
// Modes and sizes that the code refutes are refused, in tasks and in graphs, and weir_auto takes modes from the code. On the
// device of the argument: vulkan, opencl, cuda (on the driver of tests/cuda/stub), or cpu, whose code nobody can read.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "step.spv.h"
#include "stub.h"
#include "weir/chain.h"
#include "weir/cuda.h"
#include "weir/graph.h"
#include "weir/opencl.h"
#include "weir/split.h"
#include "weir/vulkan.h"

enum { WORDS = 64, BYTES = 4 * WORDS };

static const char *device = "cpu";
static bool reads_code;
static weir_context *context;
static weir_kernel *kernel;
static weir_buffer *from, *to, *other;

static const char SOURCE[] =
    "__kernel void stepped(__global const uint *from, __global uint *to, uint factor, uint term) {\n"
    "  uint i = get_group_id(0);\n"
    "  to[i] = from[i] * factor + term;\n"
    "}\n";
static const char IMAGE[] = "STUB\nstep 64 8 8 4 4\n//\n"
                            ".visible .entry step(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .u32 p3)\n"
                            "{\n"
                            "  ld.param.u64 %rd1, [p0];\n"
                            "  ld.param.u64 %rd2, [p1];\n"
                            "  ld.param.u32 %r1, [p2];\n"
                            "  mov.u32 %r2, %ctaid.x;\n"
                            "  cvta.to.global.u64 %rd3, %rd1;\n"
                            "  cvta.to.global.u64 %rd4, %rd2;\n"
                            "  mul.wide.u32 %rd5, %r2, 4;\n"
                            "  add.s64 %rd6, %rd3, %rd5;\n"
                            "  add.s64 %rd7, %rd4, %rd5;\n"
                            "  ld.global.u32 %r3, [%rd6];\n"
                            "  st.global.u32 [%rd7], %r3;\n"
                            "  ret;\n"
                            "}\n";

static void step_on_stub(const stub_launch *launch) {
  uint64_t pointers[2];
  uint32_t numbers[2];
  for (int i = 0; i < 2; i++) memcpy(&pointers[i], launch->params[i], 8);
  for (int i = 0; i < 2; i++) memcpy(&numbers[i], launch->params[2 + i], 4);
  uint64_t bytes = (uint64_t)launch->grid[0] * 4;
  const uint32_t *in = stub_memory(launch, pointers[0], bytes);
  uint32_t *out = stub_memory(launch, pointers[1], bytes);
  for (uint32_t i = 0; in != NULL && out != NULL && i < launch->grid[0]; i++) out[i] = in[i] * numbers[0] + numbers[1];
}

static void step_on_cpu(const weir_work *work) {
  const uint32_t *in = work->args[0], *factor = work->args[2], *term = work->args[3];
  uint32_t *out = work->args[1];
  for (uint64_t i = work->first; i < work->end; i++) out[i] = in[i] * *factor + *term;
}

static void ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

static void refused(weir_status status, const char *const *parts) {
  assert_int_equal(status, WEIR_ERROR_INVALID_ARGUMENT);
  for (; *parts != NULL; parts++)
    if (strstr(weir_last_error(), *parts) == NULL) fail_msg("no '%s' in '%s'", *parts, weir_last_error());
}

static void set_code(void) {
  ok(weir_kernel_set_cpu(kernel, step_on_cpu));
  if (strcmp(device, "vulkan") == 0)
    ok(weir_kernel_set_vulkan(kernel, &(weir_vulkan_code){.words = step_spv, .bytes = sizeof step_spv},
                              &(weir_vulkan_launch){0}, 1));
  if (strcmp(device, "opencl") == 0)
    ok(weir_kernel_set_opencl(kernel, &(weir_opencl_code){.source = SOURCE},
                              &(weir_opencl_launch){.entry = "stepped"}));
  if (strcmp(device, "cuda") == 0)
    ok(weir_kernel_set_cuda(kernel, &(weir_cuda_code){.image = IMAGE},
                            &(weir_cuda_launch){.function = "step", .block = {1, 1, 1}}, 1));
}

static int open_context(void **state) {
  (void)state;
  if (strcmp(device, "cuda") == 0) {
    setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
    setenv("WEIR_CACHE", "", 1);
    assert_true(stub_configure(&(stub_options){.devices = 1}));
    stub_register("step", step_on_stub);
  }
  weir_status status = weir_context_create(&(weir_context_options){.devices = device}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    exit(77);
  }
  ok(status);
  ok(weir_kernel_create(context, "step", &kernel));
  set_code();
  ok(weir_buffer_create(context, BYTES, &from));
  ok(weir_buffer_create(context, BYTES, &to));
  ok(weir_buffer_create(context, BYTES, &other));
  ok(weir_buffer_set_label(from, "from"));
  ok(weir_buffer_set_label(to, "to"));
  ok(weir_fill(from, 0, WEIR_WHOLE, 5, NULL));
  ok(weir_fill(to, 0, WEIR_WHOLE, 0, NULL));
  return 0;
}

static int close_context(void **state) {
  (void)state;
  ok(weir_finish(context));
  weir_context_release(context);
  if (strcmp(device, "cuda") == 0 && stub_violations() != 0) fail_msg("%s", stub_violation_text());
  return 0;
}

static const uint32_t factor = 3, term = 1;

static weir_status submit(weir_arg first, weir_arg second, weir_arg third, uint32_t count) {
  const weir_arg args[] = {first, second, third, weir_value(&term, sizeof term)};
  return weir_submit(
      context, &(weir_task){.kernel = kernel, .args = args, .arg_count = count, .groups = {WORDS}, .label = "try"},
      NULL);
}

static weir_arg a_factor(void) {
  return weir_value(&factor, sizeof factor);
}

static void expect_words(weir_buffer *buffer, uint32_t value) {
  uint32_t words[WORDS];
  ok(weir_read(buffer, 0, WEIR_WHOLE, words));
  for (int i = 0; i < WORDS; i++) assert_int_equal(words[i], value);
}

static void wrong_modes_are_refused(void **state) {
  (void)state;
  if (!reads_code) return;
  const char *never[] = {
      "'try'", "argument 0, bytes [0, 256) of buffer", "'from'", "overwritten", "never writes it", "declare weir_reads",
      NULL};
  refused(submit(weir_writes(from), weir_writes(to), a_factor(), 4), never);
  ok(submit(weir_updates(from), weir_updates(to), a_factor(), 4)); // needless, but right
  if (strcmp(device, "opencl") == 0) return;                       // no qualifier says that `to` is written
  const char *writes[] = {
      "'try'", "argument 1, bytes [0, 256) of buffer", "'to'", "only read", "writes it", "declare weir_writes", NULL};
  refused(submit(weir_reads(from), weir_reads(to), a_factor(), 4), writes);
  weir_graph *graph;
  ok(weir_graph_create(context, NULL, &graph));
  const weir_arg args[] = {weir_reads(from), weir_reads(to), a_factor(), weir_value(&term, sizeof term)};
  refused(weir_graph_add(graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = 4, .label = "try"}, NULL),
          writes);
  ok(weir_graph_release(graph));
}

static void wrong_sizes_are_refused(void **state) {
  (void)state;
  if (!reads_code) return;
  const uint64_t large = 3;
  refused(submit(weir_reads(from), weir_writes(to), weir_value(&large, 2), 4),
          (const char *[]){"'try'", "argument 2: a value of 2 bytes;", "takes 4 bytes", NULL});
  assert_int_equal(submit(weir_reads(from), weir_writes(to), a_factor(), 3), WEIR_ERROR_INVALID_ARGUMENT);
}

// Modes as a graph has them: two tasks that read the same buffer have no edge, two that update it have one.
static void auto_is_never_too_weak(void **state) {
  (void)state;
  weir_graph *graph;
  weir_graph_info info;
  ok(weir_graph_create(context, NULL, &graph));
  weir_buffer *outputs[] = {to, other};
  for (int i = 0; i < 2; i++) {
    const weir_arg args[] = {weir_auto(from), weir_auto(outputs[i]), a_factor(), weir_value(&term, sizeof term)};
    ok(weir_graph_add(graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = 4, .groups = {WORDS}}, NULL));
  }
  ok(weir_graph_evaluate(graph, WEIR_FOREVER));
  ok(weir_graph_information(graph, &info));
  assert_int_equal(info.edges, reads_code ? 0 : 1);
  expect_words(to, 16);
  expect_words(other, 16);
  const weir_arg again = weir_auto(other);
  ok(weir_graph_set_arg(graph, 0, 1, &again));
  ok(weir_graph_evaluate(graph, WEIR_FOREVER));
  ok(weir_graph_information(graph, &info));
  assert_int_equal(info.edges, 1);
  ok(weir_graph_release(graph));
}

static void auto_of_ranges_and_in_place(void **state) {
  (void)state;
  weir_arg first = weir_auto(from), second = weir_auto(to);
  ok(submit(first, second, a_factor(), 4));
  expect_words(to, 16);
  ok(submit(weir_auto(to), weir_auto(to), a_factor(), 4)); // in place: both are updates
  expect_words(to, 49);
  ok(submit(weir_auto(to), weir_updates(to), a_factor(), 4));
  expect_words(to, 148);
  second.bytes = 2ull * BYTES;
  assert_int_equal(submit(first, second, a_factor(), 4), WEIR_ERROR_OUT_OF_RANGE);
  second = weir_auto(NULL);
  assert_int_equal(submit(first, second, a_factor(), 4), WEIR_ERROR_INVALID_ARGUMENT);
}

static void chains_take_it_and_splits_refuse(void **state) {
  (void)state;
  weir_chain *chain;
  const weir_chain_arg args[] = {weir_chain_fixed(weir_auto(from)), weir_chain_fixed(weir_auto(to)),
                                 weir_chain_fixed(a_factor()), weir_chain_fixed(weir_value(&term, sizeof term))};
  const weir_chain_stage stage = {.kernel = kernel, .args = args, .arg_count = 4, .groups = {WORDS}};
  ok(weir_chain_create(context, &(weir_chain_options){.stages = &stage, .stage_count = 1}, &chain));
  ok(weir_chain_submit(chain, &(weir_chain_item){0}, NULL));
  expect_words(to, 16);
  ok(weir_chain_release(chain));
  weir_split *split;
  ok(weir_split_create(context, NULL, &split));
  const weir_split_arg parts[] = {{.arg = weir_auto(from), .mapping = WEIR_SPLIT_WHOLE}};
  refused(weir_split_submit(
              split, &(weir_split_launch){.kernel = kernel, .args = parts, .arg_count = 1, .groups = {WORDS}}, NULL),
          (const char *[]){"argument 0", "'from'", "weir_auto", NULL});
  ok(weir_split_release(split));
}

int main(int argc, char **argv) {
  if (argc > 1) device = argv[1];
  reads_code = strcmp(device, "cpu") != 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(wrong_modes_are_refused, open_context, close_context),
      cmocka_unit_test_setup_teardown(wrong_sizes_are_refused, open_context, close_context),
      cmocka_unit_test_setup_teardown(auto_is_never_too_weak, open_context, close_context),
      cmocka_unit_test_setup_teardown(auto_of_ranges_and_in_place, open_context, close_context),
      cmocka_unit_test_setup_teardown(chains_take_it_and_splits_refuse, open_context, close_context),
  };
  return cmocka_run_group_tests_name("modes", tests, NULL, NULL);
}
