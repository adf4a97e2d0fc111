// SPDX-License-Identifier: Apache-2.0
//
// Adopted graphs: which nodes wait for which, and what becomes of their launches. On the driver of stub/, in random orders, with
// every way to issue.
#include <stdio.h>
#include <string.h>

#include "adopt.h"
#include "device/cuda/graph/adopted.h"
#include "weir/enqueue.h"

enum { COUNT = 32, BYTES = COUNT * 4, PARTS = 6 };

static weir_graph_calls calls_of(weir_graph *graph) {
  weir_graph_calls calls;
  share_ok(weir_graph_get_calls(graph, &calls));
  return calls;
}

// Memory of the caller's with i in word i of each part.
static CUdeviceptr make_memory(const share *s) {
  CUdeviceptr memory = share_allocate(s, PARTS * COUNT);
  uint32_t numbers[PARTS * COUNT];
  for (uint32_t i = 0; i < PARTS * COUNT; i++) numbers[i] = i % COUNT;
  share_write(s, memory, numbers, PARTS * COUNT);
  return memory;
}

static void expect(const share *s, CUdeviceptr memory, const uint32_t *steps, uint32_t count) {
  uint32_t numbers[COUNT];
  share_read(s, numbers, memory, COUNT);
  share_expect(numbers, COUNT, 0, steps, count);
}

