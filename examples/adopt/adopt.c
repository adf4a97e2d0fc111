// SPDX-License-Identifier: Apache-2.0
//
// A CUgraph that was captured in one stream runs its nodes one after another, whatever they access. Here several branches of
// kernels are captured so, as a framework would do it. A function says what each kernel reads and writes, from its parameters,
// and the graph of true dependences, in which the branches overlap, is launched and timed beside the captured one: by Weir, and
// by the program itself, which has Weir replace the edges of what was captured.
//
//   adopt [BRANCHES [DEPTH [ELEMENTS [ROUNDS]]]]
//   adopt copies [BRANCHES [DEPTH [ELEMENTS]]]      copies in place of kernels, of which Weir knows what they access
//
// Exits with 77 if there is no CUDA device.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir/adopt.h"
#include "weir/relax.h"

enum { SKIPPED = 77, BLOCK = 256, LAUNCHES = 51 };

typedef unsigned long long address;

// The program's own CUDA code: functions of the driver.
static struct {
  int (*retain)(void **context, int device);
  int (*release)(int device);
  int (*set_current)(void *context);
  int (*allocate)(address *pointer, size_t bytes);
  int (*free)(address pointer);
  int (*fill)(address to, unsigned value, size_t count, void *stream);
  int (*copy)(address to, address from, size_t bytes, void *stream);
  int (*load)(void **module, const void *image, unsigned count, void *options, void **values);
  int (*unload)(void *module);
  int (*get_function)(void **function, void *module, const char *name);
  int (*make_stream)(void **stream, unsigned flags, int priority);
  int (*destroy_stream)(void *stream);
  int (*synchronize)(void *stream);
  int (*begin)(void *stream, int mode);
  int (*end)(void *stream, void **graph);
  int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);
  int (*instantiate)(void **exec, void *graph, unsigned long long flags);
  int (*launch_graph)(void *exec, void *stream);
  int (*destroy_exec)(void *exec);
  int (*destroy_graph)(void *graph);
} cuda;

// Parameters: out, in, count, rounds. out[i] = in[i], `rounds` times multiplied by 3 and incremented.
static const char ptx[] =
    ".version 6.3\n.target sm_50\n.address_size 64\n"
    ".visible .entry step(.param .u64 out, .param .u64 in, .param .u32 count, .param .u32 rounds)\n"
    "{\n"
    "  .reg .pred %p<3>;\n"
    "  .reg .b32 %r<9>;\n"
    "  .reg .b64 %rd<8>;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  ld.param.u64 %rd2, [in];\n"
    "  ld.param.u32 %r1, [count];\n"
    "  ld.param.u32 %r2, [rounds];\n"
    "  mov.u32 %r3, %ctaid.x;\n"
    "  mov.u32 %r4, %ntid.x;\n"
    "  mov.u32 %r5, %tid.x;\n"
    "  mad.lo.s32 %r6, %r3, %r4, %r5;\n"
    "  setp.ge.u32 %p1, %r6, %r1;\n"
    "  @%p1 bra DONE;\n"
    "  cvta.to.global.u64 %rd3, %rd1;\n"
    "  cvta.to.global.u64 %rd4, %rd2;\n"
    "  mul.wide.u32 %rd5, %r6, 4;\n"
    "  add.s64 %rd6, %rd4, %rd5;\n"
    "  add.s64 %rd7, %rd3, %rd5;\n"
    "  ld.global.u32 %r7, [%rd6];\n"
    "  mov.u32 %r8, 0;\n"
    "LOOP:\n"
    "  setp.ge.u32 %p2, %r8, %r2;\n"
    "  @%p2 bra STORE;\n"
    "  mad.lo.u32 %r7, %r7, 3, 1;\n"
    "  add.u32 %r8, %r8, 1;\n"
    "  bra LOOP;\n"
    "STORE:\n"
    "  st.global.u32 [%rd7], %r7;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n";

typedef struct program {
  unsigned branches, depth, elements, rounds;
  void *function; // NULL: copies in its place
  void *stream;
  address memory; // each branch has two arrays
} program;

static void check(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "adopt: %s\n", weir_last_error());
  exit(1);
}

static void good(int result, const char *what) {
  if (result == 0) return;
  fprintf(stderr, "adopt: %s: CUDA error %d\n", what, result);
  exit(1);
}

// The pointer to a function is an object's address in dlsym, which C does not convert.
static void find(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
  if (symbol != NULL) return;
  fprintf(stderr, "adopt: the driver has no %s\n", name);
  exit(1);
}

