// SPDX-License-Identifier: Apache-2.0
//
// The state of a rank in a job, and who guards it:
// - `sequence` is held by each call that makes the sequence, in that order; it guards what only these use.
// - `tables` is held while a buffer's table changes, which who has `sequence` does alone, and while others read one.
// - `shared` is held for a few lines, by those calls, by callbacks of Weir and by the progress thread.
// - `driven` is set by the thread that drives (drive.h), and guards what drivers alone use. Nobody waits for it.
// `sequence` comes before `tables` and `shared`, of which no thread holds both. No call of Weir is made under `shared`, so callbacks may take it.
#ifndef WEIR_MPI_JOB_H
#define WEIR_MPI_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "buffers.h"
#include "clock.h"
#include "control.h"
#include "direct.h"
#include "history.h"
#include "message.h"
#include "pool.h"
#include "transport.h"
#include "weir/mpi.h"

enum {
  WEIR__MPI_TEXT = 512,
  WEIR__MPI_LAST_NS = 200000000, // how long what is on its way is waited for after a failure
};

// What is known of another rank.
typedef struct weir__mpi_peer {
  uint64_t heard_ns;        // when something came from it
  uint64_t pinged_ns;       // when it was asked for a sign of life
  uint64_t answered_ns;     // when it last gave one
  uint64_t number;          // the last call that it said it has begun to submit,
  uint64_t completed;       // the last one that it has submitted or left out, and
  uint64_t sends, receives; // messages of contents to and from this rank, of the calls up to that; collectives
  uint64_t collectives;
  uint64_t number_ns; // when that grew, or the program was in a call
  uint64_t compared;  // calls up to this one are like those of the rank before it
} weir__mpi_peer;

struct weir_mpi {
  weir_context *context;
  weir_mpi_options options;
  weir__mpi_transport *transport;
  weir__mpi_pool pool; // of messages
  weir__mpi_direct direct;
  uint32_t rank, size;
  bool only_host; // the context's devices are CPUs
  bool traces;    // the context does, and its timeline gets calls and messages

  pthread_mutex_t sequence;
  _Atomic uintptr_t caller; // the thread that holds it in a call, as pthread_self(); 0: none
  pthread_mutex_t tables;
  weir__mpi_buffers buffers;
  _Atomic uint64_t number, tasks; // of the last call; of tasks that ran here. Written with `sequence`
  _Atomic uint64_t *sent_to,
      *received_from; // messages of contents by rank: the next one's tag; read by who drives, too

  pthread_mutex_t shared;
  pthread_cond_t wake;    // of the progress thread
  pthread_cond_t changed; // for who drives until something is so: fewer bytes to send, a comparison, an end, a failure
  weir__mpi_message *inbox, **inbox_end;
  weir__mpi_history history;
  weir__mpi_control check; // pairs that the next rank has not got yet
  uint64_t outgoing_bytes, outgoing_count;
  uint64_t receiving_bytes;                  // of receives that have memory (staging.h)
  weir__mpi_message *waiting, **waiting_end; // receives that have none yet, in the order of submission
  uint64_t awaited, awaited_ns; // number of the call up to which a comparison is waited for, since when; 0: none
  uint64_t ending_ns;           // since when the end of all ranks is waited for; 0: it is not
  uint32_t ends;                // rank 0: ranks that have come to their end. Others: 1 if all have
  weir_mpi_statistics statistics;
  weir_status failure; // of the job; OK: none
  char failure_text[WEIR__MPI_TEXT];
  bool stops;       // the progress thread ends when nothing is left to send
  bool leaves_some; // the transport may still write to `incoming`: nobody frees it
  atomic_bool has_inbox, has_failed;
  atomic_bool in_call; // a call that makes the sequence, or waits for what was submitted, has not returned
  uint64_t copies;     // of contents to be sent, whose ends have not been reported
  bool looks_in_turns; // workers drive

  // Communicators of NCCL (nccl.h), and what was heard of their collectives; guarded by `shared`.
  struct weir_mpi_nccl *communicators;
  struct weir__mpi_readiness *readiness;
  uint64_t collectives;                 // of this rank's calls
  uint64_t joining_ns, joining;         // since when it waits for a communicator, behind which call; 0: it does not
  uint32_t decided_count;               // of these, those of which the communicators must be told
  _Atomic uint32_t awaited_collectives; // this rank is ready for them, others may not be; changed with `shared`
  _Atomic uint32_t communicator_count;  // that were created; changed with `shared`
  bool communicators_aborted;           // since the job has failed
  bool communicators_busy;              // a thread does so right now

