// SPDX-License-Identifier: Apache-2.0
//
// Submissions of tasks and callbacks that found no room: a task must not wait for other tasks, so what it submits waits instead.
//
// The queue is first in, first out: while it is not empty, tasks enter the window through it, in the order of the calls. Every
// thread that releases the context's lock lets enter what there is room for, and the caller's own threads wait for what was
// queued before their calls. A queued submission is a copy with an event. It keeps what it names from being used again after
// a release.
#ifndef WEIR_ENGINE_QUEUE_H
#define WEIR_ENGINE_QUEUE_H

#include "engine/submission.h"

// What the copies and their events may take together, in bytes.
#define WEIR__QUEUE_BYTES ((uint64_t)256 << 20)

typedef struct weir__queued weir__queued;

// Lets a queued submission enter. LATER: not now.
typedef weir__admit_result (*weir__queued_enter)(weir_context *context, const weir__queued *queued,
                                                 weir_status *out_status);

// It has entered, or failed, and is gone after the call.
typedef void (*weir__queued_left)(const weir__queued *queued);

struct weir__queued {
  weir__queued *next;
  weir__queued_enter enter;
  weir__queued_left left; // NULL: nothing to do
  uint64_t bytes;
  weir__submission submission; // its task is `task`
  weir_task task;              // owned, with what it points to, but for `user`
  void *more;                  // for `enter` and `left`, owned
  weir_event *event;           // a reference is its
};

// Queues a submission that was checked, in a task or callback; its family is known. `more` is copied; NULL: the task says all.
// `*out_event` is an event that the caller has a reference of. The lock is held, and not released.
weir_status weir__queue_add(weir_context *context, const weir__submission *submission, weir__queued_enter enter,
                            weir__queued_left left, const void *more, size_t more_bytes, weir_event **out_event);

// A task that was accepted before cannot enter, though nothing is in flight: it fails, for the reason of weir_last_error. `event`
// may be NULL.
void weir__queue_fail(weir_context *context, const weir_task *task, weir_event *event, weir_status status);

// Whether a submission may pass those that are queued: it is one of them, or was called before them, or is a part of a task
// that is in flight.
static inline bool weir__queue_passes(const weir__queue *queue, const weir__submission *submission) {
  return queue->first == NULL || submission->queued || submission->aside != NULL || submission->reserved > 0 ||
         (submission->ticket != NULL && *submission->ticket != 0 && *submission->ticket - 1 <= queue->left);
}

// A submission of the caller's own thread has to wait: what is queued from now on comes after it.
static inline void weir__queue_number(const weir__queue *queue, const weir__submission *submission) {
  if (submission->ticket != NULL && *submission->ticket == 0) *submission->ticket = queue->came + 1;
}

// A submission of the caller's own thread waits until it may pass. The lock is held before and after, not meanwhile.
void weir__queue_await_turn(weir_context *context, const weir__submission *submission);

// Waits until all that is queued has entered. As above. False: not until the deadline (0: none).
bool weir__queue_await_all(weir_context *context, uint64_t deadline_ns);

// Lets enter what there is room for. Called when the lock, which is held, is to be released.
void weir__queue_drain(weir_context *context);

// Notes whether submissions are held back: by the queue, or for lack of memory (weir__order.hold).
static inline void weir__queue_update(weir_context *context) {
  bool any = context->queue.first != NULL;
  context->order.barrier = any ? UINT64_MAX : context->order.hold;
  weir__context_is_unusual(context);
  if (any)
    context->host.notices.due |= WEIR__DUE_QUEUE;
  else
    context->host.notices.due &= (uint8_t)~WEIR__DUE_QUEUE;
}

// Skips all that is queued, once it enters.
void weir__queue_cancel(weir_context *context);

#endif // WEIR_ENGINE_QUEUE_H
