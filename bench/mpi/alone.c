// SPDX-License-Identifier: Apache-2.0
#include "alone.h"

#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "message.h"

enum { MOST = 1 << 16, ANSWERS = 4096 }; // messages between two calls of poll, and answers to be received

typedef struct alone {
  weir__mpi_transport base;
  weir__mpi_done done[MOST];
  uint32_t done_count;
  weir__mpi_control answers[ANSWERS]; // to be received
  uint32_t answer_first, answer_count, answer_from[ANSWERS];
  weir__mpi_control *incoming; // NULL: nobody receives
  void *incoming_token;
} alone;

static bool end(alone *self, void *token, uint32_t source) {
  if (self->done_count == MOST) return false;
  self->done[self->done_count++] = (weir__mpi_done){.token = token, .source = source};
  return true;
}

static bool deliver(alone *self) {
  if (self->incoming == NULL || self->answer_count == 0) return true;
  uint32_t slot = self->answer_first++ % ANSWERS;
  *self->incoming = self->answers[slot];
  self->incoming = NULL;
  self->answer_count--;
  return end(self, self->incoming_token, self->answer_from[slot]);
}

static bool answer(alone *self, uint32_t from, const weir__mpi_control *control) {
  if (self->answer_count == ANSWERS) return false;
  uint32_t slot = (self->answer_first + self->answer_count++) % ANSWERS;
  self->answers[slot] = *control;
  self->answer_from[slot] = from;
  return deliver(self);
}

// The rank before this one has made the same calls, and rank 0 waits for nobody else.
static bool send_control(alone *self, const void *memory, uint64_t bytes) {
  weir__mpi_control control = {0};
  memcpy(&control, memory, bytes < sizeof control ? bytes : sizeof control);
  if (control.kind == WEIR__MPI_CHECK)
    return answer(self, (self->base.rank + self->base.size - 1) % self->base.size, &control);
  if (control.kind == WEIR__MPI_BYE) control.kind = WEIR__MPI_ALL_BYE;
  return control.kind != WEIR__MPI_ALL_BYE || answer(self, 0, &control);
}

static bool send_message(weir__mpi_transport *base, weir__mpi_channel channel, uint32_t to, uint32_t tag,
                         const void *memory, uint64_t bytes, void *token) {
  alone *self = (alone *)base;
  (void)to;
  (void)tag;
  if (channel == WEIR__MPI_CONTROL && !send_control(self, memory, bytes)) return false;
  return end(self, token, 0);
}

static bool receive_message(weir__mpi_transport *base, weir__mpi_channel channel, uint32_t from, uint32_t tag,
                            void *memory, uint64_t bytes, void *token) {
  alone *self = (alone *)base;
  (void)tag;
  (void)bytes;
  if (channel == WEIR__MPI_CONTROL) {
    self->incoming = memory;
    self->incoming_token = token;
    return deliver(self);
  }
  const weir__mpi_message *message = token;
  *(weir__mpi_header *)memory =
      (weir__mpi_header){.number = message->number, .hash = message->hash, .bytes = message->bytes};
  return end(self, token, from);
}

static uint32_t poll_messages(weir__mpi_transport *base, weir__mpi_done *out_done, uint32_t most) {
  alone *self = (alone *)base;
  uint32_t count = self->done_count < most ? self->done_count : most;
  memcpy(out_done, self->done, count * sizeof *out_done);
  self->done_count -= count;
  memmove(self->done, self->done + count, self->done_count * sizeof *self->done);
  return count;
}

static void cancel_messages(weir__mpi_transport *base) {
  (void)base;
}

static bool close_transport(weir__mpi_transport *base, bool lost) {
  (void)lost;
  free(base);
  return true;
}

weir__mpi_transport *weir__bench_alone(uint32_t rank, uint32_t size) {
  alone *self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  self->base = (weir__mpi_transport){.rank = rank,
                                     .size = size,
                                     .tags = 32767,
                                     .send = send_message,
                                     .receive = receive_message,
                                     .poll = poll_messages,
                                     .cancel = cancel_messages,
                                     .close = close_transport};
  return &self->base;
}
