// SPDX-License-Identifier: Apache-2.0
//
// The way of an item into the window.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "base/tsan.h"
#include "engine/auto.h"
#include "engine/boxes.h"
#include "engine/check.h"
#include "engine/submit.h"
#include "pipeline/chain.h"

enum { FEW_EVENTS = 16 };

// Adds to a message where the item is.
static weir_status refuse(const weir_chain *chain, uint32_t stage, weir_status status) {
  char message[512];
  snprintf(message, sizeof message, "%s", weir_last_error());
  return weir__error(status, "chain submit: item %llu, stage %u: %s", (unsigned long long)chain->next_item, stage,
                     message);
}

static weir_status would_wait(const char *why) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "chain submit: %s, and a task or callback must not wait", why);
}

static weir_status check_item(const weir_chain *chain, const weir_chain_item *item) {
  if (item->arg_count != chain->item_arg_count)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain submit: an item with %u arguments; the stages use %u",
                       item->arg_count, chain->item_arg_count);
  if (item->arg_count > 0 && item->args == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain submit: args is NULL");
  if (item->after_count > 0 && item->after == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "chain submit: after is NULL");
  for (uint32_t i = 0; i < item->arg_count; i++) {
    if (item->args[i].mode != WEIR_VALUE && item->args[i].shape != WEIR_RANGE)
      return weir__refuse_box(&item->args[i], i, "chain submit");
  }
  return WEIR_OK;
}

// The task of a stage, but for what it comes after. Its arguments are the chain's until the next call.
static weir_task task_of(weir_chain *chain, const weir_chain_item *item, uint32_t index) {
  weir__chain_stage *stage = &chain->stages[index];
  const weir_chain_stage *given = &stage->given;
  for (uint32_t i = 0; i < given->arg_count; i++) {
    const weir_chain_arg *arg = &given->args[i];
    if (arg->source == WEIR_CHAIN_LINK) {
      const weir__chain_link *link = &chain->links[arg->index];
      weir_buffer *buffer = link->buffers[chain->next_item % link->buffer_count];
      chain->task_args[i] = (weir_arg){.mode = arg->arg.mode, .buffer = buffer, .bytes = WEIR_WHOLE};
    } else {
      chain->task_args[i] = arg->source == WEIR_CHAIN_ITEM ? item->args[arg->index] : arg->arg;
    }
  }
  weir_task task = {.kernel = given->kernel,
                    .host = given->host,
                    .user = given->user,
                    .args = chain->task_args,
                    .arg_count = given->arg_count,
                    .groups = {given->groups[0], given->groups[1], given->groups[2]},
                    .device = stage->device,
                    .priority = given->priority,
                    .label = given->label,
                    .tag = item->tag};
  weir__fill_modes(stage->device, &task, chain->task_args);
  return task;
}

// Checks all stages, so that an item is not refused in the middle.
static weir_status check_stages(weir_chain *chain, const weir_chain_item *item) {
  for (uint32_t i = 0; i < chain->stage_count; i++) {
    weir_task task = task_of(chain, item, i);
    weir_device *device = NULL;
    weir__checked checked;
    if (i == 0) task.after = item->after;
    if (i == 0) task.after_count = item->after_count;
    weir_status status = weir__check_task(chain->object.context, &(weir__submission){.task = &task}, &device);
    if (status == WEIR_OK || status == WEIR_PENDING) // it gets its scratch memory when it is submitted
      status = weir__check_args(chain->object.context, &task, device->space, chain->accesses, &checked);
    if (status != WEIR_OK) return refuse(chain, i, status);
  }
  return WEIR_OK;
}

// Slots of the window that an item may need: of each stage its own, and for each buffer up to two transfers there and one back.
static uint32_t slots_of_item(const weir_chain *chain) {
  const weir_context *context = chain->object.context;
  uint64_t slots = chain->stage_count;
  for (uint32_t i = 0; context->memory.space_count > 1 && i < chain->stage_count; i++)
    slots += 3ull * chain->stages[i].given.arg_count;
  return slots < weir__window_size(&context->host.window) ? (uint32_t)slots : weir__window_size(&context->host.window);
}

