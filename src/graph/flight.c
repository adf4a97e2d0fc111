// SPDX-License-Identifier: Apache-2.0
//
// Launches in flight: listed, waited for, ended.
#include "graph/flight.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"

void weir__flight_begin(weir__graph_run *run, weir_event *event) {
  weir_graph *graph = run->graph;
  run->kept = weir__graph_run_stages_out(run);
  event->run = run->kept ? run : NULL;
  event->graph = graph;
  event->writes_host = weir__graph_run_writes_host(run);
  event->launch = ++graph->launch_count;
  event->next_launch = NULL;
  event->previous_launch = graph->last_launch;
  if (graph->last_launch != NULL)
    graph->last_launch->next_launch = event;
  else
    graph->first_launch = event;
  graph->last_launch = event;
  graph->running++;
}

// The oldest launch in flight that has bytes for the caller's memory; NULL: none.
static weir_event *oldest_with_bytes(const weir_graph *graph) {
  weir_event *event = graph->first_launch;
  while (event != NULL && event->run == NULL) event = event->next_launch;
  return event;
}

bool weir__flight_is_next(const weir_event *event) {
  return oldest_with_bytes(event->graph) == event;
}

void weir__graph_run_stage_out(weir__graph_run *run) {
  if (!weir__graph_run_stages_out(run)) return;
  weir_context *context = run->context;
  weir__context_lock(context);
  const weir_event *oldest = oldest_with_bytes(run->graph);
  bool next = oldest != NULL && oldest->run == run;
  weir__context_unlock(context);
  if (!next) return;
  weir__graph_run_copy_out(run);
  run->staged_out = true;
}

void weir__flight_bring_bytes(weir_event *event) {
  weir__graph_run *run = event->run;
  if (!run->staged_out && run->ran) {
    weir__host_unlock_and_wake(&run->context->host);
    weir__graph_run_copy_out(run);
    weir__context_lock(run->context);
  }
  event->run = NULL;
  weir__graph_run_give(run);
  weir_event *next = oldest_with_bytes(event->graph);
  if (next != NULL && next->decided) weir__event_queue(next);
}

static void note_failure(weir_graph *graph, const weir_event *event) {
  if (event->outcome == WEIR_OK || event->reported ||
      (graph->failure != WEIR_OK && graph->failed_launch < event->launch))
    return;
  graph->failure = event->outcome;
  graph->failed_launch = event->launch;
  snprintf(graph->failure_text, sizeof graph->failure_text, "%s", event->message);
}

void weir__flight_end(weir_event *event) {
  weir_graph *graph = event->graph;
  if (event->previous_launch != NULL)
    event->previous_launch->next_launch = event->next_launch;
  else
    graph->first_launch = event->next_launch;
  if (event->next_launch != NULL)
    event->next_launch->previous_launch = event->previous_launch;
  else
    graph->last_launch = event->previous_launch;
  event->graph = NULL;
  note_failure(graph, event);
  if (--graph->running == 0 && graph->to_be_freed) weir__object_give(&graph->object.context->graphs, &graph->object);
}

// The caller does not wait for the launch any more: how it ends is told by weir_graph_wait.
static void leave(weir_graph *graph, weir_event *event) {
  weir__context_lock(graph->object.context);
  event->reported = false;
  if (event->graph == NULL) note_failure(graph, event);
  weir__context_unlock(graph->object.context);
}

weir_status weir_graph_evaluate(weir_graph *graph, uint64_t timeout_ns) {
  if (weir__this_thread.in_task)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph evaluate: called from a task or callback");
  uint64_t start = weir__clock_ns();
  weir_event *event;
  weir_status status = weir__graph_launch(graph, true, &event);
  if (status != WEIR_OK) return status;
  uint64_t spent = weir__clock_ns() - start;
  uint64_t left = timeout_ns == WEIR_FOREVER ? WEIR_FOREVER : timeout_ns > spent ? timeout_ns - spent : 0;
  status = weir__event_await(event, left);
  if (status == WEIR_TIMEOUT) {
    leave(graph, event);
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
  weir_event *event = graph->first_launch;
  *out_any = event != NULL && event->launch <= newest;
  if (!*out_any) return true;
  event->references++;
  weir__context_unlock(graph->object.context);
  uint64_t now = weir__clock_ns();
  uint64_t left = deadline_ns == 0 ? WEIR_FOREVER : deadline_ns > now ? deadline_ns - now : 0;
  bool done = weir__event_await(event, left) != WEIR_TIMEOUT;
  weir__context_lock(graph->object.context);
  weir__event_drop(event);
  return done;
}

weir_status weir_graph_wait(weir_graph *graph, uint64_t timeout_ns) {
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph wait");
  if (status != WEIR_OK) return status;
  if (weir__this_thread.in_task)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "graph wait: called from a task or callback");
  uint64_t now = weir__clock_ns(), deadline = timeout_ns > UINT64_MAX - 1 - now ? 0 : now + timeout_ns;
  weir_context *context = graph->object.context;
  weir__context_lock(context);
  uint64_t newest = graph->launch_count;
  bool any = true, done = true;
  while (any && done) done = await_oldest(graph, newest, deadline, &any);
  if (!done) {
    status = weir__error(WEIR_TIMEOUT, "graph wait: %u launches still run after %llu ns, and go on", graph->running,
                         (unsigned long long)timeout_ns);
  } else if (graph->failure != WEIR_OK) {
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
