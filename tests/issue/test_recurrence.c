// SPDX-License-Identifier: Apache-2.0
//
// Which way tasks go, on a device that only writes down what is asked of it. What graphs cost and gain is tested in virtual time
// (tests/sim/test_batches.c).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "issue/recurrence.h"
#include "issue/wait_history.h"

enum { WINDOW = 4096, LENGTH = 64, KINDS = 100000 };

// A graph of the device: the kinds of its tasks, which are all that is set in it.
typedef struct fake_graph {
  weir__cached_graph head;
  uint32_t count;
  uint64_t kinds[WEIR__LARGEST_BATCH];
} fake_graph;

static struct {
  weir_context *context;
  weir__recurrence *recurrence;
  weir__task tasks[WINDOW];
  weir__id next, predecessor[WINDOW][1];
  unsigned char codes[KINDS]; // whose addresses are codes
  const weir__batch *prepared;
  // What was asked of the device.
  uint32_t launched, in_graphs, graphs_made, graphs_set, direct, missed, drains, requests;
  // The direct path.
  bool direct_ready, direct_wants;
  bool independent;             // tasks come after nothing
  weir__id direct_last;         // that it has
  weir__id poisoned;            // when it drains, this task turns out to read poison; 0: none
  weir__cached_graph *last_run; // given back with the next one
} self;

// ---------------------------------------------------------------------------------------------------------------
// The device

static uint64_t kind_of(uint32_t index) {
  return (uintptr_t)self.prepared->collection->tasks[index].code;
}

static weir__graph_likeness compare(void *device, const weir__cached_graph *graph) {
  const fake_graph *fake = (const fake_graph *)graph;
  assert_ptr_equal(device, &self);
  if (fake->count != self.prepared->count) return WEIR__OTHER_TOPOLOGY;
  for (uint32_t i = 0; i < fake->count; i++) {
    if (fake->kinds[i] != kind_of(i)) return WEIR__OTHER_SHAPE;
  }
  return WEIR__SAME_GRAPH;
}

static bool set(void *device, weir__cached_graph *graph) {
  fake_graph *fake = (fake_graph *)graph;
  (void)device;
  for (uint32_t i = 0; i < fake->count; i++) fake->kinds[i] = kind_of(i);
  self.graphs_set++;
  return true;
}

static weir__cached_graph *make(void *device) {
  fake_graph *fake = calloc(1, sizeof *fake);
  (void)device;
  assert_non_null(fake);
  fake->count = self.prepared->count;
  for (uint32_t i = 0; i < fake->count; i++) fake->kinds[i] = kind_of(i);
  self.graphs_made++;
  return &fake->head;
}

static void destroy(void *device, weir__cached_graph *graph) {
  (void)device;
  free(graph);
}

// A task that is skipped poisons what the next one reads.
static void launch_task(void *device, weir__task *task) {
  (void)device;
  if (task->reads_poison && task->id + 1 < self.next) self.tasks[(task->id + 1) % WINDOW].reads_poison = true;
  self.launched++;
}

static bool prepare(void *device, const weir__batch *batch) {
  (void)device;
  self.prepared = batch;
  return true;
}

static bool launch_batch(void *device, const weir__batch *batch, weir__cached_graph *graph, bool same) {
  (void)device;
  (void)same;
  if (self.last_run != NULL) weir__graph_cache_give(weir__recurrence_graphs(self.recurrence), self.last_run, false);
  self.last_run = graph;
  for (uint32_t i = 0; i < batch->count; i++) assert_false(batch->collection->tasks[i].task->reads_poison);
  self.in_graphs += batch->count;
  return true;
}

// The graph is there at once.
static void request_graph(void *device, const weir__batch *batch) {
  self.requests++;
  weir__graph_cache_add(weir__recurrence_graphs(self.recurrence), make(device), batch->topology);
}

static bool is_ready(void *device) {
  (void)device;
  return self.direct_ready;
}

static bool wants(void *device, weir__task *const *tasks, uint32_t count) {
  (void)device;
  (void)tasks;
  assert_true(self.direct_ready && count > 0);
  return self.direct_wants;
}

static void take(void *device, weir__task *task) {
  (void)device;
  self.direct++;
  self.direct_last = task->id;
}

static void missed(void *device, weir__task *const *tasks, uint32_t count) {
  (void)device;
  (void)tasks;
  self.missed += count;
}

static bool has_any(void *device, const weir__id *tasks, uint32_t count) {
  (void)device;
  for (uint32_t i = 0; i < count; i++) {
    if (tasks[i] <= self.direct_last) return true;
  }
  return false;
}

