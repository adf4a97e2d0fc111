// SPDX-License-Identifier: Apache-2.0
//
// Graphs of many tasks as programs have them: edges are as few as the order needs, so that they can be built at all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/graph.h"

#ifdef WEIR_PLAIN_TESTS
enum { TASKS = 20000 };
#else
enum { TASKS = 4000 };
#endif

static weir_context *context;
static weir_graph *graph;

static void nothing(const weir_work *work) {
  (void)work;
}

static void set_up(const char *devices) {
  const weir_context_options options = {.devices = devices};
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
}

static weir_buffer *make_buffer(uint64_t bytes) {
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, bytes, &buffer), WEIR_OK);
  assert_int_equal(weir_fill(buffer, 0, WEIR_WHOLE, 0, NULL), WEIR_OK);
  return buffer;
}

static void add(weir_arg first, weir_arg second) {
  const weir_arg args[] = {first, second};
  const weir_task task = {.host = nothing, .args = args, .arg_count = second.buffer == NULL ? 1 : 2};
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
}

// Launches it twice. Returns the edges.
static uint64_t launch(void) {
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(weir_graph_wait(graph, WEIR_FOREVER), WEIR_OK);
  weir_graph_info info;
  assert_int_equal(weir_graph_information(graph, &info), WEIR_OK);
  weir_context_release(context);
  return info.edges;
}

static const weir_arg none;

// Readers of all and writers of parts of many buffers, by turns: who comes before whom is far away.
static void chains_in_turn_stay_chains(void **state) {
  (void)state;
  enum { BUFFERS = 100 };
  set_up("cpu:2");
  weir_buffer *buffers[BUFFERS];
  for (int i = 0; i < BUFFERS; i++) buffers[i] = make_buffer(4 * TASKS / BUFFERS);
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t at = i / BUFFERS;
    weir_buffer *buffer = buffers[i % BUFFERS];
    add(at % 2 == 0 ? weir_reads(buffer) : weir_writes_range(buffer, 4 * (uint64_t)at, 4), none);
  }
  assert_int_equal(launch(), TASKS - BUFFERS);
}

static void writers_of_other_parts_have_no_edges(void **state) {
  (void)state;
  set_up("cpu:2");
  weir_buffer *buffer = make_buffer(4 * TASKS);
  for (uint32_t i = 0; i < TASKS; i++) add(weir_writes_range(buffer, 4 * (uint64_t)i, 4), none);
  assert_int_equal(launch(), 0);
}

static void readers_of_more_and_more_have_no_edges(void **state) {
  (void)state;
  set_up("cpu:2");
  weir_buffer *buffer = make_buffer(4 * TASKS);
  for (uint32_t i = 0; i < TASKS; i++) add(weir_reads_range(buffer, 0, 4 * (uint64_t)(i + 1)), none);
  add(weir_updates(buffer), none);
  assert_int_equal(launch(), TASKS);
}

// An input that came in parts, and a chain of tasks that read it: those after the first come after the parts anyway. A part that
// only others use is written meanwhile.
static void a_chain_of_readers_has_the_parts_of_its_input_once(void **state) {
  (void)state;
  enum { PARTS = 1000 };
  set_up("cpu:2");
  weir_buffer *input = make_buffer(4 * (PARTS + 1)), *chain = make_buffer(4);
  for (uint64_t i = 0; i < PARTS; i++) add(weir_writes_range(input, 4 * i, 4), none);
  for (uint32_t i = PARTS; i < TASKS; i++) {
    if (i % 2 == 0)
      add(weir_reads_range(input, 0, 4 * PARTS), weir_updates(chain));
    else
      add(weir_writes_range(input, 4 * PARTS, 4), none);
  }
  assert_int_equal(launch(), PARTS + 2 * ((TASKS - PARTS) / 2 - 1));
}

// Rounds of updates of parts and a reader of all.
static void rounds_have_their_own_edges_alone(void **state) {
  (void)state;
  enum { PARTS = 250 };
  set_up("cpu:2");
  weir_buffer *buffer = make_buffer(4 * PARTS);
  uint32_t rounds = TASKS / (PARTS + 1);
  for (uint32_t i = 0; i < rounds; i++) {
    for (uint64_t j = 0; j < PARTS; j++) add(weir_updates_range(buffer, 4 * j, 4), none);
    add(weir_reads(buffer), none);
  }
  assert_int_equal(launch(), PARTS * (2 * rounds - 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chains_in_turn_stay_chains),
                                     cmocka_unit_test(writers_of_other_parts_have_no_edges),
                                     cmocka_unit_test(readers_of_more_and_more_have_no_edges),
                                     cmocka_unit_test(a_chain_of_readers_has_the_parts_of_its_input_once),
                                     cmocka_unit_test(rounds_have_their_own_edges_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
