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
#include <unistd.h>

#include <cmocka.h>

#include "check/check.h"
#include "failing_malloc.h"
#include "timeline/join.h"
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

// A message from rank 0 to rank 1, whose task "use" is call 3.
#define RANK(number)                                                                                                   \
  "{\"weir\":{\"version\":1,\"title\":\"x\",\"dropped\":0,\"rank\":{\"number\":" number                                \
  ",\"of\":2,\"zero_ns\":0,\"error_ns\":0},\"devices\":[{\"name\":\"cpu\",\"lanes\":1}]},\"traceEvents\":["
#define CALL(name, id, call, start, end, mode)                                                                         \
  "{\"name\":\"" name "\",\"cat\":\"task\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":0,\"dur\":0,\"args\":{\"id\":" id   \
  ",\"tag\":0,\"status\":\"WEIR_OK\",\"kernel\":\"k\",\"call\":" call ",\"submit_ns\":0,\"ready_ns\":" start           \
  ",\"start_ns\":" start ",\"end_ns\":" end ",\"waits\":[],\"accesses\":[{\"mode\":\"" mode                            \
  "\",\"buffer\":1,\"label\":\"\",\"shared\":1,\"storage\":1,\"offset\":0,\"bytes\":8}]}}"
#define NAME "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"cpu\"}},"

static void write_rank(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void join_runs_out(void **state) {
  (void)state;
  char folder[] = "/tmp/weir-join-XXXXXX", paths[2][64], *names[] = {paths[0], paths[1]}, *json = NULL;
  char *whole = NULL, first_message[300];
  assert_non_null(mkdtemp(folder));
  for (int i = 0; i < 2; i++) snprintf(paths[i], sizeof paths[i], "%s/%d.json", folder, i);
  write_rank(paths[0], RANK("0") NAME CALL("make", "1", "2", "0", "1", "write") "," CALL(
                           "copy out", "2", "3,\"send\":{\"to\":1,\"number\":0}", "1", "2", "read") "]}");
  write_rank(paths[1], RANK("1") NAME CALL("from rank 0: use", "1", "3,\"receive\":{\"from\":0,\"number\":0}", "2", "3",
                                           "write") "," CALL("use", "2", "3", "3", "4", "read") "]}");
  size_t n = 1, bytes = 0;
  assert_int_equal(weir__timeline_join(names, 2, first_message, sizeof first_message, &whole, &bytes), WEIR_OK);
  for (bool failed = true; failed && n < 10000; n++) {
    char message[300] = "";
    free(json);
    failing_malloc_begin(n);
    weir_status status = weir__timeline_join(names, 2, message, sizeof message, &json, &bytes);
    failed = failing_malloc_end();
    // The parser may go on without memory for a character of a text.
    if (failed && status == WEIR_OK) assert_true(failing_malloc_of_parser());
    if (!failed) assert_string_equal(json, whole);
    assert_true((json != NULL) == (status == WEIR_OK));
    assert_true((message[0] == '\0') == (status == WEIR_OK));
    if (status != WEIR_OK && !failing_malloc_of_parser() && status != WEIR_ERROR_OUT_OF_MEMORY) fail_msg("%s", message);
  }
  assert_true(n > 100 && n < 10000);
  weir__check_report report = {.result = WEIR__CHECK_BAD_INPUT};
  for (bool failed = (n = 1) == 1; failed && n < 10000; n++) {
    char message[300] = "";
    weir__timeline *timeline = NULL;
    failing_malloc_begin(n);
    weir_status status = weir__timeline_read_memory("f", json, bytes, message, sizeof message, &timeline);
    if (status == WEIR_OK) weir__check_ranks_alone(timeline, NULL, &report);
    failed = failing_malloc_end();
    if (status == WEIR_OK && report.result != WEIR__CHECK_PROVED) assert_string_equal(report.text, "out of memory\n");
    weir__timeline_destroy(timeline);
  }
  assert_int_equal(report.result, WEIR__CHECK_PROVED);
  assert_int_equal(report.messages, 1);
  assert_true(n > 20 && n < 10000);
  free(json);
  free(whole);
  for (int i = 0; i < 2; i++) unlink(paths[i]);
  rmdir(folder);
}

int main(void) {
  failing_malloc_use_parser();
  const struct CMUnitTest tests[] = {cmocka_unit_test(memory_runs_out), cmocka_unit_test(join_runs_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
