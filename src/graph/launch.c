// SPDX-License-Identifier: Apache-2.0
//
// Launches: from a graph to a task of the window.
#include "base/error.h"
#include "engine/admit.h"
#include "engine/boxes.h"
#include "engine/check.h"
#include "engine/family.h"
#include "engine/pressure.h"
#include "engine/process.h"
#include "engine/reduce.h"
#include "engine/room.h"
#include "engine/transfer.h"
#include "graph/flight.h"
#include "graph/plan.h"
#include "graph/queued.h"

// Says which task names a buffer that was released.
static weir_status report_released(const weir_graph *graph, const weir_buffer *buffer, const char *what) {
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    const struct weir__recorded *node = &graph->recorded[i];
    for (uint32_t j = 0; j < node->task.arg_count; j++) {
      const weir_arg *arg = &node->args[j];
      if (arg->mode == WEIR_VALUE || arg->buffer != buffer) continue;
      bool is_box;
      uint64_t bytes = weir__arg_bytes(arg, &is_box);
      uint64_t end = bytes == WEIR_WHOLE ? buffer->bytes : arg->offset + bytes;
      const char *name = node->task.kernel != NULL ? node->task.kernel->name : "";
      return weir__error(WEIR_ERROR_RELEASED,
                         "%s: node %u '%s', argument %u: buffer %llu '%s', of which it names bytes [%llu, %llu), was "
                         "released before",
                         what, i, node->label[0] != '\0' ? node->label : name, j, (unsigned long long)buffer->id,
                         buffer->label, (unsigned long long)arg->offset, (unsigned long long)end);
    }
  }
  return weir__error(WEIR_ERROR_RELEASED, "%s: buffer %llu '%s' was released before", what,
                     (unsigned long long)buffer->id, buffer->label);
}

// Checks that everything the graph names is still there.
static weir_status check_names(weir_graph *graph, const char *what) {
  weir_context *context = graph->object.context;
  for (uint32_t i = 0; i < graph->buffer_count; i++) {
    weir_status status = weir__object_check(graph->buffers[i], WEIR__KIND_BUFFER, context, what);
    if (status == WEIR_ERROR_RELEASED) return report_released(graph, graph->buffers[i], what);
    if (status != WEIR_OK) return status;
  }
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    weir_kernel *kernel = graph->recorded[i].task.kernel;
    if (kernel == NULL || !kernel->object.released) continue;
    return weir__error(WEIR_ERROR_RELEASED, "%s: node %u '%s': its kernel '%s' was released before", what, i,
                       graph->recorded[i].label[0] != '\0' ? graph->recorded[i].label : kernel->name, kernel->name);
  }
  return WEIR_OK;
}

// Brings the contents that a launch needs to its device, and waits for room in the window.
static weir__admit_result make_room(weir_context *context, const weir__submission *by, weir__graph_run *run,
                                    uint32_t *out_write_backs, weir_status *out_status) {
  uint32_t count = run->unsettled, slots = 0;
  *out_write_backs = 0;
  if (context->memory.space_count > 1) {
    weir__admit_result result = weir__transfer_accesses(context, by, run->accesses, count, out_write_backs, out_status);
    if (result != WEIR__ADMITTED) return result;
    slots = weir__write_back_slots(context, run->accesses, count, *out_write_backs);
    if (!weir__range_pool_reserve_many(&context->order.ranges, run->plan->external_count + *out_write_backs,
                                       run->plan->buffer_count))
      return weir__no_memory(by, "arguments", out_status);
  }
  return weir__await_room(context, by, slots + 1, out_status);
}

// A launch on its way to be admitted. What it holds is given back if it is refused.
typedef struct attempt {
  weir_graph *graph;
  weir__graph_run *run; // NULL: none yet
  bool reported;        // the caller learns how it ends
  const weir__submission *by;
} attempt;

