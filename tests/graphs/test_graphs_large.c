// SPDX-License-Identifier: Apache-2.0
//
// Graphs of very many tasks have few edges: none that others imply.
#include <malloc.h>
#include <sys/resource.h>

#include "api.h"
#include "graph_info.h"
#include "part.h"
#include "weir/graph.h"
#include "weir/sim.h"

enum { TASKS = 20000, MANY = 100000, BYTES = 64, SLOTS = 1024 };

static weir_context *context;
static weir_buffer *buffer;
static weir_graph *graph;
static weir_kernel *kernel;

static void set_up(const char *devices, uint64_t bytes) {
  context = api_context(devices, 0, 0);
  kernel = api_kernel(context, "nothing", api_nothing);
  assert_int_equal(weir_kernel_set_sim(kernel, &(weir_sim_launch){.us = 1, .threads = 32}, 1), WEIR_OK);
  buffer = api_buffer(context, bytes, NULL);
  assert_int_equal(weir_fill(buffer, 0, bytes, 0, NULL), WEIR_OK);
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
}

static void add(weir_arg arg) {
  weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1};
  if (weir_graph_add(graph, &task, NULL) != WEIR_OK) fail_msg("%s", weir_last_error());
}

// It also runs, twice.
static uint64_t edges(void) {
  uint64_t count = graph_edges(graph);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
  return count;
}

static void parts_and_the_whole_in_turn(void **state) {
  (void)state;
  set_up("cpu:2", 4 * TASKS);
  for (uint64_t i = 0; i < TASKS; i++) add(i % 2 ? weir_writes_range(buffer, 4 * i, 4) : weir_reads(buffer));
  assert_int_equal(edges(), TASKS - 1);
}

static void parts_and_longer_and_longer_reads(void **state) {
  (void)state;
  set_up("cpu:2", 4 * TASKS);
  for (uint64_t i = 0; i < TASKS / 2; i++) add(weir_writes_range(buffer, 4 * i, 4));
  for (uint64_t i = 0; i < TASKS / 2; i++) add(weir_updates_range(buffer, 0, 4 * (i + 1)));
  assert_int_equal(edges(), TASKS - 1); // each update: after the one before, and after one part
}

static void updates_of_many_parts(const char *devices, uint64_t count) {
  set_up(devices, BYTES * SLOTS);
  for (uint64_t i = 0; i < count; i++) add(weir_updates_range(buffer, BYTES * (i * 389 % SLOTS), BYTES));
  assert_int_equal(edges(), count - SLOTS);
}

// So many that a cost that grows with their square is seen; sanitizers make each take several times as long.
static uint32_t many(void) {
#ifdef WEIR_PLAIN_TESTS
  return MANY;
#else
  return part_count(MANY);
#endif
}

static void many_tasks_on_the_cpu(void **state) {
  (void)state;
  updates_of_many_parts("cpu:2", many());
}

static void many_tasks_on_the_simulated_device(void **state) {
  (void)state;
  updates_of_many_parts("sim:h200", many());
}

#ifdef WEIR_PLAIN_TESTS // sanitizers have a heap of their own
// Nothing is looked up for buffers that are not there: memory from the heap has junk.
static void no_buffers(void **state) {
  (void)state;
  assert_int_equal(mallopt(M_PERTURB, 0x80), 1);
  set_up("cpu:1", BYTES);
  const weir_task task = {.kernel = kernel};
  for (int i = 0; i < 2; i++) assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  assert_int_equal(edges(), 0);
  assert_int_equal(mallopt(M_PERTURB, 0), 1);
  struct rusage used;
  assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
  assert_true(used.ru_maxrss < 1 << 20); // KiB
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef WEIR_PLAIN_TESTS
      cmocka_unit_test(no_buffers),
#endif
      cmocka_unit_test(parts_and_the_whole_in_turn), cmocka_unit_test(parts_and_longer_and_longer_reads),
      cmocka_unit_test(many_tasks_on_the_cpu), cmocka_unit_test(many_tasks_on_the_simulated_device)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
