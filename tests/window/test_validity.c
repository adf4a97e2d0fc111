// SPDX-License-Identifier: Apache-2.0
//
// Which spaces have which bytes: against a byte-by-byte model.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"
#include "window/buffer.h"

enum { BYTES = 64, SPACES = 4, ALL = (1 << SPACES) - 1 };

static weir__validity_pool pool;
static weir_buffer buffer;
static uint16_t model[4 * WEIR__MAX_PARTS];

static int set_up(void **state) {
  (void)state;
  pool = (weir__validity_pool){0};
  buffer = (weir_buffer){.bytes = BYTES};
  for (size_t i = 0; i < sizeof model / sizeof model[0]; i++) model[i] = 0;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  if (buffer.parts != NULL) weir__validity_give(buffer.parts);
  weir__validity_pool_deinitialize(&pool);
  return 0;
}

// The parts are those of the model, neighbours differ, and what is the same everywhere has none.
static void expect_model(void) {
  uint16_t all = 0;
  uint32_t parts = 0;
  uint64_t end = 0;
  for (uint64_t at = 0; at < buffer.bytes; at++) {
    if (at == end) {
      assert_int_equal(weir__buffer_spaces(&buffer, at, &end), model[at]);
      parts++;
      if (at > 0) assert_int_not_equal(model[at], model[at - 1]);
    }
    assert_int_equal(model[at], model[end - 1]);
    all |= model[at];
  }
  assert_int_equal(end, buffer.bytes);
  assert_int_equal(buffer.valid, all);
  assert_int_equal(parts, buffer.parts == NULL ? 1 : buffer.parts->count);
  assert_true(buffer.parts == NULL || parts > 1);
}

static bool change(uint64_t lo, uint64_t hi, uint16_t keep, uint16_t add) {
  assert_true(weir__validity_reserve(&pool, 1));
  if (!weir__buffer_change_valid(&buffer, &pool, lo, hi, keep, add)) return false;
  bool undefined = model[0] == 0;
  for (uint64_t i = undefined ? 0 : lo; i < (undefined ? buffer.bytes : hi); i++) {
    uint16_t spaces = (uint16_t)((model[i] & keep) | add);
    if (spaces != 0) model[i] = spaces;
  }
  return true;
}

static void random_changes_equal_the_model(void **state) {
  (void)state;
  random_state random = {7};
  for (int step = 0; step < 20000; step++) {
    uint32_t lo = random_below(&random, BYTES), hi = random_between(&random, lo + 1, BYTES);
    if (random_chance(&random, 10)) {
      lo = 0;
      hi = BYTES;
    }
    uint16_t space = (uint16_t)(1 << random_below(&random, SPACES));
    switch (random_below(&random, 3)) {
    case 0: // a write
      assert_true(change(lo, hi, 0, space));
      break;
    case 1: // a transfer
      assert_true(change(lo, hi, UINT16_MAX, space));
      break;
    default: // a transfer that failed
      assert_true(change(lo, hi, (uint16_t)~space, 0));
    }
    expect_model();
    lo = random_below(&random, BYTES);
    hi = random_between(&random, lo + 1, BYTES);
    uint16_t common = ALL;
    for (uint64_t i = lo; i < hi; i++) common &= model[i];
    assert_int_equal(weir__buffer_common_spaces(&buffer, lo, hi), common);
  }
}

static void too_many_parts_change_nothing(void **state) {
  (void)state;
  buffer.bytes = 2 * WEIR__MAX_PARTS;
  assert_true(change(0, buffer.bytes, 0, 1));
  uint64_t at = 1;
  while (change(at, at + 1, 0, 2)) {
    expect_model();
    at += 2;
  }
  expect_model();
  assert_true(buffer.parts->count + 2 > WEIR__MAX_PARTS);
  assert_true(change(at - 2, at - 1, 0, 4)); // no more parts than before
  expect_model();
  assert_true(change(0, buffer.bytes, 0, 8));
  expect_model();
  assert_null(buffer.parts);
}

static void without_memory_nothing_changes(void **state) {
  (void)state;
  assert_true(change(0, BYTES, 0, 1));
  weir__validity_pool empty = {0};
  assert_false(weir__buffer_change_valid(&buffer, &empty, 3, 5, 0, 2));
  expect_model();
  assert_true(weir__buffer_change_valid(&buffer, &empty, 3, 5, UINT16_MAX, 1));
  assert_true(weir__buffer_change_valid(&buffer, &empty, 0, BYTES, 0, 2));
  assert_int_equal(buffer.valid, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(random_changes_equal_the_model, set_up, tear_down),
      cmocka_unit_test_setup_teardown(too_many_parts_change_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(without_memory_nothing_changes, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