static void drain(void *device) {
  (void)device;
  self.drains++;
  self.direct_last = 0;
  if (self.poisoned != 0) self.tasks[self.poisoned % WINDOW].reads_poison = true;
  self.poisoned = 0;
}

#define GRAPHS                                                                                                         \
  { .compare = compare, .set = set, .make = make, .destroy = destroy }

static const weir__direct_ops direct_ops = {
    .is_ready = is_ready, .wants = wants, .take = take, .missed = missed, .has_any = has_any, .drain = drain};
static const weir__recurrence_ops ops = {.graphs = GRAPHS,
                                         .direct = &direct_ops,
                                         .launch_task = launch_task,
                                         .prepare = prepare,
                                         .launch_batch = launch_batch,
                                         .request_graph = request_graph};

// ---------------------------------------------------------------------------------------------------------------
// Programs

static int set_up(void **state) {
  (void)state;
  memset(&self, 0, sizeof self);
  self.next = 1;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "sim"}, &self.context), WEIR_OK);
  self.recurrence =
      weir__recurrence_create(&ops, &self, weir__host_of(self.context), &(weir__recurrence_options){.window = WINDOW});
  assert_non_null(self.recurrence);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir__recurrence_destroy(self.recurrence);
  weir_context_release(self.context);
  return 0;
}

// A task behind the one before it.
static weir__task *next_task(const unsigned char *code) {
  uint32_t slot = self.next % WINDOW;
  self.predecessor[slot][0] = self.next - 1;
  self.tasks[slot] = (weir__task){.id = self.next++,
                                  .kind = WEIR__TASK_KERNEL,
                                  .code = code,
                                  .groups = {1, 1, 1},
                                  .predecessors = self.predecessor[slot],
                                  .predecessor_count = self.next > 2 && !self.independent};
  return &self.tasks[slot];
}

static void submit(uint32_t kind) {
  weir__task *task = next_task(&self.codes[kind]);
  weir__recurrence_add(self.recurrence, task, (uintptr_t)task->code, 1);
}

static void pass(uint32_t first_kind) {
  for (uint32_t i = 0; i < LENGTH; i++) submit(first_kind + i);
  weir__recurrence_flush(self.recurrence);
  assert_int_equal(weir__recurrence_stalled(self.recurrence), 0);
}

static uint32_t gone(void) {
  return self.launched + self.in_graphs + self.direct;
}

static void what_comes_again_goes_in_graphs(void **state) {
  (void)state;
  pass(0);
  assert_int_equal(self.in_graphs, 0);
  assert_int_equal(self.missed, LENGTH);
  for (int i = 0; i < 2; i++) pass(0);
  uint32_t before = self.in_graphs;
  assert_true(before > 0 && self.requests > 0);
  pass(0);
  assert_int_equal(self.in_graphs, before + LENGTH);
  assert_int_equal(gone(), 4 * LENGTH);
}

// A task that is no kernel's is launched at once, unless it comes after one that is collected.
static void others_pass_and_keep_the_order(void **state) {
  (void)state;
  submit(0);
  weir__task *copy = next_task(NULL);
  copy->kind = WEIR__TASK_COPY;
  copy->predecessor_count = 0;
  weir__recurrence_pass(self.recurrence, copy);
  assert_int_equal(self.launched, 1);
  assert_int_equal(weir__recurrence_stalled(self.recurrence), 1);
  submit(1);
  copy = next_task(NULL);
  copy->kind = WEIR__TASK_COPY;
  weir__recurrence_pass(self.recurrence, copy);
  assert_int_equal(weir__recurrence_stalled(self.recurrence), 0);
  assert_int_equal(gone(), 4);
}

static void what_is_new_takes_the_direct_path(void **state) {
  (void)state;
  self.direct_ready = self.direct_wants = true;
  pass(0);
  assert_int_equal(self.direct, LENGTH);
  assert_int_equal(self.missed, 0);
  self.direct_wants = false; // they do not fit
  pass(LENGTH);
  assert_int_equal(self.direct, LENGTH);
  assert_int_equal(self.missed, LENGTH);
}

