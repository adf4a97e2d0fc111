// SPDX-License-Identifier: Apache-2.0
#include "engine/room.h"

#include <sched.h>

#include "base/error.h"
#include "engine/check.h"
#include "engine/process.h"
#include "engine/queue.h"

// A submitter that found the window full comes back for more than one slot, if more come free soon: taking turns with
// the workers for each slot would cost both more than the slots are worth.
enum { ROOM_WAIT_NS = 10000, ROOM_WAIT_WINDOW = 64 };

// How long a submitter waits for one that has closed the window, before it looks again.
enum { SHUT_WAIT_NS = 50000 };

// The window is closed to all but one. Mostly it opens at once; else this thread stays away from the lock, which that one needs.
static void await_opening(weir_context *context, uint64_t own) {
  weir__context_unlock(context);
  sched_yield();
  weir__context_lock_again(context);
  if (!weir__window_shut(&context->host.window, own)) return;
  _Atomic uint32_t nobody = 0;
  weir__context_unlock(context);
  weir__sleep_on(&nobody, 0, SHUT_WAIT_NS);
  weir__context_lock_again(context);
}

weir__admit_result weir__await_room(weir_context *context, const weir__submission *submission, uint32_t slots,
                                    weir_status *out_status) {
  const weir__liveness *live = &context->host.window.live;
  uint64_t own = submission->reserved;
  if (weir__is_foreign(context)) {
    *out_status = weir__refuse_foreign("submit");
    return WEIR__REFUSED;
  }
  if (!weir__queue_passes(&context->queue, submission)) {
    if (weir__must_not_wait(submission)) return weir__would_wait(submission, "the window", out_status);
    weir__queue_await_turn(context, submission);
    return WEIR__RETRY;
  }
  if (live->oldest < context->order.hold) {
    if (weir__must_not_wait(submission)) return weir__would_wait(submission, "the memory", out_status);
    weir__context_flush(context);
    weir__submission_wait(context, WEIR__TRACE_MEMORY, context->order.hold, WEIR_FOREVER);
    return WEIR__RETRY;
  }
  if (weir__window_room(&context->host.window, own) >= slots) return WEIR__ADMITTED;
  if (slots > weir__window_size(&context->host.window)) {
    char name[WEIR__WHAT_BYTES];
    weir__describe_task(submission->task, name);
    *out_status = weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                              "%s: what it writes takes %u copies back to wrapped memory, too many for a window of %u",
                              name, slots - 1, weir__window_size(&context->host.window));
    return WEIR__REFUSED;
  }
  if (weir__must_not_wait(submission)) return weir__would_wait(submission, "the window", out_status);
  weir__queue_number(&context->queue, submission);
  context->host.statistics.window_waits++;
  if (weir__window_shut(&context->host.window, own)) {
    await_opening(context, own);
    return WEIR__RETRY;
  }
  weir__id oldest = live->oldest;
  weir__id target = context->host.window.next + slots + weir__window_kept(&context->host.window, own) -
                    weir__window_size(&context->host.window);
  if (target > context->host.window.next) { // what is reserved is given back
    weir__context_unlock(context);
    sched_yield();
    weir__context_lock_again(context);
    target = context->host.window.next;
  }
  context->queue.withheld += slots;
  weir__submission_wait(context, WEIR__TRACE_WINDOW, target, WEIR_FOREVER);
  context->queue.withheld -= slots;
  if (!context->devices.polled && context->host.window.size >= ROOM_WAIT_WINDOW)
    weir__submission_wait(context, WEIR__TRACE_WINDOW, oldest + context->host.window.size / 4, ROOM_WAIT_NS);
  return WEIR__RETRY;
}
