// SPDX-License-Identifier: Apache-2.0
//
// Communicators over ranks: created when all ranks have said that they can.
#include "nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  else
    out->status = mpi->rank == 0 ? weir_nccl_make_id(out->id) : weir_nccl_version(&version);
  if (out->status != WEIR_OK) snprintf(out->text, sizeof out->text, "%.111s", weir_last_error());
}

static void write_introduction(const weir_work *work) {
  const introduction *own = work->user;
  memcpy(work->args[0], own->id, sizeof own->id);
  if (own->status != WEIR_OK) weir_work_fail(work, own->text);
}

// All ranks read what one of them says.
static weir_status hear(weir_mpi *mpi, uint32_t rank, const introduction *own, unsigned char *out_id) {
  weir_buffer *buffer;
  weir_status status = weir_mpi_buffer_create(mpi, WEIR_NCCL_ID_BYTES, rank, &buffer);
  if (status != WEIR_OK) return status;
  weir_arg arg = weir_writes(buffer);
  const weir_task task = {
      .host = write_introduction, .user = (void *)(uintptr_t)own, .args = &arg, .arg_count = 1, .label = "nccl"};
  status = weir_mpi_submit(mpi, &task, (int32_t)rank, NULL);
  if (status == WEIR_OK) status = weir_mpi_fetch(mpi, buffer, 0, WEIR_WHOLE, WEIR_MPI_ALL);
  if (status == WEIR_OK) status = weir_read(buffer, 0, WEIR_NCCL_ID_BYTES, out_id);
  char text[WEIR__MPI_TEXT];
  snprintf(text, sizeof text, "%s", status == WEIR_OK ? "" : weir_last_error());
  weir_status released = weir_mpi_buffer_release(mpi, buffer);
  if (status != WEIR_OK && weir__mpi_is_fine(mpi)) {
    (void)weir_finish(mpi->context); // which would report the same
    return weir__mpi_error(WEIR_ERROR_UNAVAILABLE, "no communicator over ranks: %.400s", text);
  }
  return status == WEIR_OK ? released : status;
}

static weir_status join(weir_mpi *mpi, weir_device *device, const unsigned char *id, struct weir_mpi_nccl *own) {
  const weir_nccl_options options = {.devices = &device,
                                     .device_count = 1,
                                     .id = id,
                                     .first = mpi->rank,
                                     .total = mpi->size,
                                     .ready = weir__mpi_nccl_ready,
                                     .ready_user = own};
  atomic_store_explicit(&mpi->in_call, true, memory_order_relaxed); // however long NCCL takes
  weir_status status = weir_nccl_create(mpi->context, &options, &own->nccl);
  atomic_store_explicit(&mpi->in_call, false, memory_order_relaxed);
  if (status != WEIR_OK)
    weir__mpi_fail(mpi, status, true, "rank %u cannot join a communicator of NCCL: %.300s", mpi->rank,
                   weir_last_error());
  return status;
}

weir_status weir_mpi_nccl_create(weir_mpi *mpi, weir_device *device, weir_mpi_nccl **out_nccl) {
  if (out_nccl == NULL) return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "out_nccl is NULL");
  *out_nccl = NULL;
  if (mpi == NULL) return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "mpi is NULL");
  struct weir_mpi_nccl *own = calloc(1, sizeof *own);
  if (own == NULL) return weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "no memory");
  own->mpi = mpi;
  own->device = device == NULL ? mpi->direct.card : device;
  unsigned char id[WEIR_NCCL_ID_BYTES], other[WEIR_NCCL_ID_BYTES];
  introduction own_words;
  introduce(mpi, own->device, &own_words);
  weir_status status = WEIR_OK;
  for (uint32_t rank = 0; rank < mpi->size && status == WEIR_OK; rank++)
    status = hear(mpi, rank, &own_words, rank == 0 ? id : other);
  if (status == WEIR_OK) status = join(mpi, own->device, id, own);
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
