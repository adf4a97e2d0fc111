// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <string.h>

#include "messages.h"

enum { REPEATS = 3 };

// One message, if it is this rank's turn, or the receipt of it. `pinned` NULL: from and to the card's memory.
static void hop(const bench_world *world, uint64_t card, void *pinned, int bytes, int to) {
  void *memory = pinned;
  if (pinned == NULL) memcpy(&memory, &card, sizeof memory);
  if (to != world->rank) {
    if (pinned != NULL)
      must(world->driver.copy((uint64_t)(uintptr_t)pinned, card, (size_t)bytes) == 0, "copy to the host");
    must(MPI_Send(memory, bytes, MPI_BYTE, to, 7, MPI_COMM_WORLD) == MPI_SUCCESS, "MPI_Send");
  } else {
    must(MPI_Recv(memory, bytes, MPI_BYTE, 1 - to, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Recv");
    if (pinned != NULL)
      must(world->driver.copy(card, (uint64_t)(uintptr_t)pinned, (size_t)bytes) == 0, "copy to the card");
  }
}

double measure_plain(bench_world *world, uint64_t bytes, bool direct) {
  double best = 0;
  uint64_t card;
  void *pinned = NULL;
  must(world->driver.copy != NULL && world->driver.allocate != NULL, "the driver lacks functions");
  must(world->driver.set_current(world->native_context) == 0, "the context of the card");
  must(world->driver.allocate(&card, bytes) == 0, "memory of the card");
  if (!direct) must(weir_host_allocate(world->card, bytes, &pinned) == WEIR_OK, "pinned memory");
  for (uint32_t repeat = 0; repeat <= REPEATS; repeat++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double began = now_us();
    for (uint32_t i = 0; i < 2 * world->rounds; i++) hop(world, card, pinned, (int)bytes, (int)(i + 1) % 2);
    double took = (now_us() - began) / (2 * world->rounds);
    if (repeat > 0 && (best == 0 || took < best)) best = took;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (pinned != NULL) weir_host_free(world->card, pinned);
  must(world->driver.release(card) == 0, "release");
  return best;
}
