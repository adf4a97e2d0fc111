// SPDX-License-Identifier: Apache-2.0
#include "engine/pressure.h"

#include "engine/check.h"
#include "engine/queue.h"

enum { PATIENCE_NS = 20000000 };

typedef struct eviction {
  weir_context *context;
  uint32_t space;
  bool any;
} eviction;

// Gives up a replica whose contents are elsewhere, too, or undefined.
static void evict(void *user, weir__object *object) {
  eviction *self = user;
  weir_context *context = self->context;
  weir_buffer *buffer = (weir_buffer *)object;
  uint16_t here = weir__space_bit(self->space);
  if (!(buffer->held & here) || buffer->kept || buffer->named == context->checks) return;
  if (!weir__buffer_idle(buffer, &context->host.window.live)) return;
  bool elsewhere = (weir__buffer_common_spaces(buffer, 0, buffer->bytes) & ~here) != 0;
  if (buffer->valid != 0 && !elsewhere) return;
  if (buffer->valid != 0 &&
      !weir__buffer_change_valid(buffer, &context->memory.validities, 0, buffer->bytes, (uint16_t)~here, 0))
    return;
  weir__buffer_drop_place(buffer, self->space, &context->memory.pools[self->space], true);
  self->any = true;
}

static bool evict_all(weir_context *context, uint32_t space) {
  eviction self = {.context = context, .space = space};
  if (weir__validity_reserve(&context->memory.validities, 1))
    weir__object_pool_each(&context->objects.buffers, evict, &self);
  uint64_t free_before = context->memory.pools[space].free_bytes;
  if (space == WEIR__HOST_SPACE && context->memory.reclaim != NULL) context->memory.reclaim(context);
  return self.any || context->memory.pools[space].free_bytes > free_before;
}

// Whether the buffers that a task names fit into the space when nothing else is there.
static bool fits_alone(const weir_context *context, const weir_task *task, uint32_t space) {
  uint64_t left = context->memory.pools[space].limit;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    bool again = arg->mode == WEIR_VALUE || arg->buffer->wrapped;
    for (uint32_t j = 0; j < i && !again; j++)
      again = task->args[j].mode != WEIR_VALUE && task->args[j].buffer == arg->buffer;
    if (again) continue;
    if (arg->buffer->bytes > left) return false;
    left -= arg->buffer->bytes;
  }
  return true;
}

// Waits until another thread has released storage or submitted something. False: none did for a while.
static bool await_others(weir_context *context) {
  weir__id next = context->host.window.next;
  uint32_t seen = atomic_load_explicit(&context->memory.returns, memory_order_relaxed);
  context->memory.waiting_for_returns++;
  weir__context_unlock(context);
  weir__sleep_on(&context->memory.returns, seen, PATIENCE_NS);
  weir__context_lock_again(context);
  context->memory.waiting_for_returns--;
  return atomic_load_explicit(&context->memory.returns, memory_order_relaxed) != seen ||
         context->host.window.next != next;
}

weir__admit_result weir__await_storage(weir_context *context, const weir__submission *submission, uint32_t space,
                                       weir__pool_result result, weir_status *out_status) {
  *out_status = WEIR_OK;
  if (context->reductions.first != NULL && !weir__this_thread.in_task) {
    // Copies of reductions come free. What stands in the way of that does not matter here.
    weir_status ignored;
    uint64_t bytes = context->reductions.bytes;
    context->reductions.combine_all(context, submission, NULL, &ignored);
    if (context->reductions.bytes < bytes) return WEIR__RETRY;
  }
  // The task that the checker runs is in flight itself.
  if (!weir__window_empty(&context->host.window) && submission->aside == NULL) {
    if (weir__must_not_wait(submission)) {
      bool fits = submission->queued || !submission->may_queue || submission->task == NULL ||
                  fits_alone(context, submission->task, space);
      return fits ? weir__would_wait(submission, "the memory", out_status) : WEIR__REFUSED;
    }
    weir__queue_number(&context->queue, submission);
    context->host.statistics.memory_waits++;
    weir__context_flush(context);
    weir__submission_wait(context, WEIR__TRACE_MEMORY, context->host.window.live.oldest + 1, WEIR_FOREVER);
    return WEIR__RETRY;
  }
  if (evict_all(context, space)) return WEIR__RETRY;
  if (result != WEIR__POOL_LIMIT || submission->aside != NULL) return WEIR__REFUSED;
  if (submission->task != NULL && !fits_alone(context, submission->task, space)) return WEIR__REFUSED;
  // Who lets enter what is queued waits a little, too: nothing is in flight that it could hold up.
  if (weir__this_thread.in_task && !submission->queued) return submission->may_queue ? WEIR__LATER : WEIR__REFUSED;
  context->host.statistics.memory_waits++;
  return await_others(context) ? WEIR__RETRY : WEIR__REFUSED;
}
