// SPDX-License-Identifier: Apache-2.0
//
// Programs whose headers are older or newer than the library: their structs are shorter or longer.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "weir/chain.h"
#include "weir/graph.h"
#include "weir/pipeline.h"
#include "weir/sim.h"
#include "weir/split.h"

// The first `size` bytes of a struct, behind which nothing may be read; what it does not have is `rest`.
static void *resized(const void *from, size_t own_size, size_t size, unsigned char rest) {
  unsigned char *copy = malloc(size);
  assert_non_null(copy);
  memset(copy, rest, size);
  memcpy(copy, from, size < own_size ? size : own_size);
  return copy;
}

static void older_options_have_defaults(void **state) {
  (void)state;
  const weir_context_options options = {.devices = "cpu:2", .window = 64, .flags = WEIR_CONTEXT_TRACE};
  const size_t size = offsetof(weir_context_options, flags);
  void *older = resized(&options, sizeof options, size, 0);
  weir_context *context;
  assert_int_equal(weir_context_create_sized(older, size, &context), WEIR_OK);
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  assert_int_equal(statistics.window, 64);
  api_expect(weir_trace_save(context, "nowhere.json", NULL), WEIR_ERROR_INVALID_ARGUMENT, "WEIR_CONTEXT_TRACE", NULL);
  weir_context_release(context);
  free(older);
  assert_int_equal(weir_context_create_sized(NULL, 0, &context), WEIR_OK);
  weir_context_release(context);
}

static void newer_options_are_refused_if_they_are_set(void **state) {
  (void)state;
  const weir_context_options options = {.devices = "cpu:1"};
  const size_t size = sizeof options + 16;
  weir_context *context;
  for (unsigned char rest = 0; rest < 2; rest++) {
    void *newer = resized(&options, sizeof options, size, rest);
    weir_status status = weir_context_create_sized(newer, size, &context);
    free(newer);
    if (rest == 0) {
      assert_int_equal(status, WEIR_OK);
      weir_context_release(context);
    } else {
      api_expect(status, WEIR_ERROR_INVALID_ARGUMENT, "a member is set that Weir", weir_version(), NULL);
      assert_null(context);
    }
  }
}

static void add_one(const weir_work *work) {
  ++*(uint64_t *)work->args[0];
}

