// SPDX-License-Identifier: Apache-2.0
//
// A communicator's thread: looks after errors that NCCL meets by itself, and aborts.
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "nccl/nccl.h"

enum { LOOK_NS = 100000000, MOST_CALL_NS = 1000000000 };

// The lock is held in all of this.
static void note(weir__collective *collective, weir_status status, const char *text) {
  if (atomic_load_explicit(&collective->failed, memory_order_relaxed)) return;
  collective->status = status;
  snprintf(collective->text, sizeof collective->text, "%s", text);
  atomic_store_explicit(&collective->failed, true, memory_order_release);
}

static void note_abort(weir__collective *collective) {
  char text[sizeof collective->nccl->reason + 40];
  snprintf(text, sizeof text, "the communicator was aborted: %s", collective->nccl->reason);
  note(collective, WEIR_ERROR_TASK_FAILED, text);
}

static void begin_abort(weir_nccl *nccl, const char *why) {
  if (nccl->aborts) return;
  nccl->aborts = true;
  snprintf(nccl->reason, sizeof nccl->reason, "%.*s", (int)sizeof nccl->reason - 1, why);
  for (weir__collective *at = nccl->in_flight; at != NULL; at = at->next) note_abort(at);
  pthread_cond_broadcast(&nccl->changed);
}

void weir__nccl_enter(weir__collective *collective) {
  weir_nccl *nccl = collective->nccl;
  pthread_mutex_lock(&nccl->lock);
  collective->next = nccl->in_flight;
  collective->link = &nccl->in_flight;
  if (nccl->in_flight != NULL) nccl->in_flight->link = &collective->next;
  nccl->in_flight = collective;
  if (nccl->aborts) note_abort(collective);
  pthread_cond_broadcast(&nccl->changed);
  pthread_mutex_unlock(&nccl->lock);
}

void weir__nccl_leave(weir__collective *collective) {
  pthread_mutex_lock(&collective->nccl->lock);
  *collective->link = collective->next;
  if (collective->next != NULL) collective->next->link = collective->link;
  pthread_cond_broadcast(&collective->nccl->changed);
  pthread_mutex_unlock(&collective->nccl->lock);
}

void weir__nccl_fail(weir__collective *collective, weir_status status, const char *text) {
  weir_nccl *nccl = collective->nccl;
  pthread_mutex_lock(&nccl->lock);
  note(collective, status, text);
  if (collective->called > 0 || collective->started) begin_abort(nccl, collective->text);
  pthread_mutex_unlock(&nccl->lock);
}

void weir__nccl_start(weir__collective *collective) {
  pthread_mutex_lock(&collective->nccl->lock);
  collective->started = true;
  pthread_mutex_unlock(&collective->nccl->lock);
}

void weir__nccl_abort(weir_nccl *nccl, const char *why) {
  pthread_mutex_lock(&nccl->lock);
  begin_abort(nccl, why);
  pthread_mutex_unlock(&nccl->lock);
}

static void wait_for(weir_nccl *nccl, uint64_t ns) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  ns += (uint64_t)until.tv_nsec;
  until.tv_sec += (time_t)(ns / 1000000000);
  until.tv_nsec = (long)(ns % 1000000000);
  pthread_cond_timedwait(&nccl->changed, &nccl->lock, &until);
}

static void look(weir_nccl *nccl) {
  if (nccl->library->ncclCommGetAsyncError == NULL) return;
  for (uint32_t i = 0; i < nccl->count && !nccl->aborts; i++) {
    int result = WEIR__NCCL_SUCCESS;
    const weir__nccl_member *member = &nccl->members[i];
    if (nccl->library->ncclCommGetAsyncError(member->comm, &result) != WEIR__NCCL_SUCCESS) continue;
    if (result == WEIR__NCCL_SUCCESS || result == WEIR__NCCL_IN_PROGRESS) continue;
    char text[sizeof nccl->reason], said[120];
    snprintf(text, sizeof text, "on %s NCCL met %s", member->device->name,
             weir__nccl_text(nccl->library, result, said, sizeof said));
    begin_abort(nccl, text);
  }
}

static bool calls(const weir_nccl *nccl) {
  for (uint32_t i = 0; i < nccl->count; i++) {
    if (nccl->members[i].calling) return true;
  }
  return false;
}

// Collectives that wait for other processes fail instead. No lock is held.
static void let_all_go(weir_nccl *nccl) {
  weir__context_lock(nccl->context);
  for (bool more = nccl->over.ready != NULL; more;) {
    pthread_mutex_lock(&nccl->lock);
    weir__collective *at = nccl->in_flight;
    while (at != NULL && at->go == NULL) at = at->next;
    pthread_mutex_unlock(&nccl->lock);
    more = at != NULL;
    if (more) weir__nccl_go(at);
  }
  weir__context_unlock(nccl->context);
}

// A call that waits for its partners inside of NCCL ends by the abort only.
static void abort_all(weir_nccl *nccl) {
  for (uint64_t waited = 0; calls(nccl) && waited < MOST_CALL_NS; waited += LOOK_NS) wait_for(nccl, LOOK_NS);
  pthread_mutex_unlock(&nccl->lock);
  weir__nccl_fail_behind(nccl);
  let_all_go(nccl);
  for (uint32_t i = 0; i < nccl->count && nccl->library->ncclCommAbort != NULL; i++)
    nccl->library->ncclCommAbort(nccl->members[i].comm);
  pthread_mutex_lock(&nccl->lock);
}

static void *watch(void *argument) {
  weir_nccl *nccl = argument;
  pthread_mutex_lock(&nccl->lock);
  while (!nccl->ends && !nccl->aborts) {
    if (nccl->in_flight == NULL)
      pthread_cond_wait(&nccl->changed, &nccl->lock);
    else
      wait_for(nccl, LOOK_NS);
    if (nccl->in_flight != NULL && !nccl->aborts) look(nccl);
  }
  if (nccl->aborts) abort_all(nccl);
  pthread_mutex_unlock(&nccl->lock);
  return NULL;
}

weir_status weir__nccl_watch(weir_nccl *nccl) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&nccl->lock, NULL);
  pthread_cond_init(&nccl->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (pthread_create(&nccl->watcher, NULL, watch, nccl) == 0) return WEIR_OK;
  pthread_cond_destroy(&nccl->changed);
  pthread_mutex_destroy(&nccl->lock);
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "nccl: no thread to watch the communicator");
}

void weir__nccl_await_callbacks(weir_nccl *nccl) {
  pthread_mutex_lock(&nccl->lock);
  while (nccl->in_flight != NULL) pthread_cond_wait(&nccl->changed, &nccl->lock);
  pthread_mutex_unlock(&nccl->lock);
}

void weir__nccl_watch_end(weir_nccl *nccl) {
  pthread_mutex_lock(&nccl->lock);
  nccl->ends = true;
  pthread_cond_broadcast(&nccl->changed);
  pthread_mutex_unlock(&nccl->lock);
  pthread_join(nccl->watcher, NULL);
  pthread_cond_destroy(&nccl->changed);
  pthread_mutex_destroy(&nccl->lock);
}