// Waits until the oldest item in flight is done. The lock is held before and after, not meanwhile.
static void await_oldest(weir_chain *chain) {
  weir_context *context = chain->object.context;
  weir_event *event = chain->first->event;
  event->references++;
  weir__context_unlock(context);
  weir__event_await(event, WEIR_FOREVER);
  weir__context_lock(context);
  weir__event_drop(event);
}

static void await_turn(weir_chain *chain) {
  uint32_t turn = atomic_load_explicit(&chain->turn, memory_order_relaxed);
  chain->turn_waiters++;
  weir__context_unlock(chain->object.context);
  weir__sleep_on(&chain->turn, turn, WEIR_FOREVER);
  weir__context_lock(chain->object.context);
  chain->turn_waiters--;
}

// Waits until this thread may submit an item: nobody else is in the middle of one, there are not too many in flight, and, in a
// callback, which must not stop in the middle, there is room in the window for all of it. The lock is held.
static weir_status take_turn(weir_chain *chain) {
  weir_context *context = chain->object.context;
  if (context->devices.polls) weir__context_poll(context);
  while (chain->submitting || chain->statistics.in_flight >= chain->most_in_flight) {
    if (weir__this_thread.in_task)
      return would_wait(chain->submitting ? "another thread is in the middle of an item" : "the chain is full");
    if (chain->submitting)
      await_turn(chain);
    else
      await_oldest(chain);
  }
  if (weir__this_thread.in_task &&
      (context->queue.first != NULL || weir__window_room(&context->host.window, 0) < slots_of_item(chain)))
    return would_wait("the window has no room for an item");
  chain->submitting = true;
  return WEIR_OK;
}

static void end_turn(weir_chain *chain) {
  chain->submitting = false;
  atomic_fetch_add_explicit(&chain->turn, 1, memory_order_relaxed);
  if (chain->turn_waiters > 0) weir__wake(&chain->turn, INT32_MAX);
}

static weir__chain_item *take_item(weir_chain *chain) {
  weir__chain_item *item = chain->free_items;
  if (item == NULL) {
    item = weir__allocate_zeroed(sizeof *item + chain->stage_count * sizeof item->parts[0]);
    if (item == NULL) return NULL;
  } else {
    chain->free_items = item->next;
  }
  item->event = weir__event_take(chain->object.context, 0, NULL);
  if (item->event == NULL) {
    item->next = chain->free_items;
    chain->free_items = item;
    return NULL;
  }
  item->event->sync = weir__sync_create();
  weir_device *device = chain->stages[0].device;
  item->next = NULL;
  item->chain = chain;
  item->number = chain->next_item;
  item->submit_ns = device->ops->time(device);
  item->left = chain->stage_count;
  item->status = WEIR_OK;
  item->message[0] = '\0';
  for (uint32_t i = 0; i < chain->stage_count; i++) item->parts[i] = (weir__chain_part){.item = item, .stage = i};
  return item;
}

static void add_item(weir_chain *chain, weir__chain_item *item) {
  weir_chain_statistics *statistics = &chain->statistics;
  if (chain->last == NULL)
    chain->first = item;
  else
    chain->last->next = item;
  chain->last = item;
  statistics->submitted++;
  if (++statistics->in_flight > statistics->most_in_flight) statistics->most_in_flight = statistics->in_flight;
}

