// SPDX-License-Identifier: Apache-2.0
//
// Running a recorded stream through Weir's public interface, and what comes out.
#ifndef WEIR_TOOLS_WEIR_REPLAY_H
#define WEIR_TOOLS_WEIR_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"
#include "cluster/run.h"
#include "plan/stream_plan.h"
#include "stream/stream.h"

// The choices of --issue, --kernels, --met, --rename and --storage, in the order of their words.
#define WEIR__REPLAY_ISSUES "serial|serial-graph|queues|graph|auto|acs-sw|acs-hw|resident|repeats"
typedef enum weir__replay_issue {
  WEIR__REPLAY_SERIAL = 0,       // one stream, in order
  WEIR__REPLAY_SERIAL_GRAPH = 1, // the same, each pass recorded as a graph
  WEIR__REPLAY_QUEUES = 2,       // task by task
  WEIR__REPLAY_GRAPH = 3,        // each pass recorded as a graph
  WEIR__REPLAY_AUTO = 4,         // as Weir chooses
  WEIR__REPLAY_ACS_SW = 5,       // not Weir: a model of a peer (acs.h)
  WEIR__REPLAY_ACS_HW = 6,
  WEIR__REPLAY_RESIDENT = 7, // task by task to a kernel that stays on the device
  WEIR__REPLAY_REPEATS = 8,  // as Weir chooses, with its trace cache
} weir__replay_issue;
#define WEIR__REPLAY_KERNELS "recorded|weir"
typedef enum weir__replay_kernels_as {
  WEIR__REPLAY_AS_RECORDED = 0, // with the grids and blocks of the recorded ones
  WEIR__REPLAY_AS_WEIRS = 1,    // as if they were written with weir/kernel.h, which the resident kernel can run
} weir__replay_kernels_as;
#define WEIR__REPLAY_MET "nothing|device|topology|stream"
typedef enum weir__replay_met {
  WEIR__REPLAY_MET_NOTHING = 0,
  WEIR__REPLAY_MET_DEVICE = 1,   // as many tasks and buffers, in another order: a chain
  WEIR__REPLAY_MET_TOPOLOGY = 2, // the same hazards, with other kernels and buffers
  WEIR__REPLAY_MET_STREAM = 3,   // the stream itself
} weir__replay_met;
typedef enum weir__replay_switch { WEIR__REPLAY_ON = 0, WEIR__REPLAY_OFF = 1 } weir__replay_switch;
typedef enum weir__replay_storage { WEIR__REPLAY_FRESH = 0, WEIR__REPLAY_KEPT = 1 } weir__replay_storage;

typedef struct weir__replay_options {
  const char *device;
  int hazards; // weir__plan_mode; SERIAL if `issue` is SERIAL or SERIAL_GRAPH, ADDRESS if it is one of ACS
  int issue;   // weir__replay_issue
  int kernels; // weir__replay_kernels_as
  int met;     // weir__replay_met: what runs, untimed, before the first pass
  int rename;  // weir__replay_switch
  int storage; // weir__replay_storage
  uint64_t queues, window, memory, repeat;
  uint64_t lines;       // not 0: each pass is a job of a pipeline with so many lines
  uint64_t rounds;      // how often a pipeline's jobs are measured
  uint64_t ranks;       // not 0: on so many ranks of MPI, that the launcher starts
  uint64_t deal;        // buffers of a round in which these are dealt to ranks; 0: weir__replay_deal chooses
  const char *launcher; // NULL: mpirun
  const char *cluster;  // ranks are those of a simulated cluster with these settings; NULL: they are real
  double time_scale;
  bool apart;         // each pass waits until the one before it is done
  bool no_host_waits; // submit on where the program read results back
  bool check;
  const char *timeline; // NULL: none
  const char *acs;      // costs of ACS, "KEY=VALUE,..."; NULL: the usual ones
} weir__replay_options;

static inline bool weir__replay_by_graph(const weir__replay_options *options) {
  return options->issue == WEIR__REPLAY_SERIAL_GRAPH || options->issue == WEIR__REPLAY_GRAPH;
}

// What one run gave. Times are virtual on a simulated device, else real; times to submit are always real. What there is
// not (passes that were not apart, no second pass) is not a number.
typedef struct weir__replay_run {
  char device[64];        // as the context names it
  double makespan_us;     // from the first submission to the end of the last task, without build_us
  double build_us;        // of graphs
  double first_us;        // of the first pass, if passes were apart
  double pass_us;         // per pass: apart, the median without the first pass; else makespan_us by their number
  double least_us;        // the extremes of what pass_us is the median of, if passes were apart
  double most_us;         //
  double submit_ns;       // that the submitting thread spent on buffers and submissions, all passes together
  double first_submit_ns; // the same, for the first pass
  double later_submit_ns; // the same, the median of the others
  uint64_t edges;         // predecessors that tasks had to wait for; of graphs: edges of the graphs
  uint64_t renamed, repeated, window_waits, peak_bytes; // as in weir_statistics
  uint64_t messages, bytes_sent, bytes_fewest;          // with ranks; `fewest`: that owner-computes needs
  uint32_t window;
} weir__replay_run;

