// SPDX-License-Identifier: Apache-2.0
//
// Graphs that cannot be adopted, wrong descriptions, and calls that fail: each refused with what is wrong, and nothing is left
// behind. On the driver of stub/.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adopt.h"
#include "base/allocate.h"
#include "sweep.h"

enum { COUNT = 32, BYTES = COUNT * 4 };

// What a graph with one step, of which this is said, is refused with.
static void refuse(share *s, CUdeviceptr data, const weir_cuda_access *said, uint32_t count,
                   weir_cuda_adopt_options options, weir_status wanted, const char *text) {
  chain c;
  weir_graph *graph = (weir_graph *)(void *)&c;
  chain_begin(s, &c);
  chain_step(&c, data, COUNT, 1);
  chain_fill(&c, data, COUNT, 1);
  if (count > 0) memcpy(c.accesses, said, count * sizeof *said);
  c.access_count = count;
  share_refused(chain_try(&c, options, &graph), wanted, text);
  assert_null(graph);
}

static void lists(share *s) {
  CUdeviceptr data = share_allocate(s, COUNT), other;
  CUcontext second;
  const weir_cuda_adopt_options none = {0};
  const weir_status bad = WEIR_ERROR_INVALID_ARGUMENT;
  share_good(s->driver->cuDevicePrimaryCtxRetain(&second, 1));
  share_good(s->driver->cuCtxPushCurrent(second));
  share_good(s->driver->cuMemAlloc(&other, BYTES));
#define REFUSE(wanted, text, ...)                                                                                      \
  do {                                                                                                                 \
    const weir_cuda_access said[] = {__VA_ARGS__};                                                                     \
    refuse(s, data, said, sizeof said / sizeof said[0], none, wanted, text);                                           \
  } while (0)
  share_good(s->driver->cuCtxPopCurrent(NULL));
  REFUSE(bad, "access 1 is of node 2; there are 2 nodes", {data, 4, 1, WEIR_READ, {0}}, {data, 4, 2, WEIR_READ, {0}});
  REFUSE(bad, "access 1 is of node 0, and the one before it of node 1", {data, 4, 1, WEIR_READ, {0}},
         {data, 4, 0, WEIR_READ, {0}});
  REFUSE(bad, "node 0 'step': mode 0 of the access", {data, 4, 0, WEIR_VALUE, {0}});
  REFUSE(bad, "node 0 'step': mode 4 of the access", {data, 4, 0, WEIR_COMMUTE, {0}});
  REFUSE(bad, "node 0 'step': an access: its reserved members must be 0", {data, 4, 0, WEIR_READ, {1}});
  REFUSE(WEIR_ERROR_OUT_OF_RANGE, "node 0 'step': 64 bytes from 0xfffffffffffffff0 leave the address space",
         {UINT64_MAX - 15, 64, 0, WEIR_READ, {0}});
  REFUSE(WEIR_ERROR_OUT_OF_RANGE, "node 0 'step': 129 bytes from", {data, BYTES + 1, 0, WEIR_READ, {0}});
  REFUSE(WEIR_ERROR_OUT_OF_RANGE, "leave their allocation, which ends at", {data + BYTES - 1, 2, 0, WEIR_READ, {0}});
  REFUSE(bad, "are in no memory that CUDA knows", {(uintptr_t)&second, 4, 0, WEIR_READ, {0}});
  REFUSE(bad, "node 1 'set': 0x", {other, 4, 1, WEIR_READ, {0}});
  REFUSE(bad, "is memory of CUDA device 1, not of cuda:0", {other, 4, 0, WEIR_READ, {0}});
  refuse(s, data, NULL, 0, (weir_cuda_adopt_options){.queue = 1000}, WEIR_ERROR_OUT_OF_RANGE, "there is no queue 1000");
  share_free(s, other);
  share_free(s, data);
  share_good(s->driver->cuDevicePrimaryCtxRelease(1));
}

