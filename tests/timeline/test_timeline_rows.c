// SPDX-License-Identifier: Apache-2.0
//
// Timelines become rows for the page; those that lack what the page needs are refused with file and line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "timeline/page.h"
#include "timeline/rows.h"

#define HEAD(devices)                                                                                                  \
  "{\"weir\":{\"version\":1,\"title\":\"x\",\"dropped\":0,\"devices\":" devices "},\n\"traceEvents\":["
#define ONE_DEVICE HEAD("[{\"name\":\"cpu\",\"lanes\":1,\"lane\":\"worker\"}]")
#define TIMES "\"submit_ns\":0,\"ready_ns\":1,\"start_ns\":2,\"end_ns\":3"
#define ARGS "\"id\":5,\"tag\":6,\"status\":\"WEIR_OK\"," TIMES
#define LISTS ",\"accesses\":[],\"waits\":[]"
#define EVENT(category, name, more, args)                                                                              \
  "\n{\"name\":\"" name "\",\"cat\":\"" category "\",\"ph\":\"X\"" more ",\"args\":{" args "}}"
#define TASK EVENT("task", "t", ",\"pid\":0,\"tid\":0", ARGS ",\"kernel\":\"k\"" LISTS)
#define LAUNCH EVENT("graph", "g", "", "\"id\":7,\"tag\":0,\"status\":\"WEIR_OK\"," TIMES LISTS)
#define PART(more, args) EVENT("part", "p", more, args)
#define PART_TIMES ",\"tid\":0,\"ts\":0.002,\"dur\":0.001"

#define BIG_TAG "\"id\":5,\"tag\":\"18446744073709551615\",\"status\":\"WEIR_OK\"," TIMES ",\"kernel\":\"k\""
#define ACCESS(mode, place) "{\"mode\":\"" mode "\",\"buffer\":3,\"label\":\"a\\\"<b\",\"storage\":30," place "}"
#define WAIT(task, hazard, buffer, bytes) "{\"task\":" task ",\"hazard\":\"" hazard "\",\"buffer\":" buffer bytes "}"
#define ONE_WAIT ",\"kernel\":\"k\",\"accesses\":[],\"waits\":[" WAIT("1", "RAW", "1", ",\"lo\":0") "]"
#define TWO_ACCESSES ACCESS("read", "\"offset\":8,\"bytes\":16") "," ACCESS("write", "\"offset\":0,\"bytes\":8")
#define WAR_WAIT WAIT("1", "WAR", "3", ",\"lo\":8,\"hi\":24")
#define AFTER_WAIT WAIT("2", "AFTER", "0", ",\"lo\":0,\"hi\":0")
#define FULL_LISTS ",\"accesses\":[" TWO_ACCESSES "],\"waits\":[" WAR_WAIT "," AFTER_WAIT "]"

typedef struct timeline_case {
  const char *text, *message;
} timeline_case;

