// SPDX-License-Identifier: Apache-2.0
//
// Communicators over ranks, and their collectives.
#include "nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"
#include "transfer.h"
#include "weir/trace.h"

typedef enum collective_kind { ALL_REDUCE, REDUCE, BROADCAST } collective_kind;

typedef struct request {
  collective_kind kind;
  weir_buffer *const *locals; // one for each rank
  uint64_t offset, bytes;
  weir_reduce_operation operation;
  weir_reduce_type type;
  uint32_t root;
} request;

// ---------------------------------------------------------------------------------------------------------------
// Communicators

// What a rank can say before a communicator is made: that it has a card and NCCL; rank 0 gives the id.
typedef struct introduction {
  weir_status status;
  char text[112];
  unsigned char id[WEIR_NCCL_ID_BYTES];
} introduction;

static weir_device *first_card(const weir_context *context) {
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    weir_device *device = weir_context_device(context, i);
    if (strcmp(weir_device_information(device)->kind, "cuda") == 0) return device;
  }
  return NULL;
}

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
  unsigned char id[WEIR_NCCL_ID_BYTES], other[WEIR_NCCL_ID_BYTES];
  introduction own_words;
  if (device == NULL) device = first_card(mpi->context);
  introduce(mpi, device, &own_words);
  weir_status status = WEIR_OK;
  for (uint32_t rank = 0; rank < mpi->size && status == WEIR_OK; rank++)
    status = hear(mpi, rank, &own_words, rank == 0 ? id : other);
  if (status == WEIR_OK) status = join(mpi, device, id, own);
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

// ---------------------------------------------------------------------------------------------------------------
// Collectives

static bool reads(const request *asked, uint32_t rank) {
  return asked->kind != BROADCAST || rank == asked->root;
}

static bool writes(const request *asked, uint32_t rank) {
  return asked->kind == ALL_REDUCE || (asked->kind == REDUCE) == (rank == asked->root);
}

static weir_status check_buffer(const weir_mpi_nccl *nccl, const request *asked, uint32_t rank,
                                weir__mpi_buffer **buffers, uint64_t *end) {
  uint64_t first_end = *end;
  weir_status status =
      weir__mpi_buffer_range(nccl->mpi, asked->locals[rank], asked->offset, asked->bytes, &buffers[rank], end);
  if (status != WEIR_OK) return status;
  if (rank > 0 && *end != first_end)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT,
                           "buffer %u of a collective has %llu bytes, and buffer 0 has %llu", rank,
                           (unsigned long long)buffers[rank]->bytes, (unsigned long long)buffers[0]->bytes);
  for (uint32_t i = 0; i < rank; i++) {
    if (buffers[i] == buffers[rank])
      return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "buffers %u and %u of a collective are the same", i, rank);
  }
  return WEIR_OK;
}

static weir_status check(const weir_mpi_nccl *nccl, const request *asked, weir__mpi_buffer **buffers, uint64_t *end) {
  bool by_type = asked->kind != BROADCAST;
  uint64_t element = !by_type ? 1 : asked->type == WEIR_REDUCE_F64 || asked->type >= WEIR_REDUCE_I64 ? 8 : 4;
  if (asked->root >= nccl->mpi->size)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "there is no rank %u", asked->root);
  if (by_type && (asked->operation <= WEIR_REDUCE_KERNEL || asked->operation > WEIR_REDUCE_MAX ||
                  (uint32_t)asked->type > WEIR_REDUCE_U64))
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "operation %d or type %d is none of NCCL's",
                           (int)asked->operation, (int)asked->type);
  weir_status status = WEIR_OK;
  for (uint32_t rank = 0; rank < nccl->mpi->size && status == WEIR_OK; rank++)
    status = check_buffer(nccl, asked, rank, buffers, end);
  if (status == WEIR_OK && (asked->offset % element != 0 || *end % element != 0))
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "bytes %llu to %llu are no elements of %llu bytes",
                           (unsigned long long)asked->offset, (unsigned long long)*end, (unsigned long long)element);
  return status;
}

static void count(weir_mpi_nccl *nccl, uint64_t more) {
  pthread_mutex_lock(&nccl->mpi->shared);
  nccl->in_flight += more;
  pthread_cond_broadcast(&nccl->mpi->changed);
  pthread_mutex_unlock(&nccl->mpi->shared);
}

// Skipped on all ranks it is no failure of the job; else others may wait on their cards.
static void part_done(void *user, weir_status status) {
  weir_mpi_nccl *nccl = user;
  weir_mpi *mpi = nccl->mpi;
  if (status != WEIR_OK && status != WEIR_ERROR_UPSTREAM_FAILED)
    weir__mpi_fail(mpi, status, true, "rank %u: its part of a collective of NCCL failed: %s", mpi->rank,
                   weir_status_text(status));
  count(nccl, UINT64_MAX);
}

