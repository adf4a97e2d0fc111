// SPDX-License-Identifier: Apache-2.0
//
// The kernels of weir-bench-wait, compiled by NVRTC, which needs no card: as launches, and the task as a function of
// the resident kernel.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "answer.kernels.h"
#include "base/allocate.h"
#include "device/cuda/nvrtc.h"
#include "scratch.h"
#include "task.kernels.h"

static int least = 1000;

// To PTX, which the caller frees, or to code for a capability.
static char *compile(const char *source, const char *options, int capability, bool to_ptx) {
  char all[128];
  void *image;
  size_t bytes;
  snprintf(all, sizeof all, "%s%s", options, to_ptx ? " -arch=compute_90" : "");
  if (weir__nvrtc_compile("wait", source, all, capability, &image, &bytes) != WEIR_OK)
    fail_msg("%s for %d: %s", options, capability, weir_last_error());
  return image;
}

static void test_compiles(void **state) {
  (void)state;
  static const char *const forms[] = {"", "-fmad=false", "-fmad=false -rdc=true -DWEIR__RESIDENT=12ab"};
  for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
    weir__free(compile(task_kernels_source, forms[form], 90, false));
    weir__free(compile(task_kernels_source, forms[form], least, false));
  }
  weir__free(compile(answer_kernels_source, "", 90, false));
  weir__free(compile(answer_kernels_source, "", least, false));
}

static const char *last(const char *text, const char *sought) {
  const char *found = NULL;
  for (const char *at = text; (at = strstr(at, sought)) != NULL; at++) found = at;
  return found;
}

// The time is the last that the task writes, and nothing is read of the clock behind it.
static void test_writes_the_time_last(void **state) {
  (void)state;
  char *ptx = compile(task_kernels_source, "", 90, true);
  assert_non_null(strstr(ptx, ".entry wait_task("));
  const char *write = last(ptx, "st.relaxed.sys.global.u64"), *clock = last(ptx, "%globaltimer");
  assert_non_null(write);
  assert_non_null(clock);
  assert_true(clock < write);
  assert_true(write == last(ptx, "st."));
  weir__free(ptx);
}

static void test_answers(void **state) {
  (void)state;
  char *ptx = compile(answer_kernels_source, "", 90, true);
  for (int i = 0; i < 2; i++)
    if (strstr(ptx, i == 0 ? ".entry wait_steps(" : ".entry wait_answer(") == NULL)
      fail_msg("no kernel %d in %s", i, ptx);
  assert_non_null(strstr(ptx, "ld.relaxed.sys.global.u64"));
  weir__free(ptx);
}

int main(void) {
  char reason[1024];
  int count = 0, known[256] = {0};
  const weir__nvrtc *nvrtc = weir__nvrtc_load(reason, sizeof reason);
  if (nvrtc == NULL) {
    printf("skipped: %s\n", reason);
    return 77;
  }
  if (nvrtc->nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS && count <= 256) nvrtc->nvrtcGetSupportedArchs(known);
  for (int i = 0; i < count; i++)
    if (known[i] >= 70 && known[i] < least) least = known[i];
  scratch_create();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_compiles), cmocka_unit_test(test_writes_the_time_last),
                                     cmocka_unit_test(test_answers)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scratch_remove();
  return failed;
}
