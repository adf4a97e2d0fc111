// SPDX-License-Identifier: Apache-2.0
#include "engine/queue.h"

#include <sched.h>
#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "engine/boxes.h"
#include "engine/buffer.h"
#include "engine/check.h"
#include "engine/failures.h"
#include "engine/family.h"
#include "engine/watch.h"
#include "weir/box.h"

// How many submissions enter before the lock is released, so that others get it in between.
enum { ENTER_AT_ONCE = 64 };

// ---------------------------------------------------------------------------------------------------------------
// Copies of submissions

static size_t aligned(size_t bytes) {
  return (bytes + 15) & ~(size_t)15;
}

// What an argument points to, besides a buffer.
static size_t value_bytes(const weir_arg *arg) {
  if (arg->mode == WEIR_VALUE) return arg->bytes;
  return arg->shape == WEIR_BOX ? sizeof(weir_box) : 0;
}

static size_t copy_bytes(const weir_task *task, size_t more_bytes) {
  size_t bytes = aligned(sizeof(weir__queued)) + aligned(more_bytes) + aligned(task->arg_count * sizeof(weir_arg)) +
                 aligned(task->after_count * sizeof(weir_event *));
  for (uint32_t i = 0; i < task->arg_count; i++) {
    bytes += aligned(value_bytes(&task->args[i]));
  }
  return bytes + (task->label != NULL ? strnlen(task->label, WEIR__LABEL_BYTES - 1) + 1 : 0);
}

static void *put(char **at, const void *what, size_t bytes) {
  void *copy = *at;
  if (bytes > 0) memcpy(copy, what, bytes);
  *at += aligned(bytes);
  return copy;
}

// The copy has memory for all that the task points to.
static void copy_task(weir__queued *queued, const weir_task *task, const void *more, size_t more_bytes) {
  char *at = (char *)queued + aligned(sizeof *queued);
  queued->more = more != NULL ? put(&at, more, more_bytes) : NULL;
  queued->task = *task;
  weir_arg *args = put(&at, task->args, task->arg_count * sizeof *args);
  queued->task.args = args;
  queued->task.after = put(&at, task->after, task->after_count * sizeof(weir_event *));
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (args[i].mode == WEIR_REDUCE) { // tasks that others submit add to the buffer itself
      args[i].mode = WEIR_COMMUTE;
      args[i].value = NULL;
    }
    if (value_bytes(&args[i]) > 0) args[i].value = put(&at, args[i].value, value_bytes(&args[i]));
  }
  if (task->label == NULL) return;
  size_t length = strnlen(task->label, WEIR__LABEL_BYTES - 1);
  queued->task.label = at;
  memcpy(at, task->label, length);
  at[length] = '\0';
}

static void keep_names(const weir_task *task) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode != WEIR_VALUE) task->args[i].buffer->queued++;
  }
  for (uint32_t i = 0; i < task->after_count; i++) task->after[i]->references++;
  if (task->kernel != NULL) task->kernel->queued++;
}

static void let_names_go(const weir_task *task) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode != WEIR_VALUE) weir__buffer_unqueue(task->args[i].buffer);
  }
  for (uint32_t i = 0; i < task->after_count; i++) weir__event_drop(task->after[i]);
  if (task->kernel != NULL) weir__kernel_unqueue(task->kernel);
}

static weir_status refuse(const weir__submission *submission, const char *why) {
  char name[WEIR__WHAT_BYTES];
  weir__describe_task(submission->task, name);
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: %s", name, why);
}

static void append(weir__queue *queue, weir__queued *queued) {
  queued->next = NULL;
  if (queue->last == NULL)
    queue->first = queued;
  else
    queue->last->next = queued;
  queue->last = queued;
  queue->came++;
  queue->bytes += queued->bytes;
}

