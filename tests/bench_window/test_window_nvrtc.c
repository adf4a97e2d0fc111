// SPDX-License-Identifier: Apache-2.0
//
// The kernel of weir-bench-window, compiled by NVRTC, which needs no card.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "card.h"
#include "device/cuda/nvrtc.h"
#include "scratch.h"

static int least = 1000;
static const weir__nvrtc *nvrtc;

static void compile(int capability, int ranges, bool to_ptx) {
  char options[128];
  void *image;
  size_t bytes;
  snprintf(options, sizeof options, "-DWINDOW_RANGES=%d%s", ranges, to_ptx ? " -arch=compute_90" : "");
  if (weir__nvrtc_compile("window", window_source, options, capability, &image, &bytes) != WEIR_OK)
    fail_msg("%d ranges for %d: %s", ranges, capability, weir_last_error());
  if (to_ptx) {
    assert_non_null(strstr(image, ".entry window("));
    assert_null(strstr(image, ".local")); // the new task's ranges are in registers
  }
  weir__free(image);
}

static void test_compiles(void **state) {
  (void)state;
  for (int ranges = 2; ranges <= 8; ranges *= 2) {
    compile(90, ranges, false);
    compile(90, ranges, true);
    compile(least, ranges, false);
  }
}

int main(void) {
  char reason[1024];
  int count = 0, known[256] = {0};
  nvrtc = weir__nvrtc_load(reason, sizeof reason);
  if (nvrtc == NULL) {
    printf("skipped: %s\n", reason);
    return 77;
  }
  if (nvrtc->nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS && count <= 256) nvrtc->nvrtcGetSupportedArchs(known);
  for (int i = 0; i < count; i++)
    if (known[i] >= 70 && known[i] < least) least = known[i];
  scratch_create();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_compiles)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scratch_remove();
  return failed;
}
