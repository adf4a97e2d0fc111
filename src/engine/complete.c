// SPDX-License-Identifier: Apache-2.0
//
// What follows when a task is done.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/graph.h"
#include "engine/commute.h"
#include "engine/context.h"
#include "engine/failures.h"
#include "engine/family.h"
#include "engine/lost.h"
#include "engine/place.h"
#include "engine/profile.h"
#include "engine/rules.h"
#include "engine/watch.h"
#include "issue/placement.h"
#include "window/commute.h"

const weir__task_rules weir__kernel_rules = {.name = "kernel"}, weir__host_rules = {.name = "host task"},
                       weir__copy_rules = {.name = "copy"}, weir__fence_rules = {.name = "fence"};

weir_status weir__host_skip_status(weir__host *host, const weir__task *task) {
  const weir__task_rules *rules = weir__context_of(host)->rules[task->kind];
  if (rules->skip_status != NULL) return rules->skip_status(host, task);
  if (task->id < atomic_load_explicit(&host->cancel_before, memory_order_relaxed)) return WEIR_ERROR_CANCELLED;
  if (task->dropped) return WEIR_ERROR_CANCELLED;
  return task->reads_poison ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK;
}

uint32_t weir__context_describe(const weir_context *context, const weir__task *task, char text[WEIR__MESSAGE_BYTES]) {
  const char *kernel = task->kernel != NULL ? task->kernel->name : context->rules[task->kind]->name;
  const char *label = task->labelled ? context->devices.labels[task->id & context->host.window.live.mask] : kernel;
  bool both = task->labelled && task->kernel != NULL && strcmp(kernel, label) != 0;
  uint32_t device = task->device;
  if (context->devices.checker != NULL && device == context->devices.checker->index) {
    if (task->run != NULL)
      device = task->run->plan->asked->index;
    else if (task->asked != WEIR__NO_CHECK)
      device = task->asked;
  }
  int length = snprintf(text, WEIR__MESSAGE_BYTES, "task %llu '%.47s' (%.47s%stag %llu) on %s",
                        (unsigned long long)task->id, label, both ? kernel : "", both ? ", " : "",
                        (unsigned long long)task->tag, context->host.devices[device]->name);
  return length < WEIR__MESSAGE_BYTES ? (uint32_t)length : WEIR__MESSAGE_BYTES - 1;
}

__attribute__((noinline)) void weir__context_keep_label(weir_context *context, weir__task *task, const char *label) {
  if (context->devices.labels == NULL)
    context->devices.labels = weir__allocate_sparse((size_t)context->host.window.size * WEIR__LABEL_BYTES);
  size_t length = strnlen(label, WEIR__LABEL_BYTES - 1);
  if (context->devices.labels == NULL || length == 0) return;
  char *kept = context->devices.labels[task->id & context->host.window.live.mask];
  memcpy(kept, label, length);
  kept[length] = '\0';
  task->labelled = true;
}

static void describe_failure(weir_context *context, const weir__task *task, const weir__completion *completion,
                             char text[WEIR__MESSAGE_BYTES]) {
  const char *why = completion->message != NULL && completion->message[0] != '\0'
                        ? completion->message
                        : weir_status_text(completion->status);
  uint32_t length = weir__context_describe(context, task, text);
  weir__failures_note(context, task, completion->status, text, why);
  length += (uint32_t)snprintf(text + length, WEIR__MESSAGE_BYTES - length, ": %s", why);
  if (completion->status != WEIR_ERROR_UPSTREAM_FAILED) return;
  // The general words give way to the cause. The launch of a graph has a node's name in front of them.
  const char *general = strstr(text, weir_status_text(completion->status));
  if (general != NULL) length = (uint32_t)(general - text);
  char cause[WEIR__MESSAGE_BYTES];
  if (general != NULL && weir__failures_explain(context, task, cause, sizeof cause))
    snprintf(text + length, WEIR__MESSAGE_BYTES - length, "%s", cause);
}

void weir__poison_outputs(weir_context *context, weir__task *task) {
  uint32_t root = weir__failures_root(context, task);
  weir__range_pool *ranges = &context->order.ranges;
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__access *access = &task->accesses[i];
    if (access->mode != WEIR_READ && access->buffer->serial == access->serial)
      weir__buffer_poison_box(access->buffer, ranges, task->id, access->lo, access->hi, weir__access_box(access), root);
  }
}

void weir__context_note_text(weir_context *context, weir__id task, weir_status status, const char *text) {
  if (!weir__failure_is_first(context->failure.status, status)) return;
  context->failure.status = status;
  context->failure.task = task;
  snprintf(context->failure.text, sizeof context->failure.text, "%s", text);
}

void weir__context_note_failure(weir_context *context, const weir_event *event, weir__id task, weir_status status,
                                const char *text) {
  context->host.statistics.failed++;
  bool reported = event == NULL || !event->has_target || event->target.reported;
  if (!reported) return;
  if (event != NULL && event->group != NULL && weir__group_note_failure(event->group, status, text)) return;
  weir__context_note_text(context, task, status, text);
}

