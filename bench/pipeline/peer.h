// SPDX-License-Identifier: Apache-2.0
//
// oneTBB's parallel_pipeline with the same stages as Weir's, behind functions that C can call.
#ifndef WEIR_BENCH_PIPELINE_PEER_H
#define WEIR_BENCH_PIPELINE_PEER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What all stages of a row do: nothing, or keep the core busy.
typedef struct bench_load {
  uint32_t rounds; // of a loop in each stage; 0: empty
} bench_load;

static inline void bench_work(const bench_load *load) {
  for (uint32_t i = 0; i < load->rounds; i++) __asm__ volatile("" ::: "memory");
}

void bench_tbb_start(int workers);
void bench_tbb_stop(void);

// Four stages, the first and the last serial, the two between `parallel` or serial, too.
void bench_tbb_run(uint64_t tokens, uint32_t lines, bool parallel, const bench_load *load);

#ifdef __cplusplus
}
#endif
#endif // WEIR_BENCH_PIPELINE_PEER_H
