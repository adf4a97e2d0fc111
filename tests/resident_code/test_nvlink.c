// SPDX-License-Identifier: Apache-2.0
//
// What NVRTC compiled is linked by the toolkit's own linker in the driver's place: all symbols are found and unique, and what
// the resident kernel then needs is what was meant.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cuda/resident/cubin.h"
#include "device/cuda/resident/part.h"
#include "fake.h"
#include "scratch.h"
#include "sources.h"

static const char *folder;
static char tool[512], said[16384]; // the linker, and what it said last
static int capabilities[2];
static weir__cuda_device device;

static void expect(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("no '%s' in '%s'", part, text);
}

// Runs a command. Returns whether it ended with 0.
static bool run(const char *command, char *out_text, size_t bytes) {
  FILE *output = popen(command, "r");
  if (output == NULL) return false;
  size_t used = fread(out_text, 1, bytes - 1, output);
  out_text[used] = 0;
  return pclose(output) == 0;
}

static bool find_tool(void) {
  static const char COMMAND[] = "for tool in nvlink \"$CUDA_HOME/bin/nvlink\" /usr/local/cuda/bin/nvlink; do"
                                "  command -v \"$tool\" && exit; done; exit 1";
  if (!run(COMMAND, tool, sizeof tool)) return false;
  tool[strcspn(tool, "\n")] = 0;
  return true;
}

static void write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static void *read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *bytes = malloc(1 << 20);
  assert_non_null(bytes);
  *out_size = fread(bytes, 1, 1 << 20, file);
  assert_in_range(*out_size, 1000, (1 << 20) - 1);
  fclose(file);
  return bytes;
}

static void *link_files(const fake_input *inputs, uint32_t count, size_t *out_bytes, char *log, size_t log_bytes) {
  char command[4096], path[256];
  int used = snprintf(command, sizeof command, "'%s' -v -arch=sm_%d -o %s/linked", tool, device.capability, folder);
  for (uint32_t i = 0; i < count; i++) {
    assert_int_equal(inputs[i].type, CU_JIT_INPUT_CUBIN);
    snprintf(path, sizeof path, "%s/%s.cubin", folder, inputs[i].name);
    write_file(path, inputs[i].data, inputs[i].bytes);
    used += snprintf(command + used, sizeof command - (size_t)used, " %s", path);
  }
  snprintf(command + used, sizeof command - (size_t)used, " 2>&1");
  bool works = run(command, said, sizeof said);
  snprintf(log, log_bytes, "%s", said);
  if (!works) return NULL;
  snprintf(path, sizeof path, "%s/linked", folder);
  return read_file(path, out_bytes);
}

// 1 stands for the address of a function.
static bool find_variable(const void *image, const char *name, uint64_t *out_value) {
  weir__cubin_variable variable = weir__cubin_find(image, name);
  *out_value = variable == WEIR__CUBIN_SET;
  return variable != WEIR__CUBIN_NONE;
}

static void reset(int capability) {
  fake_reset(&device, capability);
  fake.link = link_files;
  fake.variable = find_variable;
}

static weir__resident_part *compile_part(const weir_kernel_code *kernel, const char *options) {
  const weir_cuda_code code = {.source = kernel->source, .options = options, .groups = true};
  weir_cuda_launch launch = {.function = kernel->name};
  memcpy(launch.block, kernel->block, sizeof launch.block);
  char reason[1024];
  weir__resident_part *part;
  if (weir__resident_compile(&device, kernel->name, &code, &launch, false, &part, reason, sizeof reason) != WEIR_OK)
    fail_msg("%s", weir_last_error());
  if (part == NULL) fail_msg("kernel '%s' does not fit: %s", kernel->name, reason);
  return part;
}

// "used 62 registers, used 2 barriers, 40 stack, 10912 bytes smem"
static void read_usage(unsigned *registers, unsigned *barriers, unsigned *shared) {
  const char *used = strstr(said, "Function properties for 'weir__resident'");
  assert_non_null(used);
  used = strstr(used, "used ");
  assert_non_null(used);
  unsigned stack;
  int found =
      sscanf(used, "used %u registers, used %u barriers, %u stack, %u bytes smem", registers, barriers, &stack, shared);
  if (found != 4) fail_msg("what the linker says: %s", said);
}