static void submit_own(weir_mpi_nccl *nccl, const request *asked, uint64_t bytes) {
  weir_mpi *mpi = nccl->mpi;
  weir_buffer *const *own = &asked->locals[mpi->rank];
  weir_event *event = NULL;
  weir_status status;
  if (asked->kind == ALL_REDUCE)
    status = weir_nccl_all_reduce(nccl->nccl, own, asked->offset, bytes, asked->operation, asked->type, &event);
  else if (asked->kind == REDUCE)
    status =
        weir_nccl_reduce(nccl->nccl, own, asked->offset, bytes, asked->operation, asked->type, asked->root, &event);
  else
    status = weir_nccl_broadcast(nccl->nccl, own, asked->offset, bytes, asked->root, &event);
  if (status == WEIR_OK) count(nccl, 1);
  if (status == WEIR_OK && weir_event_on_done(event, part_done, nccl) != WEIR_OK) {
    weir_event_wait(event, WEIR_FOREVER); // there is no memory to be told of its end
    part_done(nccl, status = WEIR_ERROR_OUT_OF_MEMORY);
  }
  if (status != WEIR_OK)
    weir__mpi_fail(mpi, status, true, "rank %u cannot submit its part of a collective: %.300s", mpi->rank,
                   weir_last_error());
  weir_event_release(event);
}

static weir_status submit_locked(weir_mpi_nccl *nccl, const request *asked) {
  weir_mpi *mpi = nccl->mpi;
  weir__mpi_buffer *buffers[mpi->size];
  uint64_t end = 0;
  weir_status status = check(nccl, asked, buffers, &end);
  if (status != WEIR_OK) return status;
  weir__mpi_call call = {.kind = WEIR__MPI_COLLECTIVE,
                         .buffer = buffers[0]->number,
                         .offset = asked->offset,
                         .bytes = end - asked->offset,
                         .rank = (int32_t)asked->root,
                         .args = (uint32_t)asked->kind << 16 | (uint32_t)asked->operation << 8 | (uint32_t)asked->type};
  for (uint32_t rank = 1; rank < mpi->size; rank++) call.hash = weir__mpi_hash(call.hash, buffers[rank]->number);
  weir__mpi_enter(mpi, &call);
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (!weir__mpi_table_reserve(&buffers[rank]->table, 4))
      weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory for call %llu", mpi->rank,
                     (unsigned long long)call.number);
  }
  status = weir__mpi_job_status(mpi);
  if (status != WEIR_OK) return status;
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (reads(asked, rank)) weir__mpi_supply(mpi, &call, buffers[rank], asked->offset, end, rank);
  }
  submit_own(nccl, asked, call.bytes);
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (writes(asked, rank)) weir__mpi_table_write(&buffers[rank]->table, asked->offset, end, rank, call.number);
  }
  if (mpi->traces && writes(asked, mpi->rank))
    weir_trace_note_written(asked->locals[mpi->rank], call.number, asked->offset, call.bytes);
  return weir__mpi_job_status(mpi);
}

static weir_status submit(weir_mpi_nccl *nccl, const request *asked) {
  if (nccl == NULL || asked->locals == NULL)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "%s NULL", nccl == NULL ? "nccl is" : "the buffers are");
  weir__mpi_begin_call(nccl->mpi);
  weir_status status = submit_locked(nccl, asked);
  weir__mpi_end_call(nccl->mpi);
  return status;
}

weir_status weir_mpi_nccl_all_reduce(weir_mpi_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes,
                                     weir_reduce_operation operation, weir_reduce_type type) {
  return submit(nccl, &(request){.kind = ALL_REDUCE,
                                 .locals = buffers,
                                 .offset = offset,
                                 .bytes = bytes,
                                 .operation = operation,
                                 .type = type});
}

weir_status weir_mpi_nccl_reduce(weir_mpi_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes,
                                 weir_reduce_operation operation, weir_reduce_type type, uint32_t root) {
  return submit(nccl, &(request){.kind = REDUCE,
                                 .locals = buffers,
                                 .offset = offset,
                                 .bytes = bytes,
                                 .operation = operation,
                                 .type = type,
                                 .root = root});
}

weir_status weir_mpi_nccl_broadcast(weir_mpi_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes,
                                    uint32_t root) {
  return submit(nccl, &(request){.kind = BROADCAST, .locals = buffers, .offset = offset, .bytes = bytes, .root = root});
}
