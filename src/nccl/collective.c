// SPDX-License-Identifier: Apache-2.0
//
// The way of a collective into the window: checked, its ready tasks, its parts, and go.
#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "engine/external.h"
#include "engine/room.h"
#include "engine/submit.h"
#include "nccl/nccl.h"

// Of the window, for each device: its contents are brought there, the ready task and the part, each with a copy back to
// wrapped memory.
enum { READY_SLOTS = 3, PART_SLOTS = 2, TOKEN_USED = 8 };

typedef unsigned long long ull;

// What the caller asks for.
typedef struct request {
  weir__nccl_kind kind;
  weir_buffer *const *buffers;
  uint64_t offset, bytes;
  weir_reduce_operation operation;
  weir_reduce_type type;
  uint32_t root;
} request;

const char *weir__nccl_name(weir__nccl_kind kind) {
  static const char *const NAMES[] = {"all-reduce", "reduce", "broadcast"};
  return NAMES[kind];
}

// ---------------------------------------------------------------------------------------------------------------
// Checks

static weir_status find_type(const request *asked, int *out_type, uint64_t *out_bytes) {
  static const struct {
    int type;
    uint32_t bytes;
  } TYPES[] = {[WEIR_REDUCE_F32] = {WEIR__NCCL_FLOAT32, 4}, [WEIR_REDUCE_F64] = {WEIR__NCCL_FLOAT64, 8},
               [WEIR_REDUCE_I32] = {WEIR__NCCL_INT32, 4},   [WEIR_REDUCE_U32] = {WEIR__NCCL_UINT32, 4},
               [WEIR_REDUCE_I64] = {WEIR__NCCL_INT64, 8},   [WEIR_REDUCE_U64] = {WEIR__NCCL_UINT64, 8}};
  *out_type = WEIR__NCCL_INT8;
  *out_bytes = 1;
  if (asked->kind == WEIR__NCCL_BROADCAST) return WEIR_OK;
  if ((uint32_t)asked->type >= sizeof TYPES / sizeof TYPES[0])
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: element type %d is not known", weir__nccl_name(asked->kind),
                       (int)asked->type);
  *out_type = TYPES[asked->type].type;
  *out_bytes = TYPES[asked->type].bytes;
  return WEIR_OK;
}

static weir_status find_operation(const request *asked, int *out_operation) {
  static const int OPERATIONS[] = {[WEIR_REDUCE_SUM] = WEIR__NCCL_SUM,
                                   [WEIR_REDUCE_PRODUCT] = WEIR__NCCL_PRODUCT,
                                   [WEIR_REDUCE_MIN] = WEIR__NCCL_MIN,
                                   [WEIR_REDUCE_MAX] = WEIR__NCCL_MAX};
  *out_operation = WEIR__NCCL_SUM;
  if (asked->kind == WEIR__NCCL_BROADCAST) return WEIR_OK;
  bool known = asked->operation > WEIR_REDUCE_KERNEL && asked->operation <= WEIR_REDUCE_MAX;
  if (known) *out_operation = OPERATIONS[asked->operation];
  return known ? WEIR_OK
               : weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                             "%s: operation %d is none that NCCL has: SUM, PRODUCT, MIN or MAX",
                             weir__nccl_name(asked->kind), (int)asked->operation);
}

static weir_status check_buffer(const weir_nccl *nccl, const request *asked, uint32_t index, const char *what) {
  const weir_buffer *buffer = asked->buffers[index], *first = asked->buffers[0];
  char name[96];
  snprintf(name, sizeof name, "%s, buffer %u", what, index);
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, nccl->context, name);
  if (status != WEIR_OK) return status;
  if (buffer->image) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s is an image", name);
  for (uint32_t i = 0; i < index; i++) {
    if (asked->buffers[i] == buffer)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s (%llu '%s') is also buffer %u: each device needs its own",
                         name, (ull)buffer->id, buffer->label, i);
  }
  if (asked->bytes == WEIR_WHOLE && buffer->bytes != first->bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s (%llu '%s') has %llu bytes, and buffer 0 has %llu", name,
                       (ull)buffer->id, buffer->label, (ull)buffer->bytes, (ull)first->bytes);
  if (asked->offset >= buffer->bytes)
    return weir__error(WEIR_ERROR_OUT_OF_RANGE, "%s (%llu '%s') has no byte %llu: it has %llu bytes", name,
                       (ull)buffer->id, buffer->label, (ull)asked->offset, (ull)buffer->bytes);
  if (asked->bytes == WEIR_WHOLE || asked->bytes <= buffer->bytes - asked->offset) return WEIR_OK;
  return weir__error(WEIR_ERROR_OUT_OF_RANGE, "%s (%llu '%s'): %llu bytes from byte %llu on leave its %llu bytes", name,
                     (ull)buffer->id, buffer->label, (ull)asked->bytes, (ull)asked->offset, (ull)buffer->bytes);
}

