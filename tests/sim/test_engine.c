// SPDX-License-Identifier: Apache-2.0
//
// The engine by itself: what kernels cost alone and together, and what orders them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/sim/engine.h"

#define US UINT64_C(1000000) // picoseconds

enum { FULL = 132 * 2, HALF = 132 }; // blocks of 1024 threads

typedef struct test_scene {
  weir__sim_engine *engine;
  weir__sim_profile profile;
} test_scene;

static test_scene make(const char *profile, uint32_t queues) {
  test_scene scene;
  assert_int_equal(weir__sim_profile_load(profile, &scene.profile), WEIR_OK);
  scene.engine = weir__sim_engine_create(&scene.profile, queues);
  assert_non_null(scene.engine);
  return scene;
}

// With what the test changed in scene->profile.
static void make_again(test_scene *scene, uint32_t queues) {
  weir__sim_engine_destroy(scene->engine);
  scene->engine = weir__sim_engine_create(&scene->profile, queues);
  assert_non_null(scene->engine);
}

static weir__sim_op *add(test_scene *scene, double us, uint64_t blocks, weir__sim_request request) {
  weir__sim_cost cost;
  weir_sim_launch launch = {.blocks = blocks, .threads = 1024, .us = us};
  weir__sim_profile_cost(&scene->profile, &launch, 1, &cost);
  request.cost = &cost;
  weir__sim_op *op = weir__sim_engine_add(scene->engine, &request);
  assert_non_null(op);
  return op;
}

static weir__sim_op *add_free(test_scene *scene, double us, uint64_t blocks) {
  return add(scene, us, blocks, (weir__sim_request){.queue = WEIR__SIM_NO_QUEUE});
}

// Runs all that is left; the ops stay valid until the scene is dropped.
static void run(test_scene *scene) {
  weir__sim_engine_advance(scene->engine, UINT64_MAX);
}

static void drop(test_scene *scene) {
  weir__sim_engine_destroy(scene->engine);
}

static void alone_a_kernel_takes_its_recorded_time(void **state) {
  (void)state;
  for (uint64_t blocks = 1; blocks < 3 * FULL; blocks += 50) {
    test_scene scene = make("ideal", 0);
    weir__sim_op *op = add_free(&scene, 12.5, blocks);
    run(&scene);
    assert_int_equal(weir__sim_op_end_ps(op) - weir__sim_op_start_ps(op), 12500000);
    drop(&scene);
  }
}

static void blocks_of_several_kernels_share_the_device(void **state) {
  (void)state;
  test_scene scene = make("h200", 0);
  scene.profile.dispatch = scene.profile.block_start = 0;
  scene.profile.kernel_fixed = 0;
  make_again(&scene, 0);
  weir__sim_op *first = add_free(&scene, 10, HALF);
  weir__sim_op *second = add_free(&scene, 10, HALF);
  weir__sim_op *third = add_free(&scene, 10, FULL);
  run(&scene);
  assert_int_equal(weir__sim_op_end_ps(first), 10 * US);
  assert_int_equal(weir__sim_op_end_ps(second), 10 * US); // both halves at once
  assert_int_equal(weir__sim_op_start_ps(third), 10 * US);
  assert_int_equal(weir__sim_op_end_ps(third), 20 * US);
  drop(&scene);
}

static void fluid_hardware_loses_nothing(void **state) {
  (void)state;
  test_scene scene = make("ideal", 0);
  weir__sim_op *ops[10];
  for (int i = 0; i < 10; i++) ops[i] = add_free(&scene, 10, i % 2 ? HALF : FULL * 3 / 4);
  run(&scene);
  uint64_t end = 0;
  for (int i = 0; i < 10; i++) {
    if (weir__sim_op_end_ps(ops[i]) > end) end = weir__sim_op_end_ps(ops[i]);
  }
  assert_in_range(end, (uint64_t)(62.5 * US) - 10, (uint64_t)(62.5 * US) + US / 4); // 10 us times 5 x 1/2 + 5 x 3/4
  drop(&scene);
}

