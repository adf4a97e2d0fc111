// SPDX-License-Identifier: Apache-2.0
//
// The simulated device as Weir's users see it: effects, order, failure, time, memory that runs out.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "graph_info.h"
#include "weir/sim.h"
#include "weir/weir.h"

static const char *const devices[] = {"sim", "sim:ideal", "sim:h200"};
static const weir_sim_launch launches[] = {{.name = "first", .blocks = 100, .threads = 256, .us = 5},
                                           {.name = "second", .blocks = 10, .threads = 64, .us = 3}};

// value = value * 3 + user
static void mix(const weir_work *work) {
  uint32_t *value = work->args[0];
  *value = *value * 3 + *(const uint32_t *)work->user;
}

static void fail_task(const weir_work *work) {
  weir_work_fail(work, "as told");
}

typedef struct test_scene {
  weir_context *context;
  weir_device *device;
  weir_kernel *kernel, *failing;
  weir_buffer *buffer;
  uint32_t memory;
} test_scene;

static void check(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

static void open_scene(test_scene *scene, const char *device, uint32_t flags) {
  *scene = (test_scene){.memory = 0};
  weir_context_options options = {.devices = device, .flags = flags};
  check(weir_context_create(&options, &scene->context));
  scene->device = weir_context_device(scene->context, 0);
  check(weir_kernel_create(scene->context, "mix", &scene->kernel));
  check(weir_kernel_set_sim(scene->kernel, launches, 2));
  check(weir_kernel_set_cpu(scene->kernel, mix));
  check(weir_kernel_create(scene->context, "failing", &scene->failing));
  check(weir_kernel_set_sim(scene->failing, launches, 1));
  check(weir_kernel_set_cpu(scene->failing, fail_task));
  check(weir_buffer_wrap(scene->context, &scene->memory, sizeof scene->memory, &scene->buffer));
}

static weir_status submit(test_scene *scene, weir_kernel *kernel, const uint32_t *user, weir_event **out_event) {
  weir_arg arg = weir_updates(scene->buffer);
  weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1, .user = (void *)(uintptr_t)user};
  return weir_submit(scene->context, &task, out_event);
}

static void names_say_what_it_is(void **state) {
  (void)state;
  test_scene scene;
  open_scene(&scene, "sim", 0);
  assert_string_equal(weir_device_information(scene.device)->kind, "sim");
  assert_string_equal(weir_device_information(scene.device)->name, "sim:ideal");
  assert_non_null(strstr(weir_device_information(scene.device)->description, "132 multiprocessors"));
  weir_context_release(scene.context);
  open_scene(&scene, "sim:h200", 0);
  assert_string_equal(weir_device_information(scene.device)->name, "sim:h200");
  assert_int_equal(weir_device_information(scene.device)->lanes, 16);
  weir_context_release(scene.context);
  weir_context *context;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "sim:nothing"}, &context), WEIR_ERROR_IO);
  assert_non_null(strstr(weir_last_error(), "nothing"));
  static const char *const profiles[] = {"ideal", "h200", "plain"};
  for (int i = 0; i < 3; i++) assert_non_null(strstr(weir_last_error(), profiles[i]));
  weir_context_options many = {.devices = "sim:h200", .queues = 100000};
  assert_int_equal(weir_context_create(&many, &context), WEIR_ERROR_INVALID_ARGUMENT);
}

static void effects_come_in_order(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    test_scene scene;
    open_scene(&scene, devices[i], 0);
    uint32_t numbers[50], expected = 0;
    for (uint32_t j = 0; j < 50; j++) {
      numbers[j] = j;
      expected = expected * 3 + j;
      check(submit(&scene, scene.kernel, &numbers[j], NULL));
    }
    check(weir_finish(scene.context));
    assert_int_equal(scene.memory, expected);
    weir_context_release(scene.context);
  }
}

static void a_chain_on_ideal_hardware_takes_its_recorded_time(void **state) {
  (void)state;
  test_scene scene;
  open_scene(&scene, "sim:ideal", 0);
  uint32_t number = 1;
  for (int i = 0; i < 10; i++) check(submit(&scene, scene.kernel, &number, NULL));
  check(weir_finish(scene.context));
  assert_int_equal(weir_device_time(scene.device), 10 * 8000);
  weir_context_release(scene.context);
}

static void time_is_the_same_every_time(void **state) {
  (void)state;
  uint64_t times[2];
  for (int pass = 0; pass < 2; pass++) {
    test_scene scene;
    open_scene(&scene, "sim:h200", 0);
    uint32_t number = 1;
    for (int i = 0; i < 30; i++) {
      weir_buffer *buffer;
      check(weir_buffer_create(scene.context, 64, &buffer));
      weir_arg args[] = {weir_writes(buffer), weir_reads(scene.buffer)};
      weir_task task = {.kernel = scene.kernel, .args = args, .arg_count = 2, .user = &number};
      check(weir_submit(scene.context, &task, NULL));
      if (i % 5 == 0) check(submit(&scene, scene.kernel, &number, NULL));
      check(weir_buffer_release(buffer));
    }
    check(weir_finish(scene.context));
    times[pass] = weir_device_time(scene.device);
    weir_context_release(scene.context);
  }
  assert_int_equal(times[0], times[1]);
}

