// SPDX-License-Identifier: Apache-2.0
//
// Replays recorded streams through Weir on a simulated device, for tests. A small sibling of `weir replay`.
#ifndef WEIR_TESTS_SIM_REPLAY_H
#define WEIR_TESTS_SIM_REPLAY_H

#include "stream/stream.h"

typedef enum replay_hazards { REPLAY_SERIAL, REPLAY_ADDRESS, REPLAY_BUFFER } replay_hazards;

typedef struct replay_options {
  const char *device;
  replay_hazards hazards;
  bool graph;      // one graph of the whole stream; host waits are ignored
  uint32_t queues; // 0: the device's own
  uint32_t window;
} replay_options;

// Reads examples/streams/NAME.jsonl; fails the test if it cannot.
weir__stream *replay_read(const char *name);

// Virtual microseconds from the first submission to the end of the last task, without building a graph.
double replay_run(const weir__stream *stream, const replay_options *options);

// The limit: the longer of the critical path by buffer, host waits included, and the work bound.
double replay_bound(const weir__stream *stream);

#endif // WEIR_TESTS_SIM_REPLAY_H
