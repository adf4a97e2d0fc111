// SPDX-License-Identifier: Apache-2.0
#include "transport_mpi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"
#include "weir/weir.h"

enum { CHANNELS = 2, FIRST_CAPACITY = 64, LAST_LOOKS = 200, LOOK_NS = 1000000 };

typedef struct transport {
  weir__mpi_transport base;
  MPI_Comm channels[CHANNELS];
  int count, capacity; // messages on their way
  uint32_t looks;      // at those behind the first ones
  MPI_Request *requests;
  void **tokens;
  uint8_t *kinds; // CANCELLABLE: a receive of contents; WAITING: a receive of control messages
  int *indices;
  MPI_Status *statuses;
  char error[MPI_MAX_ERROR_STRING];
} transport;

enum { SENDING, CANCELLABLE, WAITING };

static bool grow(transport *self) {
  int capacity = self->capacity == 0 ? FIRST_CAPACITY : 2 * self->capacity;
  size_t count = (size_t)capacity;
  void *grown;
#define GROW(member)                                                                                                   \
  if ((grown = realloc(self->member, count * sizeof *self->member)) == NULL) return false;                             \
  self->member = grown
  GROW(requests);
  GROW(tokens);
  GROW(kinds);
  GROW(indices);
  GROW(statuses);
#undef GROW
  self->capacity = capacity;
  return true;
}

static bool keep(transport *self, int result, uint8_t kind, void *token) {
  if (result != MPI_SUCCESS) return false;
  self->tokens[self->count] = token;
  self->kinds[self->count++] = kind;
  return true;
}

static bool send_message(weir__mpi_transport *base, weir__mpi_channel channel, uint32_t to, uint32_t tag,
                         const void *memory, uint64_t bytes, void *token) {
  transport *self = (transport *)base;
  if (self->count == self->capacity && !grow(self)) return false;
  int result =
      MPI_Isend(memory, (int)bytes, MPI_BYTE, (int)to, (int)tag, self->channels[channel], &self->requests[self->count]);
  return keep(self, result, SENDING, token);
}

static bool receive_message(weir__mpi_transport *base, weir__mpi_channel channel, uint32_t from, uint32_t tag,
                            void *memory, uint64_t bytes, void *token) {
  transport *self = (transport *)base;
  if (self->count == self->capacity && !grow(self)) return false;
  int source = from == WEIR__MPI_ANY_RANK ? MPI_ANY_SOURCE : (int)from;
  int result =
      MPI_Irecv(memory, (int)bytes, MPI_BYTE, source, (int)tag, self->channels[channel], &self->requests[self->count]);
  return keep(self, result, channel == WEIR__MPI_CONTROL ? WAITING : CANCELLABLE, token);
}

static void describe(transport *self, int index, const MPI_Status *status, int error, weir__mpi_done *out_done) {
  int cancelled = 0, count = 0;
  *out_done = (weir__mpi_done){.token = self->tokens[index]};
  if (self->kinds[index] != SENDING) {
    MPI_Test_cancelled(status, &cancelled);
    MPI_Get_count(status, MPI_BYTE, &count);
    out_done->source = (uint32_t)status->MPI_SOURCE;
    out_done->bytes = (uint64_t)count;
  }
  out_done->cancelled = cancelled != 0;
  if (cancelled) out_done->error = "cancelled";
  if (error == MPI_SUCCESS) return;
  int length, class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  out_done->truncated = class == MPI_ERR_TRUNCATE;
  MPI_Error_string(error, self->error, &length);
  out_done->error = self->error;
}

// Takes out the messages that ended: their requests are null.
static void compact(transport *self) {
  int kept = 0;
  for (int i = 0; i < self->count; i++) {
    if (self->requests[i] == MPI_REQUEST_NULL) continue;
    self->requests[kept] = self->requests[i];
    self->tokens[kept] = self->tokens[i];
    self->kinds[kept++] = self->kinds[i];
  }
  self->count = kept;
}

// Looks whether any of `count` messages from `first` on have ended, and how many. Returns what MPI does.
static int test(transport *self, int first, int count, int *out_done) {
  *out_done = 0;
  int result = MPI_Testsome(count, self->requests + first, out_done, self->indices, self->statuses);
  for (int i = 0; i < *out_done; i++) self->indices[i] += first;
  return result;
}

// The first ones stay: others are looked at, by turns all of them, from the latest on.
static int test_others(transport *self, int most, int *out_done) {
  int parts = (self->count - 1) / most, part = (int)(self->looks++ % (uint32_t)parts);
  int end = self->count - part * most, first = end - most < most ? most : end - most;
  return test(self, first, end - first, out_done);
}

