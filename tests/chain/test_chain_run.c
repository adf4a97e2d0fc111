// SPDX-License-Identifier: Apache-2.0
//
// Chains as they run: stages overlap and wait for room, a slow chain holds nobody else back, failures stay with their item, chains
// are released with items in flight. Nothing here depends on time: kernels wait for each other, or at gates.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"
#include "rig.h"
#include "weir/sim.h"

enum { POLL_US = 50, POLLS_PER_MINUTE = 60 * 1000 * 1000 / POLL_US };

static void await_at_least(atomic_uint *number, uint32_t least) {
  for (int i = 0; atomic_load(number) < least; i++) {
    if (i == POLLS_PER_MINUTE) abort(); // the tasks that should run side by side do not
    usleep(POLL_US);
  }
}

// Two stages with a link between, without other arguments.
typedef struct pair {
  weir_context *context;
  weir_chain *chain;
} pair;

static pair open_pair_in(weir_context *context, weir_function first, weir_function second, void *user, uint64_t bytes,
                         uint32_t depth, uint32_t in_flight) {
  const weir_chain_arg writes = weir_chain_writes(0), reads = weir_chain_reads(0);
  const weir_chain_stage stages[2] = {
      {.host = first, .user = user, .device = weir_context_device(context, 0), .args = &writes, .arg_count = 1},
      {.host = second, .user = user, .device = weir_context_device(context, 1), .args = &reads, .arg_count = 1}};
  const weir_chain_options options = {.stages = stages,
                                      .stage_count = 2,
                                      .link_bytes = &bytes,
                                      .link_count = 1,
                                      .depth = depth,
                                      .in_flight = in_flight};
  pair p = {.context = context};
  rig_ok(weir_chain_create(context, &options, &p.chain));
  return p;
}

static pair open_pair(weir_function first, weir_function second, void *user, uint32_t depth) {
  return open_pair_in(rig_open("cpu:1,cpu:1", 0, 0), first, second, user, 64, depth, UINT32_MAX);
}

static void submit(weir_chain *chain, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) rig_ok(weir_chain_submit(chain, NULL, NULL));
}

// Each stage waits until the other has started: the first with the next item, the second with the item before.
typedef struct dance {
  uint32_t items;
  atomic_uint first, second; // items that started
} dance;

static void first_dances(const weir_work *work) {
  dance *d = work->user;
  uint32_t item = atomic_fetch_add(&d->first, 1);
  if (item > 0) await_at_least(&d->second, item);
}

static void second_dances(const weir_work *work) {
  dance *d = work->user;
  uint32_t item = atomic_fetch_add(&d->second, 1);
  if (item + 1 < d->items) await_at_least(&d->first, item + 2);
}

static void two_buffers_let_stages_overlap(void **state) {
  (void)state;
  dance d = {.items = 30};
  pair p = open_pair(first_dances, second_dances, &d, 2);
  submit(p.chain, d.items);
  rig_ok(weir_finish(p.context));
  assert_int_equal(atomic_load(&d.second), d.items);
  weir_context_release(p.context);
}

static atomic_uint passed_first;

static void pass_first(const weir_work *work) {
  (void)work;
  atomic_fetch_add(&passed_first, 1);
}

static void await_done(weir_chain *chain, uint32_t stage, uint64_t count) {
  weir_chain_statistics statistics;
  for (int i = 0;; i++) {
    rig_ok(weir_chain_get_statistics(chain, &statistics));
    if (statistics.stages[stage].done >= count) return;
    if (i == POLLS_PER_MINUTE) fail_msg("stage %u did %u items", stage, (unsigned)statistics.stages[stage].done);
    usleep(POLL_US);
  }
}

static void a_stage_ahead_waits_for_room(void **state) {
  (void)state;
  for (uint32_t depth = 1; depth <= 3; depth++) {
    gate held = {false};
    atomic_store(&passed_first, 0);
    pair p = open_pair(pass_first, gate_function, &held, depth);
    submit(p.chain, 20);
    gate_await(&held, 1);
    await_done(p.chain, 0, depth);
    assert_int_equal(atomic_load(&passed_first), depth);
    gate_open(&held);
    rig_ok(weir_finish(p.context));
    assert_int_equal(atomic_load(&passed_first), 20);
    weir_chain_statistics statistics;
    rig_ok(weir_chain_get_statistics(p.chain, &statistics));
    assert_true(statistics.stages[0].room_ns > 0); // from the end of its last item to the opening of the gate
    assert_true(statistics.stages[1].busy_ns > 0);
    assert_int_equal(statistics.most_in_flight, 20);
    weir_context_release(p.context);
  }
}

