// SPDX-License-Identifier: Apache-2.0
//
// The simulated device through the public interface.
#include <math.h>
#include <string.h>

#include "api.h"
#include "graph_info.h"
#include "weir/sim.h"

static weir_kernel *simulated(weir_context *context, const char *name, double us, weir_function effect) {
  weir_kernel *kernel = api_kernel(context, name, effect);
  weir_sim_launch launch = {.name = name, .blocks = 4, .threads = 128, .registers = 32, .us = us};
  assert_int_equal(weir_kernel_set_sim(kernel, &launch, 1), WEIR_OK);
  return kernel;
}

static void kernels_need_code_for_the_device(void **state) {
  (void)state;
  weir_context *context = api_context("sim:ideal", 0, 0);
  weir_kernel *cpu_only = api_kernel(context, "cpu-only", api_nothing);
  weir_task task = {.kernel = cpu_only};
  api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_NO_CODE, "cpu-only", NULL);
  weir_kernel *both = simulated(context, "both", 1, api_nothing);
  assert_int_equal(api_await(api_submit(context, both, NULL, 0)), WEIR_OK);
  weir_kernel *no_effect = simulated(context, "no effect", 1, NULL);
  assert_int_equal(api_await(api_submit(context, no_effect, NULL, 0)), WEIR_OK);
  weir_context_release(context);
}

static void host_tasks_need_a_cpu(void **state) {
  (void)state;
  weir_context *context = api_context("sim:ideal", 0, 0);
  weir_task task = {.host = api_nothing};
  weir_event *event = NULL;
  assert_int_not_equal(weir_submit(context, &task, &event), WEIR_OK);
  assert_null(event);
  assert_non_null(strstr(weir_last_error(), "CPU"));
  weir_context_release(context);
  context = api_context("sim:ideal,cpu:1", 0, 0);
  assert_int_equal(api_await(api_submit_host(context, api_nothing, NULL, NULL, 0)), WEIR_OK);
  weir_context_release(context);
}