// Called now and then with the passes done so far.
typedef void (*weir__replay_progress)(void *user, uint64_t passes_done);

// Runs the stream `options->repeat` times in a context of its own. `trace_path`: where to write the timeline, as JSON;
// NULL for nowhere. Returns an exit code; errors were said on stderr.
int weir__replay_run_stream(const weir__stream *stream, const weir__replay_options *options, const char *trace_path,
                            weir__replay_progress progress, void *user, weir__replay_run *out_run);

// The same as ACS would run it, on options->device, which is a simulated one. What ACS has not (renaming, storage, graphs) is 0;
// there is no real time of submissions.
bool weir__replay_by_acs(const weir__replay_options *options);
int weir__replay_run_acs(const weir__stream *stream, const weir__replay_options *options, const char *trace_path,
                         weir__replay_run *out_run);

// The same on ranks of MPI, of the stream that weir__stream_read_any reads from `path`.
int weir__replay_run_ranks(const char *path, const weir__stream *stream, const weir__replay_options *options,
                           const char *trace_path, weir__replay_run *out_run);

// The same on a simulated cluster.
int weir__replay_run_cluster(const char *path, const weir__stream *stream, const weir__replay_options *options,
                             weir__cluster_result *out_result);

// Buffers of a round in which those of the stream are dealt to ranks: if the options do not say, the width of a pattern,
// else 16, but at least one a rank.
uint64_t weir__replay_deal(const char *path, const weir__replay_options *options);

// The fewest bytes that ranks must send each other, given the owners: each version of a byte once to each rank that
// reads it and did not write it. False: no memory.
bool weir__replay_fewest_bytes(const weir__stream *stream, const weir__replay_options *options, uint64_t *out_bytes);

// Whether the options combine; else says why not. Chooses those that were not given.
bool weir__replay_settle_ranks(const weir__replay_options *options);
bool weir__replay_settle_cluster(const weir__replay_options *options);

// Whether the options combine, as far as ACS goes; else says why not. Sets the hazards.
bool weir__replay_settle_acs(weir__replay_options *options);

// A time per job, over the rounds.
typedef struct weir__replay_spread {
  double median_us, least_us, most_us;
} weir__replay_spread;

// What the stream's passes took as jobs of a pipeline. Times as above; latencies are from a job's first stage to its delivery, the
// medians of the rounds.
typedef struct weir__replay_pipelined {
  char device[64];
  weir__replay_spread job;
  weir__replay_spread alone; // one job at a time: a graph that is launched and awaited, for each part up to a host wait
  weir__replay_spread back_to_back; // each job a graph, launched behind the one before it; not a number where jobs wait
  double latency_median_us, latency_90_us, latency_99_us, latency_most_us;
  double submit_ns; // of a job: real time of threads in its stages, what they launch at their end included
  double critical_us, work_us;
  uint64_t graph_jobs, task_jobs; // stages' work that was launched as a graph, and that was submitted task by task
  uint64_t peak_bytes;
  uint32_t window, host_waits; // of a job
  bool ordered;                // jobs write parameters, which they share
} weir__replay_pipelined;

// Runs the stream's jobs through a pipeline, as weir__replay_run_stream; with a timeline once more, for that.
int weir__replay_run_pipeline(const weir__stream *stream, const weir__replay_options *options, const char *trace_path,
                              weir__replay_progress progress, void *user, weir__replay_pipelined *out_pipelined);

// Whether the options combine; else says why not. Chooses those that were not given.
bool weir__replay_settle_pipeline(weir__replay_options *options);

// The critical path (of the run's hazards) and the bound (by buffer) of the stream repeated as the options say, times
// the time scale. False: no memory.
bool weir__replay_limits(const weir__stream *stream, const weir__replay_options *options, double *out_critical_us,
                         double *out_bound_us);

// A stream that was replayed, with what it is compared to.
typedef struct weir__replayed {
  const weir__stream *stream;
  const char *path; // of its file, or what it was made of
  weir__replay_run run;
  weir__replay_pipelined pipelined; // in place of `run`, with lines
  weir__cluster_result cluster;     // in place of `run`, on a simulated cluster
  double serial_us, critical_us, bound_us;
  int checked; // 1 proved, 0 broken, -1 not checked
} weir__replayed;

// Print the results; return exit codes.
int weir__replay_print_each(const weir__replayed *results, size_t count, const weir__replay_options *options,
                            json_t *(*each)(const weir__replayed *result, const weir__replay_options *options));
int weir__replay_print_json(const weir__replayed *results, size_t count, const weir__replay_options *options);
int weir__replay_print_table(const weir__replayed *results, size_t count, const weir__replay_options *options);

// The same, of pipelines.
int weir__replay_print_pipeline_json(const weir__replayed *results, size_t count, const weir__replay_options *options);
int weir__replay_print_pipeline_table(const weir__replayed *results, size_t count, const weir__replay_options *options);

// The same, of simulated clusters.
int weir__replay_print_cluster_json(const weir__replayed *results, size_t count, const weir__replay_options *options);
int weir__replay_print_cluster_table(const weir__replayed *results, size_t count, const weir__replay_options *options);

#endif // WEIR_TOOLS_WEIR_REPLAY_H
