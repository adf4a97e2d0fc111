// SPDX-License-Identifier: Apache-2.0
//
// Contexts that use the resident kernel by themselves, on the stub driver: copies beside it, and streams of the caller.
#include <stdatomic.h>

#include "automatic.h"
#include "device/cuda/resident/resident.h"
#include "device/cuda/symbols.h"
#include "part.h"

#define STUB_DECLARE(member, symbol, need, parameters) CUresult symbol parameters;
WEIR__CUDA_SYMBOLS(STUB_DECLARE)
#undef STUB_DECLARE

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
  automatic_begin_with_ring(&r, 1, automatic_seed(0, 0, false, true));
  automatic_run_single(&r, RIG_GATE, 1); // and its code is asked for
  automatic_pass_thread(&r);
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
  automatic_finish(&r);
  weir_context_statistics(r.context, &statistics);
  assert_int_equal(statistics.resident_moves - before.resident_moves, 1);
  rig_end(&r);
}

// Where it is on the card with nothing to do, it need not leave for a copy: the tasks that come after it find it there.
static void a_copy_leaves_the_kernel_on_the_card(void **state) {
  (void)state;
  rig r;
  automatic_begin_with_ring(&r, 1, automatic_seed(0, 0, false, true));
  const weir__resident *resident = weir__cuda_of(r.device)->resident;
  for (int i = 0; i < SINGLE; i++) {
    automatic_run_single(&r, RIG_MIX, 1);
    rig_copy(&r, 4, 5);
    automatic_finish(&r);
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
    automatic_begin_with_ring(&r, nth, automatic_seed(nth, 0, nth % 2 != 0, true));
    for (uint32_t i = 0; i < TASKS; i++) {
      uint32_t to = random_below(&random, RIG_BUFFERS),
               from = (to + 1 + random_below(&random, RIG_BUFFERS - 1)) % RIG_BUFFERS;
      rig_copy(&r, to, from);
      if (random_chance(&random, 30)) automatic_finish(&r);
      rig_submit(&r, random_chance(&random, 5) ? RIG_PLAIN : RIG_MIX, (from + i) % RIG_BUFFERS,
                 (from + i + 1) % RIG_BUFFERS, i, NULL);
      automatic_finish(&r);
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
  automatic_finish(r);
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
    automatic_begin_with_ring(&r, i + 1, automatic_seed(i / 2, i % 8, i % 3 == 0, true));
    make_stream(&r, &own);
    assert_int_equal(cuStreamSynchronize(own.stream), CUDA_SUCCESS);
    uint64_t resident = 0;
    for (uint32_t round = 0; round < 6; round++) {
      // With odd numbers the stream waits first, and finds tasks that may be resident; else tasks do.
      if (round > 0 || i % 2 == 0) {
        set_words(&own, round);
        assert_int_equal(weir_cuda_tasks_wait_for_stream(r.device, own.stream), WEIR_OK);
      } else {
        automatic_run_single(&r, RIG_MIX, 2);
      }
      if (round == 0 && i % 2 == 0) resident = rig_resident_tasks(&r);
      weir_event *event = mix_words(&r, &own);
      assert_int_equal(weir_cuda_stream_waits_for_tasks(r.device, own.stream, round % 2 == 0 ? event : NULL), WEIR_OK);
      weir_event_release(event);
      compare_words(&own);
      if (round == 0 && i % 2 == 1) resident = rig_resident_tasks(&r);
    }
    automatic_run_single(&r, RIG_MIX, SINGLE);
    random_state random = {i};
    automatic_submit_random(&r, &random, 50, 10, 10);
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
    automatic_begin_with_ring(&r, i + 1, automatic_seed(i, 0, i % 3 == 0, true));
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
int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_follow_what_is_resident),
      cmocka_unit_test(a_copy_leaves_the_kernel_on_the_card),
      cmocka_unit_test(copies_before_what_is_resident),
      cmocka_unit_test(streams_of_the_caller),
      cmocka_unit_test(a_stream_waits_for_a_task_that_is_resident),
  };
  return cmocka_run_group_tests_name("resident issue: automatic, copies and streams", tests, NULL, NULL);
}
