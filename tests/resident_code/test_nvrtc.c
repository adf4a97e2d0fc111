// SPDX-License-Identifier: Apache-2.0
//
// The resident form of kernels and the resident kernel itself, compiled by NVRTC, which needs no card.
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/resident/cubin.h"
#include "device/cuda/resident/part.h"
#include "fake.h"
#include "scratch.h"
#include "sources.h"

static int capabilities[2];
static weir__cuda_device device;
static char reason[1024];

static void expect(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("no '%s' in '%s'", part, text);
}

#ifdef WEIR_PLAIN_TESTS // what the PTX says is the same in every kind of build

// PTX; the caller frees it.
static char *compile_to_ptx(const char *name, const char *source, int capability, const char *options) {
  char text[256];
  snprintf(text, sizeof text, "%s -rdc=true -maxrregcount=64 -arch=compute_%d", options, capability);
  void *image;
  size_t bytes;
  if (weir__nvrtc_compile(name, source, text, capability, &image, &bytes) != WEIR_OK) fail_msg("%s", weir_last_error());
  expect(image, ".version");
  return image;
}

static void refuse(const char *name, const char *ptx, const char *part) {
  const char *at = strstr(ptx, part);
  if (at != NULL) fail_msg("%s: '%s' in the PTX: %.80s", name, part, at);
}

// What the functions must not do: be launched, wait for the whole block, read as if nobody wrote. And the variables. `buffers`:
// there are pointers to buffers, known to be to global memory.
static void check_ptx(const char *name, const char *source, bool buffers, int capability) {
  char *ptx = compile_to_ptx(name, source, capability, "-fmad=false -DWEIR__RESIDENT=12ab");
  refuse(name, ptx, ".entry");
  refuse(name, ptx, ".nc.");
  refuse(name, ptx, "tex.");
  refuse(name, ptx, "bar.sync");
  refuse(name, ptx, "barrier.sync \t0");
  if (buffers) expect(ptx, "ld.global.");
  if (buffers) expect(ptx, "st.global.");
  for (int i = 0; i < KERNEL_COUNT; i++) {
    if (KERNELS[i]->source != source) continue;
    char text[128];
    snprintf(text, sizeof text, ".visible .global .align 8 .u64 weir__resident_pointer_12ab_%s = ", KERNELS[i]->name);
    expect(ptx, text);
  }
  weir__free(ptx);
}

static void test_ptx(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    check_ptx("forms", forms_kernels_source, true, capabilities[i]);
    check_ptx("layers", layers_kernels_source, true, capabilities[i]);
    check_ptx("own", own_kernels_source, true, capabilities[i]);
    check_ptx("odd", odd_kernels_source, true, capabilities[i]);
    check_ptx("motion", motion_kernels_source, true, capabilities[i]);
    check_ptx("endless", endless_kernels_source, true, capabilities[i]);
    check_ptx("operators", operators_kernels_source, true, capabilities[i]);
    check_ptx("program_bodies", program_bodies_kernels_source, false, capabilities[i]);
  }
}

// The launched form does read like that: the test can fail.
static void test_launched_ptx(void **state) {
  (void)state;
  char *ptx = compile_to_ptx("forms", forms_kernels_source, 90, "-fmad=false");
  expect(ptx, "ld.global.nc.");
  expect(ptx, ".entry axpy(");
  refuse("forms", ptx, "weir__resident");
  weir__free(ptx);
}

#endif // WEIR_PLAIN_TESTS

// Loads from global memory in a cubin for 9.0: instructions of 16 bytes, whose first 12 bits are those of LDG; bit 79 is set
// in those that do not see other blocks' writes.
static void count_loads(const char *source, const char *options, uint32_t *out_coherent, uint32_t *out_other) {
  void *image;
  size_t bytes;
  if (weir__nvrtc_compile("loads", source, options, 90, &image, &bytes) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_true(weir__cubin_check(image, bytes));
  const Elf64_Ehdr *header = image;
  const Elf64_Shdr *sections = (const void *)((const char *)image + header->e_shoff);
  *out_coherent = *out_other = 0;
  for (uint32_t i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_PROGBITS || (sections[i].sh_flags & SHF_EXECINSTR) == 0) continue;
    for (uint64_t at = 0; at + 16 <= sections[i].sh_size; at += 16) {
      uint64_t halves[2];
      memcpy(halves, (const char *)image + sections[i].sh_offset + at, sizeof halves);
      if ((halves[0] & 0xfff) != 0x981 && (halves[0] & 0xfff) != 0x381) continue;
      *(halves[1] >> 15 & 1 ? out_other : out_coherent) += 1;
    }
  }
  weir__free(image);
}

