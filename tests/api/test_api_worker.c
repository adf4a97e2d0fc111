// SPDX-License-Identifier: Apache-2.0
//
// The number of the worker: no two functions that run at the same time have the same one, on any device; and the number
// of the task, by which a failure names it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "weir/error.h"
#include "weir/graph.h"

enum { TASKS = 2000, MOST = 16 };

static _Atomic bool taken[MOST];
static _Atomic uint32_t used; // bit per number
static _Atomic uint32_t count;
static _Thread_local uint32_t own = UINT32_MAX;

static void enter(const weir_work *work) {
  if (work->worker >= work->worker_count || work->worker_count > MOST) abort();
  if (atomic_exchange(&taken[work->worker], true)) abort();
  atomic_fetch_or(&used, 1u << work->worker);
  atomic_store(&count, work->worker_count);
  for (volatile int i = 0; i < 300; i++) continue;
  atomic_store(&taken[work->worker], false);
}

// A worker's number is its own for good.
static void keep(const weir_work *work) {
  enter(work);
  if (own != UINT32_MAX && own != work->worker) abort();
  own = work->worker;
}

static void submit_all(weir_context *context, weir_kernel *kernel, weir_function host) {
  weir_graph *graph;
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  weir_task task = {.kernel = kernel, .groups = {8}}, on_host = {.host = host};
  for (int i = 0; i < 6; i++) assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  for (int i = 0; i < TASKS; i++) {
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
    if (host != NULL) assert_int_equal(weir_submit(context, &on_host, NULL), WEIR_OK);
    if (i % 8 == 0) assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  }
  assert_int_equal(weir_finish(context), WEIR_OK);
}

static void numbers_are_unique(void **state) {
  (void)state;
  const struct {
    const char *devices;
    uint32_t flags, count;
    bool own; // every function runs on a worker of the CPU
  } cases[] = {{"cpu:1", 0, 1, true},
               {"cpu:3", 0, 3, true},
               {"cpu:2,sim:ideal", 0, 3, true},
               {"sim:ideal,cpu:2", 0, 3, false},
               {"cpu:2", WEIR_CONTEXT_CHECK, 3, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    atomic_store(&used, 0);
    weir_context *context = api_context(cases[i].devices, 0, cases[i].flags);
    weir_kernel *kernel = api_kernel(context, "enter", cases[i].own ? keep : enter);
    submit_all(context, kernel, cases[i].own ? keep : enter);
    assert_int_equal(atomic_load(&count), cases[i].count);
    assert_true(atomic_load(&used) < 1u << cases[i].count);
    weir_context_release(context);
  }
}

static void two_cpu_devices(void **state) {
  (void)state;
  atomic_store(&used, 0);
  weir_context *context = api_context("cpu:2,cpu:2", 0, 0);
  weir_kernel *kernel = api_kernel(context, "keep", keep);
  weir_task task = {.kernel = kernel, .groups = {4}};
  for (int i = 0; i < TASKS; i++) {
    task.device = weir_context_device(context, (uint32_t)i % 2);
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  }
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(atomic_load(&count), 4);
  assert_true((atomic_load(&used) & 3) != 0 && (atomic_load(&used) & 12) != 0);
  weir_context_release(context);
}

static void note_number(const weir_work *work) {
  *(uint64_t *)work->user = work->task;
  weir_work_fail(work, "on purpose");
}

static void failures_have_the_number(void **state) {
  (void)state;
  for (uint32_t mode = 0; mode < 2; mode++) {
    weir_context *context = api_context("cpu:2", 0, mode == 0 ? 0 : WEIR_CONTEXT_CHECK);
    uint64_t first = 0, second = 0;
    weir_event *event;
    weir_task task = {.host = note_number, .user = &first};
    assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    assert_true(first > 0);
    assert_int_equal(weir_last_error_task(), first);
    assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
    assert_int_equal(weir_last_error_task(), first);
    assert_int_equal(weir_buffer_create(context, 0, &(weir_buffer *){NULL}), WEIR_ERROR_INVALID_ARGUMENT);
    assert_int_equal(weir_last_error_task(), 0);
    weir_event_release(event);
    weir_graph *graph;
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    task.user = &second;
    assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
    assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
    assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
    assert_true(second > first);
    assert_int_equal(weir_last_error_task(), second);
    weir_context_release(context);
  }
}

// A library on top of Weir sets the text that its callers read; to hand on Weir's own is allowed.
static void a_library_sets_the_text(void **state) {
  (void)state;
  assert_int_equal(weir_set_last_error(WEIR_ERROR_IO, "100 %s"), WEIR_ERROR_IO);
  assert_string_equal(weir_last_error(), "100 %s");
  assert_int_equal(weir_last_error_task(), 0);
  assert_int_equal(weir_set_last_error(WEIR_ERROR_DEVICE_LOST, weir_last_error()), WEIR_ERROR_DEVICE_LOST);
  assert_string_equal(weir_last_error(), "100 %s");
  char text[9000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  weir_set_last_error(WEIR_ERROR_IO, text);
  assert_int_equal(strlen(weir_last_error()), 8191);
  assert_string_equal(weir_last_error() + 8191 - 10, " ... (cut)");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_unique), cmocka_unit_test(two_cpu_devices),
                                     cmocka_unit_test(failures_have_the_number),
                                     cmocka_unit_test(a_library_sets_the_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
