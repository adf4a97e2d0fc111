// SPDX-License-Identifier: Apache-2.0
//
// Collectives over ranks. All ranks pass the same call through the same table, as for tasks; each submits its own part.
#include <stdio.h>

#include "drive.h"
#include "nccl.h"
#include "transfer.h"
#include "weir/trace.h"

typedef enum collective_kind { ALL_REDUCE, REDUCE, BROADCAST } collective_kind;
static const char *const names[] = {"all-reduce", "reduce", "broadcast"};

typedef struct request {
  collective_kind kind;
  weir_buffer *const *locals; // one for each rank
  uint64_t offset, bytes;
  weir_reduce_operation operation;
  weir_reduce_type type;
  uint32_t root;
} request;

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
  if (status != WEIR_OK) {
    char place[40];
    snprintf(place, sizeof place, "buffer %u of a collective", rank);
    return weir__mpi_in_call(status, place);
  }
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
  uint64_t element = asked->kind == BROADCAST ? 1 : weir_nccl_element_bytes(asked->operation, asked->type);
  if (asked->root >= nccl->mpi->size) return weir__mpi_no_rank(nccl->mpi, names[asked->kind], asked->root);
  if (element == 0)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "operation %d on elements of type %d is none of NCCL's",
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
    if (!weir__mpi_make_room(mpi, buffers[rank], 4))
      weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory for call %llu", mpi->rank,
                     (unsigned long long)call.number);
  }
  status = weir__mpi_job_status(mpi);
  if (status != WEIR_OK) return status;
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (reads(asked, rank)) weir__mpi_supply(mpi, &call, buffers[rank], asked->offset, end, rank, nccl->device);
  }
  if (!weir__mpi_nccl_note(nccl, call.number, names[asked->kind])) {
    weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory for call %llu", mpi->rank,
                   (unsigned long long)call.number);
    return weir__mpi_job_status(mpi);
  }
  submit_own(nccl, asked, call.bytes);
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (writes(asked, rank)) weir__mpi_note_write(mpi, buffers[rank], asked->offset, end, rank, call.number);
  }
  if (mpi->traces && writes(asked, mpi->rank))
    weir_trace_note_written(asked->locals[mpi->rank], call.number, asked->offset, call.bytes);
  return weir__mpi_job_status(mpi);
}

static weir_status submit(weir_mpi_nccl *nccl, const request *asked) {
  if (nccl == NULL || asked->locals == NULL)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s NULL", names[asked->kind],
                           nccl == NULL ? "the communicator is" : "the buffers are");
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
