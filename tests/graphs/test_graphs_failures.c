// SPDX-License-Identifier: Apache-2.0
//
// Nodes of graphs that fail, and poison from outside: which nodes run, what they leave, and which bytes are poisoned then are as
// if nodes ran one after another. An edge that others imply is left out, though a failure must reach who would read by it.
// WEIR_TEST_SEED seeds it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/context.h"
#include "gate.h"
#include "part.h"
#include "random_graph.h"
#include "weir/reduce.h"

#ifdef WEIR_SMALL_TESTS
enum { ROUNDS = 60, LAUNCHES = 4 };
#else
enum { ROUNDS = 1000, LAUNCHES = 4 };
#endif

typedef struct world {
  weir_context *context;
  weir_buffer *buffers[GRAPH_BUFFERS];
  graph_memory memory;
  uint64_t seed;
  bool boxes; // programs, and what disturbs them, use boxes
} world;

static uint64_t seed_given(void) {
  const char *text = getenv("WEIR_TEST_SEED");
  return text == NULL ? 1 : strtoull(text, NULL, 0);
}

static void fill(world *w) {
  memset(&w->memory, 0, sizeof w->memory);
  for (int i = 0; i < GRAPH_BUFFERS; i++) {
    memset(w->memory.bytes[i], i + 1, GRAPH_BYTES);
    assert_int_equal(weir_copy_in(w->buffers[i], 0, GRAPH_BYTES, w->memory.bytes[i], NULL), WEIR_OK);
  }
  weir_finish(w->context); // the memory changes with the model
}

static void set_up(world *w, const char *devices, uint64_t seed, bool boxes) {
  *w = (world){.seed = seed, .boxes = boxes};
  const weir_context_options options = {.devices = devices, .seed = seed};
  assert_int_equal(weir_context_create(&options, &w->context), WEIR_OK);
  for (int i = 0; i < GRAPH_BUFFERS; i++)
    assert_int_equal(weir_buffer_create(w->context, GRAPH_BYTES, &w->buffers[i]), WEIR_OK);
  fill(w);
}

static void fail_task(const weir_work *work) {
  weir_work_fail(work, "on purpose");
}

// A task that fails, or one that overwrites bytes, outside the graph.
static void disturb(world *w, random_state *random) {
  static const uint8_t fresh[GRAPH_BYTES] = {7, 7, 7, 7, 7, 7, 7, 7};
  bool fails = random_chance(random, 60);
  graph_arg at;
  graph_generate_arg(&at, random, w->boxes && fails);
  at.mode = WEIR_WRITE;
  if (fails) {
    const weir_arg arg = graph_make_arg(&at, w->buffers[at.buffer]);
    const weir_task task = {.host = fail_task, .args = &arg, .arg_count = 1};
    assert_int_equal(weir_submit(w->context, &task, NULL), WEIR_OK);
  } else {
    assert_int_equal(weir_copy_in(w->buffers[at.buffer], at.lo, at.bytes, fresh, NULL), WEIR_OK);
    memcpy(w->memory.bytes[at.buffer] + at.lo, fresh, at.bytes);
  }
  for (uint32_t byte = 0; byte < GRAPH_BYTES; byte++) {
    if (graph_arg_has(&at, byte)) w->memory.poisoned[at.buffer][byte] = fails;
  }
}

static weir_status read_byte(const world *w, uint32_t buffer, uint32_t byte, uint8_t *out_value) {
  weir_event *event = NULL;
  assert_int_equal(weir_copy_out(w->buffers[buffer], byte, 1, out_value, &event), WEIR_OK);
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  return status;
}

static void compare(const world *w) {
  for (uint32_t i = 0; i < GRAPH_BUFFERS; i++) {
    for (uint32_t byte = 0; byte < GRAPH_BYTES; byte++) {
      uint8_t value;
      bool poisoned = read_byte(w, i, byte, &value) != WEIR_OK, wanted = w->memory.poisoned[i][byte];
      if (poisoned != wanted)
        fail_msg("seed %llu: byte %u of buffer %u is %spoisoned", (unsigned long long)w->seed, byte, i,
                 poisoned ? "" : "not ");
      if (!poisoned && value != w->memory.bytes[i][byte])
        fail_msg("seed %llu: byte %u of buffer %u is wrong", (unsigned long long)w->seed, byte, i);
    }
  }
}

