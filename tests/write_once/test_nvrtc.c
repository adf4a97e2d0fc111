// SPDX-License-Identifier: Apache-2.0
//
// The embedded texts of forms.c and of the examples compile with NVRTC, as they are. NVRTC needs no card.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "cases.h"
#include "forms.kernels.h"
#include "layers.kernels.h"
#include "own.kernels.h"

enum { SKIPPED = 77 };

// What is used of NVRTC's interface.
typedef struct nvrtc_program nvrtc_program;
static struct {
  int (*create)(nvrtc_program **, const char *, const char *, int, const char *const *, const char *const *);
  int (*compile)(nvrtc_program *, int, const char *const *);
  int (*log_size)(nvrtc_program *, size_t *);
  int (*log)(nvrtc_program *, char *);
  int (*ptx_size)(nvrtc_program *, size_t *);
  int (*ptx)(nvrtc_program *, char *);
  int (*cubin_size)(nvrtc_program *, size_t *);
  int (*cubin)(nvrtc_program *, char *);
  int (*destroy)(nvrtc_program **);
} nvrtc;

static void *open_library(void) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                      "/usr/local/cuda/lib64/libnvrtc.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
  }
  return NULL;
}

static bool resolve(void *library) {
  const struct {
    const char *name;
    void *function;
  } symbols[] = {
      {"nvrtcCreateProgram", &nvrtc.create},       {"nvrtcCompileProgram", &nvrtc.compile},
      {"nvrtcGetProgramLogSize", &nvrtc.log_size}, {"nvrtcGetProgramLog", &nvrtc.log},
      {"nvrtcGetPTXSize", &nvrtc.ptx_size},        {"nvrtcGetPTX", &nvrtc.ptx},
      {"nvrtcGetCUBINSize", &nvrtc.cubin_size},    {"nvrtcGetCUBIN", &nvrtc.cubin},
      {"nvrtcDestroyProgram", &nvrtc.destroy},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = dlsym(library, symbols[i].name);
    if (!symbol) return false;
    memcpy(symbols[i].function, &symbol, sizeof symbol);
  }
  return true;
}

// Compiles, and returns whether that worked. `out_log` gets the log, which the caller frees.
static bool compile(const char *source, nvrtc_program **out_program, char **out_log) {
  static const char *const options[] = {"--gpu-architecture=sm_90", "-fmad=false"};
  assert_int_equal(nvrtc.create(out_program, source, "forms", 0, NULL, NULL), 0);
  int status = nvrtc.compile(*out_program, 2, options);
  size_t bytes = 0;
  assert_int_equal(nvrtc.log_size(*out_program, &bytes), 0);
  *out_log = calloc(1, bytes + 1);
  assert_non_null(*out_log);
  assert_int_equal(nvrtc.log(*out_program, *out_log), 0);
  return status == 0;
}

static void test_compiles(void **state) {
  (void)state;
  nvrtc_program *program;
  char *log;
  if (!compile(forms_kernels_source, &program, &log)) fail_msg("NVRTC: %s", log);
  assert_string_equal(log, ""); // no warnings
  free(log);

  size_t bytes = 0;
  assert_int_equal(nvrtc.cubin_size(program, &bytes), 0);
  assert_true(bytes > 1000);
  char *cubin = malloc(bytes);
  assert_non_null(cubin);
  assert_int_equal(nvrtc.cubin(program, cubin), 0);
  assert_memory_equal(cubin, "\177ELF", 4);
  free(cubin);

  assert_int_equal(nvrtc.ptx_size(program, &bytes), 0);
  char *ptx = malloc(bytes);
  assert_non_null(ptx);
  assert_int_equal(nvrtc.ptx(program, ptx), 0);
  for (int i = 0; i < CASE_COUNT; i++) {
    launch_case test = case_create(i);
    char entry[64];
    snprintf(entry, sizeof entry, ".entry %s(", test.code->name);
    if (!strstr(ptx, entry)) fail_msg("kernel %s is not in the PTX", test.code->name);
    case_release(&test);
  }
  const char *axpy_entry = strstr(ptx, ".entry axpy(");
  assert_null(strstr(axpy_entry, "fma.rn"));        // nothing was fused,
  assert_null(strstr(axpy_entry, "bar.sync"));      // nobody waits,
  assert_non_null(strstr(axpy_entry, "st.global")); // and the axpy is the last entry
  free(ptx);
  nvrtc.destroy(&program);
}

static void test_examples_compile(void **state) {
  (void)state;
  const char *const sources[] = {layers_kernels_source, own_kernels_source};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    nvrtc_program *program;
    char *log;
    if (!compile(sources[i], &program, &log)) fail_msg("NVRTC: %s", log);
    assert_string_equal(log, "");
    free(log);
    nvrtc.destroy(&program);
  }
}

// The compiler's messages name the file and line of the kernel's source, not of what was embedded.
static void test_messages(void **state) {
  (void)state;
  size_t length = strlen(forms_kernels_source);
  char *source = malloc(length + 64);
  assert_non_null(source);
  memcpy(source, forms_kernels_source, length + 1);
  char *name = strstr(source, "indexes, 4");
  assert_non_null(name);
  char *type = strstr(name, "int32_t");
  memcpy(type, "int99_t", strlen("int99_t"));
  nvrtc_program *program;
  char *log;
  assert_false(compile(source, &program, &log));
  assert_non_null(strstr(log, "forms.c(9): error"));
  assert_non_null(strstr(log, "int99_t"));
  free(log);
  free(source);
  nvrtc.destroy(&program);
}

int main(void) {
  void *library = open_library();
  if (!library || !resolve(library)) {
    printf("NVRTC: %s\n", library ? "too old" : dlerror());
    return SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compiles),
      cmocka_unit_test(test_examples_compile),
      cmocka_unit_test(test_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
