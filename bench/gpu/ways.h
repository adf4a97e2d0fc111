// SPDX-License-Identifier: Apache-2.0
//
// What `--ways` measures: what the driver's calls cost, and ways to run a program that was never seen before.
#ifndef WEIR_BENCH_GPU_WAYS_H
#define WEIR_BENCH_GPU_WAYS_H

#include "streams.h"

void gpu_ways_graphs(uint32_t runs);                                                    // launches of graphs
void gpu_ways_costs(uint32_t runs);                                                     // one call after another
void gpu_ways_instantiate(const gpu_program *program);                                  // by several threads
void gpu_ways_pieces(const gpu_program *programs, uint32_t count, uint32_t runs);       // graphs one after another
void gpu_ways_cold(const gpu_program *programs, uint32_t count, uint32_t runs);         // the same, built as they come
void gpu_ways_refill(const gpu_program *programs, uint32_t count, uint32_t runs);       // the same with new parameters
void gpu_ways_passes(const gpu_program *programs, uint32_t count, uint32_t runs);       // passes that overlap
void gpu_ways_templates(const gpu_program *programs, uint32_t count, uint32_t runs);    // graphs that are refilled
void gpu_ways_threads(const gpu_program *programs, uint32_t count, uint32_t runs);      // launches by several threads
void gpu_ways_build_beside(const gpu_program *programs, uint32_t count, uint32_t runs); // graphs built by threads

// Runs `work(argument, index)` on `count` threads at once, each with the card's context; returns the time from when all
// were ready until the last one was done.
double gpu_on_threads(uint32_t count, void (*work)(void *argument, uint32_t index), void *argument);

void gpu_ways_open(void *context);

#endif // WEIR_BENCH_GPU_WAYS_H
