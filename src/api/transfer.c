// SPDX-License-Identifier: Apache-2.0
#include "api/transfer.h"

#include "api/storage.h"

// Which copy to take: that of another device, if there is one that is reached and not lost, since it is likely to be the nearest.
static uint32_t choose_source(const weir_context *context, const weir_buffer *buffer, uint32_t destination) {
  uint32_t source = (uint32_t)__builtin_ctz((uint32_t)buffer->valid);
  for (uint32_t space = source + 1; space < context->space_count; space++) {
    if (!(buffer->valid & weir__space_bit(space)) || context->space_devices[space]->lost) continue;
    if (weir__is_direct(context, space, destination)) source = space;
  }
  return source;
}

// Takes a transfer into the window, which has room. The destination has storage.
static void enter_transfer(weir_context *context, weir_buffer *buffer, uint64_t lo, uint64_t hi, uint32_t source,
                           uint32_t destination, const weir__block *fresh, bool skippable, weir_event *event) {
  weir__task *task = weir__window_begin(&context->window);
  weir__place *from = &buffer->places[source], *to = &buffer->places[destination];
  weir__access *access = (weir__access *)(void *)task->payload;
  weir__move *move = (weir__move *)(void *)(access + 1);
  *access = (weir__access){.buffer = buffer, .lo = lo, .hi = hi, .mode = WEIR_READ, .space = (uint8_t)source};
  weir__hits *hits = &context->hits;
  weir__hits_clear(hits);
  context->held_listed = false;
  weir__buffer_access(buffer, &context->ranges, &context->window.live, task->id, WEIR_READ, lo, hi, hits);
  for (size_t hit = 0; hit < hits->count; hit++) hits->list[hit].buffer = buffer->id;
  access->serial = buffer->serial;
  weir__hit_task(context, hits, from->arrival, WEIR__HAZARD_RAW);
  weir__hit_task(context, hits, to->arrival, WEIR__HAZARD_WAW);
  for (uint8_t user = 0; fresh != NULL && user < fresh->user_count; user++)
    weir__hit_task(context, hits, fresh->users[user], WEIR__HAZARD_STORAGE);
  if (!skippable) hits->poisoned = false; // the bytes that are not poisoned are wanted
  *move = (weir__move){.destination = (char *)to->memory + lo,
                       .source = (const char *)from->memory + lo,
                       .bytes = hi - lo,
                       .destination_space = (uint8_t)destination,
                       .source_space = (uint8_t)source,
                       .transfer = true,
                       .back = skippable};
  to->arrival = task->id;
  buffer->valid |= weir__space_bit(destination);
  weir_device *device = context->space_devices[destination != WEIR__HOST_SPACE ? destination : source];
  weir__request request = {
      .device = device, .accesses = access, .checked.access_count = 1, .label = "transfer", .move = move};
  task->event = event;
  if (event != NULL) event->last = task->id;
  context->statistics.transfers++;
  context->statistics.transfer_bytes += hi - lo;
  weir__enter_found(context, &request, task);
}

weir__enter_result weir__transfer(weir_context *context, const weir_task *task, weir_buffer *buffer, uint32_t space,
                                  weir_status *out_status) {
  weir__enter_result result;
  if (!weir__is_direct(context, choose_source(context, buffer, space), space)) {
    result = weir__transfer(context, task, buffer, WEIR__HOST_SPACE, out_status);
    if (result != WEIR__ENTERED) return result;
  }
  result = weir__enter_wait(context, task, 1, out_status);
  if (result != WEIR__ENTERED) return result;
  if (buffer->ranged && !weir__range_pool_reserve(&context->ranges, 1))
    return weir__no_memory(task, "transfer", out_status);
  weir__block *fresh = NULL;
  if (buffer->places[space].memory == NULL) {
    result = weir__storage_take(context, task, buffer, space, WEIR_MAX_ARGS, true, &fresh, out_status);
    if (result != WEIR__ENTERED) return result;
    weir__buffer_set_storage(buffer, space, fresh);
  }
  enter_transfer(context, buffer, 0, buffer->bytes, choose_source(context, buffer, space), space, fresh, false, NULL);
  return WEIR__ENTERED;
}

