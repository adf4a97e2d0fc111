// SPDX-License-Identifier: Apache-2.0
//
// A collective's tasks on their way into the window: for each device a ready task, and behind all of them the parts.
#include "engine/submit.h"
#include "base/error.h"
#include "engine/external.h"
#include "engine/room.h"
#include "nccl/request.h"

// Of the window, for each device: its contents are brought there, the ready task and the part, each with a copy back to
// wrapped memory.
enum { READY_SLOTS = 3, PART_SLOTS = 2, TOKEN_USED = 8 };

static weir_mode mode_of(const weir_nccl *nccl, const weir__nccl_request *asked, uint32_t member) {
  bool is_root = nccl->first + member == asked->root;
  if (asked->kind == WEIR__NCCL_ALL_REDUCE) return WEIR_READ_WRITE;
  if (asked->kind == WEIR__NCCL_REDUCE) return is_root ? WEIR_READ_WRITE : WEIR_READ;
  return is_root ? WEIR_READ : WEIR_WRITE;
}

static weir_arg arg_of(const weir__nccl_request *asked, uint32_t member, weir_mode mode) {
  return (weir_arg){.mode = mode, .buffer = asked->buffers[member], .offset = asked->offset, .bytes = asked->bytes};
}

static weir_status await_room(weir_context *context, const weir_task *task, uint32_t slots) {
  const weir__submission submission = {.task = task};
  weir_status status = WEIR_OK;
  weir__admit_result result = WEIR__RETRY;
  while (result == WEIR__RETRY) result = weir__await_room(context, &submission, slots, &status);
  return result == WEIR__ADMITTED ? WEIR_OK : status;
}

// No task of another thread may enter between the first ready task and the last part: a part would wait for it, and
// that no ready task has waited for it. So the window is closed to others from the first one to the last one.
static weir_status close_window(weir__collective *collective, const weir__nccl_request *asked) {
  weir_context *context = collective->nccl->context;
  uint32_t slots = collective->nccl->count * (READY_SLOTS + PART_SLOTS) + 1; // the last one: there is one at all times
  weir_status status = await_room(context, &(weir_task){.label = weir__nccl_name(asked->kind)}, slots);
  if (status != WEIR_OK) return status;
  collective->reserved = slots;
  context->host.window.reserved += slots;
  context->host.window.closed = true;
  weir__context_is_unusual(context);
  return WEIR_OK;
}

static void give_slots(weir__collective *collective, uint32_t slots) {
  collective->reserved -= slots;
  collective->nccl->context->host.window.reserved -= slots;
}

static void open_window(weir__collective *collective) {
  give_slots(collective, collective->reserved);
  collective->nccl->context->host.window.closed = false;
}

// Whether the last part on its device is all that a part has to wait for.
static bool follows_part(const weir_nccl *nccl, const weir__nccl_request *asked, uint32_t member) {
  const weir__nccl_last *last = &nccl->order->last[nccl->members[member].device->index];
  const weir_buffer *buffer = asked->buffers[member];
  return mode_of(nccl, asked, member) != WEIR_WRITE && last->buffer == buffer && last->id == buffer->id &&
         buffer->last_use == last->task && asked->offset >= last->lo && asked->offset + asked->bytes <= last->hi;
}

// Whether all parts have to wait for parts of one earlier collective only, which start together or not at all: see
// nccl.h. They need not be ready.
static bool follows_collective(const weir_nccl *nccl, const weir__nccl_request *asked) {
  const weir__nccl_last *last = nccl->order->last;
  uint32_t first = nccl->members[0].device->index;
  for (uint32_t i = 0; i < nccl->count; i++) {
    if (last[nccl->members[i].device->index].number != last[first].number || !follows_part(nccl, asked, i))
      return false;
  }
  return true;
}

// The same over processes, where that collective must be one of this communicator, so that all can tell whether it takes
// place: it is over, or still in flight, and is then the one that this one follows. What failed is no last part.
static bool follows_in_process(weir_nccl *nccl, const weir__nccl_request *asked, uint64_t *out_follows) {
  const weir__nccl_last *last = &nccl->order->last[nccl->members[0].device->index];
  *out_follows = 0;
  if (last->nccl != nccl || !follows_collective(nccl, asked)) return false;
  pthread_mutex_lock(&nccl->lock);
  const weir__collective *at = nccl->in_flight;
  while (at != NULL && at->number != last->collective) at = at->next;
  bool failed = at != NULL && atomic_load_explicit(&at->failed, memory_order_relaxed);
  pthread_mutex_unlock(&nccl->lock);
  if (at != NULL && !failed) *out_follows = last->collective;
  return !failed;
}