weir_status weir__graph_check(weir_graph *graph, const char *what) {
  // By another thread, while this launch waited for room.
  if (graph->object.released) return weir__error(WEIR_ERROR_RELEASED, "%s: the graph was released before", what);
  if (graph->recorded_count == 0) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the graph has no tasks", what);
  weir_status status = weir__graph_prepare(graph);
  if (status == WEIR_OK) status = check_names(graph, what);
  return status == WEIR_OK ? weir__graph_check_queue(graph->plan->asked, graph->queue, what) : status;
}

// The caller's memory that the device does not reach is copied to where it does. AGAIN: the lock was released meanwhile.
static weir__admit_result stage(weir__graph_run *run, const weir__submission *by, weir_status *out_status) {
  weir_context *context = run->graph->object.context;
  weir__context_unlock(context);
  bool all_reached = weir__graph_run_reach(run);
  weir__context_lock_again(context);
  if (all_reached) return WEIR__RETRY;
  weir__admit_result result = weir__graph_run_take_staging(run, by, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir__context_unlock(context);
  weir__graph_run_stage_in(run);
  weir__context_lock_again(context);
  return WEIR__RETRY;
}

static weir__admit_result get_run(attempt *launched, weir_status *out_status) {
  weir_graph *graph = launched->graph;
  if (launched->run != NULL && launched->run->plan != graph->plan) {
    weir__graph_run_give(launched->run);
    launched->run = NULL;
  }
  if (launched->run != NULL) return WEIR__ADMITTED;
  launched->run = weir__graph_run_take(graph);
  if (launched->run == NULL) {
    *out_status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph launch: no memory for %u tasks", graph->recorded_count);
    return WEIR__REFUSED;
  }
  if (graph->plan->host_count == 0 || graph->plan->device->space == WEIR__HOST_SPACE ||
      weir__graph_run_host_access_known(launched->run))
    return WEIR__ADMITTED;
  weir__admit_result result = stage(launched->run, launched->by, out_status);
  if ((result == WEIR__RETRY || result == WEIR__LATER) && !launched->run->staged) {
    // Memory was waited for: what is to be copied in may have changed by now.
    weir__graph_run_give(launched->run);
    launched->run = NULL;
  }
  return result;
}

static void submitted(attempt *launched, weir_event *event, bool wanted) {
  weir_graph *graph = launched->graph;
  weir__graph_launch *launch = weir__graph_launch_of(launched->run);
  weir__flight_begin(launch, event);
  launch->reported = launched->reported;
  graph->object.last_use = launched->run->task_id;
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    if (graph->recorded[i].task.kernel != NULL)
      graph->recorded[i].task.kernel->object.last_use = launched->run->task_id;
  }
  launched->run = NULL;
  if (wanted) return;
  event->object.released = true;
  weir__event_drop(event);
}

// The last launch in flight in which the device writes to the caller's memory by itself, if this one does it too: nothing
// else keeps their order. NULL: none.
static weir_event *writer_before(const weir__graph_run *run) {
  if (!weir__graph_run_writes_host(run)) return NULL;
  const weir__graph_launch *launch = run->graph->last_launch;
  while (launch != NULL && !launch->writes_host) launch = launch->previous;
  return launch == NULL ? NULL : launch->event;
}