weir__enter_result weir__transfer_args(weir_context *context, const weir_task *task, uint32_t space,
                                       weir_status *out_status) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    if (arg->mode == WEIR_VALUE) continue;
    uint64_t hi = arg->bytes == WEIR_WHOLE ? arg->buffer->bytes : arg->offset + arg->bytes;
    if (!weir__lacks_contents(arg->buffer, space, arg->mode, arg->offset, hi)) continue;
    weir__enter_result result = weir__transfer(context, task, arg->buffer, space, out_status);
    if (result != WEIR__ENTERED) return result;
  }
  return WEIR__ENTERED;
}

weir__enter_result weir__transfer_accesses(weir_context *context, const weir__access *accesses, uint32_t count,
                                           uint32_t *out_write_backs, weir_status *out_status) {
  *out_write_backs = 0;
  for (uint32_t i = 0; i < count; i++) {
    const weir__access *access = &accesses[i];
    weir_mode mode = (weir_mode)access->mode;
    if (weir__is_written_back(access->buffer, mode, access->space)) ++*out_write_backs;
    if (!weir__lacks_contents(access->buffer, access->space, mode, access->lo, access->hi)) continue;
    weir__enter_result result = weir__transfer(context, NULL, access->buffer, access->space, out_status);
    if (result != WEIR__ENTERED) return result;
  }
  return WEIR__ENTERED;
}

static bool named_before(const weir__access *accesses, uint32_t index) {
  const weir__access *access = &accesses[index];
  for (uint32_t i = 0; i < index; i++) {
    if (accesses[i].buffer == access->buffer && accesses[i].mode != WEIR_READ) return true;
  }
  return false;
}

static void write_back(weir_context *context, const weir__access *access, uint64_t lo, uint64_t hi, bool skippable,
                       weir_event *event) {
  if (event != NULL) {
    event->references++;
    event->tasks++;
  }
  enter_transfer(context, access->buffer, lo, hi, access->space, access->buffer->home, NULL, skippable, event);
}

uint32_t weir__write_back_slots(const weir_context *context, const weir__access *accesses, uint32_t count,
                                uint32_t write_backs) {
  if (write_backs < context->window.size) return write_backs;
  uint32_t buffers = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (weir__is_written_back(accesses[i].buffer, (weir_mode)accesses[i].mode, accesses[i].space) &&
        !named_before(accesses, i))
      buffers++;
  }
  return buffers;
}

void weir__write_back(weir_context *context, const weir__access *accesses, uint32_t count, uint32_t write_backs,
                      weir_event *event) {
  bool merge = write_backs >= context->window.size;
  for (uint32_t i = 0; i < count; i++) {
    const weir__access *access = &accesses[i];
    if (!weir__is_written_back(access->buffer, (weir_mode)access->mode, access->space)) continue;
    if (merge && named_before(accesses, i)) continue;
    uint64_t lo = access->lo, hi = access->hi;
    for (uint32_t j = i + 1; merge && j < count; j++) {
      if (accesses[j].buffer != access->buffer || accesses[j].mode == WEIR_READ) continue;
      if (accesses[j].lo < lo) lo = accesses[j].lo;
      if (accesses[j].hi > hi) hi = accesses[j].hi;
    }
    write_back(context, access, lo, hi, !merge, event); // of a merged range a part may be good
  }
}

void weir__transfer_failed(weir_context *context, const weir__task *task) {
  const weir__access *access = &task->accesses[0];
  weir_buffer *buffer = access->buffer;
  uint32_t destination = task->move->destination_space;
  if (buffer->serial != access->serial) return;
  // The device that failed has the only copy, or should have got one.
  if (destination == WEIR__HOST_SPACE || context->space_devices[destination]->index != task->device)
    weir__buffer_poison_all(buffer);
  else if (buffer->places[destination].arrival == task->id && !(buffer->wrapped && buffer->home == destination))
    buffer->valid &= (uint16_t)~weir__space_bit(destination);
}