static void a_stage_waits_for_input(void **state) {
  (void)state;
  gate held = {.open = true};
  pair p = open_pair(gate_function, pass_first, &held, 2);
  submit(p.chain, 1);
  await_done(p.chain, 1, 1);
  atomic_store(&held.open, false);
  submit(p.chain, 1);
  gate_await(&held, 2);
  gate_open(&held);
  rig_ok(weir_finish(p.context));
  weir_chain_statistics statistics;
  rig_ok(weir_chain_get_statistics(p.chain, &statistics));
  assert_true(statistics.stages[0].input_ns > 0); // before the second item was submitted
  assert_true(statistics.stages[1].input_ns > 0);
  assert_int_equal(statistics.stages[1].room_ns, 0);
  assert_ptr_equal(statistics.stages[1].device, weir_context_device(p.context, 1));
  weir_context_release(p.context);
}

static void links_keep_their_memory(void **state) {
  (void)state;
  enum { BYTES = 1 << 20, DEPTH = 3 };
  gate held = {false};
  weir_context *context = rig_open("cpu:1,cpu:1", 0, 0);
  pair p = open_pair_in(context, pass_first, gate_function, &held, BYTES, DEPTH, UINT32_MAX);
  submit(p.chain, 100);
  gate_open(&held);
  rig_ok(weir_finish(context));
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  assert_true(statistics.peak_bytes >= DEPTH * BYTES);
  assert_true(statistics.peak_bytes <= DEPTH * (BYTES + BYTES / 4));
  assert_int_equal(statistics.renamed, 0);
  weir_context_release(context);
}

static void a_held_chain_holds_nobody_else_back(void **state) {
  (void)state;
  gate held = {false}, open = {.open = true};
  weir_context *context = rig_open("cpu:1,cpu:1,cpu:1", 16, 0);
  const weir_chain_stage slow = {.host = gate_function, .user = &held, .device = weir_context_device(context, 2)};
  weir_chain *chain = NULL;
  rig_ok(weir_chain_create(context, &(weir_chain_options){.stages = &slow, .stage_count = 1}, &chain));
  submit(chain, 4); // as many as may be in flight: depth * (stages + 1)
  pair other = open_pair_in(context, pass_first, gate_function, &open, 64, 2, 2);
  submit(other.chain, 5); // the window still has room for these
  await_done(other.chain, 1, 5);
  gate_open(&held);
  rig_ok(weir_finish(context));
  weir_chain_statistics statistics;
  rig_ok(weir_chain_get_statistics(chain, &statistics));
  assert_int_equal(statistics.most_in_flight, 4);
  rig_ok(weir_chain_get_statistics(other.chain, &statistics));
  assert_true(statistics.most_in_flight <= 2);
  weir_context_release(context);
}

static void fail_odd(const weir_work *work) {
  if (atomic_fetch_add(&passed_first, 1) % 2 == 1) weir_work_fail(work, "odd");
}

static void a_failure_stays_with_its_item(void **state) {
  (void)state;
  gate open = {.open = true};
  atomic_store(&passed_first, 0);
  pair p = open_pair(fail_odd, gate_function, &open, 1);
  weir_event *events[10];
  for (int i = 0; i < 10; i++) rig_ok(weir_chain_submit(p.chain, &(weir_chain_item){.tag = 100}, &events[i]));
  for (int i = 0; i < 10; i++) {
    assert_int_equal(weir_event_wait(events[i], WEIR_FOREVER), i % 2 ? WEIR_ERROR_TASK_FAILED : WEIR_OK);
    if (i == 3) {
      const char *message = weir_event_message(events[i]);
      if (strstr(message, "item 3 of the chain, stage 0 'host task': task ") == NULL || strstr(message, "odd") == NULL)
        fail_msg("%s", message);
    }
    weir_event_release(events[i]);
  }
  rig_refused(weir_finish(p.context), WEIR_ERROR_TASK_FAILED, "odd"); // as for any task
  rig_ok(weir_finish(p.context));
  weir_chain_statistics statistics;
  rig_ok(weir_chain_get_statistics(p.chain, &statistics));
  assert_int_equal(statistics.failed, 5);
  assert_int_equal(statistics.stages[0].failed, 5);
  assert_int_equal(statistics.stages[1].skipped, 5);
  assert_int_equal(statistics.stages[1].done, 5);
  weir_context_release(p.context);
}

