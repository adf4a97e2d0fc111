// SPDX-License-Identifier: Apache-2.0
//
// Which kernels get a part, which parts are linked, and what is left of a failure: with a compiler that returns its source, and
// a linker that puts texts together. A source's text names its kernels: "WEIR_KERNEL(name".
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/allocate.h"
#include "device/cuda/resident/link.h"
#include "fake.h"
#include "nvrtc_stub.h"

enum { DIGITS = 32 };

static weir__cuda_device device;
static char reason[512];

// Refuses texts that contain "#refused", and more than one that contains "#alone".
static void *link_texts(const fake_input *inputs, uint32_t count, size_t *out_bytes, char *log, size_t log_bytes) {
  size_t bytes = 1;
  int alone = 0;
  for (uint32_t i = 0; i < count; i++) {
    assert_int_equal(inputs[i].type, CU_JIT_INPUT_PTX);
    assert_int_equal(((const char *)inputs[i].data)[inputs[i].bytes - 1], 0);
    assert_int_equal(strlen(inputs[i].name), DIGITS);
    if (strstr(inputs[i].data, "#alone") != NULL) alone++;
    if (strstr(inputs[i].data, "#refused") != NULL || alone > 1) {
      snprintf(log, log_bytes, "error: input %u is refused", i);
      return NULL;
    }
    bytes += inputs[i].bytes - 1;
  }
  char *image = calloc(1, bytes);
  assert_non_null(image);
  for (uint32_t i = 0; i < count; i++) strcat(image, inputs[i].data);
  *out_bytes = bytes;
  return image;
}

// A kernel's variable holds a number that is made of its name.
static uint64_t address_of(const char *kernel) {
  uint64_t address = 0;
  for (; *kernel != 0; kernel++) address = address * 31 + (uint64_t)*kernel;
  return address;
}

static bool find_variable(const void *image, const char *name, uint64_t *out_value) {
  static const char START[] = "weir__resident_pointer_";
  assert_memory_equal(name, START, strlen(START));
  const char *kernel = name + strlen(START) + DIGITS + 1;
  assert_int_equal(strspn(name + strlen(START), "0123456789abcdef"), DIGITS);
  assert_int_equal(kernel[-1], '_');
  char text[128];
  snprintf(text, sizeof text, "WEIR_KERNEL(%s,", kernel);
  *out_value = address_of(kernel);
  return strstr(image, text) != NULL;
}

static int reset(void **state) {
  (void)state;
  fake_reset(&device, 90);
  fake.link = link_texts;
  fake.variable = find_variable;
  fake.failure = CUDA_ERROR_INVALID_VALUE;
  return 0;
}

// Nothing of the driver's is left.
static int check_clean(void **state) {
  (void)state;
  assert_int_equal(fake.states, 0);
  assert_int_equal(fake.modules, 0);
  assert_int_equal(fake.streams, 0);
  return 0;
}

static const weir_cuda_launch LAUNCH = {.function = "a", .block = {64, 1, 1}};

static weir__resident_part *compile_from(const char *source, const char *options, const char *kernel,
                                         uint32_t threads) {
  weir_cuda_code code = {.source = source, .options = options, .groups = true};
  weir_cuda_launch launch = {.function = kernel, .block = {threads, 1, 1}};
  weir__resident_part *part;
  if (weir__resident_compile(&device, kernel, &code, &launch, false, &part, reason, sizeof reason) != WEIR_OK)
    fail_msg("%s", weir_last_error());
  return part;
}

static void expect(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("no '%s' in '%s'", part, text);
}

static void expect_reason(const weir_cuda_code *code, const weir_cuda_launch *launch, const char *expected) {
  weir__resident_part *part = (void *)&device;
  assert_int_equal(weir__resident_compile(&device, "a", code, launch, false, &part, reason, sizeof reason), WEIR_OK);
  assert_null(part);
  expect(reason, expected);
}

static void test_reasons(void **state) {
  (void)state;
  const weir_cuda_code code = {.source = "WEIR_KERNEL(a,", .groups = true};
  weir_cuda_code other = {.source = "WEIR_KERNEL(a,"};
  expect_reason(&other, &LAUNCH, "weir/kernel.h");
  other = (weir_cuda_code){.image = "PTX", .groups = true};
  expect_reason(&other, &LAUNCH, "no source");
  other = (weir_cuda_code){.source = "#error: int99_t", .groups = true};
  expect_reason(&other, &LAUNCH, "kernel 'a' does not compile (NVRTC 12.9, error 6):\n#error: int99_t");
  weir_cuda_launch launch = LAUNCH;
  launch.shared_bytes = 16;
  expect_reason(&code, &launch, "16 bytes of dynamic shared memory");
  launch = LAUNCH;
  launch.block[1] = 17;
  expect_reason(&code, &launch, "work-groups of 1088 work-items");
  fake.functions.cuLinkComplete = NULL;
  expect_reason(&code, &LAUNCH, "the driver lacks cuLinkComplete");
}

