// SPDX-License-Identifier: Apache-2.0
//
// Code of kernels: what is accepted, what is refused and why, and what a task then launches. On the driver of stub/.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/driver.h"
#include "graph_info.h"
#include "nvrtc_stub.h"
#include "scratch.h"
#include "stub.h"
#include "weir/cuda.h"

static const char IMAGE[] =
    "STUB\nadd 256 8 8 4\nadd_twice 256 8 8 4\nconfigure 1024 24\nmany 64 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8\n"
    "nothing 1024\n";
static const weir_cuda_code CODE = {.image = IMAGE};

static weir_context *context;
static weir_kernel *kernel;
static weir_buffer *input, *output;

// What the functions below saw.
static uint32_t seen_grid[3], seen_block[3], seen_shared;
static unsigned char seen_value[24];
static _Atomic int launches;
static _Atomic bool hold; // `add` waits

static void note(const stub_launch *launch) {
  memcpy(seen_grid, launch->grid, sizeof seen_grid);
  memcpy(seen_block, launch->block, sizeof seen_block);
  seen_shared = launch->shared_bytes;
  atomic_fetch_add(&launches, 1);
}

static void add(const stub_launch *launch) {
  uint64_t to, from;
  uint32_t value;
  while (atomic_load(&hold)) sched_yield();
  memcpy(&to, launch->params[0], sizeof to);
  memcpy(&from, launch->params[1], sizeof from);
  memcpy(&value, launch->params[2], sizeof value);
  uint32_t *result = stub_memory(launch, to, sizeof *result), *source = stub_memory(launch, from, sizeof *source);
  if (result != NULL && source != NULL) *result = *source + value;
  note(launch);
}

static void add_twice(const stub_launch *launch) {
  uint32_t value;
  memcpy(&value, launch->params[2], sizeof value);
  value *= 2;
  void *params[] = {launch->params[0], launch->params[1], &value};
  stub_launch twice = *launch;
  twice.params = params;
  add(&twice);
}

static void configure(const stub_launch *launch) {
  memcpy(seen_value, launch->params[0], sizeof seen_value);
  note(launch);
}

static void expect(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("no '%s' in '%s'", part, text);
}

static void ok(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

static int create(void **state) {
  (void)state;
  assert_true(stub_configure(&(stub_options){.devices = 2}));
  scratch_create();
  ok(weir_context_create(&(weir_context_options){.devices = "cuda"}, &context));
  ok(weir_kernel_create(context, "sum", &kernel));
  ok(weir_buffer_create(context, 4, &input));
  ok(weir_buffer_create(context, 4, &output));
  return 0;
}

static int destroy(void **state) {
  (void)state;
  ok(weir_finish(context));
  weir_context_release(context);
  if (stub_violations() != 0) fail_msg("%s", stub_violation_text());
  assert_int_equal(stub_live_count(), 0);
  scratch_remove();
  return 0;
}

static void refused(const weir_cuda_code *code, const weir_cuda_launch *launch, uint32_t count, weir_status status,
                    const char *text) {
  assert_int_equal(weir_kernel_set_cuda(kernel, code, launch, count), status);
  expect(weir_last_error(), "'sum'");
  expect(weir_last_error(), text);
}

static void test_refused(void **state) {
  (void)state;
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  const weir_cuda_launch launch = {.function = "add"};
  refused(NULL, &launch, 1, invalid, "the code is NULL");
  refused(&CODE, NULL, 1, invalid, "the list of launches is NULL");
  refused(&CODE, NULL, 0, invalid, "code, but no launch");
  refused(&(weir_cuda_code){0}, &launch, 1, invalid, "exactly one of source and image");
  refused(&(weir_cuda_code){.image = IMAGE, .source = ""}, &launch, 1, invalid, "exactly one of source and image");
  refused(&CODE, &(weir_cuda_launch){0}, 1, invalid, "launch 0: the function's name is NULL");
  refused(&CODE, &(weir_cuda_launch){.function = "sub"}, 1, invalid, "no function 'sub'");
  refused(&(weir_cuda_code){.source = "#error"}, &launch, 1, invalid, "does not compile");
  refused(&CODE, &(weir_cuda_launch){.function = "add", .block = {16, 17}}, 1, invalid, "256 threads together");
  refused(&CODE, &(weir_cuda_launch){.function = "nothing", .block = {1, 1, 65}}, 1, invalid, "1024 x 1024 x 64");
  refused(&CODE, &(weir_cuda_launch){.function = "nothing", .block = {65536, 65536, 1}}, 1, invalid, "65536 x 65536");
  refused(&CODE, &(weir_cuda_launch){.function = "add", .shared_bytes = 227 * 1024 + 1}, 1, invalid,
          "232449 bytes of dynamic");
  refused(&CODE, &(weir_cuda_launch){.function = "add", .grid = {1, 65536}}, 1, invalid, "1 x 65536 x 1 blocks");
  refused(&CODE, &(weir_cuda_launch){.function = "configure", .value = "", .value_bytes = 0}, 1, invalid, "0 bytes");
  refused(&CODE, &(weir_cuda_launch){.function = "configure", .value = "x", .value_bytes = 2}, 1, invalid,
          "the parameter has 24 bytes, the value 2");
  refused(&CODE, &(weir_cuda_launch){.function = "add", .value = "x", .value_bytes = 2}, 1, invalid, "3 parameters");
  weir_task task = {.kernel = kernel};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_ERROR_NO_CODE);
}