static void cancelled_items_say_so(void **state) {
  (void)state;
  gate held = {false};
  pair p = open_pair(gate_function, gate_function, &held, 2);
  weir_event *events[2];
  for (int i = 0; i < 2; i++) rig_ok(weir_chain_submit(p.chain, NULL, &events[i]));
  gate_await(&held, 1);
  weir_context_cancel(p.context);
  gate_open(&held);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(weir_event_wait(events[i], WEIR_FOREVER), WEIR_ERROR_CANCELLED);
    weir_event_release(events[i]);
  }
  assert_int_equal(weir_finish(p.context), WEIR_ERROR_CANCELLED);
  submit(p.chain, 3);
  rig_ok(weir_finish(p.context));
  weir_context_release(p.context);
}

static void release_with_items_in_flight(void **state) {
  (void)state;
  for (int with_chain = 0; with_chain < 2; with_chain++) {
    gate held = {false};
    atomic_store(&passed_first, 0);
    pair p = open_pair(pass_first, gate_function, &held, 2);
    weir_event *event = NULL;
    submit(p.chain, 20);
    rig_ok(weir_chain_submit(p.chain, NULL, &event));
    gate_await(&held, 1);
    if (with_chain) rig_ok(weir_chain_release(p.chain));
    assert_int_equal(weir_event_poll(event), WEIR_PENDING);
    gate_open(&held);
    if (with_chain) rig_ok(weir_event_wait(event, WEIR_FOREVER));
    weir_event_release(event);
    weir_context_release(p.context); // the other time it takes the chain
    assert_int_equal(atomic_load(&passed_first), 21);
  }
}

// A source that lives in callbacks: each item that is done submits the next one.
typedef struct source {
  weir_chain *chain;
  gate last; // of the last stage: no item ends while a callback submits
  atomic_uint left, refused, full, returned;
} source;

static void next_item(void *user, weir_status status) {
  source *s = user;
  weir_event *event = NULL;
  if (status != WEIR_OK) atomic_fetch_add(&s->refused, 1);
  if (atomic_load(&s->left) == 0) {
    atomic_fetch_add(&s->returned, 1);
    return;
  }
  atomic_fetch_sub(&s->left, 1);
  atomic_store(&s->last.open, false);
  if (weir_chain_submit(s->chain, NULL, &event) != WEIR_OK || weir_event_on_done(event, next_item, s) != WEIR_OK)
    atomic_fetch_add(&s->refused, 1);
  weir_event_release(event);
  if (weir_chain_submit(s->chain, NULL, NULL) == WEIR_ERROR_OUT_OF_MEMORY) // one more than it takes
    atomic_fetch_add(&s->full,
                     strstr(weir_last_error(), "the chain is full, and a task or callback must not wait") != NULL);
  gate_open(&s->last);
  atomic_fetch_add(&s->returned, 1);
}

static void callbacks_may_submit(void **state) {
  (void)state;
  source s = {.last = {.open = true}};
  weir_context *context = rig_open("cpu:1,cpu:1", 8, 0);
  pair p = open_pair_in(context, pass_first, gate_function, &s.last, 64, 2, 1);
  s.chain = p.chain;
  atomic_init(&s.left, 200);
  weir_event *event = NULL;
  rig_ok(weir_chain_submit(p.chain, NULL, &event));
  rig_ok(weir_event_on_done(event, next_item, &s));
  weir_event_release(event);
  while (atomic_load(&s.returned) < 201 && atomic_load(&s.refused) == 0) rig_ok(weir_finish(context));
  rig_ok(weir_finish(context));
  assert_int_equal(atomic_load(&s.refused), 0);
  assert_int_equal(atomic_load(&s.full), 200);
  weir_context_release(context);
}