static void note_part(weir_nccl *nccl, const weir__nccl_request *asked, uint32_t member, weir__id task) {
  weir__nccl_order *order = nccl->order;
  const weir_buffer *buffer = asked->buffers[member];
  bool updates = mode_of(nccl, asked, member) != WEIR_READ;
  order->last[nccl->members[member].device->index] = (weir__nccl_last){.number = order->numbered,
                                                                       .nccl = nccl,
                                                                       .collective = nccl->numbered,
                                                                       .buffer = updates ? buffer : NULL,
                                                                       .id = buffer->id,
                                                                       .lo = asked->offset,
                                                                       .hi = asked->offset + asked->bytes,
                                                                       .task = task};
}

void weir__nccl_forget_part(const weir__nccl_part *part) {
  const weir_nccl *nccl = part->collective->nccl;
  weir__nccl_last *last = &nccl->order->last[nccl->members[part->member].device->index];
  if (last->task == part->task) last->buffer = NULL;
}

static weir_status submit_ready(weir__collective *collective, const weir__nccl_request *asked, uint32_t member) {
  weir_nccl *nccl = collective->nccl;
  weir__nccl_part *part = &collective->parts[member];
  const weir_arg arg = arg_of(asked, member, mode_of(nccl, asked, member));
  const weir_task task = {.kernel = nccl->ready,
                          .device = nccl->members[member].device,
                          .user = part,
                          .args = &arg,
                          .arg_count = 1,
                          .label = weir__nccl_name(asked->kind),
                          .tag = nccl->numbered};
  const weir__completion_target target = {.done = weir__nccl_ready_done, .user = part, .at_once = true};
  const weir__submission submission = {
      .task = &task, .target = &target, .origin = weir__origin_of(nccl->context), .reserved = collective->reserved};
  collective->awaited++;
  collective->left++;
  weir_status status = weir__submit(nccl->context, &submission, &part->ready);
  give_slots(collective, READY_SLOTS);
  if (status == WEIR_OK) return WEIR_OK;
  collective->awaited--;
  collective->left--;
  return status;
}

// A part updates what its ready task has overwritten in name.
static weir_status submit_part(weir__collective *collective, const weir__nccl_request *asked, uint32_t member,
                               weir_event **out_event) {
  weir_nccl *nccl = collective->nccl;
  weir__nccl_part *part = &collective->parts[member];
  weir_device *device = nccl->members[member].device;
  weir_mode mode = mode_of(nccl, asked, member);
  const weir_arg args[] = {arg_of(asked, member, mode == WEIR_WRITE ? WEIR_READ_WRITE : mode),
                           weir_writes_range(nccl->order->tokens[device->index], 0, TOKEN_USED)};
  weir_event *after = collective->go->event;
  const weir_task task = {.kernel = nccl->part,
                          .device = device,
                          .user = part,
                          .args = args,
                          .arg_count = 2,
                          .after = &after,
                          .after_count = 1,
                          .label = weir__nccl_name(asked->kind),
                          .tag = nccl->numbered};
  const weir__completion_target target = {
      .done = weir__nccl_part_done, .user = part, .at_once = true, .reported = true};
  const weir__submission submission = {
      .task = &task, .target = &target, .origin = weir__origin_of(nccl->context), .reserved = collective->reserved};
  collective->left++;
  weir_status status = weir__submit(nccl->context, &submission, out_event);
  give_slots(collective, PART_SLOTS);
  if (status != WEIR_OK) {
    collective->left--;
    return status;
  }
  part->task = (*out_event)->task;
  note_part(nccl, asked, member, part->task);
  return WEIR_OK;
}

static weir_status submit_parts(weir__collective *collective, const weir__nccl_request *asked, uint32_t ready_count,
                                weir_event **out_events) {
  weir_status first = WEIR_OK;
  for (uint32_t i = 0; i < ready_count; i++) {
    weir_event *event = NULL;
    weir_status status = submit_part(collective, asked, i, &event);
    if (event != NULL && out_events != NULL)
      out_events[i] = event;
    else if (event != NULL)
      weir__event_drop(event);
    if (status == WEIR_OK) continue;
    weir__nccl_fail(collective, status, weir_last_error());
    collective->parts[i].missing = true;
    if (first == WEIR_OK) first = status;
  }
  return first;
}

weir_status weir__nccl_submit_tasks(weir__collective *collective, const weir__nccl_request *asked,
                                    weir_event **out_events) {
  weir_nccl *nccl = collective->nccl;
  uint32_t ready = 0;
  weir_status status = close_window(collective, asked);
  if (status != WEIR_OK) weir__nccl_fail(collective, status, weir_last_error());
  if (status != WEIR_OK) return status;
  bool follows = nccl->over.ready != NULL ? follows_in_process(nccl, asked, &collective->follows)
                                          : follows_collective(nccl, asked);
  nccl->order->numbered++;
  while (ready < nccl->count && status == WEIR_OK) {
    if (!follows) status = submit_ready(collective, asked, ready);
    ready += status == WEIR_OK;
  }
  if (status != WEIR_OK) weir__nccl_fail(collective, status, weir_last_error());
  weir_status parts = submit_parts(collective, asked, ready, out_events);
  open_window(collective);
  return status == WEIR_OK ? parts : status;
}
