// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline did.
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/structs.h"
#include "pipeline/pipeline.h"

static uint64_t get(const _Atomic uint64_t *number) {
  return atomic_load_explicit(number, memory_order_relaxed);
}

static int compare(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static weir_status add_latencies(const weir_pipeline *pipeline, weir_pipeline_statistics *statistics) {
  uint64_t count = get(&pipeline->ended_count);
  if (pipeline->latencies == NULL || count == 0) return WEIR_OK;
  if (count > WEIR_PIPELINE_LATENCIES) count = WEIR_PIPELINE_LATENCIES;
  uint64_t *sorted = weir__allocate(count * sizeof *sorted);
  if (sorted == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "pipeline statistics: no memory");
  for (uint64_t i = 0; i < count; i++) sorted[i] = get(&pipeline->latencies[i]);
  qsort(sorted, count, sizeof *sorted, compare);
  statistics->latency_least_ns = sorted[0];
  statistics->latency_median_ns = sorted[(count - 1) / 2];
  statistics->latency_90_ns = sorted[(count - 1) * 90 / 100];
  statistics->latency_99_ns = sorted[(count - 1) * 99 / 100];
  statistics->latency_most_ns = sorted[count - 1];
  weir__free(sorted);
  return WEIR_OK;
}

static void add_lines(const weir_pipeline *pipeline, weir_pipeline_statistics *statistics) {
  statistics->line_count = pipeline->line_count;
  for (uint32_t i = 0; i < pipeline->line_count; i++) {
    const weir__pipeline_line *line = &pipeline->lines[i];
    uint64_t delivered = get(&line->delivered), failed = get(&line->failed), dropped = get(&line->dropped_count);
    statistics->delivered += delivered;
    statistics->failed += failed;
    statistics->dropped += dropped;
    statistics->graph_jobs += get(&line->graph_jobs);
    statistics->task_jobs += get(&line->task_jobs);
    statistics->lines[i] = (weir_pipeline_line){.tokens = delivered + failed + dropped,
                                                .busy_ns = get(&line->state_ns[WEIR__LINE_BUSY]),
                                                .input_ns = get(&line->state_ns[WEIR__LINE_FREE]),
                                                .turn_ns = get(&line->state_ns[WEIR__LINE_TURN]),
                                                .tasks_ns = get(&line->state_ns[WEIR__LINE_TASKS]),
                                                .thread_ns = get(&line->state_ns[WEIR__LINE_READY])};
  }
}

weir_status weir_pipeline_get_statistics_sized(weir_pipeline *pipeline, weir_pipeline_statistics *out_statistics,
                                               size_t statistics_size) {
  weir_pipeline_statistics statistics = {0};
  if (out_statistics != NULL) weir__struct_give(out_statistics, statistics_size, &statistics, sizeof statistics);
  if (out_statistics == NULL || pipeline == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "pipeline statistics: the %s NULL",
                       pipeline == NULL ? "pipeline is" : "statistics are");
  weir__lock_acquire(&pipeline->lock); // no run begins meanwhile
  bool runs = atomic_load_explicit(&pipeline->running, memory_order_acquire) != 0;
  add_lines(pipeline, &statistics);
  uint64_t ended = statistics.delivered + statistics.failed + statistics.dropped;
  statistics.tokens = get(&pipeline->next_number);
  if (statistics.tokens < ended) statistics.tokens = ended; // they change while they are read
  statistics.in_flight = (uint32_t)(statistics.tokens - ended);
  if (statistics.in_flight > pipeline->line_count) statistics.in_flight = pipeline->line_count;
  statistics.run_ns = (runs ? weir__clock_ns() : get(&pipeline->end_ns)) - get(&pipeline->start_ns);
  if (statistics.run_ns > 0)
    statistics.per_second = (double)(ended - get(&pipeline->ended_before)) * 1e9 / (double)statistics.run_ns;
  weir__lock_release(&pipeline->lock);
  weir_status status = add_latencies(pipeline, &statistics);
  if (status == WEIR_OK) weir__struct_give(out_statistics, statistics_size, &statistics, sizeof statistics);
  return status;
}
