// SPDX-License-Identifier: Apache-2.0
//
// Recorded graphs on CUDA with enqueue functions that are not captured: the rest goes as executable graphs. How nodes
// are split, on random graphs; and, on the driver of stub/, results, failures, other arguments and times.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "device/cuda/graph/segments.h"
#include "part.h"
#include "random.h"
#include "share.h"
#include "weir/enqueue.h"
#include "weir/graph.h"

enum { COUNT = 64, BYTES = COUNT * 4, BUFFERS = 4, LAYERS = 12, LAUNCHES = 5, MOST_LANES = 256, MOST_NODES = 60 };

// ---------------------------------------------------------------------------------------------------------------
// Segments

typedef struct plan {
  weir__plan_graph order;
  bool apart[MOST_NODES];
} plan;

static void make_plan(plan *p, random_state *random) {
  weir__plan_edge edges[3 * MOST_NODES];
  uint32_t count = 1 + random_below(random, MOST_NODES), edge_count = 0, percent = random_below(random, 60);
  for (uint32_t i = 0; i < count; i++) {
    p->apart[i] = random_chance(random, percent);
    for (uint32_t j = random_below(random, 4); j > 0 && i > 0; j--)
      edges[edge_count++] = (weir__plan_edge){random_below(random, i), i};
  }
  share_ok(weir__plan_graph_build(count, edges, edge_count, &p->order));
}

// Nodes that go apart on the longest path of such.
static uint32_t longest(const plan *p) {
  uint32_t most = 0, depths[MOST_NODES] = {0};
  for (uint32_t i = 0; i < p->order.task_count; i++) {
    for (uint64_t j = p->order.first[i]; j < p->order.first[i + 1]; j++)
      if (depths[p->order.predecessors[j]] > depths[i]) depths[i] = depths[p->order.predecessors[j]];
    depths[i] += p->apart[i];
    if (depths[i] > most) most = depths[i];
  }
  return most;
}

static uint32_t segment_of(const weir__cuda_segments *segments, uint32_t place) {
  uint32_t s = 0;
  while (place >= segments->list[s].first + segments->list[s].count) s++;
  return s;
}

static void check_split(const plan *p, const weir__cuda_segments *segments) {
  uint32_t places[MOST_NODES], found = 0, next = 0;
  for (uint32_t s = 0; s < segments->count; s++) {
    assert_int_equal(segments->list[s].first, next);
    assert_true(segments->list[s].count > 0);
    next += segments->list[s].count;
  }
  assert_int_equal(next, p->order.task_count);
  assert_true(segments->count <= 2 * longest(p) + 1);
  for (uint32_t i = 0; i < next; i++, found++) places[weir__cuda_segments_node(segments, i)] = i;
  for (uint32_t i = 0; i < next; i++) {
    const weir__cuda_segment *segment = &segments->list[segment_of(segments, places[i])];
    uint64_t inside = segments->first[places[i]];
    assert_int_equal(segment->apart, p->apart[i]);
    for (uint64_t j = p->order.first[i]; j < p->order.first[i + 1]; j++) {
      uint32_t before = places[p->order.predecessors[j]];
      uint32_t other = segment_of(segments, before);
      assert_true(other <= segment_of(segments, places[i]) && before < places[i]);
      if (&segments->list[other] == segment)
        assert_int_equal(segments->predecessors[inside++], before - segment->first);
    }
    assert_true(inside == segments->first[places[i] + 1] && (!segment->apart || inside == segments->first[places[i]]));
  }
}