static void lists_and_buffers(share *s) {
  CUdeviceptr data = share_allocate(s, 4 * COUNT);
  uint32_t host[4];
  weir_buffer *own = share_buffer(s, COUNT), *of_host, *one, *two;
  const weir_status bad = WEIR_ERROR_INVALID_ARGUMENT;
  share_ok(weir_buffer_wrap(s->context, host, sizeof host, &of_host));
  share_ok(weir_buffer_wrap_cuda(s->cuda, data, 2 * BYTES, &one));
  share_ok(weir_buffer_wrap_cuda(s->cuda, data + BYTES, BYTES, &two));
  refuse(s, data, NULL, 0, (weir_cuda_adopt_options){.buffers = &own, .buffer_count = 1}, bad,
         "(buffers[0]) is not on wrapped memory of cuda:0");
  refuse(s, data, NULL, 0, (weir_cuda_adopt_options){.buffers = (weir_buffer *[]){one, of_host}, .buffer_count = 2},
         bad, "(buffers[1]) is not on wrapped memory of cuda:0");
  refuse(s, data, NULL, 0, (weir_cuda_adopt_options){.buffers = (weir_buffer *[]){two, one}, .buffer_count = 2}, bad,
         "overlap at 0x");
  refuse(s, data, NULL, 0, (weir_cuda_adopt_options){.buffer_count = 2}, bad, "the list of buffers is NULL");
  refuse(s, data, NULL, 0, (weir_cuda_adopt_options){.buffers = (weir_buffer *[]){NULL}, .buffer_count = 1}, bad,
         "the buffer is NULL");
  share_ok(weir_buffer_release(two));
  refuse(s, data, NULL, 0, (weir_cuda_adopt_options){.buffers = &two, .buffer_count = 1}, WEIR_ERROR_RELEASED,
         "was released before");
  share_ok(weir_buffer_release(one));
  share_ok(weir_buffer_release(of_host));
  share_ok(weir_buffer_release(own));
  share_free(s, data);
}

// More ranges than a task has arguments: of a node, and, with a node that may use anything, of the graph.
static void too_many(share *s) {
  CUdeviceptr data = share_allocate(s, 8 * WEIR_MAX_ARGS + 8);
  static chain c;
  weir_graph *graph;
  chain_begin(s, &c);
  chain_step(&c, data, COUNT, 1);
  for (uint32_t i = 0; i < WEIR_MAX_ARGS; i++) chain_say(&c, data + 32 * i, 16, WEIR_READ_WRITE);
  chain_say(&c, data, 4, WEIR_READ); // of the first range
  graph = chain_adopt(&c, (weir_cuda_adopt_options){0});
  share_ok(weir_graph_release(graph));
  chain_begin(s, &c);
  chain_step(&c, data, COUNT, 1);
  for (uint32_t i = 0; i <= WEIR_MAX_ARGS; i++) chain_say(&c, data + 32 * i, 16, WEIR_READ_WRITE);
  share_refused(chain_try(&c, (weir_cuda_adopt_options){0}, &graph), WEIR_ERROR_INVALID_ARGUMENT,
                "node 0 'step' uses 1025 ranges of memory; a task has at most 1024");
  static weir_buffer *buffers[WEIR_MAX_ARGS + 1];
  for (uint32_t i = 0; i <= WEIR_MAX_ARGS; i++)
    share_ok(weir_buffer_wrap_cuda(s->cuda, data + 32 * i, 16, &buffers[i]));
  chain_begin(s, &c);
  chain_step(&c, data, COUNT, 1);
  share_refused(chain_try(&c, (weir_cuda_adopt_options){.buffers = buffers, .buffer_count = WEIR_MAX_ARGS + 1}, &graph),
                WEIR_ERROR_INVALID_ARGUMENT, "node 0 'step', which nobody described, uses 1025 ranges of memory");
  for (uint32_t i = 0; i <= WEIR_MAX_ARGS; i++) share_ok(weir_buffer_release(buffers[i]));
  share_free(s, data);
}

