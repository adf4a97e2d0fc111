// SPDX-License-Identifier: Apache-2.0
//
// Relaxed graphs: a CUgraph of the caller's gets the edges that its nodes need, and no others. On the driver of stub/.
#include <string.h>

#include "adopt.h"
#include "base/allocate.h"
#include "sweep.h"
#include "weir/relax.h"

enum { COUNT = 32, BYTES = COUNT * 4, PARTS = 6, NODES = 60, SEEDS = 40 };

static size_t edges_of(const share *s, CUgraph graph) {
  size_t count = 0;
  share_good(s->driver->cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
  return count;
}

static weir_status relax_with(chain *c, const weir_cuda_adopt_options *options, uint64_t *out_edges) {
  weir_cuda_nodes *nodes;
  weir_status status = weir_cuda_nodes_read(c->s->cuda, c->graph, &nodes);
  if (status == WEIR_OK) status = weir_cuda_graph_relax(nodes, options, out_edges);
  weir_cuda_nodes_release(nodes);
  return status;
}

static weir_status relax(chain *c, weir_cuda_adopt_options options, uint64_t *out_edges) {
  options.accesses = c->accesses;
  options.access_count = c->access_count;
  return relax_with(c, &options, out_edges);
}

// The caller instantiates and launches the graph, in a stream of its own.
static void launch(const share *s, CUgraph graph) {
  CUgraphExec exec;
  share_good(s->driver->cuGraphInstantiateWithFlags(&exec, graph, 0));
  share_good(s->driver->cuGraphLaunch(exec, s->stream));
  share_good(s->driver->cuStreamSynchronize(s->stream));
  share_good(s->driver->cuGraphExecDestroy(exec));
}

static CUdeviceptr make_memory(const share *s) {
  CUdeviceptr memory = share_allocate(s, PARTS * COUNT);
  uint32_t numbers[PARTS * COUNT];
  for (uint32_t i = 0; i < PARTS * COUNT; i++) numbers[i] = i;
  share_write(s, memory, numbers, PARTS * COUNT);
  return memory;
}

static void edges(share *s) {
  CUdeviceptr memory = make_memory(s);
  chain c;
  uint64_t count = 0;
  chain_begin(s, &c);
  for (uint32_t i = 0; i < 2 * PARTS; i++) chain_said_step(&c, memory + i % PARTS * BYTES, COUNT, i);
  assert_int_equal(edges_of(s, c.graph), 2 * PARTS - 1);
  share_ok(relax(&c, (weir_cuda_adopt_options){0}, &count));
  assert_int_equal(count, PARTS); // from the first of a part to the second
  assert_int_equal(edges_of(s, c.graph), PARTS);
  launch(s, c.graph);
  share_good(s->driver->cuGraphDestroy(c.graph));
  chain_begin(s, &c);
  for (uint32_t i = 0; i < PARTS; i++) chain_step(&c, memory + i * BYTES, COUNT, i);
  share_ok(relax_with(&c, NULL, &count)); // nobody describes a node
  assert_int_equal(count, PARTS - 1);
  share_good(s->driver->cuGraphDestroy(c.graph));
  share_free(s, memory);
}

static void add_other(const share *s, chain *c) {
  CUgraphNode nodes[CHAIN_MOST];
  size_t count = CHAIN_MOST;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  stub_add_other_node(c->graph, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  share_good(s->driver->cuGraphGetNodes(c->graph, nodes, &count));
  for (size_t i = 0; type != CU_GRAPH_NODE_TYPE_CONDITIONAL; i++) {
    c->last = nodes[i];
    share_good(s->driver->cuGraphNodeGetType(c->last, &type));
  }
  c->count++;
}

// A node that cannot be adopted keeps its place: after what is before it, before what comes later. Whether the driver
// clones such a graph does not matter.
static void others(share *s) {
  CUdeviceptr memory = make_memory(s);
  static chain c;
  uint64_t count = 0;
  for (int clones = 0; clones < 2; clones++) {
    chain_begin(s, &c);
    for (uint32_t i = 0; i < 2; i++) chain_said_step(&c, memory + i * BYTES, COUNT, i);
    add_other(s, &c);
    for (uint32_t i = 0; i < 2; i++) chain_said_step(&c, memory + i * BYTES, COUNT, i);
    if (clones == 0) stub_fail_nth("cuGraphClone", 1, CUDA_ERROR_NOT_SUPPORTED);
    share_ok(relax(&c, (weir_cuda_adopt_options){0}, &count));
    stub_fail_nth(NULL, 0, 0);
    assert_int_equal(count, 4); // two before it, two after it
    assert_int_equal(edges_of(s, c.graph), 4);
    share_good(s->driver->cuGraphDestroy(c.graph));
  }
  share_free(s, memory);
}

static void expect(weir_status status, weir_status wanted, const char *text) {
  assert_int_equal(status, wanted);
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' is not in '%s'", text, weir_last_error());
}

// The body of a conditional node, which the driver does not clone.
static void bodies(share *s) {
  CUdeviceptr memory = make_memory(s);
  static chain c;
  uint64_t count = 0;
  weir_graph *graph;
  chain_begin(s, &c);
  for (uint32_t i = 0; i < 2 * PARTS; i++) chain_said_step(&c, memory + i % PARTS * BYTES, COUNT, i);
  stub_fail_nth("cuGraphClone", 1, CUDA_ERROR_NOT_SUPPORTED);
  share_ok(relax(&c, (weir_cuda_adopt_options){0}, &count));
  assert_int_equal(count, PARTS);
  stub_fail_nth("cuGraphClone", 1, CUDA_ERROR_NOT_SUPPORTED);
  expect(chain_try(&c, (weir_cuda_adopt_options){0}, &graph), WEIR_ERROR_INVALID_ARGUMENT, "does not clone this graph");
  stub_fail_nth(NULL, 0, 0);
  share_free(s, memory);
}

// A chain at random on a part of the memory; the same for a seed.
static void make_random(chain *c, CUdeviceptr memory, uint32_t seed) {
  uint32_t state = seed;
  for (uint32_t i = 0; i < NODES; i++) {
    state = state * 1664525u + 1013904223u;
    uint32_t first = state >> 8 & 0x7f, count = 1 + (state >> 16 & 0x1f), other = state >> 21 & 0x7f;
    bool apart = first + count <= other || other + count <= first;
    if (state >> 30 != 0 || !apart) {
      chain_said_step(c, memory + first * 4, count, i);
    } else if (state >> 29 & 1) {
      chain_copy(c, memory + first * 4, memory + other * 4, count * 4); // Weir knows its accesses
    } else {
      chain_step(c, memory + first * 4, count, i); // nobody says
    }
  }
}

static void random_graphs(share *s) {
  static chain relaxed, own;
  CUdeviceptr memory[2] = {make_memory(s), make_memory(s)};
  uint32_t numbers[2][PARTS * COUNT];
  for (uint32_t seed = 0; seed < SEEDS; seed++) {
    chain_begin(s, &relaxed);
    chain_begin(s, &own);
    make_random(&relaxed, memory[0], seed);
    make_random(&own, memory[1], seed);
    uint64_t count;
    share_ok(relax(&relaxed, (weir_cuda_adopt_options){0}, &count));
    assert_int_equal(edges_of(s, relaxed.graph), count);
    launch(s, relaxed.graph);
    launch(s, own.graph);
    for (int i = 0; i < 2; i++) share_read(s, numbers[i], memory[i], PARTS * COUNT);
    assert_memory_equal(numbers[0], numbers[1], sizeof numbers[0]);
    share_good(s->driver->cuGraphDestroy(relaxed.graph));
    share_good(s->driver->cuGraphDestroy(own.graph));
  }
  for (int i = 0; i < 2; i++) share_free(s, memory[i]);
}

static void refusals(share *s) {
  CUdeviceptr memory = make_memory(s);
  chain c, child;
  CUgraphNode node;
  const char *labels[] = {"one", "two"};
  weir_buffer *buffer;
  share_ok(weir_buffer_wrap_cuda(s->cuda, memory, BYTES, &buffer));
  chain_begin(s, &c);
  for (uint32_t i = 0; i < 2; i++) chain_said_step(&c, memory + i * BYTES, COUNT, i);
  const char *only = "must not be set";
  expect(relax(&c, (weir_cuda_adopt_options){.labels = labels}, NULL), WEIR_ERROR_INVALID_ARGUMENT, only);
  expect(relax(&c, (weir_cuda_adopt_options){.timing = true}, NULL), WEIR_ERROR_INVALID_ARGUMENT, only);
  expect(relax(&c, (weir_cuda_adopt_options){.queue = 1}, NULL), WEIR_ERROR_INVALID_ARGUMENT, only);
  expect(relax(&c, (weir_cuda_adopt_options){.buffers = &buffer, .buffer_count = 1}, NULL), WEIR_ERROR_INVALID_ARGUMENT,
         only);
  expect(weir_cuda_graph_relax(NULL, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, "the list of nodes is NULL");
  c.accesses[0].node = 7;
  expect(relax(&c, (weir_cuda_adopt_options){0}, NULL), WEIR_ERROR_INVALID_ARGUMENT, "there are 2 nodes");
  chain_begin(s, &child);
  chain_step(&child, memory, COUNT, 1);
  chain_step(&child, memory, COUNT, 1);
  share_good(s->driver->cuGraphAddChildGraphNode(&node, c.graph, NULL, 0, child.graph));
  expect(relax_with(&c, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, "has child graphs");
  assert_int_equal(edges_of(s, c.graph), 1);
  share_good(s->driver->cuGraphDestroy(child.graph));
  share_good(s->driver->cuGraphDestroy(c.graph));
  share_ok(weir_buffer_release(buffer));
  share_free(s, memory);
}

static void make_parts(share *s, chain *c, CUdeviceptr memory) {
  chain_begin(s, c);
  for (uint32_t i = 0; i < 2 * PARTS; i++) chain_said_step(c, memory + i % PARTS * BYTES, COUNT, i);
}

// What fails leaves the graph as it was.
static void failures(share *s) {
  static const char *const FUNCTIONS[] = {"cuGraphGetEdges", "cuGraphRemoveDependencies", "cuGraphAddDependencies",
                                          "cuGraphGetNodes"};
  CUdeviceptr memory = make_memory(s);
  static chain c;
  make_parts(s, &c, memory);
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
    stub_fail_nth(FUNCTIONS[i], 1, CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(relax(&c, (weir_cuda_adopt_options){0}, NULL), WEIR_ERROR_OUT_OF_MEMORY);
    stub_fail_nth(NULL, 0, 0);
    assert_int_equal(edges_of(s, c.graph), 2 * PARTS - 1);
  }
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  for (uint64_t n = 1; status != WEIR_OK; n = sweep_after(n)) {
    weir__allocate_fail_at(n);
    status = relax(&c, (weir_cuda_adopt_options){0}, NULL);
    weir__allocate_fail_at(0);
    assert_int_equal(edges_of(s, c.graph), status == WEIR_OK ? PARTS : 2 * PARTS - 1);
  }
  launch(s, c.graph);
  share_good(s->driver->cuGraphDestroy(c.graph));
  share_free(s, memory);
}

// An older driver.
static void lacks(share *s) {
  weir__cuda_driver *driver = (weir__cuda_driver *)(uintptr_t)s->driver;
  const weir__cuda_driver all = *driver;
  CUdeviceptr memory = make_memory(s);
  chain c;
  chain_begin(s, &c);
  chain_said_step(&c, memory, COUNT, 1);
  driver->cuGraphAddDependencies = NULL;
  expect(relax(&c, (weir_cuda_adopt_options){0}, NULL), WEIR_ERROR_UNAVAILABLE, "lacks cuGraphAddDependencies");
  driver->cuGraphAddDependencies = all.cuGraphAddDependencies;
  share_good(s->driver->cuGraphDestroy(c.graph));
  share_free(s, memory);
}

#define TEST(name)                                                                                                     \
  static void test_##name(void **state) {                                                                              \
    (void)state;                                                                                                       \
    share_run("cuda,cpu:1", name);                                                                                     \
  }
TEST(edges)
TEST(others)
TEST(bodies)
TEST(random_graphs)
TEST(refusals)
TEST(failures)
TEST(lacks)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges),    cmocka_unit_test(test_others),
                                     cmocka_unit_test(test_bodies),   cmocka_unit_test(test_random_graphs),
                                     cmocka_unit_test(test_refusals), cmocka_unit_test(test_failures),
                                     cmocka_unit_test(test_lacks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
