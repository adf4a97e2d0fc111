// SPDX-License-Identifier: Apache-2.0
#include "engine/transfer.h"

#include "engine/admit.h"
#include "engine/arrivals.h"
#include "engine/boxes.h"
#include "engine/check.h"
#include "engine/failures.h"
#include "engine/room.h"
#include "engine/rules.h"
#include "engine/storage.h"

static bool is_lost(const weir_context *context, uint32_t space) {
  return space != WEIR__HOST_SPACE && context->memory.devices[space]->lost;
}

// Which of the copies in `spaces` to take: the device's must not be lost, it should be there already, and that of another
// device is likely to be nearer than the host's.
static uint32_t choose_source(weir_context *context, weir_buffer *buffer, uint16_t spaces, uint64_t lo, uint64_t hi,
                              uint32_t destination) {
  enum { DEVICE = 1, ARRIVED = 2, DIRECT = 4, NOT_LOST = 8 };
  uint32_t source = 0, best = 0;
  for (uint32_t space = 0; space < context->memory.space_count; space++) {
    if (!(spaces & weir__space_bit(space))) continue;
    uint32_t rank = space != WEIR__HOST_SPACE ? DEVICE : 0;
    if (!is_lost(context, space)) rank |= NOT_LOST;
    if (!weir__arrives(context, buffer, space, lo, hi)) rank |= ARRIVED;
    if (weir__is_near(context, space, destination)) rank |= DIRECT;
    if (rank >= best) source = space;
    if (rank >= best) best = rank;
  }
  return source;
}

bool weir__find_lacking(weir_context *context, weir_buffer *buffer, uint32_t space, uint64_t lo, uint64_t hi,
                        weir__lacking *out_lacking) {
  uint64_t end;
  uint16_t spaces = weir__buffer_spaces(buffer, lo, &end);
  while (spaces & weir__space_bit(space)) {
    lo = end;
    if (lo >= hi) return false;
    spaces = weir__buffer_spaces(buffer, lo, &end);
  }
  if (buffer->parts != NULL && buffer->parts->count + 2 > WEIR__MAX_PARTS) {
    // No more parts: all of this one.
    lo = buffer->parts->first[weir__validity_find(buffer->parts, lo)];
    hi = end;
  }
  *out_lacking = (weir__lacking){.lo = lo, .hi = end < hi ? end : hi};
  out_lacking->source = choose_source(context, buffer, spaces, lo, out_lacking->hi, space);
  while (out_lacking->hi < hi) {
    spaces = weir__buffer_spaces(buffer, out_lacking->hi, &end);
    uint64_t to = end < hi ? end : hi;
    if ((spaces & weir__space_bit(space)) || !(spaces & weir__space_bit(out_lacking->source)) ||
        choose_source(context, buffer, spaces, out_lacking->hi, to, space) != out_lacking->source)
      break;
    out_lacking->hi = to;
  }
  return true;
}

static const weir_task transfer_task = {.label = "transfer"};
static const weir__submission by_itself = {.task = &transfer_task}; // nobody's

// Whether no task wrote the buffer after the last copy into it, as far as is known: of ranges it is not.
static bool is_as_copied(const weir_buffer *buffer) {
  return buffer->ranged || buffer->whole.writer <= buffer->copied_in;
}

static void add_readers(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  weir_context *context = user;
  const weir__id *readers = weir__segment_readers(segment);
  for (uint32_t i = 0; i < segment->reader_count; i++) {
    weir__id reader = weir__reader_task(readers[i]);
    if (weir__live(&context->host.window.live, reader))
      weir__dependences_add(&context->order.dependences, reader, WEIR__HAZARD_WAR, false, lo, hi);
  }
}

