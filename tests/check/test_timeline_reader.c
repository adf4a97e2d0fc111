// SPDX-License-Identifier: Apache-2.0
//
// Bad timelines are refused with file and line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule.h"

#define HEAD "{\"weir\":{\"version\":1,\"dropped\":0},\n\"traceEvents\":["
#define TASK(fields) HEAD "\n{\"name\":\"t\",\"cat\":\"task\",\"ph\":\"X\",\"args\":{" fields "}}\n]}\n"
#define NUMBERS TAGGED("0")
#define TAGGED(tag)                                                                                                    \
  "\"id\":1,\"tag\":" tag ",\"status\":\"WEIR_OK\",\"submit_ns\":0,\"ready_ns\":0,\"start_ns\":0,\"end_ns\":0"
#define ACCESS(fields) TASK(NUMBERS ",\"waits\":[],\"accesses\":[" fields "]")
#define PLACE "\"buffer\":1,\"storage\":1,\"offset\":0,\"bytes\":1"

#define MOVES(fields, accesses) TASK(NUMBERS ",\"waits\":[],\"accesses\":[" accesses "],\"transfer\":" fields)
#define READ "{\"mode\":\"read\"," PLACE "}"

#define PIPELINES(list) "{\"weir\":{\"version\":1,\"dropped\":0,\"pipelines\":" list "},\n\"traceEvents\":["
#define STAGE "{\"name\":\"s\",\"serial\":true}"
#define PIPELINE PIPELINES("[{\"id\":4,\"lines\":2,\"stages\":[" STAGE "]}]")
#define SPAN(fields) PIPELINE "\n{\"name\":\"x\",\"cat\":\"line\",\"ph\":\"X\",\"args\":{" fields "}}]}"
#define AT "\"pipeline\":4,\"line\":1,"
#define TIMES ",\"start_ns\":1,\"end_ns\":2"

typedef struct bad_timeline {
  const char *text, *message;
} bad_timeline;