static void items_come_after_events_and_before_them(void **state) {
  (void)state;
  enum { MANY = 40 };
  gate held = {false};
  atomic_store(&passed_first, 0);
  pair p = open_pair(pass_first, pass_first, NULL, 2);
  weir_event *events[MANY];
  for (int i = 0; i < MANY; i++) { // more than are kept on the stack
    weir_task task = {.host = gate_function, .user = &held, .device = weir_context_device(p.context, 1)};
    rig_ok(weir_submit(p.context, &task, &events[i]));
  }
  weir_event *event = NULL;
  weir_chain_item item = {.after = events, .after_count = MANY};
  rig_ok(weir_chain_submit(p.chain, &item, &event));
  gate behind = {.open = true};
  weir_task follower = {.host = gate_function,
                        .user = &behind,
                        .after = &event,
                        .after_count = 1,
                        .device = weir_context_device(p.context, 0)};
  rig_ok(weir_submit(p.context, &follower, NULL));
  gate_await(&held, 1);
  assert_int_equal(atomic_load(&passed_first), 0);
  assert_int_equal(atomic_load(&behind.entered), 0);
  gate_open(&held);
  gate_await(&behind, 1);
  assert_int_equal(atomic_load(&passed_first), 2);
  rig_ok(weir_finish(p.context));
  for (int i = 0; i < MANY; i++) weir_event_release(events[i]);
  weir_event_release(event);
  weir_context_release(p.context);
}

// A task that submits another, with an event. On a simulated device it may run in the thread that submits an item.
static void submit_inner(const weir_work *work) {
  const weir_task inner = {.kernel = *(weir_kernel *const *)work->args[0]};
  weir_event *event = NULL;
  weir_status status = weir_submit(work->user, &inner, &event);
  if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY) weir_work_fail(work, weir_last_error());
  weir_event_release(event);
}

static weir_kernel *sim_kernel(weir_context *context, const char *name, weir_function function) {
  const weir_sim_launch launch = {.threads = 64, .us = 2};
  weir_kernel *kernel = NULL;
  rig_ok(weir_kernel_create(context, name, &kernel));
  rig_ok(weir_kernel_set_cpu(kernel, function));
  rig_ok(weir_kernel_set_sim(kernel, &launch, 1));
  return kernel;
}

static void tasks_of_items_may_submit(void **state) {
  (void)state;
  enum { ITEMS = 500 };
  weir_context *context = rig_open("sim:h200", 0, 0);
  weir_kernel *outer = sim_kernel(context, "outer", submit_inner), *inner = sim_kernel(context, "inner", pass_first);
  const weir_chain_arg arg = weir_chain_fixed(weir_value(&inner, sizeof inner));
  const weir_chain_stage stage = {.kernel = outer, .user = context, .args = &arg, .arg_count = 1};
  weir_chain *chain = NULL;
  rig_ok(weir_chain_create(context, &(weir_chain_options){.stages = &stage, .stage_count = 1, .in_flight = UINT32_MAX},
                           &chain));
  submit(chain, ITEMS);
  rig_ok(weir_finish(context));
  weir_chain_statistics statistics;
  rig_ok(weir_chain_get_statistics(chain, &statistics));
  assert_int_equal(statistics.stages[0].done, ITEMS);
  assert_int_equal(statistics.done, ITEMS);
  assert_int_equal(statistics.in_flight, 0);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(two_buffers_let_stages_overlap),
                                     cmocka_unit_test(a_stage_ahead_waits_for_room),
                                     cmocka_unit_test(a_stage_waits_for_input),
                                     cmocka_unit_test(links_keep_their_memory),
                                     cmocka_unit_test(a_held_chain_holds_nobody_else_back),
                                     cmocka_unit_test(a_failure_stays_with_its_item),
                                     cmocka_unit_test(cancelled_items_say_so),
                                     cmocka_unit_test(release_with_items_in_flight),
                                     cmocka_unit_test(callbacks_may_submit),
                                     cmocka_unit_test(items_come_after_events_and_before_them),
                                     cmocka_unit_test(tasks_of_items_may_submit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
