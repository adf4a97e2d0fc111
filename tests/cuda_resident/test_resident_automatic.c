// SPDX-License-Identifier: Apache-2.0
//
// Contexts that use the resident kernel by themselves (WEIR_ISSUE_AUTO), on the stub driver: when tasks go there, in which order,
// and what is left when something cannot be had.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/allocate.h"
#include "device/cuda/resident/resident.h"
#include "device/cuda/symbols.h"
#include "part.h"
#include "random.h"
#include "rig.h"
#include "weir/graph.h"

#define STUB_DECLARE(member, symbol, need, parameters) CUresult symbol parameters;
WEIR__CUDA_SYMBOLS(STUB_DECLARE)
#undef STUB_DECLARE

#ifdef WEIR_SMALL_TESTS
enum { SEEDS = 4, TASKS = 150, LOOPS = 10 };
#else
enum { SEEDS = 12, TASKS = 400, LOOPS = 30 };
#endif

enum {
  SINGLE = 20,   // tasks, each waited for
  IN_LOOP = 100, // more than between the waits of a program that, with a seed, counts as waiting often
  NO_MEMORY = 2,
  NOT_SUPPORTED = 801,
  MOST_LOOPS = 1000,
};

// The nth seed with which a context may use the resident kernel, asks for it after more than `enough` tasks and, if it `awaits`, waits
// for it. With `mixes` tasks of one piece go to different places.
static uint64_t seed_of(uint32_t nth, uint32_t enough, bool mixes, bool awaits) {
  for (uint64_t low = 1;; low++) {
    uint64_t seed = (uint64_t)enough << 16 | (uint64_t)mixes << 8 | low;
    assert_true(low < 256);
    if (seed % 4 != 0 && (seed % 3 != 0) == awaits && nth-- == 0) return seed;
  }
}

static void finish(rig *r) {
  if (weir_finish(r->context) != WEIR_OK) fail_msg("%s", weir_last_error());
}

// Tasks that are waited for one by one are pieces of their own, of which there are no graphs.
static void run_single(rig *r, rig_kernel kernel, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    rig_submit(r, kernel, i % RIG_BUFFERS, (i + 3) % RIG_BUFFERS, i, NULL);
    finish(r);
  }
}

// The device's thread has looked for a resident kernel since what was done before.
static void pass_thread(rig *r) {
  rig_copy(r, 0, 1);
  finish(r);
}

// As many tasks as make it ask: what comes later goes to the resident kernel, if one is to be had.
static void make_it_ask(rig *r, uint32_t enough) {
  run_single(r, RIG_MIX, enough + 1);
  pass_thread(r);
}

static void begin_with_ring(rig *r, uint64_t seed, uint64_t context_seed) {
  weir_context_options options = {.seed = context_seed};
  rig_begin_automatic(r, seed, &options);
  make_it_ask(r, (uint32_t)(context_seed >> 16) % 8);
  run_single(r, RIG_MIX, 1);
  assert_int_equal(rig_resident_tasks(r), 1);
}

static void submit_random(rig *r, random_state *random, uint32_t count, uint32_t plain_percent, uint32_t copy_percent) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t to = random_below(random, RIG_BUFFERS),
             from = (to + 1 + random_below(random, RIG_BUFFERS - 1)) % RIG_BUFFERS;
    if (random_chance(random, copy_percent))
      rig_copy(r, to, from);
    else
      rig_submit(r, random_chance(random, plain_percent) ? RIG_PLAIN : RIG_MIX, to, from, i, NULL);
    if (random_chance(random, 3)) finish(r);
  }
}

static void tasks_are_resident_once_enough_were_not(void **state) {
  (void)state;
  for (uint32_t enough = 0; enough < 8; enough++) {
    rig r;
    weir_context_options options = {.seed = seed_of(enough, enough, enough % 2 == 0, true)};
    rig_begin_automatic(&r, enough, &options);
    run_single(&r, RIG_MIX, enough);
    pass_thread(&r);
    assert_int_equal(stub_calls("cuLinkComplete"), 0);
    run_single(&r, RIG_MIX, 1);
    pass_thread(&r);
    assert_int_equal(stub_calls("cuLinkComplete"), 1);
    assert_int_equal(rig_resident_tasks(&r), 0);
    run_single(&r, RIG_MIX, SINGLE);
    assert_int_equal(rig_resident_tasks(&r), SINGLE);
    run_single(&r, RIG_PLAIN, SINGLE);
    assert_int_equal(rig_resident_tasks(&r), SINGLE);
    rig_end(&r);
  }
}

