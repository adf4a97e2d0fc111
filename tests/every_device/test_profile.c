// SPDX-License-Identifier: Apache-2.0
//
// The profile function: each task is reported as ready, started and ended, once each and in this order, with its number,
// tag, label and times, before weir_finish returns.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"
#include "weir/graph.h"

enum { MOST = 4096, BYTES = 4096, ROUNDS = 40 };

static const char *devices;

typedef struct seen {
  weir_profile_event event;
  char label[48], kernel[48];
} seen;

typedef struct log {
  seen events[MOST];
  uint32_t count;
  _Atomic uint32_t callers; // threads that are in the function
} log;

static void note(void *user, const weir_profile_event *event) {
  log *all = user;
  if (atomic_fetch_add(&all->callers, 1) != 0 || all->count == MOST) abort();
  seen *one = &all->events[all->count++];
  one->event = *event;
  snprintf(one->label, sizeof one->label, "%s", event->label);
  snprintf(one->kernel, sizeof one->kernel, "%s", event->kernel);
  atomic_fetch_sub(&all->callers, 1);
}

static weir_context *open(const char *names, log *all, uint32_t flags) {
  weir_context *context = NULL;
  weir_status status = weir_context_create(
      &(weir_context_options){.devices = names, .flags = flags, .profile = note, .profile_user = all}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    exit(77);
  }
  planted_ok(status);
  return context;
}

// Counts what was reported of each task, and checks its order and times.
static void check(const log *all, uint64_t tasks) {
  uint32_t *states = calloc(MOST, sizeof *states);
  uint64_t *times = calloc(MOST, sizeof *times), ended = 0;
  assert_true(states != NULL && times != NULL);
  for (uint32_t i = 0; i < all->count; i++) {
    const weir_profile_event *event = &all->events[i].event;
    assert_true(event->task < MOST);
    assert_non_null(event->device);
    uint32_t before = states[event->task];
    bool skipped = event->what == WEIR_PROFILE_END && event->status != WEIR_OK && before == 1;
    if (before != (uint32_t)event->what && !skipped)
      fail_msg("task %d: %d after %u", (int)event->task, (int)event->what, before);
    states[event->task] = (uint32_t)event->what + 1;
    if (event->what == WEIR_PROFILE_END) {
      ended++;
      assert_true(event->time_ns >= times[event->task]);
    } else {
      assert_int_equal(event->status, WEIR_PENDING);
    }
    if (event->what == WEIR_PROFILE_START) times[event->task] = event->time_ns;
  }
  for (uint32_t i = 0; i < MOST; i++) assert_true(states[i] == 0 || states[i] == 3);
  assert_true(ended >= tasks);
  free(states);
  free(times);
}

static void copies_and_launches(void **state) {
  (void)state;
  static log all;
  all.count = 0;
  weir_context *context = open(devices, &all, 0);
  static unsigned char in[BYTES], out[BYTES];
  memset(in, 7, sizeof in);
  weir_buffer *a, *b;
  planted_ok(weir_buffer_create(context, BYTES, &a));
  planted_ok(weir_buffer_create(context, BYTES, &b));
  weir_graph *graph;
  planted_ok(weir_graph_create(context, NULL, &graph));
  planted_ok(weir_graph_fill(graph, a, 0, BYTES / 2, 1, NULL));
  planted_ok(weir_graph_copy(graph, b, 0, a, 0, BYTES, NULL));
  uint64_t tasks = 0;
  for (int round = 0; round < ROUNDS; round++) {
    planted_ok(weir_copy_in(a, 0, BYTES, in, NULL));
    planted_ok(weir_fill(b, 0, WEIR_WHOLE, 3, NULL));
    planted_ok(weir_copy(b, 0, a, 0, BYTES / 2, NULL));
    planted_ok(weir_graph_launch(graph, NULL));
    planted_ok(weir_copy_out(b, 0, BYTES, out, NULL));
    tasks += 5;
    if (round % 8 == 0) {
      planted_ok(weir_finish(context));
      check(&all, tasks);
    }
  }
  planted_ok(weir_finish(context));
  check(&all, tasks);
  bool launch = false;
  for (uint32_t i = 0; i < all.count; i++) launch = launch || strcmp(all.events[i].kernel, "graph") == 0;
  assert_true(launch);
  assert_int_equal(out[BYTES - 1], 7);
  planted_ok(weir_context_release(context));
  check(&all, tasks);
}

static void does_nothing(const weir_work *work) {
  (void)work;
}

static void fails(const weir_work *work) {
  weir_work_fail(work, "on purpose");
}

static const seen *find(const log *all, uint64_t tag, weir_profile_what what) {
  for (uint32_t i = 0; i < all->count; i++)
    if (all->events[i].event.tag == tag && all->events[i].event.what == what) return &all->events[i];
  return NULL;
}

// Names, numbers and statuses of host tasks, in check mode, too.
static void names_and_statuses(void **state) {
  (void)state;
  for (uint32_t mode = 0; mode < 2; mode++) {
    static log all;
    all.count = 0;
    char names[64];
    snprintf(names, sizeof names, "%s%s", devices, strncmp(devices, "cpu", 3) == 0 ? "" : ",cpu:1");
    weir_context *context = open(names, &all, mode == 0 ? 0 : WEIR_CONTEXT_CHECK);
    weir_buffer *a;
    planted_ok(weir_buffer_create(context, 64, &a));
    planted_ok(weir_fill(a, 0, 64, 0, NULL));
    weir_arg update = weir_updates(a);
    weir_task task = {.host = does_nothing, .tag = 11, .label = "first"};
    planted_ok(weir_submit(context, &task, NULL));
    task = (weir_task){.host = fails, .args = &update, .arg_count = 1, .tag = 12, .label = "second"};
    planted_ok(weir_submit(context, &task, NULL));
    task = (weir_task){.host = does_nothing, .args = &update, .arg_count = 1, .tag = 13};
    planted_ok(weir_submit(context, &task, NULL));
    assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
    const seen *first = find(&all, 11, WEIR_PROFILE_END), *second = find(&all, 12, WEIR_PROFILE_END),
               *third = find(&all, 13, WEIR_PROFILE_END);
    assert_true(first != NULL && second != NULL && third != NULL);
    assert_int_equal(first->event.status, WEIR_OK);
    assert_int_equal(second->event.status, WEIR_ERROR_TASK_FAILED);
    assert_int_equal(third->event.status, WEIR_ERROR_UPSTREAM_FAILED);
    assert_null(find(&all, 13, WEIR_PROFILE_START));
    assert_string_equal(first->label, "first");
    assert_string_equal(second->label, "second");
    assert_string_equal(third->label, "");
    assert_string_equal(first->kernel, "host task");
    assert_string_equal(weir_device_information(first->event.device)->kind, "cpu");
    assert_int_equal(second->event.task + 1, third->event.task);
    planted_ok(weir_context_release(context));
  }
}

int main(int argc, char **argv) {
  devices = argc > 1 ? argv[1] : "cpu:2";
  const struct CMUnitTest tests[] = {cmocka_unit_test(copies_and_launches), cmocka_unit_test(names_and_statuses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
