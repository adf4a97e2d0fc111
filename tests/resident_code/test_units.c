// SPDX-License-Identifier: Apache-2.0
//
// test_units [broken]: kernels in the form that the resident kernel calls give, in blocks of just enough threads and of more,
// what they give in their form for the CPU, to the bit. So do those of random programs, which are also launched. The C++ in this program is under the thread sanitizer, which ends the
// process at a race. `broken` runs a kernel that has one.
#include <stdio.h>
#include <stdlib.h>

#include "body_case.h"
#include "cases.h"
#include "layers.kernels.h"
#include "odd.kernels.h"
#include "units.h"

enum { WARP = 32 };

static void *copy_of(const void *bytes, size_t size) {
  void *copy = malloc(size);
  if (copy == NULL) abort();
  return memcpy(copy, bytes, size);
}

// Work-items of a work-group, in whole warps.
static uint32_t threads_of(const launch_case *test) {
  const uint32_t *block = test->code->block;
  return (block[0] * block[1] * block[2] + WARP - 1) / WARP * WARP;
}

static void run_on_cpu(const launch_case *test, void *const *memory) {
  weir_work work = {.args = memory, .arg_count = test->arg_count};
  memcpy(work.groups, test->groups, sizeof work.groups);
  work.end = (uint64_t)test->groups[0] * test->groups[1] * test->groups[2];
  test->code->function(&work);
}

static bool run_as_units(const launch_case *test, void *const *memory, uint32_t threads) {
  uint64_t args[8 * CASE_MAX_ARGS] = {0};
  uint64_t *word = args;
  for (uint32_t i = 0; i < test->arg_count; i++) {
    if (test->args[i].is_buffer)
      *word++ = (uintptr_t)memory[i];
    else
      memcpy(word, memory[i], test->args[i].bytes), word += (test->args[i].bytes + 7) / 8;
  }
  return unit_run(test->code->name, args, test->groups, threads);
}

// Whether both forms give the same.
static bool same(const launch_case *test, uint32_t threads) {
  void *cpu[CASE_MAX_ARGS], *units[CASE_MAX_ARGS];
  for (uint32_t i = 0; i < test->arg_count; i++) {
    cpu[i] = copy_of(test->args[i].start, test->args[i].bytes);
    units[i] = copy_of(test->args[i].start, test->args[i].bytes);
  }
  run_on_cpu(test, cpu);
  bool right = run_as_units(test, units, threads);
  if (!right) printf("kernel %s has no function\n", test->code->name);
  for (uint32_t i = 0; i < test->arg_count; i++) {
    if (right && memcmp(cpu[i], units[i], test->args[i].bytes) != 0) {
      printf("kernel %s in blocks of %u threads: argument %u differs\n", test->code->name, threads, i);
      right = false;
    }
    free(cpu[i]);
    free(units[i]);
  }
  return right;
}

// In blocks of just enough threads, and of more.
static bool check(const launch_case *test) {
  uint32_t least = threads_of(test);
  return same(test, least) && same(test, least + 2 * WARP);
}

static bool check_forms(void) {
  bool right = true;
  for (int i = 0; i < CASE_COUNT; i++) {
    launch_case test = case_create(i);
    right = check(&test) && right;
    case_release(&test);
  }
  return right;
}

// A case of the caller's; its contents are numbers that are all different.
static launch_case make(const weir_kernel_code *code, uint32_t x, uint32_t y, uint32_t z) {
  return (launch_case){.code = code, .groups = {x, y, z}};
}

static void add_floats(launch_case *test, uint32_t count) {
  float *numbers = malloc(count * sizeof(float));
  if (numbers == NULL) abort();
  for (uint32_t i = 0; i < count; i++) numbers[i] = (float)(i * 7919 % 1000) / 8;
  test->args[test->arg_count++] = (case_arg){.is_buffer = true, .bytes = count * sizeof(float), .start = numbers};
}

static void add_integers(launch_case *test, uint32_t count) {
  int32_t *numbers = malloc(count * sizeof(int32_t));
  if (numbers == NULL) abort();
  for (uint32_t i = 0; i < count; i++) numbers[i] = (int32_t)(i * 7919 % 1000) - 300;
  test->args[test->arg_count++] = (case_arg){.is_buffer = true, .bytes = count * sizeof(int32_t), .start = numbers};
}

