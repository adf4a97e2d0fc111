// SPDX-License-Identifier: Apache-2.0
//
// The sample streams, for benchmarks of plans.
#ifndef WEIR_TOOLS_WEIR_BENCH_SAMPLES_H
#define WEIR_TOOLS_WEIR_BENCH_SAMPLES_H

#include "bench.h"
#include "stream/stream.h"

// Calls `add` for each stream of examples/streams, by name: below the current folder, or in the source tree that the
// program was built in. When there are none it notes that the benchmark `bench` is skipped. Returns an exit code.
int weir__bench_each_sample(const char *bench, weir__bench_report *report,
                            weir_status (*add)(weir__bench_report *report, const weir__stream *stream));

#endif // WEIR_TOOLS_WEIR_BENCH_SAMPLES_H
