// SPDX-License-Identifier: Apache-2.0
//
// Memory runs out at the Nth allocation of making rows, for every N: it says so, and nothing leaks.
// (The linker sends the allocations of this program here: --wrap.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "timeline/rows.h"

static size_t allocations, fail_at; // 0: none fails
static bool parser_failed;          // the one that failed was the JSON parser's, which may call that a syntax error

static bool permit(void) {
  return ++allocations != fail_at;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t bytes) {
  return permit() ? __real_malloc(bytes) : NULL;
}
void *__wrap_calloc(size_t count, size_t bytes) {
  return permit() ? __real_calloc(count, bytes) : NULL;
}
void *__wrap_realloc(void *memory, size_t bytes) {
  return permit() ? __real_realloc(memory, bytes) : NULL;
}
char *__wrap_strdup(const char *text) {
  return permit() ? __real_strdup(text) : NULL;
}

static void *parser_malloc(size_t bytes) {
  void *memory = __wrap_malloc(bytes);
  parser_failed |= !memory;
  return memory;
}

#define ACCESS(buffer)                                                                                                 \
  "{\"mode\":\"read\",\"buffer\":" buffer ",\"label\":\"l" buffer "\",\"storage\":1,\"offset\":0,\"bytes\":8}"
#define TASK(id)                                                                                                       \
  "{\"name\":\"t\",\"cat\":\"task\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"args\":{\"id\":" id ",\"tag\":0,\"status\":"    \
  "\"WEIR_OK\",\"kernel\":\"k\",\"submit_ns\":0,\"ready_ns\":0,\"start_ns\":0,\"end_ns\":0,\"waits\":[{\"task\":0,"    \
  "\"hazard\":\"RAW\",\"buffer\":1,\"lo\":0,\"hi\":8}],\"accesses\":[" ACCESS("1") "," ACCESS(                         \
      "2") "]}},"                                                                                                      \
           "{\"name\":\"p\",\"cat\":\"part\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":0,\"dur\":0,\"args\":{"           \
           "\"task\":" id "}}"

static void memory_runs_out(void **state) {
  (void)state;
  static const char text[] = "{\"weir\":{\"version\":1,\"title\":\"x\",\"dropped\":0,\"devices\":[{\"name\":\"cpu\","
                             "\"lanes\":1}]},\"traceEvents\":[" TASK("1") "," TASK("2") "]}";
  size_t n = 1;
  for (bool failed = true; failed && n < 10000; n++) {
    char message[300] = "", *rows = NULL;
    size_t bytes = 0;
    allocations = 0;
    fail_at = n;
    parser_failed = false;
    weir_status status = weir__timeline_rows_memory("f", text, strlen(text), message, sizeof message, &rows, &bytes);
    fail_at = 0;
    failed = allocations >= n;
    assert_true((status == WEIR_OK) == !failed);
    assert_true((rows != NULL) == !failed);
    if (failed) assert_true(strncmp(message, "f:", 2) == 0);
    if (failed && !parser_failed) assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
    free(rows);
  }
  assert_true(n > 30 && n < 10000);
}

int main(void) {
  json_set_alloc_funcs(parser_malloc, free); // jansson is a shared library, which the linker does not change
  const struct CMUnitTest tests[] = {cmocka_unit_test(memory_runs_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