weir_status weir__queue_add(weir_context *context, const weir__submission *submission, weir__queued_enter enter,
                            weir__queued_left left, const void *more, size_t more_bytes, weir_event **out_event) {
  const weir_task *task = submission->task;
  size_t bytes = copy_bytes(task, more_bytes);
  if (context->queue.bytes + bytes + sizeof(weir_event) > WEIR__QUEUE_BYTES)
    return refuse(submission, "too many tasks that were submitted by tasks and callbacks wait for room in the window: "
                              "they take more than 256 MiB");
  weir__queued *queued = weir__allocate(bytes);
  weir_event *event = queued != NULL ? weir__event_take(context, 0, submission->target) : NULL;
  if (event == NULL) {
    weir__free(queued);
    return refuse(submission, "no memory to queue it until the window has room");
  }
  *queued = (weir__queued){
      .enter = enter, .left = left, .bytes = bytes + sizeof *event, .submission = *submission, .event = event};
  copy_task(queued, task, more, more_bytes);
  if (task->destroy != NULL) weir__event_own(event, task->destroy, task->user);
  weir__family_join(event, submission->family);
  if (context->host.watch != NULL) weir__watch_queue(event);
  keep_names(&queued->task);
  weir__submission *own = &queued->submission;
  own->task = &queued->task;
  own->target = NULL; // the event has it
  own->family = NULL; // has been joined
  own->origin = NULL;
  own->guest = NULL;
  own->ticket = NULL;
  own->event = event;
  own->queued = own->kernel_checked = true;
  append(&context->queue, queued);
  weir__queue_update(context);
  *out_event = event;
  return WEIR_OK;
}

// ---------------------------------------------------------------------------------------------------------------
// Threads that wait for their turn

static bool await_turn(weir_context *context, const weir__submission *submission, uint64_t deadline_ns) {
  weir__queue *queue = &context->queue;
  weir__waiter waiter = {.target = queue->came};
  weir__queue_number(queue, submission);
  if (submission->ticket != NULL) waiter.target = *submission->ticket - 1;
  waiter.next = queue->waiters;
  queue->waiters = &waiter;
  weir__context_flush(context);
  if (weir__context_wait_on(context, &waiter, deadline_ns)) return true;
  weir__waiter **link = &queue->waiters;
  while (*link != NULL && *link != &waiter) link = &(*link)->next;
  if (*link != NULL) *link = waiter.next;
  return false;
}

void weir__queue_await_turn(weir_context *context, const weir__submission *submission) {
  await_turn(context, submission, 0);
}

bool weir__queue_await_all(weir_context *context, uint64_t deadline_ns) {
  uint64_t ticket = 0;
  const weir__submission any = {.ticket = &ticket};
  while (!weir__queue_passes(&context->queue, &any)) {
    if (!await_turn(context, &any, deadline_ns)) return false;
  }
  return true;
}

static void wake_waiters(weir_context *context) {
  weir__queue *queue = &context->queue;
  for (weir__waiter **link = &queue->waiters; *link != NULL;) {
    weir__waiter *waiter = *link;
    if (waiter->target > queue->left) {
      link = &waiter->next;
      continue;
    }
    *link = waiter->next;
    if (atomic_exchange_explicit(&waiter->word, 1, memory_order_release) == 2)
      weir__host_wake(&context->host, &waiter->word);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Entering

static void poison_segment(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  (void)user, (void)lo, (void)hi;
  segment->poisoned = WEIR__NO_ROOT;
}

// Poisons what the task should have written, and with a box what is between its rows. Where memory is short, it poisons more than
// that. Users of the bytes stay. Segments are cut at the ends of the bytes by a read that counts for a task submitted before.
static void poison(weir_context *context, const weir_arg *arg) {
  weir__window *window = &context->host.window;
  bool is_box;
  uint64_t lo = arg->offset, bytes = weir__arg_bytes(arg, &is_box);
  uint64_t hi = bytes == WEIR_WHOLE ? arg->buffer->bytes : lo + bytes;
  const weir__access access = {.buffer = arg->buffer, .lo = lo, .hi = hi, .mode = WEIR_READ};
  if (weir__range_pool_reserve(&context->order.ranges, 1) && weir__prepare_boxes(context, &access, 1)) {
    weir__id last_use = arg->buffer->last_use, before = window->next - 1;
    weir__dependences_clear(&context->order.dependences);
    weir__buffer_access(arg->buffer, &context->order.ranges, &window->live, before, WEIR_READ, lo, hi,
                        &context->order.dependences);
    arg->buffer->last_use = last_use;
  }
  weir__buffer_visit(arg->buffer, lo, hi, poison_segment, NULL);
}

void weir__queue_fail(weir_context *context, const weir_task *task, weir_event *event, weir_status status) {
  char text[WEIR__MESSAGE_BYTES];
  snprintf(text, sizeof text, "%s", weir_last_error());
  weir__context_poisons(context);
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    if (arg->mode != WEIR_VALUE && arg->mode != WEIR_READ) poison(context, arg);
  }
  context->host.statistics.tasks++;
  context->host.statistics.done++;
  weir__context_note_failure(context, event, event != NULL ? event->task : 0, status, text);
  if (event != NULL) weir__event_finish(event, status, text);
}

// Lets the names of a submission count although they were released meanwhile, or no longer.
static void revive(const weir_task *task, bool live) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode != WEIR_VALUE && task->args[i].buffer->gone) task->args[i].buffer->object.released = !live;
  }
}