// A chain of independent kernels, captured in one stream, has no edges; a launch is one of the driver's.
static void independent(share *s) {
  CUdeviceptr memory = make_memory(s);
  CUgraph graph;
  weir_cuda_access accesses[2 * PARTS];
  share_good(s->driver->cuStreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (uint32_t i = 0; i < 2 * PARTS; i++) {
    CUdeviceptr part = memory + i / 2 * BYTES;
    share_launch(s, s->own_step, part, COUNT, i + 1);
    accesses[i] = (weir_cuda_access){.node = i, .pointer = part, .bytes = BYTES, .mode = WEIR_READ_WRITE};
  }
  share_good(s->driver->cuStreamEndCapture(s->stream, &graph));
  weir_cuda_nodes *nodes;
  share_ok(weir_cuda_nodes_read(s->cuda, graph, &nodes));
  share_good(s->driver->cuGraphDestroy(graph));
  assert_int_equal(nodes->count, 2 * PARTS);
  assert_ptr_equal(nodes->device, s->cuda);
  for (uint32_t i = 0; i < 2 * PARTS; i++) {
    const weir_cuda_node *node = &nodes->nodes[i];
    uint32_t value;
    assert_int_equal(node->kind, WEIR_CUDA_NODE_KERNEL);
    assert_int_equal(node->index, i);
    assert_string_equal(node->name, "step");
    assert_ptr_equal(node->function, s->own_step);
    assert_int_equal(node->grid[0] * node->block[2], 1);
    assert_int_equal(node->parameter_count, 3);
    assert_int_equal(node->parameter_bytes[2], 4);
    memcpy(&value, node->parameters[2], sizeof value);
    assert_int_equal(value, i + 1); // the order of the capture
    assert_null(node->accesses);
  }
  weir_graph *adopted;
  const weir_cuda_adopt_options options = {.accesses = accesses, .access_count = 2 * PARTS};
  share_ok(weir_cuda_graph_adopt(nodes, &options, &adopted));
  weir_cuda_nodes_release(nodes);
  assert_int_equal(adopt_edges(adopted), PARTS); // only those from the first of a part to the second
  uint64_t before = stub_calls("cuGraphLaunch");
  for (uint32_t i = 0; i < 3; i++) share_ok(weir_graph_launch(adopted, NULL));
  share_ok(weir_finish(s->context));
  assert_int_equal(stub_calls("cuGraphLaunch") - before, 3);
  weir_graph_calls calls = calls_of(adopted);
  assert_int_equal(calls.nodes, 2 * PARTS);
  assert_int_equal(calls.made, 1);
  assert_int_equal(calls.updated + calls.called + calls.captured, 0);
  for (uint32_t i = 0; i < PARTS; i++) {
    uint32_t one = 2 * i + 1, two = 2 * i + 2;
    expect(s, memory + i * BYTES, (uint32_t[]){one, two, one, two, one, two}, 6);
  }
  share_ok(weir_graph_release(adopted));
  share_free(s, memory);
}

// Nobody describes it: it comes after all before it, and before all after it.
static void walls(share *s) {
  CUdeviceptr memory = make_memory(s);
  chain c;
  chain_begin(s, &c);
  for (uint32_t i = 0; i < 4; i++) chain_said_step(&c, memory + i * BYTES, COUNT, i);
  chain_step(&c, memory + 4 * BYTES, COUNT, 9); // not described
  for (uint32_t i = 0; i < 3; i++) chain_said_step(&c, memory + i * BYTES, COUNT, i);
  chain_step(&c, memory + 4 * BYTES, COUNT, 9); // not described
  chain_step(&c, memory + 4 * BYTES, COUNT, 9); // nor this
  chain_said_step(&c, memory, COUNT, 9);
  chain_kernel(&c, s->own_step, (void *[]){&memory, &(uint32_t){0}, &(uint32_t){0}});
  chain_say(&c, 0, 0, WEIR_READ); // described: it accesses nothing
  weir_graph *graph = chain_adopt(&c, (weir_cuda_adopt_options){0});
  // 4 to the first wall, 3 from it, 3 to the next, 1 to the third, 2 from that
  assert_int_equal(adopt_edges(graph), 4 + 3 + 3 + 1 + 2);
  adopt_launch(graph);
  adopt_launch(graph);
  expect(s, memory, (uint32_t[]){0, 0, 9, 0, 0, 9}, 6);
  expect(s, memory + 4 * BYTES, (uint32_t[]){9, 9, 9, 9, 9, 9}, 6);
  share_ok(weir_graph_release(graph));
  share_free(s, memory);
}

// Many nodes, with a wall in the middle that comes after all before it.
static void many(share *s) {
  enum { MANY = 300 };
  CUdeviceptr memory = share_allocate(s, 2 * MANY);
  uint32_t numbers[2 * MANY] = {0};
  chain c;
  share_write(s, memory, numbers, 2 * MANY);
  chain_begin(s, &c);
  for (uint32_t i = 0; i < 2 * MANY; i++) {
    if (i == MANY) chain_step(&c, memory, MANY, 5);
    chain_said_step(&c, memory + i * sizeof(uint32_t), 1, i);
  }
  weir_graph *graph = chain_adopt(&c, (weir_cuda_adopt_options){0});
  assert_int_equal(adopt_edges(graph), 2 * MANY);
  adopt_launch(graph);
  share_read(s, numbers, memory, 2 * MANY);
  for (uint32_t i = 0; i < 2 * MANY; i++) assert_int_equal(numbers[i], i < MANY ? stepped(i, 5) : i);
  share_ok(weir_graph_release(graph));
  share_free(s, memory);
}

// Launches are in order with other tasks that use the caller's buffer, on any device; the graph uses part of it.
static void buffers(share *s) {
  CUdeviceptr memory = make_memory(s), own = make_memory(s);
  weir_buffer *buffer;
  share_ok(weir_buffer_wrap_cuda(s->cuda, memory, 2 * BYTES, &buffer));
  chain c;
  chain_begin(s, &c);
  chain_said_step(&c, memory, COUNT, 1);
  chain_step(&c, memory + BYTES, COUNT, 2);
  chain_say(&c, memory, 4 * BYTES, WEIR_READ_WRITE); // partly in the buffer
  chain_said_step(&c, own, COUNT, 3);
  chain_sum(&c, own + 2 * BYTES, memory, own, COUNT);
  chain_say(&c, own + 2 * BYTES, BYTES, WEIR_WRITE);
  chain_say(&c, memory, BYTES, WEIR_READ);
  chain_say(&c, own, BYTES, WEIR_READ);
  weir_graph *graph = chain_adopt(&c, (weir_cuda_adopt_options){.buffers = &buffer, .buffer_count = 1});
  assert_int_equal(adopt_edges(graph), 3);
  for (uint32_t i = 0; i < 3; i++) {
    share_submit(s, s->step, i == 1 ? s->cpu : s->cuda, buffer, COUNT, 5, NULL);
    share_ok(weir_graph_launch(graph, NULL));
  }
  uint32_t numbers[COUNT], own_numbers[COUNT], sums[COUNT];
  share_ok(weir_read(buffer, 0, BYTES, numbers));
  share_ok(weir_finish(s->context));
  share_expect(numbers, COUNT, 0, (uint32_t[]){5, 1, 5, 1, 5, 1}, 6);
  expect(s, memory + BYTES, (uint32_t[]){2, 2, 2}, 3);
  share_read(s, own_numbers, own, COUNT);
  share_expect(own_numbers, COUNT, 0, (uint32_t[]){3, 3, 3}, 3);
  share_read(s, sums, own + 2 * BYTES, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(sums[i], numbers[i] + own_numbers[i]);
  share_ok(weir_graph_release(graph));
  share_ok(weir_buffer_release(buffer));
  share_free(s, memory);
  share_free(s, own);
}

// An allocation that is mapped in pieces, each of which the driver reports by itself.
static void pieces(share *s) {
  CUdeviceptr memory = make_memory(s);
  chain c;
  stub_map_in_pieces(BYTES / 2);
  chain_begin(s, &c);
  chain_said_step(&c, memory + BYTES, COUNT, 1);
  chain_step(&c, memory, COUNT, 2);
  chain_say(&c, memory, 2 * BYTES, WEIR_READ_WRITE);
  weir_graph *graph = chain_adopt(&c, (weir_cuda_adopt_options){0}), *none;
  assert_int_equal(adopt_edges(graph), 1);
  adopt_launch(graph);
  expect(s, memory, (uint32_t[]){2}, 1);
  share_ok(weir_graph_release(graph));
  chain_begin(s, &c);
  chain_step(&c, memory, COUNT, 2);
  chain_say(&c, memory, PARTS * BYTES + 1, WEIR_READ_WRITE);
  share_refused(chain_try(&c, (weir_cuda_adopt_options){0}, &none), WEIR_ERROR_OUT_OF_RANGE, "leave their allocation");
  stub_map_in_pieces(0);
  share_free(s, memory);
}

// Bytes that another task failed to write: nodes that would read them are skipped, and the others run.
static void poison(share *s) {
  CUdeviceptr memory = make_memory(s);
  weir_buffer *buffer;
  share_ok(weir_buffer_wrap_cuda(s->cuda, memory, BYTES, &buffer));
  for (uint32_t wall = 0; wall < 2; wall++) {
    chain c;
    chain_begin(s, &c);
    chain_said_step(&c, memory + BYTES, COUNT, 1);
    chain_said_step(&c, memory, COUNT, 2);
    chain_sum(&c, memory + 2 * BYTES, memory, memory, COUNT);
    chain_say(&c, memory + 2 * BYTES, BYTES, WEIR_WRITE);
    chain_say(&c, memory, BYTES, WEIR_READ);
    if (wall == 1) chain_step(&c, memory + 3 * BYTES, COUNT, 3);
    if (wall == 1) chain_step(&c, memory + 3 * BYTES, COUNT, 3);
    weir_graph *graph = chain_adopt(&c, (weir_cuda_adopt_options){.buffers = &buffer, .buffer_count = 1});
    weir_event *event;
    share_submit(s, s->broken, s->cpu, buffer, COUNT, 0, NULL);
    share_ok(weir_graph_launch(graph, &event));
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
    weir_event_release(event);
    expect(s, memory + BYTES, (uint32_t[]){1, 1}, wall + 1);
    expect(s, memory + 2 * BYTES, NULL, 0);
    expect(s, memory + 3 * BYTES, NULL, 0);
    weir_finish(s->context);
    share_submit(s, s->set, s->cuda, buffer, COUNT, 0, NULL);
    share_ok(weir_graph_release(graph));
    share_ok(weir_finish(s->context));
  }
  share_ok(weir_buffer_release(buffer));
  share_free(s, memory);
}

static void note(void *user) {
  atomic_fetch_add((atomic_uint *)user, 1);
}

// Copies, with the host's memory too, sets, functions of the host, and child graphs. Weir knows what copies and sets access.
static void kinds(share *s) {
  CUdeviceptr memory = make_memory(s);
  uint32_t *pinned, pageable[COUNT], numbers[COUNT];
  atomic_uint notes = 0;
  share_ok(weir_host_allocate(s->cuda, BYTES, (void **)&pinned));
  for (uint32_t i = 0; i < COUNT; i++) pinned[i] = i;
  chain c, child;
  chain_begin(s, &child);
  chain_said_step(&child, memory, COUNT, 7);
  chain_fill(&child, memory + 2 * BYTES, COUNT, 4);
  chain_begin(s, &c);
  chain_copy(&c, memory, (uintptr_t)pinned, BYTES);
  chain_said_step(&c, memory, COUNT, 1);
  chain_fill(&c, memory + BYTES, COUNT, 3);
  CUgraphNode node;
  share_good(s->driver->cuGraphAddChildGraphNode(&node, c.graph, &c.last, 1, child.graph));
  share_good(s->driver->cuGraphDestroy(child.graph));
  c.last = node;
  c.count++;
  chain_say(&c, memory, BYTES, WEIR_READ_WRITE); // of the child's first node
  c.count++;
  chain_host(&c, note, &notes);
  chain_say(&c, 0, 0, WEIR_READ);
  chain_copy(&c, memory + 3 * BYTES, memory, BYTES);
  chain_copy(&c, (uintptr_t)pageable, memory + 3 * BYTES, BYTES);
  share_good(s->driver->cuGraphAddEmptyNode(&node, c.graph, &c.last, 1));
  c.last = node;
  weir_cuda_nodes *nodes = chain_read(&c);
  static const weir_cuda_node_kind KINDS[] = {WEIR_CUDA_NODE_COPY,   WEIR_CUDA_NODE_KERNEL, WEIR_CUDA_NODE_SET,
                                              WEIR_CUDA_NODE_KERNEL, WEIR_CUDA_NODE_SET,    WEIR_CUDA_NODE_HOST,
                                              WEIR_CUDA_NODE_COPY,   WEIR_CUDA_NODE_COPY,   WEIR_CUDA_NODE_EMPTY};
  static const char *const NAMES[] = {"copy", "step", "set", "step", "set", "host function", "copy", "copy", "empty"};
  assert_int_equal(nodes->count, 9);
  for (uint32_t i = 0; i < 9; i++) {
    assert_int_equal(nodes->nodes[i].kind, KINDS[i]);
    assert_string_equal(nodes->nodes[i].name, NAMES[i]);
    assert_int_equal(nodes->nodes[i].index, i);
  }
  assert_int_equal(nodes->nodes[7].access_count, 2);
  assert_int_equal(nodes->nodes[7].accesses[0].pointer, (uintptr_t)pageable);
  assert_int_equal(nodes->nodes[7].accesses[0].mode, WEIR_WRITE);
  assert_int_equal(nodes->nodes[7].accesses[1].mode, WEIR_READ);
  assert_int_equal(nodes->nodes[7].accesses[1].bytes, BYTES);
  for (uint32_t timed = 0; timed < 2; timed++) { // in one graph, and one by one
    weir_graph *graph;
    const weir_cuda_adopt_options options = {
        .accesses = c.accesses, .access_count = c.access_count, .timing = timed == 1};
    share_ok(weir_cuda_graph_adopt(nodes, &options, &graph));
    assert_int_equal(adopt_edges(graph), 4);
    for (uint32_t i = 0; i < 2; i++) {
      memset(pageable, 0, sizeof pageable);
      adopt_launch(graph);
      share_expect(pageable, COUNT, 0, (uint32_t[]){1, 7}, 2);
    }
    assert_int_equal(atomic_load(&notes), 2 * timed + 2);
    share_read(s, numbers, memory + 2 * BYTES, COUNT);
    assert_int_equal(numbers[COUNT - 1], 4);
    weir_graph_calls calls = calls_of(graph);
    assert_int_equal(calls.called, timed == 1 ? 2 : 0);
    share_ok(weir_graph_release(graph));
  }
  weir_cuda_nodes_release(nodes);
  weir_host_free(s->cuda, pinned);
  share_free(s, memory);
}

static atomic_uint with_attributes;

static void look(const stub_launch *launch) {
  if (launch->cooperative && launch->cluster[0] == 2) atomic_fetch_add(&with_attributes, 1);
}

// A kernel's own attributes reach its launches, also where nodes go one by one; and a node may name a CUkernel.
static void attributes(share *s) {
  static const char IMAGE[] = "STUB\nlook 256\n";
  CUmodule module;
  CUfunction function;
  stub_register("look", look);
  atomic_store(&with_attributes, 0);
  share_good(s->driver->cuModuleLoadDataEx(&module, IMAGE, 0, NULL, NULL));
  share_good(s->driver->cuModuleGetFunction(&function, module, "look"));
  chain c;
  chain_begin(s, &c);
  chain_kernel(&c, function, NULL);
  stub_node_set_attributes(c.last, true, 2);
  CUDA_KERNEL_NODE_PARAMS params = {.kern = (CUkernel)(void *)function,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 1,
                                    .blockDimY = 1,
                                    .blockDimZ = 1};
  share_good(s->driver->cuGraphAddKernelNode(&c.last, c.graph, &c.last, 1, &params));
  stub_node_set_attributes(c.last, true, 2);
  weir_cuda_nodes *nodes = chain_read(&c);
  assert_ptr_equal(nodes->nodes[1].function, function);
  assert_string_equal(nodes->nodes[1].name, "look");
  for (uint32_t timed = 0; timed < 2; timed++) {
    weir_graph *graph;
    uint64_t starts[2], ends[2];
    share_ok(weir_cuda_graph_adopt(nodes, &(weir_cuda_adopt_options){.timing = timed == 1}, &graph));
    adopt_launch(graph);
    adopt_launch(graph);
    assert_int_equal(atomic_load(&with_attributes), 4 * timed + 4);
    if (timed == 1) share_ok(weir_graph_times(graph, 2, starts, ends));
    share_ok(weir_graph_release(graph));
  }
  weir_graph *several[3]; // of the same nodes, in flight at the same time
  for (uint32_t i = 0; i < 3; i++)
    share_ok(weir_cuda_graph_adopt(nodes, &(weir_cuda_adopt_options){.timing = i < 2, .queue = i + 1}, &several[i]));
  weir_cuda_nodes_release(nodes);
  for (uint32_t i = 0; i < 12; i++) share_ok(weir_graph_launch(several[i % 3], NULL));
  for (uint32_t i = 0; i < 3; i++) share_ok(weir_graph_release(several[i]));
  share_ok(weir_finish(s->context));
  assert_int_equal(atomic_load(&with_attributes), 8 + 24);
  share_good(s->driver->cuModuleUnload(module));
}

static weir_status describe(void *user, const weir_cuda_node *node, weir_cuda_accesses *accesses) {
  uint64_t pointer;
  uint32_t words;
  if (node->kind != WEIR_CUDA_NODE_KERNEL) return WEIR_OK;
  ++*(uint32_t *)user;
  memcpy(&pointer, node->parameters[0], sizeof pointer);
  memcpy(&words, node->parameters[1], sizeof words);
  return weir_cuda_access_add(accesses, pointer, words * sizeof words, WEIR_READ_WRITE);
}

// A function describes what the list does not name.
static void by_function(share *s) {
  CUdeviceptr memory = make_memory(s);
  uint32_t asked = 0;
  chain c;
  chain_begin(s, &c);
  chain_said_step(&c, memory, COUNT, 1);
  chain_step(&c, memory + BYTES, COUNT, 2);
  chain_fill(&c, memory + 2 * BYTES, COUNT, 3);
  chain_step(&c, memory, COUNT, 4);
  static const char *const LABELS[] = {"one", NULL, "three", "four"};
  weir_graph *graph =
      chain_adopt(&c, (weir_cuda_adopt_options){.describe = describe, .user = &asked, .labels = LABELS});
  assert_int_equal(asked, 2);
  assert_int_equal(adopt_edges(graph), 1);
  adopt_launch(graph);
  expect(s, memory, (uint32_t[]){1, 4}, 2);
  expect(s, memory + BYTES, (uint32_t[]){2}, 1);
  share_ok(weir_graph_release(graph));
  share_free(s, memory);
}

// A kernel with the address of memory in its parameters that nothing says of it is one that nobody describes. What is said here is
// not the truth, so that nothing is launched.
static void hidden(share *s) {
  CUdeviceptr memory = make_memory(s);
  chain c;
  weir_graph *graph;
  bool undescribed[5];
  chain_begin(s, &c);
  chain_said_step(&c, memory, COUNT, 1);
  chain_said_step(&c, memory + BYTES, COUNT, 1);
  chain_sum(&c, memory + 2 * BYTES, memory, memory + 5 * BYTES, COUNT); // the last one is not said
  chain_say(&c, memory + 2 * BYTES, BYTES, WEIR_WRITE);
  chain_say(&c, memory, BYTES, WEIR_READ);
  chain_sum(&c, memory + 2 * BYTES, memory, memory + BYTES, COUNT); // the end of what is said
  chain_say(&c, memory, BYTES, WEIR_READ);
  chain_say(&c, memory + 2 * BYTES, BYTES, WEIR_WRITE);
  chain_step(&c, memory + 4 * BYTES, COUNT, 1);
  chain_say(&c, 0, 0, WEIR_READ); // nothing, it is said
  weir_cuda_nodes *nodes = chain_read(&c);
  weir_cuda_adopt_options options = {
      .accesses = c.accesses, .access_count = c.access_count, .out_undescribed = undescribed};
  const weir_cuda_range managed[] = {{memory + 5 * BYTES, BYTES}, {memory, BYTES}};
  for (uint32_t checks = 0; checks < 3; checks++) {
    options.check_parameters = checks > 0;
    if (checks == 2) options.managed = managed, options.managed_count = 2; // all but what node 4 uses
    share_ok(weir_cuda_graph_adopt(nodes, &options, &graph));
    for (uint32_t i = 0; i < 5; i++)
      assert_int_equal(undescribed[i], (checks == 1 && i == 2) || (checks > 0 && i == 4));
    if (checks < 2) assert_int_equal(adopt_edges(graph), checks == 1 ? 2 + 1 + 1 : 2);
    share_ok(weir_graph_release(graph));
  }
  options.managed = NULL;
  assert_int_equal(weir_cuda_graph_adopt(nodes, &options, &graph), WEIR_ERROR_INVALID_ARGUMENT);
  weir_cuda_nodes_release(nodes);
  share_free(s, memory);
}

// Released while launches are in flight, in any order; cleared and used for other tasks; extended; left to the context.
static void lives(share *s) {
  CUdeviceptr memory = make_memory(s);
  weir_buffer *buffer;
  share_ok(weir_buffer_wrap_cuda(s->cuda, memory, BYTES, &buffer));
  chain c;
  chain_begin(s, &c);
  chain_kernel(&c, s->own_held, (void *[]){&memory, &(uint32_t){COUNT}, &(uint32_t){1}});
  chain_say(&c, memory, BYTES, WEIR_READ_WRITE);
  chain_said_step(&c, memory + BYTES, COUNT, 2);
  const weir_cuda_adopt_options options = {.buffers = &buffer, .buffer_count = 1};
  weir_graph *graph = chain_adopt(&c, options), *second, *left;
  share_ok(weir_graph_launch(graph, NULL));
  share_ok(weir_graph_launch(graph, NULL));
  share_ok(weir_graph_release(graph));
  chain_begin(s, &c);
  chain_said_step(&c, memory, COUNT, 3);
  second = chain_adopt(&c, options);
  weir_arg arg = weir_updates(buffer);
  share_refused(weir_graph_set_arg(second, 0, 0, &arg), WEIR_ERROR_INVALID_ARGUMENT, "node 0 was adopted");
  share_refused(weir_graph_replace_buffer(second, buffer, buffer), WEIR_ERROR_INVALID_ARGUMENT,
                "node 0, which uses buffer");
  uint32_t count = COUNT, value = 4;
  weir_arg args[] = {weir_updates(buffer), weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = s->step, .args = args, .arg_count = 3};
  share_ok(weir_graph_add(second, &task, NULL));
  share_ok(weir_graph_launch(second, NULL));
  share_ok(weir_graph_clear(second));
  share_ok(weir_graph_add(second, &task, NULL));
  share_ok(weir_graph_launch(second, NULL));
  share_open();
  share_ok(weir_finish(s->context));
  expect(s, memory, (uint32_t[]){1, 1, 3, 4, 4}, 5);
  chain_begin(s, &c);
  chain_said_step(&c, memory + BYTES, COUNT, 5);
  left = chain_adopt(&c, options);
  adopt_launch(left);
  expect(s, memory + BYTES, (uint32_t[]){2, 2, 5}, 3);
  share_free(s, memory); // the graph and its buffers are the context's to release
}

// ---------------------------------------------------------------------------------------------------------------

static void kinds_of_copies(void **state) {
  (void)state;
  weir_cuda_access accesses[2];
  CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = 1000,
                        .srcPitch = 100,
                        .srcHeight = 10,
                        .srcXInBytes = 4,
                        .srcY = 1,
                        .srcZ = 1,
                        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                        .dstDevice = 50000,
                        .dstPitch = 20,
                        .dstHeight = 3,
                        .WidthInBytes = 20,
                        .Height = 3,
                        .Depth = 2};
  assert_true(weir__cuda_copy_accesses(&copy, accesses));
  assert_int_equal(accesses[0].pointer, 50000);
  assert_int_equal(accesses[0].bytes, 120);
  assert_int_equal(accesses[0].mode, WEIR_WRITE); // all of it
  assert_int_equal(accesses[1].pointer, 1000 + 1000 + 100 + 4);
  assert_int_equal(accesses[1].bytes, 1000 + 200 + 20);
  assert_int_equal(accesses[1].mode, WEIR_READ);
  copy.dstPitch = 32;
  assert_true(weir__cuda_copy_accesses(&copy, accesses));
  assert_int_equal(accesses[0].mode, WEIR_READ_WRITE); // what is between the rows stays
  copy.srcMemoryType = 3;                              // an array
  assert_false(weir__cuda_copy_accesses(&copy, accesses));
  weir__cuda_set_accesses(&(CUDA_MEMSET_NODE_PARAMS){.dst = 64, .elementSize = 2, .width = 8, .height = 4, .pitch = 16},
                          accesses);
  assert_int_equal(accesses[0].bytes, 64);
  assert_int_equal(accesses[0].mode, WEIR_WRITE);
  weir__cuda_set_accesses(&(CUDA_MEMSET_NODE_PARAMS){.dst = 64, .elementSize = 2, .width = 8, .height = 4, .pitch = 17},
                          accesses);
  assert_int_equal(accesses[0].bytes, 3 * 17 + 16);
  assert_int_equal(accesses[0].mode, WEIR_READ_WRITE);
}

#define TEST(name)                                                                                                     \
  static void test_##name(void **state) {                                                                              \
    (void)state;                                                                                                       \
    share_run("cuda,cpu:1", name);                                                                                     \
  }
TEST(independent)
TEST(walls)
TEST(many)
TEST(buffers)
TEST(pieces)
TEST(poison)
TEST(kinds)
TEST(attributes)
TEST(by_function)
TEST(hidden)
TEST(lives)

static void test_traced(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:1", .flags = WEIR_CONTEXT_TRACE}, walls);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kinds_of_copies),  cmocka_unit_test(test_independent), cmocka_unit_test(test_walls),
      cmocka_unit_test(test_many),        cmocka_unit_test(test_buffers),     cmocka_unit_test(test_pieces),
      cmocka_unit_test(test_poison),      cmocka_unit_test(test_kinds),       cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_by_function), cmocka_unit_test(test_lives),       cmocka_unit_test(test_hidden),
      cmocka_unit_test(test_traced)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