static void test_no_device(void **state) {
  (void)state;
  weir_context *other;
  weir_kernel *alone;
  ok(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &other));
  ok(weir_kernel_create(other, "alone", &alone));
  assert_int_equal(weir_kernel_set_cuda(alone, &CODE, &(weir_cuda_launch){.function = "add"}, 1),
                   WEIR_ERROR_UNAVAILABLE);
  expect(weir_last_error(), "kernel 'alone': the context has no CUDA device");
  assert_int_equal(weir_kernel_set_cuda_function(alone, weir_context_device(context, 0), kernel, NULL),
                   WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_kernel_set_cuda_function(alone, weir_context_device(context, 0), kernel,
                                                 &(weir_cuda_launch){.function = "add"}),
                   WEIR_ERROR_INVALID_ARGUMENT);
  expect(weir_last_error(), "is no CUDA device of the kernel's context");
  weir_context_release(other);
}

static void submit_add(uint32_t value) {
  weir_arg args[] = {weir_writes(output), weir_reads(input), weir_value(&value, sizeof value)};
  ok(weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 3, .groups = {5, 4, 3}}, NULL));
}

static uint32_t result_of(uint32_t start, uint32_t value) {
  uint32_t result = 0;
  ok(weir_copy_in(input, 0, 4, &start, NULL));
  submit_add(value);
  ok(weir_copy_out(output, 0, 4, &result, NULL));
  ok(weir_finish(context));
  return result;
}

static void test_launch(void **state) {
  (void)state;
  ok(weir_kernel_set_cuda(kernel, &CODE, &(weir_cuda_launch){.function = "add", .block = {32, 2}}, 1));
  assert_int_equal(result_of(40, 2), 42);
  assert_memory_equal(seen_grid, ((uint32_t[]){5, 4, 3}), 12);
  assert_memory_equal(seen_block, ((uint32_t[]){32, 2, 1}), 12);
  assert_int_equal(seen_shared, 0);
  // Other code: its own grid, and more shared memory than a function has without asking.
  weir_cuda_launch launch = {.function = "add", .grid = {7}, .shared_bytes = 100 * 1024};
  ok(weir_kernel_set_cuda(kernel, &CODE, &launch, 1));
  assert_int_equal(result_of(1, 2), 3);
  assert_memory_equal(seen_grid, ((uint32_t[]){7, 1, 1}), 12);
  assert_memory_equal(seen_block, ((uint32_t[]){1, 1, 1}), 12);
  assert_int_equal(seen_shared, 100 * 1024);
  assert_int_equal(stub_calls("cuModuleLoadDataEx"), 1);
  // Less than another launch of the function has asked for: the limit stays.
  launch.shared_bytes = 60 * 1024;
  ok(weir_kernel_set_cuda(kernel, &CODE, &launch, 1));
  launch.shared_bytes = 100 * 1024;
  ok(weir_kernel_set_cuda(kernel, &CODE, &launch, 1));
  assert_int_equal(result_of(1, 3), 4);
}

