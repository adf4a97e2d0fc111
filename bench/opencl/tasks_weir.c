// SPDX-License-Identifier: Apache-2.0
//
// Tasks by Weir.
#include <stdio.h>

#include "tasks.h"
#include "weir/opencl.h"

enum { CELL_BYTES = 256 };

static weir_status run(weir_context *context, const bench_work *work, uint32_t values[CELLS],
                       bench_result *out_result) {
  weir_kernel *kernel = NULL;
  weir_buffer *cells[CELLS];
  const weir_opencl_code code = {.source = bench_source};
  weir_status status = weir_kernel_create(context, "work", &kernel);
  if (status == WEIR_OK) status = weir_kernel_set_opencl(kernel, &code, &(weir_opencl_launch){.entry = "work"});
  for (uint32_t i = 0; i < CELLS && status == WEIR_OK; i++) {
    status = weir_buffer_create(context, CELL_BYTES, &cells[i]);
    if (status == WEIR_OK) status = weir_fill(cells[i], 0, WEIR_WHOLE, 0, NULL);
  }
  if (status == WEIR_OK) status = weir_finish(context);
  bench_clocks clocks = bench_start();
  for (uint32_t i = 0; i < work->count && status == WEIR_OK; i++) {
    const bench_task *task = &work->tasks[i];
    const weir_arg args[] = {weir_updates(cells[task->write]), weir_reads(cells[task->reads[0]]),
                             weir_reads(cells[task->reads[1]]), weir_value(&i, sizeof i),
                             weir_value(&work->rounds, sizeof work->rounds)};
    status = weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 5}, NULL);
  }
  bench_submitted(&clocks, out_result);
  if (status == WEIR_OK) status = weir_finish(context);
  bench_done(&clocks, out_result);
  for (uint32_t i = 0; i < CELLS && status == WEIR_OK; i++) status = weir_copy_out(cells[i], 0, 4, &values[i], NULL);
  return status == WEIR_OK ? weir_finish(context) : status;
}

bool bench_weir(uint32_t device, const bench_work *work, const bench_way *way, bench_result *out_result) {
  char name[64];
  uint32_t values[CELLS];
  snprintf(name, sizeof name, "opencl:%u", device);
  weir_context *context;
  const weir_context_options options = {
      .devices = name, .queues = way->queues, .window = BENCH_WINDOW, .flags = way->profiling ? WEIR_CONTEXT_TRACE : 0};
  weir_status status = weir_context_create(&options, &context);
  if (status == WEIR_OK) status = run(context, work, values, out_result);
  if (status != WEIR_OK) fprintf(stderr, "weir-bench-opencl: %s: %s\n", way->name, weir_last_error());
  weir_context_release(context);
  return status == WEIR_OK && bench_check(work, values, way->name);
}
