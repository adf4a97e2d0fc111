// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions that come again on CUDA, pass by pass: what each way to issue asks of the driver. On the driver of
// stub/, in random orders.
#include <stdlib.h>
#include <string.h>

#include "share.h"
#include "weir/enqueue.h"

enum {
  COUNT = 64,
  BYTES = COUNT * 4,
  BLOCKS = 12,
  LAYERS = 8,
  PASSES = 12,
  MOST_PASSES = 100,
  CALLS = BLOCKS * LAYERS,
  ACCOUNT = 512 // of captures, with a seed
};

typedef struct library {
  const share *s;
  CUfunction sum;
  atomic_uint calls, captures;
} library;

static CUresult sum(const library *lib, void *stream, uint64_t out, uint64_t a, uint64_t b) {
  uint32_t count = COUNT;
  void *parameters[] = {&out, &a, &b, &count};
  return lib->s->driver->cuLaunchKernel(lib->sum, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

// out = a + b, by way of scratch memory where there is some: (a, b, out).
static weir_status add(const weir_enqueue *call) {
  library *lib = call->data;
  uint64_t a = call->args[0].pointer, b = call->args[1].pointer, out = call->args[2].pointer;
  CUresult result = CUDA_SUCCESS;
  atomic_fetch_add(&lib->calls, 1);
  if (call->capturing) atomic_fetch_add(&lib->captures, 1);
  if (call->scratch.bytes > 0) {
    result = sum(lib, call->queue, call->scratch.pointer, b, a);
    if (result == CUDA_SUCCESS) result = sum(lib, call->queue, out, a, b);
  } else {
    result = sum(lib, call->queue, out, a, b);
  }
  return result == CUDA_SUCCESS ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

// ---------------------------------------------------------------------------------------------------------------
// A network: each block has four branches of two layers, whose ends stand side by side in what the next block reads

typedef struct network {
  share *s;
  library lib;
  weir_kernel *kernels[2]; // without and with scratch memory
  weir_buffer *inputs[BLOCKS + 1], *between[BLOCKS][LAYERS / 2];
  uint64_t version; // part of what the functions depend on
} network;

static void make(network *net, share *s) {
  *net = (network){.s = s, .lib = {.s = s}};
  share_good(s->driver->cuModuleGetFunction(&net->lib.sum, s->module, "sum"));
  for (uint32_t i = 0; i < 2; i++) {
    weir_enqueue_code code = {
        .function = add, .scratch_bytes = i == 1 ? 4 * BYTES : 0, .flags = WEIR_ENQUEUE_PURE, .data = &net->lib};
    share_ok(weir_kernel_create(s->context, i == 1 ? "with scratch" : "layer", &net->kernels[i]));
    share_ok(weir_kernel_set_enqueue(net->kernels[i], "cuda", &code));
  }
  for (uint32_t i = 0; i <= BLOCKS; i++) net->inputs[i] = share_buffer(s, LAYERS / 2 * COUNT);
  for (uint32_t i = 0; i < BLOCKS * LAYERS / 2; i++)
    net->between[i / (LAYERS / 2)][i % (LAYERS / 2)] = share_buffer(s, COUNT);
}

static void layer(network *net, uint32_t kernel, weir_arg a, weir_arg b, weir_arg out) {
  weir_arg args[] = {a, b, out};
  share_ok(weir_submit(net->s->context,
                       &(weir_task){.kernel = net->kernels[kernel],
                                    .user = (void *)(uintptr_t)net->version, // NOLINT
                                    .args = args,
                                    .arg_count = 3},
                       NULL));
}

static void submit(network *net) {
  for (uint32_t block = 0; block < BLOCKS; block++) {
    for (uint32_t i = 0; i < LAYERS / 2; i++) {
      weir_buffer *between = net->between[block][i];
      uint64_t own = i * (uint64_t)BYTES, other = (i + 1) % (LAYERS / 2) * (uint64_t)BYTES;
      layer(net, block > 0, weir_reads_range(net->inputs[block], own, BYTES),
            weir_reads_range(net->inputs[block], other, BYTES), weir_writes(between));
      layer(net, block > 0, weir_reads(between), weir_reads(between),
            weir_writes_range(net->inputs[block + 1], own, BYTES));
    }
  }
}

static void pass(network *net) {
  submit(net);
  share_ok(weir_finish(net->s->context));
}

static void begin(network *net) {
  uint32_t first[LAYERS / 2 * COUNT];
  for (uint32_t i = 0; i < LAYERS / 2 * COUNT; i++) first[i] = i;
  share_ok(weir_copy_in(net->inputs[0], 0, sizeof first, first, NULL));
  share_ok(weir_finish(net->s->context));
}

static void check(network *net) {
  uint32_t numbers[LAYERS / 2 * COUNT], wanted[LAYERS / 2 * COUNT], next[LAYERS / 2 * COUNT];
  for (uint32_t i = 0; i < LAYERS / 2 * COUNT; i++) wanted[i] = i;
  for (uint32_t block = 0; block < BLOCKS; block++) {
    for (uint32_t i = 0; i < LAYERS / 2 * COUNT; i++)
      next[i] = 2 * (wanted[i] + wanted[(i + COUNT) % (LAYERS / 2 * COUNT)]);
    memcpy(wanted, next, sizeof wanted);
  }
  share_ok(weir_read(net->inputs[BLOCKS], 0, sizeof numbers, numbers));
  assert_memory_equal(numbers, wanted, sizeof numbers);
}

typedef struct counts {
  uint32_t calls, captures;
  uint64_t made, launched, updated;
} counts;

static counts count_now(network *net) {
  return (counts){.calls = atomic_load(&net->lib.calls),
                  .captures = atomic_load(&net->lib.captures),
                  .made = stub_calls("cuGraphInstantiateWithFlags"),
                  .launched = stub_calls("cuGraphLaunch"),
                  .updated = stub_calls("cuGraphExecChildGraphNodeSetParams")};
}

// ---------------------------------------------------------------------------------------------------------------

// By default the driver is asked for what queues ask it for, as long as no pass comes again with the same arguments.
static void passes_of_a_network(share *s) {
  network net;
  make(&net, s);
  begin(&net);
  counts before = count_now(&net);
  for (uint32_t i = 1; i <= PASSES; i++) {
    if (s->issue == WEIR_ISSUE_AUTO) net.version = i;
    pass(&net);
    counts now = count_now(&net);
    check(&net);
    if (s->issue == WEIR_ISSUE_GRAPHS) continue; // below
    assert_int_equal(now.calls, i * CALLS);
    assert_int_equal(now.captures, 0);
    assert_int_equal(now.made, before.made);
    assert_int_equal(now.launched, before.launched);
    assert_int_equal(now.updated, before.updated);
  }
}

// There comes a time when passes need no call, no capture, no update and no other graph: scratch memory is where it
// was, and runs of layers that differ in nothing but their arguments have graphs of their own. Returns how many such
// passes there were, which need not follow each other, since a thread that waits long for its turn may cut a pass
// elsewhere.
static uint32_t pass_until_quiet(network *net, uint32_t most) {
  uint32_t quiet = 0;
  for (uint32_t i = 0; i < most && quiet < PASSES; i++) {
    counts before = count_now(net);
    pass(net);
    counts now = count_now(net);
    check(net);
    bool same = now.captures == before.captures && now.made == before.made && now.updated == before.updated;
    quiet += same && now.calls == before.calls && now.launched > before.launched;
  }
  return quiet;
}

static void passes_need_nothing(share *s) {
  network net;
  make(&net, s);
  begin(&net);
  counts before = count_now(&net);
  if (s->issue == WEIR_ISSUE_QUEUES) return;
  assert_int_equal(pass_until_quiet(&net, MOST_PASSES), PASSES);
  if (s->issue == WEIR_ISSUE_AUTO) assert_int_equal(count_now(&net).updated, before.updated);
}

// By default few calls are captured in vain, when each pass comes three times and then no more.
static void passes_are_given_up(share *s) {
  enum { IRREGULAR = 150 };
  network net;
  make(&net, s);
  begin(&net);
  if (s->issue != WEIR_ISSUE_AUTO) return;
  for (uint32_t i = 0; i < IRREGULAR; i++) {
    net.version = i / 3;
    pass(&net);
  }
  check(&net);
  assert_in_range(count_now(&net).captures, 0, ACCOUNT + IRREGULAR * CALLS / 64 + CALLS);
}

// Passes that do not wait for each other: buffers that are overwritten are renamed, so that their addresses go round.
static void passes_in_flight(share *s) {
  network net;
  make(&net, s);
  begin(&net);
  for (uint32_t i = 0; i < MOST_PASSES; i++) submit(&net);
  share_ok(weir_finish(s->context));
  check(&net);
  counts now = count_now(&net);
  if (s->issue == WEIR_ISSUE_QUEUES) assert_int_equal(now.captures, 0);
  if (s->issue == WEIR_ISSUE_AUTO) assert_in_range(now.captures, 0, ACCOUNT + MOST_PASSES * CALLS / 64);
}

static void test_network(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda", .window = 1024}, passes_of_a_network);
  share_run("cuda", passes_of_a_network);
  share_run_with(&(weir_context_options){.devices = "cuda", .window = 1024}, passes_are_given_up);
  share_run_with(&(weir_context_options){.devices = "cuda", .window = 1024}, passes_in_flight);
  share_run_with(&(weir_context_options){.devices = "cuda", .window = 1024}, passes_need_nothing);
  share_run("cuda", passes_need_nothing);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_network)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
