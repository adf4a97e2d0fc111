// SPDX-License-Identifier: Apache-2.0
//
// What src/device/cuda/api.h declares is what the vendor's header declares. The types of functions are compared when
// cuda_api_theirs.c is compiled.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_api.h"

#ifdef WEIR_HAS_CUDA_HEADER
static void test_facts(void **state) {
  (void)state;
  size_t our_count = 0, their_count = 0;
  const cuda_fact *ours = cuda_facts_ours(&our_count), *theirs = cuda_facts_theirs(&their_count);
  assert_int_equal(our_count, their_count);
  assert_int_equal(our_count, 239);
  for (size_t i = 0; i < our_count; i++) {
    assert_string_equal(ours[i].name, theirs[i].name);
    if (ours[i].value != theirs[i].value)
      fail_msg("%s: %lld, but the vendor's header has %lld", ours[i].name, ours[i].value, theirs[i].value);
  }
}

int main(void) {
  size_t count = 0;
  cuda_facts_theirs(&count);
  if (count == 0) {
    printf("skipped: cuda.h is older than CUDA 12.4\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_facts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
  printf("skipped: no cuda.h\n");
  return 77;
}
#endif
