// SPDX-License-Identifier: Apache-2.0
//
// Write-once kernels on the CPU and GLSL versions of them on Vulkan give the same bits. Two kernels have no version:
// `arithmetic`, since Vulkan lets divisions and square roots differ in the last bits, and `integers`, since types of 16 bits
// are an option of Vulkan's that few shaders use.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "axpy.spv.h"
#include "cases.h"
#include "float_sum.spv.h"
#include "histogram.spv.h"
#include "indexes.spv.h"
#include "reduce.spv.h"
#include "scan.spv.h"
#include "transpose.spv.h"
#include "weir/vulkan.h"

static const struct {
  const char *name;
  const uint32_t *words;
  uint64_t bytes;
} shaders[] = {
    {"indexes", indexes_spv, sizeof indexes_spv},
    {"reduce", reduce_spv, sizeof reduce_spv},
    {"transpose", transpose_spv, sizeof transpose_spv},
    {"scan", scan_spv, sizeof scan_spv},
    {"histogram", histogram_spv, sizeof histogram_spv},
    {"float_sum", float_sum_spv, sizeof float_sum_spv},
    {"axpy", axpy_spv, sizeof axpy_spv},
};

enum { SHADERS = sizeof shaders / sizeof shaders[0] };

static void require(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

// One kernel with both codes.
static weir_kernel *make_kernel(weir_context *context, const launch_case *of, int shader) {
  const weir_vulkan_code code = {.words = shaders[shader].words, .bytes = shaders[shader].bytes};
  const weir_vulkan_launch launch = {0};
  weir_kernel *kernel;
  require(weir_kernel_create_from(context, of->code, &kernel));
  require(weir_kernel_set_vulkan(kernel, &code, &launch, 1));
  return kernel;
}

static void run(weir_context *context, const launch_case *of, weir_kernel *kernel, weir_device *device) {
  weir_buffer *buffers[CASE_MAX_ARGS] = {NULL};
  weir_arg args[CASE_MAX_ARGS];
  for (uint32_t i = 0; i < of->arg_count; i++) {
    const case_arg *arg = &of->args[i];
    args[i] = weir_value(arg->start, arg->bytes);
    if (!arg->is_buffer) continue;
    require(weir_buffer_create(context, arg->bytes, &buffers[i]));
    require(weir_copy_in(buffers[i], 0, arg->bytes, arg->start, NULL));
    args[i] = weir_updates(buffers[i]);
  }
  weir_task task = {.kernel = kernel, .args = args, .arg_count = of->arg_count, .device = device};
  memcpy(task.groups, of->groups, sizeof task.groups);
  require(weir_submit(context, &task, NULL));
  for (uint32_t i = 0; i < of->arg_count; i++) {
    if (buffers[i] == NULL) continue;
    void *contents = malloc(of->args[i].bytes);
    assert_non_null(contents);
    require(weir_copy_out(buffers[i], 0, of->args[i].bytes, contents, NULL));
    require(weir_finish(context));
    bool right = case_right(of, i, contents, weir_device_information(device)->name);
    free(contents);
    require(weir_buffer_release(buffers[i]));
    assert_true(right);
  }
}

static void same_bits_as_on_the_cpu(void **state) {
  (void)state;
  const weir_context_options options = {.devices = "cpu:2,vulkan"};
  weir_context *context;
  require(weir_context_create(&options, &context));
  int found = 0;
  for (int i = 0; i < CASE_COUNT; i++) {
    launch_case each = case_create(i);
    for (int shader = 0; shader < SHADERS; shader++) {
      if (strcmp(shaders[shader].name, each.code->name) != 0) continue;
      weir_kernel *kernel = make_kernel(context, &each, shader);
      for (uint32_t device = 0; device < 2; device++) run(context, &each, kernel, weir_context_device(context, device));
      require(weir_kernel_release(kernel));
      found++;
    }
    case_release(&each);
  }
  assert_int_equal(found, SHADERS);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits_as_on_the_cpu)};
  return cmocka_run_group_tests_name("write-once kernels and GLSL", tests, NULL, NULL);
}
