// SPDX-License-Identifier: Apache-2.0
//
// Sequences of tasks that come again, where what is held back finds no room, and a thread waits for some: what other calls and tasks do
// meanwhile.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/context.h"
#include "rig.h"
#include "weir/batch.h"
#include "weir/graph.h"
#include "weir/group.h"

static uint64_t room(weir_context *context) {
  weir__context_lock_to_submit(context);
  uint64_t slots = weir__window_room(&context->host.window, 0);
  weir__context_unlock(context);
  return slots;
}

// Puts the trace cache to sleep while the other thread waits for room, and opens the gate. Where runs of a slow thread were broken off,
// their tasks fill the window, and this thread would wait for the gate, too: then it submits no more.
static void *bore(void *argument) {
  enum { NEW = 2500, MARGIN = 256 }; // more tasks than are looked at while nothing comes again
  gate *self = argument;
  weir_context *context = self->shared->context;
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, NEW * sizeof(uint32_t), &buffer), WEIR_OK);
  while (!atomic_load(&self->begun)) rig_nap(100000);
  rig_nap(20000000);
  for (uint32_t i = 0; i < NEW && room(context) > MARGIN; i++) {
    const uint32_t no = 0;
    const weir_arg args[] = {weir_updates_range(buffer, i * sizeof no, sizeof no), weir_value(&no, sizeof no)};
    weir_event *event; // a run ends with each, so that none is begun
    assert_int_equal(
        weir_submit(context, &(weir_task){.kernel = self->shared->fail, .args = args, .arg_count = 2}, &event),
        WEIR_OK);
    weir_event_release(event);
  }
  atomic_store(&self->open, true);
  weir_buffer_release(buffer);
  return NULL;
}

// A run that waits for room is not begun if nothing is looked at any more: its first task would be held back, and overtaken.
static void the_cache_falls_asleep_while_a_run_waits_for_room(void **state) {
  (void)state;
  enum { WINDOW = 4096, PASSES = 3 }; // in a run: the window is full before too many launches are in flight
  rig self;
  // By default runs whose tasks come slowly are given up, and then the window is full before the gate opens.
  rig_open_with(&self, (weir_context_options){.devices = "cpu:2", .window = WINDOW, .flags = WEIR_CONTEXT_REPEATS});
  for (uint32_t i = 0; i < 8 || rig_statistics(&self).repeated == 0; i++) { // those of a slow thread are broken off
    assert_true(i < 100000);
    for (uint32_t j = 0; j < PASSES; j++) rig_pass(&self, 0, TASKS, i);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
  }
  gate before = {.shared = &self};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, bore, &before), 0);
  weir_kernel *stand = rig_kernel(self.context, "stand", rig_stands);
  weir_arg args[BUFFERS];
  for (uint32_t i = 0; i < BUFFERS; i++) args[i] = weir_updates(self.buffers[i]);
  const weir_task task = {.kernel = stand, .user = &before, .args = args, .arg_count = BUFFERS};
  assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
  (void)rig_statistics(&self); // a run may begin with the next task
  const uint32_t runs = WINDOW / (PASSES * TASKS) + 2;
  for (uint32_t i = 0; i < runs; i++) {
    if (i == runs - 2) atomic_store(&before.begun, true);
    for (uint32_t j = 0; j < PASSES; j++) rig_pass(&self, 0, TASKS, i);
  }
  rig_expect(&self);
  pthread_join(thread, NULL);
  rig_close(&self);
}

// Submits the beginning of a pass, and what does not come next: the beginning is submitted then, and waits for room.
static void *turn_away(void *argument) {
  rig *self = argument;
  rig_pass(self, 0, TASKS / 2, 7);
  rig_submit(self, &self->steps[TASKS - 1], NULL);
  return NULL;
}

static uint64_t window_waits(const rig *self) {
  weir__context_lock_to_submit(self->context); // not as weir_context_statistics, which is to be tested
  uint64_t waits = self->context->host.statistics.window_waits;
  weir__context_unlock(self->context);
  return waits;
}

// A task that waits for a host event, and others for it.
static void wait_outside(rig *self, weir_event **out_host, weir_event **out_task) {
  rig_open_with(self, (weir_context_options){.devices = "cpu:2", .window = 8, .flags = WEIR_CONTEXT_REPEATS});
  rig_learn(self);
  assert_int_equal(weir_host_event_create(self->context, "outside", out_host), WEIR_OK);
  const uint32_t no = 0;
  const weir_arg args[] = {weir_updates(self->buffers[0]), weir_value(&no, sizeof no)};
  const weir_task task = {.kernel = self->fail, .args = args, .arg_count = 2, .after = out_host, .after_count = 1};
  assert_int_equal(weir_submit(self->context, &task, out_task), WEIR_OK);
}