static const bad_timeline bad[] = {
    {"", "f:1: the file is empty"},
    {"\n \n", "f:3: the file is empty"},
    {"[]", "f:1: not an object"},
    {"\x7f"
     "ELF",
     "f:1: not an object"},
    {"{", "f:1: a name in quotes is missing"},
    {"{}", "f:1: weir is missing: this is no timeline of Weir"},
    {"{\"weir_stream\":1,\"tasks\":0}\n{\"buffer\":1}\n", "f:1: this is a recorded stream, and no timeline"},
    {"{\"traceEvents\":[]}", "f:1: weir is missing"},
    {"{\"weir\":{\"version\":1,\"dropped\":0}}", "f:1: traceEvents is missing"},
    {"{\"weir\":{\"version\":2,\"dropped\":0}}", "f:1: timeline version 2 is not known, only 1"},
    {"{\n\"weir\":{\"version\":\"1\"}}", "f:2: weir: version is not a whole number"},
    {"{\"weir\":{\"version\":1}}", "f:1: weir: dropped is missing"},
    {"{\"weir\":7}", "f:1: weir is not an object"},
    {"{\"weir\":{\"version\":1,\"dropped\":0},\"weir\":{}}", "f:1: weir is there twice"},
    {"{\"traceEvents\":[],\n\"traceEvents\":[]}", "f:2: traceEvents is there twice"},
    {"{\"traceEvents\":{}}", "f:1: '[' is missing"},
    {HEAD "7]}", "f:2: an entry of traceEvents is not an object"},
    {HEAD "{}{}]}", "f:2: ',' is missing"},
    {HEAD "\n{\"a\":\n\n}]}", "f:5: "},
    {HEAD "]", "f:2: the file ends where ',' is missing"},
    {HEAD "]}x", "f:2: there is more after the end"},
    {"{\"x\" 1}", "f:1: ':' is missing"},
    {"{1:1}", "f:1: a name in quotes is missing"},
    {"{\"x\":99999999999999999999}", "f:1: "},
    {HEAD "{\"cat\":\"task\"}]}", "f:2: a task: name is missing"},
    {HEAD "{\"cat\":\"task\",\"name\":7}]}", "f:2: a task: name is not a text"},
    {HEAD "{\"cat\":\"task\",\"name\":\"t\",\"ph\":\"B\"}]}", "f:2: task 't': ph is 'B', not 'X'"},
    {HEAD "{\"cat\":\"task\",\"name\":\"t\",\"ph\":\"X\"}]}", "f:2: task 't': args is not an object"},
    {TASK("\"id\":-1"), "f:3: task 't': id is negative"},
    {TASK("\"id\":1.5"), "f:3: task 't': id is not a whole number"},
    {TASK("\"id\":1"), "f:3: task 't': tag is missing"},
    {TASK("\"id\":1,\"tag\":\"7\""), "f:3: task 't': tag is neither a whole number nor the text of one"},
    {TASK("\"id\":1,\"tag\":\"\""), "f:3: task 't': tag is neither"},
    {TASK("\"id\":1,\"tag\":\"-9223372036854775809\""), "f:3: task 't': tag is neither"},
    {TASK("\"id\":1,\"tag\":\"18446744073709551616\""), "f:3: task 't': tag is neither"},
    {TASK("\"id\":1,\"tag\":\"18446744073709551615x\""), "f:3: task 't': tag is neither"},
    {TASK(NUMBERS), "f:3: task 't': accesses is missing"},
    {TASK(NUMBERS ",\"accesses\":7"), "f:3: task 't': accesses is not a list"},
    {TASK(NUMBERS ",\"accesses\":[]"), "f:3: task 't': waits is missing"},
    {TASK(NUMBERS ",\"accesses\":[],\"waits\":[7]"), "f:3: task 't': a wait is not an object"},
    {TASK(NUMBERS ",\"accesses\":[],\"waits\":[{}]"), "f:3: task 't': task is missing"},
    {TASK(NUMBERS ",\"accesses\":[],\"waits\":[{\"task\":1,\"hazard\":1}]"), "f:3: task 't': hazard is not a text"},
    {ACCESS("7"), "f:3: task 't': an access is not an object"},
    {ACCESS("{\"mode\":7}"), "f:3: task 't': mode is not a text"},
    {ACCESS("{\"mode\":\"value\"," PLACE "}"), "f:3: task 't': 'value' is not a mode of access"},
    {ACCESS("{\"mode\":\"read\",\"buffer\":1}"), "f:3: task 't': storage is missing"},
    {ACCESS("{\"mode\":\"read\",\"buffer\":1,\"storage\":1,\"offset\":0,\"bytes\":\"1\"}"),
     "f:3: task 't': bytes is not a whole number"},
    {ACCESS("{\"mode\":\"read\",\"memory\":-1," PLACE "}"), "f:3: task 't': memory is negative"},
    {MOVES("7", READ), "f:3: task 't': transfer is not an object"},
    {MOVES("{}", READ), "f:3: task 't': storage is missing"},
    {MOVES("{\"storage\":0}", READ), "f:3: task 't': transfer names no storage"},
    {MOVES("{\"storage\":2,\"memory\":\"host\"}", READ), "f:3: task 't': memory is not a whole number"},
    {MOVES("{\"storage\":1}", READ), "f:3: task 't': a transfer reads one range, of another storage"},
    {MOVES("{\"storage\":2}", ""), "f:3: task 't': a transfer reads one range, of another storage"},
    {MOVES("{\"storage\":2}", READ "," READ), "f:3: task 't': a transfer reads one range, of another storage"},
    {MOVES("{\"storage\":2}", "{\"mode\":\"write\"," PLACE "}"), "f:3: task 't': a transfer reads one range"},
    {PIPELINES("7") "]}", "f:1: weir: pipelines is not a list"},
    {PIPELINES("[7]") "]}", "f:1: a pipeline is not an object"},
    {PIPELINES("[{}]") "]}", "f:1: a pipeline: id is missing"},
    {PIPELINES("[{\"id\":1,\"lines\":1,\"stages\":7}]") "]}", "f:1: a pipeline: stages is not a list"},
    {PIPELINES("[{\"id\":1,\"lines\":0,\"stages\":[]}]") "]}", "f:1: a pipeline has 0 lines; 1 to 4096 are possible"},
    {PIPELINES("[{\"id\":1,\"lines\":9,\"stages\":[]}]") "]}", "f:1: a pipeline has 0 stages; 1 to 64 are possible"},
    {PIPELINES("[{\"id\":1,\"lines\":9,\"stages\":[7]}]") "]}", "f:1: a stage is not an object"},
    {PIPELINES("[{\"id\":1,\"lines\":9,\"stages\":[{\"name\":\"s\"}]}]") "]}",
     "f:1: stage 's': serial is not true or false"},
    {PIPELINES("[{\"id\":1,\"lines\":9,\"stages\":[" STAGE "]},{\"id\":1,\"lines\":9,\"stages\":[" STAGE "]}]") "]}",
     "f:1: pipeline 1 is there twice"},
    {PIPELINE "{\"cat\":\"line\"}]}", "f:2: a span of a line: name is missing"},
    {PIPELINE "{\"cat\":\"line\",\"name\":\"x\",\"ph\":\"i\"}]}", "f:2: span 'x': ph is 'i', not 'X'"},
    {PIPELINE "{\"cat\":\"line\",\"name\":\"x\",\"ph\":\"X\"}]}", "f:2: span 'x': args is not an object"},
    {SPAN("\"pipeline\":4"), "f:3: span 'x': line is missing"},
    {SPAN(AT "\"state\":\"asleep\""), "f:3: span 'x': 'asleep' is not a state of a line"},
    {SPAN(AT "\"state\":\"busy\""), "f:3: span 'x': stage is missing"},
    {SPAN(AT "\"state\":\"busy\",\"stage\":0,\"token\":-1"), "f:3: span 'x': token is negative"},
    {SPAN(AT "\"state\":\"busy\",\"stage\":0,\"start_ns\":1"), "f:3: span 'x': end_ns is missing"},
    {SPAN(AT "\"state\":\"busy\",\"stage\":0,\"start_ns\":2,\"end_ns\":1"), "f:3: span 'x': it ends before it starts"},
    {SPAN(AT "\"state\":\"free\",\"token\":1" TIMES), "f:3: span 'x': a free line has a token"},
    {SPAN(AT "\"state\":\"busy\",\"stage\":1" TIMES), "f:3: a span: stage 1 of pipeline 4, which has 1"},
    {SPAN("\"pipeline\":4,\"line\":2,\"state\":\"free\"" TIMES), "f:3: a span: line 2 of pipeline 4, which has 2"},
    {SPAN("\"pipeline\":3,\"line\":2,\"state\":\"free\"" TIMES), "f:3: a span: pipeline 3 is not among those of weir"},
    {TASK(NUMBERS ",\"accesses\":[],\"waits\":[],\"pipeline\":0"), "f:3: task 't': line is missing"},
    {TASK(NUMBERS ",\"accesses\":[],\"waits\":[],\"pipeline\":0,\"line\":0,\"stage\":0,\"token\":0"),
     "f:3: task 't': pipeline 0 is not among those of weir"},
};

