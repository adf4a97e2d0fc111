// SPDX-License-Identifier: Apache-2.0
//
// All ways of running jobs, Weir's first, in one list.
#ifndef WEIR_BENCH_PIPELINE_EVERY_WAY_H
#define WEIR_BENCH_PIPELINE_EVERY_WAY_H

#include "job.h"

// The way at an index; NULL past the end.
const job_way *bench_way(uint32_t index);

bool bench_way_is_weirs(uint32_t index);

#endif // WEIR_BENCH_PIPELINE_EVERY_WAY_H