static const timeline_case bad[] = {
    {"", "f:1: the file is empty"},
    {"{\"weir\":{\"version\":1,\"dropped\":0},\"traceEvents\":[]}", "f:1: weir: title is not a text"},
    {"{\"weir\":{\"version\":1,\"dropped\":0,\"title\":7},\"traceEvents\":[]}", "f:1: weir: title is not a text"},
    {"{\"weir\":{\"version\":1,\"dropped\":0,\"title\":\"x\"},\"traceEvents\":[]}", "f:1: weir: devices is missing"},
    {HEAD("7") "]}", "f:1: weir: devices is not a list"},
    {HEAD("[7]") "]}", "f:1: a device is not an object"},
    {HEAD("[{}]") "]}", "f:1: a device has no name"},
    {HEAD("[{\"name\":\"d\"}]") "]}", "f:1: a device: lanes is missing"},
    {HEAD("[{\"name\":\"d\",\"lanes\":65537}]") "]}", "f:1: device 'd' has 65537 lanes; at most 65536 are possible"},
    {HEAD("[{\"name\":\"d\",\"lanes\":1,\"lane\":1}]") "]}", "f:1: a device: lane is not a text"},
    {ONE_DEVICE EVENT("task", "t", "", ARGS LISTS) "]}", "f:3: task 't': pid is missing"},
    {ONE_DEVICE EVENT("task", "t", ",\"pid\":0", ARGS LISTS) "]}", "f:3: task 't': tid is missing"},
    {ONE_DEVICE EVENT("task", "t", ",\"pid\":0,\"tid\":65536", ARGS LISTS) "]}",
     "f:3: task 't': tid 65536 is above 65535, the highest possible"},
    {ONE_DEVICE EVENT("task", "t", ",\"pid\":0,\"tid\":0", ARGS LISTS) "]}", "f:3: task 't': kernel is not a text"},
    {ONE_DEVICE TASK "," EVENT("task", "u", ",\"pid\":1,\"tid\":0", ARGS ",\"kernel\":\"k\"" LISTS) "," TASK "]}",
     "f:4: pid 1 of a task, but weir has 1 devices"},
    {ONE_DEVICE EVENT("task", "t", ",\"pid\":0,\"tid\":0", ARGS ONE_WAIT) "]}", "f:3: task 't': hi is missing"},
    {ONE_DEVICE EVENT("graph", "g", "", "\"id\":-1") "]}", "f:3: task 'g': id is negative"},
    {ONE_DEVICE "{\"cat\":\"graph\"}]}", "f:2: a task: name is missing"},
    {ONE_DEVICE "{\"cat\":\"part\",\"name\":\"p\"}]}", "f:2: part 'p': args is not an object"},
    {ONE_DEVICE PART(PART_TIMES, "\"task\":0") "]}", "f:3: part 'p': it does not follow its task, 0"},
    {ONE_DEVICE TASK "," PART(PART_TIMES, "\"task\":6") "]}", "f:4: part 'p': it does not follow its task, 6"},
    {ONE_DEVICE TASK "," PART(PART_TIMES, "") "]}", "f:4: part 'p': task is missing"},
    {ONE_DEVICE TASK "," PART("", "\"task\":5") "]}", "f:4: part 'p': tid is missing"},
    {ONE_DEVICE TASK "," PART(",\"tid\":65536", "\"task\":5") "]}", "f:4: part 'p': tid 65536 is above 65535"},
    {ONE_DEVICE TASK "," PART(",\"tid\":0", "\"task\":5") "]}", "f:4: part 'p': ts is not a number from 0 to 10^12"},
    {ONE_DEVICE TASK "," PART(",\"tid\":0,\"ts\":-1", "\"task\":5") "]}", "f:4: part 'p': ts is not a number"},
    {ONE_DEVICE TASK "," PART(",\"tid\":0,\"ts\":1,\"dur\":1e300", "\"task\":5") "]}", "f:4: part 'p': dur is not"},
};

static const timeline_case good[] = {
    {HEAD("[]") "]}",
     "{\"title\":\"x\",\"dropped\":0,\n\"devices\":[],\n\"buffers\":[],\n\"tasks\":[],\n\"spans\":[]}"},
    {HEAD("[{\"name\":\"</script>\",\"lanes\":65536}]") "]}", "[[\"\\u003c/script>\",65536,\"lane\"]]"},
    {ONE_DEVICE TASK "]}", "\n[5,6,\"t\",\"k\",0,0,\"WEIR_OK\",0,1,2,3,[],[],[]]]"},
    {ONE_DEVICE TASK "," PART(PART_TIMES, "\"task\":5") "," PART(PART_TIMES, "\"task\":5") "," TASK "]}",
     "[0,2,3,\"p\",0,2,3,\"p\"]],\n[5,6,"},
    // A part of its task's name has none.
    {ONE_DEVICE TASK "," EVENT("part", "t", PART_TIMES, "\"task\":5") "]}", "[0,2,3,\"\"]]]"},
    // The parts of a launch are left out like itself.
    {ONE_DEVICE TASK "," LAUNCH "," PART(PART_TIMES, "\"task\":7") "]}", ",[],[],[]]],"},
    // 123456789.123 us is not exact as a double.
    {ONE_DEVICE TASK "," PART(",\"tid\":3,\"ts\":123456789.123,\"dur\":999999999.999", "\"task\":5") "]}",
     "[3,123456789123,1123456789122,\"p\"]"},
    {ONE_DEVICE EVENT("task", "t", ",\"pid\":0,\"tid\":0", BIG_TAG FULL_LISTS) "]}",
     "\"buffers\":[[3,\"a\\\"\\u003cb\"]],\n\"tasks\":[\n"
     "[5,\"18446744073709551615\",\"t\",\"k\",0,0,\"WEIR_OK\",0,1,2,3,"
     "[\"read\",3,30,8,16,\"write\",3,30,0,8],[1,\"WAR\",3,8,24,2,\"AFTER\",0,0,0],[]]]"},
};