static void compare_runs(const world *w, const graph_program *program, const bool *wanted) {
  for (uint32_t i = 0; i < program->node_count; i++) {
    if (atomic_load(&program->nodes[i].ran) != wanted[i])
      fail_msg("seed %llu: node %u %s", (unsigned long long)w->seed, i, wanted[i] ? "did not run" : "ran");
  }
}

static weir_graph *record(const world *w, graph_program *program) {
  weir_graph *graph;
  assert_int_equal(weir_graph_create(w->context, NULL, &graph), WEIR_OK);
  const char *error = graph_record(program, graph, w->buffers);
  if (error != NULL) fail_msg("seed %llu: %s", (unsigned long long)w->seed, error);
  return graph;
}

// One launch after another, waited for.
static void check_launches(const char *devices, bool boxes) {
  for (uint64_t seed = seed_given() * 100000, end = seed + part_count(ROUNDS); seed < end; seed++) {
    random_state random = {seed};
    static graph_program program;
    world w;
    set_up(&w, devices, seed, boxes);
    graph_generate(&program, &random, random_between(&random, 1, GRAPH_MOST_NODES), boxes);
    weir_graph *graph = record(&w, &program);
    for (int i = 0; i < LAUNCHES; i++) {
      bool wanted[GRAPH_MOST_NODES];
      for (uint32_t j = random_below(&random, 3); j > 0; j--) disturb(&w, &random);
      graph_choose_failures(&program, &random, random_chance(&random, 30) ? 0 : random_below(&random, 40));
      graph_run_serially(&program, &w.memory, wanted);
      assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
      weir_finish(w.context);
      compare_runs(&w, &program, wanted);
      compare(&w);
    }
    weir_context_release(w.context);
  }
}

// Launches of two graphs in flight at once, with failing tasks in between: readers learn of poison while they wait.
static void check_in_flight(const char *devices, bool boxes) {
  for (uint64_t seed = seed_given() * 100000, end = seed + part_count(ROUNDS); seed < end; seed++) {
    random_state random = {seed};
    static graph_program programs[2];
    weir_graph *graphs[2];
    world w;
    set_up(&w, devices, seed, boxes);
    for (int i = 0; i < 2; i++) {
      graph_generate(&programs[i], &random, random_between(&random, 1, 20), boxes);
      graph_choose_failures(&programs[i], &random, 10);
      graphs[i] = record(&w, &programs[i]);
    }
    for (int i = 0; i < 2 * LAUNCHES; i++) {
      uint32_t which = random_below(&random, 2);
      graph_run_serially(&programs[which], &w.memory, NULL);
      assert_int_equal(weir_graph_launch(graphs[which], NULL), WEIR_OK);
      if (random_chance(&random, 30)) disturb(&w, &random);
    }
    weir_finish(w.context);
    compare(&w);
    weir_context_release(w.context);
  }
}

static void on_the_cpu(void **state) {
  (void)state;
  check_launches("cpu:3", false);
}

static void on_a_simulated_device(void **state) {
  (void)state;
  check_launches("cpu:1,sim:ideal", false);
}

static void with_boxes(void **state) {
  (void)state;
  check_launches("cpu:3", true);
}

static void in_flight(void **state) {
  (void)state;
  check_in_flight("cpu:3", false);
}

static void in_flight_with_boxes(void **state) {
  (void)state;
  check_in_flight("cpu:3", true);
}