static void test_split(void **state) {
  (void)state;
  const char *given = getenv("WEIR_TEST_SEED");
  random_state random = {.value = given != NULL ? strtoull(given, NULL, 10) : 1};
  print_message("seed %llu\n", (unsigned long long)random.value);
  for (uint32_t i = 0; i < 500; i++) {
    plan p;
    weir__cuda_segments segments;
    make_plan(&p, &random);
    assert_true(weir__cuda_segments_make(&segments, &p.order, p.apart));
    check_split(&p, &segments);
    weir__cuda_segments_free(&segments);
    memset(p.apart, 0, sizeof p.apart);
    assert_true(weir__cuda_segments_make(&segments, &p.order, NULL));
    assert_int_equal(segments.count, 1);
    check_split(&p, &segments);
    weir__cuda_segments_free(&segments);
    for (uint64_t nth = 1; nth <= 6; nth++) {
      weir__allocate_fail_at(nth);
      assert_false(weir__cuda_segments_make(&segments, &p.order, p.apart));
      weir__cuda_segments_free(&segments);
    }
    weir__allocate_fail_at(0);
    weir__plan_graph_free(&p.order);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// A graph of four chains of twelve steps. One step of the first chain is not captured; the second chain follows it from
// there on.

typedef struct library {
  const share *s;
  CUfunction sum;
  atomic_bool busy[MOST_LANES];
  atomic_uint calls, captures;
  atomic_uint failing; // calls from now on until one fails; 0: none
} library;

static uint32_t number(const weir_enqueue_arg *arg) {
  uint32_t value;
  memcpy(&value, arg->value, sizeof value);
  return value;
}

// data[i] = data[i] * 3 + value: (data, value).
static weir_status step(const weir_enqueue *call) {
  library *lib = call->data;
  uint64_t pointer = call->args[0].pointer;
  uint32_t count = COUNT, value = number(&call->args[1]);
  void *parameters[] = {&pointer, &count, &value};
  if (call->lane >= call->lane_count || atomic_exchange(&lib->busy[call->lane], true)) abort();
  atomic_fetch_add(&lib->calls, 1);
  if (call->capturing) atomic_fetch_add(&lib->captures, 1);
  CUresult result =
      lib->s->driver->cuLaunchKernel(lib->s->own_step, 1, 1, 1, 1, 1, 1, 0, call->queue, parameters, NULL);
  atomic_store(&lib->busy[call->lane], false);
  if (atomic_load(&lib->failing) > 0 && atomic_fetch_sub(&lib->failing, 1) == 1) weir_enqueue_fail(call, "on purpose");
  return result == CUDA_SUCCESS ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

static weir_status not_in_a_capture(const weir_enqueue *call) {
  if (call->capturing) weir_enqueue_fail(call, "not in a capture");
  return step(call);
}

typedef struct scene {
  share *s;
  library lib, other; // of the nodes that are captured, and of that which is not
  weir_kernel *kernel, *apart;
  weir_buffer *buffers[BUFFERS];
  weir_graph *graph;
  uint32_t node; // that is not captured
} scene;

static weir_kernel *make_kernel(const share *s, library *lib, weir_enqueue_code code, const char *name) {
  weir_kernel *kernel;
  memset(lib, 0, sizeof *lib);
  lib->s = s;
  code.data = lib;
  share_ok(weir_kernel_create(s->context, name, &kernel));
  share_ok(weir_kernel_set_enqueue(kernel, "cuda", &code));
  return kernel;
}

static uint32_t add(scene *g, weir_kernel *kernel, weir_buffer *buffer, weir_buffer *also, uint32_t value) {
  uint32_t node, count = 2;
  weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value), {0}};
  if (also != NULL) args[count++] = weir_reads(also);
  share_ok(weir_graph_add(g->graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = count}, &node));
  return node;
}

