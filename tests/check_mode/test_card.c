// SPDX-License-Identifier: Apache-2.0
//
// Check mode on a card, with the CUDA driver without one: contents stay in its memory, and calls of the driver that fail leave
// nothing behind and let every task end.
#include <string.h>

#include "planted.h"
#include "stub.h"

enum { WORDS = 300, BYTES = 4 * WORDS, LINKS = 12 };

static weir_status chain(weir_context *context, weir_kernel *kernel, uint32_t links, uint32_t *out_words) {
  weir_buffer *buffers[2] = {NULL, NULL};
  uint32_t words[WORDS];
  const planted_value value = {.kind = PLANTED_NOTHING, .words = WORDS};
  for (uint32_t i = 0; i < WORDS; i++) words[i] = i;
  weir_status status = weir_buffer_create(context, BYTES, &buffers[0]);
  if (status == WEIR_OK) status = weir_buffer_create(context, BYTES, &buffers[1]);
  if (status == WEIR_OK) status = weir_copy_in(buffers[0], 0, WEIR_WHOLE, words, NULL);
  for (uint32_t i = 0; status == WEIR_OK && i < links; i++) {
    weir_arg args[] = {weir_reads(buffers[i % 2]), weir_writes(buffers[1 - i % 2]), weir_value(&value, sizeof value)};
    status =
        weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 3, .groups = {WORDS}}, NULL);
  }
  if (status == WEIR_OK) status = weir_copy_out(buffers[links % 2], 0, WEIR_WHOLE, out_words, NULL);
  weir_status ended = weir_finish(context);
  for (int i = 0; i < 2; i++) {
    if (buffers[i] != NULL) weir_buffer_release(buffers[i]);
  }
  return status == WEIR_OK ? ended : status;
}

static void expect_results(const uint32_t *words, uint32_t links) {
  for (uint32_t i = 0; i < WORDS; i++) {
    uint32_t expected = i;
    for (uint32_t link = 0; link < links; link++) expected = expected * 3 + 1;
    assert_int_equal(words[i], expected);
  }
}

static uint64_t copies(void) {
  return stub_calls("cuMemcpyAsync");
}

static void test_contents_stay(void **state) {
  (void)state;
  assert_true(stub_configure(&(stub_options){.seed = 3}));
  weir_context *context = planted_open("cuda", 0);
  weir_kernel *kernel = planted_kernel_on_card(context);
  uint32_t words[WORDS];
  planted_ok(chain(context, kernel, 2, words)); // junk goes to the card
  uint64_t before = copies();
  planted_ok(chain(context, kernel, LINKS, words));
  expect_results(words, LINKS);
  assert_in_range(copies() - before, 1, 2); // contents there and back
  weir_kernel_release(kernel);
  weir_context_release(context);
  assert_int_equal(stub_live_count(), 0);
  assert_string_equal(stub_violation_text(), "");
}

// Each call of these in turn.
static void test_failing_calls(void **state) {
  (void)state;
  static const struct {
    const char *function;
    int result;
  } calls[] = {{"cuMemAlloc", 2},       {"cuMemHostAlloc", 2}, {"cuLaunchKernel", 1},
               {"cuLaunchKernel", 700}, {"cuMemcpyAsync", 1},  {"cuModuleLoadDataEx", 2}};
  uint32_t words[WORDS], hits = 0;
  for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
    for (uint64_t nth = 1; nth <= 14; nth++) {
      weir_context *context = NULL;
      assert_true(stub_configure(&(stub_options){.seed = nth}));
      const weir_context_options options = {
          .devices = "cuda", .flags = WEIR_CONTEXT_CHECK, .issue = nth % 2 == 0 ? WEIR_ISSUE_QUEUES : WEIR_ISSUE_AUTO};
      bool loads = strcmp(calls[c].function, "cuModuleLoadDataEx") == 0; // check mode's functions
      if (loads) stub_fail_nth(calls[c].function, nth, calls[c].result);
      if (weir_context_create(&options, &context) == WEIR_OK) {
        if (loads) stub_fail_nth(NULL, 0, 0);
        weir_kernel *kernel = planted_kernel_on_card(context);
        if (!loads) stub_fail_nth(calls[c].function, nth, calls[c].result);
        weir_status status = chain(context, kernel, 3, words);
        if (status == WEIR_OK) expect_results(words, 3);
        if (loads) assert_int_equal(status, WEIR_OK);
        if (stub_failed() != NULL) hits++;
        weir_kernel_release(kernel);
        weir_context_release(context);
      }
      stub_fail_nth(NULL, 0, 0);
      assert_int_equal(stub_live_count(), 0);
      assert_string_equal(stub_violation_text(), "");
    }
  }
  assert_true(hits > 15);
}

int main(void) {
  planted_use_stub();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_contents_stay), cmocka_unit_test(test_failing_calls)};
  return cmocka_run_group_tests_name("check_mode_card", tests, NULL, NULL);
}
