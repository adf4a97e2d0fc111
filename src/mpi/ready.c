// SPDX-License-Identifier: Apache-2.0
//
// Who is ready for which collective.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"
#include "nccl.h"

// ---------------------------------------------------------------------------------------------------------------
// What was heard. `shared` is held in all of this.

static struct weir__mpi_readiness **find(weir_mpi *mpi, uint32_t communicator, uint64_t collective) {
  struct weir__mpi_readiness **link = &mpi->readiness;
  while (*link != NULL && ((*link)->communicator != communicator || (*link)->collective != collective))
    link = &(*link)->next;
  return link;
}

static struct weir__mpi_readiness *get(weir_mpi *mpi, uint32_t communicator, uint64_t collective) {
  struct weir__mpi_readiness *found = *find(mpi, communicator, collective);
  if (found != NULL) return found;
  size_t words = (mpi->size + 63) / 64;
  struct weir__mpi_readiness *made = calloc(1, sizeof *made + words * sizeof(uint64_t)); // which come behind it
  if (made == NULL) return NULL;
  *made = (struct weir__mpi_readiness){.next = mpi->readiness,
                                       .communicator = communicator,
                                       .collective = collective,
                                       .status = WEIR_OK,
                                       .who = (uint64_t *)(made + 1)};
  mpi->readiness = made;
  return made;
}

static struct weir_mpi_nccl *communicator_of(const weir_mpi *mpi, uint32_t number) {
  struct weir_mpi_nccl *at = mpi->communicators;
  while (at != NULL && at->number != number) at = at->next;
  return at;
}

// One rank more.
static bool note(weir_mpi *mpi, uint32_t from, uint32_t communicator, uint64_t collective, weir_status status,
                 const char *text) {
  struct weir__mpi_readiness *readiness = get(mpi, communicator, collective);
  if (readiness == NULL) return false;
  readiness->came++;
  readiness->who[from / 64] |= UINT64_C(1) << from % 64;
  if (from == mpi->rank) readiness->since_ns = weir__mpi_now();
  if (status != WEIR_OK && readiness->status == WEIR_OK) {
    readiness->status = status;
    snprintf(readiness->text, sizeof readiness->text, "rank %u: %.90s", from, text);
  }
  if (readiness->came < mpi->size) return true;
  readiness->decided = true;
  mpi->decided_count++;
  atomic_fetch_sub_explicit(&mpi->awaited_collectives, 1, memory_order_relaxed);
  return true;
}

bool weir__mpi_nccl_note(struct weir_mpi_nccl *nccl, uint64_t call, const char *name) {
  weir_mpi *mpi = nccl->mpi;
  pthread_mutex_lock(&mpi->shared);
  struct weir__mpi_readiness *readiness = get(mpi, nccl->number, ++nccl->submitted);
  mpi->collectives++;
  if (readiness != NULL) {
    readiness->call = call;
    readiness->order = mpi->collectives;
    readiness->name = name;
  }
  pthread_mutex_unlock(&mpi->shared);
  return readiness != NULL;
}

const struct weir__mpi_readiness *weir__mpi_nccl_waits(const weir_mpi *mpi, uint32_t peer) {
  const struct weir__mpi_readiness *found = NULL;
  for (const struct weir__mpi_readiness *at = mpi->readiness; at != NULL; at = at->next) {
    bool waits = at->since_ns != 0 && at->call != 0 && !at->decided && (at->who[peer / 64] >> peer % 64 & 1) == 0;
    if (waits && (found == NULL || at->since_ns < found->since_ns)) found = at;
  }
  return found;
}

// A rank that counts when it is known whether the collective that it follows takes place.
static bool note_follower(weir_mpi *mpi, uint32_t from, uint32_t communicator, uint64_t collective, uint64_t follows) {
  const struct weir__mpi_readiness *all = get(mpi, communicator, 0);
  struct weir__mpi_readiness *first = *find(mpi, communicator, follows);
  if (all == NULL) return false;
  if (first == NULL && follows <= all->decided_until) return note(mpi, from, communicator, collective, WEIR_OK, "");
  if (first != NULL && first->decided) return note(mpi, from, communicator, collective, first->status, first->text);
  if (first == NULL) first = get(mpi, communicator, follows);
  struct weir__mpi_follower *follower = first != NULL ? malloc(sizeof *follower) : NULL;
  if (follower == NULL) return false;
  *follower = (struct weir__mpi_follower){.next = first->followers, .rank = from, .collective = collective};
  first->followers = follower;
  return true;
}