// While all is new for long, tasks are not even collected.
static void after_long_tasks_are_not_collected(void **state) {
  (void)state;
  self.direct_ready = self.direct_wants = self.independent = true;
  uint32_t kind = 0;
  for (; kind < WEIR__LONG_NEW + 1024; kind += LENGTH) pass(kind);
  assert_int_equal(self.direct, kind);
  // Beyond the first ones of the sequence each goes at once.
  uint32_t stalled = 0;
  for (uint32_t i = 0; i < 2 * LENGTH; i++) {
    submit(kind++);
    if (weir__recurrence_stalled(self.recurrence) > 0) stalled = i + 1;
  }
  assert_true(stalled > 0 && stalled < 2 * LENGTH);
  assert_int_equal(gone(), kind);
  // One that does not fit has all looked at again.
  self.direct_wants = false;
  submit(kind++);
  assert_int_equal(weir__recurrence_stalled(self.recurrence), 1);
  weir__recurrence_flush(self.recurrence);
  assert_int_equal(gone(), kind);
}

// While a program repeats itself nothing takes the direct path; large graphs wait for what is on it, and the tasks of small ones are
// launched by themselves behind it.
static void graphs_come_first_where_a_program_repeats(void **state) {
  (void)state;
  enum { LONG = 600 };
  for (int round = 0; round < 4; round++) {
    for (uint32_t i = 0; i < LONG; i++) submit(i);
    weir__recurrence_flush(self.recurrence);
  }
  self.direct_ready = self.direct_wants = true;
  uint32_t direct = self.direct, in_graphs = self.in_graphs;
  self.direct_last = UINT64_MAX; // as if all had gone there
  for (uint32_t i = 0; i < LONG; i++) submit(i);
  weir__recurrence_flush(self.recurrence);
  assert_true(self.drains > 0);
  assert_true(self.in_graphs > in_graphs);
  assert_int_equal(self.direct, direct);
  assert_int_equal(gone(), 5 * LONG);
}

// While a graph waits for the direct path, a task that is collected turns out to read poison. It and those behind it are decided one by
// one, those that are collected for the next graph, too.
static void poison_comes_while_tasks_are_collected(void **state) {
  (void)state;
  enum { LONG = 600, AT = 100 };
  for (int round = 0; round < 4; round++) {
    for (uint32_t i = 0; i < LONG; i++) submit(i);
    weir__recurrence_flush(self.recurrence);
  }
  self.direct_ready = true;
  self.direct_last = UINT64_MAX;
  self.poisoned = self.next + AT;
  uint32_t launched = self.launched;
  for (uint32_t i = 0; i < LONG; i++) submit(i);
  weir__recurrence_flush(self.recurrence);
  assert_true(self.drains > 0);
  assert_int_equal(self.poisoned, 0);
  assert_true(self.launched >= launched + LONG - AT);
  assert_int_equal(gone(), 5 * LONG);
}

// Tasks of a program that waits often have turns on the direct path, in which nothing is collected. Before that path is there, it is
// asked for although graphs serve.
static void programs_that_wait_often_try_the_direct_path(void **state) {
  (void)state;
  enum { STRETCH = 16, STRETCHES = WEIR__TURN_STRETCHES };
  uint32_t total = 0, direct_turns = 0;
  for (uint32_t turn = 0; turn < 3 + WEIR__TRIAL_TURNS; turn++) {
    uint32_t direct = self.direct, missed = self.missed, in_graphs = self.in_graphs;
    for (uint32_t i = 0; i < STRETCHES; i++) {
      for (uint32_t j = 0; j < STRETCH; j++) submit(j);
      if (self.direct > direct) assert_int_equal(weir__recurrence_stalled(self.recurrence), 0);
      weir__recurrence_note_wait(self.recurrence);
      weir__recurrence_flush(self.recurrence);
      self.direct_last = 0; // all is done
    }
    total += STRETCHES * STRETCH;
    assert_int_equal(gone(), total);
    bool all_direct = self.direct == direct + STRETCHES * STRETCH;
    direct_turns += all_direct;
    assert_true(all_direct || self.direct == direct);
    if (turn == 2) { // graphs are there, and the direct path is not
      assert_int_equal(self.in_graphs, in_graphs + STRETCHES * STRETCH);
      assert_int_equal(self.missed, missed + STRETCHES * STRETCH);
      self.direct_ready = self.direct_wants = true;
    }
  }
  assert_true(direct_turns >= WEIR__TRIAL_TURNS / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_comes_again_goes_in_graphs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(others_pass_and_keep_the_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_new_takes_the_direct_path, set_up, tear_down),
      cmocka_unit_test_setup_teardown(after_long_tasks_are_not_collected, set_up, tear_down),
      cmocka_unit_test_setup_teardown(graphs_come_first_where_a_program_repeats, set_up, tear_down),
      cmocka_unit_test_setup_teardown(poison_comes_while_tasks_are_collected, set_up, tear_down),
      cmocka_unit_test_setup_teardown(programs_that_wait_often_try_the_direct_path, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