static uint32_t poll_messages(weir__mpi_transport *base, weir__mpi_done *out_done, uint32_t most) {
  transport *self = (transport *)base;
  int done = 0, count = self->count < (int)most ? self->count : (int)most;
  if (count == 0) return 0;
  int result = test(self, 0, count, &done);
  if (done <= 0 && self->count > count) result = test_others(self, count, &done);
  if (done <= 0) return 0;
  for (int i = 0; i < done; i++) {
    int error = result == MPI_ERR_IN_STATUS ? self->statuses[i].MPI_ERROR : MPI_SUCCESS;
    describe(self, self->indices[i], &self->statuses[i], error, &out_done[i]);
  }
  compact(self);
  return (uint32_t)done;
}

static void cancel_kind(transport *self, uint8_t kind) {
  for (int i = 0; i < self->count; i++) {
    if (self->kinds[i] == kind) MPI_Cancel(&self->requests[i]);
  }
}

static void cancel_messages(weir__mpi_transport *base) {
  cancel_kind((transport *)base, CANCELLABLE);
}

static void free_memory(transport *self) {
  free(self->requests);
  free(self->tokens);
  free(self->kinds);
  free(self->indices);
  free(self->statuses);
  free(self);
}

// Waits for a receive that was cancelled. With a rank lost it may have been matched, and never end.
static bool end_cancelled(MPI_Request *request, bool lost) {
  int ended = 0;
  if (!lost) return MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  for (int i = 0; i < LAST_LOOKS && !ended; i++) {
    if (i > 0) nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    if (MPI_Test(request, &ended, MPI_STATUS_IGNORE) != MPI_SUCCESS) return true;
  }
  return ended != 0;
}

static bool close_transport(weir__mpi_transport *base, bool lost) {
  transport *self = (transport *)base;
  bool ended = true;
  cancel_kind(self, WAITING);
  for (int i = 0; i < self->count; i++) {
    if (self->kinds[i] == WAITING && !end_cancelled(&self->requests[i], lost)) ended = false;
  }
  for (int i = 0; i < CHANNELS && !lost; i++) MPI_Comm_free(&self->channels[i]); // waits for the other ranks
  free_memory(self);
  return ended;
}

static bool duplicate(transport *self, MPI_Comm communicator) {
  for (int i = 0; i < CHANNELS; i++) {
    if (MPI_Comm_dup(communicator, &self->channels[i]) != MPI_SUCCESS) return false;
    MPI_Comm_set_errhandler(self->channels[i], MPI_ERRORS_RETURN);
  }
  return true;
}

// A number of this machine since it was started; 0: it cannot be told.
static uint64_t find_machine(void) {
  char text[64] = "";
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (file == NULL) return 0;
  bool read = fgets(text, sizeof text, file) != NULL;
  fclose(file);
  return read ? weir__mpi_hash_text(1, text) : 0;
}

// An extension that Open MPI and MPICH have, each in a header of its own.
static void find_support(weir__mpi_transport *base) {
  int (*query)(void) = NULL;
  void *symbol = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
  memcpy(&query, &symbol, sizeof query);
  base->takes = WEIR__MPI_CANNOT_TELL;
  base->takes_text = "MPI does not tell whether it takes memory of CUDA devices";
  if (query == NULL) return;
  bool takes = query() == 1;
  base->takes = takes ? WEIR__MPI_DEVICE_MEMORY : WEIR__MPI_HOST_MEMORY;
  base->takes_text = takes ? "MPI says that it takes memory of CUDA devices (MPIX_Query_cuda_support)"
                           : "MPI says that it takes no memory of CUDA devices (MPIX_Query_cuda_support)";
}

weir__mpi_transport *weir__mpi_transport_create(MPI_Comm communicator) {
  transport *self = calloc(1, sizeof *self);
  if (self == NULL || !grow(self) || !duplicate(self, communicator)) {
    if (self != NULL) free_memory(self);
    return NULL;
  }
  int rank, size, found = 0, *most = NULL;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  MPI_Comm_get_attr(self->channels[0], MPI_TAG_UB, (void *)&most, &found);
  self->base = (weir__mpi_transport){.machine = find_machine(),
                                     .rank = (uint32_t)rank,
                                     .size = (uint32_t)size,
                                     .tags = found ? (uint32_t)*most : 32767,
                                     .send = send_message,
                                     .receive = receive_message,
                                     .poll = poll_messages,
                                     .cancel = cancel_messages,
                                     .close = close_transport};
  find_support(&self->base);
  return &self->base;
}