// A window that is full of tasks which wait for a host event, and a thread that waits for room in it.
static void fill_window(rig *self, weir_event **out_host, weir_event **out_task, pthread_t *out_thread) {
  wait_outside(self, out_host, out_task);
  uint64_t before = window_waits(self);
  assert_int_equal(pthread_create(out_thread, NULL, turn_away, self), 0);
  while (window_waits(self) == before) rig_nap(100000);
}

// Submits the beginning of a pass, which is held back. Where an idle thread broke it off, this thread waits for room.
typedef struct beginning {
  rig *shared;
  pthread_t thread;
  _Atomic bool done;
} beginning;

static void *begin_pass(void *argument) {
  beginning *self = argument;
  rig_pass(self->shared, 0, TASKS / 2, 7);
  atomic_store(&self->done, true);
  return NULL;
}

static void hold_back(rig *shared, beginning *self) {
  *self = (beginning){.shared = shared};
  uint64_t before = window_waits(shared);
  assert_int_equal(pthread_create(&self->thread, NULL, begin_pass, self), 0);
  while (!atomic_load(&self->done) && window_waits(shared) == before) rig_nap(100000);
}

static void count_callback(void *user, weir_status status) {
  (void)status;
  ++*(int *)user;
}

// Calls that do not wait do not wait for a thread that submits what was held back: it may wait for them.
static void calls_that_do_not_wait_pass_a_thread_that_waits_for_room(void **state) {
  (void)state;
  rig self;
  weir_event *host, *task;
  weir_group *group;
  weir_group_statistics counts;
  pthread_t thread;
  int called = 0;
  fill_window(&self, &host, &task, &thread);
  assert_true(rig_statistics(&self).tasks > 0);
  assert_int_equal(weir_event_poll(task), WEIR_PENDING);
  assert_int_equal(weir_event_on_done(task, count_callback, &called), WEIR_OK);
  assert_int_equal(weir_group_create(self.context, &group), WEIR_OK);
  assert_int_equal(weir_group_cancel(group), WEIR_OK);
  assert_int_equal(weir_group_get_statistics(group, &counts), WEIR_OK);
  assert_int_equal(weir_group_release(group), WEIR_OK);
  assert_int_equal(weir_host_event_hold(host), WEIR_OK);
  weir_kernel *fresh = rig_kernel(self.context, "fresh", rig_fails);
  const weir_arg arg = weir_reads(self.buffers[0]);
  weir_prepared *prepared;
  assert_int_equal(weir_prepare(self.context, &(weir_task){.kernel = fresh, .args = &arg, .arg_count = 1}, &prepared),
                   WEIR_OK);
  assert_int_equal(weir_prepared_release(prepared), WEIR_OK);
  assert_int_equal(weir_kernel_release(fresh), WEIR_OK);
  assert_int_equal(weir_buffer_set_label(self.buffers[0], "first"), WEIR_OK);
  weir_graph *graph;
  weir_graph_info facts;
  assert_int_equal(weir_graph_create(self.context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_add(graph, &(weir_task){.host = rig_fails, .args = &arg, .arg_count = 1}, NULL), WEIR_OK);
  assert_int_equal(weir_graph_build(graph), WEIR_OK);
  assert_int_equal(weir_graph_information(graph, &facts), WEIR_OK);
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(thread, NULL);
  rig_expect(&self);
  assert_int_equal(called, 1);
  weir_event_release(host);
  weir_event_release(task);
  rig_close(&self);
}

// Nor do they submit what is held back where it has no room.
static void calls_that_do_not_wait_leave_what_has_no_room(void **state) {
  (void)state;
  rig self;
  weir_event *host, *task;
  int called = 0;
  beginning begun;
  wait_outside(&self, &host, &task);
  hold_back(&self, &begun);
  assert_true(rig_statistics(&self).tasks > 0);
  assert_int_equal(weir_event_poll(task), WEIR_PENDING);
  assert_int_equal(weir_event_on_done(task, count_callback, &called), WEIR_OK);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(begun.thread, NULL);
  rig_expect(&self);
  assert_int_equal(called, 1);
  weir_event_release(host);
  weir_event_release(task);
  rig_close(&self);
}

// Nor does a cancellation, which makes the room.
static void cancel_passes_a_thread_that_waits_for_room(void **state) {
  (void)state;
  rig self;
  weir_event *host, *task;
  pthread_t thread;
  fill_window(&self, &host, &task, &thread);
  weir_context_cancel(self.context);
  assert_int_equal(weir_event_wait(task, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
  pthread_join(thread, NULL);
  assert_int_equal(weir_finish(self.context), WEIR_ERROR_CANCELLED);
  weir_event_release(host);
  weir_event_release(task);
  rig_close(&self);
}

// A call with a time-out does not wait longer for a thread that submits what was held back, and waits for room. Nothing makes room
// until the calls have returned.
static void time_outs_pass_a_thread_that_waits_for_room(void **state) {
  (void)state;
  enum { TIME_OUT = 50000000 };
  rig self;
  weir_event *host, *task, *launched;
  weir_group *group;
  weir_graph *graph;
  pthread_t thread;
  wait_outside(&self, &host, &task);
  assert_int_equal(weir_group_create(self.context, &group), WEIR_OK);
  const uint32_t no = 0;
  const weir_arg args[] = {weir_updates(self.buffers[0]), weir_value(&no, sizeof no)};
  const weir_task behind = {.kernel = self.fail, .args = args, .arg_count = 2, .group = group};
  assert_int_equal(weir_submit(self.context, &behind, NULL), WEIR_OK);
  assert_int_equal(weir_graph_create(self.context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_add(graph, &(weir_task){.kernel = self.fail, .args = args, .arg_count = 2}, NULL),
                   WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, &launched), WEIR_OK);
  uint64_t before = window_waits(&self);
  assert_int_equal(pthread_create(&thread, NULL, turn_away, &self), 0);
  while (window_waits(&self) == before) rig_nap(100000);
  assert_int_equal(weir_finish_for(self.context, TIME_OUT), WEIR_TIMEOUT);
  assert_non_null(strstr(weir_last_error(), "task"));
  assert_int_equal(weir_event_wait(task, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_event_wait(launched, 0), WEIR_TIMEOUT);
  assert_int_equal(weir_group_wait(group, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_graph_wait(graph, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(thread, NULL);
  assert_int_equal(weir_finish_for(self.context, WEIR_FOREVER), WEIR_OK);
  rig_expect(&self);
  weir_event_release(host);
  weir_event_release(task);
  weir_event_release(launched);
  assert_int_equal(weir_group_release(group), WEIR_OK);
  weir_graph_release(graph);
  rig_close(&self);
}

// Nor does it wait longer for room itself. What is held back is submitted by and by, as far as there is room.
static void time_outs_pass_what_has_no_room(void **state) {
  (void)state;
  enum { TIME_OUT = 50000000 };
  rig self;
  weir_event *host, *task;
  beginning begun;
  wait_outside(&self, &host, &task);
  hold_back(&self, &begun);
  assert_int_equal(weir_event_wait(task, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_finish_for(self.context, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(begun.thread, NULL);
  while (weir_finish_for(self.context, TIME_OUT) == WEIR_TIMEOUT) rig_nap(100000);
  rig_pass(&self, TASKS / 2, TASKS, 7);
  rig_pass(&self, 0, TASKS, 8);
  rig_expect(&self);
  weir_event_release(host);
  weir_event_release(task);
  rig_close(&self);
}

// A task whose function submits the next task of the run that another thread's tasks are held back for, or something else.
typedef struct parent {
  rig *shared;
  bool goes_on;
  _Atomic bool ready, done;
} parent;

// Half a pass, which is held back, and then a task of another kernel.
static void *turn_to_another_kernel(void *argument) {
  rig *self = argument;
  rig_pass(self, 0, TASKS / 2, 7);
  const uint32_t no = 0;
  const weir_arg args[] = {weir_updates(self->buffers[0]), weir_value(&no, sizeof no)};
  assert_int_equal(weir_submit(self->context, &(weir_task){.kernel = self->fail, .args = args, .arg_count = 2}, NULL),
                   WEIR_OK);
  return NULL;
}

static void release_kernels(const weir_work *work) {
  gate *self = work->user;
  atomic_fetch_add(&self->entered, 1);
  while (!atomic_load(&self->begun)) rig_nap(100000);
  weir_kernel *mix = self->shared->mix;
  if (weir_kernel_release(mix) != WEIR_OK || weir_kernel_release(mix) != WEIR_ERROR_RELEASED) abort();
  for (uint32_t i = 0; i < 2000; i++) { // more than are kept before one is used again
    weir_kernel *other;
    if (weir_kernel_create(self->shared->context, "other", &other) != WEIR_OK || other == mix) abort();
    if (weir_kernel_set_cpu(other, rig_fails) != WEIR_OK || weir_kernel_release(other) != WEIR_OK) abort();
  }
  atomic_store(&self->open, true);
}

static void cancel(const weir_work *work) {
  gate *self = work->user;
  atomic_fetch_add(&self->entered, 1);
  while (!atomic_load(&self->begun)) rig_nap(100000);
  weir_context_cancel(self->shared->context);
  atomic_store(&self->open, true);
}

// Keeps both workers busy, so that none breaks off what is held back. A thread submits, and waits for room for what it has held back;
// a task calls `function` meanwhile.
static void call_while_a_thread_waits(rig *self, weir_function function, void *(*submits)(void *),
                                      pthread_t *out_thread) {
  gate before = {.shared = self};
  const weir_function functions[] = {rig_stands, function};
  weir_event *events[2]; // a run may begin behind these
  for (uint32_t i = 0; i < 2; i++)
    assert_int_equal(weir_submit(self->context, &(weir_task){.host = functions[i], .user = &before}, &events[i]),
                     WEIR_OK);
  while (atomic_load(&before.entered) < 2) rig_nap(100000);
  uint64_t waits = window_waits(self);
  assert_int_equal(pthread_create(out_thread, NULL, submits, self), 0);
  while (window_waits(self) == waits) rig_nap(100000);
  atomic_store(&before.begun, true);
  for (uint32_t i = 0; i < 2; i++) {
    while (weir_event_poll(events[i]) == WEIR_PENDING) rig_nap(100000);
    weir_event_release(events[i]);
  }
}

// Tasks that are held back keep their kernels, although another task releases these while a thread waits for room.
static void tasks_release_kernels_of_what_is_held_back(void **state) {
  (void)state;
  rig self;
  weir_event *host, *task;
  pthread_t thread;
  wait_outside(&self, &host, &task);
  call_while_a_thread_waits(&self, release_kernels, turn_to_another_kernel, &thread);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(thread, NULL);
  rig_expect(&self);
  weir_event_release(host);
  weir_event_release(task);
  rig_close(&self);
}

static _Atomic uint32_t ticks;

static void tick(const weir_work *work) {
  (void)work;
  atomic_fetch_add(&ticks, 1);
}

static void submit_ticks(rig *self, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) { // no two are alike: they are no loop
    const char label[] = {(char)('0' + i), '\0'};
    const weir_task task = {.host = tick, .label = label};
    assert_int_equal(weir_submit(self->context, &task, NULL), WEIR_OK);
  }
}

static void *turn_from_ticks(void *argument) {
  submit_ticks(argument, TASKS - 1);
  rig_submit(argument, &((rig *)argument)->steps[0], NULL);
  return NULL;
}

// A task cancels all that was submitted, and so what is held back while a thread waits for room for it.
static void tasks_cancel_what_is_held_back(void **state) {
  (void)state;
  rig self;
  pthread_t thread;
  rig_open_with(&self, (weir_context_options){.devices = "cpu:2", .window = 8, .flags = WEIR_CONTEXT_REPEATS});
  while (rig_statistics(&self).repeated < TASKS) {
    submit_ticks(&self, TASKS);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
  }
  uint32_t before = atomic_load(&ticks);
  call_while_a_thread_waits(&self, cancel, turn_from_ticks, &thread);
  pthread_join(thread, NULL);
  assert_int_equal(weir_finish(self.context), WEIR_ERROR_CANCELLED);
  assert_int_equal(atomic_load(&ticks), before);
  rig_close(&self);
}

static void *launch(void *argument) {
  assert_int_equal(weir_graph_launch(argument, NULL), WEIR_OK);
  return NULL;
}

// Waits until threads that wait for memory have looked for it so often again.
static void await_looks(const rig *self, uint64_t count) {
  uint64_t first = 0, now = 0;
  for (bool begun = false; now < first + count; begun = true) {
    if (begun) rig_nap(1000000);
    weir__context_lock_to_submit(self->context);
    now = self->context->host.statistics.memory_waits;
    weir__context_unlock(self->context);
    if (!begun) first = now;
  }
}

// The first step that names a buffer which none before it names, and updates one that some step before it names.
static uint32_t find_late_name(const rig *self) {
  bool known[BUFFERS] = {false};
  for (uint32_t i = 0; i < TASKS; i++) {
    const step *at = &self->steps[i];
    if (known[at->to] && !known[at->a] && at->a != at->b) return i;
    known[at->to] = known[at->a] = known[at->b] = true;
  }
  return 0;
}

// A buffer that a run has named is known in it, though a thread that waits for memory meanwhile names it again and again.
static void other_threads_name_the_same_buffers(void **state) {
  (void)state;
  enum { LARGE = 100000 };
  rig self;
  rig_open_with(&self,
                (weir_context_options){.devices = "cpu:1", .memory_limit = 150000, .flags = WEIR_CONTEXT_REPEATS});
  rig_learn(&self);
  uint32_t late = find_late_name(&self);
  assert_true(late > 0);
  const step *at = &self.steps[late];
  weir_buffer *held, *wanted;
  assert_int_equal(weir_buffer_create(self.context, LARGE, &held), WEIR_OK);
  assert_int_equal(weir_buffer_create(self.context, LARGE, &wanted), WEIR_OK);
  gate before = {.shared = &self};
  const weir_arg arg = weir_writes(held);
  const weir_task task = {.host = rig_stands, .user = &before, .args = &arg, .arg_count = 1};
  assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
  weir_graph *graph;
  assert_int_equal(weir_graph_create(self.context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_fill(graph, wanted, 0, WEIR_WHOLE, 1, NULL), WEIR_OK);
  assert_int_equal(weir_graph_copy(graph, wanted, 0, self.buffers[at->to], 0, WEIR_WHOLE, NULL), WEIR_OK);
  pthread_t thread;
  while (atomic_load(&before.entered) < 1) rig_nap(100000); // no worker is idle, and breaks off what is held back
  assert_int_equal(pthread_create(&thread, NULL, launch, graph), 0);
  await_looks(&self, 1);
  rig_pass(&self, 0, late, 5);
  await_looks(&self, 2);
  const weir_arg args[] = {weir_updates(self.buffers[at->to]), weir_reads(self.buffers[at->to]),
                           weir_reads(self.buffers[at->b]), weir_value(&at->value, sizeof at->value)};
  const weir_task wrong = {.kernel = self.mix, .user = (void *)(uintptr_t)at->value, .args = args, .arg_count = 4};
  assert_int_equal(weir_submit(self.context, &wrong, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  atomic_store(&before.open, true);
  assert_int_equal(weir_buffer_release(held), WEIR_OK);
  pthread_join(thread, NULL);
  rig_expect(&self);
  weir_graph_release(graph);
  assert_int_equal(weir_buffer_release(wanted), WEIR_OK);
  rig_close(&self);
}

static void submits(const weir_work *work) {
  parent *self = work->user;
  while (!atomic_load(&self->ready)) rig_nap(100000);
  rig_submit(self->shared, &self->shared->steps[self->goes_on ? TASKS / 2 : TASKS - 1], NULL);
  atomic_store(&self->done, true);
}

// Children of a task are no part of a run that another thread submits, and that is no part of the task's group.
static void groups_have_their_own_tasks(void **state) {
  (void)state;
  for (int goes_on = 0; goes_on < 2; goes_on++) {
    rig self;
    weir_group *group;
    weir_group_statistics counts;
    rig_open(&self, "cpu:1"); // whose worker is busy, and does not submit what is held back
    rig_learn(&self);
    parent shared = {.shared = &self, .goes_on = goes_on != 0};
    assert_int_equal(weir_group_create(self.context, &group), WEIR_OK);
    const weir_task task = {.host = submits, .user = &shared, .group = group};
    assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
    rig_pass(&self, 0, TASKS / 2, 7);
    atomic_store(&shared.ready, true);
    while (!atomic_load(&shared.done)) rig_nap(100000);
    assert_int_equal(weir_group_wait(group, WEIR_FOREVER), WEIR_OK);
    assert_int_equal(weir_group_get_statistics(group, &counts), WEIR_OK);
    assert_int_equal(counts.tasks, 2);
    assert_int_equal(counts.done, 2);
    assert_int_equal(weir_group_release(group), WEIR_OK);
    rig_expect(&self);
    rig_close(&self);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_cache_falls_asleep_while_a_run_waits_for_room),
      cmocka_unit_test(calls_that_do_not_wait_pass_a_thread_that_waits_for_room),
      cmocka_unit_test(calls_that_do_not_wait_leave_what_has_no_room),
      cmocka_unit_test(cancel_passes_a_thread_that_waits_for_room),
      cmocka_unit_test(time_outs_pass_a_thread_that_waits_for_room),
      cmocka_unit_test(time_outs_pass_what_has_no_room),
      cmocka_unit_test(groups_have_their_own_tasks),
      cmocka_unit_test(other_threads_name_the_same_buffers),
      cmocka_unit_test(tasks_release_kernels_of_what_is_held_back),
      cmocka_unit_test(tasks_cancel_what_is_held_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