// Links kernels, all of which go in.
static void check_link(const weir_kernel_code *const *kernels, uint32_t count, uint32_t threads) {
  weir__resident_part *parts[64] = {NULL};
  uint64_t shared_bytes = 0;
  for (uint32_t i = 0; i < count; i++) {
    parts[i] = compile_part(kernels[i], "-fmad=false");
    bool is_new = true;
    for (uint32_t j = 0; j < i; j++) is_new = is_new && parts[j]->image != parts[i]->image;
    if (is_new) shared_bytes += parts[i]->image->shared_bytes;
  }
  weir__resident_module module;
  if (weir__resident_link(&device, parts, count, &module) != WEIR_OK) fail_msg("%s", weir_last_error());
  for (uint32_t i = 0; i < count; i++)
    if (module.functions[i] == 0) fail_msg("kernel '%s' has no function", kernels[i]->name);
  assert_string_equal(module.left_out, "");
  assert_int_equal(module.threads, threads);
  assert_int_equal(fake.links, 1);
  unsigned registers, barriers, shared;
  read_usage(&registers, &barriers, &shared);
  assert_in_range(registers, 16, 64);
  assert_int_equal(barriers, 2);
  assert_in_range(shared, shared_bytes / 2, shared_bytes + 2048); // with what is the resident kernel's
  weir__resident_unlink(&device, &module);
  for (uint32_t i = 0; i < count; i++) weir__resident_part_release(parts[i]);
}

static void test_all_kernels(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    reset(capabilities[i]);
    check_link(KERNELS, KERNEL_COUNT, 256);
  }
}

// One source twice, compiled in two ways: all functions and tables have the same names.
static void test_same_names(void **state) {
  (void)state;
  reset(90);
  weir__resident_part *parts[] = {compile_part(&arithmetic, "-fmad=false"), compile_part(&arithmetic, "-fmad=true"),
                                  compile_part(&reduce, "-fmad=true")};
  weir__resident_module module;
  if (weir__resident_link(&device, parts, 3, &module) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(fake.inputs, 3);
  assert_int_equal(fake.links, 1);
  for (int i = 0; i < 3; i++) assert_int_equal(module.functions[i], 1);
  expect(said, "32 bytes cmem[3]"); // both tables
  weir__resident_unlink(&device, &module);
  for (int i = 0; i < 3; i++) weir__resident_part_release(parts[i]);
}

// What is more than a block may have of shared memory, the linker refuses: the rest is linked, without asking it.
static void test_too_much_shared(void **state) {
  (void)state;
  reset(90);
  fake.shared_bytes = 1024 + 8192;
  weir__resident_part *parts[] = {compile_part(&pointwise, ""), compile_part(&transpose, ""),
                                  compile_part(&rounds, "")};
  weir__resident_module module;
  if (weir__resident_link(&device, parts, 3, &module) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(fake.links, 1);
  assert_int_equal(module.functions[0], 1);
  assert_int_equal(module.functions[1], 0);
  assert_int_equal(module.functions[2], 1);
  expect(module.left_out, "kernel 'transpose' is not in the resident kernel: the local memory");
  weir__resident_unlink(&device, &module);
  // As if the limit were not known.
  reset(90);
  fake.shared_bytes = 1 << 20;
  weir__resident_part *large[] = {compile_part(&own_potrf, ""), compile_part(&own_gemm, ""), compile_part(&rounds, "")};
  if (weir__resident_link(&device, large, 3, &module) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(module.functions[0], 1);
  assert_int_equal(module.functions[1], 0);
  assert_int_equal(module.functions[2], 1);
  expect(module.left_out, "kernel 'own_gemm' is not in the resident kernel: ");
  expect(module.left_out, "too much shared data");
  weir__resident_unlink(&device, &module);
  for (int i = 0; i < 3; i++) weir__resident_part_release(parts[i]);
  for (int i = 0; i < 3; i++) weir__resident_part_release(large[i]);
}

int main(void) {
  char reason[512];
  find_capabilities(capabilities, reason, sizeof reason);
  if (capabilities[0] != 0 && !find_tool()) {
    capabilities[0] = 0;
    snprintf(reason, sizeof reason, "no nvlink, the CUDA toolkit's linker");
  }
  if (capabilities[0] == 0) {
    printf("skipped: %s\n", reason);
    return 77;
  }
  folder = scratch_create();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_kernels),
      cmocka_unit_test(test_same_names),
      cmocka_unit_test(test_too_much_shared),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scratch_remove();
  return failed;
}
