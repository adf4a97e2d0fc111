// SPDX-License-Identifier: Apache-2.0
#include "engine/pressure.h"

#include "base/clock.h"
#include "engine/check.h"
#include "engine/evict.h"
#include "engine/queue.h"

// How long others are waited for before storage is looked for again.
enum { PATIENCE_NS = 20000000 };

uint64_t weir__storage_needed(const weir_task *task) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    bool again = arg->mode == WEIR_VALUE || arg->buffer->wrapped;
    for (uint32_t j = 0; j < i && !again; j++)
      again = task->args[j].mode != WEIR_VALUE && task->args[j].buffer == arg->buffer;
    if (again) continue;
    if (arg->buffer->bytes > UINT64_MAX - bytes) return UINT64_MAX;
    bytes += arg->buffer->bytes;
  }
  return bytes;
}

// Whether the buffers that a task names fit into the space when nothing else is there.
static bool fits_alone(const weir_context *context, const weir_task *task, uint32_t space) {
  return weir__storage_needed(task) <= context->memory.pools[space].limit;
}

// Waits until another thread has released storage or submitted something. False: none did for a while.
static bool await_others(weir_context *context) {
  weir__id next = context->host.window.next;
  uint32_t seen = atomic_load_explicit(&context->memory.returns, memory_order_relaxed);
  uint64_t until = weir__clock_ns() + PATIENCE_NS;
  bool any = false;
  context->memory.waiting_for_returns++;
  // A wake-up for a release that this thread has seen already may come late, in its next wait.
  for (uint64_t now = until - PATIENCE_NS; !any && now < until; now = weir__clock_ns()) {
    weir__context_unlock(context);
    weir__sleep_on(&context->memory.returns, seen, until - now);
    weir__context_lock_again(context);
    any = atomic_load_explicit(&context->memory.returns, memory_order_relaxed) != seen ||
          context->host.window.next != next;
  }
  context->memory.waiting_for_returns--;
  return any;
}

// Whether the oldest task was waited for in vain: it may be one that waits for the caller.
static bool oldest_stays(const weir_context *context) {
  return context->memory.awaited_in_vain == context->host.window.live.oldest;
}

// Waits until the oldest task is done, or for a while: storage may have come free behind others.
static void await_oldest(weir_context *context) {
  weir__id oldest = context->host.window.live.oldest;
  if (!weir__submission_wait(context, WEIR__TRACE_MEMORY, oldest + 1, PATIENCE_NS))
    context->memory.awaited_in_vain = oldest;
}

static weir__admit_result await_storage(weir_context *context, const weir__submission *submission, uint32_t space,
                                        uint64_t bytes, weir__pool_result result, weir_status *out_status) {
  *out_status = WEIR_OK;
  if (context->reductions.first != NULL && !weir__this_thread.in_task) {
    // Copies of reductions come free. What stands in the way of that does not matter here.
    weir_status ignored;
    uint64_t copies = context->reductions.bytes;
    context->reductions.combine_all(context, submission, NULL, &ignored);
    if (context->reductions.bytes < copies) return WEIR__RETRY;
  }
  // Idle buffers may stay for what tasks in flight use, as long as these get done.
  bool waits = !weir__must_not_wait(submission) && !oldest_stays(context);
  if (submission->aside == NULL && space != WEIR__HOST_SPACE && weir__evict(context, submission, space, bytes, waits))
    return WEIR__RETRY;
  // The task that the checker runs is in flight itself.
  if (!weir__window_empty(&context->host.window) && submission->aside == NULL) {
    if (weir__must_not_wait(submission)) {
      bool fits = submission->queued || !submission->may_queue || submission->task == NULL ||
                  fits_alone(context, submission->task, space);
      return fits ? weir__would_wait(submission, "the memory", out_status) : WEIR__REFUSED;
    }
    // Copies on the host save others when cards are full: they stay for as long as this helps.
    if (space == WEIR__HOST_SPACE && oldest_stays(context) && weir__evict_copies(context, space)) return WEIR__RETRY;
    weir__queue_number(&context->queue, submission);
    context->host.statistics.memory_waits++;
    weir__context_flush(context);
    await_oldest(context);
    return WEIR__RETRY;
  }
  if (weir__evict_copies(context, space)) return WEIR__RETRY;
  if (result != WEIR__POOL_LIMIT || submission->aside != NULL) return WEIR__REFUSED;
  if (submission->task != NULL && !fits_alone(context, submission->task, space)) return WEIR__REFUSED;
  // Who lets enter what is queued waits a little, too: nothing is in flight that it could hold up.
  if (weir__this_thread.in_task && !submission->queued) return submission->may_queue ? WEIR__LATER : WEIR__REFUSED;
  context->host.statistics.memory_waits++;
  return await_others(context) ? WEIR__RETRY : WEIR__REFUSED;
}

weir__admit_result weir__await_storage(weir_context *context, const weir__submission *submission, uint32_t space,
                                       uint64_t bytes, weir__pool_result result, weir_status *out_status) {
  weir__admit_result awaited = await_storage(context, submission, space, bytes, result, out_status);
  if (awaited == WEIR__RETRY) context->memory.short_thread = &weir__this_thread;
  return awaited;
}
