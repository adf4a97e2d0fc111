// SPDX-License-Identifier: Apache-2.0
//
// Nothing is allocated in steady state: once a workload has run a few times, more of it allocates no more.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "gate.h"
#include "weir/graph.h"

enum { WORKERS = 2, BUFFERS = 64, TASKS = 600, WARM_UP = 12, MEASURED = 10, BYTES = 1 << 14 };

typedef struct workshop {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[BUFFERS];
  weir_buffer *large;
  weir_graph *graph;
} workshop;

typedef void (*workload)(workshop *self, uint32_t step);

static void nothing(const weir_work *work) {
  (void)work;
}

static void submit(workshop *self, const weir_arg *args, uint32_t count, weir_event **out_event) {
  weir_task task = {.kernel = self->kernel, .args = args, .arg_count = count};
  if (weir_submit(self->context, &task, out_event) != WEIR_OK) fail_msg("%s", weir_last_error());
}

static weir_buffer *some(workshop *self, uint32_t number) {
  return self->buffers[number * 2654435761u >> 26];
}

static void whole_buffers(workshop *self, uint32_t step) {
  weir_buffer *one = some(self, step), *two = some(self, step + 7), *three = some(self, step * 3);
  if (one == two || one == three) return;
  const weir_arg args[] = {weir_updates(one), weir_reads(two), weir_reads(three)};
  submit(self, args, 3, NULL);
}

static void ranges(workshop *self, uint32_t step) {
  uint32_t offset = step * 2654435761u % (BYTES - 300), bytes = step * 7919 % 300 + 1;
  const weir_arg arg = step % 3 == 0   ? weir_reads_range(self->large, offset, bytes)
                       : step % 3 == 1 ? weir_writes_range(self->large, offset, bytes)
                                       : weir_updates_range(self->large, offset, bytes);
  submit(self, &arg, 1, NULL);
}

static void renames(workshop *self, uint32_t step) {
  const weir_arg write = weir_writes(self->buffers[step % 4]), read = weir_reads(self->buffers[step % 4]);
  submit(self, &write, 1, NULL);
  submit(self, &read, 1, NULL);
}

static void ignore(void *user, weir_status status) {
  (void)user;
  (void)status;
}