static void the_longest_path_goes_first_on_fluid_hardware(void **state) {
  (void)state;
  test_scene scene = make("ideal", 0);
  uint64_t tail = 100 * US;
  weir__sim_op *shorter = add_free(&scene, 10, FULL);
  weir__sim_op *longer = add(&scene, 10, FULL, (weir__sim_request){.queue = WEIR__SIM_NO_QUEUE, .tail_ps = &tail});
  run(&scene);
  assert_int_equal(weir__sim_op_end_ps(longer), 10 * US);
  assert_int_equal(weir__sim_op_end_ps(shorter), 20 * US);
  drop(&scene);
}

static void priority_goes_before_age(void **state) {
  (void)state;
  test_scene scene = make("h200", 0);
  weir__sim_op *running = add_free(&scene, 10, FULL);
  weir__sim_op *low = add(&scene, 10, FULL, (weir__sim_request){.queue = WEIR__SIM_NO_QUEUE, .priority = -1});
  weir__sim_op *high =
      add(&scene, 10, FULL, (weir__sim_request){.queue = WEIR__SIM_NO_QUEUE, .priority = 3, .arrival_ps = 5 * US});
  run(&scene);
  assert_true(weir__sim_op_end_ps(running) < weir__sim_op_end_ps(high)); // what runs is not interrupted
  assert_true(weir__sim_op_end_ps(high) < weir__sim_op_end_ps(low));
  drop(&scene);
}

static void links_cost_what_the_profile_says(void **state) {
  (void)state;
  test_scene scene = make("h200", 2);
  scene.profile.block_start = scene.profile.busy_queue_gap = 0;
  make_again(&scene, 2);
  weir__sim_op *first = add(&scene, 5, 1, (weir__sim_request){.queue = 0});
  weir__sim_op *next = add(&scene, 5, 1, (weir__sim_request){.queue = 0});
  weir__sim_wait wait = {.op = next, .link = WEIR__SIM_LINK_EVENT};
  weir__sim_op *other = add(&scene, 5, 1, (weir__sim_request){.queue = 1, .waits = &wait, .wait_count = 1});
  wait = (weir__sim_wait){.op = other, .link = WEIR__SIM_LINK_GRAPH};
  weir__sim_op *node =
      add(&scene, 5, 1, (weir__sim_request){.queue = WEIR__SIM_NO_QUEUE, .waits = &wait, .wait_count = 1});
  run(&scene);
  const weir__sim_profile *profile = &scene.profile;
  assert_int_equal(weir__sim_op_end_ps(first), 5 * US - profile->kernel_fixed);
  assert_int_equal(weir__sim_op_start_ps(next), weir__sim_op_end_ps(first) + profile->queue_gap);
  assert_int_equal(weir__sim_op_start_ps(other), weir__sim_op_end_ps(next) + profile->event_latency);
  assert_int_equal(weir__sim_op_start_ps(node), weir__sim_op_end_ps(other) + profile->graph_gap);
  drop(&scene);
}

// The gap of a queue while `others` other queues have work.
static uint64_t gap_beside(uint32_t others) {
  test_scene scene = make("h200", 16);
  for (uint32_t i = 0; i < others; i++) add(&scene, 1000, 1, (weir__sim_request){.queue = 1 + i});
  weir__sim_op *first = add(&scene, 100, 1, (weir__sim_request){.queue = 0});
  weir__sim_op *next = add(&scene, 100, 1, (weir__sim_request){.queue = 0});
  run(&scene);
  uint64_t gap = weir__sim_op_start_ps(next) - weir__sim_op_end_ps(first) - scene.profile.block_start;
  drop(&scene);
  return gap;
}

static void queues_slow_each_other_down_so_far(void **state) {
  (void)state;
  test_scene scene = make("h200", 1);
  const weir__sim_profile *profile = &scene.profile;
  assert_int_equal(gap_beside(0), profile->queue_gap);
  assert_int_equal(gap_beside(1), profile->queue_gap + profile->busy_queue_gap);
  assert_int_equal(gap_beside(3), profile->queue_gap + 3 * profile->busy_queue_gap);
  assert_int_equal(gap_beside(15), profile->queue_gap + profile->busy_queue_gap_most);
  drop(&scene);
}

