// SPDX-License-Identifier: Apache-2.0
//
// A recorded stream as a job of a pipeline: its parts, the lines, and one job at a time for comparison.
#ifndef WEIR_TOOLS_WEIR_REPLAY_JOBS_H
#define WEIR_TOOLS_WEIR_REPLAY_JOBS_H

#include "replay_pass.h"
#include "weir/graph.h"
#include "weir/pipeline.h"

struct weir__replay_jobs;

// Tasks up to one whose result the host waits for, or to the end: a stage.
typedef struct weir__replay_part {
  struct weir__replay_jobs *jobs;
  uint32_t first, end; // tasks of the stream
} weir__replay_part;

enum { WEIR__REPLAY_MOST_PARTS = WEIR_PIPELINE_MOST_STAGES - 1 }; // the first stage only counts

// What a line has: buffers of its own, but for parameters.
typedef struct weir__replay_line {
  weir__replay replay;
  uint64_t start_ns; // of its job
} weir__replay_line;

typedef struct weir__replay_jobs {
  weir__replay *run;
  weir__replay_part parts[WEIR__REPLAY_MOST_PARTS];
  uint32_t part_count;
  bool ordered; // jobs write parameters, which are shared by all
  weir__replay_line lines[WEIR_PIPELINE_MOST_LINES];
  weir_pipeline *pipeline;
  uint64_t count, begun, delivered; // jobs of the round
  uint64_t first;                   // the token that is the round's first job
  double *latency_us;               // of the round's jobs, as they are delivered
  uint64_t submit_ns;               // that threads spent in stages, in the round
  weir__replay_progress progress;   // may be NULL
  void *user;
} weir__replay_jobs;

// All return exit codes; errors were said on stderr.

// Cuts the stream into parts. Refuses what cannot be a job.
int weir__replay_cut(weir__replay *run, weir__replay_jobs *out_jobs);

// Creates the pipeline, with the buffers of its lines; and releases it, if there is one.
int weir__replay_open_pipeline(weir__replay_jobs *jobs);
void weir__replay_close_pipeline(weir__replay_jobs *jobs);

// Has so many jobs go through the pipeline, at most as many as `latency_us` has room for.
int weir__replay_play_round(weir__replay_jobs *jobs, uint64_t count, double *out_us);

// One job at a time, on the buffers of line 0: records the parts as graphs, and launches them, waiting for each.
int weir__replay_record_parts(weir__replay_jobs *jobs, weir_graph **out_graphs);
int weir__replay_play_alone(const weir__replay_jobs *jobs, weir_graph *const *graphs, uint64_t count, double *out_us);

#endif // WEIR_TOOLS_WEIR_REPLAY_JOBS_H
