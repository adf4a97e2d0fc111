// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are threads of one process, for sanitizers: messages are copied when they are sent.
#ifndef WEIR_TESTS_MPI_TRANSPORT_THREADS_H
#define WEIR_TESTS_MPI_TRANSPORT_THREADS_H

#include "transport.h"

typedef struct threads_job threads_job;

threads_job *threads_job_create(uint32_t size);
// After all transports were closed.
void threads_job_release(threads_job *job);

weir__mpi_transport *threads_transport(threads_job *job, uint32_t rank);

// From now on messages of the rank are lost, as if it had died.
void threads_kill(threads_job *job, uint32_t rank);

// From now on the contents that come to the rank do not end, and cannot be cancelled, as a large message of a rank that
// has died: for good, or until they end late, when other receives have been cancelled for a while.
typedef enum threads_sticking { THREADS_FLOW, THREADS_STICK, THREADS_STICK_FOR_LONG } threads_sticking;
void threads_stick(threads_job *job, uint32_t rank, threads_sticking how);

// From now on contents of a device, or for one, take so many milliseconds at least.
void threads_slow(threads_job *job, uint32_t ms);

// From now on messages of control arrive so many milliseconds late.
void threads_delay_control(threads_job *job, uint32_t ms);

// The next message of control that comes to the rank ends with an error.
void threads_spoil_control(threads_job *job, uint32_t rank);

// Whether something that was stuck has ended late, after it was written to once more.
bool threads_has_ended_late(threads_job *job, uint32_t rank);

// As threads_kill, from message number `message` on, of any kind, which is lost itself; whether a rank is dead.
void threads_kill_at(threads_job *job, uint32_t rank, uint64_t message);
bool threads_is_dead(threads_job *job, uint32_t rank);

// Bytes of contents messages that a rank sent, headers included, and how many there were.
uint64_t threads_sent(threads_job *job, uint32_t rank, uint64_t *out_messages);

// Most bytes of contents that a rank waited for at a time, with room for headers.
uint64_t threads_most_posted(threads_job *job, uint32_t rank);

#endif // WEIR_TESTS_MPI_TRANSPORT_THREADS_H