static void find_all(void) {
  const char *file = getenv("WEIR_CUDA_DRIVER");
  void *library = dlopen(file != NULL ? file : "libcuda.so.1", RTLD_NOW);
  if (library == NULL) exit(1);
  find(library, "cuDevicePrimaryCtxRetain", &cuda.retain);
  find(library, "cuDevicePrimaryCtxRelease_v2", &cuda.release);
  find(library, "cuCtxSetCurrent", &cuda.set_current);
  find(library, "cuMemAlloc_v2", &cuda.allocate);
  find(library, "cuMemFree_v2", &cuda.free);
  find(library, "cuMemsetD32Async", &cuda.fill);
  find(library, "cuMemcpyAsync", &cuda.copy);
  find(library, "cuModuleLoadDataEx", &cuda.load);
  find(library, "cuModuleUnload", &cuda.unload);
  find(library, "cuModuleGetFunction", &cuda.get_function);
  find(library, "cuStreamCreateWithPriority", &cuda.make_stream);
  find(library, "cuStreamDestroy_v2", &cuda.destroy_stream);
  find(library, "cuStreamSynchronize", &cuda.synchronize);
  find(library, "cuStreamBeginCapture_v2", &cuda.begin);
  find(library, "cuStreamEndCapture", &cuda.end);
  find(library, "cuLaunchKernel", &cuda.launch);
  find(library, "cuGraphInstantiateWithFlags", &cuda.instantiate);
  find(library, "cuGraphLaunch", &cuda.launch_graph);
  find(library, "cuGraphExecDestroy", &cuda.destroy_exec);
  find(library, "cuGraphDestroy", &cuda.destroy_graph);
}

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int by_size(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

static double median_us(uint64_t times[LAUNCHES]) {
  qsort(times, LAUNCHES, sizeof *times, by_size);
  return (double)times[LAUNCHES / 2] / 1e3;
}

// ---------------------------------------------------------------------------------------------------------------
// As a framework does it: one stream, one step after another

static address array(const program *p, unsigned branch, unsigned which) {
  return p->memory + (2 * (address)branch + which) * p->elements * 4;
}

static void step(program *p, address out, address in) {
  if (p->function == NULL) {
    good(cuda.copy(out, in, p->elements * 4ull, p->stream), "copy");
    return;
  }
  void *parameters[] = {&out, &in, &p->elements, &p->rounds};
  good(cuda.launch(p->function, (p->elements + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, p->stream, parameters, NULL),
       "launch");
}

static void *capture(program *p) {
  void *graph;
  good(cuda.begin(p->stream, 1), "begin of the capture");
  for (unsigned b = 0; b < p->branches; b++) good(cuda.fill(array(p, b, 0), b, p->elements, p->stream), "fill");
  for (unsigned d = 0; d < p->depth; d++)
    for (unsigned b = 0; b < p->branches; b++) step(p, array(p, b, (d + 1) % 2), array(p, b, d % 2));
  good(cuda.end(p->stream, &graph), "end of the capture");
  return graph;
}

static void expect(const program *p, const char *what) {
  size_t bytes = p->elements * 4ull;
  unsigned *numbers = malloc(bytes), wrong = 0;
  if (numbers == NULL) exit(1);
  for (unsigned b = 0; b < p->branches; b++) {
    unsigned wanted = b;
    for (unsigned i = 0; p->function != NULL && i < p->depth * p->rounds; i++) wanted = wanted * 3 + 1;
    good(cuda.copy((address)(uintptr_t)numbers, array(p, b, p->depth % 2), bytes, p->stream), "copy");
    good(cuda.synchronize(p->stream), "synchronize");
    for (unsigned i = 0; i < p->elements; i++) wrong += numbers[i] != wanted;
  }
  printf("%s: %u of %u numbers are wrong\n", what, wrong, p->branches * p->elements);
  free(numbers);
  if (wrong > 0) exit(1);
}

static double time_own(const program *p, void *graph) {
  uint64_t times[LAUNCHES];
  void *exec;
  good(cuda.instantiate(&exec, graph, 0), "instantiation");
  for (int i = 0; i < LAUNCHES; i++) {
    uint64_t start = now_ns();
    good(cuda.launch_graph(exec, p->stream), "launch of the graph");
    good(cuda.synchronize(p->stream), "synchronize");
    times[i] = now_ns() - start;
  }
  good(cuda.destroy_exec(exec), "exec destroy");
  return median_us(times);
}

// ---------------------------------------------------------------------------------------------------------------
// Adopted

// A step reads `in` and overwrites `out`. Fills and copies Weir knows by itself.
static weir_status describe(void *user, const weir_cuda_node *node, weir_cuda_accesses *accesses) {
  address out, in;
  unsigned count;
  (void)user;
  if (node->kind != WEIR_CUDA_NODE_KERNEL || strcmp(node->name, "step") != 0) return WEIR_OK;
  memcpy(&out, node->parameters[0], sizeof out);
  memcpy(&in, node->parameters[1], sizeof in);
  memcpy(&count, node->parameters[2], sizeof count);
  weir_status status = weir_cuda_access_add(accesses, out, count * 4ull, WEIR_WRITE);
  return status == WEIR_OK ? weir_cuda_access_add(accesses, in, count * 4ull, WEIR_READ) : status;
}

static weir_graph *adopt(weir_device *device, void *graph) {
  weir_cuda_nodes *nodes;
  weir_graph *adopted;
  weir_graph_info info;
  const weir_cuda_adopt_options options = {.describe = describe, .check_parameters = true};
  uint64_t start = now_ns();
  check(weir_cuda_nodes_read(device, graph, &nodes));
  uint64_t read = now_ns();
  check(weir_cuda_graph_adopt(nodes, &options, &adopted));
  weir_cuda_nodes_release(nodes);
  uint64_t done = now_ns();
  check(weir_graph_build(adopted));
  check(weir_graph_information(adopted, &info));
  printf("%u nodes: read in %.3f ms, adopted in %.3f ms, built in %.3f ms with %llu edges\n", info.tasks,
         (double)(read - start) / 1e6, (double)(done - read) / 1e6, (double)(now_ns() - done) / 1e6,
         (unsigned long long)info.edges);
  return adopted;
}

// The graph stays the program's own, and gets other edges.
static void relax(weir_device *device, void *graph) {
  weir_cuda_nodes *nodes;
  const weir_cuda_adopt_options options = {.describe = describe, .check_parameters = true};
  check(weir_cuda_nodes_read(device, graph, &nodes));
  check(weir_cuda_graph_relax(nodes, &options, NULL));
  weir_cuda_nodes_release(nodes);
}

static double time_adopted(weir_graph *graph, double *out_call_us) {
  uint64_t times[LAUNCHES], calls[LAUNCHES];
  for (int i = 0; i < LAUNCHES; i++) {
    uint64_t start = now_ns();
    check(weir_graph_launch(graph, NULL));
    calls[i] = now_ns() - start;
    check(weir_graph_wait(graph, WEIR_FOREVER));
    times[i] = now_ns() - start;
  }
  *out_call_us = median_us(calls);
  return median_us(times);
}

static unsigned number(int argc, char **argv, int index, unsigned otherwise) {
  unsigned given = index < argc ? (unsigned)strtoul(argv[index], NULL, 0) : 0;
  return given > 0 ? given : otherwise;
}

int main(int argc, char **argv) {
  weir_context *context;
  void *own, *module = NULL;
  int first = argc > 1 && strcmp(argv[1], "copies") == 0 ? 2 : 1;
  program p = {.branches = number(argc, argv, first, 8),
               .depth = number(argc, argv, first + 1, 20),
               .elements = number(argc, argv, first + 2, 4096),
               .rounds = number(argc, argv, first + 3, 1000)};
  if (weir_context_create(&(weir_context_options){.devices = "cuda"}, &context) != WEIR_OK) {
    printf("skipped: %s\n", weir_last_error());
    return SKIPPED;
  }
  find_all();
  good(cuda.retain(&own, 0), "context");
  good(cuda.set_current(own), "context");
  if (first == 1) good(cuda.load(&module, ptx, 0, NULL, NULL), "module");
  if (first == 1) good(cuda.get_function(&p.function, module, "step"), "function");
  good(cuda.make_stream(&p.stream, 1, 0), "stream");
  good(cuda.allocate(&p.memory, 8ull * p.branches * p.elements), "memory");

  void *graph = capture(&p);
  double captured_us = time_own(&p, graph), call_us;
  expect(&p, "captured in one stream");
  weir_graph *adopted = adopt(weir_context_device(context, 0), graph);
  double adopted_us = time_adopted(adopted, &call_us);
  expect(&p, "adopted");
  relax(weir_context_device(context, 0), graph);
  double relaxed_us = time_own(&p, graph);
  expect(&p, "relaxed");
  good(cuda.destroy_graph(graph), "graph destroy");
  printf("medians of %d launches: captured %.1f us, adopted %.1f us (%.2fx), relaxed %.1f us (%.2fx); Weir's call of a "
         "launch took %.1f us\n",
         LAUNCHES, captured_us, adopted_us, captured_us / adopted_us, relaxed_us, captured_us / relaxed_us, call_us);

  check(weir_graph_release(adopted));
  check(weir_context_release(context));
  good(cuda.free(p.memory), "memory");
  good(cuda.destroy_stream(p.stream), "stream");
  if (module != NULL) good(cuda.unload(module), "module");
  good(cuda.release(0), "context");
  return fflush(stdout) == 0 ? 0 : 1;
}