static void events(workshop *self, uint32_t step) {
  weir_event *first = NULL, *second = NULL;
  const weir_arg arg = weir_updates(some(self, step));
  submit(self, &arg, 1, &first);
  weir_task task = {.kernel = self->kernel, .after = &first, .after_count = 1};
  if (weir_submit(self->context, &task, &second) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(weir_event_on_done(second, ignore, NULL), WEIR_OK);
  weir_event_release(first);
  weir_event_release(second);
}

static void values_and_copies(workshop *self, uint32_t step) {
  static char value[4096], memory[64];
  const weir_arg args[] = {weir_value(value, 3000), weir_updates(some(self, step))};
  submit(self, args, 2, NULL);
  assert_int_equal(weir_copy_in(some(self, step + 1), 0, 64, memory, NULL), WEIR_OK);
}

static void new_buffers(workshop *self, uint32_t step) {
  weir_buffer *buffer = NULL;
  assert_int_equal(weir_buffer_create(self->context, 64 + step % 5 * 100, &buffer), WEIR_OK);
  const weir_arg arg = weir_writes(buffer);
  submit(self, &arg, 1, NULL);
  submit(self, &arg, 1, NULL);
  assert_int_equal(weir_buffer_release(buffer), WEIR_OK);
}

static void graph_launches(workshop *self, uint32_t step) {
  if (step % 100 == 0) assert_int_equal(weir_graph_launch(self->graph, NULL), WEIR_OK);
}

static void host_tasks(workshop *self, uint32_t step) {
  const weir_arg args[] = {weir_updates(some(self, step)), weir_updates_range(self->large, step % 100 * 64, 64)};
  weir_task task = {.host = nothing, .args = args, .arg_count = 2, .priority = (int32_t)(step % 8) - 4};
  assert_int_equal(weir_submit(self->context, &task, NULL), WEIR_OK);
}

static void open_workshop(workshop *self, uint32_t window) {
  // Tasks are submitted one by one: what the trace cache learns, now and then, takes memory.
  weir_context_options options = {.devices = "cpu:2", .window = window, .issue = WEIR_ISSUE_QUEUES};
  assert_int_equal(weir_context_create(&options, &self->context), WEIR_OK);
  assert_int_equal(weir_kernel_create(self->context, "nothing", &self->kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(self->kernel, nothing), WEIR_OK);
  for (int i = 0; i < BUFFERS; i++) assert_int_equal(weir_buffer_create(self->context, 64, &self->buffers[i]), WEIR_OK);
  assert_int_equal(weir_buffer_create(self->context, BYTES, &self->large), WEIR_OK);
  assert_int_equal(weir_graph_create(self->context, NULL, &self->graph), WEIR_OK);
  for (uint32_t i = 0; i < 50; i++) {
    const weir_arg args[] = {weir_updates(self->buffers[i]), weir_reads(self->buffers[i + 1])};
    weir_task task = {.kernel = self->kernel, .args = args, .arg_count = 2};
    assert_int_equal(weir_graph_add(self->graph, &task, NULL), WEIR_OK);
  }
}

// One round. Gates hold both workers until all is submitted (the window is wide enough), so that each round has the same
// in flight at its peak. Returns how often something was allocated.
static uint64_t run_round(workshop *self, workload work) {
  uint64_t before = weir__allocate_count();
  gate door = {0};
  for (int i = 0; i < WORKERS; i++) assert_int_equal(gate_submit(self->context, &door, NULL, 0, NULL), WEIR_OK);
  gate_await(&door, WORKERS);
  for (uint32_t step = 0; step < TASKS; step++) work(self, step);
  gate_open(&door);
  assert_int_equal(weir_finish(self->context), WEIR_OK);
  return weir__allocate_count() - before;
}

// The warm-up uses every slot of the window; a slot keeps the memory for the arguments of its tasks.
static void expect_steady(workload work, uint32_t window) {
  alarm(100);
  workshop self = {0};
  open_workshop(&self, window);
  uint64_t first = run_round(&self, work);
  for (int i = 1; i < WARM_UP; i++) run_round(&self, work);
  for (int i = 0; i < MEASURED; i++) {
    uint64_t allocated = run_round(&self, work);
    if (allocated > 0)
      fail_msg("round %d allocated %" PRIu64 " times (the first one %" PRIu64 " times)", WARM_UP + i, allocated, first);
  }
  weir_context_release(self.context);
}

static void whole_buffers_are_steady(void **state) {
  (void)state;
  expect_steady(whole_buffers, 2048);
}

static void ranges_are_steady(void **state) {
  (void)state;
  expect_steady(ranges, 2048);
}

static void renames_are_steady(void **state) {
  (void)state;
  expect_steady(renames, 2048);
}

static void events_are_steady(void **state) {
  (void)state;
  expect_steady(events, 2048);
}

static void values_and_copies_are_steady(void **state) {
  (void)state;
  expect_steady(values_and_copies, 2048);
}

static void new_buffers_are_steady(void **state) {
  (void)state;
  expect_steady(new_buffers, 2048);
}

static void graph_launches_are_steady(void **state) {
  (void)state;
  expect_steady(graph_launches, 16);
}

static void host_tasks_are_steady(void **state) {
  (void)state;
  expect_steady(host_tasks, 2048);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_buffers_are_steady),     cmocka_unit_test(ranges_are_steady),
      cmocka_unit_test(renames_are_steady),           cmocka_unit_test(events_are_steady),
      cmocka_unit_test(values_and_copies_are_steady), cmocka_unit_test(new_buffers_are_steady),
      cmocka_unit_test(graph_launches_are_steady),    cmocka_unit_test(host_tasks_are_steady),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