static void test_several_launches(void **state) {
  (void)state;
  unsigned char value[24];
  memset(value, 7, sizeof value);
  weir_cuda_launch list[] = {{.function = "configure", .grid = {1}, .value = value, .value_bytes = sizeof value},
                             {.function = "add"}};
  ok(weir_kernel_set_cuda(kernel, &CODE, list, 2));
  memset(value, 0, sizeof value); // it was copied
  int before = atomic_load(&launches);
  assert_int_equal(result_of(1, 1), 2);
  assert_int_equal(atomic_load(&launches) - before, 2);
  memset(value, 7, sizeof value);
  assert_memory_equal(seen_value, value, sizeof value);
}

// A kernel without launches keeps its place in the order, and runs nothing.
static void test_empty(void **state) {
  (void)state;
  ok(weir_kernel_set_cuda(kernel, NULL, NULL, 0));
  int before = atomic_load(&launches);
  weir_event *event;
  weir_arg args[] = {weir_updates(output)};
  ok(weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 1}, &event));
  ok(weir_event_wait(event, UINT64_MAX));
  weir_event_release(event);
  assert_int_equal(atomic_load(&launches), before);
}

static void refuse_task(const weir_task *task, const char *text) {
  assert_int_equal(weir_submit(context, task, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  expect(weir_last_error(), "task 'sum' (tag 77)");
  expect(weir_last_error(), text);
}

static void test_tasks(void **state) {
  (void)state;
  ok(weir_kernel_set_cuda(kernel, &CODE, &(weir_cuda_launch){.function = "add"}, 1));
  uint64_t value = 0;
  weir_arg args[] = {weir_writes(output), weir_reads(input), weir_value(&value, 4), weir_value(&value, 4)};
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 4, .tag = 77};
  refuse_task(&task, "4 arguments; the CUDA function has 3 parameters");
  task.arg_count = 2;
  refuse_task(&task, "2 arguments; the CUDA function has 3 parameters");
  task.arg_count = 3;
  args[2] = weir_value(&value, 8);
  refuse_task(&task, "argument 2: a value of 8 bytes; the CUDA function takes 4 bytes there");
  args[2] = weir_value(&value, 4);
  args[1] = weir_value(&value, 4);
  refuse_task(&task, "argument 1: a value of 4 bytes; the CUDA function takes 8 bytes there");
  args[1] = weir_value(&value, 8); // an address of the caller's is a value
  args[2] = weir_reads(input);
  refuse_task(&task, "argument 2: a pointer of 8 bytes; the CUDA function's parameter has 4");
  args[1] = weir_reads(input);
  args[2] = weir_value(&value, 4);
  task.groups[1] = 65536;
  refuse_task(&task, "1 x 65536 x 1 blocks");
  ok(weir_kernel_set_cuda(kernel, &CODE, &(weir_cuda_launch){.function = "add", .grid = {1}}, 1));
  ok(weir_submit(context, &task, NULL)); // its groups are not the grid now
}

static void test_in_flight(void **state) {
  (void)state;
  const weir_cuda_launch launch = {.function = "add"};
  ok(weir_kernel_set_cuda(kernel, &CODE, &launch, 1));
  uint32_t start = 1;
  ok(weir_copy_in(input, 0, 4, &start, NULL));
  ok(weir_finish(context));
  atomic_store(&hold, true);
  submit_add(1);
  refused(&CODE, &launch, 1, WEIR_ERROR_INVALID_ARGUMENT, "tasks in flight use its CUDA code");
  atomic_store(&hold, false);
  ok(weir_finish(context));
  ok(weir_kernel_set_cuda(kernel, &CODE, &launch, 1));
}

static weir_graph *make_graph(uint32_t value) {
  weir_graph *graph;
  weir_arg args[] = {weir_writes(output), weir_reads(input), weir_value(&value, sizeof value)};
  ok(weir_graph_create(context, NULL, &graph));
  ok(weir_graph_add(graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = 3}, NULL));
  return graph;
}

static uint32_t launched(weir_graph *graph) {
  uint32_t result = 0;
  ok(weir_graph_launch(graph, NULL));
  ok(weir_copy_out(output, 0, 4, &result, NULL));
  ok(weir_finish(context));
  return result;
}

