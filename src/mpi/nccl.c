// SPDX-License-Identifier: Apache-2.0
//
// Communicators over ranks: created when all ranks have said that they can.
#include "nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_message.h"
#include "drive.h"

// What a rank can say before a communicator is made: that it has a card and NCCL; rank 0 gives the id.
typedef struct introduction {
  weir_status status;
  char text[112];
  unsigned char id[WEIR_NCCL_ID_BYTES];
} introduction;

static void introduce(const weir_mpi *mpi, const weir_device *device, introduction *out) {
  int version;
  *out = (introduction){.status = WEIR_OK};
  if (device == NULL)
    out->status = weir__mpi_error(WEIR_ERROR_UNAVAILABLE, "the context has no CUDA device");
  else if (!weir__mpi_has_device(mpi, device) || !weir__mpi_is_card(device))
    out->status = weir__mpi_error(WEIR_ERROR_UNAVAILABLE, "the device is no CUDA device of the context");
  else
    out->status = mpi->rank == 0 ? weir_nccl_make_id(out->id) : weir_nccl_version(&version);
  if (out->status != WEIR_OK) snprintf(out->text, sizeof out->text, "%.111s", weir_last_error());
}

static void write_introduction(const weir_work *work) {
  memcpy(work->args[0], work->args[1], sizeof(introduction));
}

// All ranks read what one of them says. A task that failed would be reported once more, by weir_finish.
static weir_status read_introduction(weir_mpi *mpi, weir_buffer *buffer, uint32_t rank, const introduction *own,
                                     introduction *out) {
  const weir_arg args[] = {weir_writes(buffer), weir_value(own, sizeof *own)};
  const weir_task task = {.host = write_introduction, .args = args, .arg_count = 2, .label = "nccl"};
  weir_status status = weir_mpi_submit(mpi, &task, (int32_t)rank, NULL);
  if (status == WEIR_OK) status = weir_mpi_fetch(mpi, buffer, 0, WEIR_WHOLE, WEIR_MPI_ALL);
  return status == WEIR_OK ? weir_read(buffer, 0, sizeof *out, out) : status;
}

static weir_status hear(weir_mpi *mpi, uint32_t rank, const introduction *own, introduction *out) {
  weir_buffer *buffer;
  weir_status status = weir_mpi_buffer_create(mpi, sizeof *out, rank, &buffer);
  if (status != WEIR_OK) return status;
  status = read_introduction(mpi, buffer, rank, own, out);
  char text[WEIR__MPI_TEXT];
  snprintf(text, sizeof text, "%s", status == WEIR_OK ? "" : weir_last_error());
  weir_status released = weir_mpi_buffer_release(mpi, buffer);
  if (status == WEIR_OK && out->status != WEIR_OK) snprintf(text, sizeof text, "rank %u: %.111s", rank, out->text);
  if (text[0] != '\0' && weir__mpi_is_fine(mpi))
    return weir__mpi_error(WEIR_ERROR_UNAVAILABLE, "no communicator over ranks: %.400s", text);
  return status == WEIR_OK ? released : status;
}

// Called while NCCL waits for the other ranks. A rank that is lost is found by the watch; but NCCL may wait where all of
// them answer, too.
static bool goes_on(void *user) {
  const struct weir_mpi_nccl *own = user;
  weir_mpi *mpi = own->mpi;
  uint64_t timeout = mpi->options.timeout_ns;
  if (timeout != WEIR_FOREVER && weir__mpi_now() >= mpi->joining_ns + timeout + timeout / 4)
    weir__mpi_fail(mpi, WEIR_ERROR_DEVICE_LOST, true,
                   "rank %u has waited for NCCL in weir_mpi_nccl_create for more than %g s, though all ranks answer",
                   mpi->rank, (double)timeout / 1e9);
  return weir__mpi_is_fine(mpi);
}

static void set_joining(weir_mpi *mpi, bool joins) {
  pthread_mutex_lock(&mpi->shared);
  mpi->joining_ns = joins ? weir__mpi_now() : 0;
  mpi->joining = atomic_load_explicit(&mpi->number, memory_order_relaxed);
  pthread_mutex_unlock(&mpi->shared);
  atomic_store_explicit(&mpi->in_call, joins, memory_order_release);
}

static weir_status join(weir_mpi *mpi, weir_device *device, const unsigned char *id, struct weir_mpi_nccl *own) {
  const weir_nccl_options options = {.devices = &device,
                                     .device_count = 1,
                                     .id = id,
                                     .first = mpi->rank,
                                     .total = mpi->size,
                                     .ready = weir__mpi_nccl_ready,
                                     .ready_user = own,
                                     .waits = goes_on};
  set_joining(mpi, true);
  weir_status status = weir_nccl_create(mpi->context, &options, &own->nccl);
  set_joining(mpi, false);
  if (status == WEIR_OK) return WEIR_OK;
  weir__mpi_fail(mpi, status, true, "rank %u cannot join a communicator of NCCL: %.300s", mpi->rank, weir_last_error());
  return weir__mpi_job_status(mpi);
}

weir_status weir_mpi_nccl_create(weir_mpi *mpi, weir_device *device, weir_mpi_nccl **out_nccl) {
  if (out_nccl == NULL) return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_nccl_create: out_nccl is NULL");
  *out_nccl = NULL;
  if (mpi == NULL) return weir__mpi_null("weir_mpi_nccl_create");
  struct weir_mpi_nccl *own = calloc(1, sizeof *own);
  if (own == NULL) return weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "no memory");
  own->mpi = mpi;
  own->device = device == NULL ? mpi->direct.card : device;
  introduction own_words, first, other;
  introduce(mpi, own->device, &own_words);
  weir_status status = WEIR_OK;
  for (uint32_t rank = 0; rank < mpi->size && status == WEIR_OK; rank++)
    status = hear(mpi, rank, &own_words, rank == 0 ? &first : &other);
  if (status == WEIR_OK) status = join(mpi, own->device, first.id, own);
  if (status != WEIR_OK) {
    free(own);
    return status;
  }
  pthread_mutex_lock(&mpi->shared);
  own->number = mpi->communicator_count++;
  own->next = mpi->communicators;
  mpi->communicators = own;
  pthread_mutex_unlock(&mpi->shared);
  *out_nccl = own;
  return WEIR_OK;
}

// Nothing of it is in flight, and nobody aborts it right now. `shared` is held.
static bool is_idle(const weir_mpi *mpi, uint64_t communicator) {
  const struct weir_mpi_nccl *nccl = (const struct weir_mpi_nccl *)(uintptr_t)communicator;
  return nccl->in_flight == 0 && !mpi->communicators_busy;
}

weir_status weir_mpi_nccl_release(weir_mpi_nccl *nccl) {
  if (nccl == NULL) return WEIR_OK;
  weir_mpi *mpi = nccl->mpi;
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_drive_until(mpi, is_idle, (uint64_t)(uintptr_t)nccl);
  struct weir_mpi_nccl **link = &mpi->communicators;
  while (*link != nccl) link = &(*link)->next;
  *link = nccl->next;
  pthread_mutex_unlock(&mpi->shared);
  weir_status status = weir_nccl_release(nccl->nccl);
  free(nccl);
  return status;
}
