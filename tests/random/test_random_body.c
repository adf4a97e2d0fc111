// SPDX-License-Identifier: Apache-2.0
//
// The kernels of random programs give what their C code gives, and nothing gets lost in a packed description.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "body_case.h"
#include "program_bodies.kernels.h"
#include "random.h"

static uint32_t below_bits(random_state *random, uint32_t bits) {
  return (uint32_t)(random_next(random) >> (64 - random_between(random, 1, bits)));
}

static void packed_descriptions_are_whole(void **state) {
  (void)state;
  random_state random = {7};
  for (int i = 0; i < 10000; i++) {
    body_description description, found;
    memset(&description, 0, sizeof description);
    memset(&found, 0, sizeof found);
    description.seed = random_next(&random);
    description.self = random_next(&random);
    description.arg_count = random_between(&random, 0, BODY_MAX_ARGS);
    description.fail_group = random_chance(&random, 50) ? PROGRAM_NO_FAILURE : below_bits(&random, 32);
    description.pause = below_bits(&random, BODY_PAUSE_BITS);
    for (uint32_t a = 0; a < description.arg_count; a++) {
      description.args[a].mode = below_bits(&random, BODY_MODE_BITS);
      description.args[a].bytes = below_bits(&random, BODY_SIZE_BITS);
    }
    body_packed packed;
    assert_true(body_pack(&description, &packed));
    body_unpack(&packed, &found);
    assert_memory_equal(&found, &description, sizeof found);
  }
}

static void what_is_too_large_is_not_packed(void **state) {
  (void)state;
  body_packed packed;
  body_description description = {.pause = 1u << BODY_PAUSE_BITS};
  assert_false(body_pack(&description, &packed));
  description.pause--;
  assert_true(body_pack(&description, &packed));
  for (uint32_t a = 0; a < BODY_MAX_ARGS; a++) {
    description.args[a].bytes = 1u << BODY_SIZE_BITS;
    assert_false(body_pack(&description, &packed));
    description.args[a].bytes--;
    assert_true(body_pack(&description, &packed));
    description.args[a].mode = 1u << BODY_MODE_BITS;
    assert_false(body_pack(&description, &packed));
    description.args[a].mode--;
    assert_true(body_pack(&description, &packed));
  }
  description.arg_count = BODY_MAX_ARGS + 1;
  assert_false(body_pack(&description, &packed));
}

static void run_on_host(uint32_t arg_count, const body_packed *packed, const uint64_t *words,
                        const uint32_t groups[3]) {
  static const weir_kernel_code *const kernels[BODY_MAX_ARGS + 1] = {&body0, &body1, &body2, &body3,
                                                                     &body4, &body5, &body6, &body7};
  body_packed description = *packed;
  uint64_t copies[BODY_MAX_ARGS];
  void *args[BODY_MAX_ARGS + 1] = {&description};
  for (uint32_t a = 0; a < arg_count; a++) {
    copies[a] = words[a];
    args[a + 1] = &copies[a];
  }
  const weir_work work = {.args = args,
                          .arg_count = arg_count + 1,
                          .groups = {groups[0], groups[1], groups[2]},
                          .end = body_group_count(groups)};
  kernels[arg_count]->function(&work);
}

static void kernels_equal_their_code(void **state) {
  (void)state;
  for (uint32_t count = 0; count <= BODY_MAX_ARGS; count++)
    for (uint64_t seed = 1; seed <= 50; seed++)
      if (!body_case_same(seed, count, run_on_host)) fail_msg("body%u, seed %u", count, (unsigned)seed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packed_descriptions_are_whole),
      cmocka_unit_test(what_is_too_large_is_not_packed),
      cmocka_unit_test(kernels_equal_their_code),
  };
  return cmocka_run_group_tests_name("kernels of random programs", tests, NULL, NULL);
}