// It was decided: those that follow it count now.
static bool count_followers(weir_mpi *mpi, struct weir__mpi_readiness *decided) {
  bool good = true;
  while (decided->followers != NULL) {
    struct weir__mpi_follower *first = decided->followers;
    decided->followers = first->next;
    good = note(mpi, first->rank, decided->communicator, first->collective, decided->status, decided->text) && good;
    free(first);
  }
  return good;
}

// Forgets what is decided and was told, but the ones that did not take place: others may still come that follow them.
static bool forget(weir_mpi *mpi, uint32_t communicator) {
  struct weir__mpi_readiness *all = get(mpi, communicator, 0), **link;
  if (all == NULL) return false;
  while (*(link = find(mpi, communicator, all->decided_until + 1)) != NULL && (*link)->gone) {
    struct weir__mpi_readiness *gone = *link;
    all->decided_until++;
    if (gone->status != WEIR_OK) continue;
    *link = gone->next;
    free(gone);
  }
  return true;
}

static struct weir__mpi_readiness *next_decided(const weir_mpi *mpi) {
  struct weir__mpi_readiness *at = mpi->decided_count > 0 ? mpi->readiness : NULL;
  while (at != NULL && (!at->decided || at->going)) at = at->next;
  return at;
}

// ---------------------------------------------------------------------------------------------------------------

// A communicator is not released meanwhile. `shared` is held, but not while it is told.
static void tell_communicator(weir_mpi *mpi, struct weir_mpi_nccl *own, const struct weir__mpi_readiness *decided) {
  own->in_flight++;
  pthread_mutex_unlock(&mpi->shared);
  (void)weir_nccl_go(own->nccl, decided->collective, decided->status, decided->text); // refused: it was aborted
  pthread_mutex_lock(&mpi->shared);
  own->in_flight--;
  pthread_cond_broadcast(&mpi->changed);
}

// Tells the own communicators what was decided. `shared` is held.
static bool tell_decided(weir_mpi *mpi) {
  struct weir__mpi_readiness *at;
  bool good = true;
  while ((at = next_decided(mpi)) != NULL) {
    at->going = true;
    mpi->decided_count--;
    good = count_followers(mpi, at) && good;
    struct weir_mpi_nccl *own = communicator_of(mpi, at->communicator);
    if (own != NULL) tell_communicator(mpi, own, at);
    at->gone = true;
    good = forget(mpi, at->communicator) && good;
  }
  return good;
}

static void count(weir_mpi *mpi, uint32_t from, uint32_t communicator, uint64_t collective, uint64_t follows,
                  weir_status status, const char *text) {
  pthread_mutex_lock(&mpi->shared);
  bool good = follows != 0 ? note_follower(mpi, from, communicator, collective, follows)
                           : note(mpi, from, communicator, collective, status, text);
  good = tell_decided(mpi) && good;
  pthread_mutex_unlock(&mpi->shared);
  if (!good)
    weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory to note who is ready", mpi->rank);
}

void weir__mpi_nccl_take(weir_mpi *mpi, uint32_t from, const weir__mpi_control *control) {
  uint64_t follows = control->in_call != 0 ? control->number - control->in_call : 0;
  count(mpi, from, control->count, control->number, follows, (weir_status)control->status, control->text);
}

void weir__mpi_nccl_ready(void *communicator, uint64_t collective, uint64_t follows, weir_status status,
                          const char *message) {
  const struct weir_mpi_nccl *own = communicator;
  weir_mpi *mpi = own->mpi;
  weir__mpi_control control = {.kind = WEIR__MPI_READY,
                               .status = (uint32_t)status,
                               .count = own->number,
                               .in_call = follows != 0 ? (uint32_t)(collective - follows) : 0,
                               .number = collective};
  snprintf(control.text, sizeof control.text, "%.*s", WEIR__MPI_READY_TEXT - 1, message);
  size_t bytes = offsetof(weir__mpi_control, text) + strlen(control.text) + 1;
  pthread_mutex_lock(&mpi->shared);
  atomic_fetch_add_explicit(&mpi->awaited_collectives, 1, memory_order_relaxed);
  pthread_cond_signal(&mpi->wake); // there is something to look for now
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (rank != mpi->rank) weir__mpi_control_send(mpi, rank, &control, bytes);
  }
  pthread_mutex_unlock(&mpi->shared);
  weir__mpi_drive_posted(mpi);
  count(mpi, mpi->rank, own->number, collective, follows, status, message);
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
    while (at->followers != NULL) {
      struct weir__mpi_follower *first = at->followers;
      at->followers = first->next;
      free(first);
    }
    free(at);
  }
}
