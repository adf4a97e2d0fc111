// SPDX-License-Identifier: Apache-2.0
//
// Timelines as files: escaping, the layout of the JSON, and files that cannot be written.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/text.h"
#include "trace/trace.h"

static void assert_written(const char *expected, const char *text) {
  char *written = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&written, &bytes);
  assert_non_null(file);
  weir__text_string(text, file);
  fclose(file);
  assert_string_equal(written, expected);
  free(written);
}

static void escapes_text(void **state) {
  (void)state;
  assert_written("\"\"", "");
  assert_written("\"plain /text/\"", "plain /text/");
  assert_written("\"\\\"\\\\\"", "\"\\");
  assert_written("\"\\u000a\\u0001\\u001f\\u007f\"", "\n\x01\x1f\x7f");
  assert_written("\"\\u003c/script>\\u003c!--\"", "</script><!--");
}

static void repairs_utf8(void **state) {
  (void)state;
  const char *const valid[] = {"\xC2\x80",     "\xDF\xBF",         "\xE0\xA0\x80",    "\xED\x9F\xBF",
                               "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"};
  for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
    char expected[16];
    snprintf(expected, sizeof expected, "\"%s\"", valid[i]);
    assert_written(expected, valid[i]);
  }
  assert_written("\"\xEF\xBF\xBD\"", "\x80");                                                 // no lead byte
  assert_written("\"\xEF\xBF\xBD\xEF\xBF\xBD\"", "\xC0\xAF");                                 // overlong
  assert_written("\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", "\xE0\x9F\xBF");                 // overlong
  assert_written("\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", "\xED\xA0\x80");                 // surrogate
  assert_written("\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", "\xF4\x90\x80\x80"); // past U+10FFFF
  assert_written("\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", "\xF0\x8F\xBF\xBF"); // overlong
  assert_written("\"\xEF\xBF\xBD\xEF\xBF\xBD\"", "\xE2\x82");                                 // cut short at the end
  assert_written("\"\xEF\xBF\xBD"
                 "a\"",
                 "\xC3"
                 "a"); // cut short before a letter
  assert_written("\"\xEF\xBF\xBD\xEF\xBF\xBD\"", "\xFF\xFE");
}

static weir__trace *small_trace(void) {
  weir__trace *trace = weir__trace_create();
  assert_non_null(trace);
  assert_true(weir__trace_add_device(trace, "sim:ideal", 2));
  weir__trace_add_buffer(trace, 3, 64, "in");
  weir__trace_access accesses[] = {{WEIR_READ, 3, 30, 8, 16, {0}, 0}, {WEIR_READ_WRITE, 4, 40, 0, 32, {0}, 1}};
  weir__trace_wait wait = {1, WEIR__HAZARD_WAR, 3, 8, 24};
  weir__trace_span span = {.lane = 0, .start_ns = 2100, .end_ns = 2200, .name = "part"};
  weir__trace_task first = {.id = 1, .tag = UINT64_MAX, .label = "a\"b", .kernel = "k", .done = true, .end_ns = 1005};
  weir__trace_task second = {.id = 2,
                             .tag = 7,
                             .label = "second",
                             .kernel = "k",
                             .lane = 1,
                             .submit_ns = 10,
                             .ready_ns = 1005,
                             .start_ns = 2000,
                             .end_ns = 2500,
                             .accesses = accesses,
                             .access_count = 2,
                             .waits = &wait,
                             .wait_count = 1,
                             .spans = &span,
                             .span_count = 1,
                             .copies = true};
  weir__trace_task third = {.id = 3, .accesses = accesses, .access_count = 1, .destination = {50, 1}};
  weir__trace_add_task(trace, &first);
  weir__trace_add_task(trace, &second);
  weir__trace_add_task(trace, &third);
  return trace;
}

static char *save_and_read(const weir__trace *trace, const char *title) {
  char path[] = "/tmp/weir-test-XXXXXX.json", message[128] = "";
  int file = mkstemps(path, 5);
  assert_true(file >= 0);
  close(file);
  if (weir__trace_save(trace, path, title, message, sizeof message) != WEIR_OK) fail_msg("%s", message);
  FILE *saved = fopen(path, "r");
  assert_non_null(saved);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, saved) > 0);
  fclose(saved);
  unlink(path);
  return text;
}