static void add_set(scene *g, weir_buffer *buffer, uint32_t value) {
  uint32_t count = COUNT;
  weir_arg args[] = {weir_writes(buffer), weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  share_ok(weir_graph_add(g->graph,
                          &(weir_task){.kernel = g->s->set, .device = g->s->cuda, .args = args, .arg_count = 3}, NULL));
}

static void begin(scene *g, share *s, weir_enqueue_code apart) {
  *g = (scene){.s = s};
  g->kernel = make_kernel(s, &g->lib, (weir_enqueue_code){.function = step}, "captured");
  g->apart = make_kernel(s, &g->other, apart, "apart");
  share_ok(weir_graph_create(s->context, NULL, &g->graph));
  for (uint32_t i = 0; i < BUFFERS; i++) add_set(g, g->buffers[i] = share_buffer(s, COUNT), i);
  for (uint32_t layer = 0; layer < LAYERS; layer++) {
    for (uint32_t i = 0; i < BUFFERS; i++) {
      bool apart_now = layer == LAYERS / 2 && i == 0, follows = layer == LAYERS / 2 + 1 && i == 1;
      uint32_t node = add(g, apart_now ? g->apart : g->kernel, g->buffers[i], follows ? g->buffers[0] : NULL, layer);
      if (apart_now) g->node = node;
    }
  }
}

static weir_status launch(const scene *g) {
  weir_event *event;
  share_ok(weir_graph_launch(g->graph, &event));
  return share_await(event);
}

static void expect(const uint32_t *numbers, uint32_t buffer, uint32_t value) {
  uint32_t steps[LAYERS];
  for (uint32_t i = 0; i < LAYERS; i++) steps[i] = i == LAYERS / 2 && buffer == 0 ? value : i;
  share_expect(numbers, COUNT, buffer, steps, LAYERS);
}

static void check(const scene *g, uint32_t buffer, uint32_t value) {
  uint32_t numbers[COUNT];
  share_ok(weir_read(g->buffers[buffer], 0, BYTES, numbers));
  expect(numbers, buffer, value);
}

static weir_graph_calls calls_of(const scene *g) {
  weir_graph_calls calls;
  share_ok(weir_graph_get_calls(g->graph, &calls));
  return calls;
}

static void expect_split(const scene *g, uint32_t launches, const char *reason) {
  weir_graph_calls calls = calls_of(g);
  assert_int_equal(calls.nodes, BUFFERS * LAYERS);
  assert_int_equal(calls.called, launches);
  if (strstr(calls.reason, reason) == NULL || strstr(calls.reason, "1 of 48 functions go to queues") == NULL)
    fail_msg("%s", calls.reason);
}

// ---------------------------------------------------------------------------------------------------------------

static void the_rest_is_captured(share *s) {
  scene g;
  begin(&g, s, (weir_enqueue_code){.function = step, .flags = WEIR_ENQUEUE_NO_CAPTURE});
  for (uint32_t i = 0; i < LAUNCHES; i++) {
    uint64_t before = stub_calls("cuGraphLaunch");
    share_ok(launch(&g));
    for (uint32_t b = 0; b < BUFFERS; b++) check(&g, b, LAYERS / 2);
    assert_int_equal(stub_calls("cuGraphLaunch") - before, i == 0 ? 0 : 2);
  }
  expect_split(&g, LAUNCHES, "'apart': its code must not be captured");
  assert_int_equal(calls_of(&g).made, 2);
  assert_int_equal(calls_of(&g).captured, BUFFERS * LAYERS - 1);
  assert_int_equal(atomic_load(&g.lib.calls), 2 * (BUFFERS * LAYERS - 1));
  assert_int_equal(atomic_load(&g.other.calls), LAUNCHES);
  assert_int_equal(atomic_load(&g.other.captures), 0);
  share_ok(weir_graph_release(g.graph));
}

// One that fails in a capture is found at the second launch, which ends well all the same.
static void one_that_fails_in_a_capture(share *s) {
  scene g;
  begin(&g, s, (weir_enqueue_code){.function = not_in_a_capture});
  for (uint32_t i = 0; i < LAUNCHES; i++) {
    share_ok(launch(&g));
    for (uint32_t b = 0; b < BUFFERS; b++) check(&g, b, LAYERS / 2);
    if (i > 0) expect_split(&g, i + 1, "'apart': the enqueue function failed: not in a capture");
  }
  assert_int_equal(calls_of(&g).made, 2);
  assert_int_equal(atomic_load(&g.other.captures), 1);
  assert_int_equal(atomic_load(&g.other.calls), LAUNCHES + 1);
  share_ok(weir_graph_release(g.graph));
}

// What it fails at is poisoned, and what comes after it is skipped; the rest is done. Then all is well again.
static void its_failure_is_its_own(share *s) {
  scene g;
  uint32_t numbers[COUNT];
  begin(&g, s, (weir_enqueue_code){.function = step, .flags = WEIR_ENQUEUE_NO_CAPTURE});
  for (uint32_t i = 0; i < 3 * LAUNCHES; i++) {
    bool fails = i % 3 == 2;
    if (fails) atomic_store(&g.other.failing, 1);
    weir_status status = launch(&g);
    assert_int_equal(status, fails ? WEIR_ERROR_TASK_FAILED : WEIR_OK);
    for (uint32_t b = fails ? 2 : 0; b < BUFFERS; b++) check(&g, b, LAYERS / 2);
    for (uint32_t b = 0; fails && b < 2; b++)
      share_refused(weir_read(g.buffers[b], 0, BYTES, numbers), WEIR_ERROR_UPSTREAM_FAILED, "on purpose");
  }
  expect_split(&g, 3 * LAUNCHES, "must not be captured");
  share_ok(weir_graph_release(g.graph));
}

static void set_value(const scene *g, uint32_t node, uint32_t value) {
  weir_arg arg = weir_value(&value, sizeof value);
  share_ok(weir_graph_set_arg(g->graph, node, 1, &arg));
}

// Another value of the node that is called makes nothing anew; another one of a captured node concerns its own graph
// alone.
static void values_change(share *s) {
  scene g;
  begin(&g, s, (weir_enqueue_code){.function = step, .flags = WEIR_ENQUEUE_NO_CAPTURE});
  share_ok(launch(&g));
  share_ok(launch(&g));
  weir_graph_calls calls = calls_of(&g);
  for (uint32_t i = 0; i < LAUNCHES; i++) {
    set_value(&g, g.node, 100 + i);
    share_ok(launch(&g));
    for (uint32_t b = 0; b < BUFFERS; b++) check(&g, b, 100 + i);
  }
  assert_int_equal(calls_of(&g).made, calls.made);
  assert_int_equal(calls_of(&g).captured, calls.captured);
  uint32_t last = BUFFERS + BUFFERS * LAYERS - 4; // of the first chain: behind the one that is called
  for (uint32_t i = 0; i < LAUNCHES; i++) {
    set_value(&g, g.node, LAYERS / 2);
    set_value(&g, last, i % 2 == 0 ? 77 : LAYERS - 1);
    share_ok(launch(&g));
    if (i % 2 == 1) check(&g, 0, LAYERS / 2);
    for (uint32_t b = 1; b < BUFFERS; b++) check(&g, b, LAYERS / 2);
  }
  assert_true(calls_of(&g).made <= calls.made + 1); // with child graphs
  assert_true(calls_of(&g).captured <= calls.captured + BUFFERS * LAYERS);
  share_ok(weir_graph_release(g.graph));
}

// In a context that is cancelled nothing hangs.
static void cancelled_in_flight(share *s) {
  scene g;
  begin(&g, s, (weir_enqueue_code){.function = step, .flags = WEIR_ENQUEUE_NO_CAPTURE});
  for (uint32_t i = 0; i < 2; i++) share_ok(launch(&g));
  for (uint32_t i = 0; i < LAUNCHES; i++) share_ok(weir_graph_launch(g.graph, NULL));
  weir_context_cancel(s->context);
  weir_status status = weir_finish(s->context);
  if (status != WEIR_OK) assert_int_equal(status, WEIR_ERROR_CANCELLED);
  share_ok(weir_graph_release(g.graph));
}

// As many that are not captured as there are others: nodes go one by one.
static void not_in_too_many_segments(share *s) {
  if (s->issue == WEIR_ISSUE_AUTO) return; // once is enough
  weir_context *context;
  share_ok(weir_context_create(&(weir_context_options){.devices = "cuda"}, &context));
  scene g = {.s = s};
  weir_buffer *buffer;
  weir_kernel *kernels[2];
  share_ok(weir_buffer_create(context, BYTES, &buffer));
  share_ok(weir_graph_create(context, NULL, &g.graph));
  for (uint32_t i = 0; i < 2; i++) {
    weir_enqueue_code code = {.function = step, .flags = i * WEIR_ENQUEUE_NO_CAPTURE, .data = &g.lib};
    g.lib.s = s;
    share_ok(weir_kernel_create(context, "step", &kernels[i]));
    share_ok(weir_kernel_set_enqueue(kernels[i], "cuda", &code));
  }
  for (uint32_t i = 0; i < 12; i++) add(&g, kernels[i % 3 == 2], buffer, NULL, i);
  uint64_t before = stub_calls("cuGraphLaunch");
  uint32_t numbers[COUNT] = {0};
  share_ok(weir_copy_in(buffer, 0, BYTES, numbers, NULL));
  for (uint32_t i = 0; i < 3; i++) share_ok(launch(&g));
  assert_int_equal(stub_calls("cuGraphLaunch"), before);
  assert_string_equal(calls_of(&g).reason, "node 2 'step': its code must not be captured");
  share_ok(weir_graph_release(g.graph));
  share_ok(weir_context_release(context));
}

static void test_graphs(void **state) {
  (void)state;
  weir_context_options traced = {.devices = "cuda", .flags = WEIR_CONTEXT_TRACE};
  share_run("cuda", the_rest_is_captured);
  share_run_with(&traced, the_rest_is_captured);
  share_run("cuda", one_that_fails_in_a_capture);
  share_run_with(&traced, one_that_fails_in_a_capture);
  share_run("cuda", its_failure_is_its_own);
  share_run_with(&traced, its_failure_is_its_own);
  share_run("cuda", values_change);
  share_run("cuda", cancelled_in_flight);
  share_run("cuda", not_in_too_many_segments);
}

// ---------------------------------------------------------------------------------------------------------------
// Each call of the driver, and each allocation, fails in turn

static uint64_t failing;
static bool failing_allocation;

static void with_a_failure(share *s) {
  scene g;
  begin(&g, s,
        failing % 2 == 0 ? (weir_enqueue_code){.function = not_in_a_capture}
                         : (weir_enqueue_code){.function = step, .flags = WEIR_ENQUEUE_NO_CAPTURE});
  share_ok(weir_finish(s->context));
  if (failing_allocation)
    weir__allocate_fail_at(failing);
  else
    stub_fail_nth(NULL, failing, CUDA_ERROR_OUT_OF_MEMORY);
  for (uint32_t i = 0; i < 4; i++) {
    weir_event *event = NULL;
    uint32_t numbers[COUNT];
    if (weir_graph_launch(g.graph, &event) != WEIR_OK || share_await(event) != WEIR_OK) continue;
    for (uint32_t b = 0; b < BUFFERS; b++)
      if (weir_read(g.buffers[b], 0, BYTES, numbers) == WEIR_OK) expect(numbers, b, LAYERS / 2);
  }
  stub_fail_nth(NULL, 0, CUDA_SUCCESS);
  weir__allocate_fail_at(0);
  share_ok(weir_graph_release(g.graph));
  weir_finish(s->context);
}

static void test_failing_calls(void **state) {
  (void)state;
#ifdef WEIR_SMALL_TESTS
  uint32_t stride = 23 * part_divisor();
#else
  uint32_t stride = 1;
#endif
  enum { MOST = 700 };
  for (failing = 1 + part_offset(stride); failing < MOST; failing += stride)
    share_run_with(
        &(weir_context_options){.devices = "cuda", .queues = 3, .flags = failing % 3 == 0 ? WEIR_CONTEXT_TRACE : 0},
        with_a_failure);
  failing_allocation = true;
  for (failing = 1 + part_offset((stride + 3) / 4); failing < 100; failing += (stride + 3) / 4)
    share_run("cuda", with_a_failure);
  failing_allocation = false;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_split), cmocka_unit_test(test_graphs),
                                     cmocka_unit_test(test_failing_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
