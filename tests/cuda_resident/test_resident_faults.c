// SPDX-License-Identifier: Apache-2.0
//
// Resident issue on the stub driver: code that does not fit or link, launches that fail, tasks that fault or do not end.
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "rig.h"

enum { NO_MEMORY = 2, NOT_SUPPORTED = 801, LOST = 719 };

static void submit_some(rig *r, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) rig_submit(r, RIG_MIX, i % RIG_BUFFERS, (i + 1) % RIG_BUFFERS, i, NULL);
}

static void assert_not_resident(rig *r, rig_kernel kernel, const char *why) {
  char reason[512];
  assert_false(weir_cuda_is_resident(r->kernels[kernel], r->device, reason, sizeof reason));
  if (strstr(reason, why) == NULL) fail_msg("'%s' does not say '%s'", reason, why);
}

static void one_is_told_what_does_not_fit(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 1, NULL);
  char reason[512] = "x";
  assert_true(weir_cuda_is_resident(r.kernels[RIG_MIX], r.device, reason, sizeof reason));
  assert_string_equal(reason, "");
  assert_true(weir_cuda_is_resident(r.kernels[RIG_MIX], r.device, NULL, 0));
  assert_not_resident(&r, RIG_PLAIN, "weir/kernel.h");
  assert_false(weir_cuda_is_resident(r.kernels[RIG_MIX], NULL, reason, sizeof reason));
  assert_false(weir_cuda_is_resident(NULL, r.device, reason, sizeof reason));
  weir_kernel *kernel = NULL;
  assert_int_equal(weir_kernel_create(r.context, "other", &kernel), WEIR_OK);
  assert_false(weir_cuda_is_resident(kernel, r.device, reason, sizeof reason));
  weir_cuda_code code = {.source = "STUB\nmix 64 8 8 4\n", .groups = true};
  weir_cuda_launch launch = {.function = "mix", .block = {32, 1, 1}, .shared_bytes = 512};
  assert_int_equal(weir_kernel_set_cuda(kernel, &code, &launch, 1), WEIR_OK);
  assert_false(weir_cuda_is_resident(kernel, r.device, reason, sizeof reason));
  assert_non_null(strstr(reason, "512 bytes of dynamic shared memory"));
  weir_cuda_launch launches[65] = {0};
  for (int i = 0; i < 65; i++) launches[i] = (weir_cuda_launch){.function = "mix", .block = {32, 1, 1}};
  assert_int_equal(weir_kernel_set_cuda(kernel, &code, launches, 65), WEIR_OK);
  assert_false(weir_cuda_is_resident(kernel, r.device, reason, sizeof reason));
  assert_non_null(strstr(reason, "65 launches"));
  assert_int_equal(weir_kernel_set_cuda(kernel, &code, launches, 64), WEIR_OK);
  assert_true(weir_cuda_is_resident(kernel, r.device, reason, sizeof reason));
  weir_kernel_release(kernel);
  rig_end(&r);

  rig_begin(&r, 1, &(weir_context_options){.issue = WEIR_ISSUE_QUEUES});
  assert_not_resident(&r, RIG_MIX, "resident issue");
  submit_some(&r, 5);
  rig_end(&r);
}

// A call of the linker's that fails once: what it was for goes to queues, or is linked at another try.
static void linking_fails_once(void **state) {
  (void)state;
  static const char *const calls[] = {"cuLinkCreate",        "cuLinkAddData",
                                      "cuLinkComplete",      "cuModuleGetGlobal",
                                      "cuModuleGetFunction", "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  for (size_t i = 0; i < 2 * sizeof calls / sizeof *calls; i++) {
    rig r;
    rig_begin(&r, i + 1, &(weir_context_options){.seed = 7}); // linked when a task comes
    stub_fail_nth(calls[i / 2], 1, i % 2 == 0 ? NOT_SUPPORTED : NO_MEMORY);
    submit_some(&r, 40);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    assert_non_null(stub_failed());
    uint64_t ran = rig_resident_tasks(&r);
    assert_true(ran == 0 || ran == 40);
    assert_int_equal(weir_cuda_is_resident(r.kernels[RIG_MIX], r.device, NULL, 0), ran == 40);
    rig_end(&r);
  }
}

// Others, that are in the resident kernel, stay there.
static void a_kernel_does_not_link(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 1, NULL);
  for (int i = 0; i < 2; i++) {
    if (i == 1) submit_some(&r, 20);
    weir_kernel *kernel = rig_make_kernel(&r, "mix", "STUB\nmix 64 8 8 4\nunlinkable 64 8\n", true);
    uint32_t value = 3;
    weir_arg args[] = {weir_updates(r.buffers[0]), weir_reads(r.buffers[1]), weir_value(&value, sizeof value)};
    weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
    assert_int_equal(weir_submit(r.context, &task, NULL), WEIR_OK);
    for (int j = 0; j < RIG_WORDS; j++) r.expected[0][j] = 3 * r.expected[0][j] + r.expected[1][j] + value;
    submit_some(&r, 20);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    char reason[512];
    assert_false(weir_cuda_is_resident(kernel, r.device, reason, sizeof reason));
    if (strstr(reason, "resident kernel") == NULL) fail_msg("%s", reason);
    weir_kernel_release(kernel);
  }
  assert_true(weir_cuda_is_resident(r.kernels[RIG_MIX], r.device, NULL, 0));
  assert_int_equal(rig_resident_tasks(&r), 60);
  rig_end(&r);
}