void weir__enter_transfer(weir_context *context, weir_buffer *buffer, const weir__lacking *bytes, uint32_t destination,
                          const weir__block *fresh, bool skippable, weir_event *event) {
  uint64_t lo = bytes->lo, hi = bytes->hi;
  uint32_t source = bytes->source;
  weir__task *task = weir__window_begin(&context->host.window);
  weir__replica *from = &buffer->replicas[source], *to = &buffer->replicas[destination];
  weir__access *access = (weir__access *)(void *)task->payload;
  weir__move *move = (weir__move *)(void *)(access + 1);
  *access = (weir__access){.buffer = buffer, .lo = lo, .hi = hi, .mode = WEIR_READ, .space = (uint8_t)source};
  weir__dependences *dependences = &context->order.dependences;
  weir__dependences_clear(dependences);
  context->stalled.listed = false;
  // Another device could still read the memory of one that is lost.
  atomic_store_explicit(&task->dropped, is_lost(context, source), memory_order_relaxed);
  weir__depend_on_arrivals(context, buffer, source, lo, hi);
  // The transfer also writes bytes that are there already, between the rows of a box or between several writes: tasks may read them.
  if (buffer->boxed || bytes->some_there) weir__buffer_visit(buffer, lo, hi, add_readers, context);
  weir__buffer_access(buffer, &context->order.ranges, &context->host.window.live, task->id, WEIR_READ, lo, hi,
                      dependences);
  for (size_t dependence = 0; dependence < dependences->count; dependence++)
    dependences->list[dependence].buffer = buffer->id;
  access->serial = buffer->serial;
  for (uint8_t user = 0; fresh != NULL && user < fresh->user_count; user++)
    weir__depend_on_task(context, dependences, fresh->users[user], WEIR__HAZARD_STORAGE);
  if (!skippable) dependences->poisoned = 0; // the bytes that are not poisoned are wanted
  *move = (weir__move){.destination = (char *)to->memory + lo,
                       .source = (const char *)from->memory + lo,
                       .bytes = hi - lo,
                       .destination_space = (uint8_t)destination,
                       .source_space = (uint8_t)source,
                       .write_back = skippable};
  to->arrival = task->id;
  if (destination != WEIR__HOST_SPACE && is_as_copied(buffer)) buffer->brought = (uint8_t)destination;
  weir__buffer_change_valid(buffer, &context->memory.validities, lo, hi, UINT16_MAX, weir__space_bit(destination));
  weir_device *device = context->memory.devices[destination != WEIR__HOST_SPACE ? destination : source];
  weir__request request = {.submission = &by_itself,
                           .task = &transfer_task,
                           .kind = WEIR__TASK_TRANSFER,
                           .device = device,
                           .accesses = access,
                           .checked.access_count = 1,
                           .move = move};
  task->event = event;
  if (event != NULL) event->last = task->id;
  context->host.statistics.transfers++;
  context->host.statistics.transfer_bytes += hi - lo;
  weir__commit(context, &request, task);
}

static bool is_all(const weir_buffer *buffer, const weir__lacking *bytes) {
  return bytes->lo == 0 && bytes->hi == buffer->bytes;
}

bool weir__prepare_transfer(weir_context *context, weir_buffer *buffer, const weir__lacking *bytes) {
  if ((buffer->ranged || !is_all(buffer, bytes)) && (!weir__range_pool_reserve(&context->order.ranges, 1) ||
                                                     !weir__prepare_read(context, buffer, bytes->lo, bytes->hi)))
    return false;
  return weir__validity_reserve(&context->memory.validities, 1);
}

