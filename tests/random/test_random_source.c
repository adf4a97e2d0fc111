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
#include "program_bodies.kernels.h"
#include "program_body.h"
#include "scratch.h"

// What is compiled is kept: the text names no other files.
static void compiles_to_be_launched(void **state) {
  (void)state;
  static const char *const options[] = {NULL, "-DBODY_PLAIN"};
  size_t kept = 0;
  for (int capability = 80; capability <= 90; capability += 10) {
    for (int plain = 0; plain < 2; plain++) {
      void *image = NULL;
      size_t bytes = 0;
      weir_status status =
          weir__nvrtc_compile("random", program_bodies_kernels_source, options[plain], capability, &image, &bytes);
      if (status != WEIR_OK) fail_msg("%s", weir_last_error());
      assert_true(bytes > 0);
      weir__free(image);
      char path[PATH_MAX];
      assert_int_equal(scratch_files(path), ++kept);
    }
  }
}

// Parameters are as the arguments of tasks: the description, then 8 bytes each.
static void parameters_are_the_arguments(void **state) {
  (void)state;
  for (int plain = 0; plain < 2; plain++) {
    void *ptx;
    size_t bytes, size = plain ? sizeof(body_description) : sizeof(body_packed);
    const char *options = plain ? "-arch=compute_90 -DBODY_PLAIN" : "-arch=compute_90";
    if (weir__nvrtc_compile("random", program_bodies_kernels_source, options, 90, &ptx, &bytes) != WEIR_OK)
      fail_msg("%s", weir_last_error());
    for (int count = 0; count <= BODY_MAX_ARGS; count++) {
      char text[96];
      snprintf(text, sizeof text, ".param .align 8 .b8 body%d_param_0[%zu]", count, size);
      if (strstr(ptx, text) == NULL) fail_msg("no '%s' in the PTX", text);
      for (int argument = 1; argument <= BODY_MAX_ARGS; argument++) {
        snprintf(text, sizeof text, ".param .u64 body%d_param_%d", count, argument);
        if ((strstr(ptx, text) != NULL) != (argument <= count)) fail_msg("'%s' in the PTX", text);
      }
    }
    weir__free(ptx);
  }
}

int main(void) {
  char reason[256];
  if (weir__nvrtc_load(reason, sizeof reason) == NULL) {
    printf("skipped: %s\n", reason);
    return 77;
  }
  scratch_create();
  const struct CMUnitTest tests[] = {cmocka_unit_test(compiles_to_be_launched),
                                     cmocka_unit_test(parameters_are_the_arguments)};
  int failed = cmocka_run_group_tests_name("random programs as CUDA C++", tests, NULL, NULL);
  scratch_remove();
  return failed;
}