static void none_is_resident_without_launchers(void **state) {
  (void)state;
  rig r;
  rig_begin_automatic(&r, 1, &(weir_context_options){.seed = 4});
  run_single(&r, RIG_MIX, SINGLE);
  random_state random = {1};
  submit_random(&r, &random, TASKS, 0, 0);
  assert_int_equal(rig_resident_tasks(&r), 0);
  assert_int_equal(stub_calls("cuLinkComplete"), 0);
  rig_end(&r);
}

static void none_is_resident_where_no_code_fits(void **state) {
  (void)state;
  rig r;
  rig_begin_automatic(&r, 1, &(weir_context_options){.seed = seed_of(0, 0, false, true)});
  run_single(&r, RIG_PLAIN, SINGLE);
  assert_int_equal(rig_resident_tasks(&r), 0);
  assert_int_equal(stub_calls("cuLinkComplete"), 0);
  rig_end(&r);
}

static void run_random(uint32_t plain_percent, uint32_t copy_percent) {
  uint64_t all = 0;
  test_part some = part_of(4 * SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    static const uint32_t windows[] = {0, 8, 64};
    bool mixes = i % 2 == 1, awaits = i % 4 < 2;
    rig r;
    weir_context_options options = {.seed = seed_of(i / 4, i % 8, mixes, awaits),
                                    .window = windows[i % 3],
                                    .flags = i % 7 == 0 ? WEIR_CONTEXT_IN_ORDER : 0};
    rig_begin_automatic(&r, i + 1, &options);
    random_state random = {i + 1};
    submit_random(&r, &random, TASKS, plain_percent, copy_percent);
    uint64_t resident = rig_resident_tasks(&r);
    all += resident;
    // A context in order has one queue, which needs no launchers.
    if (plain_percent == 0 && awaits && options.flags == 0 && resident == 0) fail_msg("seed %u: none is resident", i);
    rig_end(&r);
  }
  assert_true(all > 0 || part_divisor() > 1); // a few seeds may have none
}

static void tasks_that_are_new_every_time(void **state) {
  (void)state;
  run_random(0, 0);
}

static void mixed_with_tasks_of_queues(void **state) {
  (void)state;
  run_random(30, 10);
}

static void submit_loop(rig *r) {
  for (uint32_t i = 0; i < IN_LOOP; i++) rig_submit(r, RIG_MIX, i % RIG_BUFFERS, (i + 1) % RIG_BUFFERS, 7, NULL);
}

// Until there is a graph of it.
static void learn_loop(rig *r) {
  uint64_t graphs = stub_calls("cuGraphLaunch");
  for (int i = 0; i < MOST_LOOPS && stub_calls("cuGraphLaunch") < graphs + 3; i++) {
    submit_loop(r);
    finish(r);
  }
  assert_true(stub_calls("cuGraphLaunch") >= graphs + 3);
}

static void what_comes_again_goes_over_to_graphs(void **state) {
  (void)state;
  test_part some = part_of(8);
  for (uint32_t i = some.first; i < some.end; i++) {
    bool finishes = i % 2 == 0;
    rig r;
    begin_with_ring(&r, i + 1, seed_of(i, 0, i / 2 % 2 == 1, true));
    for (int loop = 0; loop < LOOPS; loop++) {
      submit_loop(&r);
      if (finishes) finish(&r);
    }
    finish(&r);
    learn_loop(&r);
    for (int loop = 0; loop < LOOPS; loop++) {
      if (loop % 3 == 0) rig_submit(&r, RIG_MIX, 0, 2, 5, NULL); // it is new here
      submit_loop(&r);
      if (finishes) finish(&r);
    }
    rig_end(&r);
  }
}

// Tasks that are too few for a graph count, too: a program that came again once is not taken for one that does for ever.
static void what_comes_again_no_longer_is_resident(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 4; i++) {
    rig r;
    begin_with_ring(&r, i + 1, seed_of(i, 0, false, true));
    learn_loop(&r);
    for (int loop = 0; loop < 50; loop++) {
      submit_loop(&r);
      finish(&r);
    }
    uint64_t resident = rig_resident_tasks(&r);
    run_single(&r, RIG_MIX, 1000);
    assert_true(rig_resident_tasks(&r) > resident);
    rig_end(&r);
  }
}

// A graph cannot wait for a task of the resident kernel: the device's thread does.
static void a_graph_comes_behind_a_task_that_is_resident(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 6; i++) {
    rig r;
    atomic_store(&rig_gate, true);
    begin_with_ring(&r, i + 1, seed_of(i, 0, i % 2 == 1, true));
    rig_submit(&r, RIG_GATE, 1, 2, 3, NULL);
    finish(&r);
    pass_thread(&r);
    learn_loop(&r);
    uint64_t resident = rig_resident_tasks(&r), graphs = stub_calls("cuGraphLaunch");
    atomic_store(&rig_gate, false);
    rig_submit(&r, RIG_GATE, 1, 2, 3, NULL);
    assert_int_equal(weir_finish_for(r.context, 2000000), WEIR_TIMEOUT);
    submit_loop(&r);
    assert_int_equal(weir_finish_for(r.context, 2000000), WEIR_TIMEOUT);
    atomic_store(&rig_gate, true);
    finish(&r);
    assert_true(rig_resident_tasks(&r) > resident);
    assert_true(stub_calls("cuGraphLaunch") > graphs);
    rig_end(&r);
  }
}

