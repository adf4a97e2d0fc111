// SPDX-License-Identifier: Apache-2.0
//
// The launcher on the card: kernels that cannot be linked with the resident one, launched by a scheduler of the stub's card.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random.h"
#include "rig.h"

#ifdef WEIR_SMALL_TESTS
enum { ROUNDS = 6, TASKS = 600, MOST_FAILURES = 12 };
#else
enum { ROUNDS = 12, TASKS = 1500, MOST_FAILURES = 60 };
#endif

enum { WARMS = 4000, WIDE = 32 };

static uint64_t launches_of(const rig *r) {
  weir_statistics statistics;
  weir_context_statistics(r->context, &statistics);
  return statistics.card_launches;
}

static void submit_wide(rig *r, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) rig_submit(r, RIG_PLAIN, i % (RIG_BUFFERS - 1), RIG_BUFFERS - 1, i, NULL);
}

// Tasks until the launcher is there and takes some.
static void warm(rig *r) {
  for (int i = 0; i < WARMS && launches_of(r) == 0; i++) {
    submit_wide(r, 2 * RIG_BUFFERS);
    assert_int_equal(weir_finish(r->context), WEIR_OK);
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
  }
  assert_true(launches_of(r) > 0);
}

static void set_ways(const char *choice) {
  setenv("WEIR_CUDADEVRT", RUNTIME_STUB, 1);
  if (choice != NULL)
    setenv("WEIR_CARD_LAUNCH", choice, 1);
  else
    unsetenv("WEIR_CARD_LAUNCH");
}

// Tasks of all kinds, in any order.
static void mix(rig *r, random_state *random, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t to = random_below(random, RIG_BUFFERS), from = random_below(random, RIG_BUFFERS);
    uint32_t kind = random_below(random, 16);
    if (to == from) from = (from + 1) % RIG_BUFFERS;
    if (kind == 0)
      rig_copy(r, to, from);
    else
      rig_submit(r, kind < 3 ? RIG_MIX : RIG_PLAIN, to, from, i, NULL);
    if (random_below(random, 400) == 0 && weir_finish(r->context) != WEIR_OK) fail_msg("%s", weir_last_error());
  }
}

static void test_mixed(void **state) {
  (void)state;
  set_ways("always");
  for (uint64_t round = 0; round < ROUNDS; round++) {
    rig r;
    random_state random = {round + 77};
    // With a seed there are few graphs of a function, and the scheduler leaves at once, now and then; numbers wrap.
    rig_begin(&r, round, &(weir_context_options){.seed = round < 2 ? 0 : round});
    warm(&r);
    uint64_t before = launches_of(&r);
    mix(&r, &random, TASKS);
    if (weir_finish(r.context) != WEIR_OK) fail_msg("%s", weir_last_error());
    assert_true(launches_of(&r) > before);
    rig_end(&r);
  }
}

// Many tasks at a time, each after the one that had its buffer before.
static void submit_wider(rig *r, weir_buffer *const buffers[WIDE], uint32_t count) {
  const uint32_t value = 1;
  for (uint32_t i = 0; i < count; i++) {
    weir_arg args[] = {weir_updates(buffers[i % WIDE]), weir_reads(r->buffers[0]), weir_value(&value, sizeof value)};
    weir_task task = {.kernel = r->kernels[RIG_PLAIN],
                      .args = args,
                      .arg_count = 3,
                      .groups = {RIG_GROUPS, 1, 1},
                      .device = r->device};
    assert_int_equal(weir_submit(r->context, &task, NULL), WEIR_OK);
  }
  assert_int_equal(weir_finish(r->context), WEIR_OK);
}

static void submit_chain(rig *r, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) rig_submit(r, RIG_PLAIN, 0, 1, 1, NULL);
  assert_int_equal(weir_finish(r->context), WEIR_OK);
}

// By its own choice: wide programs go there, chains do not.
static void test_choice(void **state) {
  (void)state;
  set_ways(NULL);
  rig r;
  weir_buffer *buffers[WIDE];
  rig_begin(&r, 3, NULL);
  for (uint32_t i = 0; i < WIDE; i++) {
    assert_int_equal(weir_buffer_create(r.context, RIG_WORDS * sizeof(uint32_t), &buffers[i]), WEIR_OK);
    assert_int_equal(weir_fill(buffers[i], 0, RIG_WORDS * sizeof(uint32_t), 0, NULL), WEIR_OK);
  }
  submit_chain(&r, 300);
  assert_int_equal(launches_of(&r), 0);
  for (int i = 0; i < WARMS && launches_of(&r) == 0; i++) submit_wider(&r, buffers, 10 * WIDE);
  assert_true(launches_of(&r) > 0);
  submit_chain(&r, 200); // the choice changes on the way
  uint64_t before = launches_of(&r);
  submit_chain(&r, 200);
  assert_int_equal(launches_of(&r), before);
  for (uint32_t i = 0; i < WIDE; i++) weir_buffer_release(buffers[i]);
  rig_end(&r);
}

static void test_never(void **state) {
  (void)state;
  set_ways("never");
  rig r;
  rig_begin(&r, 2, NULL);
  submit_wide(&r, TASKS);
  assert_int_equal(weir_finish(r.context), WEIR_OK);
  assert_int_equal(launches_of(&r), 0);
  rig_end(&r);
}

