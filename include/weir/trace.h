// SPDX-License-Identifier: Apache-2.0
//
// Timelines of one program that runs as several processes, the *ranks*: what a library that is built on Weir, as
// libweir-mpi is, notes in each rank's timeline, so that `weir timeline` can join those of all ranks, and `weir check`
// prove the result. All ranks submit one sequence of *calls*, which have numbers from 1 on; buffers that ranks share
// have numbers, too. Programs do not need this header.
//
// Functions may be called from any thread. Errors of all: INVALID_ARGUMENT (NULL, or the context does not trace).
#ifndef WEIR_TRACE_H
#define WEIR_TRACE_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// The context belongs to rank `rank` of `ranks`. Rank 0's clock (CLOCK_MONOTONIC) shows this rank's time plus
// `offset_ns`, which may be wrong by `error_ns`. May be called again, with a better offset. With WEIR_TRACE=run.json
// in the environment, the timeline is saved as run.rank1.json if there are several ranks.
WEIR_API weir_status weir_trace_note_rank(weir_context *context, uint32_t rank, uint32_t ranks, int64_t offset_ns,
                                          uint64_t error_ns);

// The buffer has number `shared`, above 0, on all ranks.
WEIR_API weir_status weir_trace_note_buffer(weir_buffer *buffer, uint64_t shared);

// The task behind the event is that of call `call`.
WEIR_API weir_status weir_trace_note_call(weir_event *event, uint64_t call);

// The task behind the event reads what is sent to rank `to`, or writes what came from rank `from`, for call `call`:
// message `number` of those from the one rank to the other.
WEIR_API weir_status weir_trace_note_send(weir_event *event, uint64_t call, uint32_t to, uint64_t number);
WEIR_API weir_status weir_trace_note_receive(weir_event *event, uint64_t call, uint32_t from, uint64_t number);

// Call `call` says that this rank overwrote bytes of the buffer by tasks that are no calls.
WEIR_API weir_status weir_trace_note_written(weir_buffer *buffer, uint64_t call, uint64_t offset, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif // WEIR_TRACE_H
