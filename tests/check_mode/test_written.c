// SPDX-License-Identifier: Apache-2.0
//
// The set of written ranges against one flag for each byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "base/random.h"
#include "engine/written.h"

enum { BYTES = 200, ROUNDS = 300 };

static void compare(const weir_buffer *buffer, const bool *flags, uint64_t lo, uint64_t hi) {
  uint64_t first = lo, end;
  while (first < hi && flags[first]) first++;
  for (end = first; end < hi && !flags[end];) end++;
  uint64_t found_lo, found_hi;
  bool found = weir__written_gap(buffer, lo, hi, &found_lo, &found_hi);
  assert_int_equal(found, first < hi);
  if (!found) return;
  assert_int_equal(found_lo, first);
  assert_int_equal(found_hi, end);
}

static void test_random_ranges(void **state) {
  (void)state;
  weir__random random = {.state = 77};
  for (int round = 0; round < ROUNDS; round++) {
    weir_buffer buffer = {.bytes = BYTES};
    bool flags[BYTES] = {false};
    for (int i = 0; i < 40; i++) {
      uint64_t lo = weir__random_next(&random) % BYTES, hi = lo + 1 + weir__random_next(&random) % 12;
      if (hi > BYTES) hi = BYTES;
      weir__written_add(&buffer, lo, hi);
      memset(flags + lo, true, hi - lo);
      lo = weir__random_next(&random) % BYTES;
      hi = lo + 1 + weir__random_next(&random) % (BYTES - lo);
      compare(&buffer, flags, lo, hi);
    }
    weir__free(buffer.written);
  }
}

static void test_no_memory(void **state) {
  (void)state;
  weir_buffer buffer = {.bytes = BYTES};
  uint64_t lo, hi;
  for (uint64_t i = 0; i < 4; i++) weir__written_add(&buffer, 10 * i, 10 * i + 1);
  weir__allocate_fail_at(1);
  weir__written_add(&buffer, 100, 101);
  weir__allocate_fail_at(0);
  assert_false(weir__written_gap(&buffer, 0, BYTES, &lo, &hi)); // nothing is reported by mistake
  weir__free(buffer.written);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_ranges), cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests_name("check_mode_written", tests, NULL, NULL);
}
