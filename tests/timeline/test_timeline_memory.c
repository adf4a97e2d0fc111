// SPDX-License-Identifier: Apache-2.0
//
// Memory runs out at the Nth allocation of making rows, for every N: it says so, and nothing leaks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_malloc.h"
#include "timeline/rows.h"

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
    failing_malloc_begin(n);
    weir_status status = weir__timeline_rows_memory("f", text, strlen(text), message, sizeof message, &rows, &bytes);
    failed = failing_malloc_end();
    assert_true((status == WEIR_OK) == !failed);
    assert_true((rows != NULL) == !failed);
    if (failed) assert_true(strncmp(message, "f:", 2) == 0);
    if (failed && !failing_malloc_of_parser()) assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
    free(rows);
  }
  assert_true(n > 30 && n < 10000);
}

int main(void) {
  failing_malloc_use_parser();
  const struct CMUnitTest tests[] = {cmocka_unit_test(memory_runs_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