static weir_status rows_of(const char *text, char message[300], char **out_rows) {
  size_t bytes = strlen(text), row_bytes = 0;
  char *copy = malloc(bytes > 0 ? bytes : 1); // of its own, so that the sanitizer sees reads past the end
  assert_non_null(copy);
  memcpy(copy, text, bytes);
  weir_status status = weir__timeline_rows_memory("f", copy, bytes, message, 300, out_rows, &row_bytes);
  assert_true((status == WEIR_OK) == (*out_rows != NULL));
  if (*out_rows) assert_int_equal(strlen(*out_rows), row_bytes);
  free(copy);
  return status;
}

static void refuses(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char message[300], *rows = NULL;
    assert_int_equal(rows_of(bad[i].text, message, &rows), WEIR_ERROR_INVALID_ARGUMENT);
    if (strncmp(message, bad[i].message, strlen(bad[i].message)) != 0)
      fail_msg("'%s' says '%s', not '%s'", bad[i].text, message, bad[i].message);
  }
}

static void writes_these_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char message[300], *rows = NULL;
    if (rows_of(good[i].text, message, &rows) != WEIR_OK) fail_msg("%s: %s", good[i].text, message);
    if (!strstr(rows, good[i].message)) fail_msg("'%s' gives '%s', not '%s'", good[i].text, rows, good[i].message);
    assert_null(strchr(rows, '<'));
    json_t *parsed = json_loads(rows, 0, NULL);
    assert_true(json_is_object(parsed));
    json_decref(parsed);
    free(rows);
  }
}

static void pipelines_and_their_spans(void **state) {
  (void)state;
  static const char text[] =
      "{\"weir\":{\"version\":1,\"title\":\"x\",\"dropped\":0,\"devices\":[{\"name\":\"cpu\",\"lanes\":1}],"
      "\"pipelines\":[{\"id\":4,\"lines\":2,\"stages\":[{\"name\":\"read\",\"serial\":true},{\"name\":\"<b>\","
      "\"serial\":"
      "false}]}]},\"traceEvents\":[" EVENT(
          "task", "t", ",\"pid\":0,\"tid\":0",
          ARGS ",\"kernel\":\"k\",\"pipeline\":4,\"line\":1,\"stage\":0,\"token\":"
               "9" LISTS) "," EVENT("part", "p", PART_TIMES, "\"task\":5") "," EVENT("line", "read", "",
                                                                                     "\"pipeline\":4,\"line\":"
                                                                                     "1,\"state\":\"busy\","
                                                                                     "\"stage\":1,\"token\":9,"
                                                                                     "\"start_ns\":10,\"end_"
                                                                                     "ns\":20") "," EVENT("lin"
                                                                                                          "e",
                                                                                                          "x", "",
                                                                                                          "\"pi"
                                                                                                          "peli"
                                                                                                          "ne\""
                                                                                                          ":4,"
                                                                                                          "\"li"
                                                                                                          "ne\""
                                                                                                          ":0,"
                                                                                                          "\"st"
                                                                                                          "ate"
                                                                                                          "\":"
                                                                                                          "\"fr"
                                                                                                          "ee\""
                                                                                                          ",\"s"
                                                                                                          "tart"
                                                                                                          "_ns"
                                                                                                          "\":"
                                                                                                          "0,"
                                                                                                          "\"en"
                                                                                                          "d_"
                                                                                                          "ns\""
                                                                                                          ":9,"
                                                                                                          "\"op"
                                                                                                          "en\""
                                                                                                          ":tru"
                                                                                                          "e") "]}";
  char message[300], *rows = NULL;
  if (rows_of(text, message, &rows) != WEIR_OK) fail_msg("%s", message);
  assert_non_null(strstr(rows, "\"pipelines\":[[4,2,[[\"read\",true],[\"\\u003cb>\",false]]]]"));
  assert_non_null(strstr(rows, "[],[],[0,2,3,\"p\"],[4,1,0,9]]],\n"));
  assert_non_null(strstr(rows, "\"spans\":[\n[4,1,\"busy\",1,9,10,20,false],\n[4,0,\"free\",0,null,0,9,true]]"));
  free(rows);
}

static void page_holds_all(void **state) {
  (void)state;
  assert_non_null(memmem(weir__timeline_page_text, weir__timeline_page_bytes, "@DATA@", 6));
  for (const char *const *mark =
           (const char *const[]){"@STYLE@", "@MODEL@", "@LINES@", "@VIEW@", "@PAGE@", "http", NULL};
       *mark; mark++) { // all parts are in place, and none needs a network
    assert_null(memmem(weir__timeline_page_text, weir__timeline_page_bytes, *mark, strlen(*mark)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses),
      cmocka_unit_test(writes_these_rows),
      cmocka_unit_test(pipelines_and_their_spans),
      cmocka_unit_test(page_holds_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