static void fail(weir_context *context, const weir__task_rules *rules, weir__task *task,
                 const weir__completion *completion, char text[WEIR__MESSAGE_BYTES]) {
  describe_failure(context, task, completion, text);
  weir__context_note_failure(context, task->event, task->id, completion->status, text);
  if (rules->failed != NULL)
    rules->failed(context, task, completion);
  else
    weir__poison_outputs(context, task);
}

// A task failed that has perhaps no edge to the one that is stalled.
static void poison_stalled(weir_context *context, weir__id failed) {
  for (size_t i = 0; i < context->order.dependences.count; i++) {
    const weir__dependence *dependence = &context->order.dependences.list[i];
    if (dependence->task == failed && dependence->data)
      weir__window_upstream_failed(&context->host.window, context->stalled.task, failed);
  }
}

// Clocks of devices are compared with the host's now and then, which leaves an error. But nothing starts before it was
// ready, or ends after it was noticed: so times of different devices are in order.
static void bound_times(weir_device *device, weir__trace_task *record) {
  uint64_t now_ns = device->ops->time(device);
  if (record->end_ns > now_ns) record->end_ns = now_ns;
  if (record->start_ns > record->end_ns) record->start_ns = record->end_ns;
  if (record->start_ns < record->ready_ns) record->start_ns = record->ready_ns;
  if (record->end_ns < record->start_ns) record->end_ns = record->start_ns;
}

static void trace_completion(weir_context *context, const weir__task *task, const weir__completion *completion) {
  weir__trace_task *record = weir__trace_find(context->host.trace, task->id);
  if (record == NULL) return;
  record->lane = completion->lane;
  record->status = completion->status;
  record->done = true;
  record->start_ns = completion->start_ns;
  record->end_ns = completion->end_ns;
  if (completion->ready_ns != 0) // of a device with a time of its own
    record->ready_ns = completion->ready_ns;
  else
    bound_times(context->host.devices[task->device], record);
  const weir__task_rules *rules = context->rules[task->kind];
  if (rules->trace != NULL) rules->trace(task);
}