// The same in machine code, which the launched form shows to be understood.
static void test_loads(void **state) {
  (void)state;
  const char *const sources[] = {forms_kernels_source, layers_kernels_source, own_kernels_source, motion_kernels_source,
                                 operators_kernels_source};
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    uint32_t coherent, other;
    count_loads(sources[i], "-fmad=false", &coherent, &other);
    assert_true(other > 0);
    count_loads(sources[i], "-fmad=false -rdc=true -maxrregcount=64 -DWEIR__RESIDENT=12ab", &coherent, &other);
    assert_true(coherent > 0);
    assert_int_equal(other, 0);
  }
}

#ifdef WEIR_PLAIN_TESTS

// The named barrier counts whole warps of the work-group's.
static void test_barriers(void **state) {
  (void)state;
  char *ptx = compile_to_ptx("odd", odd_kernels_source, 90, "-DWEIR__RESIDENT=12ab");
  const char *rounds_function = strstr(ptx, "12ab_roundsEPK");
  assert_non_null(rounds_function);
  expect(ptx, "barrier.sync \t1, 64;"); // 33 work-items
  expect(ptx, "barrier.sync \t1, 32;"); // 1
  weir__free(ptx);
}

static void test_resident_kernel(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    char *ptx = compile_to_ptx("weir__resident", weir__resident_source, capabilities[i], "");
    expect(ptx, ".entry weir__resident(");
    expect(ptx, "trap;"); // where the host aborts
    refuse("weir__resident", ptx, ".nc.");
    weir__free(ptx);
  }
}

#endif // WEIR_PLAIN_TESTS

static weir__resident_part *compile_part(const char *source, const char *kernel, uint32_t threads) {
  const weir_cuda_code code = {.source = source, .options = "-fmad=false", .groups = true};
  const weir_cuda_launch launch = {.function = kernel, .block = {threads, 1, 1}};
  weir__resident_part *part;
  if (weir__resident_compile(&device, kernel, &code, &launch, false, &part, reason, sizeof reason) != WEIR_OK)
    fail_msg("%s", weir_last_error());
  return part;
}

static void test_parts(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    fake_reset(&device, capabilities[i]);
    weir__resident_part *part = compile_part(odd_kernels_source, "rounds", 33);
    assert_non_null(part);
    assert_true(part->image->known);
    assert_int_equal(part->image->shared_bytes, 16 + 144); // of `single` and of `rounds`, in whole 16 bytes
    assert_null(compile_part(odd_kernels_source, "wide", 32));
    expect(reason, "its arguments take more than 96 bytes");
    assert_null(compile_part(odd_kernels_source, "nobody", 32));
    expect(reason, "its source has no WEIR_KERNEL(nobody, ...)");
    weir__resident_part_release(part);
    // A source that does not use weir/kernel.h; and one that does not compile.
    assert_null(compile_part("extern \"C\" __global__ void plain(int *x) { *x = 1; }", "plain", 32));
    expect(reason, "its source has no WEIR_KERNEL(plain, ...)");
    assert_null(compile_part("int99_t a;", "a", 32));
    expect(reason, "kernel 'a' does not compile");
    expect(reason, "int99_t");
  }
}