static weir_status read_text(const char *text, size_t bytes, char message[300]) {
  weir__timeline *timeline = NULL;
  char *copy = malloc(bytes + 1); // of its own, so that the sanitizer sees reads past the end
  assert_non_null(copy);
  memcpy(copy, text, bytes);
  copy = realloc(copy, bytes > 0 ? bytes : 1);
  weir_status status = weir__timeline_read_memory("f", copy, bytes, message, 300, &timeline);
  assert_true((status == WEIR_OK) == (timeline != NULL));
  weir__timeline_destroy(timeline);
  free(copy);
  return status;
}

static void test_bad_timelines(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char message[300];
    assert_int_equal(read_text(bad[i].text, strlen(bad[i].text), message), WEIR_ERROR_INVALID_ARGUMENT);
    if (strncmp(message, bad[i].message, strlen(bad[i].message)) != 0) {
      fail_msg("'%s' says '%s', not '%s'", bad[i].text, message, bad[i].message);
    }
  }
}

static void test_good_timelines(void **state) {
  (void)state;
  static const char *const good[] = {
      HEAD "]}",
      HEAD "{},{\"cat\":7},{\"cat\":\"part\"},{\"ph\":\"M\"}],\"more\":[1,2.5,null]}",
      TASK(NUMBERS ",\"accesses\":[],\"waits\":[],\"more\":{\"deep\":[[[]]]}"),
      ACCESS("{\"mode\":\"read_write\"," PLACE "}"),
      MOVES("{\"storage\":2,\"memory\":1}", READ),
      TASK(TAGGED("\"9223372036854775808\"") ",\"accesses\":[],\"waits\":[]"),
      TASK(TAGGED("\"18446744073709551615\"") ",\"accesses\":[],\"waits\":[]"),
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char message[300];
    if (read_text(good[i], strlen(good[i]), message) != WEIR_OK) fail_msg("%s: %s", good[i], message);
  }
}

