// SPDX-License-Identifier: Apache-2.0
//
// Running a recorded stream through Weir's public interface, and what comes out.
#ifndef WEIR_TOOLS_WEIR_REPLAY_H
#define WEIR_TOOLS_WEIR_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"
#include "plan_stream.h"
#include "stream/stream.h"

// The choices of --issue, --rename and --storage, in the order of their words.
typedef enum weir__replay_issue { WEIR__REPLAY_QUEUES = 0, WEIR__REPLAY_GRAPH = 1 } weir__replay_issue;
typedef enum weir__replay_switch { WEIR__REPLAY_ON = 0, WEIR__REPLAY_OFF = 1 } weir__replay_switch;
typedef enum weir__replay_storage { WEIR__REPLAY_FRESH = 0, WEIR__REPLAY_KEPT = 1 } weir__replay_storage;

typedef struct weir__replay_options {
  const char *device;
  int hazards; // weir__plan_mode
  int issue;   // weir__replay_issue
  int rename;  // weir__replay_switch
  int storage; // weir__replay_storage
  uint64_t queues, window, memory, repeat;
  double time_scale;
  bool check;
  const char *timeline; // NULL: none
} weir__replay_options;

// What one run gave, over all its passes.
typedef struct weir__replay_run {
  char device[64];    // as the context names it
  double makespan_us; // time of the device from the first submission to the end of the last task, without build_us
  double build_us;    // of graphs
  double submit_ns;   // real time that the submitting thread spent on buffers and submissions
  uint64_t edges;     // predecessors that tasks had to wait for; of graphs: edges of the graphs
  uint64_t renamed, peak_bytes;
  uint32_t window;
} weir__replay_run;

// Called now and then with the passes done so far.
typedef void (*weir__replay_progress)(void *user, uint64_t passes_done);

// Runs the stream `options->repeat` times in a context of its own. `trace_paths` ends with NULL: where to write the
// timeline; NULL for none. Returns an exit code; errors were said on stderr.
int weir__replay_run_stream(const weir__stream *stream, const weir__replay_options *options,
                            const char *const *trace_paths, weir__replay_progress progress, void *user,
                            weir__replay_run *out_run);

// The critical path (of the run's hazards) and the bound (by buffer) of the stream repeated as the options say, times
// the time scale. False: no memory.
bool weir__replay_limits(const weir__stream *stream, const weir__replay_options *options, double *out_critical_us,
                         double *out_bound_us);

// A stream that was replayed, with what it is compared to.
typedef struct weir__replayed {
  const weir__stream *stream;
  weir__replay_run run;
  double serial_us, critical_us, bound_us;
  int checked; // 1 proved, 0 broken, -1 not checked
} weir__replayed;

// Print the results; return exit codes.
int weir__replay_print_json(const weir__replayed *results, size_t count, const weir__replay_options *options);
int weir__replay_print_table(const weir__replayed *results, size_t count, const weir__replay_options *options);

#endif // WEIR_TOOLS_WEIR_REPLAY_H
