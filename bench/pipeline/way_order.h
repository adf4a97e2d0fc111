// SPDX-License-Identifier: Apache-2.0
//
// A feed shared by threads that take whole jobs and finish them in any order: next and done are called by job.h's rules all the
// same. Token t has line t % lines, which is its own from way_order_take until its done has returned; so at most `lines` jobs
// are in flight.
#ifndef WEIR_BENCH_PIPELINE_WAY_ORDER_H
#define WEIR_BENCH_PIPELINE_WAY_ORDER_H

#include "job.h"
#include "way_team.h"

typedef struct way_order_line {
  _Atomic uint64_t finished; // token + 1 of the last job that ended here
  void *const *results;
} way_order_line;

typedef struct way_order {
  uint32_t lines;
  way_order_line *line; // owned
  const job_feed *feed;
  uint64_t count, next; // `next` is guarded by `taking`
  weir__lock taking;
  _Atomic bool giving; // somebody calls done
  _Atomic bool stopped;
  _Atomic uint64_t delivered; // tokens whose done has returned
  way_gate changed;           // with `delivered` and `stopped`
} way_order;

bool way_order_make(way_order *order, uint32_t lines);
void way_order_free(way_order *order);

// Before each run.
void way_order_begin(way_order *order, uint64_t count, const job_feed *feed);

// The next job, when its line is free and its inputs are there. false: there is none, or the run was stopped.
bool way_order_take(way_order *order, uint64_t *out_token, void *const **out_inputs);

// The job has ended, and its results stay where they are until its done has returned. Calls done for all jobs whose turn it is.
void way_order_finish(way_order *order, uint64_t token, void *const *results);

// No more jobs: for a run that failed.
void way_order_stop(way_order *order);

#endif // WEIR_BENCH_PIPELINE_WAY_ORDER_H
