// SPDX-License-Identifier: Apache-2.0
//
// The clocks of the host and of the device: how far they are apart, found by questions and answers through memory that
// both see.
#ifndef WEIR_BENCH_WAIT_CLOCKS_H
#define WEIR_BENCH_WAIT_CLOCKS_H

#include "nvrtc_card.h"

// The host's clock, and that of tasks on the CPU device.
uint64_t wait_clock_ns(void);

// Lets other threads go on; whoever looks at a word does so now and then, for on a busy machine the one that is to
// write it may need the core.
void wait_yield(void);
enum { WAIT_LOOKS_PER_YIELD = 1 << 16 };

typedef struct wait_clocks {
  const nvrtc_card *card; // NULL: the CPU device, whose clock is the host's
  CUmodule module;
  CUfunction answer;
  CUstream stream;
  uint64_t questions;      // of a relation
  uint64_t *words;         // pinned
  uint64_t step_ns;        // the smallest step of the device's clock that was seen
  uint64_t least_round_ns; // of all relations; 0: there was none
} wait_clocks;

// What the clocks showed at one time.
typedef struct wait_relation {
  uint64_t host_ns, device_ns; // the same moment, but for half of
  uint64_t round_ns;           // the smallest time from a question to its answer; 0: one clock
} wait_relation;

// `card` must live as long as the clocks; NULL for the CPU device. A relation takes so many questions. False: `reason`
// says why not. To be closed in any case.
bool wait_clocks_open(const nvrtc_card *card, uint64_t questions, wait_clocks *out_clocks, char *reason,
                      size_t reason_bytes);
void wait_clocks_close(wait_clocks *clocks);

// Finds what both clocks show now; asks a few times if rounds take longer than they did before.
// False: a call failed, or no answer came; a message was printed.
bool wait_clocks_relate(wait_clocks *clocks, wait_relation *out_relation);

// The host's time for a time of the device's between two relations; the clocks drift evenly from one to the other.
uint64_t wait_to_host(const wait_relation *before, const wait_relation *after, uint64_t device_ns);

// How far that may be off: half of the larger of the two rounds, and a step of the clock.
uint64_t wait_error_ns(const wait_clocks *clocks, const wait_relation *before, const wait_relation *after);

// How much the host's clock gained on the device's from one relation to another.
int64_t wait_drift_ns(const wait_relation *before, const wait_relation *after);

#endif // WEIR_BENCH_WAIT_CLOCKS_H
