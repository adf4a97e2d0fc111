// SPDX-License-Identifier: Apache-2.0
//
// The code of random programs compiles as CUDA C++, as a card would get it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/nvrtc.h"

extern const char program_code_text[];

static void compiles(void **state) {
  (void)state;
  assert_null(strstr(program_code_text, "include")); // or the compiler's cache would not keep it
  for (int capability = 80; capability <= 90; capability += 10) {
    void *image = NULL;
    size_t bytes = 0;
    weir_status status = weir__nvrtc_compile("random", program_code_text, NULL, capability, &image, &bytes);
    if (status != WEIR_OK) fail_msg("%s", weir_last_error());
    assert_true(bytes > 0);
    weir__free(image);
  }
}

int main(void) {
  char reason[256];
  if (weir__nvrtc_load(reason, sizeof reason) == NULL) {
    printf("skipped: %s\n", reason);
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(compiles)};
  return cmocka_run_group_tests_name("random programs as CUDA C++", tests, NULL, NULL);
}