// A timeline that is cut anywhere, or that has a byte changed, is refused or read, and nothing else happens.
static void test_cut_and_changed(void **state) {
  (void)state;
  uint64_t seed = random_seed(5);
  stream_shape shape = {.tasks = 5, .buffers = 2, .most_bytes = 4};
  weir__stream *stream = random_stream(&shape, 1);
  schedule_options options = {.passes = 1, .workers = 1, .seed = 1};
  weir__timeline *timeline = schedule(stream, &options);
  char *text = timeline_text(timeline), message[300];
  size_t bytes = strlen(text);
  for (size_t cut = 0; cut + 1 < bytes; cut++) { // the last byte is the end of the line
    assert_int_equal(read_text(text, cut, message), WEIR_ERROR_INVALID_ARGUMENT);
    assert_true(strncmp(message, "f:", 2) == 0);
  }
  for (int round = 0; round < 2000; round++) {
    size_t at = random_in(&seed, 0, bytes);
    char saved = text[at];
    text[at] = (char)random_in(&seed, 0, 256);
    weir__timeline *changed = NULL;
    if (weir__timeline_read_memory("f", text, bytes, message, sizeof message, &changed) == WEIR_OK) {
      weir__check_report report;
      weir__check_timeline(changed, stream, NULL, &report);
    }
    weir__timeline_destroy(changed);
    text[at] = saved;
  }
  free(text);
  weir__timeline_destroy(timeline);
  weir__stream_destroy(stream);
}

static void test_files(void **state) {
  (void)state;
  char message[300];
  weir__timeline *timeline = NULL;
  assert_int_equal(weir__timeline_read("/no/such/file", message, sizeof message, &timeline), WEIR_ERROR_IO);
  assert_string_equal(message, "/no/such/file: No such file or directory");
  assert_int_equal(weir__timeline_read("/", message, sizeof message, &timeline), WEIR_ERROR_IO);
  assert_null(timeline);
  char deep[5000];
  memset(deep, '[', sizeof deep);
  memcpy(deep, "{\"x\":", 5);
  assert_int_equal(read_text(deep, sizeof deep, message), WEIR_ERROR_INVALID_ARGUMENT);
  assert_true(strncmp(message, "f:1: ", 5) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_timelines), cmocka_unit_test(test_good_timelines),
                                     cmocka_unit_test(test_cut_and_changed), cmocka_unit_test(test_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
