// SPDX-License-Identifier: Apache-2.0
//
// A communicator over processes, which NCCL makes when all of them have come. Until then its call does not return, and
// cannot be ended. So a caller that may give up has it made by a thread, which uses nothing of the context: if it is
// left alone, it ends what it gets, whenever that is.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/allocate.h"
#include "device/cuda/cuda_device.h"
#include "nccl/nccl.h"

enum { LOOK_NS = 2000000 }; // between two looks whether to give up

typedef struct joining {
  const weir__nccl_library *library;
  const weir__cuda_driver *driver;
  weir__nccl_id id;
  CUcontext primaries[WEIR__MAX_DEVICES];
  uint32_t count, first, total;
  ncclComm_t comms[WEIR__MAX_DEVICES];
  int result;
  char text[WEIR__NCCL_TEXT]; // why there are none
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool done, left; // guarded by `lock`: the thread has what it is to make; nobody wants that any more
} joining;

static void describe(const weir_nccl *nccl, joining *out) {
  out->library = nccl->library;
  out->driver = weir__cuda_of(nccl->members[0].device)->driver;
  memcpy(&out->id, nccl->over.id, sizeof out->id);
  for (uint32_t i = 0; i < nccl->count; i++) out->primaries[i] = weir__cuda_of(nccl->members[i].device)->primary;
  out->count = nccl->count;
  out->first = nccl->first;
  out->total = nccl->total;
}

static void make(joining *self) {
  int result = self->library->ncclGroupStart();
  for (uint32_t i = 0; i < self->count && result == WEIR__NCCL_SUCCESS; i++) {
    self->driver->cuCtxSetCurrent(self->primaries[i]);
    result = self->library->ncclCommInitRank(&self->comms[i], (int)self->total, self->id, (int)(self->first + i));
  }
  int end = self->library->ncclGroupEnd();
  self->result = result == WEIR__NCCL_SUCCESS ? end : result;
  if (self->result != WEIR__NCCL_SUCCESS) weir__nccl_text(self->library, self->result, self->text, sizeof self->text);
}

static void destroy(joining *self) {
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  weir__free(self);
}

static void *make_aside(void *argument) {
  joining *self = argument;
  make(self);
  pthread_mutex_lock(&self->lock);
  self->done = true;
  bool left = self->left;
  pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->lock);
  if (!left) return NULL;
  bool aborts = self->result == WEIR__NCCL_SUCCESS && self->library->ncclCommAbort != NULL;
  for (uint32_t i = 0; aborts && i < self->count; i++) self->library->ncclCommAbort(self->comms[i]);
  destroy(self);
  return NULL;
}

// Until it is done, or the caller gives up. Returns whether it is done.
static bool wait_for(joining *self, const weir_nccl_options *caller) {
  bool goes_on = true;
  pthread_mutex_lock(&self->lock);
  while (!self->done && goes_on) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&self->changed, &self->lock, &until) == 0) continue;
    pthread_mutex_unlock(&self->lock);
    goes_on = caller->waits(caller->ready_user);
    pthread_mutex_lock(&self->lock);
  }
  bool done = self->done;
  self->left = !done;
  pthread_mutex_unlock(&self->lock);
  return done;
}

static joining *begin(const weir_nccl *nccl, pthread_t *out_thread) {
  joining *self = weir__allocate_zeroed(sizeof *self);
  if (self == NULL) return NULL;
  pthread_condattr_t clock;
  describe(nccl, self);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->changed, &clock);
  pthread_condattr_destroy(&clock);
  if (pthread_create(out_thread, NULL, make_aside, self) == 0) return self;
  destroy(self);
  return NULL;
}

static int refuse(char *out_text, const char *why) {
  snprintf(out_text, WEIR__NCCL_TEXT, "%s", why);
  return WEIR__NCCL_SYSTEM_ERROR;
}

int weir__nccl_join(const weir_nccl *nccl, ncclComm_t *out_comms, char *out_text) {
  pthread_t thread;
  joining here = {0}, *self = &here;
  if (nccl->over.waits == NULL) {
    describe(nccl, self);
    make(self);
  } else {
    self = begin(nccl, &thread);
    if (self == NULL) return refuse(out_text, "there is no memory");
    if (!wait_for(self, &nccl->over)) {
      pthread_detach(thread);
      return refuse(out_text, "the caller waits no longer for the other processes");
    }
    pthread_join(thread, NULL);
  }
  int result = self->result;
  memcpy(out_comms, self->comms, self->count * sizeof *out_comms);
  memcpy(out_text, self->text, sizeof self->text);
  if (self != &here) destroy(self);
  return result;
}
