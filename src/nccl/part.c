// SPDX-License-Identifier: Apache-2.0
//
// What the two tasks of a device put on its queue: nothing, and a call of NCCL.
#include <stdio.h>
#include <string.h>

#include "device/enqueue.h"
#include "nccl/nccl.h"

const char *weir__nccl_text(const weir__nccl_library *library, int result, char *text, size_t size) {
  const char *name = library->ncclGetErrorString(result);
  const char *last = library->ncclGetLastError != NULL ? library->ncclGetLastError(NULL) : NULL;
  snprintf(text, size, "%s%s%s", name != NULL ? name : "an error without a name",
           last != NULL && last[0] != '\0' ? ": " : "", last != NULL ? last : "");
  return text;
}

static weir_status be_ready(const weir_enqueue *call) {
  (void)call;
  return WEIR_OK;
}

// Whether the part may call NCCL; if not, the call has failed.
static bool begin(const weir__nccl_part *part, const weir_enqueue *call, weir_status *out_status) {
  weir__collective *collective = part->collective;
  weir_nccl *nccl = collective->nccl;
  pthread_mutex_lock(&nccl->lock);
  bool failed = atomic_load_explicit(&collective->failed, memory_order_relaxed);
  *out_status = collective->status;
  if (!failed) {
    collective->called++;
    nccl->members[part->member].calling = true;
  }
  pthread_mutex_unlock(&nccl->lock);
  if (failed) weir_enqueue_fail(call, collective->text);
  return !failed;
}

static void end(const weir__nccl_part *part) {
  weir_nccl *nccl = part->collective->nccl;
  pthread_mutex_lock(&nccl->lock);
  nccl->members[part->member].calling = false;
  pthread_cond_broadcast(&nccl->changed);
  pthread_mutex_unlock(&nccl->lock);
}

static int call_library(const weir__nccl_part *part, const weir_enqueue *call) {
  const weir__collective *collective = part->collective;
  const weir__nccl_library *library = collective->nccl->library;
  ncclComm_t comm = collective->nccl->members[part->member].comm;
  void *data = (void *)(uintptr_t)call->args[0].pointer;
  size_t count = collective->count;
  int root = (int)collective->root;
  switch (collective->kind) {
  case WEIR__NCCL_ALL_REDUCE:
    return library->ncclAllReduce(data, data, count, collective->type, collective->operation, comm, call->queue);
  case WEIR__NCCL_REDUCE:
    return library->ncclReduce(data, data, count, collective->type, collective->operation, root, comm, call->queue);
  case WEIR__NCCL_BROADCAST:
    break;
  }
  return library->ncclBroadcast(data, data, count, collective->type, root, comm, call->queue);
}

static weir_status take_part(const weir_enqueue *call) {
  const weir__nccl_part *part = call->user;
  weir_status status;
  if (!begin(part, call, &status)) return status;
  int result = call_library(part, call);
  end(part);
  if (result == WEIR__NCCL_SUCCESS) return WEIR_OK;
  const weir_nccl *nccl = part->collective->nccl;
  const weir__nccl_member *member = &nccl->members[part->member];
  char text[200], said[120];
  weir__nccl_text(nccl->library, result, said, sizeof said);
  snprintf(text, sizeof text, "on %s NCCL refuses: %.100s", member->device->name, said);
  weir_enqueue_fail(call, text);
  weir__nccl_fail(part->collective, WEIR_ERROR_TASK_FAILED, text);
  return WEIR_ERROR_TASK_FAILED;
}

// A part whose partners were lost while it was on its card ended, but without a result.
static weir_status judge(void *user, const char **out_message) {
  const weir__collective *collective = ((const weir__nccl_part *)user)->collective;
  if (!atomic_load_explicit(&collective->failed, memory_order_acquire)) return WEIR_OK;
  *out_message = collective->text;
  return collective->status;
}

// A ready task has overwritten in name what its part was to write. Without a part nobody does.
static weir_status judge_ready(void *user, const char **out_message) {
  const weir__nccl_part *part = user;
  if (!part->missing) return WEIR_OK;
  *out_message = part->collective->text;
  return part->collective->status;
}

static weir_status make_kernel(weir_nccl *nccl, const char *name, weir_enqueue_function function,
                               weir__enqueue_verdict verdict, uint8_t apart, weir_kernel **out_kernel) {
  weir_enqueue_code code = {.function = function, .flags = WEIR_ENQUEUE_NO_CAPTURE};
  weir_status status = weir_kernel_create(nccl->context, name, out_kernel);
  if (status == WEIR_OK) status = weir_kernel_set_enqueue(*out_kernel, "cuda", &code);
  if (status != WEIR_OK) return status;
  struct weir__enqueue *enqueue = (*out_kernel)->code[WEIR__CODE_CUDA]->enqueue;
  enqueue->verdict = verdict;
  enqueue->apart = apart;
  return WEIR_OK;
}

weir_status weir__nccl_make_kernels(weir_nccl *nccl) {
  weir_status status = make_kernel(nccl, "nccl ready", be_ready, judge_ready, 1, &nccl->ready);
  return status == WEIR_OK ? make_kernel(nccl, "nccl", take_part, judge, 2, &nccl->part) : status;
}
