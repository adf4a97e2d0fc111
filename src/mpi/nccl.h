// SPDX-License-Identifier: Apache-2.0
//
// Collectives of NCCL over ranks. Each rank has a communicator of its own device (weir/nccl.h) and submits its own
// tasks. That all ranks are ready for a collective they tell each other by messages of control: each rank tells all
// others, and lets its task start when it has heard of all. What a rank tells may come before another one has got to
// that call. A rank whose part follows that of an earlier collective tells at once that it is ready if that one takes
// place. All ranks hear the same of both, so that all decide alike.
//
// When the job fails, communicators are aborted, since partners on other cards may never come.
#ifndef WEIR_MPI_NCCL_H
#define WEIR_MPI_NCCL_H

#include "job.h"
#include "weir/nccl.h"

enum { WEIR__MPI_READY_TEXT = 112 };

// A rank that is ready for a later collective if this one takes place.
struct weir__mpi_follower {
  struct weir__mpi_follower *next;
  uint32_t rank;
  uint64_t collective;
};

// What has been heard of a collective. That of a communicator's collective 0 has the number of those from 1 on that are
// known to have taken place, or not.
struct weir__mpi_readiness {
  struct weir__mpi_readiness *next;
  uint32_t communicator, came; // ranks that are ready, or cannot take part
  uint64_t collective, decided_until;
  bool decided, going, gone; // all have come; the own communicator is being told, and was
  uint64_t since_ns;         // this rank is ready, since then; 0: it is not
  uint64_t call, order;      // of this rank: the number of the call, and of the collective among all; 0: not submitted
  const char *name;          // of such a collective
  uint64_t *who;             // ranks that came, a bit each
  weir_status status;        // not OK: why it does not take place
  char text[WEIR__MPI_READY_TEXT];
  struct weir__mpi_follower *followers;
};

struct weir_mpi_nccl {
  struct weir_mpi_nccl *next; // guarded by `shared`
  weir_mpi *mpi;
  weir_nccl *nccl;
  weir_device *device; // this rank's
  uint32_t number;     // among the communicators of the job, in the order in which they were created
  uint64_t in_flight;  // collectives whose own tasks are not done; guarded by `shared`
  uint64_t submitted;  // collectives; guarded by `sequence`
};

// This rank is about to submit its part of a call's collective. False: no memory.
bool weir__mpi_nccl_note(struct weir_mpi_nccl *nccl, uint64_t call, const char *name);

// The collective for which this rank is ready, and for longest of those for which another one is not; NULL: none.
// `shared` is held.
const struct weir__mpi_readiness *weir__mpi_nccl_waits(const weir_mpi *mpi, uint32_t peer);

// A rank has told that it is ready, or cannot take part. `shared` is not held.
void weir__mpi_nccl_take(weir_mpi *mpi, uint32_t from, const weir__mpi_control *control);

// Whether this rank waits for others that are to be ready: then all that look for messages do so often.
static inline bool weir__mpi_awaits_collectives(weir_mpi *mpi) {
  return atomic_load_explicit(&mpi->awaited_collectives, memory_order_relaxed) > 0;
}

// `ready` of weir_nccl_options; the communicator is the user.
void weir__mpi_nccl_ready(void *communicator, uint64_t collective, uint64_t follows, weir_status status,
                          const char *message);

// The job has failed. Called again and again; by who drives.
void weir__mpi_nccl_abort(weir_mpi *mpi);

void weir__mpi_nccl_release_all(weir_mpi *mpi); // what was heard and is of no more use

#endif // WEIR_MPI_NCCL_H