// A task that ends before `priority`, `label` and `tag`, and one with more, as tasks and as nodes of a graph.
static void older_and_newer_tasks_run(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *number = api_number(context, 0);
  const weir_arg arg = weir_updates(number);
  const weir_task task = {.host = add_one, .args = &arg, .arg_count = 1, .priority = 1 << 20, .tag = 5};
  const size_t sizes[] = {offsetof(weir_task, priority), sizeof task, sizeof task + 24};
  weir_graph *graph;
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  for (size_t i = 0; i < 3; i++) {
    void *other = resized(&task, sizeof task, sizes[i], 0);
    assert_int_equal(weir_submit_sized(context, other, sizes[i], NULL), WEIR_OK);
    assert_int_equal(weir_graph_add_sized(graph, other, sizes[i], NULL), WEIR_OK);
    free(other);
  }
  assert_int_equal(weir_graph_evaluate(graph, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(api_read_number(number), 6);
  void *newer = resized(&task, sizeof task, sizes[2], 1);
  api_expect(weir_submit_sized(context, newer, sizes[2], NULL), WEIR_ERROR_INVALID_ARGUMENT, "submit", "member", NULL);
  api_expect(weir_graph_add_sized(graph, newer, sizes[2], NULL), WEIR_ERROR_INVALID_ARGUMENT, "graph add", NULL);
  free(newer);
  weir_context_release(context);
}

// Of what they are given programs get as much as their structs have room for.
static void outputs_fit(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_statistics own;
  weir_context_statistics(context, &own);
  const size_t size = offsetof(weir_statistics, window);
  unsigned char bytes[sizeof own + 8];
  memset(bytes, 0xee, sizeof bytes);
  weir_context_statistics_sized(context, (weir_statistics *)(void *)bytes, size);
  assert_memory_equal(bytes, &own, size);
  assert_int_equal(bytes[size], 0xee);
  weir_context_statistics_sized(context, (weir_statistics *)(void *)bytes, sizeof bytes);
  assert_memory_equal(bytes, &own, sizeof own);
  for (size_t i = sizeof own; i < sizeof bytes; i++) assert_int_equal(bytes[i], 0);
  weir_graph *graph;
  weir_graph_info info = {.running = 9, .edges = 9};
  const weir_task task = {.host = api_nothing};
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  assert_int_equal(weir_graph_information_sized(graph, &info, offsetof(weir_graph_info, running)), WEIR_OK);
  assert_int_equal(info.tasks, 1);
  assert_int_equal(info.running, 9);
  assert_int_equal(info.edges, 9);
  weir_context_release(context);
}

static weir_status nothing_to_do(weir_token *token) {
  return weir_token_end_input(token);
}

static void reserved_members_are_zero(void **state) {
  (void)state;
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  weir_context *context = api_context("cpu:1,sim:ideal", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", api_nothing);
  weir_buffer *buffer = api_buffer(context, 8, NULL);
  weir_arg args[] = {weir_reads(buffer), weir_value(&invalid, sizeof invalid)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 2};
  weir_graph *graph;
  uint32_t node;
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_add(graph, &task, &node), WEIR_OK);
  for (uint32_t i = 0; i < 2; i++) {
    args[i].shape = 2;
    api_expect(weir_submit(context, &task, NULL), invalid, "'k'", i == 0 ? "argument 0" : "argument 1", "shape", NULL);
    api_expect(weir_graph_set_arg(graph, node, i, &args[i]), invalid, "shape", NULL);
    args[i].shape = 0;
    args[i].reserved = 1;
    api_expect(weir_submit(context, &task, NULL), invalid, "'k'", i == 0 ? "argument 0" : "argument 1", "reserved",
               NULL);
    api_expect(weir_graph_set_arg(graph, node, i, &args[i]), invalid, "reserved", NULL);
    args[i].reserved = 0;
  }
  const weir_sim_launch launch = {.threads = 1, .reserved = {0, 1}};
  api_expect(weir_kernel_set_sim(kernel, &launch, 1), invalid, "launch 0", "reserved", NULL);
  weir_chain *chain;
  weir_chain_arg chain_arg = weir_chain_fixed(args[0]);
  weir_chain_stage stage = {.kernel = kernel, .args = &chain_arg, .arg_count = 1, .reserved = {1}};
  const weir_chain_options chain_options = {.stages = &stage, .stage_count = 1};
  api_expect(weir_chain_create(context, &chain_options, &chain), invalid, "stage 0", "reserved", NULL);
  stage.reserved[0] = 0;
  chain_arg.reserved[1] = 1;
  api_expect(weir_chain_create(context, &chain_options, &chain), invalid, "argument 0", "reserved", NULL);
  weir_pipeline *pipeline;
  const weir_stage pipeline_stage = {.function = nothing_to_do, .reserved = {1}};
  const weir_pipeline_options pipeline_options = {.stages = &pipeline_stage, .stage_count = 1, .lines = 1};
  api_expect(weir_pipeline_create(context, &pipeline_options, &pipeline), invalid, "stage 0", "reserved", NULL);
  weir_split *split;
  weir_split_policy policy = *weir_split_find_policy("static");
  policy.reserved[1] = 1;
  api_expect(weir_split_create(context, &(weir_split_options){.custom = &policy}, &split), invalid, "policy",
             "reserved", NULL);
  weir_device *cpu = weir_context_device(context, 0);
  assert_int_equal(weir_split_create(context, &(weir_split_options){.devices = &cpu, .device_count = 1}, &split),
                   WEIR_OK);
  weir_split_arg split_arg = weir_split_whole(args[0]);
  split_arg.reserved[0] = 1;
  const weir_split_launch split_launch = {.kernel = kernel, .args = &split_arg, .arg_count = 1};
  api_expect(weir_split_submit(split, &split_launch, NULL), invalid, "argument 0", "reserved", NULL);
  assert_int_equal(weir_split_release(split), WEIR_OK);
  weir_context_release(context);
}

// Chains, pipelines and splits of older programs.
static void older_parts_of_the_library(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", add_one);
  weir_buffer *number = api_number(context, 0);
  const weir_chain_arg arg = weir_chain_fixed(weir_updates(number));
  const weir_chain_stage stage = {.kernel = kernel, .args = &arg, .arg_count = 1};
  const weir_chain_options options = {.stages = &stage, .stage_count = 1, .depth = 100000};
  const weir_chain_item item = {.tag = 3};
  weir_chain *chain;
  const size_t size = offsetof(weir_chain_options, depth);
  void *older = resized(&options, sizeof options, size, 0);
  assert_int_equal(weir_chain_create_sized(context, older, size, &chain), WEIR_OK);
  assert_int_equal(weir_chain_submit_sized(chain, &item, offsetof(weir_chain_item, tag), NULL), WEIR_OK);
  free(older);
  assert_int_equal(api_read_number(number), 1);
  weir_chain_statistics statistics = {.stage_count = 77};
  assert_int_equal(weir_chain_get_statistics_sized(chain, &statistics, offsetof(weir_chain_statistics, stage_count)),
                   WEIR_OK);
  assert_int_equal(statistics.submitted, 1);
  assert_int_equal(statistics.stage_count, 77);
  const weir_stage host_stage = {.function = nothing_to_do};
  const weir_pipeline_options pipeline_options = {.stages = &host_stage, .stage_count = 1, .lines = 1, .threads = 1000};
  weir_pipeline *pipeline;
  assert_int_equal(
      weir_pipeline_create_sized(context, &pipeline_options, offsetof(weir_pipeline_options, threads), &pipeline),
      WEIR_OK);
  assert_int_equal(weir_pipeline_run(pipeline, WEIR_FOREVER), WEIR_OK);
  const weir_split_options split_options = {.policy = "static", .rounds = 100000};
  weir_split *split;
  assert_int_equal(weir_split_create_sized(context, &split_options, offsetof(weir_split_options, rounds), &split),
                   WEIR_OK);
  assert_int_equal(weir_split_release(split), WEIR_OK);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(older_options_have_defaults), cmocka_unit_test(newer_options_are_refused_if_they_are_set),
      cmocka_unit_test(older_and_newer_tasks_run),   cmocka_unit_test(outputs_fit),
      cmocka_unit_test(reserved_members_are_zero),   cmocka_unit_test(older_parts_of_the_library),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
