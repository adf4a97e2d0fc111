// SPDX-License-Identifier: Apache-2.0
//
// Allocation fails at the Nth call, for every N until a scenario that uses everything succeeds: a clear status, results
// that are right where the calls were accepted, nothing leaked, no thread left, no hang.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocation_ledger.h"
#include "base/allocate.h"
#include "gate.h"
#include "graph_info.h"
#include "sweep.h"
#include "weir/weir.h"

static unsigned refusals; // in the present run of a scenario

// True if the call went well; false if it was refused for want of memory. Any other status is wrong.
static bool accepted(weir_status status) {
  if (status == WEIR_OK) return true;
  if (status != WEIR_ERROR_OUT_OF_MEMORY) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
  assert_true(strlen(weir_last_error()) > 0);
  refusals++;
  return false;
}

static void bump(const weir_work *work) {
  *(uint64_t *)work->args[0] += 1;
}

static void fill(const weir_work *work) {
  memset((char *)work->args[0] + work->first, 9, work->end - work->first);
}

static void read_bytes(const weir_work *work) {
  volatile char first = *(const char *)work->args[0];
  (void)first;
}

static void fail_task(const weir_work *work) {
  weir_work_fail(work, "as told");
}

static void count_done(void *user, weir_status status) {
  (void)status;
  atomic_fetch_add((atomic_uint *)user, 1);
}

typedef struct scene {
  weir_context *context;
  weir_kernel *bump, *fill;
  weir_buffer *number, *bytes, *wrapped;
  uint64_t memory;
} scene;

static bool open_scene(scene *self, const weir_context_options *options) {
  if (!accepted(weir_context_create(options, &self->context))) {
    assert_null(self->context);
    return false;
  }
  weir_context *context = self->context;
  static const uint64_t zero = 0;
  return accepted(weir_kernel_create(context, "bump", &self->bump)) &&
         accepted(weir_kernel_set_cpu(self->bump, bump)) &&
         accepted(weir_kernel_create(context, "fill", &self->fill)) &&
         accepted(weir_kernel_set_cpu(self->fill, fill)) &&
         accepted(weir_buffer_create(context, sizeof(uint64_t), &self->number)) &&
         accepted(weir_buffer_set_label(self->number, "number")) &&
         accepted(weir_buffer_create(context, 4096, &self->bytes)) &&
         accepted(weir_buffer_wrap(context, &self->memory, sizeof self->memory, &self->wrapped)) &&
         accepted(weir_copy_in(self->number, 0, sizeof zero, &zero, NULL));
}

// Submits `count` bumps; returns how many were accepted.
static uint64_t submit_bumps(scene *self, weir_buffer *buffer, int count) {
  uint64_t done = 0;
  weir_arg arg = weir_updates(buffer);
  for (int i = 0; i < count; i++) {
    weir_task task = {.kernel = self->bump, .args = &arg, .arg_count = 1, .label = "bump"};
    if (accepted(weir_submit(self->context, &task, NULL))) done++;
  }
  return done;
}

static void use_ranges_and_renames(scene *self) {
  for (uint64_t i = 0; i < 64; i++) {
    weir_arg arg = weir_writes_range(self->bytes, i * 37 % 64 * 64, 64 - i % 3);
    weir_task task = {.kernel = self->fill, .args = &arg, .arg_count = 1, .groups = {61, 1, 1}};
    accepted(weir_submit(self->context, &task, NULL));
  }
  for (int i = 0; i < 10; i++) {
    weir_arg read = weir_reads(self->bytes), write = weir_writes(self->bytes);
    weir_task task = {.host = read_bytes, .args = &read, .arg_count = 1};
    accepted(weir_submit(self->context, &task, NULL));
    task = (weir_task){.kernel = self->fill, .args = &write, .arg_count = 1, .groups = {4096, 1, 1}};
    accepted(weir_submit(self->context, &task, NULL));
  }
  static char value[3000];
  weir_arg args[] = {weir_updates(self->bytes), weir_value(value, sizeof value)};
  weir_task task = {.kernel = self->fill, .args = args, .arg_count = 2};
  accepted(weir_submit(self->context, &task, NULL));
}

static void use_events(scene *self) {
  atomic_uint callbacks = 0;
  unsigned attached = 0;
  weir_event *events[3] = {NULL};
  for (int i = 0; i < 3; i++) {
    weir_task task = {.host = i == 1 ? fail_task : bump, .args = (weir_arg[]){weir_updates(self->wrapped)}};
    task.arg_count = i != 1;
    task.after = events;
    task.after_count = i == 2 && events[0] != NULL && events[1] != NULL ? 2 : 0;
    if (!accepted(weir_submit(self->context, &task, &events[i]))) {
      assert_null(events[i]);
      continue;
    }
    for (int j = 0; j < 3; j++) attached += accepted(weir_event_on_done(events[i], count_done, &callbacks));
  }
  for (int i = 0; i < 3; i++) {
    if (events[i] == NULL) continue;
    assert_int_equal(weir_event_wait(events[i], WEIR_FOREVER), i == 1 ? WEIR_ERROR_TASK_FAILED : WEIR_OK);
    weir_event_release(events[i]);
  }
  while (atomic_load(&callbacks) < attached) usleep(100);
}

static uint64_t use_graph(scene *self) {
  weir_graph *graph = NULL;
  uint64_t nodes = 0, done = 0;
  if (!accepted(weir_graph_create(self->context, NULL, &graph))) return 0;
  weir_arg arg = weir_updates(self->number);
  weir_task task = {.kernel = self->bump, .args = &arg, .arg_count = 1};
  for (int i = 0; i < 20; i++) nodes += accepted(weir_graph_add(graph, &task, NULL));
  assert_int_equal(graph_info(graph).tasks, nodes);
  for (int i = 0; i < 3; i++) {
    if (accepted(weir_graph_launch(graph, NULL))) done += nodes;
    if (nodes > 0) accepted(weir_graph_set_arg(graph, 0, 0, &arg));
  }
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
  return done;
}

