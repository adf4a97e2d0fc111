// SPDX-License-Identifier: Apache-2.0
//
// A task runs on a device that has code for it and that the caller named, or on none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"
#include "weir/graph.h"
#include "weir/sim.h"

static const char *devices;

static weir_context *open(const char *more) {
  char names[64];
  snprintf(names, sizeof names, "%s%s", devices, more);
  weir_context *context = NULL;
  weir_status status = weir_context_create(&(weir_context_options){.devices = names}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    exit(77);
  }
  planted_ok(status);
  return context;
}

static void sets_flag(const weir_work *work) {
  *(volatile bool *)work->user = true;
}

static void is_refused(weir_status status, const char *who) {
  assert_int_equal(status, WEIR_ERROR_NO_CODE);
  if (strstr(weir_last_error(), who) == NULL) fail_msg("'%s' is not in '%s'", who, weir_last_error());
}

// Refused by itself and in a graph, whether or not the task names the device; and nothing has run.
static void is_refused_everywhere(weir_context *context, weir_task task) {
  bool ran = false;
  task.user = &ran;
  const char *name = weir_device_information(weir_context_device(context, 0))->name;
  weir_graph *graph;
  planted_ok(weir_graph_create(context, NULL, &graph));
  for (int named = 0; named < 2; named++) {
    task.device = named ? weir_context_device(context, 0) : NULL;
    const char *who = task.kernel != NULL ? name : "a CPU device";
    weir_event *event;
    is_refused(weir_submit(context, &task, &event), who);
    assert_null(event);
    is_refused(weir_graph_add(graph, &task, NULL), who);
  }
  planted_ok(weir_finish(context));
  assert_false(ran);
}

// A kernel with code for another kind of device, and host tasks where no CPU device was named.
static void code_for_another_device(void **state) {
  (void)state;
  weir_context *context = open("");
  bool on_cpu = strncmp(devices, "cpu", 3) == 0;
  weir_kernel *kernel;
  planted_ok(weir_kernel_create(context, "elsewhere", &kernel));
  is_refused_everywhere(context, (weir_task){.kernel = kernel});
  if (on_cpu)
    planted_ok(weir_kernel_set_sim(kernel, &(weir_sim_launch){.threads = 64, .us = 5}, 1));
  else
    planted_ok(weir_kernel_set_cpu(kernel, sets_flag));
  if (strncmp(devices, "sim", 3) != 0) is_refused_everywhere(context, (weir_task){.kernel = kernel});
  if (!on_cpu && strncmp(devices, "sim", 3) != 0) is_refused_everywhere(context, (weir_task){.host = sets_flag});
  planted_ok(weir_context_release(context));
}

static weir_device *cpu_of(weir_context *context) {
  weir_device *device;
  for (uint32_t i = 0; (device = weir_context_device(context, i)) != NULL; i++) {
    if (strcmp(weir_device_information(device)->kind, "cpu") == 0) return device;
  }
  fail_msg("no CPU device");
  return NULL;
}

// Arguments that begin where another device's do not may, and kernels that have no code for another device.
static void graph_of_the_cpu(void **state) {
  (void)state;
  weir_context *context = open(",cpu:1");
  weir_kernel *kernel = planted_kernel(context), *plain;
  planted_ok(weir_kernel_create(context, "nothing", &plain));
  planted_ok(weir_kernel_set_cpu(plain, sets_flag));
  uint32_t from[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, to[9] = {0};
  weir_buffer *source, *target;
  planted_ok(weir_buffer_create(context, sizeof from, &source));
  planted_ok(weir_buffer_create(context, sizeof to, &target));
  planted_ok(weir_copy_in(source, 0, WEIR_WHOLE, from, NULL));
  planted_value value = {PLANTED_NOTHING, 8};
  weir_arg args[] = {weir_reads_range(source, 4, 32), weir_writes_range(target, 4, 32),
                     weir_value(&value, sizeof value)};
  weir_graph *graph;
  planted_ok(weir_graph_create(context, &(weir_graph_options){.device = cpu_of(context)}, &graph));
  bool ran = false;
  planted_ok(weir_graph_add(graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = 3, .groups = {8}}, NULL));
  planted_ok(weir_graph_add(graph, &(weir_task){.kernel = plain, .user = &ran}, NULL));
  for (int i = 0; i < 3; i++) {
    planted_ok(weir_graph_launch(graph, NULL));
    planted_ok(weir_read(target, 4, 32, &to[1]));
    for (uint32_t word = 1; word < 9; word++) assert_int_equal(to[word], 3 * word + 1);
    assert_true(ran);
    planted_ok(weir_kernel_set_cpu(plain, sets_flag)); // the code is looked at again
  }
  planted_ok(weir_context_release(context));
}

int main(int argc, char **argv) {
  devices = argc > 1 ? argv[1] : "cpu:2";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(code_for_another_device),
      cmocka_unit_test(graph_of_the_cpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