// R writes nothing; W fails, the reader R0 comes before V, and V before R1, which reads what W should have written: the edge from W to
// R1 is implied by W, R0, V, R1, on which no data goes from R0 to V.
static void failure_crosses_an_edge_without_data(void **state) {
  (void)state;
  static graph_program program = {
      .nodes = {{.args = {{.buffer = 0, .mode = WEIR_WRITE, .lo = 0, .bytes = 4}}, .arg_count = 1, .fails = true},
                {.args = {{.buffer = 0, .mode = WEIR_READ, .lo = 0, .bytes = 8}}, .arg_count = 1},
                {.args = {{.buffer = 0, .mode = WEIR_WRITE, .lo = 4, .bytes = 4}}, .arg_count = 1},
                {.args = {{.buffer = 0, .mode = WEIR_READ, .lo = 0, .bytes = 8},
                          {.buffer = 1, .mode = WEIR_WRITE, .lo = 0, .bytes = 4}},
                 .arg_count = 2}},
      .node_count = 4};
  const bool wanted[] = {true, false, true, false};
  world w;
  set_up(&w, "cpu:2", 0, false);
  weir_graph *graph = record(&w, &program);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  weir_finish(w.context);
  weir_graph_info info;
  assert_int_equal(weir_graph_information(graph, &info), WEIR_OK);
  assert_int_equal(info.edges, 3);
  compare_runs(&w, &program, wanted);
  graph_run_serially(&program, &w.memory, NULL);
  compare(&w);
  weir_context_release(w.context);
}

static void nothing(const weir_work *work) {
  (void)work;
}