static void test_options(void **state) {
  (void)state;
  weir__resident_part *part = compile_from("WEIR_KERNEL(o,", "-fmad=false -G", "o", 64);
  const char *options = nvrtc_stub_options();
  static const char FIXED[] = "-fmad=false -G -rdc=true -maxrregcount=64 -DWEIR__RESIDENT=";
  assert_memory_equal(options, FIXED, strlen(FIXED));
  assert_int_equal(strspn(options + strlen(FIXED), "0123456789abcdef"), DIGITS);
  assert_string_equal(options + strlen(FIXED) + DIGITS, " --gpu-architecture=sm_90");
  weir__resident_part_release(part);
}

// Equal code is one part and compiled once, as long as somebody holds it.
static void test_sharing(void **state) {
  (void)state;
  static const char SOURCE[] = "WEIR_KERNEL(s, WEIR_KERNEL(t,";
  weir__resident_part *s = compile_from(SOURCE, NULL, "s", 64);
  int before = nvrtc_stub_compilations();
  assert_ptr_equal(compile_from(SOURCE, "", "s", 64), s);
  weir__resident_part *t = compile_from(SOURCE, NULL, "t", 64), *other = compile_from(SOURCE, NULL, "s", 96);
  assert_ptr_not_equal(t, s);
  assert_ptr_not_equal(other, s);
  assert_int_equal(nvrtc_stub_compilations(), before);
  weir__resident_part *third = compile_from(SOURCE, "-G", "s", 64);
  assert_ptr_not_equal(third, s);
  assert_int_equal(nvrtc_stub_compilations(), before + 1);
  device.capability = 80;
  weir__resident_part *fourth = compile_from(SOURCE, NULL, "s", 64);
  assert_ptr_not_equal(fourth, s);
  assert_int_equal(nvrtc_stub_compilations(), before + 3); // and the resident kernel itself
  assert_ptr_equal(weir__resident_part_retain(s), s);
  weir__resident_part *const all[] = {s, s, s, t, other, third, fourth};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) weir__resident_part_release(all[i]);
  weir__resident_part_release(NULL);
}

