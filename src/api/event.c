// SPDX-License-Identifier: Apache-2.0
//
// Events as the caller sees them.
#include <stdio.h>

#include "base/error.h"
#include "engine/external.h"
#include "engine/process.h"
#include "engine/watch.h"

weir_status weir_event_poll(weir_event *event) {
  weir_status status = weir__object_check(event, WEIR__KIND_EVENT, NULL, "event poll");
  if (status != WEIR_OK) return status;
  weir_context *context = event->object.context;
  if (context->devices.polls | context->devices.flushes) {
    weir__context_lock_at_once(context);
    weir__context_flush(context);
    weir__context_poll(context);
    weir__context_unlock(context);
  }
  status = (weir_status)atomic_load_explicit(&event->status, memory_order_acquire);
  if (status != WEIR_PENDING) weir__watch_acquire(event->sync);
  if (status == WEIR_OK || status == WEIR_PENDING) return status;
  return weir__error(status, "event poll: %s", event->message);
}

static weir_status time_is_over(const weir_event *event) {
  weir_context *context = event->object.context;
  char task[WEIR__MESSAGE_BYTES], name[WEIR__EXTERNAL_NAME_BYTES];
  weir__context_lock_again(context);
  const weir__external *external = weir__external_of(event);
  if (external != NULL) snprintf(name, sizeof name, "%s", external->name);
  const char *awaited = external == NULL ? weir__externals_awaited(context, event->task) : NULL;
  if (awaited != NULL) snprintf(name, sizeof name, "%s", awaited);
  bool live = weir__live(&context->host.window.live, event->task);
  if (live) weir__context_describe(context, weir__window_task(&context->host.window, event->task), task);
  weir__context_unlock(context);
  if (external != NULL) return weir__error(WEIR_TIMEOUT, "event wait: the time is over; %s is not done", name);
  if (live)
    return weir__error(WEIR_TIMEOUT, "event wait: the time is over; %s is not done%s%s", task,
                       awaited != NULL ? ", and waits for " : "", awaited != NULL ? name : "");
  return weir__error(WEIR_TIMEOUT, "event wait: the time is over; task %llu has run, but is not delivered yet",
                     (unsigned long long)event->task);
}

weir_status weir_event_wait(weir_event *event, uint64_t timeout_ns) {
  weir_status status = weir__object_check(event, WEIR__KIND_EVENT, NULL, "event wait");
  if (status != WEIR_OK) return status;
  weir_context *context = event->object.context;
  if (atomic_load_explicit(&event->status, memory_order_acquire) == WEIR_PENDING)
    status = weir__check_waiter(context, "event wait");
  if (status != WEIR_OK) return status;
  weir__id task = event->task;
  uint64_t start_ns = weir__host_wait_begin(context);
  status = weir__event_await(event, timeout_ns);
  if (task != 0) weir__host_wait_end(context, WEIR__TRACE_EVENT, task, status != WEIR_TIMEOUT, start_ns);
  if (status == WEIR_OK) return status;
  if (status == WEIR_TIMEOUT) return time_is_over(event);
  return weir__error_of_task(status, event->task, "event wait: %s", event->message);
}

weir_status weir_event_on_done(weir_event *event, weir_event_function function, void *user) {
  weir_status status = weir__object_check(event, WEIR__KIND_EVENT, NULL, "event on done");
  if (status != WEIR_OK) return status;
  if (function == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "event on done: the function is NULL");
  weir_context *context = event->object.context;
  weir__sync *sync = event->sync;
  if (sync != NULL) weir__tsan_release(&sync->told);
  bool was_done = atomic_load_explicit(&event->status, memory_order_acquire) != WEIR_PENDING;
  weir__context_lock_at_once(context);
  bool added = weir__event_add_callback(event, function, user);
  weir__context_unlock(context);
  if (sync != NULL && was_done) weir__tsan_acquire(&sync->told); // this thread has called it
  return added ? WEIR_OK : weir__error(WEIR_ERROR_OUT_OF_MEMORY, "event on done: no memory");
}

const char *weir_event_message(weir_event *event) {
  if (weir__object_check(event, WEIR__KIND_EVENT, NULL, "event message") != WEIR_OK) return "";
  weir_status status = (weir_status)atomic_load_explicit(&event->status, memory_order_acquire);
  return status == WEIR_PENDING ? "" : event->message;
}

void weir_event_release(weir_event *event) {
  if (event == NULL || weir__object_check(event, WEIR__KIND_EVENT, NULL, "event release") != WEIR_OK) return;
  weir_context *context = event->object.context;
  weir__context_lock_to_submit(context);
  // Marked at once, though the task may keep the struct for a while.
  if (!event->object.released) {
    event->object.released = true;
    weir__external *external = weir__external_of(event);
    if (external != NULL && external->import == NULL)
      weir__external_abandon(context, external, "it was released before it was signalled");
    weir__event_drop(event);
  }
  weir__context_unlock(context);
}
