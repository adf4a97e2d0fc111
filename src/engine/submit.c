// SPDX-License-Identifier: Apache-2.0
#include "engine/submit.h"

#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/admit.h"
#include "engine/auto.h"
#include "engine/boxes.h"
#include "engine/buffer.h"
#include "engine/check.h"
#include "engine/family.h"
#include "engine/place.h"
#include "engine/plain.h"
#include "engine/process.h"
#include "engine/queue.h"
#include "engine/reduce.h"
#include "engine/room.h"
#include "engine/scratch.h"
#include "engine/storage.h"
#include "engine/transfer.h"

// How long a submission waits for its turn before it comes first.
enum { CLAIM_AFTER_NS = 1000000 };

// A task of a device with memory of its own that works on its images: a copy cannot stand in for one.
static bool uses_images(const weir_task *task) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    if (arg->mode != WEIR_VALUE && arg->buffer != NULL && weir__object_is(&arg->buffer->object, WEIR__KIND_BUFFER) &&
        arg->buffer->image)
      return true;
  }
  return false;
}

// In check mode the checker gets the task instead of the device that was asked for.
// Returns the space that the contents must be in.
static __attribute__((noinline)) uint32_t redirect(const weir_context *context, const weir__submission *submission,
                                                   weir__request *request) {
  weir_device *device = request->device;
  if (submission->aside != NULL || submission->device != NULL) return device->space;
  const char *why = device->space != WEIR__HOST_SPACE && uses_images(submission->task) ? "it works on images"
                    : weir__kernel_enqueue(submission->task->kernel, device) != NULL ? "its code is an enqueue function"
                                                                                     : NULL;
  if (why != NULL) {
    char what[WEIR__WHAT_BYTES];
    weir__describe_task(submission->task, what);
    weir__check_cannot(what, why);
    return device->space;
  }
  request->device = context->devices.checker;
  request->asked = submission->unchecked ? WEIR__NO_CHECK : (uint8_t)device->index;
  bool stays = !submission->unchecked && (context->devices.checked_on_card >> device->index & 1) != 0;
  return stays ? device->space : WEIR__HOST_SPACE;
}

static weir__admit_result submit_auto(weir_context *context, const weir__submission *submission, weir_event **out_event,
                                      weir_status *out_status);
static weir__admit_result submit_scratch(weir_context *context, const weir__submission *submission,
                                         const weir_device *device, weir_event **out_event, weir_status *out_status);

