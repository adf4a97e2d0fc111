// SPDX-License-Identifier: Apache-2.0
//
// The parts of weir-bench-pipeline. Each prints its tables, adds its results, and returns an exit code.
#ifndef WEIR_BENCH_PIPELINE_PARTS_H
#define WEIR_BENCH_PIPELINE_PARTS_H

#include "settings.h"

int bench_stages(const bench_settings *settings);
int bench_jobs(const bench_settings *settings);
int bench_latency(const bench_settings *settings);

#endif // WEIR_BENCH_PIPELINE_PARTS_H