static weir__admit_result enter(weir_context *context, const weir__queued *queued) {
  weir_status status = WEIR_OK;
  weir__admit_result result;
  revive(&queued->task, true);
  do {
    result = queued->enter(context, queued, &status);
  } while (result == WEIR__RETRY);
  revive(&queued->task, false);
  if (result != WEIR__REFUSED) return result;
  // For now, as long as others are in flight that will give memory back.
  if (!weir__window_empty(&context->host.window)) return WEIR__LATER;
  weir__queue_fail(context, &queued->task, queued->event, status);
  return WEIR__REFUSED;
}

static void remove_first(weir_context *context) {
  weir__queue *queue = &context->queue;
  weir__queued *queued = queue->first;
  queue->first = queued->next;
  if (queue->first == NULL) queue->last = NULL;
  queue->left++;
  queue->bytes -= queued->bytes;
  if (queued->left != NULL) queued->left(queued);
  let_names_go(&queued->task);
  weir__free(queued);
}

// What the first one waits for is noted: the end of the oldest task, or storage that others release.
static void note_blocked(weir_context *context) {
  weir__queue *queue = &context->queue;
  if (!queue->blocked) context->memory.waiting_for_returns++;
  queue->blocked = true;
  queue->blocked_oldest = context->host.window.live.oldest;
  queue->blocked_returns = atomic_load_explicit(&context->memory.returns, memory_order_relaxed);
}

static bool is_blocked(const weir_context *context) {
  const weir__queue *queue = &context->queue;
  return queue->blocked && queue->blocked_oldest == context->host.window.live.oldest &&
         queue->blocked_returns == atomic_load_explicit(&context->memory.returns, memory_order_relaxed);
}

static void note_unblocked(weir_context *context) {
  if (context->queue.blocked) context->memory.waiting_for_returns--;
  context->queue.blocked = false;
}

// Whether there is room besides what threads whose turn it is wait for.
static bool has_room(const weir_context *context) {
  return weir__window_room(&context->host.window, 0) > context->queue.withheld &&
         context->host.window.live.oldest >= context->order.hold;
}

void weir__queue_drain(weir_context *context) {
  weir__queue *queue = &context->queue;
  if (queue->draining || !has_room(context) || is_blocked(context)) return;
  queue->draining = true;
  weir__kept_error kept;
  weir__error_keep(&kept);
  for (uint32_t i = 0; i < ENTER_AT_ONCE && queue->first != NULL && has_room(context); i++) {
    if (enter(context, queue->first) == WEIR__LATER) {
      note_blocked(context);
      break;
    }
    note_unblocked(context);
    remove_first(context);
  }
  weir__error_put_back(&kept);
  queue->draining = false;
  wake_waiters(context);
  weir__queue_update(context);
}

void weir__queue_cancel(weir_context *context) {
  for (weir__queued *queued = context->queue.first; queued != NULL; queued = queued->next)
    queued->event->dropped = true;
}