// Submits transfers of what `space` lacks of [lo, hi). RETRY: the lock was released meanwhile.
static weir__admit_result transfer(weir_context *context, const weir__submission *submission, weir_buffer *buffer,
                                   uint32_t space, uint64_t lo, uint64_t hi, weir_status *out_status) {
  weir__lacking next;
  while (weir__find_lacking(context, buffer, space, lo, hi, &next)) {
    if (!weir__is_near(context, next.source, space)) {
      weir__admit_result result = transfer(context, submission, buffer, WEIR__HOST_SPACE, next.lo, next.hi, out_status);
      if (result != WEIR__ADMITTED) return result;
      continue;
    }
    weir__admit_result result = weir__await_room(context, submission, 1, out_status);
    if (result != WEIR__ADMITTED) return result;
    if (!weir__prepare_transfer(context, buffer, &next)) return weir__no_memory(submission, "transfer", out_status);
    weir__block *fresh = NULL;
    if (buffer->replicas[space].memory == NULL) {
      bool whole = is_all(buffer, &next);
      result = weir__storage_take(context, submission, buffer, space, WEIR_MAX_ARGS, whole, &fresh, out_status);
      if (result != WEIR__ADMITTED) return result;
      weir__buffer_set_storage(buffer, space, fresh);
    }
    weir_event *moves = submission->target != NULL ? submission->target->moves : NULL;
    if (moves != NULL) {
      moves->references++;
      moves->tasks++;
    }
    weir__enter_transfer(context, buffer, &next, space, fresh, false, moves);
  }
  return WEIR__ADMITTED;
}

// What an access needs in its space.
static weir__admit_result transfer_needed(weir_context *context, const weir__submission *submission,
                                          const weir__access *access, uint32_t access_count, weir_status *out_status) {
  uint64_t lo, hi;
  if (!weir__needed_contents(context, access, access_count, &lo, &hi)) return WEIR__ADMITTED;
  return transfer(context, submission, access->buffer, access->space, lo, hi, out_status);
}

weir__admit_result weir__transfer_args(weir_context *context, const weir__submission *submission, uint32_t space,
                                       uint32_t access_count, weir_status *out_status) {
  const weir_task *task = submission->task;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    if (arg->mode == WEIR_VALUE) continue;
    bool box;
    uint64_t bytes = weir__arg_bytes(arg, &box), hi = bytes == WEIR_WHOLE ? arg->buffer->bytes : arg->offset + bytes;
    weir__access access = {.buffer = arg->buffer,
                           .lo = arg->offset,
                           .hi = hi,
                           .mode = (uint8_t)arg->mode,
                           .space = (uint8_t)space,
                           .box = box};
    weir__admit_result result = transfer_needed(context, submission, &access, access_count, out_status);
    if (result != WEIR__ADMITTED) return result;
  }
  return WEIR__ADMITTED;
}

weir__admit_result weir__transfer_accesses(weir_context *context, const weir__submission *submission,
                                           const weir__access *accesses, uint32_t count, uint32_t *out_write_backs,
                                           weir_status *out_status) {
  *out_write_backs = 0;
  for (uint32_t i = 0; i < count; i++) {
    const weir__access *access = &accesses[i];
    if (weir__is_written_back(access->buffer, (weir_mode)access->mode, access->space)) ++*out_write_backs;
    weir__admit_result result = transfer_needed(context, submission, access, count, out_status);
    if (result != WEIR__ADMITTED) return result;
  }
  return WEIR__ADMITTED;
}

// Whether an access before writes to the same buffer, to any of its bytes or to just the same.
static bool written_before(const weir__access *accesses, uint32_t index, bool any) {
  const weir__access *access = &accesses[index];
  for (uint32_t i = 0; i < index; i++) {
    const weir__access *before = &accesses[i];
    bool same = before->lo == access->lo && before->hi == access->hi;
    if (before->buffer == access->buffer && before->mode != WEIR_READ && (any || same)) return true;
  }
  return false;
}

static void write_back(weir_context *context, const weir__access *access, uint64_t lo, uint64_t hi, bool some_there,
                       bool skippable, weir_event *event) {
  if (event != NULL) {
    event->references++;
    event->tasks++;
  }
  weir__lacking bytes = {.lo = lo, .hi = hi, .source = access->space, .some_there = some_there};
  weir__enter_transfer(context, access->buffer, &bytes, access->buffer->home, NULL, skippable, event);
}

uint32_t weir__write_back_slots(const weir_context *context, const weir__access *accesses, uint32_t count,
                                uint32_t write_backs) {
  if (write_backs < weir__window_size(&context->host.window)) return write_backs;
  uint32_t buffers = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (weir__is_written_back(accesses[i].buffer, (weir_mode)accesses[i].mode, accesses[i].space) &&
        !written_before(accesses, i, true))
      buffers++;
  }
  return buffers;
}