static void bad_launches_are_refused(void **state) {
  (void)state;
  weir_context *context = api_context("sim:ideal", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", NULL);
  weir_sim_launch launch = {.blocks = 1, .threads = 32, .us = 1};
  api_expect(weir_kernel_set_sim(NULL, &launch, 1), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_kernel_set_sim(kernel, NULL, 1), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_kernel_set_sim(kernel, &launch, 0), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  static const double wrong[] = {-1, 3.6e9, NAN, INFINITY};
  for (int i = 0; i < 4; i++) {
    launch.us = wrong[i];
    api_expect(weir_kernel_set_sim(kernel, &launch, 1), WEIR_ERROR_INVALID_ARGUMENT, "us", NULL);
  }
  launch = (weir_sim_launch){.blocks = 1, .threads = 1025, .us = 1};
  api_expect(weir_kernel_set_sim(kernel, &launch, 1), WEIR_ERROR_INVALID_ARGUMENT, "1025", NULL);
  launch = (weir_sim_launch){.blocks = 1, .threads = 1, .registers = 256, .us = 1};
  api_expect(weir_kernel_set_sim(kernel, &launch, 1), WEIR_ERROR_INVALID_ARGUMENT, "256", NULL);
  weir_context_release(context);
}

// A chain of launches takes the sum of their times, tasks that may overlap take less; nobody waits in real time.
static void virtual_time_passes_at_once(void **state) {
  (void)state;
  weir_context *context = api_context("sim:ideal", 0, 0);
  weir_device *device = weir_context_device(context, 0);
  assert_string_equal(weir_device_information(device)->kind, "sim");
  assert_string_equal(weir_device_information(device)->name, "sim:ideal");
  weir_kernel *ten_minutes = simulated(context, "long", 6e8, NULL);
  weir_buffer *buffer = api_buffer(context, 8, NULL);
  weir_arg arg = weir_updates(buffer);
  uint64_t start = weir_device_time(device);
  for (int i = 0; i < 3; i++) weir_event_release(api_submit(context, ten_minutes, &arg, 1));
  assert_int_equal(weir_finish(context), WEIR_OK);
  uint64_t chain = weir_device_time(device) - start;
  assert_true(chain >= UINT64_C(3) * 600000000000u);
  start = weir_device_time(device);
  weir_event *events[3];
  for (int i = 0; i < 3; i++) events[i] = api_submit(context, ten_minutes, NULL, 0);
  for (int i = 0; i < 3; i++) assert_int_equal(api_await(events[i]), WEIR_OK);
  uint64_t side_by_side = weir_device_time(device) - start;
  assert_true(side_by_side >= UINT64_C(600000000000) && side_by_side < chain / 2);
  weir_context_release(context);
}

static void effects_follow_submission_order(void **state) {
  (void)state;
  static const char *const devices[] = {"sim:ideal", "sim:h200", "sim:h200,cpu:2"};
  for (int i = 0; i < 3; i++) {
    weir_context *context = api_context(devices[i], 32, 0);
    weir_buffer *x = api_number(context, 1), *y = api_number(context, 0);
    weir_kernel *add = simulated(context, "add", 2, api_add);
    uint64_t a = 1, b = 0;
    for (int step = 0; step < 200; step++) {
      weir_arg forth[] = {weir_reads(x), weir_updates(y)}, back[] = {weir_reads(y), weir_updates(x)};
      weir_event_release(api_submit(context, add, forth, 2));
      weir_event_release(api_submit(context, add, back, 2));
      b += a;
      a += b;
    }
    assert_true(api_read_number(x) == a);
    assert_true(api_read_number(y) == b);
    weir_context_release(context);
  }
}

static void failures_poison(void **state) {
  (void)state;
  weir_context *context = api_context("sim:h200", 0, 0);
  weir_buffer *x = api_number(context, 1);
  weir_arg update = weir_updates(x), write = weir_writes(x);
  weir_kernel *bad = simulated(context, "bad", 5, api_fail), *good = simulated(context, "good", 5, api_nothing);
  weir_event *failed = api_submit(context, bad, &update, 1), *skipped = api_submit(context, good, &update, 1);
  weir_event *healed = api_submit(context, good, &write, 1);
  assert_int_equal(api_await(failed), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(api_await(skipped), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(api_await(healed), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  weir_context_release(context);
}

static void graphs_run_on_the_simulated_device(void **state) {
  (void)state;
  weir_context *context = api_context("sim:h200", 0, 0);
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 0);
  weir_kernel *add = simulated(context, "add", 2, api_add);
  weir_graph *graph = NULL;
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  const weir_arg args[] = {weir_reads(x), weir_updates(y)};
  weir_task task = {.kernel = add, .args = args, .arg_count = 2};
  for (int i = 0; i < 10; i++) assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  for (int i = 0; i < 5; i++) assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(api_read_number(y), 50);
  assert_true(graph_info(graph).build_ns > 0);
  weir_context_release(context);
}

static void one_graph_is_on_one_device(void **state) {
  (void)state;
  weir_context *context = api_context("sim:ideal,cpu:1", 0, 0);
  weir_graph *graph = NULL;
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  weir_task task = {.kernel = simulated(context, "both", 2, api_nothing)};
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  task = (weir_task){.host = api_nothing};
  api_expect(weir_graph_add(graph, &task, NULL), WEIR_ERROR_NO_CODE, "sim:ideal", NULL);
  task = (weir_task){.kernel = api_kernel(context, "cpu only", api_nothing)};
  api_expect(weir_graph_add(graph, &task, NULL), WEIR_ERROR_NO_CODE, "cpu only", NULL);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  weir_context_release(context);
}

static void graph_stays_on_the_device_of_its_first_task(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1,sim:ideal", 0, 0);
  weir_graph *graph = NULL;
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  weir_task task = {.kernel = simulated(context, "both", 1000, api_nothing)};
  task.device = weir_context_device(context, 1);
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  task.device = NULL; // by itself it would go to the CPU
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_true(weir_device_time(weir_context_device(context, 1)) >= 1000000);
  weir_context_release(context);
}

static void launches_in_flight_are_not_replaced(void **state) {
  (void)state;
  weir_context *context = api_context("sim:ideal,cpu:1", 0, 0);
  gate door = {0};
  weir_buffer *number = api_number(context, 1);
  weir_arg arg = weir_updates(number);
  weir_kernel *kernel = simulated(context, "busy", 5, api_nothing);
  assert_int_equal(gate_submit(context, &door, &arg, 1, NULL), WEIR_OK);
  weir_event *event = api_submit(context, kernel, &arg, 1);
  weir_sim_launch launch = {.blocks = 1, .threads = 1, .us = 1};
  api_expect(weir_kernel_set_sim(kernel, &launch, 1), WEIR_ERROR_INVALID_ARGUMENT, "busy", NULL);
  gate_open(&door);
  assert_int_equal(api_await(event), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  api_expect(weir_kernel_set_sim(kernel, &launch, 1), WEIR_OK, NULL);
  weir_context_release(context);
}

// The same program takes the same virtual time, always.
static void simulation_is_deterministic(void **state) {
  (void)state;
  uint64_t times[3];
  for (int run = 0; run < 3; run++) {
    weir_context *context = api_context("sim:h200", 0, 0);
    weir_buffer *buffers[8];
    for (int i = 0; i < 8; i++) buffers[i] = api_buffer(context, 64, NULL);
    weir_kernel *kernel = simulated(context, "k", 7.5, NULL);
    for (int i = 0; i < 300; i++) {
      const weir_arg args[] = {weir_reads(buffers[i * 5 % 8]), weir_updates(buffers[(i * 3 + 1) % 8])};
      if (args[0].buffer != args[1].buffer) weir_event_release(api_submit(context, kernel, args, 2));
    }
    assert_int_equal(weir_finish(context), WEIR_OK);
    times[run] = weir_device_time(weir_context_device(context, 0));
    weir_context_release(context);
  }
  assert_true(times[0] == times[1] && times[1] == times[2]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_need_code_for_the_device),
      cmocka_unit_test(host_tasks_need_a_cpu),
      cmocka_unit_test(bad_launches_are_refused),
      cmocka_unit_test(virtual_time_passes_at_once),
      cmocka_unit_test(effects_follow_submission_order),
      cmocka_unit_test(failures_poison),
      cmocka_unit_test(one_graph_is_on_one_device),
      cmocka_unit_test(graph_stays_on_the_device_of_its_first_task),
      cmocka_unit_test(launches_in_flight_are_not_replaced),
      cmocka_unit_test(graphs_run_on_the_simulated_device),
      cmocka_unit_test(simulation_is_deterministic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
