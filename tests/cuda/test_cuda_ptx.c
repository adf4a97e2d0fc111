// SPDX-License-Identifier: Apache-2.0
//
// Reading PTX: each function is gone through once, however often it is called, and equal texts are read once.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/ptx_texts.h"
#include "device/use.h"

enum { READS = WEIR__USE_READS, WRITES = WEIR__USE_WRITES, CALLS = 24, TEXT_BYTES = 1 << 15 };

static const char *append(char *text, const char *more) {
  size_t at = strlen(text);
  assert_true(at + strlen(more) < TEXT_BYTES);
  strcpy(text + at, more);
  return text;
}

static void append_function(char *text, const char *head, const char *callee) {
  append(text, head);
  append(text, "{\n  ld.param.u64 %rd1, [from];\n  ld.param.u64 %rd2, [to];\n"
               "  cvta.to.global.u64 %rd3, %rd1;\n  cvta.to.global.u64 %rd4, %rd2;\n");
  for (int i = 0; callee != NULL && i < CALLS; i++) {
    append(text, "  call.uni ");
    append(text, callee);
    append(text, ", (%rd1, %rd2);\n");
  }
  if (callee == NULL) append(text, "  ld.global.u32 %r1, [%rd1];\n  st.global.u32 [%rd2], %r1;\n");
  append(text, "  ret;\n}\n");
}

// Functions that call the next one many times: as many ways through them as no budget allows.
static void calls_of_calls_are_known(void **state) {
  (void)state;
  char *text = calloc(1, TEXT_BYTES);
  append_function(text, ".func last(.param .u64 from, .param .u64 to)\n", NULL);
  append_function(text, ".func third(.param .u64 from, .param .u64 to)\n", "last");
  append_function(text, ".func second(.param .u64 from, .param .u64 to)\n", "third");
  append_function(text, ".func first(.param .u64 from, .param .u64 to)\n", "second");
  append_function(text, ".visible .entry copy(.param .u64 from, .param .u64 to)\n", "first");
  weir__ptx_entry *entries = weir__ptx_read(text, strlen(text));
  free(text);
  assert_non_null(entries);
  assert_int_equal(entries->anywhere, 0);
  assert_int_equal(entries->params[0].use & (READS | WRITES), READS);
  assert_int_equal(entries->params[1].use & (READS | WRITES), WRITES);
  weir__ptx_free(entries);
}

// A function that calls itself is followed as far as calls are, and no farther.
static void recursion_ends(void **state) {
  (void)state;
  static const char TEXT[] = ".func again(.param .u64 from)\n{\n  ld.param.u64 %rd1, [from];\n  call again, (%rd1);\n"
                             "  ld.global.u32 %r1, [%rd1];\n}\n.visible .entry begin(.param .u64 from)\n"
                             "{\n  ld.param.u64 %rd1, [from];\n  call again, (%rd1);\n}\n";
  weir__ptx_entry *entries = weir__ptx_read(TEXT, sizeof TEXT - 1);
  assert_non_null(entries);
  assert_int_equal(entries->anywhere, READS | WRITES);
  weir__ptx_free(entries);
}

static const weir__ptx_entry *take(int number) {
  char text[128];
  int bytes = snprintf(text, sizeof text, ".visible .entry kernel%d(.param .u64 to)\n{\n  ret;\n}\n", number);
  const weir__ptx_entry *entries = weir__ptx_take(text, (size_t)bytes);
  assert_non_null(entries);
  snprintf(text, sizeof text, "kernel%d", number);
  assert_string_equal(entries->name, text);
  return entries;
}

static void equal_texts_are_read_once(void **state) {
  (void)state;
  const weir__ptx_entry *first = take(0);
  weir__ptx_give_back(first);
  uint64_t allocations = weir__allocate_count();
  assert_ptr_equal(take(0), first);
  assert_ptr_equal(take(0), first);
  assert_int_equal(weir__allocate_count(), allocations);
  weir__ptx_give_back(first);
  weir__ptx_give_back(first);
}

// With all places used, texts are read for their users alone. Later the places are free for others.
static void few_are_kept(void **state) {
  (void)state;
  enum { MANY = 2 * WEIR__PTX_TEXTS_KEPT };
  const weir__ptx_entry *taken[MANY];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < MANY; i++) taken[i] = take(1000 * round + i);
    for (int i = 0; i < MANY; i++) weir__ptx_give_back(taken[i]);
  }
  const weir__ptx_entry *again = take(5000);
  weir__ptx_give_back(again);
  assert_ptr_equal(take(5000), again);
  weir__ptx_give_back(again);
}

// What was not read whole, for want of memory, is not kept.
static void failures_are_not_kept(void **state) {
  (void)state;
  static const char TEXT[] = ".visible .entry a(.param .u64 to)\n{\n  ret;\n}\n.visible .entry b(.param .u64 to)\n"
                             "{\n  ld.param.u64 %rd1, [to];\n  st.global.u32 [%rd1], 1;\n}\n";
  for (uint64_t n = 1;; n++) {
    weir__allocate_fail_at(n);
    uint64_t before = weir__allocate_count();
    const weir__ptx_entry *entries = weir__ptx_take(TEXT, sizeof TEXT - 1);
    bool failed = weir__allocate_count() - before >= n;
    weir__allocate_fail_at(0);
    if (failed) assert_null(entries);
    if (failed) continue;
    assert_true(n > 1);
    const weir__ptx_entry *b = weir__ptx_find(entries, "b");
    assert_non_null(b);
    assert_int_equal(b->anywhere, 0);
    assert_int_equal(b->params[0].use & (READS | WRITES), WRITES);
    weir__ptx_give_back(entries);
    return;
  }
}

static void *take_and_give_back(void *seed) {
  unsigned state = *(unsigned *)seed;
  const weir__ptx_entry *held[4] = {NULL};
  for (int i = 0; i < 400; i++) {
    state = state * 1103515245U + 12345U;
    unsigned place = state >> 16 & 3;
    weir__ptx_give_back(held[place]);
    held[place] = take((int)(state >> 20 & 127));
  }
  for (int i = 0; i < 4; i++) weir__ptx_give_back(held[i]);
  return NULL;
}

static void any_thread_may_take(void **state) {
  (void)state;
  pthread_t threads[4];
  unsigned seeds[4] = {1, 2, 3, 4};
  const char *given = getenv("WEIR_TEST_SEED");
  unsigned seed = given == NULL ? 0 : (unsigned)strtoul(given, NULL, 0);
  for (int i = 0; i < 4; i++) {
    seeds[i] += 8 * seed;
    assert_int_equal(pthread_create(&threads[i], NULL, take_and_give_back, &seeds[i]), 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_of_calls_are_known),
      cmocka_unit_test(recursion_ends),
      cmocka_unit_test(few_are_kept),
      cmocka_unit_test(equal_texts_are_read_once),
      cmocka_unit_test(any_thread_may_take),
      cmocka_unit_test(failures_are_not_kept),
  };
  return cmocka_run_group_tests_name("cuda_ptx", tests, NULL, NULL);
}