// The device's thread has its own time, which a machine under load makes long.
static void await_copies(rig *r, uint64_t count) {
  for (int i = 0; i < 10000 && stub_calls("cuMemcpyAsync") < count; i++)
    assert_int_equal(weir_finish_for(r->context, 2000000), WEIR_TIMEOUT);
  assert_int_equal(stub_calls("cuMemcpyAsync"), count);
}

// A small copy between tasks that are resident, and one that comes after nothing there.
static void copies_follow_what_is_resident(void **state) {
  (void)state;
  rig r;
  weir_statistics before, statistics;
  atomic_store(&rig_gate, true);
  begin_with_ring(&r, 1, seed_of(0, 0, false, true));
  run_single(&r, RIG_GATE, 1); // and its code is asked for
  pass_thread(&r);
  atomic_store(&rig_gate, false);
  weir_context_statistics(r.context, &before);
  rig_submit(&r, RIG_GATE, 1, 2, 3, NULL);
  assert_int_equal(weir_finish_for(r.context, 2000000), WEIR_TIMEOUT);
  uint64_t copies = stub_calls("cuMemcpyAsync");
  rig_copy(&r, 3, 1);
  assert_int_equal(weir_finish_for(r.context, 2000000), WEIR_TIMEOUT);
  assert_int_equal(stub_calls("cuMemcpyAsync"), copies);
  rig_copy(&r, 4, 5);
  await_copies(&r, copies + 1);
  atomic_store(&rig_gate, true);
  finish(&r);
  weir_context_statistics(r.context, &statistics);
  assert_int_equal(statistics.resident_moves - before.resident_moves, 1);
  rig_end(&r);
}

// Where it is on the card with nothing to do, it need not leave for a copy: the tasks that come after it find it there.
static void a_copy_leaves_the_kernel_on_the_card(void **state) {
  (void)state;
  rig r;
  begin_with_ring(&r, 1, seed_of(0, 0, false, true));
  const weir__resident *resident = weir__cuda_of(r.device)->resident;
  for (int i = 0; i < SINGLE; i++) {
    run_single(&r, RIG_MIX, 1);
    rig_copy(&r, 4, 5);
    finish(&r);
    assert_int_not_equal(weir__r_host_load_acquire(&resident->host->stop), resident->epoch);
  }
  rig_end(&r);
}

// A program that waits often: where its tasks go to the ring at once, so do copies that begin what comes between two waits.
static void copies_before_what_is_resident(void **state) {
  (void)state;
  for (uint32_t nth = 0; nth < SEEDS; nth++) {
    rig r;
    weir_statistics statistics;
    random_state random = {nth + 1};
    begin_with_ring(&r, nth, seed_of(nth, 0, nth % 2 != 0, true));
    for (uint32_t i = 0; i < TASKS; i++) {
      uint32_t to = random_below(&random, RIG_BUFFERS),
               from = (to + 1 + random_below(&random, RIG_BUFFERS - 1)) % RIG_BUFFERS;
      rig_copy(&r, to, from);
      if (random_chance(&random, 30)) finish(&r);
      rig_submit(&r, random_chance(&random, 5) ? RIG_PLAIN : RIG_MIX, (from + i) % RIG_BUFFERS,
                 (from + i + 1) % RIG_BUFFERS, i, NULL);
      finish(&r);
    }
    weir_context_statistics(r.context, &statistics);
    print_message("%llu of %u copies were resident\n", (unsigned long long)statistics.resident_moves, TASKS);
    rig_end(&r);
  }
}

typedef struct own_stream {
  CUstream stream;
  CUdeviceptr memory;
  weir_buffer *wrapped;
  uint32_t words[RIG_WORDS];
} own_stream;

static void set_words(own_stream *own, uint32_t value) {
  assert_int_equal(cuMemsetD32Async(own->memory, value, RIG_WORDS, own->stream), CUDA_SUCCESS);
  for (uint32_t i = 0; i < RIG_WORDS; i++) own->words[i] = value;
}

