// SPDX-License-Identifier: Apache-2.0
//
// Host threads that take whole jobs from a feed and finish them in any order: next and done are called by job.h's rules all the
// same. Token t has line t % lines, which is its own until its done has returned; so at most `lines` jobs are in flight. The threads
// live from open to close, spin for a short while where they wait, and then sleep.
#ifndef WEIR_BENCH_PIPELINE_WAY_QUEUE_H
#define WEIR_BENCH_PIPELINE_WAY_QUEUE_H

#include "job.h"

// What the threads do. false: `why`; then no more jobs are taken.
typedef struct way_work {
  bool (*enter)(void *user, char why[JOB_WHY]); // at the start of a run, in each thread
  void (*leave)(void *user);                    // at its end, if enter succeeded
  // Runs a job until its results are there, and says where they are: until its done has returned.
  bool (*run)(void *user, uint32_t worker, uint32_t line, void *const *inputs, void *const **out_results,
              char why[JOB_WHY]);
  void *user;
} way_work;

typedef struct way_queue way_queue;

// A queue with `workers` threads, of which the one that calls way_queue_run is the first. NULL: no memory or no thread.
way_queue *way_queue_create(uint32_t workers, uint32_t lines);
void way_queue_destroy(way_queue *queue); // NULL is allowed

// Runs tokens 0 to count - 1, and returns when no thread works any more. false: `why` is of the first failure.
bool way_queue_run(way_queue *queue, const way_work *work, uint64_t count, const job_feed *feed, char why[JOB_WHY]);

#endif // WEIR_BENCH_PIPELINE_WAY_QUEUE_H
