// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-weir: Weir in the benchmarks, through its public interface only. Besides the cases of all runtimes:
//
// weir-bench-weir submit CASE [--tasks N] [--repeat N]: "renaming", "no renaming", "many", "prepared",
// "prepared many", "bare lists"
// weir-bench-weir forms CASE [--tasks N] [--passes N] [--device NAME]: "submit", "many", "prepared", "prepared many",
// "trace cache", "recorded graph"
// weir-bench-weir ranges live [--segments N] [--tasks N] [--repeat N]
// weir-bench-weir ranges ahead [--tasks N] [--repeat N] [--variant no-rename]
// weir-bench-weir tiles wavefront|stencil [--side N] [--passes N] [--repeat N]
// weir-bench-weir wait US [--way event|finish|read] [--device NAME] [--tasks N] [--busy 1]
#ifndef WEIR_BENCH_WEIR_WEIR_BENCH_H
#define WEIR_BENCH_WEIR_WEIR_BENCH_H

#include "runtime.h"
#include "weir/weir.h"

extern const weir__bench_runtime weir__bench_weir;

int weir__bench_submit_main(int argc, char **argv);
int weir__bench_ranges_main(int argc, char **argv);
int weir__bench_forms_main(int argc, char **argv);
int weir__bench_tiles_main(int argc, char **argv);
int weir__bench_wait_main(int argc, char **argv);

// Ends the program with Weir's error text unless `status` is WEIR_OK.
void weir__bench_require(weir_status status);

// Creates a context on `devices`, and in it WEIR__BENCH_CELLS buffers of 8 bytes, or ends the program.
weir_context *weir__bench_context(const char *devices, uint32_t window, bool renaming);
void weir__bench_buffers(weir_context *context, weir_buffer **out_buffers);

// Submits tasks of a random sequence, from number `first` on: one by one, 100 by one call, and the same of a prepared task.
typedef void (*weir__bench_submission)(weir_context *context, weir_kernel *kernel, weir_buffer *const *cells,
                                       const weir__bench_access *accesses, uint64_t first, uint64_t count);
void weir__bench_submit_random(weir_context *context, weir_kernel *kernel, weir_buffer *const *cells,
                               const weir__bench_access *accesses, uint64_t first, uint64_t count);
void weir__bench_submit_many(weir_context *context, weir_kernel *kernel, weir_buffer *const *cells,
                             const weir__bench_access *accesses, uint64_t first, uint64_t count);
void weir__bench_submit_prepared(weir_context *context, weir_kernel *kernel, weir_buffer *const *cells,
                                 const weir__bench_access *accesses, uint64_t first, uint64_t count);
void weir__bench_submit_prepared_many(weir_context *context, weir_kernel *kernel, weir_buffer *const *cells,
                                      const weir__bench_access *accesses, uint64_t first, uint64_t count);

// The kernel of these tasks, for the CPU.
void weir__bench_random_task(const weir_work *work);

#endif // WEIR_BENCH_WEIR_WEIR_BENCH_H