// What was published and has not run goes to queues, and all that follows.
static void the_kernel_cannot_be_launched(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    rig r;
    rig_begin(&r, seed, NULL);
    if (seed % 2 == 0) {
      submit_some(&r, 20);
      assert_int_equal(weir_finish(r.context), WEIR_OK);
      rig_wait_until_idle();
    }
    stub_fail_nth("cuLaunchKernel", 1, NO_MEMORY);
    submit_some(&r, 60);
    rig_submit(&r, RIG_PLAIN, 0, 1, 2, NULL);
    submit_some(&r, 60);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    assert_non_null(stub_failed());
    assert_int_equal(rig_resident_tasks(&r), seed % 2 == 0 ? 20 : 0);
    assert_not_resident(&r, RIG_MIX, "could not be launched");
    rig_end(&r);
  }
}

// Of tasks with several launches some have begun then: those fail, and what reads of them is skipped; all else is right.
static void the_kernel_cannot_be_launched_again(void **state) {
  (void)state;
  for (uint64_t seed = 3; seed <= 30; seed += 3) { // with these the kernel leaves soon
    rig r;
    weir_context_options options = {.seed = seed};
    rig_begin(&r, seed, &options);
    weir_kernel *kernel = NULL;
    weir_cuda_code code = {.source = "STUB\nmix 64 8 8 4\n", .groups = true};
    weir_cuda_launch launches[8] = {0};
    for (int i = 0; i < 8; i++) launches[i] = (weir_cuda_launch){.function = "mix", .block = {32, 1, 1}};
    assert_int_equal(weir_kernel_create(r.context, "several", &kernel), WEIR_OK);
    assert_int_equal(weir_kernel_set_cuda(kernel, &code, launches, 8), WEIR_OK);
    stub_fail_nth("cuLaunchKernel", 1 + seed / 3 % 4, NO_MEMORY);
    for (uint32_t i = 0; i < 120; i++) {
      uint32_t to = i % RIG_BUFFERS, from = (i + 1) % RIG_BUFFERS;
      weir_arg args[] = {weir_updates(r.buffers[to]), weir_reads(r.buffers[from]), weir_value(&i, sizeof i)};
      weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
      assert_int_equal(weir_submit(r.context, &task, NULL), WEIR_OK);
      for (int pass = 0; pass < 8; pass++) rig_mix(&r, to, from, i);
    }
    weir_status status = weir_finish(r.context);
    assert_true(status == WEIR_OK || (status == WEIR_ERROR_OUT_OF_MEMORY && stub_failed() != NULL));
    stub_fail_nth(NULL, 0, 0);
    if (status == WEIR_OK) rig_compare(&r);
    weir_kernel_release(kernel);
    rig_release(&r);
  }
}

static void the_launch_loses_the_device(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 1, NULL);
  stub_fail_nth("cuLaunchKernel", 1, LOST);
  submit_some(&r, 30);
  assert_int_equal(weir_finish(r.context), WEIR_ERROR_DEVICE_LOST);
  rig_release(&r);
}

static void a_task_faults(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    rig r;
    weir_context_options options = {.seed = seed % 3};
    rig_begin(&r, seed, &options);
    weir_event *bad = NULL, *later = NULL, *behind = NULL;
    submit_some(&r, 20);
    rig_submit(&r, RIG_BAD, 0, 1, 1, &bad);
    rig_submit(&r, RIG_MIX, 2, 0, 1, &later);
    rig_submit(&r, RIG_PLAIN, 3, 2, 1, &behind);
    submit_some(&r, 20);
    assert_int_equal(weir_event_wait(bad, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
    assert_true(strstr(weir_event_message(bad), "lost") != NULL);
    assert_true(strstr(weir_event_message(bad), "with 0 launches") == NULL); // itself, at least
    weir_status status = weir_event_wait(later, WEIR_FOREVER);
    assert_true(status == WEIR_ERROR_DEVICE_LOST || status == WEIR_ERROR_UPSTREAM_FAILED);
    status = weir_event_wait(behind, WEIR_FOREVER);
    assert_true(status == WEIR_ERROR_DEVICE_LOST || status == WEIR_ERROR_UPSTREAM_FAILED);
    assert_int_equal(weir_finish(r.context), WEIR_ERROR_DEVICE_LOST);
    weir_event_release(bad);
    weir_event_release(later);
    weir_event_release(behind);
    rig_release(&r);

    rig_begin(&r, seed, &options); // the next context works
    submit_some(&r, 20);
    rig_end(&r);
  }
}

static void a_task_does_not_end(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 1, NULL);
  atomic_store(&rig_gate, false);
  weir_event *event = NULL;
  rig_submit(&r, RIG_GATE, 0, 1, 1, &event);
  submit_some(&r, 20);
  rig_submit(&r, RIG_PLAIN, 0, 1, 2, NULL);
  assert_int_equal(weir_finish_for(r.context, 30000000), WEIR_TIMEOUT);
  assert_non_null(strstr(weir_last_error(), "'gate'"));
  assert_int_equal(weir_event_wait(event, 1000000), WEIR_TIMEOUT);
  atomic_store(&rig_gate, true);
  assert_int_equal(weir_finish(r.context), WEIR_OK);
  weir_event_release(event);
  rig_end(&r);
}

int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_is_told_what_does_not_fit),
      cmocka_unit_test(linking_fails_once),
      cmocka_unit_test(a_kernel_does_not_link),
      cmocka_unit_test(the_kernel_cannot_be_launched),
      cmocka_unit_test(the_kernel_cannot_be_launched_again),
      cmocka_unit_test(the_launch_loses_the_device),
      cmocka_unit_test(a_task_faults),
      cmocka_unit_test(a_task_does_not_end),
  };
  return cmocka_run_group_tests_name("resident issue: faults", tests, NULL, NULL);
}
