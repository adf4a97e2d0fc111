// SPDX-License-Identifier: Apache-2.0
//
// Jobs that a device works on while the host goes on: one thread asks the feed for tokens and launches their jobs, each on line
// token % lines, another waits for the jobs in their order and gives their results away, after which the line is free. So a
// feed that waits for arrivals does not hold up results.
#ifndef WEIR_BENCH_PIPELINE_WAY_RELAY_H
#define WEIR_BENCH_PIPELINE_WAY_RELAY_H

#include "job.h"
#include "way_team.h"

// The first failure of a run, from whatever thread.
typedef struct way_failure {
  weir__lock lock;
  _Atomic bool failed;
  char why[JOB_WHY];
} way_failure;

void way_failure_clear(way_failure *failure);

// Keeps the reason if it is the first. Returns false.
bool way_failure_note(way_failure *failure, const char *why);

typedef struct way_relay {
  uint32_t lines;
  bool (*launch)(void *user, uint32_t line, void *const *inputs, char why[JOB_WHY]); // in one thread
  bool (*wait)(void *user, uint32_t line, char why[JOB_WHY]);                        // in the other
  void *const *(*results)(void *user, uint32_t line);
  bool (*enter)(void *user, char why[JOB_WHY]); // at the start of each thread; NULL: nothing to do
  void (*leave)(void *user);                    // at its end, if enter succeeded
  void *user;
} way_relay;

// Runs tokens 0 to count - 1 on a team of two. false: `why`; the jobs that were launched have ended by then.
bool way_relay_run(const way_relay *relay, way_team *team, uint64_t count, const job_feed *feed, char why[JOB_WHY]);

#endif // WEIR_BENCH_PIPELINE_WAY_RELAY_H
