// SPDX-License-Identifier: Apache-2.0
//
// Launches in flight: listed, waited for, ended.
#include "graph/flight.h"

#include <stddef.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/external.h"
#include "engine/process.h"
#include "engine/queue.h"
#include "engine/watch.h"

static weir__graph_launch *launch_of(const weir__ending *ending) {
  return (weir__graph_launch *)(void *)((char *)(uintptr_t)ending - offsetof(weir__graph_launch, ending));
}

// The oldest launch in flight that has bytes for the caller's memory; NULL: none.
static weir__graph_launch *oldest_with_bytes(const weir_graph *graph) {
  weir__graph_launch *launch = graph->first_launch;
  while (launch != NULL && !launch->ending.delivers) launch = launch->next;
  return launch;
}

// Launches that have bytes for the caller's memory come to their ends in order, so that those of a later one stay.
static bool is_next(const weir__ending *ending) {
  const weir__graph_launch *launch = launch_of(ending);
  return oldest_with_bytes(launch->run.graph) == launch;
}

void weir__graph_run_stage_out(weir__graph_run *run) {
  if (!weir__graph_run_stages_out(run)) return;
  weir_context *context = run->context;
  weir__context_lock(context);
  bool next = oldest_with_bytes(run->graph) == weir__graph_launch_of(run);
  weir__context_unlock(context);
  if (!next) return;
  weir__graph_run_copy_out(run);
  run->staged_out = true;
}

// Part of the launch, in ThreadSanitizer's eyes.
static void copy_out_watched(void *argument) {
  weir__graph_launch *launch = argument;
  weir__watch_acquire(launch->event->sync);
  weir__graph_run_copy_out(&launch->run);
  weir__tsan_release(&launch->event->sync->end);
}

static void copy_out(weir__graph_launch *launch) {
  if (launch->event->sync != NULL)
    weir__tsan_call(copy_out_watched, launch);
  else
    weir__graph_run_copy_out(&launch->run);
}

// Puts the bytes of the launch into the caller's memory, if the device's thread did not, and lets the next launch do so.
static void deliver(weir__ending *ending) {
  weir__graph_launch *launch = launch_of(ending);
  weir__graph_run *run = &launch->run;
  if (!run->staged_out && run->ran) {
    weir__host_unlock_and_wake(&run->context->host);
    copy_out(launch);
    weir__context_lock_again(run->context);
  }
  ending->delivers = false;
  const weir__graph_launch *next = oldest_with_bytes(run->graph);
  if (next != NULL && next->event->decided) weir__event_queue(next->event);
}

static void note_failure(weir_graph *graph, uint64_t number, const weir_event *event) {
  if (event->outcome == WEIR_OK || (graph->failure != WEIR_OK && graph->failed_launch < number)) return;
  graph->failure = event->outcome;
  graph->failed_launch = number;
  snprintf(graph->failure_text, sizeof graph->failure_text, "%s", event->message);
}

static void end(weir__ending *ending) {
  weir__graph_launch *launch = launch_of(ending);
  weir_graph *graph = launch->run.graph;
  if (launch->previous != NULL)
    launch->previous->next = launch->next;
  else
    graph->first_launch = launch->next;
  if (launch->next != NULL)
    launch->next->previous = launch->previous;
  else
    graph->last_launch = launch->previous;
  if (!launch->reported) note_failure(graph, launch->number, launch->event);
  if (graph->sync != NULL) weir__watch_pass(launch->event->sync, &graph->sync->end);
  weir__graph_launch_drop(launch);
  if (--graph->running == 0 && graph->to_be_freed)
    weir__object_give(&graph->object.context->objects.graphs, &graph->object);
}

void weir__flight_begin(weir__graph_launch *launch, weir_event *event) {
  static const weir__ending_rules rules = {
      .is_next = is_next, .deliver = deliver, .end = end, .let_go = weir__contents_let_go};
  weir_graph *graph = launch->run.graph;
  launch->ending = (weir__ending){.rules = &rules, .delivers = weir__graph_run_stages_out(&launch->run)};
  launch->writes_host = weir__graph_run_writes_host(&launch->run);
  launch->event = event;
  launch->holders = 2;
  launch->number = ++graph->launch_count;
  launch->next = NULL;
  launch->previous = graph->last_launch;
  if (graph->last_launch != NULL)
    graph->last_launch->next = launch;
  else
    graph->first_launch = launch;
  graph->last_launch = launch;
  graph->running++;
  event->ending = &launch->ending;
}