static void test_link(void **state) {
  (void)state;
  static const char FIRST[] = "WEIR_KERNEL(s, WEIR_KERNEL(t,", SECOND[] = "WEIR_KERNEL(s, WEIR_KERNEL(u,";
  weir__resident_part *parts[] = {compile_from(FIRST, NULL, "s", 64), compile_from(SECOND, NULL, "u", 100),
                                  compile_from(FIRST, NULL, "t", 33), compile_from(SECOND, NULL, "s", 1),
                                  compile_from(FIRST, NULL, "x", 1024)};
  weir__resident_module module;
  if (weir__resident_link(&device, parts, 4, &module) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(fake.inputs, 3); // the resident kernel, and two sources
  assert_int_equal(module.threads, 128);
  assert_int_equal(fake.threads, 128);
  assert_int_equal(module.blocks_per_sm, 2);
  assert_non_null(module.entry);
  const char *const names[] = {"s", "u", "t", "s"};
  for (int i = 0; i < 4; i++) assert_int_equal(module.functions[i], address_of(names[i]));
  assert_string_equal(module.left_out, "");
  weir__resident_unlink(&device, &module);
  assert_null(module.functions);
  weir__resident_unlink(&device, &module); // nothing
  // A kernel that is not in the text, which nothing could tell before.
  if (weir__resident_link(&device, parts + 3, 2, &module) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(module.functions[0], address_of("s"));
  assert_int_equal(module.functions[1], 0);
  expect(module.left_out, "kernel 'x' is not in the resident kernel");
  weir__resident_unlink(&device, &module);
  if (weir__resident_link(&device, NULL, 0, &module) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(module.threads, 64);
  weir__resident_unlink(&device, &module);
  for (int i = 0; i < 5; i++) weir__resident_part_release(parts[i]);
}

// What the linker refuses is left out, wherever it stands; of two that exclude each other, the later one.
static void test_left_out(void **state) {
  (void)state;
  weir__resident_part *parts[] = {compile_from("WEIR_KERNEL(a, #refused", NULL, "a", 1024),
                                  compile_from("WEIR_KERNEL(b, #alone", NULL, "b", 64),
                                  compile_from("WEIR_KERNEL(c, WEIR_KERNEL(d,", NULL, "c", 32),
                                  compile_from("WEIR_KERNEL(e, #alone", NULL, "e", 512),
                                  compile_from("WEIR_KERNEL(c, WEIR_KERNEL(d,", NULL, "d", 96)};
  weir__resident_module module;
  if (weir__resident_link(&device, parts, 5, &module) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(module.functions[0], 0);
  assert_int_equal(module.functions[1], address_of("b"));
  assert_int_equal(module.functions[2], address_of("c"));
  assert_int_equal(module.functions[3], 0);
  assert_int_equal(module.functions[4], address_of("d"));
  assert_int_equal(module.threads, 96);
  expect(module.left_out, "kernel 'a' and others are not in the resident kernel: ");
  expect(module.left_out, "error: input 1 is refused");
  weir__resident_unlink(&device, &module);
  fake.most_blocks = 0;
  assert_int_equal(weir__resident_link(&device, parts, 5, &module), WEIR_ERROR_UNAVAILABLE);
  expect(weir_last_error(), "no block of 64 threads fits");
  assert_null(module.functions);
  for (int i = 0; i < 5; i++) weir__resident_part_release(parts[i]);
}

// Each call fails in turn: the module is whole, after another try, or nothing is left of it.
static void test_failing_calls(void **state) {
  (void)state;
  weir__resident_part *part = compile_from("WEIR_KERNEL(f,", NULL, "f", 64);
  static const CUresult FAILURES[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_INVALID_IMAGE};
  static const weir_status STATUS[] = {WEIR_ERROR_OUT_OF_MEMORY, WEIR_ERROR_DEVICE_LOST, WEIR_ERROR_INVALID_ARGUMENT};
  for (int i = 0; i < 3; i++) {
    uint32_t failed = 0, again = 0;
    for (uint32_t n = 1;; n++) {
      weir__resident_module module;
      fake.calls = 0;
      fake.fail_at = n;
      fake.failure = FAILURES[i];
      weir_status status = weir__resident_link(&device, &part, 1, &module);
      if (fake.calls < n) {
        assert_int_equal(status, WEIR_OK);
        weir__resident_unlink(&device, &module);
        break;
      }
      if (status == WEIR_OK) {
        assert_int_equal(module.functions[0], address_of("f")); // it was tried again
        assert_string_equal(module.left_out, "");
        again++;
      } else {
        assert_int_equal(status, STATUS[i]);
        assert_null(module.module);
        assert_null(module.functions);
        failed++;
      }
      weir__resident_unlink(&device, &module);
      check_clean(NULL);
    }
    assert_true(failed >= 4);
    assert_true((again > 0) == (FAILURES[i] == CUDA_ERROR_INVALID_IMAGE));
  }
  weir__resident_part_release(part);
}

static void test_no_memory(void **state) {
  (void)state;
  for (int linked = 0; linked < 2; linked++) {
    weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
    int failures = -1;
    for (uint64_t n = 1; status == WEIR_ERROR_OUT_OF_MEMORY; n++, failures++) {
      weir__resident_part *part = NULL;
      weir__resident_module module = {0};
      const weir_cuda_code code = {.source = "WEIR_KERNEL(a,", .groups = true};
      if (linked) part = compile_from(code.source, NULL, "a", 64);
      weir__allocate_fail_at(n);
      status = linked ? weir__resident_link(&device, &part, 1, &module)
                      : weir__resident_compile(&device, "a", &code, &LAUNCH, false, &part, reason, sizeof reason);
      weir__allocate_fail_at(0);
      if (status != WEIR_OK) assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
      if (!linked) assert_true((status == WEIR_OK) == (part != NULL));
      weir__resident_unlink(&device, &module);
      weir__resident_part_release(part);
    }
    assert_int_equal(status, WEIR_OK);
    assert_true(failures >= 2);
  }
}

static void *compile_often(void *argument) {
  (void)argument;
  static const char *const SOURCES[] = {"WEIR_KERNEL(p, WEIR_KERNEL(q,", "WEIR_KERNEL(r,"};
  static const char *const KERNELS[] = {"p", "q", "r"};
  for (int i = 0; i < 60; i++) {
    const weir_cuda_code code = {.source = SOURCES[i % 3 / 2], .groups = true};
    const weir_cuda_launch launch = {.function = KERNELS[i % 3]};
    char why[64];
    weir__resident_part *part;
    weir_status status = weir__resident_compile(&device, KERNELS[i % 3], &code, &launch, false, &part, why, sizeof why);
    if (status != WEIR_OK || part == NULL) return &device;
    weir__resident_part_release(weir__resident_part_retain(part));
    weir__resident_part_release(part);
  }
  return NULL;
}

// Threads make, share and drop the same parts.
static void test_threads(void **state) {
  (void)state;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, compile_often, NULL), 0);
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
}

int main(void) {
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  setenv("WEIR_CACHE", "", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_reasons, reset, check_clean),
      cmocka_unit_test_setup_teardown(test_options, reset, check_clean),
      cmocka_unit_test_setup_teardown(test_sharing, reset, check_clean),
      cmocka_unit_test_setup_teardown(test_link, reset, check_clean),
      cmocka_unit_test_setup_teardown(test_left_out, reset, check_clean),
      cmocka_unit_test_setup_teardown(test_failing_calls, reset, check_clean),
      cmocka_unit_test_setup_teardown(test_no_memory, reset, check_clean),
      cmocka_unit_test_setup_teardown(test_threads, reset, check_clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
