// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_BENCH_LIBRARY_CALLS_H
#define WEIR_BENCH_LIBRARY_CALLS_H

#include "report.h"

// Measures what a small call of cuBLAS costs the host, alone and as a task, `passes` times after the first.
void calls_measure(int passes, table *report);

#endif // WEIR_BENCH_LIBRARY_CALLS_H