// A launch is cancelled whose graph was released, so that it is freed with it: the tasks that read its outputs name it.
static void readers_of_a_cancelled_launch_name_it(void **state) {
  (void)state;
  world w;
  set_up(&w, "cpu:1", 0, false);
  gate before = {0};
  assert_int_equal(gate_submit(w.context, &before, NULL, 0, NULL), WEIR_OK);
  gate_await(&before, 1);
  weir_graph *graph;
  assert_int_equal(weir_graph_create(w.context, NULL, &graph), WEIR_OK);
  const weir_arg updated = weir_updates(w.buffers[0]), read = weir_reads(w.buffers[0]);
  const weir_task node = {.host = nothing, .args = &updated, .arg_count = 1};
  for (int i = 0; i < 2; i++) assert_int_equal(weir_graph_add(graph, &node, NULL), WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
  weir_context_cancel(w.context);
  weir_event *event;
  const weir_task reader = {.host = nothing, .args = &read, .arg_count = 1};
  assert_int_equal(weir_submit(w.context, &reader, &event), WEIR_OK);
  gate_open(&before);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  assert_non_null(strstr(weir_event_message(event), "for bytes [0, 24)"));
  assert_non_null(strstr(weir_event_message(event), "'graph'"));
  weir_event_release(event);
  weir_context_release(w.context);
}

// Of a launch one node fails, which wrote between the rows that a task reads.
static void a_task_reads_rows_around_what_failed(void **state) {
  (void)state;
  const weir_box rows = {.width = 2, .pitch = 6, .rows = 3};
  world w;
  set_up(&w, "cpu:1", 0, true);
  gate before = {0};
  assert_int_equal(gate_submit(w.context, &before, NULL, 0, NULL), WEIR_OK);
  gate_await(&before, 1);
  weir_graph *graph;
  assert_int_equal(weir_graph_create(w.context, NULL, &graph), WEIR_OK);
  const weir_arg all = weir_writes(w.buffers[0]), between = weir_updates_range(w.buffers[0], 2, 4);
  const weir_arg read = weir_reads_box(w.buffers[0], 0, &rows), read_between = weir_reads_box(w.buffers[0], 3, &rows);
  assert_int_equal(weir_graph_add(graph, &(weir_task){.host = nothing, .args = &all, .arg_count = 1}, NULL), WEIR_OK);
  assert_int_equal(weir_graph_add(graph, &(weir_task){.host = fail_task, .args = &between, .arg_count = 1}, NULL),
                   WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  weir_event *around, *inside;
  assert_int_equal(weir_submit(w.context, &(weir_task){.host = nothing, .args = &read, .arg_count = 1}, &around),
                   WEIR_OK);
  assert_int_equal(
      weir_submit(w.context, &(weir_task){.host = nothing, .args = &read_between, .arg_count = 1}, &inside), WEIR_OK);
  gate_open(&before);
  assert_int_equal(weir_event_wait(around, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_event_wait(inside, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  weir_event_release(around);
  weir_event_release(inside);
  weir_context_release(w.context);
}

// A task fails that wrote rows. Of a launch one node reads between the rows, and another all.
static void a_node_reads_between_rows_that_failed(void **state) {
  (void)state;
  const weir_box rows = {.width = 2, .pitch = 6, .rows = 3};
  world w;
  set_up(&w, "cpu:1", 0, true);
  const weir_arg failed = weir_writes_box(w.buffers[0], 0, &rows);
  assert_int_equal(weir_submit(w.context, &(weir_task){.host = fail_task, .args = &failed, .arg_count = 1}, NULL),
                   WEIR_OK);
  static graph_program program = {
      .nodes = {{.args = {{.buffer = 0, .mode = WEIR_READ, .lo = 2, .bytes = 4},
                          {.buffer = 1, .mode = WEIR_WRITE, .lo = 0, .bytes = 4}},
                 .arg_count = 2},
                {.args = {{.buffer = 0, .mode = WEIR_READ, .lo = 0, .bytes = GRAPH_BYTES}}, .arg_count = 1}},
      .node_count = 2};
  const bool wanted[] = {true, false};
  weir_graph *graph = record(&w, &program);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  weir_finish(w.context);
  compare_runs(&w, &program, wanted);
  weir_context_release(w.context);
}

// Tasks that commute ask what lies between them, also when it is done: the slot of a launch still tells what that overwrote.
static void a_launch_that_is_done_leaves_what_it_overwrote(void **state) {
  (void)state;
  world w;
  set_up(&w, "cpu:1", 0, false);
  const weir_arg commuted = weir_commutes(w.buffers[0]);
  const weir_task task = {.host = nothing, .args = &commuted, .arg_count = 1};
  assert_int_equal(weir_submit(w.context, &task, NULL), WEIR_OK);
  static graph_program program = {.nodes = {{.args = {{.buffer = 0, .mode = WEIR_WRITE, .lo = 4, .bytes = 8},
                                                      {.buffer = 0, .mode = WEIR_READ, .lo = 16, .bytes = 4},
                                                      {.buffer = 1, .mode = WEIR_WRITE, .lo = 0, .bytes = 4}},
                                             .arg_count = 3}},
                                  .node_count = 1};
  weir_graph *graph = record(&w, &program);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(weir_finish(w.context), WEIR_OK);
  weir__host *host = &w.context->host;
  weir__host_lock(host);
  const weir__task *launch = weir__window_task(&host->window, host->window.next - 1);
  assert_ptr_equal(launch->accesses, launch->payload);
  assert_int_equal(launch->access_count, 1);
  assert_ptr_equal(launch->accesses[0].buffer, w.buffers[0]);
  assert_int_equal(launch->accesses[0].mode, WEIR_WRITE);
  assert_int_equal(launch->accesses[0].lo, 4);
  assert_int_equal(launch->accesses[0].hi, 12);
  weir__host_unlock(host);
  weir_context_release(w.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(failure_crosses_an_edge_without_data),
                                     cmocka_unit_test(on_the_cpu),
                                     cmocka_unit_test(on_a_simulated_device),
                                     cmocka_unit_test(with_boxes),
                                     cmocka_unit_test(in_flight),
                                     cmocka_unit_test(in_flight_with_boxes),
                                     cmocka_unit_test(a_task_reads_rows_around_what_failed),
                                     cmocka_unit_test(a_node_reads_between_rows_that_failed),
                                     cmocka_unit_test(a_launch_that_is_done_leaves_what_it_overwrote),
                                     cmocka_unit_test(readers_of_a_cancelled_launch_name_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