static weir_status check_buffers(const weir_nccl *nccl, request *asked, uint64_t element_bytes) {
  const char *what = weir__nccl_name(asked->kind);
  weir_status status = WEIR_OK;
  if (asked->buffers == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the buffers are NULL", what);
  if (asked->bytes == 0) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: no bytes", what);
  for (uint32_t i = 0; i < nccl->count && status == WEIR_OK; i++) status = check_buffer(nccl, asked, i, what);
  if (status != WEIR_OK) return status;
  if (asked->bytes == WEIR_WHOLE) asked->bytes = asked->buffers[0]->bytes - asked->offset;
  if (asked->bytes % element_bytes == 0 && asked->offset % element_bytes == 0) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %llu bytes from byte %llu on are no elements of %llu bytes",
                     what, (ull)asked->bytes, (ull)asked->offset, (ull)element_bytes);
}

// Makes the range's length known, and the collective.
static weir_status check(weir_nccl *nccl, request *asked, weir__collective **out_collective) {
  const char *what = weir__nccl_name(asked->kind);
  uint64_t element_bytes = 1;
  int type, operation;
  if (nccl == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the communicator is NULL", what);
  if (weir__this_thread.in_task) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s", what, weir__thread_place());
  weir_status status = find_type(asked, &type, &element_bytes);
  if (status == WEIR_OK) status = find_operation(asked, &operation);
  if (status == WEIR_OK && asked->root >= nccl->total)
    status =
        weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: there is no device %u among %u", what, asked->root, nccl->count);
  if (status == WEIR_OK) status = check_buffers(nccl, asked, element_bytes);
  if (status != WEIR_OK) return status;
  weir__collective *made = weir__allocate_zeroed(sizeof *made + nccl->count * sizeof made->parts[0]);
  if (made == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory", what);
  made->nccl = nccl;
  made->kind = asked->kind;
  made->type = type;
  made->operation = operation;
  made->root = asked->root;
  made->count = asked->bytes / element_bytes;
  for (uint32_t i = 0; i < nccl->count; i++) made->parts[i] = (weir__nccl_part){.collective = made, .member = i};
  *out_collective = made;
  return WEIR_OK;
}

// ---------------------------------------------------------------------------------------------------------------
// Its tasks as they end. The context's lock is held.

// One task less, or its submission is over.
static void leave(weir__collective *collective) {
  if (--collective->left > 0) return;
  weir__nccl_leave(collective);
  weir__free(collective);
}

void weir__nccl_go(weir__collective *collective) {
  struct weir__external *go = collective->go;
  collective->go = NULL;
  if (go == NULL) return;
  weir__external_end(collective->nccl->context, go, WEIR_OK, "");
  if (collective->nccl->over.ready != NULL) leave(collective);
}

static void arrive(weir__collective *collective) {
  if (--collective->awaited > 0) return;
  if (collective->ready != NULL)
    weir__external_end(collective->nccl->context, collective->ready, WEIR_OK, "");
  else
    weir__nccl_go(collective);
}

// A callback: this process is ready, and the collective waits for go, or was aborted.
static void tell(void *user, weir_status status) {
  weir__collective *collective = user;
  weir_nccl *nccl = collective->nccl;
  weir_context *context = nccl->context; // the communicator may go with the last collective
  (void)status;
  bool failed = atomic_load_explicit(&collective->failed, memory_order_acquire);
  nccl->over.ready(nccl->over.ready_user, collective->number, failed ? collective->status : WEIR_OK,
                   failed ? collective->text : "");
  weir__context_lock(context);
  leave(collective);
  weir__context_unlock(context);
}

static void ready_done(void *user, weir_status status) {
  weir__nccl_part *part = user;
  weir__collective *collective = part->collective;
  char text[WEIR__MESSAGE_BYTES];
  if (status != WEIR_OK) {
    snprintf(text, sizeof text, "on %s there is nothing to take part with: %.200s",
             collective->nccl->members[part->member].device->name, part->ready->message);
    weir__nccl_fail(collective, WEIR_ERROR_UPSTREAM_FAILED, text);
  }
  weir__event_drop(part->ready);
  part->ready = NULL;
  arrive(collective);
  leave(collective);
}

static void part_done(void *user, weir_status status) {
  weir__nccl_part *part = user;
  char text[WEIR__MESSAGE_BYTES];
  if (status != WEIR_OK) {
    snprintf(text, sizeof text, "its part on %s failed: %s", part->collective->nccl->members[part->member].device->name,
             weir_status_text(status));
    weir__nccl_fail(part->collective, status, text);
  }
  leave(part->collective);
}

// ---------------------------------------------------------------------------------------------------------------
// Submission. The order's lock and the context's are held.

static weir_mode mode_of(const weir_nccl *nccl, const request *asked, uint32_t member) {
  bool is_root = nccl->first + member == asked->root;
  if (asked->kind == WEIR__NCCL_ALL_REDUCE) return WEIR_READ_WRITE;
  if (asked->kind == WEIR__NCCL_REDUCE) return is_root ? WEIR_READ_WRITE : WEIR_READ;
  return is_root ? WEIR_READ : WEIR_WRITE;
}

static weir_arg arg_of(const request *asked, uint32_t member, weir_mode mode) {
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
static weir_status close_window(weir__collective *collective, const request *asked) {
  weir_context *context = collective->nccl->context;
  uint32_t slots = collective->nccl->count * (READY_SLOTS + PART_SLOTS) + 1; // the last one: there is one at all times
  weir_status status = await_room(context, &(weir_task){.label = weir__nccl_name(asked->kind)}, slots);
  if (status != WEIR_OK) return status;
  collective->reserved = slots;
  context->host.window.reserved += slots;
  context->host.window.closed = true;
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
static bool follows_part(const weir_nccl *nccl, const request *asked, uint32_t member) {
  const weir__nccl_last *last = &nccl->order->last[nccl->members[member].device->index];
  const weir_buffer *buffer = asked->buffers[member];
  return mode_of(nccl, asked, member) != WEIR_WRITE && last->buffer == buffer && last->id == buffer->id &&
         buffer->last_use == last->task && asked->offset >= last->lo && asked->offset + asked->bytes <= last->hi;
}

// Whether all parts have to wait for parts of one earlier collective only, which start together or not at all: see
// nccl.h. They need not be ready. What other processes' parts wait for is not known here.
static bool follows_collective(const weir_nccl *nccl, const request *asked) {
  const weir__nccl_last *last = nccl->order->last;
  uint32_t first = nccl->members[0].device->index;
  if (nccl->over.ready != NULL) return false;
  for (uint32_t i = 0; i < nccl->count; i++) {
    if (last[nccl->members[i].device->index].number != last[first].number || !follows_part(nccl, asked, i))
      return false;
  }
  return true;
}

static void note_part(weir_nccl *nccl, const request *asked, uint32_t member, weir__id task) {
  weir__nccl_order *order = nccl->order;
  const weir_buffer *buffer = asked->buffers[member];
  bool updates = mode_of(nccl, asked, member) != WEIR_READ;
  order->last[nccl->members[member].device->index] = (weir__nccl_last){.number = order->numbered,
                                                                       .buffer = updates ? buffer : NULL,
                                                                       .id = buffer->id,
                                                                       .lo = asked->offset,
                                                                       .hi = asked->offset + asked->bytes,
                                                                       .task = task};
}

static weir_status submit_ready(weir__collective *collective, const request *asked, uint32_t member) {
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
  const weir__completion_target target = {.done = ready_done, .user = part, .at_once = true};
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
static weir_status submit_part(weir__collective *collective, const request *asked, uint32_t member,
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
  const weir__completion_target target = {.done = part_done, .user = part, .at_once = true, .reported = true};
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

static weir_status submit_parts(weir__collective *collective, const request *asked, uint32_t ready_count,
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

static weir_status submit_all(weir__collective *collective, const request *asked, weir_event **out_events) {
  weir_nccl *nccl = collective->nccl;
  uint32_t ready = 0;
  weir_status status = close_window(collective, asked);
  if (status != WEIR_OK) weir__nccl_fail(collective, status, weir_last_error());
  if (status != WEIR_OK) return status;
  bool follows = follows_collective(nccl, asked);
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

static weir__collective *find_waiting(weir_nccl *nccl, uint64_t number) {
  pthread_mutex_lock(&nccl->lock);
  weir__collective *found = nccl->in_flight;
  while (found != NULL && (found->number != number || found->go == NULL)) found = found->next;
  pthread_mutex_unlock(&nccl->lock);
  return found;
}

weir_status weir_nccl_go(weir_nccl *nccl, uint64_t number, weir_status status, const char *message) {
  if (nccl == NULL || nccl->over.ready == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "nccl go: %s",
                       nccl == NULL ? "the communicator is NULL" : "there is one process");
  if (status == WEIR_PENDING || status == WEIR_TIMEOUT)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "nccl go: %s is no outcome", weir_status_name(status));
  weir_context *context = nccl->context;
  char text[120];
  weir__context_lock(context);
  weir__collective *collective = find_waiting(nccl, number);
  snprintf(text, sizeof text, "%s", message != NULL ? message : weir_status_text(status));
  if (collective != NULL && status != WEIR_OK) weir__nccl_fail(collective, status, text);
  if (collective != NULL && status == WEIR_OK) weir__nccl_start(collective);
  if (collective != NULL) weir__nccl_go(collective);
  weir__context_unlock(context);
  if (collective != NULL) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "nccl go: collective %llu does not wait", (ull)number);
}

static bool is_aborted(weir_nccl *nccl, const char *what) {
  pthread_mutex_lock(&nccl->lock);
  bool aborted = nccl->aborts;
  if (aborted) weir__error(WEIR_ERROR_UNAVAILABLE, "%s: the communicator was aborted: %s", what, nccl->reason);
  pthread_mutex_unlock(&nccl->lock);
  return aborted;
}

// Go; and over processes the event whose callback tells that this one is ready.
static bool make_events(weir__collective *collective, const char *name) {
  weir_nccl *nccl = collective->nccl;
  bool over = nccl->over.ready != NULL;
  collective->go = weir__external_create(nccl->context, name);
  if (collective->go == NULL || !over) return collective->go != NULL;
  collective->ready = weir__external_create(nccl->context, name);
  weir_event *event = collective->ready != NULL ? collective->ready->event : NULL;
  bool good = event != NULL && weir__event_add_callback(event, tell, collective);
  if (event != NULL) weir__event_drop(event); // nobody else waits for it
  if (good) return true;
  if (event != NULL) weir__external_end(nccl->context, collective->ready, WEIR_OK, "");
  weir_event *go = collective->go->event;
  weir__external_end(nccl->context, collective->go, WEIR_OK, "");
  weir__event_drop(go);
  return false;
}

static weir_status submit_locked(weir__collective *collective, const request *asked, weir_event **out_events) {
  weir_nccl *nccl = collective->nccl;
  weir_context *context = nccl->context;
  char name[64];
  snprintf(name, sizeof name, "%s %llu", weir__nccl_name(asked->kind), (ull)nccl->numbered);
  if (!make_events(collective, name)) {
    weir__free(collective);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory", name);
  }
  weir_event *go = collective->go->event;
  collective->number = nccl->numbered;
  collective->awaited = 1;
  collective->left = nccl->over.ready != NULL ? 3 : 1; // go is given later, and `tell` is called
  weir__nccl_enter(collective);
  weir_status status = submit_all(collective, asked, out_events);
  nccl->last = context->host.window.next;
  arrive(collective);
  leave(collective);
  weir__event_drop(go);
  return status;
}

static weir_status make_tokens(weir_nccl *nccl) {
  for (uint32_t i = 0; i < nccl->count; i++) {
    if (weir__nccl_order_token(nccl->order, nccl->members[i].device) == NULL) return WEIR_ERROR_OUT_OF_MEMORY;
  }
  return WEIR_OK;
}

static weir_status submit(weir_nccl *nccl, request *asked, weir_event **out_events) {
  for (uint32_t i = 0; nccl != NULL && out_events != NULL && i < nccl->count; i++) out_events[i] = NULL;
  weir__collective *collective = NULL;
  weir_status status = check(nccl, asked, &collective);
  if (status != WEIR_OK) return status;
  pthread_mutex_lock(&nccl->order->lock);
  status = is_aborted(nccl, weir__nccl_name(asked->kind)) ? WEIR_ERROR_UNAVAILABLE : make_tokens(nccl);
  if (status == WEIR_OK) {
    nccl->numbered++;
    weir__context_lock(nccl->context);
    status = submit_locked(collective, asked, out_events);
    weir__context_unlock(nccl->context);
  } else {
    weir__free(collective);
  }
  pthread_mutex_unlock(&nccl->order->lock);
  return status;
}

weir_status weir_nccl_all_reduce(weir_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes,
                                 weir_reduce_operation operation, weir_reduce_type type, weir_event **out_events) {
  request asked = {.kind = WEIR__NCCL_ALL_REDUCE,
                   .buffers = buffers,
                   .offset = offset,
                   .bytes = bytes,
                   .operation = operation,
                   .type = type};
  return submit(nccl, &asked, out_events);
}

weir_status weir_nccl_reduce(weir_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes,
                             weir_reduce_operation operation, weir_reduce_type type, uint32_t root,
                             weir_event **out_events) {
  request asked = {.kind = WEIR__NCCL_REDUCE,
                   .buffers = buffers,
                   .offset = offset,
                   .bytes = bytes,
                   .operation = operation,
                   .type = type,
                   .root = root};
  return submit(nccl, &asked, out_events);
}

weir_status weir_nccl_broadcast(weir_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes,
                                uint32_t root, weir_event **out_events) {
  request asked = {.kind = WEIR__NCCL_BROADCAST, .buffers = buffers, .offset = offset, .bytes = bytes, .root = root};
  return submit(nccl, &asked, out_events);
}
