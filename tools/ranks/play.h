// SPDX-License-Identifier: Apache-2.0
//
// A recorded stream on one of several ranks.
#ifndef WEIR_TOOLS_RANKS_PLAY_H
#define WEIR_TOOLS_RANKS_PLAY_H

#include <stdbool.h>

#include "stream/stream.h"
#include "weir/mpi.h"

typedef struct weir__play_options {
  uint64_t repeat, round; // `round`: see deal.h
  double time_scale;
  bool kept, no_host_waits;
} weir__play_options;

// Makes kernels, calls `begin`, submits all passes, and finishes. *out_submit_ns: what this thread spent on it, waits of the program excluded.
// Returns the first failure, with weir_last_error().
weir_status weir__play(weir_context *context, weir_mpi *mpi, const weir__stream *stream,
                       const weir__play_options *options, void (*begin)(void), double *out_submit_ns);

#endif // WEIR_TOOLS_RANKS_PLAY_H