// Everything at once; the result is checked as far as the calls were accepted.
static void run_scenario(const weir_context_options *options, const char *timeline) {
  scene self = {.memory = 0};
  refusals = 0;
  if (open_scene(&self, options)) {
    uint64_t wanted = submit_bumps(&self, self.number, 30), found = 0;
    use_ranges_and_renames(&self);
    use_events(&self);
    wanted += use_graph(&self);
    wanted += submit_bumps(&self, self.number, 5);
    bool copied = accepted(weir_copy_out(self.number, 0, sizeof found, &found, NULL));
    weir_status status = weir_finish(self.context);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_TASK_FAILED);
    if (copied) assert_int_equal(found, wanted);
    if (timeline != NULL) {
      accepted(weir_trace_save(self.context, timeline, "scenario"));
      unlink(timeline);
      weir_trace_clear(self.context);
    }
    assert_int_equal(weir_buffer_release(self.bytes), WEIR_OK);
    assert_int_equal(weir_kernel_release(self.fill), WEIR_OK);
  }
  weir_context_release(self.context);
}

static void fail_every_allocation(const weir_context_options *options, const char *timeline) {
  run_scenario(options, timeline); // what the process allocates once and keeps
  int threads = ledger_threads(1), files = ledger_files();
  int64_t live = ledger_live();
  for (uint64_t n = 1;; n = sweep_after(n)) {
    alarm(60);
    uint64_t before = weir__allocate_count();
    weir__allocate_fail_at(n);
    run_scenario(options, timeline);
    weir__allocate_fail_at(0);
    if (ledger_live() != live) fail_msg("allocation %" PRIu64 " failed: %" PRId64 " leaked", n, ledger_live() - live);
    if (ledger_threads(threads) != threads) fail_msg("allocation %" PRIu64 " failed: a thread was left", n);
    if (ledger_files() != files) fail_msg("allocation %" PRIu64 " failed: a file was left open", n);
    if (weir__allocate_count() - before >= n) continue;
    assert_int_equal(refusals, 0);
    assert_true(n > 20); // it did use memory
    return;
  }
}

static void scenario_on_one_worker(void **state) {
  (void)state;
  fail_every_allocation(&(weir_context_options){.devices = "cpu:1"}, NULL);
}

static void scenario_on_three_workers_with_a_small_window(void **state) {
  (void)state;
  fail_every_allocation(&(weir_context_options){.devices = "cpu:3", .window = 8, .seed = 5}, NULL);
}

static void scenario_with_a_timeline(void **state) {
  (void)state;
  weir_context_options options = {.devices = "cpu:2", .window = 32, .flags = WEIR_CONTEXT_TRACE};
  char path[64];
  snprintf(path, sizeof path, "/tmp/weir-faults-%d.json", (int)getpid());
  fail_every_allocation(&options, path);
}

static void scenario_with_a_memory_limit(void **state) {
  (void)state;
  fail_every_allocation(&(weir_context_options){.devices = "cpu:2", .memory_limit = 3 * 5120}, NULL);
}

static weir_event *submit(weir_context *context, weir_function function, const weir_arg *args, uint32_t count) {
  weir_event *event = NULL;
  accepted(weir_submit(context, &(weir_task){.host = function, .args = args, .arg_count = count}, &event));
  return event;
}

// A task waits for readers in flight, while another task fails. Where memory runs out while they are found it waits for that task,
// too, but is not skipped: no reader has brought it anything.
static void a_task_without_memory_for_its_readers_is_run(void **state) {
  (void)state;
  enum { READERS = 10, BYTES = 100 };
  bool reached = true;
  unsigned runs = 0;
  for (uint64_t n = 1; reached; n++) {
    weir_context *context = NULL;
    weir_buffer *buffer = NULL, *door = NULL;
    gate held = {0};
    assert_int_equal(weir_context_create(&(weir_context_options){.devices = "cpu:2"}, &context), WEIR_OK);
    assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
    assert_int_equal(weir_buffer_create(context, 8, &door), WEIR_OK);
    assert_int_equal(weir_fill(buffer, 0, BYTES, 1, NULL), WEIR_OK);
    assert_int_equal(weir_finish(context), WEIR_OK);
    assert_int_equal(gate_submit(context, &held, (weir_arg[]){weir_writes(door)}, 1, NULL), WEIR_OK);
    weir_arg reads[] = {weir_reads(buffer), weir_reads(door)};
    for (int i = 0; i < READERS; i++) weir_event_release(submit(context, read_bytes, reads, 2));
    weir_event_release(submit(context, fail_task, &reads[1], 1));
    uint64_t before = weir__allocate_count();
    weir__allocate_fail_at(n);
    weir_event *event = submit(context, read_bytes, (weir_arg[]){weir_updates_range(buffer, 30, 30)}, 1);
    weir__allocate_fail_at(0);
    reached = weir__allocate_count() - before >= n;
    gate_open(&held);
    assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
    if (event != NULL) assert_int_equal(weir_event_poll(event), WEIR_OK);
    runs += event != NULL && reached;
    weir_event_release(event);
    weir_context_release(context);
  }
  assert_true(runs > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scenario_on_one_worker),
      cmocka_unit_test(scenario_on_three_workers_with_a_small_window),
      cmocka_unit_test(scenario_with_a_timeline),
      cmocka_unit_test(scenario_with_a_memory_limit),
      cmocka_unit_test(a_task_without_memory_for_its_readers_is_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
