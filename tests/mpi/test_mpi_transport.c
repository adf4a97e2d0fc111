// SPDX-License-Identifier: Apache-2.0
//
// The transport by MPI, of one rank to itself: a message that ends is found wherever it stands among many that do not.
#include <stdio.h>
#include <stdlib.h>

#include "transport_mpi.h"

enum { RECEIVES = 300, AT_ONCE = 64, POLLS = 10000 };

static unsigned char contents[RECEIVES], control, sent[RECEIVES + 1];
static unsigned ended[RECEIVES];
static unsigned controls;

static void take(const weir__mpi_done *done) {
  const unsigned char *token = done->token;
  if (token == &control)
    controls++;
  else if (token >= contents && token < contents + RECEIVES)
    ended[token - contents]++;
}

// Looks until all messages of a number of receives are there.
static void poll_until(weir__mpi_transport *transport, unsigned receives, bool with_control) {
  for (unsigned i = 0, count = 0; i < POLLS; i++) {
    weir__mpi_done done[AT_ONCE];
    uint32_t now = transport->poll(transport, done, AT_ONCE);
    for (uint32_t k = 0; k < now; k++) take(&done[k]);
    count = 0;
    for (unsigned k = 0; k < RECEIVES; k++) count += ended[k];
    if (count == receives && controls == with_control) return;
  }
}

// One control message is received behind `before` receives of contents, and all others are behind it. It alone comes at
// first.
static const char *run_at(unsigned before) {
  weir__mpi_transport *transport = weir__mpi_transport_create(MPI_COMM_SELF);
  if (transport == NULL) return "there is no transport";
  controls = 0;
  for (unsigned i = 0; i < RECEIVES; i++) ended[i] = 0;
  for (unsigned i = 0; i <= RECEIVES; i++) {
    unsigned number = i < before ? i : i - 1;
    bool began =
        i == before
            ? transport->receive(transport, WEIR__MPI_CONTROL, WEIR__MPI_ANY_RANK, 0, &control, 1, &control)
            : transport->receive(transport, WEIR__MPI_CONTENTS, 0, number, &contents[number], 1, &contents[number]);
    if (!began) return "a receive was refused";
  }
  transport->send(transport, WEIR__MPI_CONTROL, 0, 0, &sent[RECEIVES], 1, &sent[RECEIVES]);
  poll_until(transport, 0, true);
  if (controls != 1) return "the control message was not found";
  for (unsigned i = 0; i < RECEIVES; i++) transport->send(transport, WEIR__MPI_CONTENTS, 0, i, &sent[i], 1, &sent[i]);
  poll_until(transport, RECEIVES, true);
  for (unsigned i = 0; i < RECEIVES; i++) {
    if (ended[i] != 1) return "contents were not found, or twice";
  }
  transport->close(transport, false);
  return NULL;
}

int main(int argc, char **argv) {
  int given;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &given);
  static const unsigned places[] = {0, 1, 63, 64, 65, 127, 128, 150, 191, 192, 235, 236, 237, 299, 300};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    const char *wrong = run_at(places[i]);
    if (wrong == NULL) continue;
    fprintf(stderr, "behind %u receives: %s\n", places[i], wrong);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
  MPI_Finalize();
  return 0;
}
