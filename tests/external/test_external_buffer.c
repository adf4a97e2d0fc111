// SPDX-License-Identifier: Apache-2.0
//
// Work outside Weir that uses one buffer: later tasks that conflict wait, others do not; and events of one buffer.
#include <stdalign.h>
#include <string.h>

#include "api.h"
#include "weir/external.h"
#include "weir/graph.h"
#include "weir/reduce.h"
#include "weir/sim.h"

enum { COUNT = 16, BYTES = COUNT * sizeof(uint64_t) };

static const char *const lists[] = {"cpu:2", "sim:ideal,cpu:1"};
enum { LISTS = sizeof lists / sizeof lists[0] };

typedef struct scene {
  weir_context *context;
  alignas(64) uint64_t memory[COUNT];
  weir_buffer *buffer, *other; // wrapped; Weir's own
  weir_event *event;           // of the host
} scene;

static void run_all(void (*test)(scene *self)) {
  for (int i = 0; i < LISTS; i++) {
    scene self = {.context = api_context(lists[i], 16, i % 2 == 0 ? 0 : WEIR_CONTEXT_TRACE)};
    assert_int_equal(weir_buffer_wrap(self.context, self.memory, BYTES, &self.buffer), WEIR_OK);
    self.other = api_number(self.context, 5);
    assert_int_equal(weir_buffer_set_label(self.buffer, "frame"), WEIR_OK);
    assert_int_equal(weir_host_event_create(self.context, "outside", &self.event), WEIR_OK);
    test(&self);
    weir_event_release(self.event);
    assert_int_equal(weir_buffer_release(self.buffer), WEIR_OK);
    assert_int_equal(weir_context_release(self.context), WEIR_OK);
  }
}

static weir_event *submit(const scene *self, weir_arg arg) {
  return api_submit_host(self->context, api_nothing, NULL, &arg, 1);
}

static void expect_pending(weir_event *event) {
  assert_int_equal(weir_event_wait(event, 1000000), WEIR_TIMEOUT);
}

static void readers_pass_who_reads(scene *self) {
  assert_int_equal(weir_buffer_follow(self->buffer, WEIR_READ, self->event), WEIR_OK);
  assert_int_equal(api_await(submit(self, weir_reads(self->buffer))), WEIR_OK);
  assert_int_equal(api_await(submit(self, weir_updates(self->other))), WEIR_OK);
  weir_event *writer = submit(self, weir_updates(self->buffer)), *reader = submit(self, weir_reads(self->buffer));
  expect_pending(writer);
  expect_pending(reader);
  api_expect(weir_finish_for(self->context, 1000), WEIR_TIMEOUT, "'follow'", "which waits for host event 'outside'",
             NULL);
  assert_int_equal(weir_host_event_signal(self->event, WEIR_OK), WEIR_OK);
  assert_int_equal(api_await(writer), WEIR_OK);
  assert_int_equal(api_await(reader), WEIR_OK);
}

static void test_read(void **state) {
  (void)state;
  run_all(readers_pass_who_reads);
}

static void all_wait_for_who_writes(scene *self) {
  uint64_t number = 0;
  assert_int_equal(weir_buffer_follow(self->buffer, WEIR_WRITE, self->event), WEIR_OK);
  weir_event *reader = submit(self, weir_reads(self->buffer)), *copied = NULL;
  assert_int_equal(weir_copy_out(self->buffer, 8, 8, &number, &copied), WEIR_OK);
  assert_int_equal(api_await(submit(self, weir_updates(self->other))), WEIR_OK);
  expect_pending(reader);
  expect_pending(copied);
  self->memory[1] = 77;
  assert_int_equal(weir_host_event_signal(self->event, WEIR_OK), WEIR_OK);
  assert_int_equal(api_await(reader), WEIR_OK);
  assert_int_equal(api_await(copied), WEIR_OK);
  assert_int_equal(number, 77);
}

static void test_write(void **state) {
  (void)state;
  run_all(all_wait_for_who_writes);
}

