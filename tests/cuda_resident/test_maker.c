// SPDX-License-Identifier: Apache-2.0
//
// When code is linked that was compiled before, and how often: with the compiler, the driver and the linker of the tests.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "device/cuda/resident/maker.h"
#include "fake.h"
#include "scratch.h"

enum { KERNELS = 14, LOOKS = 60000, FEW_LOOKS = 10000, FEW = 8 };

static weir__cuda_device device;
static atomic_uint links;                             // begun
static atomic_bool held;                              // they do not end
static atomic_bool unloads, unload_held, unload_left; // a module is being unloaded; that does not end; nobody ended it
static CUresult (*unload)(CUmodule module);

static void nap(long ms) {
  nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void *link_held(const fake_input *inputs, uint32_t count, size_t *out_bytes, char *log, size_t log_bytes) {
  (void)inputs, (void)count, (void)log, (void)log_bytes;
  atomic_fetch_add(&links, 1);
  while (atomic_load(&held)) nap(1);
  *out_bytes = 1;
  return calloc(1, 1);
}

static bool find_variable(const void *image, const char *name, uint64_t *out_value) {
  (void)image, (void)name;
  *out_value = 1;
  return true;
}

static CUresult unload_when_let(CUmodule module) {
  atomic_store(&unloads, true);
  for (int i = 0; i < FEW_LOOKS && atomic_load(&unload_held); i++) nap(1);
  if (atomic_load(&unload_held)) atomic_store(&unload_left, true);
  return unload(module);
}

static CUresult set_current(CUcontext context) {
  (void)context;
  return CUDA_SUCCESS;
}

static weir_status make_ring(weir__cuda_device *of, weir__resident **out_ring) {
  *out_ring = (weir__resident *)(void *)of; // nobody looks at it
  return WEIR_OK;
}

static weir__resident_maker *create(void) {
  weir__resident_maker *maker = weir__resident_maker_create(&device, make_ring);
  assert_non_null(maker);
  return maker;
}

static void destroy(weir__resident_maker *maker) {
  weir__resident_maker_stop(maker);
  weir__resident_maker_destroy(maker);
}

static void wish(weir__resident_maker *maker, uint32_t index) {
  char source[64], name[16];
  snprintf(name, sizeof name, "k%u", index);
  snprintf(source, sizeof source, "WEIR_KERNEL(%s,", name);
  const weir_cuda_code code = {.source = source, .groups = true};
  assert_int_equal(weir__resident_maker_wish(maker, &code, &(weir_cuda_launch){.function = name, .block = {64, 1, 1}}),
                   index + 1);
}

// The cache has all kernels, and nothing else does.
static int begin(void **state) {
  (void)state;
  fake_reset(&device, 90);
  fake.link = link_held;
  fake.variable = find_variable;
  fake.functions.cuCtxSetCurrent = set_current;
  scratch_create();
  weir__resident_maker *maker = create();
  for (uint32_t i = 0; i < KERNELS; i++) wish(maker, i);
  assert_true(weir__resident_maker_ask(maker, true));
  assert_true(weir__resident_maker_has_linked(maker));
  destroy(maker);
  atomic_store(&links, 0);
  return 0;
}

static int end(void **state) {
  (void)state;
  scratch_remove();
  assert_int_equal(fake.states, 0);
  assert_int_equal(fake.modules, 0);
  assert_int_equal(fake.streams, 0);
  return 0;
}

static void await_links(uint32_t count) {
  for (int i = 0; i < LOOKS && atomic_load(&links) < count; i++) nap(1);
  assert_int_equal(atomic_load(&links), count);
}

static void await_linked(const weir__resident_maker *maker) {
  for (int i = 0; i < LOOKS && !weir__resident_maker_has_linked(maker); i++) nap(1);
  assert_true(weir__resident_maker_has_linked(maker));
}

// Whoever asks while code is being linked, or before it was taken, asks for the same.
static void what_is_there_is_not_linked_again(void **state) {
  (void)state;
  weir__resident_maker *maker = create();
  atomic_store(&held, true);
  wish(maker, 0);
  await_links(1);
  assert_true(weir__resident_maker_ask(maker, false));
  atomic_store(&held, false);
  await_linked(maker);
  assert_true(weir__resident_maker_ask(maker, true));
  assert_int_equal(atomic_load(&links), 1);
  wish(maker, 1);
  assert_true(weir__resident_maker_ask(maker, true));
  assert_int_equal(atomic_load(&links), 2);
  destroy(maker);
}

// As in a program that makes kernels while it runs. In the end all are linked.
static void kernels_that_come_one_by_one_are_not_linked_each_time(void **state) {
  (void)state;
  weir__resident_maker *maker = create();
  for (uint32_t i = 0; i < KERNELS; i++) {
    wish(maker, i);
    nap(10);
  }
  uint32_t count = 0;
  for (int i = 0; i < LOOKS && count < KERNELS; i++) {
    nap(1);
    weir__resident_linked *linked = weir__resident_maker_take(maker);
    if (linked != NULL) count = linked->count;
    weir__resident_linked_free(&device, linked);
  }
  assert_int_equal(count, KERNELS);
  assert_in_range(atomic_load(&links), 1, FEW);
  destroy(maker);
}

// To unload a module may take as long as what runs on the card.
static void nobody_waits_while_code_that_was_not_taken_is_unloaded(void **state) {
  (void)state;
  weir__resident_maker *maker = create();
  unload = fake.functions.cuModuleUnload;
  fake.functions.cuModuleUnload = unload_when_let;
  wish(maker, 0);
  await_linked(maker);
  atomic_store(&unload_held, true);
  wish(maker, 1);
  for (int i = 0; i < LOOKS && !atomic_load(&unloads); i++) nap(1);
  assert_true(atomic_load(&unloads));
  wish(maker, 2);
  weir__resident_linked *linked = weir__resident_maker_take(maker);
  atomic_store(&unload_held, false);
  assert_false(atomic_load(&unload_left));
  assert_int_equal(linked->count, 2);
  weir__resident_linked_free(&device, linked);
  destroy(maker);
}

int main(void) {
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_is_there_is_not_linked_again, begin, end),
      cmocka_unit_test_setup_teardown(nobody_waits_while_code_that_was_not_taken_is_unloaded, begin, end),
      cmocka_unit_test_setup_teardown(kernels_that_come_one_by_one_are_not_linked_each_time, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