// The caller does not wait for the launch any more: how it ends is told by weir_graph_wait.
static void leave(weir_graph *graph, uint64_t number, const weir_event *event) {
  weir__context_lock_again(graph->object.context);
  weir__graph_launch *launch = graph->first_launch;
  while (launch != NULL && launch->number != number) launch = launch->next;
  if (launch != NULL)
    launch->reported = false;
  else
    note_failure(graph, number, event);
  weir__context_unlock(graph->object.context);
}

weir_status weir_graph_evaluate(weir_graph *graph, uint64_t timeout_ns) {
  if (weir__this_thread.in_task)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph evaluate: %s", weir__thread_place());
  uint64_t start = weir__clock_ns();
  uint64_t number;
  weir_event *event;
  weir_status status = weir__graph_submit(graph, &number, &event);
  if (status != WEIR_OK) return status;
  uint64_t spent = weir__clock_ns() - start;
  uint64_t left = timeout_ns == WEIR_FOREVER ? WEIR_FOREVER : timeout_ns > spent ? timeout_ns - spent : 0;
  weir_context *context = event->object.context;
  uint64_t start_ns = weir__host_wait_begin(context);
  status = weir__event_await(event, left);
  weir__host_wait_end(context, WEIR__TRACE_EVENT, event->task, status != WEIR_TIMEOUT, start_ns);
  if (status == WEIR_TIMEOUT) {
    leave(graph, number, event);
    weir__error(status, "graph evaluate: the launch still runs after %llu ns, and goes on",
                (unsigned long long)timeout_ns);
  } else if (status != WEIR_OK) {
    weir__error(status, "graph evaluate: %s", event->message);
  }
  weir_event_release(event);
  return status;
}

// Waits for the oldest launch in flight, if it is not newer than `newest`. The lock is held before and after, not
// meanwhile. False: it is not done at the deadline (0: none). `*out_any`: there was one.
static bool await_oldest(weir_graph *graph, uint64_t newest, uint64_t deadline_ns, bool *out_any) {
  const weir__graph_launch *launch = graph->first_launch;
  *out_any = launch != NULL && launch->number <= newest;
  if (!*out_any) return true;
  weir_context *context = graph->object.context;
  weir_event *event = launch->event;
  event->references++;
  weir__context_unlock(context);
  uint64_t start_ns = weir__host_wait_begin(context);
  bool done = weir__event_await(event, weir__left_until(deadline_ns)) != WEIR_TIMEOUT;
  weir__host_wait_end(context, WEIR__TRACE_EVENT, event->task, done, start_ns);
  weir__context_lock_again(graph->object.context);
  weir__event_drop(event);
  return done;
}

weir_status weir_graph_wait(weir_graph *graph, uint64_t timeout_ns) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph wait");
  if (status != WEIR_OK) return status;
  status = weir__check_waiter(graph->object.context, "graph wait");
  if (status != WEIR_OK) return status;
  uint64_t deadline = weir__deadline_after(timeout_ns);
  weir_context *context = graph->object.context;
  weir__context_lock_until(context, deadline); // launches are never held back
  bool any = true, done = graph->queued == 0 || weir__queue_await_all(context, deadline);
  uint64_t newest = graph->launch_count;
  while (any && done) done = await_oldest(graph, newest, deadline, &any);
  if (!done) {
    status = weir__error(WEIR_TIMEOUT, "graph wait: %u launches still run after %llu ns, and go on",
                         graph->running + graph->queued, (unsigned long long)timeout_ns);
  } else {
    weir__watch_acquire(graph->sync);
  }
  if (done && graph->failure != WEIR_OK) {
    status = weir__error(graph->failure, "graph wait: %s", graph->failure_text);
    graph->failure = WEIR_OK;
  }
  weir__context_unlock(context);
  return status;
}

weir_status weir_graph_times(weir_graph *graph, uint32_t count, uint64_t *out_start_ns, uint64_t *out_end_ns) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph times");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  weir__context_lock(context);
  if (graph->times == NULL)
    status = weir__error(WEIR_ERROR_UNAVAILABLE,
                         "graph times: no launch with times is done; weir_graph_options.timing has them noted");
  else if (count != graph->time_count)
    status = weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph times: the last launch with times had %u tasks, not %u",
                         graph->time_count, count);
  for (uint32_t i = 0; status == WEIR_OK && i < count; i++) {
    if (out_start_ns != NULL) out_start_ns[i] = graph->times[i];
    if (out_end_ns != NULL) out_end_ns[i] = graph->times[count + i];
  }
  weir__context_unlock(context);
  return status;
}