static void writes_this_json(void **state) {
  (void)state;
  weir__trace *trace = small_trace();
  char *text = save_and_read(trace, "t");
  assert_string_equal(
      text, "{\"displayTimeUnit\":\"ns\",\"weir\":{\"version\":1,\"title\":\"t\",\"dropped\":0,\"devices\":[{\"name\":"
            "\"sim:ideal\","
            "\"lanes\":2,\"lane\":\"queue\"}]},\"traceEvents\":[\n"
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"sim:ideal\"}},\n"
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"queue 0\"}},\n"
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":1,\"args\":{\"name\":\"queue 1\"}},\n"
            "{\"name\":\"a\\\"b\",\"cat\":\"task\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":0.000,\"dur\":1.005,"
            "\"args\":{\"id\":1,"
            "\"tag\":\"18446744073709551615\",\"status\":\"WEIR_OK\",\"kernel\":\"k\",\"submit_ns\":0,\"ready_ns\":0,"
            "\"start_ns\":0,"
            "\"end_ns\":1005,\"accesses\":[],\"waits\":[]}},\n"
            "{\"name\":\"second\",\"cat\":\"task\",\"ph\":\"X\",\"pid\":0,\"tid\":1,\"ts\":2.000,\"dur\":0.500,"
            "\"args\":{\"id\":2,"
            "\"tag\":7,\"status\":\"WEIR_PENDING\",\"kernel\":\"k\",\"submit_ns\":10,\"ready_ns\":1005,\"start_ns\":"
            "2000,\"end_ns\":2500,"
            "\"copy\":true,\"accesses\":[{\"mode\":\"read\",\"buffer\":3,\"label\":\"in\",\"storage\":30,\"offset\":8,"
            "\"bytes\":16},"
            "{\"mode\":\"read_write\",\"buffer\":4,\"label\":\"\",\"storage\":40,\"memory\":0,\"offset\":0,"
            "\"bytes\":32}],"
            "\"waits\":[{\"task\":1,\"hazard\":\"WAR\",\"buffer\":3,\"lo\":8,\"hi\":24}]}},\n"
            "{\"name\":\"part\",\"cat\":\"part\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":2.100,\"dur\":0.100,\"args\":{"
            "\"task\":2}},\n"
            "{\"name\":\"\",\"cat\":\"task\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":0.000,\"dur\":0.000,\"args\":{"
            "\"id\":3,\"tag\":0,\"status\":\"WEIR_PENDING\",\"kernel\":\"\",\"submit_ns\":0,\"ready_ns\":0,"
            "\"start_ns\":0,\"end_ns\":0,\"transfer\":{\"storage\":50,\"memory\":0},\"accesses\":[{\"mode\":\"read\","
            "\"buffer\":3,\"label\":\"in\",\"storage\":30,\"offset\":8,\"bytes\":16}],\"waits\":[]}}\n"
            "]}\n");
  free(text);
  weir__trace_destroy(trace);
}

static void refuses_paths(void **state) {
  (void)state;
  weir__trace *trace = weir__trace_create();
  char message[256] = "";
  const char *const paths[] = {"/tmp/x.txt", "/tmp/x.html", "/tmp/json"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    char expected[256];
    snprintf(expected, sizeof expected,
             "%s: the name of a timeline ends in .json, of which `weir timeline FILE.json` makes a page, and that of a "
             "recorded stream in .jsonl",
             paths[i]);
    assert_int_equal(weir__trace_save(trace, paths[i], NULL, message, sizeof message), WEIR_ERROR_INVALID_ARGUMENT);
    assert_string_equal(message, expected);
  }
  assert_int_equal(weir__trace_save(trace, "/nowhere/x.json", NULL, message, sizeof message), WEIR_ERROR_IO);
  assert_string_equal(message, "/nowhere/x.json: No such file or directory");
  weir__trace_destroy(trace);
}

static void notices_a_full_disk(void **state) {
  (void)state;
  char folder[] = "/tmp/weir-test-XXXXXX", path[64], message[128] = "";
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/full.json", folder);
  if (access("/dev/full", W_OK) != 0 || symlink("/dev/full", path) != 0) {
    rmdir(folder);
    skip();
  }
  weir__trace *trace = small_trace();
  assert_int_equal(weir__trace_save(trace, path, NULL, message, sizeof message), WEIR_ERROR_IO);
  assert_non_null(strstr(message, "No space left on device"));
  weir__trace_destroy(trace);
  unlink(path);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(escapes_text),  cmocka_unit_test(repairs_utf8),        cmocka_unit_test(writes_this_json),
      cmocka_unit_test(refuses_paths), cmocka_unit_test(notices_a_full_disk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
