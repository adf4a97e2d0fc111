// SPDX-License-Identifier: Apache-2.0
//
// The work of the `overhead` and `submit` benchmarks, the same for every runtime: cells of 8 bytes, a pseudo-random
// sequence of tasks that read two of 64 cells and write a third, and the arithmetic of one task.
//
// A task does next to nothing, but what it does depends on its number and on the order of its operands, so that the
// final cells equal those of serial execution only if every task ran once and every hazard was honoured. This costs
// 1-2 ns and is part of the timed task, for all runtimes alike.
#ifndef WEIR_BENCH_COMMON_PATTERN_H
#define WEIR_BENCH_COMMON_PATTERN_H

#include <stdint.h>

enum { WEIR__BENCH_CELLS = 64, WEIR__BENCH_SEED = 20240 };

// What one task of the random sequence accesses: three different cells.
typedef struct weir__bench_access {
  uint8_t read[2], write;
} weir__bench_access;

// splitmix64: the next number of the sequence that `state` stands for.
static inline uint64_t weir__bench_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Fills `accesses` with the first `count` tasks of the sequence of `seed`.
static inline void weir__bench_sequence(uint64_t seed, weir__bench_access *accesses, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bits = weir__bench_random(&seed);
    uint8_t first = (uint8_t)(bits % WEIR__BENCH_CELLS);
    uint8_t second = (uint8_t)((first + 1 + (bits >> 8) % (WEIR__BENCH_CELLS - 1)) % WEIR__BENCH_CELLS);
    uint8_t third = (uint8_t)((bits >> 16) % WEIR__BENCH_CELLS);
    while (third == first || third == second) third = (uint8_t)((third + 1) % WEIR__BENCH_CELLS);
    accesses[i].read[0] = first;
    accesses[i].read[1] = second;
    accesses[i].write = third;
  }
}

// What a task computes: neither commutative nor associative, and different for each task number.
static inline uint64_t weir__bench_mix(uint64_t first, uint64_t second, uint64_t number) {
  return (first * 0x9E3779B97F4A7C15u) ^ ((second << 23) | (second >> 41)) ^ (number + (first >> 7));
}

#endif // WEIR_BENCH_COMMON_PATTERN_H
