// SPDX-License-Identifier: Apache-2.0
//
// ways.h for C++.
#ifndef WEIR_BENCH_PIPELINE_WAYS_CPP_H
#define WEIR_BENCH_PIPELINE_WAYS_CPP_H

extern "C" {
#include "ways.h"
}

#endif // WEIR_BENCH_PIPELINE_WAYS_CPP_H