static void a_queue_remembers_its_last_kernel(void **state) {
  (void)state;
  test_scene scene = make("h200", 1);
  weir__sim_op *first = add(&scene, 5, 1, (weir__sim_request){.queue = 0});
  run(&scene);
  weir__sim_op *next = add(&scene, 5, 1, (weir__sim_request){.queue = 0});
  run(&scene);
  assert_int_equal(weir__sim_op_start_ps(next),
                   weir__sim_op_end_ps(first) + scene.profile.queue_gap + scene.profile.block_start);
  drop(&scene);
}

static void kernels_start_one_at_a_time(void **state) {
  (void)state;
  test_scene scene = make("h200", 0);
  weir__sim_op *ops[4];
  for (int i = 0; i < 4; i++) ops[i] = add_free(&scene, 5, 1);
  run(&scene);
  const weir__sim_profile *profile = &scene.profile;
  for (uint64_t i = 0; i < 4; i++)
    assert_int_equal(weir__sim_op_start_ps(ops[i]), i * profile->dispatch + (i + 1) * profile->block_start);
  drop(&scene);
}

static void only_so_many_kernels_run_at_once(void **state) {
  (void)state;
  test_scene scene = make("h200", 0);
  scene.profile.concurrent_kernels = 2;
  scene.profile.dispatch = scene.profile.block_start = 0;
  make_again(&scene, 0);
  weir__sim_op *ops[5];
  for (int i = 0; i < 5; i++) ops[i] = add_free(&scene, 11.3, 1);
  run(&scene);
  for (uint64_t i = 0; i < 5; i++) assert_int_equal(weir__sim_op_start_ps(ops[i]), i / 2 * 10 * US);
  drop(&scene);
}

static void copies_wait_for_a_copy_engine_and_hold_nobody_back(void **state) {
  (void)state;
  test_scene scene = make("ideal", 0);
  scene.profile.copy_engines = 1;
  make_again(&scene, 0);
  weir__sim_cost cost;
  weir__sim_profile_cost(&scene.profile, &(weir_sim_launch){.copy_bytes = 1, .us = 10}, 1, &cost);
  weir__sim_request copy = {.cost = &cost, .queue = WEIR__SIM_NO_QUEUE};
  weir__sim_op *first = weir__sim_engine_add(scene.engine, &copy);
  weir__sim_op *second = weir__sim_engine_add(scene.engine, &copy);
  weir__sim_op *kernel = add_free(&scene, 10, HALF);
  run(&scene);
  assert_int_equal(weir__sim_op_end_ps(first), 10 * US);
  assert_int_equal(weir__sim_op_end_ps(second), 20 * US);
  assert_int_equal(weir__sim_op_end_ps(kernel), 10 * US);
  drop(&scene);
}

static void a_marker_takes_no_time(void **state) {
  (void)state;
  test_scene scene = make("h200", 1);
  weir__sim_cost nothing = {0};
  weir__sim_op *kernel = add(&scene, 5, 1, (weir__sim_request){.queue = 0});
  weir__sim_wait wait = {.op = kernel, .link = WEIR__SIM_LINK_DIRECT};
  weir__sim_op *marker = weir__sim_engine_add(
      scene.engine,
      &(weir__sim_request){.cost = &nothing, .queue = WEIR__SIM_NO_QUEUE, .waits = &wait, .wait_count = 1});
  run(&scene);
  assert_int_equal(weir__sim_op_end_ps(marker), weir__sim_op_end_ps(kernel));
  drop(&scene);
}

