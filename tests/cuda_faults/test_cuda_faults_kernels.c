// SPDX-License-Identifier: Apache-2.0
//
// A kernel faults: its task, what depends on it and its device fail; everything else goes on.
#include "cuda_faults.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fault_test {
  weir_context *context;
  weir_kernel *mix, *bad;
  weir_buffer *a, *b, *c;
  uint32_t input[WORDS], output[WORDS];
} fault_test;

static void begin(fault_test *t, const char *devices, weir_issue issue, uint64_t seed) {
  stub_options stub = {.devices = 2, .seed = seed, .manual = seed % 2 == 0};
  assert_true(stub_configure(&stub));
  memset(t, 0, sizeof *t);
  alarm(60);
  faults_let_fit(issue == WEIR_ISSUE_RESIDENT);
  weir_context_options options = {.devices = devices, .issue = issue};
  assert_int_equal(weir_context_create(&options, &t->context), WEIR_OK);
  assert_int_equal(faults_mix_kernel(t->context, &t->mix), WEIR_OK);
  assert_int_equal(faults_bad_kernel(t->context, &t->bad), WEIR_OK);
  weir_buffer **buffers[] = {&t->a, &t->b, &t->c};
  for (uint32_t i = 0; i < WORDS; i++) t->input[i] = i + 1;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(weir_buffer_create(t->context, sizeof t->input, buffers[i]), WEIR_OK);
    assert_int_equal(weir_copy_in(*buffers[i], 0, sizeof t->input, t->input, NULL), WEIR_OK);
  }
}

static void end(fault_test *t) {
  weir_buffer_release(t->a);
  weir_buffer_release(t->b);
  weir_buffer_release(t->c);
  weir_kernel_release(t->mix);
  weir_kernel_release(t->bad);
  weir_context_release(t->context);
  alarm(0);
  faults_check_driver("after a fault");
  faults_expect_none();
}

static weir_device *device_of(const fault_test *t, const char *kind, int index) {
  for (uint32_t i = 0; i < weir_context_device_count(t->context); i++) {
    weir_device *device = weir_context_device(t->context, i);
    if (strcmp(weir_device_information(device)->kind, kind) == 0 && index-- == 0) return device;
  }
  return NULL;
}

static weir_event *submit(fault_test *t, weir_kernel *kernel, weir_device *device, weir_buffer *to, weir_buffer *from) {
  weir_arg args[3];
  uint32_t value = 5;
  weir_task task = faults_task(kernel, args, to, from, &value);
  task.device = device;
  weir_event *event = NULL;
  if (weir_submit(t->context, &task, &event) != WEIR_OK) print_message("%s\n", weir_last_error());
  assert_non_null(event);
  return event;
}

static weir_status finish(weir_event *event) {
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  if (status != WEIR_OK) assert_true(weir_event_message(event)[0] != '\0');
  weir_event_release(event);
  return status;
}

static void assert_lost(weir_status status) {
  assert_true(status == WEIR_ERROR_DEVICE_LOST || status == WEIR_ERROR_UPSTREAM_FAILED);
}

enum { WAYS = 4 };
static const weir_issue ways[WAYS] = {WEIR_ISSUE_AUTO, WEIR_ISSUE_QUEUES, WEIR_ISSUE_GRAPHS, WEIR_ISSUE_RESIDENT};