static void add_value(launch_case *test, const void *value, size_t bytes) {
  test->args[test->arg_count++] = (case_arg){.bytes = bytes, .start = copy_of(value, bytes)};
}

static void add_int(launch_case *test, int32_t value) {
  add_value(test, &value, sizeof value);
}

static bool check_and_release(launch_case *test) {
  bool right = check(test);
  case_release(test);
  return right;
}

static bool check_layers(void) {
  enum { SIZE = 10, PIXELS = SIZE * SIZE, CHANNELS = 64 };
  launch_case test = make(&depthwise, 1, 2, 4);
  add_floats(&test, 4 * PIXELS);
  add_floats(&test, 4 * 9);
  add_floats(&test, 4 * PIXELS);
  add_int(&test, SIZE);
  bool right = check_and_release(&test);
  test = make(&pointwise, (PIXELS + 31) / 32, CHANNELS / 32, 1);
  add_floats(&test, CHANNELS * PIXELS);
  add_floats(&test, CHANNELS * CHANNELS);
  add_floats(&test, 2 * CHANNELS);
  add_floats(&test, CHANNELS * PIXELS);
  add_int(&test, PIXELS);
  add_int(&test, CHANNELS);
  add_int(&test, CHANNELS);
  right = check_and_release(&test) && right;
  test = make(&average, 3, 1, 1);
  add_floats(&test, 3 * 300);
  add_floats(&test, 3);
  add_int(&test, 300);
  right = check_and_release(&test) && right;
  test = make(&gate, 1, 1, 1);
  add_floats(&test, CHANNELS);
  add_floats(&test, 6 * CHANNELS);
  add_floats(&test, 6);
  add_int(&test, CHANNELS);
  add_int(&test, 6);
  return check_and_release(&test) && right;
}

static bool check_odd(void) {
  launch_case test = make(&single, 7, 1, 1);
  add_integers(&test, 7);
  add_int(&test, 1000);
  bool right = check_and_release(&test);
  test = make(&rounds, 5, 1, 1);
  add_integers(&test, 5 * 33);
  add_integers(&test, 5 * 33);
  add_int(&test, 9);
  right = check_and_release(&test) && right;
  const int16_t shift = 77;
  const int8_t last = -2;
  const struct {
    int32_t low, high;
    float scale[3];
  } of = {-2000, 3000, {2, 5, 11}};
  test = make(&limit, 2, 3, 2);
  add_value(&test, &shift, sizeof shift);
  add_value(&test, &of, sizeof of);
  add_integers(&test, 2 * 3 * 2 * 30);
  add_value(&test, &last, sizeof last);
  add_integers(&test, 2 * 3 * 2 * 30);
  return check_and_release(&test) && right;
}

// A kernel whose arguments do not fit has no function.
static bool check_wide(void) {
  const uint64_t args[12] = {0};
  const uint32_t groups[3] = {1, 1, 1};
  if (!unit_run("wide", args, groups, WARP)) return true;
  printf("kernel wide has a function\n");
  return false;
}

static void run_body(uint32_t arg_count, const body_packed *packed, const uint64_t *words, const uint32_t groups[3]) {
  enum { PACKED_WORDS = sizeof(body_packed) / sizeof(uint64_t) };
  char name[8];
  snprintf(name, sizeof name, "body%u", arg_count % 10);
  uint64_t args[PACKED_WORDS + BODY_MAX_ARGS];
  memcpy(args, packed, sizeof *packed);
  memcpy(args + PACKED_WORDS, words, arg_count * sizeof *words);
  if (!unit_run(name, args, groups, WARP)) abort();
}

static bool check_bodies(void) {
  for (uint32_t count = 0; count <= BODY_MAX_ARGS; count++) {
    for (uint64_t seed = 1; seed <= 5; seed++) {
      if (body_case_same(seed, count, run_body) && body_case_same(seed, count, launched_run)) continue;
      printf("kernel body%u, seed %u: not what its code gives\n", count, (unsigned)seed);
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "broken") == 0) {
    int32_t data[64] = {0};
    const uint64_t args[1] = {(uintptr_t)data};
    const uint32_t groups[3] = {1, 1, 1};
    unit_run("broken", args, groups, 64);
    return 0;
  }
  bool right = check_forms();
  right = check_layers() && right;
  right = check_odd() && right;
  right = check_wide() && right;
  right = check_bodies() && right;
  if (right) printf("the same, and no races\n");
  return right ? 0 : 1;
}
