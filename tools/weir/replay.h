// SPDX-License-Identifier: Apache-2.0
//
// Replaying a recorded stream: every task becomes one task of Weir, every storage a buffer.
#ifndef WEIR_TOOLS_WEIR_REPLAY_H
#define WEIR_TOOLS_WEIR_REPLAY_H

#include "plan_stream.h"
#include "stream/stream.h"
#include "weir/weir.h"

typedef struct weir__replay_options {
  const char *device;
  weir__plan_mode hazards;
  bool graph; // --issue graph
  uint32_t queues, window;
  bool rename;
  uint64_t memory;   // bytes; 0: no limit
  uint32_t repeat;   // passes
  bool kept;         // --storage kept
  double time_scale; // of the recorded times, on the CPU and on simulated devices
  bool check;
  const char *timeline; // NULL: none
} weir__replay_options;

typedef struct weir__replay_result {
  char device[64];
  weir_statistics statistics;
  uint64_t edges;         // between tasks, over all passes
  double makespan_us;     // of the device, from the first submission to the end, all passes, without build_us
  double build_us;        // to build the graph
  double submit_ns;       // of real time per task, in weir_submit (or weir_graph_add and weir_graph_launch)
  bool checked, honoured; // with `check`
} weir__replay_result;

// Replays a stream. On failure `message` says why.
weir_status weir__replay_run(const weir__stream *stream, const weir__replay_options *options,
                             weir__replay_result *out_result, char *message, size_t message_size);

#endif // WEIR_TOOLS_WEIR_REPLAY_H