// Kernels of a source with much local memory are compiled one by one: none has that of the others.
static void test_one_by_one(void **state) {
  (void)state;
  fake_reset(&device, 90);
  const weir_kernel_code *const kernels[] = {&own_gemm, &own_trsm, &own_potrf};
  const uint64_t bytes[] = {16384, 24832, 41216};
  weir__resident_part *parts[3];
  for (int i = 0; i < 3; i++) {
    parts[i] = compile_part(own_kernels_source, kernels[i]->name, 256);
    assert_non_null(parts[i]);
    assert_int_equal(parts[i]->image->shared_bytes, bytes[i]);
    for (int j = 0; j < 3; j++) {
      char name[128];
      snprintf(name, sizeof name, "%.*s%s", (int)strlen("weir__resident_pointer_") + 33, parts[i]->pointer,
               kernels[j]->name);
      assert_int_equal(weir__cubin_find(parts[i]->image->data, name), i == j ? WEIR__CUBIN_SET : WEIR__CUBIN_ZERO);
    }
  }
  for (int i = 0; i < 3; i++) weir__resident_part_release(parts[i]);
  fake.shared_bytes = 1024 + 41215;
  assert_null(compile_part(own_kernels_source, "own_potrf", 256));
  expect(reason, "it has 41216 bytes of local memory, a worker 41215");
}

static void test_too_much_local_memory(void **state) {
  (void)state;
  fake_reset(&device, 90);
  fake.shared_bytes = 1024 + 159;
  assert_null(compile_part(odd_kernels_source, "rounds", 33));
  expect(reason, "160 bytes of local memory");
  fake.shared_bytes = 1024 + 160;
  weir__resident_part *part = compile_part(odd_kernels_source, "rounds", 33);
  assert_non_null(part);
  weir__resident_part_release(part);
}

// A device that is newer than the compiler: PTX, of which nothing is known. It is kept on disk, like all that is compiled.
static void test_newer_device(void **state) {
  (void)state;
  char path[PATH_MAX];
  size_t files = scratch_files(path);
  fake_reset(&device, 999);
  weir__resident_part *part = compile_part(odd_kernels_source, "rounds", 33);
  assert_non_null(part);
  assert_false(part->image->known);
  expect(part->image->data, ".version");
  assert_int_equal(scratch_files(path), files + 2); // the kernel's and the resident kernel's
  weir__resident_part_release(part);
}

// Files that are cut or damaged are not read out of their bounds, and say nothing.
static void test_damaged(void **state) {
  (void)state;
  fake_reset(&device, 90);
  weir__resident_part *part = compile_part(odd_kernels_source, "rounds", 33);
  assert_non_null(part);
  size_t bytes = part->image->bytes;
  assert_true(weir__cubin_check(part->image->data, bytes));
  for (size_t cut = 0; cut < bytes; cut += 1 + cut / 16) {
    char *copy = weir__allocate(cut + 1);
    assert_non_null(copy);
    memcpy(copy, part->image->data, cut);
    (void)weir__cubin_check(copy, cut);
    weir__free(copy);
  }
  for (size_t at = 0; at < bytes; at += 1 + at / 64) {
    char *copy = weir__allocate(bytes);
    assert_non_null(copy);
    memcpy(copy, part->image->data, bytes);
    copy[at] = (char)(copy[at] ^ 0x55);
    if (weir__cubin_check(copy, bytes)) {
      (void)weir__cubin_shared_bytes(copy);
      (void)weir__cubin_find(copy, "weir__resident_pointer_12ab_rounds");
    }
    weir__free(copy);
  }
  weir__resident_part_release(part);
}

int main(void) {
  find_capabilities(capabilities, reason, sizeof reason);
  if (capabilities[0] == 0) {
    printf("skipped: %s\n", reason);
    return 77;
  }
  scratch_create();
  const struct CMUnitTest tests[] = {
#ifdef WEIR_PLAIN_TESTS
      cmocka_unit_test(test_ptx),          cmocka_unit_test(test_launched_ptx),
      cmocka_unit_test(test_barriers),     cmocka_unit_test(test_resident_kernel),
#endif
      cmocka_unit_test(test_loads),        cmocka_unit_test(test_parts),
      cmocka_unit_test(test_one_by_one),   cmocka_unit_test(test_too_much_local_memory),
      cmocka_unit_test(test_newer_device), cmocka_unit_test(test_damaged),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scratch_remove();
  return failed;
}
