// SPDX-License-Identifier: Apache-2.0
//
// What is known of pinned memory: ranges that come and go, in several threads.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/pinned.h"
#include "random.h"

enum { RANGES = 200, BYTES = 64, GAP = 16, STEP = BYTES + GAP, ROUNDS = 2000 };

static char memory[RANGES * STEP];
static weir__cuda_device one, other;

static const void *at(uint32_t range, uint64_t offset) {
  return memory + range * STEP + offset;
}

static bool known(uint32_t range) {
  return weir__cuda_pinned_covers(at(range, 0), BYTES);
}

static void test_ranges(void **state) {
  (void)state;
  assert_false(known(0));
  for (uint32_t i = 0; i < RANGES; i++) weir__cuda_pinned_add(&one, at(i * 77 % RANGES, 0), BYTES);
  for (uint32_t i = 0; i < RANGES; i++) {
    assert_true(known(i));
    assert_true(weir__cuda_pinned_covers(at(i, 10), BYTES - 10));
    assert_true(weir__cuda_pinned_covers(at(i, BYTES - 1), 1));
    assert_false(weir__cuda_pinned_covers(at(i, 10), BYTES - 9));
    assert_false(weir__cuda_pinned_covers(at(i, BYTES), 1));
    assert_false(weir__cuda_pinned_covers(at(i, 0), UINT64_MAX));
  }
  for (uint32_t i = 0; i < RANGES; i += 2) weir__cuda_pinned_remove(at(i, 0));
  weir__cuda_pinned_remove(at(1, 8)); // nothing begins there
  for (uint32_t i = 0; i < RANGES; i++) assert_int_equal(known(i), i % 2);
  weir__cuda_pinned_forget(&one);
  for (uint32_t i = 0; i < RANGES; i++) assert_false(known(i));
}

static void test_devices(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 9; i++) weir__cuda_pinned_add(i % 3 == 0 ? &one : &other, at(i, 0), BYTES);
  weir__cuda_pinned_forget(&one);
  for (uint32_t i = 0; i < 9; i++) assert_int_equal(known(i), i % 3 != 0);
  weir__cuda_pinned_forget(&other);
  for (uint32_t i = 0; i < 9; i++) assert_false(known(i));
}

// In any order, with a model: which ranges are there, and of which device.
static void test_random(void **state) {
  (void)state;
  enum { MOST = 3000, TURNS = 20000 };
  static uint8_t model[MOST]; // 0: not there
  const char *base = (const char *)(uintptr_t)0x20000000;
  random_state random = {3};
  for (uint32_t i = 0; i < TURNS; i++) {
    // Upwards, downwards, and anywhere.
    uint32_t range = i % 3 == 0 ? i / 3 % MOST : i % 3 == 1 ? MOST - 1 - i / 3 % MOST : random_below(&random, MOST);
    const char *address = base + (uint64_t)range * STEP;
    assert_int_equal(weir__cuda_pinned_covers(address, BYTES), model[range] != 0);
    if (model[range] != 0) {
      weir__cuda_pinned_remove(address);
      model[range] = 0;
    } else {
      model[range] = (uint8_t)(1 + random_below(&random, 2));
      weir__cuda_pinned_add(model[range] == 1 ? &one : &other, address, BYTES);
    }
    if (i % (TURNS / 4) != TURNS / 4 - 1) continue;
    weir__cuda_pinned_forget(&other);
    for (uint32_t k = 0; k < MOST; k++) {
      if (model[k] == 2) model[k] = 0;
      assert_int_equal(weir__cuda_pinned_covers(base + (uint64_t)k * STEP, BYTES), model[k] != 0);
      assert_false(weir__cuda_pinned_covers(base + (uint64_t)k * STEP + BYTES, 1));
    }
  }
  weir__cuda_pinned_forget(&one);
  for (uint32_t k = 0; k < MOST; k++) assert_false(weir__cuda_pinned_covers(base + (uint64_t)k * STEP, BYTES));
}

// A thread's range is known while it is there, whatever others do, and not after.
static void *come_and_go(void *argument) {
  uint32_t range = (uint32_t)(uintptr_t)argument;
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    weir__cuda_pinned_add(&one, at(range, 0), BYTES);
    if (!known(range) || !known(range)) wrong++;
    weir__cuda_pinned_remove(at(range, 0));
    if (known(range)) wrong++;
  }
  return (void *)(uintptr_t)wrong;
}

