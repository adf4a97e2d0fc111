// SPDX-License-Identifier: Apache-2.0
//
// The life of a collective: it is numbered, its tasks are submitted, it goes when all are ready, and ends with its last task.
#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "engine/external.h"
#include "nccl/request.h"

typedef unsigned long long ull;

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
  nccl->over.ready(nccl->over.ready_user, collective->number, failed ? 0 : collective->follows,
                   failed ? collective->status : WEIR_OK, failed ? collective->text : "");
  weir__context_lock(context);
  leave(collective);
  weir__context_unlock(context);
}

void weir__nccl_ready_done(void *user, weir_status status) {
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

void weir__nccl_part_done(void *user, weir_status status) {
  weir__nccl_part *part = user;
  char text[WEIR__MESSAGE_BYTES];
  if (status != WEIR_OK) {
    snprintf(text, sizeof text, "its part on %s failed: %s", part->collective->nccl->members[part->member].device->name,
             weir_status_text(status));
    weir__nccl_fail(part->collective, status, text);
    weir__nccl_forget_part(part);
  }
  leave(part->collective);
}

// ---------------------------------------------------------------------------------------------------------------
// Go, and the calls

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

static weir_status submit_locked(weir__collective *collective, const weir__nccl_request *asked,
                                 weir_event **out_events) {
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
  weir_status status = weir__nccl_submit_tasks(collective, asked, out_events);
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

static weir_status submit(weir_nccl *nccl, weir__nccl_request *asked, weir_event **out_events) {
  for (uint32_t i = 0; nccl != NULL && out_events != NULL && i < nccl->count; i++) out_events[i] = NULL;
  weir__collective *collective = NULL;
  weir_status status = weir__nccl_check(nccl, asked, &collective);
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
  weir__nccl_request asked = {.kind = WEIR__NCCL_ALL_REDUCE,
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
  weir__nccl_request asked = {.kind = WEIR__NCCL_REDUCE,
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
  weir__nccl_request asked = {
      .kind = WEIR__NCCL_BROADCAST, .buffers = buffers, .offset = offset, .bytes = bytes, .root = root};
  return submit(nccl, &asked, out_events);
}
