// SPDX-License-Identifier: Apache-2.0
//
// Pipelines are started, stopped, waited for.
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/process.h"
#include "pipeline/pipeline.h"

static weir_status is_null(const char *what) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the pipeline is NULL", what);
}

weir_status weir__pipeline_check_waiter(const weir_pipeline *pipeline, const char *what) {
  weir_status status = weir__check_waiter(pipeline->context, what);
  if (status != WEIR_OK) return status;
  const weir__pipeline_line *line = weir__pipeline_line_now();
  if (line != NULL && line->pipeline == pipeline)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: called from a stage of this pipeline", what);
  return WEIR_OK;
}

weir_status weir_pipeline_start(weir_pipeline *pipeline) {
  if (pipeline == NULL) return is_null("pipeline start");
  if (weir__is_foreign(pipeline->context)) return weir__refuse_foreign("pipeline start");
  weir__lock_acquire(&pipeline->lock);
  bool runs = atomic_load_explicit(&pipeline->running, memory_order_acquire) != 0;
  if (!runs) {
    uint64_t now = weir__clock_ns(), ended = 0;
    for (uint32_t i = 0; i < pipeline->line_count; i++) {
      weir__pipeline_line *line = &pipeline->lines[i];
      line->since_ns = now;
      if (pipeline->trace != NULL) weir__line_trace_start(line, now);
      ended += atomic_load_explicit(&line->delivered, memory_order_relaxed) +
               atomic_load_explicit(&line->failed, memory_order_relaxed) +
               atomic_load_explicit(&line->dropped_count, memory_order_relaxed);
    }
    atomic_store_explicit(&pipeline->ended_before, ended, memory_order_relaxed);
    atomic_store_explicit(&pipeline->start_ns, now, memory_order_relaxed);
    atomic_store_explicit(&pipeline->control, 0, memory_order_relaxed);
    atomic_store_explicit(&pipeline->closed, false, memory_order_relaxed);
    atomic_store_explicit(&pipeline->free_lines, pipeline->all_lines, memory_order_relaxed);
    weir__tsan_release(&pipeline->starts);
    atomic_store_explicit(&pipeline->running, 1, memory_order_release);
    weir__pipeline_prewake(pipeline);
    weir__pipeline_publish(pipeline, WEIR__ITEM_SOURCE);
  }
  weir__lock_release(&pipeline->lock);
  if (runs) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "pipeline start: it runs");
  return WEIR_OK;
}

static weir_status stop(weir_pipeline *pipeline, uint32_t how) {
  atomic_fetch_or_explicit(&pipeline->control, how, memory_order_relaxed);
  return WEIR_OK;
}

weir_status weir_pipeline_stop(weir_pipeline *pipeline) {
  return pipeline == NULL ? is_null("pipeline stop") : stop(pipeline, WEIR__PIPELINE_STOPPED);
}

weir_status weir_pipeline_cancel(weir_pipeline *pipeline) {
  return pipeline == NULL ? is_null("pipeline cancel")
                          : stop(pipeline, WEIR__PIPELINE_STOPPED | WEIR__PIPELINE_CANCELLED);
}

bool weir_pipeline_stopping(const weir_pipeline *pipeline) {
  return pipeline != NULL && atomic_load_explicit(&pipeline->control, memory_order_relaxed) != 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Waiting

// Where the oldest token in flight is.
static weir_status tell_oldest(const weir_pipeline *pipeline) {
  static const char *const doing[WEIR__LINE_STATES] = {
      [WEIR__LINE_BUSY] = "is in",
      [WEIR__LINE_TURN] = "waits for its turn at",
      [WEIR__LINE_TASKS] = "waits for tasks after",
      [WEIR__LINE_READY] = "waits for a thread, at",
  };
  uint64_t oldest = UINT64_MAX;
  uint32_t on = 0;
  for (uint32_t i = 0; i < pipeline->line_count; i++) {
    uint64_t where = atomic_load_explicit(&pipeline->lines[i].where, memory_order_relaxed);
    if ((where & 0xff) == WEIR__LINE_FREE || where >> 16 >= oldest >> 16) continue;
    oldest = where;
    on = i;
  }
  if (oldest == UINT64_MAX) return weir__error(WEIR_TIMEOUT, "pipeline wait: time-out; no token is in flight");
  uint32_t stage = oldest >> 8 & 0xff;
  return weir__error(WEIR_TIMEOUT, "pipeline wait: time-out; token %llu on line %u %s stage %u '%s'",
                     (unsigned long long)(oldest >> 16), on, doing[oldest & 0xff], stage, pipeline->stages[stage].name);
}

static weir_status report_failure(weir_pipeline *pipeline) {
  weir__lock_acquire(&pipeline->lock);
  weir_status status = pipeline->first_failure;
  if (status != WEIR_OK) weir__error(status, "%s", pipeline->first_text);
  pipeline->first_failure = WEIR_OK;
  weir__lock_release(&pipeline->lock);
  return status;
}

weir_status weir_pipeline_wait(weir_pipeline *pipeline, uint64_t timeout_ns) {
  if (pipeline == NULL) return is_null("pipeline wait");
  weir_status status = weir__pipeline_check_waiter(pipeline, "pipeline wait");
  if (status != WEIR_OK) return status;
  uint64_t begin = weir__clock_ns();
  while (atomic_load_explicit(&pipeline->running, memory_order_acquire) != 0) {
    uint64_t passed = weir__clock_ns() - begin;
    if (timeout_ns != WEIR_FOREVER && passed >= timeout_ns) return tell_oldest(pipeline);
    weir__sleep_on(&pipeline->running, 1, timeout_ns == WEIR_FOREVER ? UINT64_MAX : timeout_ns - passed);
  }
  weir__tsan_acquire(&pipeline->calls);
  return report_failure(pipeline);
}

weir_status weir_pipeline_run(weir_pipeline *pipeline, uint64_t timeout_ns) {
  if (pipeline == NULL) return is_null("pipeline run");
  weir_status status = weir__pipeline_check_waiter(pipeline, "pipeline run");
  if (status == WEIR_OK) status = weir_pipeline_start(pipeline);
  return status == WEIR_OK ? weir_pipeline_wait(pipeline, timeout_ns) : status;
}