static void the_device_is_lost_and_the_cpu_goes_on(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 24; seed++) {
    fault_test t;
    begin(&t, seed % 2 == 0 ? "cuda,cpu:2" : "cpu:2,cuda", ways[seed % WAYS], seed);
    weir_device *cuda = device_of(&t, "cuda", 0), *cpu = device_of(&t, "cpu", 0);
    assert_int_equal(finish(submit(&t, t.mix, cpu, t.c, t.c == t.a ? t.b : t.a)), WEIR_OK);
    weir_event *bad = submit(&t, t.bad, cuda, t.b, t.a);
    weir_event *reader = submit(&t, t.mix, cuda, t.a, t.b), *on_cpu = submit(&t, t.mix, cpu, t.a, t.b);
    assert_int_equal(finish(bad), WEIR_ERROR_DEVICE_LOST);
    assert_lost(finish(reader));
    assert_int_equal(finish(on_cpu), WEIR_ERROR_UPSTREAM_FAILED);
    assert_lost(finish(submit(&t, t.mix, cuda, t.a, t.a == t.b ? t.c : t.b))); // later work of the device
    assert_true(weir_finish(t.context) != WEIR_OK);

    // The CPU and data that never was on the lost device.
    assert_int_equal(weir_copy_in(t.a, 0, sizeof t.input, t.input, NULL), WEIR_OK);
    assert_int_equal(finish(submit(&t, t.mix, cpu, t.b, t.a)), WEIR_OK);
    weir_event *event = NULL;
    assert_int_equal(weir_copy_out(t.b, 0, sizeof t.output, t.output, &event), WEIR_OK);
    assert_int_equal(finish(event), WEIR_OK);
    for (int i = 0; i < WORDS; i++) assert_int_equal(t.output[i], faults_mixed(t.input[i], 5));
    end(&t);
  }
}

static void a_node_of_a_graph_faults(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 24; seed++) {
    fault_test t;
    begin(&t, "cuda", ways[seed % WAYS], seed);
    weir_graph *graph = NULL;
    assert_int_equal(weir_graph_create(t.context, NULL, &graph), WEIR_OK);
    weir_arg args[3];
    uint32_t value = 1;
    weir_task good = faults_task(t.mix, args, t.b, t.a, &value);
    assert_int_equal(weir_graph_add(graph, &good, NULL), WEIR_OK);
    weir_task bad = faults_task(t.bad, args, t.c, t.b, &value);
    assert_int_equal(weir_graph_add(graph, &bad, NULL), WEIR_OK);
    weir_event *event = NULL;
    assert_int_equal(weir_graph_launch(graph, &event), WEIR_OK);
    assert_int_equal(finish(event), WEIR_ERROR_DEVICE_LOST);
    weir_status status = weir_graph_launch(graph, &event);
    assert_lost(status == WEIR_OK ? finish(event) : status);
    assert_int_equal(weir_graph_release(graph), WEIR_OK);
    end(&t);
  }
}

static void the_other_gpu_goes_on(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 24; seed++) {
    fault_test t;
    begin(&t, "cuda:0,cuda:1", ways[seed % WAYS], seed);
    weir_device *first = device_of(&t, "cuda", 0), *second = device_of(&t, "cuda", 1);
    assert_int_equal(finish(submit(&t, t.mix, second, t.c, t.a)), WEIR_OK);
    assert_int_equal(finish(submit(&t, t.bad, first, t.b, t.a)), WEIR_ERROR_DEVICE_LOST);
    assert_int_equal(finish(submit(&t, t.mix, second, t.b, t.c)), WEIR_OK);
    weir_event *event = NULL;
    assert_int_equal(weir_copy_out(t.b, 0, sizeof t.output, t.output, &event), WEIR_OK);
    assert_int_equal(finish(event), WEIR_OK);
    for (int i = 0; i < WORDS; i++) assert_int_equal(t.output[i], faults_mixed(faults_mixed(t.input[i], 5), 5));
    end(&t);
  }
}

static void a_context_with_a_lost_device_is_released_with_tasks_in_flight(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 24; seed++) {
    fault_test t;
    begin(&t, "cuda,cpu:1", ways[seed % WAYS], seed);
    weir_device *cuda = device_of(&t, "cuda", 0);
    for (int i = 0; i < 40; i++) {
      weir_event *event = submit(&t, i == 20 ? t.bad : t.mix, cuda, i % 2 == 0 ? t.b : t.c, i % 2 == 0 ? t.c : t.b);
      weir_event_release(event);
    }
    end(&t);
  }
}

int main(void) {
  faults_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_device_is_lost_and_the_cpu_goes_on),
      cmocka_unit_test(a_node_of_a_graph_faults),
      cmocka_unit_test(the_other_gpu_goes_on),
      cmocka_unit_test(a_context_with_a_lost_device_is_released_with_tasks_in_flight),
  };
  return cmocka_run_group_tests_name("CUDA: faulting kernels", tests, NULL, NULL);
}
