// SPDX-License-Identifier: Apache-2.0
//
// A plan as command buffers and submissions: a batch ends where a queue signals, waits, or has enough dispatches.
#ifndef WEIR_BENCH_GPU_VULKAN_BATCHES_H
#define WEIR_BENCH_GPU_VULKAN_BATCHES_H

#include "vulkan_program.h"

typedef struct vulkan_batches vulkan_batches;

typedef enum vulkan_pass {
  VULKAN_AS_BUILT,     // what vulkan_batches_record() recorded last; one vkQueueSubmit for each queue
  VULKAN_BATCH_A_CALL, // the same, one vkQueueSubmit for each batch, in the order of the plan
  VULKAN_RECORD_FIRST, // records all, then submits it as in the first kind
  VULKAN_AS_RECORDED,  // records, and submits each batch as soon as it is recorded
} vulkan_pass;

// `chunk`: most dispatches in a batch; 0: any number. `program` and `plan` must outlive the batches.
vulkan_batches *vulkan_batches_create(const vulkan_program *program, const weir__barrier_plan *plan,
                                      const vulkan_family *family, uint32_t chunk);
void vulkan_batches_destroy(vulkan_batches *batches);

// Records all command buffers anew. None of them may be in flight.
void vulkan_batches_record(vulkan_batches *batches);

// Runs the program once, until the host has seen that it is done: microseconds.
double vulkan_batches_run(vulkan_batches *batches, vulkan_pass pass);

uint32_t vulkan_batches_count(const vulkan_batches *batches);

#endif // WEIR_BENCH_GPU_VULKAN_BATCHES_H