static void refuse_read(share *s, CUgraph graph, weir_device *device, weir_status wanted, const char *text) {
  weir_cuda_nodes *nodes = (weir_cuda_nodes *)(void *)s;
  share_refused(weir_cuda_nodes_read(device, graph, &nodes), wanted, text);
  assert_null(nodes);
}

// Nodes that are read, and cannot be a graph of Weir's.
static void refuse_adopt(share *s, CUgraph from, const char *text) {
  weir_cuda_nodes *nodes;
  weir_graph *graph = (weir_graph *)(void *)s;
  share_ok(weir_cuda_nodes_read(s->cuda, from, &nodes));
  const weir_cuda_node *last = &nodes->nodes[nodes->count - 1];
  assert_int_equal(last->kind, WEIR_CUDA_NODE_OTHER);
  assert_null(last->accesses);
  share_refused(weir_cuda_graph_adopt(nodes, NULL, &graph), WEIR_ERROR_INVALID_ARGUMENT, text);
  assert_null(graph);
  weir_cuda_nodes_release(nodes);
}

static void nodes(share *s) {
  static const struct {
    CUgraphNodeType type;
    const char *text;
  } TYPES[] = {{CU_GRAPH_NODE_TYPE_WAIT_EVENT, "node 1 waits for an event, and cannot be adopted"},
               {CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, "node 1 signals a semaphore"},
               {CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, "node 1 waits for a semaphore"},
               {CU_GRAPH_NODE_TYPE_MEM_ALLOC, "node 1 allocates memory"},
               {CU_GRAPH_NODE_TYPE_MEM_FREE, "node 1 frees memory"},
               {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "node 1 is a batch of memory operations"},
               {CU_GRAPH_NODE_TYPE_CONDITIONAL, "node 1 is conditional, and cannot be adopted"}};
  const weir_status bad = WEIR_ERROR_INVALID_ARGUMENT;
  CUdeviceptr data = share_allocate(s, COUNT);
  chain c;
  weir_graph *graph;
  for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
    chain_begin(s, &c);
    chain_step(&c, data, COUNT, 1);
    stub_add_other_node(c.graph, (int)TYPES[i].type);
    refuse_adopt(s, c.graph, TYPES[i].text);
    share_good(s->driver->cuGraphDestroy(c.graph));
  }
  chain_begin(s, &c);
  chain_step(&c, data, COUNT, 1);
  stub_add_other_node(c.graph, 99);
  refuse_read(s, c.graph, s->cuda, bad, "node 1 is of a kind that is not known");
  share_good(s->driver->cuGraphDestroy(c.graph));
  CUevent event;
  share_good(s->driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  chain_begin(s, &c);
  share_good(s->driver->cuGraphAddEventRecordNode(&c.last, c.graph, NULL, 0, event));
  refuse_adopt(s, c.graph, "node 0 records an event");
  share_good(s->driver->cuGraphDestroy(c.graph));
  share_good(s->driver->cuEventDestroy(event));
  chain_begin(s, &c);
  refuse_read(s, c.graph, s->cuda, bad, "the graph has no nodes");
  refuse_read(s, c.graph, s->cpu, bad, "adopt");
  refuse_read(s, c.graph, NULL, bad, "adopt");
  refuse_read(s, NULL, s->cuda, bad, "the CUgraph is NULL");
  share_refused(weir_cuda_nodes_read(s->cuda, c.graph, NULL), bad, "out_nodes is NULL");
  share_refused(weir_cuda_graph_adopt(NULL, NULL, &graph), bad, "the list of nodes is NULL");
  share_refused(weir_cuda_graph_adopt(NULL, NULL, NULL), bad, "out_graph is NULL");
  share_refused(weir_cuda_access_add(NULL, 0, 0, WEIR_READ), bad, "`accesses` is NULL");
  weir_cuda_nodes_release(NULL);
  chain_step(&c, data, COUNT, 1); // of the first device
  weir_context *context;
  share_ok(weir_context_create(&(weir_context_options){.devices = "cuda:1"}, &context));
  refuse_read(s, c.graph, weir_context_device(context, 0), bad, "node 0, a kernel, is of another CUDA context");
  share_ok(weir_context_release(context));
  share_good(s->driver->cuGraphDestroy(c.graph));
  share_free(s, data);
}

