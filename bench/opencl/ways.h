// SPDX-License-Identifier: Apache-2.0
//
// A random sequence of tasks, and ways to give it to an OpenCL device.
#ifndef WEIR_BENCH_OPENCL_WAYS_H
#define WEIR_BENCH_OPENCL_WAYS_H

#include <stdint.h>

enum { CELLS = 64 };

// Task i reads cells reads[0] and reads[1] and updates cell `write`.
typedef struct bench_task {
  uint32_t reads[2], write;
} bench_task;

typedef struct bench_work {
  const bench_task *tasks;
  uint32_t count;
  uint32_t rounds;          // how long each task counts
  const uint32_t *expected; // the cells afterwards
} bench_work;

typedef struct bench_result {
  double submit_us, total_us; // until all were handed over; until all were done
} bench_result;

// What the cell becomes.
static inline uint32_t bench_mix(uint32_t a, uint32_t b, uint32_t old, uint32_t number) {
  return (a * 31 + b) * 17 + old * 7 + number;
}

// `queues` in-order queues (1: no events), or 0: one out-of-order queue with event lists; tasks go to queues in turn. False: it
// failed, and why was printed.
int bench_raw(const char *device, const bench_work *work, uint32_t queues, bench_result *out_result);

int bench_weir(const char *device, const bench_work *work, uint32_t queues, bench_result *out_result);

#endif // WEIR_BENCH_OPENCL_WAYS_H
