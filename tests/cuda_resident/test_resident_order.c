// SPDX-License-Identifier: Apache-2.0
//
// Resident issue on the stub driver: order and results, of tasks of the resident kernel alone and mixed with tasks of queues.
#include <string.h>

#include "device/cuda/symbols.h"
#include "part.h"
#include "random.h"
#include "rig.h"

#define STUB_DECLARE(member, symbol, need, parameters) CUresult symbol parameters;
WEIR__CUDA_SYMBOLS(STUB_DECLARE)
#undef STUB_DECLARE

enum { SEEDS = 12, TASKS = 400 };

static void submit_random(rig *r, random_state *random, uint32_t count, uint32_t plain_percent, uint32_t copy_percent) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t to = random_below(random, RIG_BUFFERS),
             from = (to + 1 + random_below(random, RIG_BUFFERS - 1)) % RIG_BUFFERS;
    if (random_chance(random, copy_percent)) {
      rig_copy(r, to, from);
      continue;
    }
    rig_submit(r, random_chance(random, plain_percent) ? RIG_PLAIN : RIG_MIX, to, from, i, NULL);
  }
}

static weir_context_options options_of(uint64_t seed) {
  static const uint32_t windows[] = {0, 8, 64};
  return (weir_context_options){.seed = seed % 3 == 0 ? 0 : seed,
                                .window = windows[seed % 3],
                                .flags = seed % 7 == 0 ? WEIR_CONTEXT_IN_ORDER : 0};
}

static void run_random(uint32_t plain_percent, uint32_t copy_percent) {
  test_part some = part_of(SEEDS);
  for (uint64_t seed = 1 + some.first; seed <= some.end; seed++) {
    rig r;
    weir_context_options options = options_of(seed);
    rig_begin(&r, seed, &options);
    random_state random = {seed};
    submit_random(&r, &random, TASKS, plain_percent, copy_percent);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    if (plain_percent == 0 && copy_percent == 0) assert_int_equal(rig_resident_tasks(&r), TASKS);
    rig_end(&r);
  }
}

static void resident_tasks_alone(void **state) {
  (void)state;
  run_random(0, 0);
}

static void mixed_with_tasks_of_queues(void **state) {
  (void)state;
  run_random(30, 10);
}

static void mixed_with_copies(void **state) {
  (void)state;
  run_random(5, 45);
}

// Memory and a stream of the caller's: the stream after tasks of the resident kernel, and these after the stream.
static void streams_of_the_caller(void **state) {
  (void)state;
  test_part some = part_of(SEEDS);
  for (uint64_t seed = 1 + some.first; seed <= some.end; seed++) {
    rig r;
    weir_context_options options = options_of(seed);
    rig_begin(&r, seed, &options);
    CUcontext primary = NULL;
    CUstream stream = NULL;
    CUdeviceptr memory = 0;
    uint32_t words[RIG_WORDS], read[RIG_WORDS];
    assert_int_equal(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxPushCurrent_v2(primary), CUDA_SUCCESS);
    assert_int_equal(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    assert_int_equal(cuMemAlloc_v2(&memory, sizeof words), CUDA_SUCCESS);
    weir_buffer *wrapped = NULL;
    assert_int_equal(weir_buffer_wrap_cuda(r.device, memory, sizeof words, &wrapped), WEIR_OK);
    for (uint32_t round = 0; round < 5; round++) {
      assert_int_equal(cuMemsetD32Async(memory, round, RIG_WORDS, stream), CUDA_SUCCESS);
      assert_int_equal(weir_cuda_tasks_wait_for_stream(r.device, stream), WEIR_OK);
      for (uint32_t i = 0; i < RIG_WORDS; i++) words[i] = round;
      weir_event *event = NULL;
      for (uint32_t i = 0; i < 10; i++) {
        weir_arg args[] = {weir_updates(wrapped), weir_reads(r.buffers[i % RIG_BUFFERS]), weir_value(&i, sizeof i)};
        weir_task task = {.kernel = r.kernels[i % 4 == 3 ? RIG_PLAIN : RIG_MIX],
                          .args = args,
                          .arg_count = 3,
                          .groups = {RIG_GROUPS, 1, 1}};
        assert_int_equal(weir_submit(r.context, &task, i == 9 ? &event : NULL), WEIR_OK);
        for (uint32_t j = 0; j < RIG_WORDS; j++) words[j] = 3 * words[j] + r.expected[i % RIG_BUFFERS][j] + i;
      }
      assert_int_equal(weir_cuda_stream_waits_for_tasks(r.device, stream, round % 2 == 0 ? event : NULL), WEIR_OK);
      weir_event_release(event);
      assert_int_equal(cuMemcpyAsync((CUdeviceptr)(uintptr_t)read, memory, sizeof read, stream), CUDA_SUCCESS);
      assert_int_equal(cuStreamSynchronize(stream), CUDA_SUCCESS);
      assert_memory_equal(read, words, sizeof words);
    }
    weir_buffer_release(wrapped);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    assert_int_equal(cuMemFree_v2(memory), CUDA_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    assert_int_equal(cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    rig_end(&r);
  }
}

int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resident_tasks_alone),
      cmocka_unit_test(mixed_with_tasks_of_queues),
      cmocka_unit_test(mixed_with_copies),
      cmocka_unit_test(streams_of_the_caller),
  };
  return cmocka_run_group_tests_name("resident issue: order", tests, NULL, NULL);
}