// Memory of another device in a copy: nobody knows what it does.
static void elsewhere(share *s) {
  CUdeviceptr data = share_allocate(s, COUNT), other;
  CUcontext second;
  share_good(s->driver->cuDevicePrimaryCtxRetain(&second, 1));
  share_good(s->driver->cuCtxPushCurrent(second));
  share_good(s->driver->cuMemAlloc(&other, BYTES));
  share_good(s->driver->cuCtxPopCurrent(NULL));
  chain c;
  chain_begin(s, &c);
  chain_copy(&c, data, other, BYTES);
  weir_cuda_nodes *read = chain_read(&c);
  assert_null(read->nodes[0].accesses);
  weir_cuda_nodes_release(read);
  share_free(s, other);
  share_free(s, data);
  share_good(s->driver->cuDevicePrimaryCtxRelease(1));
}

static weir_status fails(void *user, const weir_cuda_node *node, weir_cuda_accesses *accesses) {
  if (user != NULL) weir_cuda_access_add(accesses, 16, 4, WEIR_REDUCE);
  return user == NULL && node->index == 1 ? WEIR_ERROR_IO : WEIR_OK;
}

static void functions(share *s) {
  CUdeviceptr data = share_allocate(s, COUNT);
  refuse(s, data, NULL, 0, (weir_cuda_adopt_options){.describe = fails}, WEIR_ERROR_IO,
         "node 1 'set': the function that describes it returned WEIR_ERROR_IO");
  refuse(s, data, NULL, 0, (weir_cuda_adopt_options){.describe = fails, .user = s}, WEIR_ERROR_INVALID_ARGUMENT,
         "node 0 'step': mode 5 of the access at 0x10 is not");
  share_free(s, data);
}

