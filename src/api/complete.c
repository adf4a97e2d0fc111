// SPDX-License-Identifier: Apache-2.0
//
// What follows when a task is done.
#include <stdio.h>
#include <string.h>

#include "api/context.h"
#include "api/graph.h"
#include "api/transfer.h"

weir_status weir__context_skips(weir_context *context, const weir__task *task) {
  if (task->move != NULL && task->move->transfer) { // what it brings may be wanted by tasks that are not skipped
    bool skips = task->source_failed || (task->move->back && task->reads_poison);
    return skips ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK;
  }
  if (task->id < atomic_load_explicit(&context->cancel_before, memory_order_relaxed)) return WEIR_ERROR_CANCELLED;
  if (task->reads_poison && task->run == NULL) return WEIR_ERROR_UPSTREAM_FAILED;
  return WEIR_OK;
}

uint32_t weir__context_describe(const weir_context *context, const weir__task *task, char text[WEIR__MESSAGE_BYTES]) {
  const char *name = task->kernel != NULL ? task->kernel->name
                     : task->run != NULL  ? "graph"
                     : task->move != NULL ? "copy"
                                          : "host task";
  int length = snprintf(text, WEIR__MESSAGE_BYTES, "task %llu '%s' (tag %llu) on %s", (unsigned long long)task->id,
                        name, (unsigned long long)task->tag, context->devices[task->device]->name);
  return length < WEIR__MESSAGE_BYTES ? (uint32_t)length : WEIR__MESSAGE_BYTES - 1;
}

static void describe_failure(const weir_context *context, const weir__task *task, const weir__completion *completion,
                             char text[WEIR__MESSAGE_BYTES]) {
  const char *why = completion->message != NULL && completion->message[0] != '\0'
                        ? completion->message
                        : weir_status_text(completion->status);
  uint32_t length = weir__context_describe(context, task, text);
  snprintf(text + length, WEIR__MESSAGE_BYTES - length, ": %s", why);
}

static void poison_outputs(weir__task *task) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__access *access = &task->accesses[i];
    if (access->mode != WEIR_READ && access->buffer->serial == access->serial)
      weir__buffer_poison(access->buffer, task->id, access->lo, access->hi);
  }
}

static void fail(weir_context *context, weir__task *task, const weir__completion *completion,
                 char text[WEIR__MESSAGE_BYTES]) {
  describe_failure(context, task, completion, text);
  context->statistics.failed++;
  bool reported = task->event == NULL || !task->event->has_target || task->event->target.reported;
  // What was skipped may be reported before what it was skipped for.
  bool is_first = context->first_failure == WEIR_OK || (context->first_failure == WEIR_ERROR_UPSTREAM_FAILED &&
                                                        completion->status != WEIR_ERROR_UPSTREAM_FAILED);
  if (reported && is_first) {
    context->first_failure = completion->status;
    memcpy(context->first_failure_text, text, WEIR__MESSAGE_BYTES);
  }
  if (task->move != NULL && task->move->transfer)
    weir__transfer_failed(context, task);
  else if (task->run == NULL || completion->status == WEIR_ERROR_CANCELLED)
    poison_outputs(task);
  else
    weir__graph_run_poison(task);
}

// A task failed that has perhaps no edge to the one that is held.
static void poison_held(weir_context *context, weir__id failed) {
  for (size_t i = 0; i < context->hits.count; i++) {
    const weir__hit *hit = &context->hits.list[i];
    if (hit->task == failed && hit->data) weir__window_upstream_failed(&context->window, context->held, failed);
  }
}

static void trace_completion(weir_context *context, const weir__task *task, const weir__completion *completion) {
  weir__trace_task *record = weir__trace_find(context->trace, task->id);
  if (record == NULL) return;
  record->lane = completion->lane;
  record->status = completion->status;
  record->done = true;
  if (completion->ready_ns != 0) record->ready_ns = completion->ready_ns;
  record->start_ns = completion->start_ns;
  record->end_ns = completion->end_ns;
  if (task->run != NULL) weir__graph_run_trace(task);
}