static void test_no_runtime(void **state) {
  (void)state;
  set_ways("always");
  setenv("WEIR_CUDADEVRT", "/nowhere/libcudadevrt.a", 1);
  rig r;
  char reason[512] = "";
  rig_begin(&r, 2, NULL);
  for (int i = 0; i < WARMS && strstr(reason, "libcudadevrt.a") == NULL; i++) {
    submit_wide(&r, RIG_BUFFERS);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    assert_false(weir_cuda_is_resident(r.kernels[RIG_PLAIN], r.device, reason, sizeof reason));
  }
  assert_non_null(strstr(reason, "libcudadevrt.a"));
  assert_int_equal(launches_of(&r), 0);
  rig_end(&r);
}

// A call of the driver's fails, once: at the latest then tasks go to queues.
static void test_failing_calls(void **state) {
  (void)state;
  set_ways("always");
  static const char *const calls[] = {"cuLinkCreate",
                                      "cuLinkAddData",
                                      "cuLinkComplete",
                                      "cuGraphCreate",
                                      "cuGraphUpload",
                                      "cuGraphLaunch",
                                      "cuMemAlloc",
                                      "cuGraphInstantiateWithFlags",
                                      "cuMemHostAlloc",
                                      "cuGraphAddKernelNode",
                                      "cuStreamCreateWithPriority",
                                      "cuGraphKernelNodeSetAttribute",
                                      "cuGraphKernelNodeGetAttribute"};
  for (uint32_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    for (uint64_t nth = 1; nth <= MOST_FAILURES; nth += 1 + nth / 2) {
      rig r;
      rig_begin(&r, i + nth, NULL);
      stub_fail_nth(calls[i], nth, 2);
      for (int j = 0; j < 8; j++) {
        submit_wide(&r, 4 * RIG_BUFFERS);
        (void)weir_finish(r.context);
      }
      stub_fail_nth(NULL, 0, 0);
      rig_end(&r);
    }
  }
}

static void count_groups(const stub_launch *launch) {
  uint64_t address;
  memcpy(&address, launch->params[0], sizeof address);
  uint32_t *to = stub_memory(launch, address, sizeof *to);
  if (to != NULL) *to = launch->grid[0];
}

static weir_status run_groups(const rig *r, weir_kernel *kernel, weir_buffer *buffer, uint32_t groups) {
  weir_arg args[] = {weir_writes(buffer)};
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 1, .groups = {groups, 1, 1}, .device = r->device};
  assert_int_equal(weir_submit(r->context, &task, NULL), WEIR_OK);
  return weir_finish(r->context);
}

// The card cannot set a graph's grid, or its parameters, once: that task fails, and the graph's next one has what it should.
static void test_failing_changes(void **state) {
  (void)state;
  set_ways("always");
  static const char *const calls[] = {"cudaGraphKernelNodeSetGridDim", "cudaGraphKernelNodeSetParam"};
  stub_register("count_groups", count_groups);
  for (uint32_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    rig r;
    rig_begin(&r, 3, &(weir_context_options){.seed = 64}); // one graph of a function
    weir_kernel *kernel = rig_make_kernel(&r, "count_groups", "STUB\ncount_groups 64 8\n", false);
    weir_buffer *buffer = NULL;
    uint32_t found = 0;
    assert_int_equal(weir_buffer_create(r.context, sizeof found, &buffer), WEIR_OK);
    assert_int_equal(run_groups(&r, kernel, buffer, 3), WEIR_OK);
    assert_int_equal(launches_of(&r), 1);
    stub_fail_nth(calls[i], 1, 2);
    assert_int_equal(run_groups(&r, kernel, buffer, 5), WEIR_ERROR_TASK_FAILED);
    stub_fail_nth(NULL, 0, 0);
    assert_int_equal(run_groups(&r, kernel, buffer, 5), WEIR_OK);
    assert_int_equal(launches_of(&r), 2);
    weir_event *event = NULL;
    assert_int_equal(weir_copy_out(buffer, 0, sizeof found, &found, &event), WEIR_OK);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
    weir_event_release(event);
    assert_int_equal(found, 5);
    weir_buffer_release(buffer);
    weir_kernel_release(kernel);
    rig_end(&r);
  }
}

static void test_fault(void **state) {
  (void)state;
  set_ways("always");
  for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
    rig r;
    rig_begin(&r, seed, NULL);
    warm(&r);
    submit_wide(&r, 200);
    weir_event *event = NULL;
    rig_submit(&r, RIG_BAD, 0, 1, 1, &event);
    submit_wide(&r, 200);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
    weir_event_release(event);
    assert_int_not_equal(weir_finish(r.context), WEIR_OK);
    rig_release(&r);
  }
}

static void test_abort(void **state) {
  (void)state;
  set_ways("always");
  for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
    rig r;
    rig_begin(&r, seed, NULL);
    warm(&r);
    submit_wide(&r, 400);
    assert_int_equal(weir_cuda_abort(r.device), WEIR_OK);
    submit_wide(&r, 100);
    assert_int_not_equal(weir_finish(r.context), WEIR_PENDING);
    rig_release(&r);
  }
}

// Where there is a CPU device, too, the device's thread has a core to itself; the one that makes code and graphs must not be on it.
static void test_not_pinned(void **state) {
  (void)state;
  set_ways("always");
  rig r;
  rig_threads before;
  rig_begin(&r, 1, &(weir_context_options){.devices = "cpu:1,cuda"});
  rig_wait_until_idle();
  rig_list_threads(&before);
  warm(&r);
  rig_wait_until_idle();
  rig_expect_new_threads_unpinned(&before);
  rig_end(&r);
}

int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mixed),         cmocka_unit_test(test_choice),          cmocka_unit_test(test_never),
      cmocka_unit_test(test_no_runtime),    cmocka_unit_test(test_fault),           cmocka_unit_test(test_abort),
      cmocka_unit_test(test_failing_calls), cmocka_unit_test(test_failing_changes), cmocka_unit_test(test_not_pinned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