static void note_times(weir_context *context, const weir__task *task, const weir__completion *completion) {
  weir_device *device = context->host.devices[task->device];
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

// Whether the failure counts as none: what was skipped has been noted as failed elsewhere.
static inline bool is_pardoned(const weir__task_rules *rules, const weir__task *task, weir_status status) {
  return status != WEIR_OK && rules->pardons != NULL && rules->pardons(task, status);
}

static inline void finish_event(weir_context *context, weir__task *task, const weir__completion *completion,
                                const char *text) {
  note_times(context, task, completion);
  const weir__task_rules *rules = context->rules[task->kind];
  weir_status status = completion->status;
  if (rules->event_status != NULL && status != WEIR_OK) status = rules->event_status(task, status);
  if (is_pardoned(rules, task, status))
    weir__event_skip_copy(task->event);
  else
    weir__event_finish(task->event, status, status == WEIR_OK ? "" : text);
  task->event = NULL;
}

static void watch(const weir_context *context, weir__task *task, const weir__completion *completion) {
  const weir_event *event = task->event;
  weir__sync *group = event != NULL && event->group != NULL ? event->group->sync : NULL;
  weir__watch_complete(&context->host, task, completion, event != NULL ? event->sync : NULL, group);
}

// Of a task that failed, one that the timeline notes, or one of a kind that wants to know.
static __attribute__((noinline)) void complete(weir_context *context, const weir__task_rules *rules, weir__task *task,
                                               const weir__completion *completion) {
  weir_status status = completion->status;
  if (completion->endless) weir__storage_leave(context, task);
  bool failed = status != WEIR_OK && !is_pardoned(rules, task, status);
  weir_event *event = task->event;
  bool asks = failed && task->move == NULL && event != NULL && event->target.again != NULL;
  if (asks && event->target.again(event->target.user, task, completion)) return;
  if (context->host.watch != NULL) watch(context, task, completion);
  if (context->placement != NULL) weir__place_done(context, task, completion);
  char text[WEIR__MESSAGE_BYTES];
  text[0] = '\0';
  if (failed) fail(context, rules, task, completion, text);
  if (context->host.trace != NULL) trace_completion(context, task, completion);
  if (context->profile != NULL) weir__profile_done(context, task, completion);
  if (task->event != NULL) finish_event(context, task, completion, text);
  bool all_readers = rules->marks_readers == NULL || !rules->marks_readers(context, completion);
  if (failed && all_readers && context->stalled.task != NULL && context->stalled.listed)
    poison_stalled(context, task->id);
  context->host.statistics.done += task->kind != WEIR__TASK_TRANSFER;
  if (task->commutes != WEIR__COMMUTES_NOT) weir__commute_leave(&context->host.window, task, failed);
  weir__window_complete(&context->host.window, task, failed && all_readers);
  if (rules->done != NULL) rules->done(context, task); // what those that are to be skipped looked at may be gone now
}

// A task has no blocker left, and nobody wants to know when.
static inline void issue(weir_context *context, weir__task *task) {
  weir_device *device = context->host.devices[task->device];
  if (__builtin_expect((task->commutes & 1) | device->ops->run_ahead, false))
    context->host.window.ready(context, task);
  else
    device->ops->issue(device, task);
}

// As weir__window_complete, for a task that went well and has few successors.
static inline void retire(weir_context *context, const weir__task *task) {
  weir__window *window = &context->host.window;
  weir__liveness *live = &window->live;
  live->done[task->id & live->mask] = 1;
  for (const uint32_t *edge = task->successors, *end = edge + task->successor_count; edge != end; edge++) {
    weir__task *next = &window->tasks[*edge >> WEIR__EDGE_BITS];
    if ((*edge & WEIR__EDGE_BLOCKS) && --next->blockers == 0) issue(context, next);
  }
  weir__id oldest = live->oldest;
  while (oldest < window->next && live->done[oldest & live->mask]) oldest++;
  live->oldest = oldest;
}

void weir__host_complete(weir__host *host, weir__task *task, const weir__completion *completion) {
  weir_context *context = weir__context_of(host);
  bool noted = (host->trace != NULL) |
               ((host->flags & (WEIR__CONTEXT_PROFILES | WEIR__CONTEXT_WATCHED | WEIR_CONTEXT_PLACE)) != 0) |
               (completion->status != WEIR_OK);
  if (__builtin_expect(!noted & (task->kind <= WEIR__TASK_HOST) & (task->commutes == 0) & (task->event == NULL) &
                           (task->more_successors == NULL),
                       true)) {
    host->statistics.done++;
    retire(context, task);
    return;
  }
  const weir__task_rules *rules = context->rules[task->kind];
  if (noted || rules->done != NULL || task->commutes) {
    complete(context, rules, task, completion);
    return;
  }
  if (task->event != NULL) finish_event(context, task, completion, "");
  host->statistics.done += task->kind != WEIR__TASK_TRANSFER;
  weir__window_complete(&host->window, task, false);
}

void weir__host_completed(weir__host *host) {
  weir_context *context = weir__context_of(host);
  weir__id oldest = context->host.window.live.oldest;
  if (context->stalled.task != NULL && oldest >= context->stalled.task->id) {
    weir__task *stalled = context->stalled.task;
    context->stalled.task = NULL;
    // If it was not noted which predecessors bring data, a failure of any may be one of theirs.
    if (!context->stalled.listed && context->host.statistics.failed != context->stalled.failed_before) {
      stalled->reads_poison = true;
      if (stalled->run != NULL) stalled->run->all_poisoned = true;
    }
    weir__window_release(&context->host.window, stalled);
  }
  if (context->placement != NULL) weir__placement_end_report(context->placement);
  if (context->stalled.commuting != NULL) weir__context_commute_again(context);
  if (context->ready.first != NULL) weir__context_issue_ready(context);
  if (oldest < context->waiting.wake_at) return;
  weir__id next = UINT64_MAX;
  for (weir__waiter **link = &context->waiting.first; *link != NULL;) {
    weir__waiter *waiter = *link;
    if (waiter->target > oldest) {
      if (waiter->target < next) next = waiter->target;
      link = &waiter->next;
      continue;
    }
    *link = waiter->next;
    if (atomic_exchange_explicit(&waiter->word, 1, memory_order_release) == 2) weir__host_wake(host, &waiter->word);
  }
  context->waiting.wake_at = next;
}

void weir__host_fail_unissued(weir__host *host, weir__task *task, weir_status lost, const char *lost_text) {
  if (task->run != NULL) weir__graph_run_fail(task->run);
  weir__host_lock(host);
  weir_device *device = host->devices[task->device];
  uint64_t now = device->ops->time(device);
  bool no_memory = lost == WEIR_OK;
  weir__host_complete(
      host, task,
      &(weir__completion){.status = no_memory ? WEIR_ERROR_OUT_OF_MEMORY : lost,
                          .message = no_memory ? "no memory to keep track of it on the device" : lost_text,
                          .start_ns = now,
                          .end_ns = now});
  weir__host_completed(host);
  weir__host_unlock(host);
}

void weir__host_release(weir__host *host, weir__task *task) {
  weir__window_release(&host->window, task);
  weir__context_issue_ready(weir__context_of(host));
}

void weir__context_issue_ready(weir_context *context) {
  while (context->ready.first != NULL) {
    weir__task *task = context->ready.first;
    context->ready.first = task->next;
    if (context->ready.first == NULL) context->ready.last = NULL;
    weir_device *device = context->host.devices[task->device];
    bool followed = !task->awaits;
    task->issued = followed;
    if (context->placement != NULL) weir__place_issued(context, task);
    device->ops->issue(device, task);
    if (followed) weir__window_issued(&context->host.window, task);
  }
}

void weir__context_poll(weir_context *context) {
  for (uint32_t i = 0; i < context->host.device_count; i++) {
    weir_device *device = context->host.devices[i];
    if (device->ops->polled != NULL && device->ops->polled->poll != NULL) device->ops->polled->poll(device);
  }
  weir__host_completed(&context->host);
}
