// SPDX-License-Identifier: Apache-2.0
//
// The forms of submission, each with the same random sequence of tasks.
#include "weir/batch.h"
#include "weir_bench.h"

enum { AT_ONCE = 100 };

void weir__bench_submit_random(weir_context *owner, weir_kernel *kernel, weir_buffer *const *cells,
                               const weir__bench_access *accesses, uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; i++) {
    const weir_arg args[] = {weir_reads(cells[accesses[i].read[0]]), weir_reads(cells[accesses[i].read[1]]),
                             weir_writes(cells[accesses[i].write])};
    const weir_task task = {.kernel = kernel, .user = (void *)(uintptr_t)i, .args = args, .arg_count = 3};
    weir__bench_require(weir_submit(owner, &task, NULL));
  }
}

void weir__bench_submit_many(weir_context *context, weir_kernel *kernel, weir_buffer *const *cells,
                             const weir__bench_access *accesses, uint64_t first, uint64_t count) {
  weir_arg args[AT_ONCE][3];
  weir_task tasks[AT_ONCE];
  for (uint64_t i = first; i < first + count; i += AT_ONCE) {
    uint64_t here = first + count - i < AT_ONCE ? first + count - i : AT_ONCE;
    for (uint64_t k = 0; k < here; k++) {
      args[k][0] = weir_reads(cells[accesses[i + k].read[0]]);
      args[k][1] = weir_reads(cells[accesses[i + k].read[1]]);
      args[k][2] = weir_writes(cells[accesses[i + k].write]);
      tasks[k] = (weir_task){.kernel = kernel, .user = (void *)(uintptr_t)(i + k), .args = args[k], .arg_count = 3};
    }
    weir__bench_require(weir_submit_many(context, tasks, here, NULL, NULL));
  }
}

static weir_prepared *prepare(weir_context *context, weir_kernel *kernel) {
  weir_prepared *prepared = NULL;
  const weir_arg args[] = {weir_reads(NULL), weir_reads(NULL), weir_writes(NULL)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 3};
  weir__bench_require(weir_prepare(context, &task, &prepared));
  return prepared;
}

void weir__bench_submit_prepared(weir_context *context, weir_kernel *kernel, weir_buffer *const *cells,
                                 const weir__bench_access *accesses, uint64_t first, uint64_t count) {
  weir_prepared *prepared = prepare(context, kernel);
  for (uint64_t i = first; i < first + count; i++) {
    weir_buffer *const named[] = {cells[accesses[i].read[0]], cells[accesses[i].read[1]], cells[accesses[i].write]};
    weir__bench_require(weir_prepared_submit(prepared, named, NULL, NULL));
  }
  weir__bench_require(weir_prepared_release(prepared));
}

void weir__bench_submit_prepared_many(weir_context *context, weir_kernel *kernel, weir_buffer *const *cells,
                                      const weir__bench_access *accesses, uint64_t first, uint64_t count) {
  weir_prepared *prepared = prepare(context, kernel);
  weir_buffer *named[3 * AT_ONCE];
  for (uint64_t i = first; i < first + count; i += AT_ONCE) {
    uint64_t here = first + count - i < AT_ONCE ? first + count - i : AT_ONCE;
    for (uint64_t k = 0; k < here; k++) {
      named[3 * k] = cells[accesses[i + k].read[0]];
      named[3 * k + 1] = cells[accesses[i + k].read[1]];
      named[3 * k + 2] = cells[accesses[i + k].write];
    }
    weir__bench_require(weir_prepared_submit_many(prepared, named, NULL, here, NULL, NULL));
  }
  weir__bench_require(weir_prepared_release(prepared));
}