static void the_host_waits_for_the_device_and_pays(void **state) {
  (void)state;
  test_scene scene = make("h200", 1);
  weir__sim_engine_host_spend(scene.engine, scene.profile.launch);
  add(&scene, 50, 1,
      (weir__sim_request){.queue = 0,
                          .arrival_ps = weir__sim_engine_host_ps(scene.engine) + scene.profile.launch_latency});
  weir__sim_engine_advance(scene.engine, 20 * US);
  assert_null(weir__sim_engine_take(scene.engine));
  assert_true(weir__sim_engine_step(scene.engine));
  weir__sim_op *op = weir__sim_engine_take(scene.engine);
  weir__sim_engine_host_wait(scene.engine, weir__sim_op_end_ps(op));
  assert_int_equal(weir__sim_engine_host_ps(scene.engine), weir__sim_op_end_ps(op) + scene.profile.synchronize);
  weir__sim_engine_host_wait(scene.engine, 0); // long over
  assert_int_equal(weir__sim_engine_host_ps(scene.engine), weir__sim_op_end_ps(op) + scene.profile.synchronize);
  weir__sim_engine_free_op(scene.engine, op);
  assert_false(weir__sim_engine_step(scene.engine));
  drop(&scene);
}

// Random ops, twice: the same times, each after what it waits for, and the device never more than full.
static void random_ops_respect_order_and_capacity(void **state) {
  (void)state;
  enum { COUNT = 400 };
  for (unsigned seed = 1; seed <= 20; seed++) {
    uint64_t ends[2][COUNT];
    for (int pass = 0; pass < 2; pass++) {
      srand(seed);
      test_scene scene = make(seed % 2 ? "h200" : "ideal", 4);
      weir__sim_op *ops[COUNT];
      double work_us = 0;
      uint64_t last = 0;
      for (int i = 0; i < COUNT; i++) {
        weir__sim_wait waits[3];
        weir__sim_request request = {.queue = rand() % 3 ? WEIR__SIM_NO_QUEUE : (uint32_t)(rand() % 4),
                                     .waits = waits,
                                     .wait_count = i == 0 ? 0 : (uint32_t)(rand() % 4),
                                     .priority = rand() % 8 - 4};
        for (uint32_t j = 0; j < request.wait_count; j++)
          waits[j] = (weir__sim_wait){.op = ops[rand() % i], .link = (weir__sim_link)(rand() % 4)};
        uint64_t blocks = (uint64_t)(rand() % FULL + 1);
        double us = rand() % 100 / 10.0;
        ops[i] = add(&scene, us, blocks, request);
        double spent = us - (double)scene.profile.kernel_fixed / US;
        if (spent > 0) work_us += spent * (double)blocks / FULL;
        for (uint32_t j = 0; j < request.wait_count && pass == 0; j++) assert_ptr_not_equal(waits[j].op, ops[i]);
      }
      run(&scene);
      for (int i = 0; i < COUNT; i++) {
        ends[pass][i] = weir__sim_op_end_ps(ops[i]);
        assert_true(weir__sim_op_ready_ps(ops[i]) <= weir__sim_op_start_ps(ops[i]));
        assert_true(weir__sim_op_start_ps(ops[i]) <= weir__sim_op_end_ps(ops[i]));
        if (ends[pass][i] > last) last = ends[pass][i];
      }
      assert_true((double)last >= work_us * US * 0.9999);
      drop(&scene);
    }
    assert_memory_equal(ends[0], ends[1], sizeof ends[0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(alone_a_kernel_takes_its_recorded_time),
      cmocka_unit_test(blocks_of_several_kernels_share_the_device),
      cmocka_unit_test(fluid_hardware_loses_nothing),
      cmocka_unit_test(the_longest_path_goes_first_on_fluid_hardware),
      cmocka_unit_test(priority_goes_before_age),
      cmocka_unit_test(links_cost_what_the_profile_says),
      cmocka_unit_test(queues_slow_each_other_down_so_far),
      cmocka_unit_test(a_queue_remembers_its_last_kernel),
      cmocka_unit_test(kernels_start_one_at_a_time),
      cmocka_unit_test(only_so_many_kernels_run_at_once),
      cmocka_unit_test(copies_wait_for_a_copy_engine_and_hold_nobody_back),
      cmocka_unit_test(a_marker_takes_no_time),
      cmocka_unit_test(the_host_waits_for_the_device_and_pays),
      cmocka_unit_test(random_ops_respect_order_and_capacity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
