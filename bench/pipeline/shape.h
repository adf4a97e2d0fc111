// SPDX-License-Identifier: Apache-2.0
//
// Building and freeing shapes of jobs (job.h). Functions that add return the number of what they added. Running out of memory or
// of room is noted in the builder and told by job_shape_built.
#ifndef WEIR_BENCH_PIPELINE_SHAPE_H
#define WEIR_BENCH_PIPELINE_SHAPE_H

#include "job.h"

typedef struct job_builder {
  job_shape shape;
  uint32_t room;
  bool failed;
} job_builder;

static inline job_arg job_reads(uint32_t buffer) {
  return (job_arg){.buffer = buffer, .mode = WEIR_READ};
}
static inline job_arg job_writes(uint32_t buffer) {
  return (job_arg){.buffer = buffer, .mode = WEIR_WRITE};
}
static inline job_arg job_updates(uint32_t buffer) {
  return (job_arg){.buffer = buffer, .mode = WEIR_READ_WRITE};
}
job_arg job_int(int32_t value);

uint32_t job_add_buffer(job_builder *builder, uint64_t bytes);

// A buffer with host memory of its size that is copied to it, or to which the buffer is copied at the point of this call.
uint32_t job_add_input(job_builder *builder, uint64_t bytes);
uint32_t job_add_result(job_builder *builder, uint32_t buffer);

void job_add_kernel(job_builder *builder, const weir_kernel_code *code, uint32_t groups_x, uint32_t groups_y,
                    const job_arg *args, uint32_t arg_count);
#define JOB_KERNEL_ARGS(...)                                                                                           \
  (const job_arg[]){__VA_ARGS__}, (uint32_t)(sizeof((const job_arg[]){__VA_ARGS__}) / sizeof(job_arg))

// Hands the shape over, to be freed with job_shape_free. false: no memory, or no room; then all is freed.
bool job_shape_built(job_builder *builder, job_shape *out_shape);
void job_shape_free(job_shape *shape);

// Whether the host memory is one that results are copied to.
bool job_is_result(const job_shape *shape, uint32_t host);

// The row of a table of sizes, by kind of device and time: 0 for about 10 us, 1 for 100 us, 2 for 1 ms.
uint32_t job_size_index(uint64_t kernels_ns);
// 0 for "cpu", 1 for "opencl", 2 for "cuda"; others as the CPU.
uint32_t job_kind_index(const char *kind);
enum { JOB_KINDS = 3, JOB_SIZES = 3 };

// The next number of a sequence that depends on the seed only; never start at 0.
static inline uint32_t job_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (uint32_t)(*state >> 32);
}
static inline uint64_t job_seed(uint32_t variant) {
  return 0x9e3779b97f4a7c15u * (variant + 1);
}

#endif // WEIR_BENCH_PIPELINE_SHAPE_H
