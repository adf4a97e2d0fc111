// SPDX-License-Identifier: Apache-2.0
//
// Timelines through the public interface.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "weir/graph.h"

static char folder[64];

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/weir-test-XXXXXX");
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder);
}

static char *path_of(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

// The whole file, which is then removed.
static char *take_file(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  static char text[4 << 20];
  size_t bytes = fread(text, 1, sizeof text - 1, file);
  text[bytes] = '\0';
  fclose(file);
  assert_int_equal(unlink(path), 0);
  return text;
}

static void timelines_name_tasks_and_buffers(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, WEIR_CONTEXT_TRACE);
  weir_buffer *buffer = api_buffer(context, 64, "our-buffer");
  weir_arg arg = weir_updates(buffer);
  weir_task task = {.host = api_nothing, .args = &arg, .arg_count = 1, .label = "our-task", .tag = 991};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  api_expect(weir_trace_save(context, path_of("timeline.json"), "our-title"), WEIR_OK, NULL);
  const char *text = take_file(path_of("timeline.json"));
  assert_non_null(strstr(text, "our-task"));
  assert_non_null(strstr(text, "our-buffer"));
  assert_non_null(strstr(text, "our-title"));
  weir_trace_clear(context);
  api_expect(weir_trace_save(context, path_of("empty.json"), NULL), WEIR_OK, NULL);
  assert_null(strstr(take_file(path_of("empty.json")), "our-task"));
  weir_context_release(context);
}

static void misuse_is_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  api_expect(weir_trace_save(context, path_of("a.json"), NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  weir_trace_clear(context); // nothing to forget
  weir_context_release(context);
  context = api_context("cpu:1", 0, WEIR_CONTEXT_TRACE);
  api_expect(weir_trace_save(context, path_of("a.txt"), NULL), WEIR_ERROR_INVALID_ARGUMENT, "a.txt", NULL);
  api_expect(weir_trace_save(context, path_of("a.html"), NULL), WEIR_ERROR_INVALID_ARGUMENT, "a.html", "weir timeline",
             NULL);
  assert_int_equal(access(path_of("a.html"), F_OK), -1);
  api_expect(weir_trace_save(context, path_of("json"), NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_trace_save(context, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_trace_save(NULL, path_of("a.json"), NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_trace_save(context, path_of("no/such/folder/a.json"), NULL), WEIR_ERROR_IO, "a.json", NULL);
  weir_context_release(context);
}

static void saving_waits_for_all_tasks(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, WEIR_CONTEXT_TRACE);
  weir_buffer *number = api_number(context, 0);
  uint64_t one = 1;
  weir_arg args[] = {weir_value(&one, 8), weir_updates(number)};
  weir_kernel *kernel = api_kernel(context, "add", api_add);
  weir_event *event = NULL;
  for (int i = 0; i < 3000; i++) event = api_submit(context, kernel, args, 2);
  api_expect(weir_trace_save(context, path_of("all.json"), NULL), WEIR_OK, NULL);
  assert_int_equal(weir_event_poll(event), WEIR_OK);
  take_file(path_of("all.json"));
  weir_context_release(context);
}

// Nodes of a graph that come after each other for no buffer's sake: in order, the first of three with a buffer or none.
static void nodes_without_buffers_come_in_order(void **state) {
  (void)state;
  for (int buffers = 0; buffers < 2; buffers++) {
    weir_context *context = api_context("cpu:1", 0, WEIR_CONTEXT_TRACE | WEIR_CONTEXT_IN_ORDER);
    weir_buffer *buffer = buffers > 0 ? api_buffer(context, 64, "our-buffer") : NULL;
    weir_arg arg = weir_updates(buffer);
    weir_graph *graph = NULL;
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    for (int i = 0; i < 3; i++) {
      weir_task task = {.host = api_nothing, .args = &arg, .arg_count = i < buffers ? 1 : 0, .label = "our-node"};
      api_expect(weir_graph_add(graph, &task, NULL), WEIR_OK, NULL);
    }
    api_expect(weir_graph_launch(graph, NULL), WEIR_OK, NULL);
    assert_int_equal(weir_finish(context), WEIR_OK);
    api_expect(weir_trace_save(context, path_of("nodes.json"), NULL), WEIR_OK, NULL);
    static const char after_alone[] = "\"hazard\":\"AFTER\",\"buffer\":0,";
    int waits = 0;
    for (const char *at = take_file(path_of("nodes.json")); (at = strstr(at, "\"hazard\":")) != NULL; at++, waits++)
      assert_int_equal(strncmp(at, after_alone, strlen(after_alone)), 0);
    assert_int_equal(waits, 2);
    assert_int_equal(weir_graph_release(graph), WEIR_OK);
    if (buffer != NULL) weir_buffer_release(buffer);
    weir_context_release(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(timelines_name_tasks_and_buffers),
      cmocka_unit_test(misuse_is_refused),
      cmocka_unit_test(saving_waits_for_all_tasks),
      cmocka_unit_test(nodes_without_buffers_come_in_order),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
