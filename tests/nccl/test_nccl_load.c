// SPDX-License-Identifier: Apache-2.0
//
// NCCL where there is none, or something else in its place: the reason is in the text, and a later attempt may find it.
#include <stdlib.h>

#include "nccl_case.h"

// Once it is loaded it stays: so this is done once in the process, with whichever context comes first.
static void look_for_library(share *s) {
  static bool looked;
  weir_nccl *nccl;
  if (looked) return;
  looked = true;
  nccl_stub_reset();
  setenv("WEIR_NCCL", "/nowhere/libnccl.so.2", 1);
  share_refused(weir_nccl_create(s->context, NULL, &nccl), WEIR_ERROR_UNAVAILABLE, "no NCCL: /nowhere/libnccl.so.2");
  setenv("WEIR_NCCL", EMPTY_LIBRARY, 1);
  share_refused(weir_nccl_create(s->context, NULL, &nccl), WEIR_ERROR_UNAVAILABLE, "NCCL lacks ncclGetVersion");
  setenv("WEIR_NCCL", NCCL_STUB, 1);
  nccl_stub_fail_nth("ncclGetVersion", 1, 2);
  share_refused(weir_nccl_create(s->context, NULL, &nccl), WEIR_ERROR_UNAVAILABLE, "does not tell its version");
  share_ok(weir_nccl_create(s->context, NULL, &nccl));
  share_ok(weir_nccl_release(nccl));
}

static void test_load(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cpu:1,cuda:0,cuda:1", .issue = WEIR_ISSUE_RESIDENT},
                 look_for_library);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_load)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