static weir__admit_result enter(weir_context *context, attempt *launched, weir_event **out_event,
                                weir_status *out_status) {
  weir_graph *graph = launched->graph;
  // A queued launch was checked.
  *out_status = launched->by->queued ? weir__graph_prepare(graph) : weir__graph_check(graph, "graph launch");
  if (*out_status != WEIR_OK) return WEIR__REFUSED;
  weir__admit_result result = get_run(launched, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir__graph_run *run = launched->run;
  context->checks++;
  weir__graph_run_aim(run);
  if (weir__reduce_any(context)) {
    result =
        weir__reduce_combine_for(context, launched->by, NULL, run->accesses, run->plan->external_count, out_status);
    if (result != WEIR__ADMITTED) return result;
    context->checks++;
    weir__graph_run_aim(run);
  }
  uint32_t write_backs;
  result = make_room(context, launched->by, run, &write_backs, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir_event *before = writer_before(run);
  const weir_task task = {
      .after = &before, .after_count = before != NULL, .label = graph->own ? "tasks that came before" : NULL};
  weir__request request = {.submission = launched->by,
                           .task = &task,
                           .kind = WEIR__TASK_LAUNCH,
                           .device = run->plan->device,
                           .accesses = run->accesses,
                           .checked.access_count = run->plan->external_count,
                           .fresh = run->fresh,
                           .checked.repeats = true,
                           .checked.needs_storage = UINT64_MAX,
                           .checked.ranged = true,
                           .run = run};
  weir_event *event = NULL;
  result = weir__admit(context, &request, &event, out_status);
  if (result != WEIR__ADMITTED) return result;
  bool by_parts = run->plan->node_count > 1; // some of which may fail
  if (write_backs > 0) weir__write_back(context, run->accesses, run->unsettled, write_backs, by_parts, event);
  if (out_event != NULL) *out_event = event;
  submitted(launched, event, out_event != NULL);
  return WEIR__ADMITTED;
}

weir_status weir_graph_launch(weir_graph *graph, weir_event **out_event) {
  return weir__graph_submit(graph, NULL, out_event);
}

static weir__admit_result enter_queued(weir_context *context, const weir__queued *queued, weir_status *out_status) {
  attempt *launched = queued->more;
  weir__submission by = queued->submission;
  by.task = NULL;
  launched->by = &by;
  weir_event *event = queued->event;
  return enter(context, launched, &event, out_status);
}

static void leave_queue(const weir__queued *queued) {
  const attempt *launched = queued->more;
  if (launched->run != NULL) weir__graph_run_give(launched->run);
  weir__graph_unqueue(launched->graph);
}

// A launch that has to wait, and must not. What it has of a run is the queue's.
static weir_status queue(attempt *launched, weir_event **out_event) {
  weir_event *event = NULL;
  weir_status status =
      weir__graph_queue(launched->graph, launched->by, enter_queued, leave_queue, launched, sizeof *launched, &event);
  if (status != WEIR_OK) return status;
  launched->run = NULL;
  if (out_event != NULL) {
    *out_event = event;
  } else {
    event->object.released = true;
    weir__event_drop(event);
  }
  return WEIR_OK;
}

weir_status weir__graph_submit_held(weir_graph *graph, const weir__submission *by, uint64_t *out_number,
                                    weir_event **out_event) {
  weir_context *context = graph->object.context;
  attempt launched = {.graph = graph, .reported = out_number != NULL, .by = by};
  weir_status status;
  weir__admit_result result = WEIR__RETRY;
  while (result == WEIR__RETRY) result = enter(context, &launched, out_event, &status);
  if (result == WEIR__LATER) status = queue(&launched, out_event);
  if (launched.run != NULL) weir__graph_run_give(launched.run);
  if (out_number != NULL) *out_number = graph->launch_count;
  return status;
}

bool weir__graph_launch_now(weir_graph *graph, weir_event **out_event) {
  const weir__submission by = {.queued = true, .held = true};
  attempt launched = {.graph = graph, .by = &by};
  weir_status status;
  weir__admit_result result;
  do {
    result = enter(graph->object.context, &launched, out_event, &status);
  } while (result == WEIR__RETRY);
  if (launched.run != NULL) weir__graph_run_give(launched.run);
  return result == WEIR__ADMITTED;
}

weir_status weir__graph_submit(weir_graph *graph, uint64_t *out_number, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(graph, WEIR__KIND_GRAPH, NULL, "graph launch");
  if (status != WEIR_OK) return status;
  weir_context *context = graph->object.context;
  if (weir__is_foreign(context)) return weir__refuse_foreign("graph launch");
  weir__context_lock(context);
  uint64_t ticket = 0;
  weir__family family;
  weir__submission by = {.origin = weir__origin_of(context), .ticket = &ticket};
  if (weir__this_thread.in_task) {
    weir__family_find(context, NULL, &family);
    by.family = &family;
    by.may_queue = true;
  }
  status = weir__graph_submit_held(graph, &by, out_number, out_event);
  weir__context_unlock(context);
  return status;
}