void weir__write_back(weir_context *context, const weir__access *accesses, uint32_t count, uint32_t write_backs,
                      bool by_parts, weir_event *event) {
  bool merge = write_backs >= weir__window_size(&context->host.window);
  for (uint32_t i = 0; i < count; i++) {
    const weir__access *access = &accesses[i];
    if (!weir__is_written_back(access->buffer, (weir_mode)access->mode, access->space)) continue;
    if (written_before(accesses, i, merge)) continue;
    uint64_t lo = access->lo, hi = access->hi;
    for (uint32_t j = i + 1; merge && j < count; j++) {
      if (accesses[j].buffer != access->buffer || accesses[j].mode == WEIR_READ) continue;
      if (accesses[j].lo < lo) lo = accesses[j].lo;
      if (accesses[j].hi > hi) hi = accesses[j].hi;
    }
    bool skippable = !merge && !by_parts && access->box == 0; // of a merged range a part may be good
    write_back(context, access, lo, hi, merge, skippable, event);
  }
}

typedef struct failed_transfer {
  weir_context *context;
  weir_buffer *buffer;
  weir__id transfer;
  uint16_t bad; // spaces that do not have the bytes
  uint32_t root;
} failed_transfer;

// Only contents that are still those that were to be moved.
static void visit_failed(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  const failed_transfer *failed = user;
  if (weir__segment_last_writer(segment) > failed->transfer) return;
  uint16_t keep = (uint16_t)~failed->bad;
  for (uint64_t at = lo; at < hi;) {
    if ((weir__buffer_spaces(failed->buffer, at, &at) & keep) == 0) segment->poisoned = failed->root;
  }
  if (!weir__buffer_change_valid(failed->buffer, &failed->context->memory.validities, lo, hi, keep, 0))
    segment->poisoned = failed->root;
}

// A transfer did not end well: what it should have brought is not there. What no other space has is poisoned.
static void failed(weir_context *context, weir__task *task, const weir__completion *completion) {
  (void)completion;
  const weir__access *access = &task->accesses[0];
  weir_buffer *buffer = access->buffer;
  uint32_t source = task->move->source_space, destination = task->move->destination_space;
  if (buffer->serial != access->serial) return;
  bool at_destination = destination != WEIR__HOST_SPACE && context->memory.devices[destination]->index == task->device;
  uint32_t root = weir__failures_root(context, task);
  failed_transfer bad = {.context = context, .buffer = buffer, .transfer = task->id, .root = root};
  if (buffer->wrapped && buffer->home == destination) {
    // The caller's memory is all that there is, and was not brought up to date.
    if (at_destination) return;
    bad.bad = UINT16_MAX;
  } else {
    bad.bad = weir__space_bit(destination);
    if (!at_destination || is_lost(context, source)) bad.bad |= weir__space_bit(source);
  }
  weir__buffer_visit(buffer, access->lo, access->hi, visit_failed, &bad);
}

// A predecessor failed, by data: if it is a transfer that should have brought what this one passes on, this one must not run.
static void upstream_failed(weir_context *context, weir__task *task, weir__id predecessor) {
  const weir__task *before = weir__window_task(&context->host.window, predecessor);
  if (before->kind == WEIR__TASK_TRANSFER && before->move->destination_space == task->move->source_space)
    task->dropped = true;
}

// What it brings may be wanted by tasks that are not skipped.
static weir_status skip_status(weir__host *host, const weir__task *task) {
  (void)host;
  bool skips = task->dropped || (task->move->write_back && task->reads_poison);
  return skips ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK;
}

// What a copy back that is skipped would have brought is poisoned already.
static bool pardons(const weir__task *task, weir_status status) {
  return task->move->write_back && status == WEIR_ERROR_UPSTREAM_FAILED;
}

const weir__task_rules weir__transfer_rules = {.name = "copy",
                                               .skip_status = skip_status,
                                               .upstream_failed = upstream_failed,
                                               .pardons = pardons,
                                               .failed = failed};
