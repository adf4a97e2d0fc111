// SPDX-License-Identifier: Apache-2.0
//
// Who is ready for which collective.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl.h"

// `shared` is held in the next three.
static struct weir__mpi_readiness **find(weir_mpi *mpi, uint32_t communicator, uint64_t collective) {
  struct weir__mpi_readiness **link = &mpi->readiness;
  while (*link != NULL && ((*link)->communicator != communicator || (*link)->collective != collective))
    link = &(*link)->next;
  if (*link != NULL) return link;
  struct weir__mpi_readiness *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  *made = (struct weir__mpi_readiness){
      .next = mpi->readiness, .communicator = communicator, .collective = collective, .status = WEIR_OK};
  mpi->readiness = made;
  return &mpi->readiness;
}

static weir_nccl *communicator_of(const weir_mpi *mpi, uint32_t number) {
  const struct weir_mpi_nccl *at = mpi->communicators;
  while (at != NULL && at->number != number) at = at->next;
  return at != NULL ? at->nccl : NULL;
}

static void note(struct weir__mpi_readiness *readiness, uint32_t from, weir_status status, const char *text) {
  readiness->came++;
  if (status == WEIR_OK || readiness->status != WEIR_OK) return;
  readiness->status = status;
  snprintf(readiness->text, sizeof readiness->text, "rank %u: %.90s", from, text);
}

// One rank more. When all have come the own communicator waits for it.
static void count(weir_mpi *mpi, uint32_t from, uint32_t communicator, uint64_t collective, weir_status status,
                  const char *text) {
  struct weir__mpi_readiness all = {.came = 0};
  weir_nccl *nccl = NULL;
  pthread_mutex_lock(&mpi->shared);
  struct weir__mpi_readiness **link = find(mpi, communicator, collective);
  if (link != NULL) {
    struct weir__mpi_readiness *readiness = *link;
    note(readiness, from, status, text);
    if (readiness->came == mpi->size) {
      all = *readiness;
      *link = readiness->next;
      free(readiness);
      nccl = communicator_of(mpi, communicator);
    }
  }
  pthread_mutex_unlock(&mpi->shared);
  if (link == NULL)
    weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory to note who is ready", mpi->rank);
  if (nccl != NULL) (void)weir_nccl_go(nccl, collective, all.status, all.text); // refused: it was aborted
}

void weir__mpi_nccl_take(weir_mpi *mpi, uint32_t from, const weir__mpi_control *control) {
  count(mpi, from, control->count, control->number, (weir_status)control->status, control->text);
}

void weir__mpi_nccl_ready(void *communicator, uint64_t collective, weir_status status, const char *message) {
  const struct weir_mpi_nccl *own = communicator;
  weir_mpi *mpi = own->mpi;
  weir__mpi_control control = {
      .kind = WEIR__MPI_READY, .status = (uint32_t)status, .count = own->number, .number = collective};
  snprintf(control.text, sizeof control.text, "%.*s", WEIR__MPI_READY_TEXT - 1, message);
  size_t bytes = offsetof(weir__mpi_control, text) + strlen(control.text) + 1;
  pthread_mutex_lock(&mpi->shared);
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (rank != mpi->rank) weir__mpi_control_send(mpi, rank, &control, bytes);
  }
  pthread_mutex_unlock(&mpi->shared);
  count(mpi, mpi->rank, own->number, collective, status, message);
}

void weir__mpi_nccl_abort(weir_mpi *mpi) {
  char text[120];
  pthread_mutex_lock(&mpi->shared);
  struct weir_mpi_nccl *first = mpi->communicators_aborted ? NULL : mpi->communicators;
  mpi->communicators_aborted = mpi->communicators_busy = first != NULL;
  snprintf(text, sizeof text, "the job failed: %.100s", mpi->failure_text);
  pthread_mutex_unlock(&mpi->shared);
  if (first == NULL) return;
  for (struct weir_mpi_nccl *at = first; at != NULL; at = at->next) (void)weir_nccl_abort(at->nccl, text);
  pthread_mutex_lock(&mpi->shared);
  mpi->communicators_busy = false;
  pthread_cond_broadcast(&mpi->changed);
  pthread_mutex_unlock(&mpi->shared);
}

void weir__mpi_nccl_release_all(weir_mpi *mpi) {
  for (struct weir__mpi_readiness *at = mpi->readiness, *next; at != NULL; at = next) {
    next = at->next;
    free(at);
  }
}