static void refuse_launch(weir_graph *graph, weir_status status, const char *text) {
  assert_int_equal(weir_graph_launch(graph, NULL), status);
  expect(weir_last_error(), text);
}

// A graph runs the code that its kernels have when it is launched, if that suits its tasks.
static void test_recorded(void **state) {
  (void)state;
  const weir_cuda_launch add_once = {.function = "add"}, twice = {.function = "add_twice"},
                         other = {.function = "many"};
  uint32_t start = 10;
  ok(weir_copy_in(input, 0, 4, &start, NULL));
  ok(weir_kernel_set_cuda(kernel, &CODE, &add_once, 1));
  weir_graph *graph = make_graph(1);
  assert_int_equal(launched(graph), 11);
  assert_int_equal(launched(graph), 11);
  ok(weir_kernel_set_cuda(kernel, &CODE, &twice, 1));
  assert_int_equal(launched(graph), 12);
  ok(weir_kernel_set_cuda(kernel, &CODE, &other, 1));
  refuse_launch(graph, WEIR_ERROR_INVALID_ARGUMENT, "3 arguments; the CUDA function has 18 parameters");
  refuse_launch(graph, WEIR_ERROR_INVALID_ARGUMENT, "3 arguments; the CUDA function has 18 parameters");
  assert_int_equal(graph_edges(graph), 0);
  ok(weir_kernel_set_cuda(kernel, &CODE, &add_once, 1));
  assert_int_equal(launched(graph), 11);
  ok(weir_graph_release(graph));
  // The same before the first launch.
  graph = make_graph(2);
  ok(weir_kernel_set_cuda(kernel, &CODE, &other, 1));
  refuse_launch(graph, WEIR_ERROR_INVALID_ARGUMENT, "3 arguments; the CUDA function has 18 parameters");
  ok(weir_kernel_set_cuda(kernel, &CODE, &twice, 1));
  assert_int_equal(launched(graph), 14);
  ok(weir_graph_release(graph));
}

// Code that kernels share is compiled and loaded once.
static void test_shared_source(void **state) {
  (void)state;
  weir_kernel *other;
  weir_cuda_code code = {.source = IMAGE, .options = "-G"};
  int before = nvrtc_stub_compilations();
  ok(weir_kernel_create(context, "other", &other));
  ok(weir_kernel_set_cuda(kernel, &code, &(weir_cuda_launch){.function = "add"}, 1));
  ok(weir_kernel_set_cuda(other, &code, &(weir_cuda_launch){.function = "nothing"}, 1));
  assert_int_equal(nvrtc_stub_compilations() - before, 1);
  assert_int_equal(stub_calls("cuModuleLoadDataEx"), 1);
  assert_int_equal(result_of(2, 5), 7);
}

