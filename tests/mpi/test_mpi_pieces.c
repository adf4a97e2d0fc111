// SPDX-License-Identifier: Apache-2.0
//
// Messages of more than 2 GiB on a transport that only notes what it is asked for: pieces follow each other without gaps, none is
// larger than MPI takes, and the message ends with its last piece.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exchange.h"
#include "job.h"

static const uint64_t GIB = UINT64_C(1) << 30;
enum { MOST = 64 };

typedef struct noted {
  const unsigned char *memory;
  uint64_t bytes;
} noted;

typedef struct note_transport {
  weir__mpi_transport base;
  noted pieces[MOST];
  uint32_t count;
} note_transport;

static bool note(weir__mpi_transport *base, const void *memory, uint64_t bytes) {
  note_transport *self = (note_transport *)base;
  assert_true(self->count < MOST);
  self->pieces[self->count++] = (noted){memory, bytes};
  return true;
}

static bool send_message(weir__mpi_transport *base, weir__mpi_channel channel, uint32_t to, uint32_t tag,
                         const void *memory, uint64_t bytes, void *token) {
  (void)token;
  assert_int_equal(channel, WEIR__MPI_CONTENTS);
  assert_int_equal(to, 1);
  assert_int_equal(tag, 7);
  return note(base, memory, bytes);
}

static bool receive_message(weir__mpi_transport *base, weir__mpi_channel channel, uint32_t from, uint32_t tag,
                            void *memory, uint64_t bytes, void *token) {
  return send_message(base, channel, from, tag, memory, bytes, token);
}

// Begins a message of whose contents only the header has memory, and compares its pieces.
static void check(weir__mpi_message_kind kind, uint64_t bytes, uint64_t most) {
  note_transport transport = {.base = {.size = 2, .send = send_message, .receive = receive_message}};
  weir_mpi *mpi = calloc(1, sizeof *mpi);
  weir__mpi_message *message = calloc(1, sizeof *message);
  weir__mpi_header header = {0};
  assert_true(mpi != NULL && message != NULL);
  mpi->transport = &transport.base;
  mpi->options.piece_bytes = most;
  mpi->inbox_end = &mpi->inbox;
  pthread_mutex_init(&mpi->shared, NULL);
  *message = (weir__mpi_message){.mpi = mpi, .kind = kind, .peer = 1, .tag = 7, .bytes = bytes, .wire = &header};
  message->pieces = weir__mpi_message_pieces(message);
  weir__mpi_message_post(message);
  assert_true(weir__mpi_begin_messages(mpi, 1));
  assert_int_equal(transport.count, message->pieces);
  assert_int_equal(message->pieces_left, message->pieces);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < transport.count; i++) {
    assert_ptr_equal(transport.pieces[i].memory, (unsigned char *)&header + sum);
    assert_true(transport.pieces[i].bytes > 0 && transport.pieces[i].bytes <= most);
    sum += transport.pieces[i].bytes;
  }
  assert_int_equal(sum, bytes + sizeof header);
  pthread_mutex_destroy(&mpi->shared);
  free(message);
  free(mpi);
}

static void test_pieces(void **state) {
  (void)state;
  static const weir__mpi_message_kind kinds[] = {WEIR__MPI_SEND, WEIR__MPI_RECEIVE};
  for (int i = 0; i < 2; i++) {
    check(kinds[i], 300, GIB); // more than a cause may have
    check(kinds[i], GIB - sizeof(weir__mpi_header), GIB);
    check(kinds[i], GIB - sizeof(weir__mpi_header) + 1, GIB);
    check(kinds[i], 2 * GIB - 1, GIB);
    check(kinds[i], 2 * GIB, GIB);
    check(kinds[i], 2 * GIB + 1, GIB);
    check(kinds[i], 4 * GIB + 4095, GIB);
    check(kinds[i], 33 * GIB + 1, GIB);
    check(kinds[i], 4 * GIB + 17, GIB / 8 + 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