static void failure_poisons(scene *self) {
  assert_int_equal(weir_buffer_follow(self->buffer, WEIR_READ_WRITE, self->event), WEIR_OK);
  weir_event *reader = submit(self, weir_reads(self->buffer));
  assert_int_equal(weir_host_event_signal(self->event, WEIR_ERROR_IO), WEIR_OK);
  api_expect(weir_event_wait(reader, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED, "follow", NULL);
  weir_event_release(reader);
  api_expect(weir_finish(self->context), WEIR_ERROR_TASK_FAILED, "follow", "host event 'outside'", NULL);
  // Whoever overwrites heals.
  assert_int_equal(api_await(submit(self, weir_writes(self->buffer))), WEIR_OK);
  assert_int_equal(api_await(submit(self, weir_reads(self->buffer))), WEIR_OK);
}

static void test_failure(void **state) {
  (void)state;
  run_all(failure_poisons);
}

static void failure_of_a_reader_poisons_nothing(scene *self) {
  assert_int_equal(weir_buffer_follow(self->buffer, WEIR_READ, self->event), WEIR_OK);
  weir_event *writer = submit(self, weir_updates(self->buffer));
  assert_int_equal(weir_host_event_signal(self->event, WEIR_ERROR_IO), WEIR_OK);
  assert_int_equal(api_await(writer), WEIR_OK);
  assert_int_equal(weir_finish(self->context), WEIR_ERROR_TASK_FAILED);
}

static void test_failure_of_a_reader(void **state) {
  (void)state;
  run_all(failure_of_a_reader_poisons_nothing);
}

static void cancelling_poisons(scene *self) {
  assert_int_equal(weir_buffer_follow(self->buffer, WEIR_WRITE, self->event), WEIR_OK);
  weir_context_cancel(self->context);
  assert_int_equal(api_await(submit(self, weir_reads(self->buffer))), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(weir_finish(self->context), WEIR_ERROR_CANCELLED);
}

static void test_cancel(void **state) {
  (void)state;
  run_all(cancelling_poisons);
}

// The event may be that of a task, and may be released at once.
static void follows_a_task(scene *self) {
  gate door = {0};
  weir_event *held = NULL;
  assert_int_equal(gate_submit(self->context, &door, NULL, 0, &held), WEIR_OK);
  assert_int_equal(weir_buffer_follow(self->buffer, WEIR_WRITE, held), WEIR_OK);
  weir_event_release(held);
  weir_event *reader = submit(self, weir_reads(self->buffer));
  expect_pending(reader);
  gate_open(&door);
  assert_int_equal(api_await(reader), WEIR_OK);
}

static void test_follows_a_task(void **state) {
  (void)state;
  scene self = {.context = api_context("cpu:3", 16, 0)};
  assert_int_equal(weir_buffer_wrap(self.context, self.memory, BYTES, &self.buffer), WEIR_OK);
  follows_a_task(&self);
  assert_int_equal(weir_context_release(self.context), WEIR_OK);
}

static void count_one(void *user) {
  ++*(int *)user;
}

// Tasks behind a task are let go before its `destroy` function is called. The buffer that follows it is good by then.
static void follows_a_task_with_data(const char *devices) {
  scene self = {.context = api_context(devices, 16, 0)};
  assert_int_equal(weir_buffer_wrap(self.context, self.memory, BYTES, &self.buffer), WEIR_OK);
  weir_kernel *kernel = api_kernel(self.context, "step", api_nothing);
  const weir_sim_launch launch = {.blocks = 1, .threads = 32, .registers = 16, .us = 1};
  assert_int_equal(weir_kernel_set_sim(kernel, &launch, 1), WEIR_OK);
  int freed = 0;
  for (int i = 1; i <= 100; i++) {
    weir_event *event = NULL;
    const weir_task task = {.kernel = kernel, .user = &freed, .destroy = count_one};
    assert_int_equal(weir_submit(self.context, &task, &event), WEIR_OK);
    assert_int_equal(weir_buffer_follow(self.buffer, WEIR_WRITE, event), WEIR_OK);
    weir_event_release(event);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(freed, i);
  }
  assert_int_equal(weir_context_release(self.context), WEIR_OK);
}

static void test_follows_a_task_with_data(void **state) {
  (void)state;
  follows_a_task_with_data("sim:ideal");
  follows_a_task_with_data("cpu:3");
}

// The launch of a graph comes after what its buffers follow; nodes name no events.
static void graphs_wait(scene *self) {
  weir_graph *graph = NULL;
  weir_event *launch = NULL;
  assert_int_equal(weir_graph_create(self->context, NULL, &graph), WEIR_OK);
  const weir_arg arg = weir_updates(self->buffer);
  weir_task node = {.host = api_nothing, .args = &arg, .arg_count = 1, .after = &self->event, .after_count = 1};
  api_expect(weir_graph_add(graph, &node, NULL), WEIR_ERROR_INVALID_ARGUMENT, "after", NULL);
  node.after_count = 0;
  assert_int_equal(weir_graph_add(graph, &node, NULL), WEIR_OK);
  assert_int_equal(weir_buffer_follow(self->buffer, WEIR_READ, self->event), WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, &launch), WEIR_OK);
  expect_pending(launch);
  assert_int_equal(weir_host_event_signal(self->event, WEIR_OK), WEIR_OK);
  assert_int_equal(api_await(launch), WEIR_OK);
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
}

static void test_graphs(void **state) {
  (void)state;
  run_all(graphs_wait);
}

static void misuse_is_refused(scene *self) {
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  weir_event *event = self->event;
  api_expect(weir_buffer_follow(NULL, WEIR_READ, event), invalid, "buffer follow", NULL);
  api_expect(weir_buffer_follow(self->buffer, WEIR_READ, NULL), invalid, "buffer follow", NULL);
  api_expect(weir_buffer_follow(self->buffer, WEIR_COMMUTE, event), invalid, "'frame'", "the mode is commute", NULL);
  api_expect(weir_buffer_follow(self->buffer, WEIR_VALUE, event), invalid, "the mode is value", NULL);
  api_expect(weir_buffer_follow(self->other, WEIR_READ, event), invalid, "Weir's own", NULL);
  api_expect(weir_buffer_event(self->buffer, WEIR_READ, NULL), invalid, "out_event is NULL", NULL);
  api_expect(weir_buffer_event(NULL, WEIR_READ, &event), invalid, "buffer event", NULL);
  assert_null(event);
  api_expect(weir_buffer_event(self->buffer, WEIR_REDUCE, &event), invalid, "the mode is reduce", NULL);
  assert_int_equal(weir_finish(self->context), WEIR_OK);
}

static void test_misuse(void **state) {
  (void)state;
  run_all(misuse_is_refused);
}

static weir_event *buffer_event(weir_buffer *buffer, weir_mode mode) {
  weir_event *event = NULL;
  assert_int_equal(weir_buffer_event(buffer, mode, &event), WEIR_OK);
  return event;
}

// Holds an access until the gate opens.
static void hold(weir_context *context, gate *door, weir_arg arg) {
  weir_event *held = NULL;
  assert_int_equal(gate_submit(context, door, &arg, 1, &held), WEIR_OK);
  weir_event_release(held);
}

static void test_buffer_events(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:6", 64, 0);
  weir_buffer *buffer = api_buffer(context, BYTES, "frame"), *other = api_number(context, 1);
  weir_arg part = weir_writes_range(buffer, 64, 32);
  assert_int_equal(api_await(api_submit_host(context, api_nothing, NULL, (weir_arg[]){weir_writes(buffer)}, 1)),
                   WEIR_OK);
  assert_int_equal(api_await(buffer_event(buffer, WEIR_READ_WRITE)), WEIR_OK); // nobody uses it
  gate reads = {0}, writes = {0}, elsewhere = {0};
  hold(context, &elsewhere, weir_updates(other));
  hold(context, &reads, weir_reads_range(buffer, 0, 32));
  weir_event *for_reader = buffer_event(buffer, WEIR_READ), *for_writer = buffer_event(buffer, WEIR_WRITE);
  assert_int_equal(api_await(for_reader), WEIR_OK);
  expect_pending(for_writer);
  gate_open(&reads);
  assert_int_equal(api_await(for_writer), WEIR_OK);
  hold(context, &writes, part);
  for_reader = buffer_event(buffer, WEIR_READ);
  for_writer = buffer_event(buffer, WEIR_READ_WRITE);
  expect_pending(for_reader);
  expect_pending(for_writer);
  // Nobody waits for the events.
  assert_int_equal(
      api_await(api_submit_host(context, api_nothing, NULL, (weir_arg[]){weir_updates_range(buffer, 0, 32)}, 1)),
      WEIR_OK);
  gate_open(&writes);
  assert_int_equal(api_await(for_reader), WEIR_OK);
  assert_int_equal(api_await(for_writer), WEIR_OK);
  gate_open(&elsewhere);
  // Contents that are missing are seen by who reads, and reported once.
  weir_event_release(api_submit_host(context, api_fail, NULL, (weir_arg[]){weir_updates(buffer)}, 1));
  for_reader = buffer_event(buffer, WEIR_READ);
  assert_int_equal(api_await(buffer_event(buffer, WEIR_WRITE)), WEIR_OK);
  api_expect(weir_event_wait(for_reader, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED, "buffer event", NULL);
  weir_event_release(for_reader);
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(api_await(buffer_event(buffer, WEIR_READ)), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

static atomic_uint added;

static void add_one(const weir_work *work) {
  *(uint64_t *)work->args[0] += 1;
  atomic_fetch_add(&added, 1);
}

static void add(weir_context *context, weir_arg arg) {
  for (int i = 0; i < 20; i++) weir_event_release(api_submit_host(context, add_one, NULL, &arg, 1));
}

// Tasks that commute are waited for, and copies of a reduction are combined.
static void test_sets(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:4", 64, 0);
  weir_buffer *buffer = api_number(context, 0);
  const weir_reduction sum = {.operation = WEIR_REDUCE_SUM, .type = WEIR_REDUCE_U64};
  added = 0;
  add(context, weir_commutes(buffer));
  assert_int_equal(api_await(buffer_event(buffer, WEIR_READ)), WEIR_OK);
  assert_int_equal(added, 20);
  add(context, weir_reduces(buffer, &sum));
  assert_int_equal(api_await(buffer_event(buffer, WEIR_READ)), WEIR_OK);
  assert_int_equal(added, 40);
  weir_event_release(api_submit_host(context, api_nothing, NULL, (weir_arg[]){weir_reads(buffer)}, 1));
  add(context, weir_commutes(buffer));
  add(context, weir_reduces(buffer, &sum));
  assert_int_equal(api_await(buffer_event(buffer, WEIR_WRITE)), WEIR_OK);
  assert_int_equal(added, 80);
  assert_int_equal(api_read_number(buffer), 80);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

static void commuters_wait_for_who_reads(scene *self) {
  self->memory[0] = 0;
  added = 0;
  add(self->context, weir_commutes_range(self->buffer, 0, 8));
  assert_int_equal(weir_finish(self->context), WEIR_OK);
  assert_int_equal(weir_buffer_follow(self->buffer, WEIR_READ, self->event), WEIR_OK);
  weir_event *adder = submit(self, weir_commutes_range(self->buffer, 0, 8));
  expect_pending(adder);
  assert_int_equal(weir_host_event_signal(self->event, WEIR_OK), WEIR_OK);
  assert_int_equal(api_await(adder), WEIR_OK);
  assert_int_equal(self->memory[0], 20);
}

static void test_commuters(void **state) {
  (void)state;
  run_all(commuters_wait_for_who_reads);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_read),
      cmocka_unit_test(test_write),
      cmocka_unit_test(test_failure),
      cmocka_unit_test(test_failure_of_a_reader),
      cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_follows_a_task),
      cmocka_unit_test(test_follows_a_task_with_data),
      cmocka_unit_test(test_misuse),
      cmocka_unit_test(test_buffer_events),
      cmocka_unit_test(test_sets),
      cmocka_unit_test(test_commuters),
      cmocka_unit_test(test_graphs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