// Submits a stage, which comes after the `after_count` events of `after`, and more, for which there is room.
static weir_status submit_stage(weir_chain *chain, const weir_chain_item *given, weir__chain_item *item, uint32_t index,
                                weir_event **after, uint32_t after_count) {
  uint32_t slot = (uint32_t)(item->number % chain->depth);
  weir_task task = task_of(chain, given, index);
  task.after_count = after_count;
  if (index + 1 < chain->stage_count && chain->stages[index + 1].events[slot] != NULL)
    after[task.after_count++] = chain->stages[index + 1].events[slot];
  task.after = after;
  weir__chain_part *part = &item->parts[index];
  const weir__completion_target target = {
      .done = weir__chain_part_done, .user = part, .at_once = true, .reported = true};
  const weir__submission submission = {
      .task = &task, .target = &target, .origin = weir__origin_of(chain->object.context), .kernel_checked = true};
  weir_status status = weir__submit(chain->object.context, &submission, &part->event);
  if (status != WEIR_OK) return refuse(chain, index, status);
  weir_event **newest = &chain->stages[index].events[slot]; // the chain keeps the reference
  if (*newest != NULL) {
    (*newest)->object.released = true;
    weir__event_drop(*newest);
  }
  *newest = part->event;
  weir_event *event = item->event;
  if (index == 0) event->task = part->event->task;
  event->last = part->event->last;
  return WEIR_OK;
}

// The rest of an item whose stage `submitted` could not be submitted.
static void end_early(weir_chain *chain, weir__chain_item *item, uint32_t submitted, weir_status status) {
  item->status = status;
  item->failed_stage = submitted;
  snprintf(item->message, sizeof item->message, "%s", weir_last_error());
  weir__chain_item_progress(item, chain->stage_count - submitted);
}

static weir_status submit_stages(weir_chain *chain, const weir_chain_item *given, weir__chain_item *item,
                                 weir_event **after, uint32_t *out_submitted) {
  if (given->after_count > 0) memcpy(after, given->after, given->after_count * sizeof(weir_event *));
  weir_status status = submit_stage(chain, given, item, 0, after, given->after_count);
  for (*out_submitted = 0; status == WEIR_OK && ++*out_submitted < chain->stage_count;) {
    after[0] = item->parts[*out_submitted - 1].event;
    status = submit_stage(chain, given, item, *out_submitted, after, 1);
  }
  return status;
}

static weir_status submit_item(weir_chain *chain, const weir_chain_item *given, weir_event **out_event) {
  weir_status status = check_stages(chain, given);
  if (status != WEIR_OK) return status;
  weir_event *few[FEW_EVENTS];
  bool many = given->after_count > FEW_EVENTS - 2; // the stage before, and room behind
  weir_event **after = many ? weir__allocate((given->after_count + 2ull) * sizeof(weir_event *)) : few;
  weir__chain_item *item = after == NULL ? NULL : take_item(chain);
  if (item == NULL) {
    if (many) weir__free(after);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "chain submit: no memory for item %llu",
                       (unsigned long long)chain->next_item);
  }
  weir_event *event = item->event;
  add_item(chain, item);
  uint32_t submitted = 0;
  status = submit_stages(chain, given, item, after, &submitted);
  if (many) weir__free(after);
  chain->next_item++;
  if (status != WEIR_OK) end_early(chain, item, submitted, status);
  if (status == WEIR_OK && out_event != NULL) {
    *out_event = event;
    return WEIR_OK;
  }
  event->object.released = true;
  weir__event_drop(event);
  return status;
}

weir_status weir_chain_submit_sized(weir_chain *chain, const weir_chain_item *given, size_t item_size,
                                    weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(chain, WEIR__KIND_CHAIN, NULL, "chain submit");
  if (status != WEIR_OK) return status;
  weir_chain_item item;
  status = weir__struct_take(&item, sizeof item, given, item_size, "chain submit");
  if (status == WEIR_OK) status = check_item(chain, &item);
  if (status != WEIR_OK) return status;
  weir_context *context = chain->object.context;
  weir__context_lock(context);
  status = take_turn(chain);
  if (status == WEIR_OK) {
    status = submit_item(chain, &item, out_event);
    end_turn(chain);
  }
  weir__context_unlock(context);
  return status;
}
