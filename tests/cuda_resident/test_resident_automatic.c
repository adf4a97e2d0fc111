// SPDX-License-Identifier: Apache-2.0
//
// Contexts that use the resident kernel by themselves (WEIR_ISSUE_AUTO), on the stub driver: when tasks go there.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "automatic.h"
#include "part.h"

static void tasks_are_resident_once_enough_were_not(void **state) {
  (void)state;
  for (uint32_t enough = 0; enough < 8; enough++) {
    rig r;
    weir_context_options options = {.seed = automatic_seed(enough, enough, enough % 2 == 0, true)};
    rig_begin_automatic(&r, enough, &options);
    automatic_run_single(&r, RIG_MIX, enough);
    automatic_pass_thread(&r);
    assert_int_equal(stub_calls("cuLinkComplete"), 0);
    automatic_run_single(&r, RIG_MIX, 1);
    automatic_pass_thread(&r);
    assert_int_equal(stub_calls("cuLinkComplete"), 1);
    assert_int_equal(rig_resident_tasks(&r), 0);
    automatic_run_single(&r, RIG_MIX, SINGLE);
    assert_int_equal(rig_resident_tasks(&r), SINGLE);
    automatic_run_single(&r, RIG_PLAIN, SINGLE);
    assert_int_equal(rig_resident_tasks(&r), SINGLE);
    rig_end(&r);
  }
}

static void none_is_resident_without_launchers(void **state) {
  (void)state;
  rig r;
  rig_begin_automatic(&r, 1, &(weir_context_options){.seed = 4});
  automatic_run_single(&r, RIG_MIX, SINGLE);
  random_state random = {1};
  automatic_submit_random(&r, &random, TASKS, 0, 0);
  assert_int_equal(rig_resident_tasks(&r), 0);
  assert_int_equal(stub_calls("cuLinkComplete"), 0);
  rig_end(&r);
}