// An older driver.
static void lacks(share *s) {
  weir__cuda_driver *driver = (weir__cuda_driver *)(uintptr_t)s->driver;
  const weir__cuda_driver all = *driver;
  CUdeviceptr data = share_allocate(s, COUNT);
  chain c;
  chain_begin(s, &c);
  chain_step(&c, data, COUNT, 1);
#define LACKS(function)                                                                                                \
  driver->function = NULL;                                                                                             \
  refuse_read(s, c.graph, s->cuda, WEIR_ERROR_UNAVAILABLE, "the driver lacks " #function);                             \
  driver->function = all.function;
  LACKS(cuGraphGetNodes)
  LACKS(cuGraphGetEdges)
  LACKS(cuGraphClone)
  LACKS(cuGraphNodeGetType)
  LACKS(cuGraphKernelNodeGetParams)
  LACKS(cuGraphKernelNodeCopyAttributes)
  LACKS(cuFuncGetName)
#undef LACKS
  share_good(s->driver->cuGraphDestroy(c.graph));
  share_free(s, data);
}

// ---------------------------------------------------------------------------------------------------------------
// Something fails

static weir_status attempt(share *s, CUdeviceptr data, bool timed) {
  static chain c;
  weir_cuda_nodes *read;
  weir_graph *graph = NULL;
  weir_buffer *buffer = NULL;
  chain_begin(s, &c);
  for (uint32_t i = 0; i < 3; i++) chain_said_step(&c, data + i * BYTES, COUNT, 1);
  chain_step(&c, data, COUNT, 1);
  chain_fill(&c, data + BYTES, COUNT, 1);
  weir_status status = weir_cuda_nodes_read(s->cuda, c.graph, &read);
  if (status == WEIR_OK) status = weir_buffer_wrap_cuda(s->cuda, data, BYTES, &buffer);
  const weir_cuda_adopt_options options = {
      .accesses = c.accesses, .access_count = c.access_count, .buffers = &buffer, .buffer_count = 1, .timing = timed};
  if (status == WEIR_OK) status = weir_cuda_graph_adopt(read, &options, &graph);
  weir_cuda_nodes_release(read);
  if (status == WEIR_OK) status = weir_graph_build(graph);
  if (status == WEIR_OK) status = weir_graph_evaluate(graph, WEIR_FOREVER);
  if (status != WEIR_OK && weir_last_error()[0] == '\0') fail_msg("a failure without a text");
  weir_graph_release(graph);
  if (buffer != NULL) weir_buffer_release(buffer);
  weir_finish(s->context);
  stub_fail_nth(NULL, 0, 0);
  weir__allocate_fail_at(0);
  share_good(s->driver->cuGraphDestroy(c.graph));
  return status;
}

static void no_memory(share *s) {
  CUdeviceptr data = share_allocate(s, 3 * COUNT);
  uint64_t before = weir__allocate_count();
  share_ok(attempt(s, data, false));
  uint64_t most = 2 * (weir__allocate_count() - before);
  for (uint64_t n = 1; n < most; n = sweep_after(n)) {
    weir__allocate_fail_at(n);
    attempt(s, data, n % 2 == 0);
  }
  share_ok(attempt(s, data, true));
  share_free(s, data);
}

// Each function of the driver's fails in turn.
static void driver_fails(share *s) {
  static const char *const FUNCTIONS[] = {"cuGraphCreate",
                                          "cuGraphGetNodes",
                                          "cuGraphGetEdges",
                                          "cuGraphClone",
                                          "cuGraphNodeGetType",
                                          "cuGraphKernelNodeGetParams",
                                          "cuGraphKernelNodeCopyAttributes",
                                          "cuGraphAddKernelNode",
                                          "cuGraphMemsetNodeGetParams",
                                          "cuGraphAddMemsetNode",
                                          "cuGraphInstantiateWithFlags",
                                          "cuMemGetAddressRange"};
  CUdeviceptr data = share_allocate(s, 3 * COUNT);
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof FUNCTIONS[0]; i++) {
    uint64_t before = stub_calls(FUNCTIONS[i]);
    share_ok(attempt(s, data, i % 2 == 0));
    uint64_t calls = stub_calls(FUNCTIONS[i]) - before;
    assert_true(calls > 0);
    for (uint64_t n = calls; n <= calls; n++) {
      // The chain's own calls come first; the last is Weir's.
      stub_fail_nth(FUNCTIONS[i], n, CUDA_ERROR_OUT_OF_MEMORY);
      weir_status status = attempt(s, data, i % 2 == 0);
      if (status != WEIR_ERROR_OUT_OF_MEMORY && status != WEIR_ERROR_OUT_OF_RANGE)
        fail_msg("%s: %s", FUNCTIONS[i], weir_status_name(status));
    }
  }
  share_ok(attempt(s, data, false));
  share_free(s, data);
}

#define TEST(name)                                                                                                     \
  static void test_##name(void **state) {                                                                              \
    (void)state;                                                                                                       \
    share_run("cuda,cpu:1", name);                                                                                     \
  }
TEST(lists)
TEST(lists_and_buffers)
TEST(too_many)
TEST(nodes)
TEST(elsewhere)
TEST(functions)
TEST(lacks)
TEST(no_memory)
TEST(driver_fails)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lists), cmocka_unit_test(test_lists_and_buffers), cmocka_unit_test(test_too_many),
      cmocka_unit_test(test_nodes), cmocka_unit_test(test_elsewhere),         cmocka_unit_test(test_functions),
      cmocka_unit_test(test_lacks), cmocka_unit_test(test_no_memory),         cmocka_unit_test(test_driver_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