static void make_stream(rig *r, own_stream *own) {
  CUcontext primary = NULL;
  assert_int_equal(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
  assert_int_equal(cuCtxPushCurrent_v2(primary), CUDA_SUCCESS);
  assert_int_equal(cuStreamCreateWithPriority(&own->stream, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
  assert_int_equal(cuMemAlloc_v2(&own->memory, sizeof own->words), CUDA_SUCCESS);
  assert_int_equal(weir_buffer_wrap_cuda(r->device, own->memory, sizeof own->words, &own->wrapped), WEIR_OK);
  set_words(own, 0);
}

static void free_stream(rig *r, own_stream *own) {
  weir_buffer_release(own->wrapped);
  finish(r);
  assert_int_equal(cuMemFree_v2(own->memory), CUDA_SUCCESS);
  assert_int_equal(cuStreamDestroy_v2(own->stream), CUDA_SUCCESS);
  assert_int_equal(cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
  assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
}

// Tasks on the caller's memory; the last one's event is wanted.
static weir_event *mix_words(rig *r, own_stream *own) {
  weir_event *event = NULL;
  for (uint32_t i = 0; i < 10; i++) {
    uint32_t from = i % RIG_BUFFERS;
    weir_arg args[] = {weir_updates(own->wrapped), weir_reads(r->buffers[from]), weir_value(&i, sizeof i)};
    weir_task task = {.kernel = r->kernels[i % 4 == 3 ? RIG_PLAIN : RIG_MIX],
                      .args = args,
                      .arg_count = 3,
                      .groups = {RIG_GROUPS, 1, 1}};
    assert_int_equal(weir_submit(r->context, &task, i == 9 ? &event : NULL), WEIR_OK);
    for (uint32_t j = 0; j < RIG_WORDS; j++) own->words[j] = 3 * own->words[j] + r->expected[from][j] + i;
  }
  return event;
}

static void compare_words(own_stream *own) {
  uint32_t read[RIG_WORDS];
  assert_int_equal(cuMemcpyAsync((CUdeviceptr)(uintptr_t)read, own->memory, sizeof read, own->stream), CUDA_SUCCESS);
  assert_int_equal(cuStreamSynchronize(own->stream), CUDA_SUCCESS);
  assert_memory_equal(read, own->words, sizeof read);
}

// From the first call on all tasks are in queues.
static void streams_of_the_caller(void **state) {
  (void)state;
  test_part some = part_of(2 * SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    own_stream own;
    begin_with_ring(&r, i + 1, seed_of(i / 2, i % 8, i % 3 == 0, true));
    make_stream(&r, &own);
    assert_int_equal(cuStreamSynchronize(own.stream), CUDA_SUCCESS);
    uint64_t resident = 0;
    for (uint32_t round = 0; round < 6; round++) {
      // With odd numbers the stream waits first, and finds tasks that may be resident; else tasks do.
      if (round > 0 || i % 2 == 0) {
        set_words(&own, round);
        assert_int_equal(weir_cuda_tasks_wait_for_stream(r.device, own.stream), WEIR_OK);
      } else {
        run_single(&r, RIG_MIX, 2);
      }
      if (round == 0 && i % 2 == 0) resident = rig_resident_tasks(&r);
      weir_event *event = mix_words(&r, &own);
      assert_int_equal(weir_cuda_stream_waits_for_tasks(r.device, own.stream, round % 2 == 0 ? event : NULL), WEIR_OK);
      weir_event_release(event);
      compare_words(&own);
      if (round == 0 && i % 2 == 1) resident = rig_resident_tasks(&r);
    }
    run_single(&r, RIG_MIX, SINGLE);
    random_state random = {i};
    submit_random(&r, &random, 50, 10, 10);
    assert_int_equal(rig_resident_tasks(&r), resident);
    free_stream(&r, &own);
    rig_end(&r);
  }
}

// A stream that waits for tasks of which the resident kernel still has some.
static void a_stream_waits_for_a_task_that_is_resident(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 6; i++) {
    rig r;
    own_stream own;
    begin_with_ring(&r, i + 1, seed_of(i, 0, i % 3 == 0, true));
    make_stream(&r, &own);
    assert_int_equal(cuStreamSynchronize(own.stream), CUDA_SUCCESS);
    weir_event *event = NULL;
    for (uint32_t value = 0; value < 3; value++) {
      weir_event_release(event);
      weir_arg args[] = {weir_updates(own.wrapped), weir_reads(r.buffers[0]), weir_value(&value, sizeof value)};
      weir_task task = {.kernel = r.kernels[RIG_MIX], .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
      assert_int_equal(weir_submit(r.context, &task, &event), WEIR_OK);
      for (uint32_t j = 0; j < RIG_WORDS; j++) own.words[j] = 3 * own.words[j] + r.expected[0][j] + value;
      weir_finish_for(r.context, 0); // launches it
    }
    assert_int_equal(weir_cuda_stream_waits_for_tasks(r.device, own.stream, i % 2 == 0 ? event : NULL), WEIR_OK);
    weir_event_release(event);
    compare_words(&own);
    free_stream(&r, &own);
    rig_end(&r);
  }
}

// Everything that the thread needs, in turn. What fails for want of memory is not tried again before there is new code.
static void a_call_for_the_ring_fails(void **state) {
  (void)state;
  static const char *const calls[] = {
      "cuLinkCreate",      "cuLinkAddData",      "cuLinkComplete", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
      "cuModuleGetGlobal", "cuModuleLoadDataEx", "cuMemHostAlloc", "cuStreamCreateWithPriority"};
  for (uint32_t i = 0; i < 2 * sizeof calls / sizeof *calls; i++) {
    for (uint32_t waits = 0; waits < 2; waits++) {
      rig r;
      weir_context_options options = {.seed = seed_of(i, 2, false, waits == 1)};
      rig_begin_automatic(&r, i + 1, &options);
      run_single(&r, RIG_MIX, 2);
      stub_fail_nth(calls[i / 2], 1, i % 2 == 0 ? NOT_SUPPORTED : NO_MEMORY);
      run_single(&r, RIG_MIX, 1);
      if (waits == 1) assert_non_null(stub_failed());
      pass_thread(&r);
      run_single(&r, RIG_MIX, SINGLE);
      uint64_t resident = rig_resident_tasks(&r);
      if (waits == 1 && i % 2 == 1) assert_int_equal(resident, 0);
      assert_true(waits == 0 || resident == 0 || resident == SINGLE);
      rig_end(&r);
    }
  }
}

// Each allocation in turn, and the thread itself.
static void memory_for_the_ring_is_not_to_be_had(void **state) {
  (void)state;
  bool any = false, all = false;
  for (uint64_t n = 1; !all; n++) {
    rig r;
    weir_context_options options = {.seed = seed_of(0, 2, false, true)};
    rig_begin_automatic(&r, n, &options);
    run_single(&r, RIG_MIX, 2);
    uint64_t count = weir__allocate_count();
    weir__allocate_fail_at(n);
    run_single(&r, RIG_MIX, 1);
    weir__allocate_fail_at(0);
    all = weir__allocate_count() < count + n;
    pass_thread(&r);
    run_single(&r, RIG_MIX, SINGLE);
    uint64_t resident = rig_resident_tasks(&r);
    assert_true(resident == 0 || resident == SINGLE);
    if (resident == 0) any = true;
    if (all) assert_int_equal(resident, SINGLE);
    rig_end(&r);
  }
  assert_true(any);
}

// The kernel itself cannot be launched: what was published goes to queues, and all that follows.
static void the_kernel_cannot_be_launched(void **state) {
  (void)state;
  test_part some = part_of(SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    begin_with_ring(&r, i + 1, seed_of(i, 1, i % 2 == 1, true));
    rig_wait_until_idle();
    stub_fail_nth("cuLaunchKernel", 1, NO_MEMORY);
    run_single(&r, RIG_MIX, SINGLE);
    assert_non_null(stub_failed());
    random_state random = {i};
    submit_random(&r, &random, 50, 10, 10);
    assert_int_equal(rig_resident_tasks(&r), 1);
    rig_end(&r);
  }
}

static void expect_lost(weir_event *event) {
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  assert_true(status == WEIR_ERROR_DEVICE_LOST || status == WEIR_ERROR_UPSTREAM_FAILED);
  weir_event_release(event);
}

static void a_task_faults(void **state) {
  (void)state;
  test_part some = part_of(2 * SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    begin_with_ring(&r, i + 1, seed_of(i / 2, i % 3, i % 4 == 3, true));
    if (i % 2 == 1) learn_loop(&r);
    weir_event *bad = NULL, *later = NULL, *behind = NULL;
    rig_submit(&r, RIG_BAD, 0, 1, 1, &bad);
    if (i % 4 == 1) weir_finish_for(r.context, 0); // launches it
    if (i % 2 == 1) submit_loop(&r);
    rig_submit(&r, RIG_MIX, 2, 0, 1, &later);
    rig_submit(&r, RIG_PLAIN, 3, 2, 1, &behind);
    assert_int_equal(weir_event_wait(bad, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
    weir_event_release(bad);
    expect_lost(later);
    expect_lost(behind);
    weir_finish(r.context);
    rig_release(&r);

    begin_with_ring(&r, i + 1, seed_of(i / 2, i % 3, i % 4 == 3, true)); // the next context works
    rig_end(&r);
  }
}

// The device is lost, or the context goes, while the thread is at work, or what it has made was not taken over.
static void the_context_ends_while_code_is_linked(void **state) {
  (void)state;
  test_part some = part_of(4 * SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    weir_context_options options = {.seed = seed_of(i / 2, 0, false, false)};
    rig_begin_automatic(&r, i + 1, &options);
    rig_submit(&r, RIG_MIX, 0, 1, 1, NULL);
    weir_finish_for(r.context, i % 3 * 100000);
    if (i % 2 == 0) rig_submit(&r, RIG_BAD, 0, 1, 1, NULL);
    if (i % 5 == 0) weir_context_cancel(r.context);
    rig_release(&r);
  }
}

static void submit_own(rig *r, weir_kernel *kernel, uint32_t to, uint32_t from, uint32_t value) {
  weir_arg args[] = {weir_updates(r->buffers[to]), weir_reads(r->buffers[from]), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
  if (weir_submit(r->context, &task, NULL) != WEIR_OK) fail_msg("%s", weir_last_error());
  rig_mix(r, to, from, value);
}

// Code that comes when there is a ring is linked anew with all that was there, once enough tasks missed it.
static void code_comes_later(void **state) {
  (void)state;
  static const char *const sources[] = {"STUB\nmix 65 8 8 4\n", "STUB\nmix 66 8 8 4\n", "STUB\nmix 67 8 8 4\n"};
  rig r;
  uint32_t enough = 3;
  begin_with_ring(&r, 1, seed_of(0, enough, false, true));
  uint64_t resident = 1;
  for (uint64_t i = 0; i < 3; i++) {
    weir_kernel *kernel = rig_make_kernel(&r, "mix", sources[i], true);
    for (uint32_t j = 0; j <= enough; j++) {
      submit_own(&r, kernel, j, j + 1, 4);
      finish(&r);
    }
    pass_thread(&r);
    assert_int_equal(stub_calls("cuLinkComplete"), i + 2);
    assert_int_equal(rig_resident_tasks(&r), resident);
    for (uint32_t j = 0; j < SINGLE; j++) {
      submit_own(&r, kernel, j % 7, j % 7 + 1, j);
      finish(&r);
    }
    run_single(&r, RIG_MIX, SINGLE); // the old code is there, too
    resident += 2 * SINGLE;
    assert_int_equal(rig_resident_tasks(&r), resident);
    weir_kernel_release(kernel);
  }
  // Kernels that are made again have their code.
  for (uint32_t i = 0; i < 1000; i++) {
    weir_kernel *kernel = rig_make_kernel(&r, "mix", sources[i % 3], true);
    if (i % 10 == 0) {
      submit_own(&r, kernel, 0, 1, i);
      finish(&r);
      resident++;
    }
    weir_kernel_release(kernel);
  }
  assert_int_equal(rig_resident_tasks(&r), resident);
  assert_int_equal(stub_calls("cuLinkComplete"), 4);
  rig_end(&r);
}

// New code while tasks of old code run and none is waited for.
static void code_comes_while_tasks_run(void **state) {
  (void)state;
  test_part some = part_of(SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    weir_context_options options = {.seed = seed_of(i, i % 3, i % 2 == 1, i % 3 != 0)};
    rig_begin_automatic(&r, i + 1, &options);
    random_state random = {i + 1};
    for (uint32_t round = 0; round < 20; round++) {
      char source[64];
      snprintf(source, sizeof source, "STUB\nmix %u 8 8 4\n", 65 + round % 10);
      weir_kernel *kernel = rig_make_kernel(&r, "mix", source, true);
      for (uint32_t j = 0; j < 10; j++) {
        submit_own(&r, kernel, random_below(&random, 7), 7, j);
        submit_random(&r, &random, 3, 10, 5);
      }
      weir_kernel_release(kernel);
    }
    rig_end(&r);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// A call fails somewhere: tasks and launches of graphs end as their predecessors did, and what is not poisoned is right.

enum { FAILING_TASKS = 120, FAILING_GRAPHS = 4, COPIES = RIG_KERNELS, GRAPHS, KINDS };

typedef struct submitted {
  uint32_t kind, to, from, value;
  weir_event *event;
} submitted;

static weir_graph *make_graph(rig *r, uint32_t to, uint32_t from) {
  weir_graph *graph = NULL;
  uint32_t value = 9;
  weir_arg args[] = {weir_updates(r->buffers[to]), weir_reads(r->buffers[from]), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = r->kernels[RIG_MIX], .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
  assert_int_equal(weir_graph_create(r->context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  return graph;
}

static void submit_one(rig *r, submitted *one, weir_graph *const graphs[FAILING_GRAPHS]) {
  weir_arg args[] = {weir_updates(r->buffers[one->to]), weir_reads(r->buffers[one->from]),
                     weir_value(&one->value, sizeof one->value)};
  weir_task task = {.kernel = one->kind < RIG_KERNELS ? r->kernels[one->kind] : NULL,
                    .args = args,
                    .arg_count = 3,
                    .groups = {RIG_GROUPS, 1, 1}};
  weir_status status = WEIR_OK;
  if (one->kind == GRAPHS)
    status = weir_graph_launch(graphs[one->to], &one->event);
  else if (one->kind == COPIES)
    status = weir_copy(r->buffers[one->to], 0, r->buffers[one->from], 0, RIG_WORDS * sizeof(uint32_t), &one->event);
  else
    status = weir_submit(r->context, &task, &one->event);
  if (status != WEIR_OK && stub_failed() == NULL) fail_msg("%s", weir_last_error());
}

// Returns how many failed by themselves.
static uint32_t follow(rig *r, const submitted *list, uint32_t count, bool poisoned[RIG_BUFFERS]) {
  uint32_t failed = 0;
  for (uint32_t i = 0; i < count; i++) {
    const submitted *one = &list[i];
    if (one->event == NULL) continue; // its graph could not be made
    bool reads_poison = poisoned[one->from] || (one->kind != COPIES && poisoned[one->to]);
    weir_status status = weir_event_wait(one->event, WEIR_FOREVER);
    weir_event_release(one->event);
    if ((status == WEIR_OK || status == WEIR_ERROR_UPSTREAM_FAILED) &&
        reads_poison != (status == WEIR_ERROR_UPSTREAM_FAILED))
      fail_msg("task %u, kind %u: status %d, %s poison", i, one->kind, (int)status,
               reads_poison ? "reads" : "reads no");
    if (status != WEIR_OK && status != WEIR_ERROR_UPSTREAM_FAILED) failed++;
    poisoned[one->to] = status != WEIR_OK;
    if (status != WEIR_OK) continue;
    if (one->kind == COPIES)
      memcpy(r->expected[one->to], r->expected[one->from], sizeof r->expected[one->to]);
    else
      rig_mix(r, one->to, one->from, one->value);
  }
  return failed;
}

static void compare_good(rig *r, const bool poisoned[RIG_BUFFERS]) {
  for (uint32_t i = 0; i < RIG_BUFFERS; i++) {
    uint32_t words[RIG_WORDS];
    weir_event *event = NULL;
    assert_int_equal(weir_copy_out(r->buffers[i], 0, sizeof words, words, &event), WEIR_OK);
    weir_status status = weir_event_wait(event, WEIR_FOREVER);
    weir_event_release(event);
    assert_int_equal(status, poisoned[i] ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK);
    if (!poisoned[i]) assert_memory_equal(words, r->expected[i], sizeof words);
  }
}

static void a_call_fails_among_tasks_of_all_kinds(void **state) {
  (void)state;
  static const char *const calls[] = {"cuLaunchKernel", "cuGraphLaunch",     "cuMemcpyAsync",
                                      "cuEventRecord",  "cuStreamWaitEvent", "cuGraphInstantiateWithFlags"};
  uint32_t failed = 0;
  test_part some = part_of(6 * SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    begin_with_ring(&r, i + 1, seed_of(i % 12, i % 5, i % 3 != 0, true));
    weir_graph *graphs[FAILING_GRAPHS];
    for (uint32_t j = 0; j < FAILING_GRAPHS; j++) graphs[j] = make_graph(&r, j, (j + 3) % RIG_BUFFERS);
    random_state random = {i + 1};
    submitted list[FAILING_TASKS] = {0};
    if (i % 7 != 0) stub_fail_nth(calls[i % 6], 1 + random_below(&random, 30), NO_MEMORY);
    for (uint32_t j = 0; j < FAILING_TASKS; j++) {
      submitted *one = &list[j];
      one->value = j;
      one->kind = random_chance(&random, 50) ? RIG_MIX : random_below(&random, KINDS);
      if (one->kind == RIG_BAD) one->kind = RIG_PLAIN;
      one->to = random_below(&random, one->kind == GRAPHS ? FAILING_GRAPHS : RIG_BUFFERS);
      one->from = (one->to + (one->kind == GRAPHS ? 3 : 1 + random_below(&random, RIG_BUFFERS - 1))) % RIG_BUFFERS;
      if (one->kind == GRAPHS) one->value = 9;
      submit_one(&r, one, graphs);
      if (random_chance(&random, 15)) weir_finish_for(r.context, 0); // launches it
    }
    if (i % 7 == 0) weir_context_cancel(r.context);
    (void)weir_finish(r.context);
    stub_fail_nth(NULL, 0, 0);
    bool poisoned[RIG_BUFFERS] = {false};
    failed += follow(&r, list, FAILING_TASKS, poisoned);
    compare_good(&r, poisoned);
    for (uint32_t j = 0; j < FAILING_GRAPHS; j++) weir_graph_release(graphs[j]);
    (void)weir_finish(r.context);
    rig_release(&r);
  }
  assert_true(failed > 0 || part_divisor() > 1); // the few that a part has may have none
}

// Each device has its own resident kernel, and what one has written the other gets when it is there.
static void two_devices_have_one_each(void **state) {
  (void)state;
  static const uint32_t windows[] = {0, 64, 16};
  test_part some = part_of(SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    weir_context_options options = {
        .devices = "cuda:0,cuda:1", .window = windows[i % 3], .seed = seed_of(i, i % 3, i % 2 == 1, true)};
    rig_begin_automatic(&r, i + 1, &options);
    weir_device *devices[] = {r.device, weir_context_device(r.context, 0)};
    for (uint32_t j = 1; devices[1] == r.device || strcmp(weir_device_information(devices[1])->kind, "cuda") != 0; j++)
      devices[1] = weir_context_device(r.context, j);
    for (uint32_t j = 0; j < 2; j++) {
      r.device = devices[j];
      make_it_ask(&r, i % 3);
    }
    uint64_t links = stub_calls("cuLinkComplete");
    random_state random = {i + 1};
    for (uint32_t j = 0; j < TASKS / 10; j++) {
      r.device = devices[random_below(&random, 2)];
      submit_random(&r, &random, 1 + random_below(&random, 10), i % 2 * 20, 5);
    }
    assert_int_equal(links, 2);
    assert_true(rig_resident_tasks(&r) > 0);
    rig_end(&r);
  }
}

// Where there is a CPU device, too, the device's thread has a core to itself; the one that compiles must not be on it.
static void the_thread_that_links_is_not_pinned(void **state) {
  (void)state;
  rig r;
  rig_threads before;
  weir_context_options options = {.devices = "cpu:1,cuda", .seed = seed_of(0, 2, false, true)};
  rig_begin_automatic(&r, 1, &options);
  run_single(&r, RIG_MIX, 2);
  rig_list_threads(&before);
  run_single(&r, RIG_MIX, 1);
  assert_int_equal(stub_calls("cuLinkComplete"), 1);
  rig_expect_new_threads_unpinned(&before);
  rig_end(&r);
}

static void one_is_told_that_the_context_chooses(void **state) {
  (void)state;
  rig r;
  char reason[512] = "";
  begin_with_ring(&r, 1, seed_of(0, 0, false, true));
  assert_int_equal(weir_cuda_abort(r.device), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "resident"));
  assert_false(weir_cuda_is_resident(r.kernels[RIG_MIX], r.device, reason, sizeof reason));
  assert_non_null(strstr(reason, "no CUDA device of a context with resident issue"));
  assert_false(weir_cuda_is_resident(r.kernels[RIG_PLAIN], r.device, NULL, 0));
  run_single(&r, RIG_MIX, SINGLE);
  assert_int_equal(rig_resident_tasks(&r), SINGLE + 1); // it was not lost
  rig_end(&r);
}

int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_are_resident_once_enough_were_not),
      cmocka_unit_test(none_is_resident_without_launchers),
      cmocka_unit_test(none_is_resident_where_no_code_fits),
      cmocka_unit_test(tasks_that_are_new_every_time),
      cmocka_unit_test(mixed_with_tasks_of_queues),
      cmocka_unit_test(what_comes_again_goes_over_to_graphs),
      cmocka_unit_test(what_comes_again_no_longer_is_resident),
      cmocka_unit_test(a_graph_comes_behind_a_task_that_is_resident),
      cmocka_unit_test(copies_follow_what_is_resident),
      cmocka_unit_test(a_copy_leaves_the_kernel_on_the_card),
      cmocka_unit_test(copies_before_what_is_resident),
      cmocka_unit_test(streams_of_the_caller),
      cmocka_unit_test(a_stream_waits_for_a_task_that_is_resident),
      cmocka_unit_test(a_call_for_the_ring_fails),
      cmocka_unit_test(memory_for_the_ring_is_not_to_be_had),
      cmocka_unit_test(the_kernel_cannot_be_launched),
      cmocka_unit_test(a_task_faults),
      cmocka_unit_test(the_context_ends_while_code_is_linked),
      cmocka_unit_test(code_comes_later),
      cmocka_unit_test(code_comes_while_tasks_run),
      cmocka_unit_test(a_call_fails_among_tasks_of_all_kinds),
      cmocka_unit_test(two_devices_have_one_each),
      cmocka_unit_test(the_thread_that_links_is_not_pinned),
      cmocka_unit_test(one_is_told_that_the_context_chooses),
  };
  return cmocka_run_group_tests_name("resident issue: automatic", tests, NULL, NULL);
}