  pthread_t thread;                    // the progress thread
  atomic_bool sleeps_long;             // it does; changed with `shared`
  _Atomic uint64_t driven_ns, busy_ns; // when messages were looked for, and when there were any
  atomic_bool has_pending;             // messages were begun and have not ended

  atomic_bool driven; // what follows is guarded by it
  weir__mpi_peer *peers;
  weir__mpi_message *pending; // messages that were begun
  weir__mpi_control incoming;
  uint64_t differs;      // number of the call at which the rank before this one differs, and whose text is asked for
  uint64_t cancelled_ns; // when messages were cancelled after a failure; 0: they were not
  bool has_abandoned;    // what could not be cancelled
  uint64_t suspected_ns; // when contents came that did not fit; 0: none did
  uint64_t asked_ns,
      suspected; // when ranks were asked for their calls since; up to which call there must be a difference
  weir__mpi_message *doubted; // whose contents did not: their tasks wait until it is known which call differs
  char suspicion[WEIR__MPI_TEXT];
  uint64_t watched_ns;
  weir__mpi_clock clock;
};

// Nanoseconds of a clock that only goes forward.
uint64_t weir__mpi_now(void);

// Sleeps until the condition is signalled, for so long at most. `shared` is held.
void weir__mpi_sleep(weir_mpi *mpi, pthread_cond_t *condition, uint64_t ns);

// Makes the job fail, unless it has failed already. `tells`: the other ranks, too. Does not wait.
__attribute__((format(printf, 4, 5))) void weir__mpi_fail(weir_mpi *mpi, weir_status status, bool tells,
                                                          const char *format, ...);

// Whether the job has not failed, as far as this rank knows.
static inline bool weir__mpi_is_fine(const weir_mpi *mpi) {
  return !atomic_load_explicit(&mpi->has_failed, memory_order_acquire);
}

// Copies the job's failure to this thread's last error, and returns it; OK: none.
weir_status weir__mpi_job_status(weir_mpi *mpi);

// Sets this thread's last error, and returns the status.
__attribute__((format(printf, 2, 3))) weir_status weir__mpi_error(weir_status status, const char *format, ...);

// Refuse a call that was given no job, or a rank that there is not.
weir_status weir__mpi_null(const char *call);
weir_status weir__mpi_no_rank(const weir_mpi *mpi, const char *call, int64_t rank);

// Puts the name of a call before the last error, and returns the status.
weir_status weir__mpi_in_call(weir_status status, const char *call);

// Takes a struct of a caller's that may be of another version: `known` bytes of it. Refuses one with a member that this
// library does not know (weir.h, "Growth"). `given` may be NULL.
weir_status weir__mpi_take_struct(void *out, size_t known, const void *given, size_t given_bytes, const char *call);

// Adds to a count that only who holds `sequence` writes. Returns the sum.
static inline uint64_t weir__mpi_count(_Atomic uint64_t *count, uint64_t more) {
  uint64_t sum = atomic_load_explicit(count, memory_order_relaxed) + more;
  atomic_store_explicit(count, sum, memory_order_relaxed);
  return sum;
}

// Makes a call the next one of the sequence: gives it its number, and its hash for comparison. `sequence` is held.
void weir__mpi_enter(weir_mpi *mpi, weir__mpi_call *call);

// Around each call that makes the sequence: takes `sequence`, and releases it.
void weir__mpi_begin_call(weir_mpi *mpi);
void weir__mpi_end_call(weir_mpi *mpi);

// Whether this thread is in such a call.
bool weir__mpi_is_calling(const weir_mpi *mpi);

// The rank whose calls are compared with this rank's, and the one that compares its own with these.
static inline uint32_t weir__mpi_previous(const weir_mpi *mpi) {
  return (mpi->rank + mpi->size - 1) % mpi->size;
}
static inline uint32_t weir__mpi_next(const weir_mpi *mpi) {
  return (mpi->rank + 1) % mpi->size;
}

// Joins a context to a job over a transport, which is closed in any case.
weir_status weir__mpi_create_over(weir_context *context, const weir_mpi_options *options,
                                  weir__mpi_transport *transport, weir_mpi **out_mpi);

// Frees what is left when the progress thread has ended.
void weir__mpi_destroy(weir_mpi *mpi);

#endif // WEIR_MPI_JOB_H
