// SPDX-License-Identifier: Apache-2.0
//
// Graphs that several workers run: every node once per launch, after those that it depends on.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "meeting.h"
#include "random.h"
#include "weir/graph.h"

enum { MAX_NODES = 300, BUFFERS = 8, BYTES = 64, MAX_ARGS = 3 };

typedef struct graph_test graph_test;

typedef struct node {
  graph_test *test;
  uint32_t index;
  weir_mode modes[BUFFERS]; // 0: not used
  atomic_uint runs;
  bool fails;
} node;

struct graph_test {
  node nodes[MAX_NODES];
  uint32_t count;
  atomic_uint out_of_order;
};

static graph_test self;

static bool conflict(const node *a, const node *b) {
  for (int i = 0; i < BUFFERS; i++) {
    if (a->modes[i] != 0 && b->modes[i] != 0 && (a->modes[i] != WEIR_READ || b->modes[i] != WEIR_READ)) return true;
  }
  return false;
}

// A node of launch n runs when it ran n - 1 times, and all earlier nodes in conflict n times; later ones not yet.
static void run_node(const weir_work *work) {
  node *now = work->user;
  graph_test *test = now->test;
  unsigned before = atomic_load(&now->runs);
  for (uint32_t i = 0; i < test->count; i++) {
    const node *other = &test->nodes[i];
    if (i == now->index || !conflict(now, other)) continue;
    unsigned expected = i < now->index ? before + 1 : before;
    if (atomic_load(&other->runs) != expected) atomic_fetch_add(&test->out_of_order, 1);
  }
  for (volatile uint32_t i = now->index * 7919 % 3000; i > 0; i--) continue;
  atomic_fetch_add(&now->runs, 1);
  if (now->fails) weir_work_fail(work, "as told");
}

static void build(weir_context *context, weir_graph *graph, weir_buffer *buffers[BUFFERS], weir_kernel *kernel,
                  uint64_t seed, uint32_t count) {
  random_state random = {seed};
  memset(&self, 0, sizeof self);
  self.count = count;
  (void)context;
  for (uint32_t i = 0; i < count; i++) {
    node *now = &self.nodes[i];
    now->test = &self;
    now->index = i;
    weir_arg args[MAX_ARGS];
    uint32_t arg_count = 0;
    for (uint32_t wanted = random_between(&random, 0, MAX_ARGS); arg_count < wanted;) {
      uint32_t buffer = random_below(&random, BUFFERS);
      if (now->modes[buffer] != 0) break;
      now->modes[buffer] = random_chance(&random, 60) ? WEIR_READ : WEIR_READ_WRITE;
      args[arg_count++] = (weir_arg){.mode = now->modes[buffer], .buffer = buffers[buffer], .bytes = WEIR_WHOLE};
    }
    weir_task task = {.user = now, .args = args, .arg_count = arg_count};
    if (random_chance(&random, 50))
      task.kernel = kernel;
    else
      task.host = run_node;
    assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  }
}

static void check_runs(uint32_t workers, uint64_t seed, uint32_t count, unsigned launches) {
  weir_context *context = open_cpu(workers);
  weir_buffer *buffers[BUFFERS];
  unsigned char zero[BYTES] = {0};
  for (int i = 0; i < BUFFERS; i++) {
    assert_int_equal(weir_buffer_create(context, BYTES, &buffers[i]), WEIR_OK);
    assert_int_equal(weir_copy_in(buffers[i], 0, BYTES, zero, NULL), WEIR_OK);
  }
  weir_kernel *kernel;
  assert_int_equal(weir_kernel_create(context, "node", &kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(kernel, run_node), WEIR_OK);
  weir_graph *graph;
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  build(context, graph, buffers, kernel, seed, count);
  for (unsigned i = 0; i < launches; i++) {
    assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
    if (i % 3 == 0) finish_all(context);
    if (i % 3 == 0) assert_int_equal(atomic_load(&self.nodes[0].runs), i + 1);
  }
  finish_all(context);
  for (uint32_t i = 0; i < count; i++) assert_int_equal(atomic_load(&self.nodes[i].runs), launches);
  // Nodes that conflict with nobody may run for two launches at once: they prove nothing, and nothing is claimed of them.
  assert_int_equal(atomic_load(&self.out_of_order), 0);
  weir_context_release(context);
}

static void random_graphs(void **state) {
  (void)state;
  const uint32_t workers[] = {1, 2, 5, 13};
  for (int w = 0; w < 4; w++) {
    for (uint64_t seed = 1; seed <= 8; seed++) check_runs(workers[w], seed, (uint32_t)seed * 30, 10);
  }
}

// One node that releases far more than a list on the stack holds, and one that waits for all of them.
static void hubs(void **state) {
  (void)state;
  for (uint32_t workers = 1; workers <= 5; workers += 2) {
    weir_context *context = open_cpu(workers);
    weir_buffer *buffer;
    assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
    weir_graph *graph;
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    memset(&self, 0, sizeof self);
    self.count = MAX_NODES;
    for (uint32_t i = 0; i < MAX_NODES; i++) {
      node *now = &self.nodes[i];
      now->test = &self;
      now->index = i;
      now->modes[0] = i == 0 ? WEIR_WRITE : i + 1 == MAX_NODES ? WEIR_READ_WRITE : WEIR_READ;
      weir_arg arg = {.mode = now->modes[0], .buffer = buffer, .bytes = WEIR_WHOLE};
      weir_task task = {.host = run_node, .user = now, .args = &arg, .arg_count = 1};
      assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
    }
    for (unsigned launch = 1; launch <= 20; launch++) {
      assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
      finish_all(context);
      for (uint32_t i = 0; i < MAX_NODES; i++) assert_int_equal(atomic_load(&self.nodes[i].runs), launch);
    }
    assert_int_equal(atomic_load(&self.out_of_order), 0);
    weir_context_release(context);
  }
}

// A node that fails takes those that read from it along, and no others.
static void nodes_that_fail(void **state) {
  (void)state;
  for (uint32_t workers = 1; workers <= 5; workers += 2) {
    weir_context *context = open_cpu(workers);
    weir_buffer *buffers[2];
    weir_graph *graph;
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    memset(&self, 0, sizeof self);
    self.count = 40;
    for (int i = 0; i < 2; i++) assert_int_equal(weir_buffer_create(context, BYTES, &buffers[i]), WEIR_OK);
    for (uint32_t i = 0; i < self.count; i++) { // two chains
      node *now = &self.nodes[i];
      now->test = &self;
      now->index = i;
      now->fails = i == 20;
      now->modes[i % 2] = i < 2 ? WEIR_WRITE : WEIR_READ_WRITE;
      weir_arg arg = {.mode = now->modes[i % 2], .buffer = buffers[i % 2], .bytes = WEIR_WHOLE};
      weir_task task = {.host = run_node, .user = now, .args = &arg, .arg_count = 1};
      assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
    }
    for (unsigned launch = 1; launch <= 10; launch++) {
      weir_event *event;
      assert_int_equal(weir_graph_launch(graph, &event), WEIR_OK);
      assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
      weir_event_release(event);
      for (uint32_t i = 0; i < self.count; i++)
        assert_int_equal(atomic_load(&self.nodes[i].runs), i % 2 == 0 && i > 20 ? 0 : launch);
      assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
    }
    weir_context_release(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_graphs),
      cmocka_unit_test(hubs),
      cmocka_unit_test(nodes_that_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