static void polling_alone_lets_time_pass(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    test_scene scene;
    open_scene(&scene, devices[i], 0);
    uint32_t number = 7;
    weir_event *event;
    check(submit(&scene, scene.kernel, &number, &event));
    assert_int_equal(weir_event_poll(event), WEIR_PENDING);
    uint32_t polls = 0;
    while (weir_event_poll(event) == WEIR_PENDING && polls < 100000) polls++;
    assert_int_equal(weir_event_poll(event), WEIR_OK);
    assert_int_equal(scene.memory, 7);
    weir_event_release(event);
    weir_context_release(scene.context);
  }
}

static void failure_skips_what_reads_it(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    test_scene scene;
    open_scene(&scene, devices[i], 0);
    uint32_t number = 1;
    weir_event *events[3];
    check(submit(&scene, scene.kernel, &number, &events[0]));
    check(submit(&scene, scene.failing, &number, &events[1]));
    check(submit(&scene, scene.kernel, &number, &events[2]));
    assert_int_equal(weir_event_wait(events[2], WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
    assert_int_equal(weir_event_wait(events[1], WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    assert_non_null(strstr(weir_event_message(events[1]), "as told"));
    assert_int_equal(weir_event_wait(events[0], WEIR_FOREVER), WEIR_OK);
    assert_int_equal(scene.memory, 1);
    for (int j = 0; j < 3; j++) weir_event_release(events[j]);
    weir_context_release(scene.context);
  }
}

static void what_is_cancelled_has_no_effect(void **state) {
  (void)state;
  test_scene scene;
  open_scene(&scene, "sim:ideal", 0);
  uint32_t number = 1;
  weir_event *event;
  check(submit(&scene, scene.kernel, &number, &event));
  weir_context_cancel(scene.context);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
  assert_int_equal(scene.memory, 0);
  weir_event_release(event);
  weir_context_release(scene.context);
}

static void host_tasks_and_copies_run_here_without_a_cpu(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    test_scene scene;
    open_scene(&scene, devices[i], 0);
    uint32_t value = 5, number = 2, result = 0;
    check(weir_copy_in(scene.buffer, 0, sizeof value, &value, NULL));
    check(submit(&scene, scene.kernel, &number, NULL));
    check(weir_copy_out(scene.buffer, 0, sizeof result, &result, NULL));
    check(weir_finish(scene.context));
    assert_int_equal(result, 17);
    weir_context_release(scene.context);
  }
}

static void graphs_run_node_by_node(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    for (uint32_t flags = 0; flags <= WEIR_CONTEXT_IN_ORDER; flags += WEIR_CONTEXT_IN_ORDER) {
      test_scene scene;
      open_scene(&scene, devices[i], flags | WEIR_CONTEXT_TRACE);
      weir_graph *graph;
      check(weir_graph_create(scene.context, NULL, &graph));
      uint32_t numbers[8], expected = 0, number = 9;
      weir_arg arg = weir_updates(scene.buffer);
      for (uint32_t j = 0; j < 8; j++) {
        numbers[j] = j;
        weir_task task = {.kernel = scene.kernel, .args = &arg, .arg_count = 1, .user = &numbers[j]};
        check(weir_graph_add(graph, &task, NULL));
      }
      for (int launch = 0; launch < 3; launch++) {
        check(weir_graph_launch(graph, NULL));
        check(submit(&scene, scene.kernel, &number, NULL));
        for (uint32_t j = 0; j < 8; j++) expected = expected * 3 + j;
        expected = expected * 3 + number;
      }
      check(weir_finish(scene.context));
      assert_int_equal(scene.memory, expected);
      bool free_of_cost = strcmp(weir_device_information(scene.device)->name, "sim:ideal") == 0;
      assert_int_equal(graph_info(graph).build_ns == 0, free_of_cost);
      check(weir_graph_release(graph));
      weir_context_release(scene.context);
    }
  }
}

static void a_graph_with_a_failing_node_poisons_what_follows(void **state) {
  (void)state;
  test_scene scene;
  open_scene(&scene, "sim:h200", 0);
  weir_graph *graph;
  check(weir_graph_create(scene.context, NULL, &graph));
  uint32_t number = 4;
  weir_arg arg = weir_updates(scene.buffer);
  weir_kernel *kernels[] = {scene.kernel, scene.failing, scene.kernel};
  for (int i = 0; i < 3; i++) {
    weir_task task = {.kernel = kernels[i], .args = &arg, .arg_count = 1, .user = &number};
    check(weir_graph_add(graph, &task, NULL));
  }
  weir_event *event;
  check(weir_graph_launch(graph, &event));
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(scene.memory, 4);
  weir_event *after;
  check(submit(&scene, scene.kernel, &number, &after));
  assert_int_equal(weir_event_wait(after, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  weir_event_release(event);
  weir_event_release(after);
  check(weir_graph_release(graph));
  weir_context_release(scene.context);
}

static void kernels_without_simulated_code_are_refused(void **state) {
  (void)state;
  test_scene scene;
  open_scene(&scene, "sim", 0);
  weir_kernel *kernel;
  check(weir_kernel_create(scene.context, "cpu only", &kernel));
  check(weir_kernel_set_cpu(kernel, mix));
  assert_int_equal(submit(&scene, kernel, NULL, NULL), WEIR_ERROR_NO_CODE);
  weir_context_release(scene.context);
}

enum { THREADS = 8, PER_THREAD = 200 };

static void *submit_many(void *user) {
  test_scene *scene = user;
  static const uint32_t number = 0;
  for (int i = 0; i < PER_THREAD; i++) {
    weir_event *event = NULL;
    if (submit(scene, scene->kernel, &number, i % 50 == 0 ? &event : NULL) != WEIR_OK) return "submit";
    if (event != NULL && weir_event_wait(event, WEIR_FOREVER) != WEIR_OK) return "wait";
    weir_event_release(event);
  }
  return NULL;
}

static void many_threads_may_submit_and_wait(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    test_scene scene;
    open_scene(&scene, devices[i], 0);
    scene.memory = 1;
    pthread_t threads[THREADS];
    for (int j = 0; j < THREADS; j++) assert_int_equal(pthread_create(&threads[j], NULL, submit_many, &scene), 0);
    for (int j = 0; j < THREADS; j++) {
      void *failed;
      pthread_join(threads[j], &failed);
      assert_null(failed);
    }
    check(weir_finish(scene.context));
    uint32_t expected = 1;
    for (int j = 0; j < THREADS * PER_THREAD; j++) expected *= 3;
    assert_int_equal(scene.memory, expected);
    weir_context_release(scene.context);
  }
}

// A diamond of tasks, a graph and a copy, with the Nth allocation failing. True: nothing failed.
static bool run_short_of_memory(const char *device, uint64_t n) {
  weir_context *context = NULL;
  weir_kernel *kernel = NULL;
  weir_graph *graph = NULL;
  weir_buffer *buffers[4] = {NULL};
  uint32_t number = 1, memory[4] = {0};
  bool good = true;
  weir__allocate_fail_at(n);
  if (weir_context_create(&(weir_context_options){.devices = device, .window = 8}, &context) != WEIR_OK) {
    weir__allocate_fail_at(0);
    return false;
  }
  good &= weir_kernel_create(context, "mix", &kernel) == WEIR_OK;
  good &= kernel != NULL && weir_kernel_set_sim(kernel, launches, 2) == WEIR_OK;
  if (kernel != NULL) weir_kernel_set_cpu(kernel, mix);
  for (int i = 0; i < 4; i++) good &= weir_buffer_wrap(context, &memory[i], 4, &buffers[i]) == WEIR_OK;
  good = good && weir_graph_create(context, NULL, &graph) == WEIR_OK;
  for (int i = 0; i < 30 && good; i++) {
    weir_arg args[] = {weir_updates(buffers[i % 4]), weir_reads(buffers[(i * 7 + 1) % 4])};
    weir_task task = {.kernel = kernel, .args = args, .arg_count = (i * 7 + 1) % 4 == i % 4 ? 1 : 2, .user = &number};
    good &= weir_submit(context, &task, NULL) == WEIR_OK;
    if (i < 4) good &= weir_graph_add(graph, &task, NULL) == WEIR_OK;
    if (i % 10 == 9) good = good && weir_graph_launch(graph, NULL) == WEIR_OK;
  }
  good &= weir_finish(context) == WEIR_OK;
  weir_context_release(context);
  weir__allocate_fail_at(0);
  return good;
}

static void memory_that_runs_out_fails_tasks_and_nothing_else(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    uint64_t n = 1, in_a_row = 0;
    // The library makes up for some failures, so one good run is not the end.
    for (; in_a_row < 40 && n < 5000; n++) in_a_row = run_short_of_memory(devices[i], n) ? in_a_row + 1 : 0;
    assert_true(n < 5000);
    assert_true(n > 60);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_say_what_it_is),
      cmocka_unit_test(effects_come_in_order),
      cmocka_unit_test(a_chain_on_ideal_hardware_takes_its_recorded_time),
      cmocka_unit_test(time_is_the_same_every_time),
      cmocka_unit_test(polling_alone_lets_time_pass),
      cmocka_unit_test(failure_skips_what_reads_it),
      cmocka_unit_test(what_is_cancelled_has_no_effect),
      cmocka_unit_test(host_tasks_and_copies_run_here_without_a_cpu),
      cmocka_unit_test(graphs_run_node_by_node),
      cmocka_unit_test(a_graph_with_a_failing_node_poisons_what_follows),
      cmocka_unit_test(kernels_without_simulated_code_are_refused),
      cmocka_unit_test(many_threads_may_submit_and_wait),
      cmocka_unit_test(memory_that_runs_out_fails_tasks_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