static void test_threads(void **state) {
  (void)state;
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, (void *)i), 0);
  for (int i = 0; i < 3; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
}

// Ranges that stay are known at any time, and the gaps between them never, while ranges before them come and go.
static void *look(void *argument) {
  uint32_t wrong = 0;
  (void)argument;
  for (uint32_t i = 0; i < 20 * ROUNDS; i++) {
    uint32_t range = RANGES / 2 + i % (RANGES / 2);
    if (!known(range) || weir__cuda_pinned_covers(at(range, BYTES), 1)) wrong++;
    if (weir__cuda_pinned_covers(at(range, 1), BYTES)) wrong++;
  }
  return (void *)(uintptr_t)wrong;
}

static void test_readers(void **state) {
  (void)state;
  pthread_t threads[4];
  for (uint32_t i = RANGES / 2; i < RANGES; i++) weir__cuda_pinned_add(&other, at(i, 0), BYTES);
  for (uintptr_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? look : come_and_go, (void *)i), 0);
  for (int i = 0; i < 4; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  weir__cuda_pinned_forget(&other);
}

// The table grows, twice at least, while others look.
static void test_growth(void **state) {
  (void)state;
  enum { MORE = 5000 };
  const char *base = (const char *)(uintptr_t)0x10000000;
  pthread_t threads[2];
  for (uint32_t i = RANGES / 2; i < RANGES; i++) weir__cuda_pinned_add(&other, at(i, 0), BYTES);
  for (uintptr_t i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, look, NULL), 0);
  for (uint32_t i = 0; i < MORE; i++) weir__cuda_pinned_add(&one, base + (uint64_t)(i * 77 % MORE) * STEP, BYTES);
  for (int i = 0; i < 2; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  for (uint32_t i = 0; i < MORE; i++) assert_true(weir__cuda_pinned_covers(base + (uint64_t)i * STEP, BYTES));
  weir__cuda_pinned_forget(&one);
  weir__cuda_pinned_forget(&other);
}

// All of many ranges are known. There was room for 16,384, and of others the driver was asked each time.
// One thread, many calls: not under the thread sanitizer.
#ifndef __SANITIZE_THREAD__
static void test_many(void **state) {
  (void)state;
  const char *base = (const char *)(uintptr_t)0x10000000;
  for (uint32_t i = 0; i < 40000; i++) weir__cuda_pinned_add(&one, base + (uint64_t)i * STEP, BYTES);
  for (uint32_t i = 0; i < 40000; i++) {
    assert_true(weir__cuda_pinned_covers(base + (uint64_t)i * STEP, BYTES));
    assert_false(weir__cuda_pinned_covers(base + (uint64_t)i * STEP + BYTES, 1));
  }
  for (uint32_t i = 40000; i > 0; i--) weir__cuda_pinned_remove(base + (uint64_t)(i - 1) * STEP);
  for (uint32_t i = 0; i < 40000; i++) assert_false(weir__cuda_pinned_covers(base + (uint64_t)i * STEP, BYTES));
}
#endif

// Without memory a range is not known, which says nothing, and the others stay.
static void test_no_memory(void **state) {
  (void)state;
  const char *base = (const char *)(uintptr_t)0x10000000;
  uint32_t count = 0;
  for (bool known_all = true; known_all && count < 1 << 20; count++) {
    weir__allocate_fail_at(1);
    weir__cuda_pinned_add(&one, base + (uint64_t)count * STEP, BYTES);
    weir__allocate_fail_at(0);
    known_all = weir__cuda_pinned_covers(base + (uint64_t)count * STEP, BYTES);
  }
  assert_true(count > 1);
  for (uint32_t i = 0; i + 1 < count; i++) assert_true(weir__cuda_pinned_covers(base + (uint64_t)i * STEP, BYTES));
  weir__cuda_pinned_forget(&one);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ranges),  cmocka_unit_test(test_devices), cmocka_unit_test(test_random),
      cmocka_unit_test(test_threads), cmocka_unit_test(test_readers), cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_growth),
#ifndef __SANITIZE_THREAD__
      cmocka_unit_test(test_many),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