// A function of the caller's; and the context that is current in the caller's thread stays current.
static void test_callers_function(void **state) {
  (void)state;
  char reason[256];
  const weir__cuda_driver *driver = weir__cuda_driver_load(reason, sizeof reason);
  CUcontext second, current;
  CUcontext first;
  CUmodule module;
  CUfunction function;
  assert_int_equal(driver->cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
  assert_int_equal(driver->cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
  assert_int_equal(driver->cuCtxSetCurrent(first), CUDA_SUCCESS);
  assert_int_equal(driver->cuModuleLoadDataEx(&module, IMAGE, 0, NULL, NULL), CUDA_SUCCESS);
  assert_int_equal(driver->cuModuleGetFunction(&function, module, "add"), CUDA_SUCCESS);
  assert_int_equal(driver->cuCtxSetCurrent(second), CUDA_SUCCESS);
  weir_device *device = weir_context_device(context, 0);
  weir_cuda_launch launch = {.block = {257}};
  assert_int_equal(weir_kernel_set_cuda_function(kernel, device, function, &launch), WEIR_ERROR_INVALID_ARGUMENT);
  expect(weir_last_error(), "256 threads together");
  assert_int_equal(weir_kernel_set_cuda_function(kernel, device, NULL, &launch), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_kernel_set_cuda_function(kernel, device, function, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_kernel_set_cuda_function(kernel, NULL, function, &launch), WEIR_ERROR_INVALID_ARGUMENT);
  launch.block[0] = 64;
  ok(weir_kernel_set_cuda_function(kernel, device, function, &launch));
  assert_int_equal(result_of(20, 3), 23);
  assert_int_equal(seen_block[0], 64);
  ok(weir_kernel_set_cuda(kernel, &CODE, &(weir_cuda_launch){.function = "add"}, 1));
  assert_int_equal(driver->cuCtxGetCurrent(&current), CUDA_SUCCESS);
  assert_ptr_equal(current, second);
  assert_int_equal(driver->cuCtxSetCurrent(first), CUDA_SUCCESS);
  assert_int_equal(driver->cuModuleUnload(module), CUDA_SUCCESS);
  assert_int_equal(driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
  assert_int_equal(driver->cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
  assert_int_equal(driver->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

// Every call of the driver that giving code makes fails once: it is refused with a text, and works the next time.
static void test_driver_fails(void **state) {
  (void)state;
  const weir_cuda_launch launch = {.function = "add", .shared_bytes = 64 * 1024};
  bool failed = true;
  int failures = 0;
  for (uint64_t n = 1; failed && n < 64; n++) {
    static const char *const CALLS[] = {"cuCtxPushCurrent",   "cuModuleLoadDataEx",   "cuModuleGetFunction",
                                        "cuFuncGetAttribute", "cuDeviceGetAttribute", "cuFuncSetAttribute"};
    failed = false;
    for (size_t i = 0; i < sizeof CALLS / sizeof CALLS[0]; i++) {
      char image[64];
      snprintf(image, sizeof image, "STUB\nadd 256 8 8 4\nx%d_%zu 1\n", (int)n, i); // not loaded yet
      stub_fail_nth(CALLS[i], n, CUDA_ERROR_OPERATING_SYSTEM);
      weir_status status = weir_kernel_set_cuda(kernel, &(weir_cuda_code){.image = image}, &launch, 1);
      if (stub_failed() && status != WEIR_OK) {
        expect(weir_last_error(), "kernel 'sum'");
        expect(weir_last_error(), "CUDA_ERROR_OPERATING_SYSTEM");
        failures++;
      }
      if (stub_failed()) failed = true;
      stub_fail_nth(CALLS[i], 0, 0);
    }
  }
  assert_true(failures > 8);
  ok(weir_kernel_set_cuda(kernel, &CODE, &launch, 1));
  assert_int_equal(result_of(1, 1), 2);
}

static void test_no_memory(void **state) {
  (void)state;
  weir_cuda_launch launch = {.function = "configure", .grid = {1}, .value = (char[24]){0}, .value_bytes = 24};
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  uint64_t failures = 0;
  for (uint64_t n = 1; status == WEIR_ERROR_OUT_OF_MEMORY; n++) {
    weir__allocate_fail_at(n);
    status = weir_kernel_set_cuda(kernel, &CODE, &launch, 1);
    failures = n;
  }
  weir__allocate_fail_at(0);
  ok(status);
  assert_true(failures > 4); // launches, a value, a module, a copy of the text
}

int main(void) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  stub_register("add", add);
  stub_register("add_twice", add_twice);
  stub_register("configure", configure);
  stub_register("many", note);
  stub_register("nothing", note);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_refused, create, destroy),
      cmocka_unit_test_setup_teardown(test_no_device, create, destroy),
      cmocka_unit_test_setup_teardown(test_launch, create, destroy),
      cmocka_unit_test_setup_teardown(test_several_launches, create, destroy),
      cmocka_unit_test_setup_teardown(test_empty, create, destroy),
      cmocka_unit_test_setup_teardown(test_tasks, create, destroy),
      cmocka_unit_test_setup_teardown(test_in_flight, create, destroy),
      cmocka_unit_test_setup_teardown(test_recorded, create, destroy),
      cmocka_unit_test_setup_teardown(test_shared_source, create, destroy),
      cmocka_unit_test_setup_teardown(test_callers_function, create, destroy),
      cmocka_unit_test_setup_teardown(test_driver_fails, create, destroy),
      cmocka_unit_test_setup_teardown(test_no_memory, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