static void note_times(weir_context *context, const weir__task *task, const weir__completion *completion) {
  weir_device *device = context->devices[task->device];
  uint64_t start_ns = completion->start_ns;
  if (!task->event->has_target && (task->move == NULL || start_ns == 0)) return;
  uint64_t end_ns = completion->end_ns != 0 ? completion->end_ns : device->ops->time(device);
  if (task->move != NULL) {
    if (start_ns != 0 && end_ns > start_ns) task->event->moved_ns += end_ns - start_ns;
    return;
  }
  task->event->start_ns = start_ns;
  task->event->end_ns = end_ns;
}

void weir__context_complete(weir_context *context, weir__task *task, const weir__completion *completion) {
  // A copy back that is skipped has lost nothing: what it would have brought is poisoned already.
  bool skipped_back = task->move != NULL && task->move->back && completion->status == WEIR_ERROR_UPSTREAM_FAILED;
  bool failed = completion->status != WEIR_OK && !skipped_back;
  weir_event *event = task->event;
  bool asks = failed && task->move == NULL && event != NULL && event->target.again != NULL;
  if (asks && event->target.again(event->target.user, task, completion)) return;
  char text[WEIR__MESSAGE_BYTES];
  text[0] = '\0';
  if (failed) fail(context, task, completion, text);
  if (context->trace != NULL) trace_completion(context, task, completion);
  if (task->event != NULL) {
    note_times(context, task, completion);
    weir__event_finish(task->event, completion->status, text);
    task->event = NULL;
  }
  // A graph has marked its readers itself, node by node, unless it did not run at all.
  bool all_readers = task->run == NULL || completion->status == WEIR_ERROR_CANCELLED || context->forgot_readers;
  if (task->run != NULL) {
    weir__graph_run_done(task);
    context->graphs_in_flight--;
  }
  if (failed && all_readers && context->held != NULL && context->held_listed) poison_held(context, task->id);
  context->statistics.done += task->move == NULL || !task->move->transfer;
  weir__window_complete(&context->window, task, failed && all_readers);
}

void weir__context_completed(weir_context *context) {
  weir__id oldest = context->window.live.oldest;
  if (context->held != NULL && oldest >= context->held->id) {
    weir__task *held = context->held;
    context->held = NULL;
    // If it was not noted which predecessors bring data, a failure of any may be one of theirs.
    if (!context->held_listed && context->statistics.failed != context->failed_before_held) {
      held->reads_poison = true;
      if (held->run != NULL) held->run->all_poisoned = true;
    }
    weir__window_release(&context->window, held);
  }
  if (context->issue_first != NULL) weir__context_issue_ready(context);
  if (oldest < context->wake_at) return;
  weir__id next = UINT64_MAX;
  for (weir__waiter **link = &context->waiters; *link != NULL;) {
    weir__waiter *waiter = *link;
    if (waiter->target > oldest) {
      if (waiter->target < next) next = waiter->target;
      link = &waiter->next;
      continue;
    }
    *link = waiter->next;
    if (atomic_exchange_explicit(&waiter->word, 1, memory_order_release) == 2)
      weir__context_wake(context, &waiter->word);
  }
  context->wake_at = next;
}

void weir__context_cannot_take(weir_context *context, weir__task *task, weir_status lost, const char *lost_text) {
  if (task->run != NULL) weir__graph_run_fail(task->run);
  weir__context_lock(context);
  weir_device *device = context->devices[task->device];
  uint64_t now = device->ops->time(device);
  bool no_memory = lost == WEIR_OK;
  weir__context_complete(
      context, task,
      &(weir__completion){.status = no_memory ? WEIR_ERROR_OUT_OF_MEMORY : lost,
                          .message = no_memory ? "no memory to keep track of it on the device" : lost_text,
                          .start_ns = now,
                          .end_ns = now});
  weir__context_completed(context);
  weir__context_unlock(context);
}

void weir__context_issue_ready(weir_context *context) {
  while (context->issue_first != NULL) {
    weir__task *task = context->issue_first;
    context->issue_first = task->next;
    if (context->issue_first == NULL) context->issue_last = NULL;
    weir_device *device = context->devices[task->device];
    task->issued = true;
    device->ops->issue(device, task);
    weir__window_issued(&context->window, task);
  }
}

void weir__context_poll(weir_context *context) {
  for (uint32_t i = 0; i < context->device_count; i++) {
    if (context->devices[i]->ops->poll != NULL) context->devices[i]->ops->poll(context->devices[i]);
  }
  weir__context_completed(context);
}
