// SPDX-License-Identifier: Apache-2.0
//
// Code on a device: loaded once, found again, refused with a reason, unloaded. On the driver of stub/.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/module.h"
#include "nvrtc_stub.h"
#include "scratch.h"
#include "stub.h"

static weir__cuda_device *device;

static void expect(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("no '%s' in '%s'", part, text);
}

static void nothing(const stub_launch *launch) {
  (void)launch;
}

// A driver that is not found, or finds no device, is looked for again by the next call.
static void test_tried_again(void **state) {
  (void)state;
  char reason[256];
  setenv("WEIR_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
  assert_null(weir__cuda_driver_load(reason, sizeof reason));
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  stub_fail_nth("cuInit", 1, CUDA_ERROR_NO_DEVICE);
  assert_null(weir__cuda_driver_load(reason, sizeof reason));
  expect(reason, "no CUDA device: CUDA_ERROR_NO_DEVICE");
  stub_fail_nth("cuDriverGetVersion", 1, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  assert_null(weir__cuda_driver_load(reason, sizeof reason));
  expect(reason, "the CUDA driver does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
  const weir__cuda_driver *driver = weir__cuda_driver_load(reason, sizeof reason);
  assert_non_null(driver);
  setenv("WEIR_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1); // it is loaded by now
  assert_ptr_equal(weir__cuda_driver_load(reason, sizeof reason), driver);
}

// A device as far as modules need it, its context current.
static int create(void **state) {
  (void)state;
  char reason[256];
  assert_true(stub_configure(&(stub_options){.devices = 1}));
  scratch_create();
  device = weir__allocate_zeroed(sizeof *device);
  device->driver = weir__cuda_driver_load(reason, sizeof reason);
  assert_non_null(device->driver);
  device->capability = 90;
  snprintf(device->base.device.name, sizeof device->base.device.name, "cuda:0");
  assert_int_equal(device->driver->cuDevicePrimaryCtxRetain(&device->primary, 0), CUDA_SUCCESS);
  assert_int_equal(weir__cuda_enter(device), CUDA_SUCCESS);
  return 0;
}

static int destroy(void **state) {
  (void)state;
  CUcontext current = NULL;
  weir__cuda_leave(device);
  weir__cuda_modules_destroy(device);
  assert_null(device->modules);
  device->driver->cuCtxGetCurrent(&current);
  assert_null(current);
  assert_int_equal(stub_live().modules, 0);
  assert_int_equal(device->driver->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  if (stub_violations() != 0) fail_msg("%s", stub_violation_text());
  weir__free(device);
  scratch_remove();
  return 0;
}

static CUmodule load(const weir_cuda_code *code) {
  CUmodule module = NULL;
  if (weir__cuda_module_load(device, "add", code, &module) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_non_null(module);
  return module;
}

static void test_once(void **state) {
  (void)state;
  char first[] = "STUB\nadd 256 8 8 4\n", second[] = "STUB\nadd 256 8 8 4\nother 64\n";
  CUmodule module = load(&(weir_cuda_code){.image = first});
  assert_ptr_equal(load(&(weir_cuda_code){.image = first}), module);
  // The same bytes elsewhere, and with a length that is given: what follows them is not read.
  assert_ptr_equal(load(&(weir_cuda_code){.image = second, .image_bytes = strlen(first)}), module);
  assert_int_equal(stub_calls("cuModuleLoadDataEx"), 1);
  assert_ptr_not_equal(load(&(weir_cuda_code){.image = second}), module);
  assert_int_equal(stub_live().modules, 2);
}

static void test_length(void **state) {
  (void)state;
  char image[] = "STUB\nadd 256 8 8 4\n#";
  CUfunction function = NULL;
  CUmodule module = load(&(weir_cuda_code){.image = image, .image_bytes = strlen(image) - 1});
  assert_int_equal(weir__cuda_module_function(device, "add", module, "add", &function), WEIR_OK);
  assert_non_null(function);
}

static void test_no_function(void **state) {
  (void)state;
  CUfunction function = NULL;
  CUmodule module = load(&(weir_cuda_code){.image = "STUB\nadd 256 8 8 4\n"});
  assert_int_equal(weir__cuda_module_function(device, "sum", module, "_Z3addv", &function),
                   WEIR_ERROR_INVALID_ARGUMENT);
  expect(weir_last_error(), "kernel 'sum': its code has no function '_Z3addv'");
}

static void refused(const weir_cuda_code *code, weir_status status, const char *text) {
  CUmodule module = NULL;
  assert_int_equal(weir__cuda_module_load(device, "add", code, &module), status);
  assert_null(module);
  expect(weir_last_error(), "kernel 'add'");
  expect(weir_last_error(), text);
  assert_null(device->modules);
}

static void test_refused(void **state) {
  (void)state;
  char elf[64] = "\177ELF";
  refused(&(weir_cuda_code){.image = "nonsense"}, WEIR_ERROR_INVALID_ARGUMENT, "cuda:0: CUDA_ERROR_INVALID_IMAGE");
  refused(&(weir_cuda_code){.image = elf}, WEIR_ERROR_INVALID_ARGUMENT, "image_bytes");
  refused(&(weir_cuda_code){.image = elf, .image_bytes = sizeof elf}, WEIR_ERROR_INVALID_ARGUMENT,
          "CUDA_ERROR_NO_BINARY_FOR_GPU");
  refused(&(weir_cuda_code){.source = "#error of the user's"}, WEIR_ERROR_INVALID_ARGUMENT, "#error of the user's");
  stub_fail_nth("cuModuleLoadDataEx", 1, CUDA_ERROR_OUT_OF_MEMORY);
  refused(&(weir_cuda_code){.image = "STUB\nadd 256 8 8 4\n"}, WEIR_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY");
  for (uint64_t n = 1; n <= 2; n++) { // the list's entry, the copy of the text
    weir__allocate_fail_at(n);
    refused(&(weir_cuda_code){.image = "STUB\nadd 256 8 8 4\n"}, WEIR_ERROR_OUT_OF_MEMORY, "no memory");
  }
}

// Equal source is compiled and loaded once; other options make it other code.
static void test_source(void **state) {
  (void)state;
  const char *source = "STUB\nadd 256 8 8 4\n";
  int before = nvrtc_stub_compilations();
  CUmodule module = load(&(weir_cuda_code){.source = source});
  assert_ptr_equal(load(&(weir_cuda_code){.source = source}), module);
  assert_int_equal(nvrtc_stub_compilations() - before, 1);
  assert_ptr_not_equal(load(&(weir_cuda_code){.source = source, .options = "-G"}), module);
  assert_int_equal(nvrtc_stub_compilations() - before, 2);
  assert_string_equal(nvrtc_stub_options(), "-G --gpu-architecture=sm_90");
}

static void *load_in_thread(void *argument) {
  CUmodule *module = argument;
  if (weir__cuda_enter(device) != CUDA_SUCCESS) return NULL;
  weir__cuda_module_load(device, "add", &(weir_cuda_code){.source = "STUB\nadd 256 8 8 4\n"}, module);
  weir__cuda_leave(device);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  pthread_t threads[4];
  CUmodule modules[4] = {NULL};
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, load_in_thread, &modules[i]), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  assert_non_null(modules[0]);
  for (int i = 1; i < 4; i++) assert_ptr_equal(modules[i], modules[0]);
  assert_int_equal(stub_live().modules, 1);
}

static void test_probe(void **state) {
  (void)state;
  char text[256];
  assert_true(weir__cuda_probe(text, sizeof text));
  expect(text, "(9.0, ");
  expect(text, "; NVRTC 12.9");
}

int main(void) {
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  stub_register("add", nothing);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tried_again),
      cmocka_unit_test_setup_teardown(test_once, create, destroy),
      cmocka_unit_test_setup_teardown(test_length, create, destroy),
      cmocka_unit_test_setup_teardown(test_no_function, create, destroy),
      cmocka_unit_test_setup_teardown(test_refused, create, destroy),
      cmocka_unit_test_setup_teardown(test_source, create, destroy),
      cmocka_unit_test_setup_teardown(test_threads, create, destroy),
      cmocka_unit_test_setup_teardown(test_probe, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