// A task that adds by reductions, or needs what others added: that is combined first, and then the task gets its place.
static __attribute__((noinline)) weir__admit_result submit_reducing(weir_context *context,
                                                                    const weir__submission *submission,
                                                                    const weir__request *request,
                                                                    weir_event **out_event, weir_status *out_status) {
  const weir_task *task = submission->task;
  weir__admit_result result =
      weir__reduce_combine_for(context, submission, task, request->accesses, request->checked.access_count, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir_arg args[WEIR__REDUCE_MOST_ARGS];
  weir_task placed = *task;
  weir__submission direct = *submission;
  direct.task = &placed;
  if (task->arg_count <= WEIR__REDUCE_MOST_ARGS) {
    memcpy(args, task->args, task->arg_count * sizeof args[0]);
    placed.args = args;
    result = weir__reduce_place(context, submission, request->device, args, task->arg_count, out_status);
    if (result != WEIR__ADMITTED) return result;
  }
  return weir__submit_once(context, &direct, true, out_event, out_status);
}

static inline __attribute__((always_inline)) weir__admit_result submit(weir_context *context,
                                                                       const weir__submission *submission, bool direct,
                                                                       weir_event **out_event,
                                                                       weir_status *out_status) {
  const weir_task *task = submission->task;
  if (context->devices.polls && !submission->queued) weir__context_poll(context);
  weir__request request;
  *out_status = weir__check_task(context, submission, &request.device);
  if (*out_status != WEIR_OK) return submit_scratch(context, submission, request.device, out_event, out_status);
  request.asked = WEIR__NO_CHECK;
  uint32_t space = request.device->space;
  if (context->devices.checker != NULL) space = redirect(context, submission, &request);
  if (weir__window_full(&context->host.window, submission->reserved) ||
      context->host.window.live.oldest < context->order.barrier) {
    weir__admit_result result = weir__await_room(context, submission, 1, out_status);
    if (result != WEIR__ADMITTED) return result;
  }
  // The arguments go straight to where they stay: the slot of the next task is free.
  weir__task *slot = weir__window_task(&context->host.window, context->host.window.next);
  request.accesses = weir__window_payload(slot, task->arg_count * sizeof(weir__access));
  if (request.accesses == NULL) return weir__no_memory(submission, "arguments", out_status);
  *out_status = weir__check_args(context, task, space, request.accesses, &request.checked);
  if (*out_status != WEIR_OK)
    return *out_status == WEIR_PENDING ? submit_auto(context, submission, out_event, out_status) : WEIR__REFUSED;
  // Behind the accesses, which are no more than the arguments: boxes, pointers, and values.
  uint64_t bytes = request.checked.access_count * sizeof(weir__access) + task->arg_count * sizeof(void *) +
                   request.checked.value_bytes;
  if (bytes > WEIR__TASK_INLINE_PAYLOAD) {
    bool is_inline = (void *)request.accesses == (void *)slot->payload;
    request.accesses = weir__window_large_payload(slot, bytes); // what was there already stays
    if (request.accesses == NULL) return weir__no_memory(submission, "arguments", out_status);
    if (is_inline) memcpy(request.accesses, slot->payload, request.checked.access_count * sizeof(weir__access));
  }
  request.pointers = (void **)(void *)(request.accesses + request.checked.access_count);
  if (request.checked.reduces && !direct) return submit_reducing(context, submission, &request, out_event, out_status);
  if (request.checked.lacks_contents) {
    weir__admit_result result =
        weir__transfer_args(context, submission, space, request.checked.access_count, out_status);
    return result == WEIR__ADMITTED ? WEIR__RETRY : result; // transfers have taken the slot
  }
  if (request.checked.write_backs > 0 &&
      weir__window_room(&context->host.window, submission->reserved) <= request.checked.write_backs) {
    weir__admit_result result = weir__await_room(context, submission, request.checked.write_backs + 1, out_status);
    if (result != WEIR__ADMITTED) return result;
  }
  if (request.checked.box_count > 0) request.pointers = weir__keep_boxes(context, request.accesses, &request.checked);
  if (context->memory.predictor != NULL) weir__predictor_note(context->memory.predictor, task);
  request.submission = submission;
  request.task = task;
  request.fresh = context->order.fresh;
  request.kind = task->kernel != NULL ? WEIR__TASK_KERNEL : submission->opens ? WEIR__TASK_OPEN : WEIR__TASK_HOST;
  if (request.kind == WEIR__TASK_OPEN) request.checked.commutes = true; // it is not issued when it is ready
  request.run = NULL;
  request.move = NULL;
  if (request.checked.write_backs == 0) return weir__admit(context, &request, out_event, out_status);
  // Memory for what the copies back need is set aside first, so that they cannot fail.
  if (!weir__range_pool_reserve(&context->order.ranges, request.checked.access_count + request.checked.write_backs))
    return weir__no_memory(submission, "arguments", out_status);
  weir__admit_result result = weir__admit(context, &request, out_event, out_status);
  if (result == WEIR__ADMITTED)
    weir__write_back(context, request.accesses, request.checked.access_count, request.checked.write_backs, false,
                     out_event != NULL ? *out_event : NULL);
  return result;
}

weir__admit_result weir__submit_once(weir_context *context, const weir__submission *submission, bool direct,
                                     weir_event **out_event, weir_status *out_status) {
  return submit(context, submission, direct, out_event, out_status);
}

// Takes the modes from the code first. A retry takes them again, for the code may have changed meanwhile.
static __attribute__((noinline)) weir__admit_result submit_auto(weir_context *context,
                                                                const weir__submission *submission,
                                                                weir_event **out_event, weir_status *out_status) {
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  weir__submission by = *submission;
  weir_device *device;
  *out_status = weir__check_task(context, submission, &device); // not the checker
  if (*out_status != WEIR_OK) return WEIR__REFUSED;
  weir__take_modes(device, submission->task, args, &task);
  by.task = &task;
  return weir__submit_once(context, &by, false, out_event, out_status);
}

// The task was refused, or it is to have scratch memory first.
static __attribute__((noinline)) weir__admit_result submit_scratch(weir_context *context,
                                                                   const weir__submission *submission,
                                                                   const weir_device *device, weir_event **out_event,
                                                                   weir_status *out_status) {
  if (*out_status != WEIR_PENDING) return WEIR__REFUSED;
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  weir_buffer *scratch;
  weir__submission by = *submission;
  *out_status = weir__scratch_add(context, device, submission->task, args, &task, &scratch);
  if (*out_status != WEIR_OK) return WEIR__REFUSED;
  by.task = &task;
  weir__admit_result result = weir__submit_once(context, &by, false, out_event, out_status);
  weir__buffer_give_up(scratch);
  return result;
}

// A submission that waits.
typedef struct queueing {
  uint64_t since; // 0: it has not waited yet
  bool claims;    // the next free slot is set aside for it, and others are kept out until it has it
  weir__submission own;
} queueing;

static void end_claim(weir__window *window, queueing *patience) {
  patience->claims = window->claimed = false;
  patience->own.reserved = 0;
}

// The lock was released, to wait, and the submission starts again. While other threads submit without pause, a slot that comes
// free may be taken each time before this thread is there. Returns the submission as it goes on.
static __attribute__((noinline)) const weir__submission *
try_again(weir_context *context, const weir__submission *submission, queueing *patience) {
  weir__window *window = &context->host.window;
  uint64_t now = weir__clock_ns();
  bool short_of_memory = context->memory.short_thread == &weir__this_thread;
  context->memory.short_thread = NULL;
  if (patience->claims) {
    // While it waits for storage nobody else may take what comes free, or have it give up what it has got.
    if (!short_of_memory && !weir__window_full(window, patience->own.reserved)) { // it waits for something else
      end_claim(window, patience);
      patience->since = now;
    }
  } else if (patience->since == 0) {
    patience->since = now;
    patience->own = *submission;
  } else if (now - patience->since >= CLAIM_AFTER_NS && !window->claimed && patience->own.reserved == 0 &&
             weir__queue_passes(&context->queue, &patience->own)) { // else others come first
    patience->claims = window->claimed = true;
    weir__context_is_unusual(context);
    patience->own.reserved = WEIR__CLAIMED_SLOT;
  }
  return &patience->own;
}

static weir__admit_result enter_queued(weir_context *context, const weir__queued *queued, weir_status *out_status) {
  weir_event *event = queued->event;
  return weir__submit_once(context, &queued->submission, false, &event, out_status);
}

static weir_status queue(weir_context *context, const weir__submission *submission, weir_event **out_event);

// The queue keeps the buffer until the task has entered.
static weir_status queue_scratch(weir_context *context, const weir__submission *submission, const weir_device *device,
                                 weir_event **out_event) {
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  weir_buffer *scratch;
  weir__submission by = *submission;
  weir_status status = weir__scratch_add(context, device, submission->task, args, &task, &scratch);
  if (status != WEIR_OK) return status;
  by.task = &task;
  status = queue(context, &by, out_event);
  weir__buffer_give_up(scratch);
  return status;
}

// A task that has to wait, and must not, is checked to the end, so that it cannot be refused later, and is queued. Modes that its
// code gives are those of the code that the kernel has now.
static weir_status queue(weir_context *context, const weir__submission *submission, weir_event **out_event) {
  weir_device *device;
  weir_status status = weir__check_task(context, submission, &device);
  if (status == WEIR_PENDING) return queue_scratch(context, submission, device, out_event);
  if (status != WEIR_OK) return status;
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  weir__take_modes(device, submission->task, args, &task);
  weir__checked checked;
  weir__access *accesses = weir__allocate((task.arg_count + 1) * sizeof *accesses);
  if (accesses == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "submit: no memory for arguments");
  status = weir__check_args(context, &task, device->space, accesses, &checked);
  weir__free(accesses);
  if (status != WEIR_OK) return status;
  weir__submission taken = *submission;
  taken.task = &task;
  return weir__queue_add(context, &taken, enter_queued, NULL, NULL, 0, out_event);
}

// A task of a group, or one that a task or callback submits. It has an event in any case.
static __attribute__((noinline)) weir_status submit_in_family(weir_context *context, const weir__submission *submission,
                                                              weir_event **out_event) {
  weir__family family;
  weir_status status = weir__family_find(context, submission->task->group, &family);
  if (status != WEIR_OK) return status;
  weir_event *own = NULL;
  weir__submission related = *submission;
  related.family = &family;
  if (out_event == NULL) out_event = &own;
  weir__admit_result result;
  queueing patience = {.since = 0};
  submission = &related;
  while ((result = weir__submit_once(context, submission, false, out_event, &status)) == WEIR__RETRY)
    submission = try_again(context, submission, &patience);
  if (patience.claims) end_claim(&context->host.window, &patience);
  if (result == WEIR__LATER) status = queue(context, &related, out_event);
  if (own != NULL) weir__event_drop(own);
  return status;
}

static inline weir_status submit_somewhere(weir_context *context, const weir__submission *submission,
                                           weir_event **out_event) {
  weir_status status;
  // What is part of a task in flight is nobody's child.
  if ((weir__this_thread.in_task | (submission->task->group != NULL)) && submission->reserved == 0)
    return submit_in_family(context, submission, out_event);
  // What frees the task's data waits for an event.
  weir_event *own = NULL;
  if (out_event == NULL && submission->task->destroy != NULL) out_event = &own;
  queueing patience;
  patience.since = 0;
  patience.claims = false;
  while (submit(context, submission, false, out_event, &status) == WEIR__RETRY)
    submission = try_again(context, submission, &patience);
  if (patience.claims) end_claim(&context->host.window, &patience);
  if (own != NULL) weir__event_drop(own);
  return status;
}

static __attribute__((noinline)) weir_status submit_placed(weir_context *context, const weir__submission *submission,
                                                           weir_event **out_event) {
  weir_task task = *submission->task;
  weir__submission placed = *submission;
  placed.task = &task;
  task.device = weir__place(context, &task);
  // Where there is no choice it is as in other contexts.
  if (task.device == NULL) task.device = weir__plain_device(context, &task);
  return submit_somewhere(context, &placed, out_event);
}

weir_status weir__submit(weir_context *context, const weir__submission *submission, weir_event **out_event) {
  if (weir__is_foreign(context)) return weir__refuse_foreign("submit");
  bool chooses = context->placement != NULL && submission->task->device == NULL && submission->task->kernel != NULL &&
                 submission->device == NULL;
  return chooses ? submit_placed(context, submission, out_event) : submit_somewhere(context, submission, out_event);
}

weir_status weir__submit_special(weir_context *context, const weir_task *task, weir_event **out_event) {
  uint64_t ticket = 0;
  const weir__submission submission = {
      .task = task, .origin = weir__origin_of(context), .ticket = &ticket, .may_queue = true};
  return weir__submit(context, &submission, out_event);
}