static void none_is_resident_where_no_code_fits(void **state) {
  (void)state;
  rig r;
  rig_begin_automatic(&r, 1, &(weir_context_options){.seed = automatic_seed(0, 0, false, true)});
  automatic_run_single(&r, RIG_PLAIN, SINGLE);
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
    weir_context_options options = {.seed = automatic_seed(i / 4, i % 8, mixes, awaits),
                                    .window = windows[i % 3],
                                    .flags = i % 7 == 0 ? WEIR_CONTEXT_IN_ORDER : 0};
    rig_begin_automatic(&r, i + 1, &options);
    random_state random = {i + 1};
    automatic_submit_random(&r, &random, TASKS, plain_percent, copy_percent);
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

static void what_comes_again_goes_over_to_graphs(void **state) {
  (void)state;
  test_part some = part_of(8);
  for (uint32_t i = some.first; i < some.end; i++) {
    bool finishes = i % 2 == 0;
    rig r;
    automatic_begin_with_ring(&r, i + 1, automatic_seed(i, 0, i / 2 % 2 == 1, true));
    for (int loop = 0; loop < LOOPS; loop++) {
      automatic_submit_loop(&r);
      if (finishes) automatic_finish(&r);
    }
    automatic_finish(&r);
    automatic_learn_loop(&r);
    for (int loop = 0; loop < LOOPS; loop++) {
      if (loop % 3 == 0) rig_submit(&r, RIG_MIX, 0, 2, 5, NULL); // it is new here
      automatic_submit_loop(&r);
      if (finishes) automatic_finish(&r);
    }
    rig_end(&r);
  }
}

// Tasks that are too few for a graph count, too: a program that came again once is not taken for one that does for ever.
static void what_comes_again_no_longer_is_resident(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 4; i++) {
    rig r;
    automatic_begin_with_ring(&r, i + 1, automatic_seed(i, 0, false, true));
    automatic_learn_loop(&r);
    for (int loop = 0; loop < 50; loop++) {
      automatic_submit_loop(&r);
      automatic_finish(&r);
    }
    uint64_t resident = rig_resident_tasks(&r);
    automatic_run_single(&r, RIG_MIX, 1000);
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
    automatic_begin_with_ring(&r, i + 1, automatic_seed(i, 0, i % 2 == 1, true));
    rig_submit(&r, RIG_GATE, 1, 2, 3, NULL);
    automatic_finish(&r);
    automatic_pass_thread(&r);
    automatic_learn_loop(&r);
    uint64_t resident = rig_resident_tasks(&r), graphs = stub_calls("cuGraphLaunch");
    atomic_store(&rig_gate, false);
    rig_submit(&r, RIG_GATE, 1, 2, 3, NULL);
    assert_int_equal(weir_finish_for(r.context, 2000000), WEIR_TIMEOUT);
    automatic_submit_loop(&r);
    assert_int_equal(weir_finish_for(r.context, 2000000), WEIR_TIMEOUT);
    atomic_store(&rig_gate, true);
    automatic_finish(&r);
    assert_true(rig_resident_tasks(&r) > resident);
    assert_true(stub_calls("cuGraphLaunch") > graphs);
    rig_end(&r);
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
  automatic_begin_with_ring(&r, 1, automatic_seed(0, enough, false, true));
  uint64_t resident = 1;
  for (uint64_t i = 0; i < 3; i++) {
    weir_kernel *kernel = rig_make_kernel(&r, "mix", sources[i], true);
    for (uint32_t j = 0; j <= enough; j++) {
      submit_own(&r, kernel, j, j + 1, 4);
      automatic_finish(&r);
    }
    automatic_pass_thread(&r);
    assert_int_equal(stub_calls("cuLinkComplete"), i + 2);
    assert_int_equal(rig_resident_tasks(&r), resident);
    for (uint32_t j = 0; j < SINGLE; j++) {
      submit_own(&r, kernel, j % 7, j % 7 + 1, j);
      automatic_finish(&r);
    }
    automatic_run_single(&r, RIG_MIX, SINGLE); // the old code is there, too
    resident += 2 * SINGLE;
    assert_int_equal(rig_resident_tasks(&r), resident);
    weir_kernel_release(kernel);
  }
  // Kernels that are made again have their code.
  for (uint32_t i = 0; i < 1000; i++) {
    weir_kernel *kernel = rig_make_kernel(&r, "mix", sources[i % 3], true);
    if (i % 10 == 0) {
      submit_own(&r, kernel, 0, 1, i);
      automatic_finish(&r);
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
    weir_context_options options = {.seed = automatic_seed(i, i % 3, i % 2 == 1, i % 3 != 0)};
    rig_begin_automatic(&r, i + 1, &options);
    random_state random = {i + 1};
    for (uint32_t round = 0; round < 20; round++) {
      char source[64];
      snprintf(source, sizeof source, "STUB\nmix %u 8 8 4\n", 65 + round % 10);
      weir_kernel *kernel = rig_make_kernel(&r, "mix", source, true);
      for (uint32_t j = 0; j < 10; j++) {
        submit_own(&r, kernel, random_below(&random, 7), 7, j);
        automatic_submit_random(&r, &random, 3, 10, 5);
      }
      weir_kernel_release(kernel);
    }
    rig_end(&r);
  }
}

// Each device has its own resident kernel, and what one has written the other gets when it is there.
static void two_devices_have_one_each(void **state) {
  (void)state;
  static const uint32_t windows[] = {0, 64, 16};
  test_part some = part_of(SEEDS);
  for (uint32_t i = some.first; i < some.end; i++) {
    rig r;
    weir_context_options options = {
        .devices = "cuda:0,cuda:1", .window = windows[i % 3], .seed = automatic_seed(i, i % 3, i % 2 == 1, true)};
    rig_begin_automatic(&r, i + 1, &options);
    weir_device *devices[] = {r.device, weir_context_device(r.context, 0)};
    for (uint32_t j = 1; devices[1] == r.device || strcmp(weir_device_information(devices[1])->kind, "cuda") != 0; j++)
      devices[1] = weir_context_device(r.context, j);
    for (uint32_t j = 0; j < 2; j++) {
      r.device = devices[j];
      automatic_make_it_ask(&r, i % 3);
    }
    uint64_t links = stub_calls("cuLinkComplete");
    random_state random = {i + 1};
    for (uint32_t j = 0; j < TASKS / 10; j++) {
      r.device = devices[random_below(&random, 2)];
      automatic_submit_random(&r, &random, 1 + random_below(&random, 10), i % 2 * 20, 5);
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
  weir_context_options options = {.devices = "cpu:1,cuda", .seed = automatic_seed(0, 2, false, true)};
  rig_begin_automatic(&r, 1, &options);
  automatic_run_single(&r, RIG_MIX, 2);
  rig_list_threads(&before);
  automatic_run_single(&r, RIG_MIX, 1);
  assert_int_equal(stub_calls("cuLinkComplete"), 1);
  rig_expect_new_threads_unpinned(&before);
  rig_end(&r);
}

static void one_is_told_that_the_context_chooses(void **state) {
  (void)state;
  rig r;
  char reason[512] = "";
  automatic_begin_with_ring(&r, 1, automatic_seed(0, 0, false, true));
  assert_int_equal(weir_cuda_abort(r.device), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "resident"));
  assert_false(weir_cuda_is_resident(r.kernels[RIG_MIX], r.device, reason, sizeof reason));
  assert_non_null(strstr(reason, "no CUDA device of a context with resident issue"));
  assert_false(weir_cuda_is_resident(r.kernels[RIG_PLAIN], r.device, NULL, 0));
  automatic_run_single(&r, RIG_MIX, SINGLE);
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
      cmocka_unit_test(code_comes_later),
      cmocka_unit_test(code_comes_while_tasks_run),
      cmocka_unit_test(two_devices_have_one_each),
      cmocka_unit_test(the_thread_that_links_is_not_pinned),
      cmocka_unit_test(one_is_told_that_the_context_chooses),
  };
  return cmocka_run_group_tests_name("resident issue: automatic", tests, NULL, NULL);
}
