// SPDX-License-Identifier: Apache-2.0
//
// A pipeline is made from options, and goes.
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/structs.h"
#include "base/tsan.h"
#include "pipeline/job.h"

enum {
  STAGE_FLAGS = WEIR_STAGE_PARALLEL | WEIR_STAGE_AWAIT | WEIR_STAGE_GRAPH,
  FLAGS = WEIR_PIPELINE_UNORDERED | WEIR_PIPELINE_STOP_ON_FAILURE | WEIR_PIPELINE_TIMES,
};

// ---------------------------------------------------------------------------------------------------------------
// Checks

static weir_status check_stage(const weir_context *context, const weir_stage *stage, uint32_t index) {
  const char *why = NULL;
  if (stage->function == NULL) why = "it has no function";
  if (stage->flags & ~(uint32_t)STAGE_FLAGS) why = "its flags are unknown";
  if (index == 0 && (stage->flags & WEIR_STAGE_PARALLEL)) why = "the first stage must be serial";
  if (stage->device != NULL && stage->device->host != &context->host) why = "its device is another context's";
  if (weir__sets_reserved(stage->reserved)) why = WEIR__RESERVED_TEXT;
  if (why == NULL) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "pipeline create: stage %u '%.40s': %s", index,
                     stage->name == NULL ? "" : stage->name, why);
}

static weir_status check_number(const char *what, uint32_t number, uint32_t least, uint32_t most) {
  if (number >= least && number <= most) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "pipeline create: %u %s; %u to %u are possible", number, what, least,
                     most);
}

static weir_status check(const weir_context *context, const weir_pipeline_options *options) {
  weir_status status = check_number("stages", options->stage_count, 1, WEIR_PIPELINE_MOST_STAGES);
  if (status == WEIR_OK) status = check_number("lines", options->lines, 1, WEIR_PIPELINE_MOST_LINES);
  if (status == WEIR_OK) status = check_number("threads", options->threads, 0, WEIR_PIPELINE_MOST_THREADS);
  if (status == WEIR_OK && options->stages == NULL)
    status = weir__error(WEIR_ERROR_INVALID_ARGUMENT, "pipeline create: the stages are NULL");
  if (status == WEIR_OK && (options->flags & ~(uint32_t)FLAGS))
    status = weir__error(WEIR_ERROR_INVALID_ARGUMENT, "pipeline create: unknown flags 0x%x", options->flags);
  for (uint32_t i = 0; status == WEIR_OK && i < options->stage_count; i++)
    status = check_stage(context, &options->stages[i], i);
  return status;
}

// ---------------------------------------------------------------------------------------------------------------
// Parts

static weir_status no_memory(void) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "pipeline create: no memory");
}

// Gives a stage its counters, of which the first token's has its turn.
static void make_serial(weir_pipeline *pipeline, uint32_t stage) {
  pipeline->stages[stage].joins = pipeline->joins + (size_t)stage * (pipeline->join_mask + 1);
  atomic_store_explicit(&pipeline->stages[stage].joins[0].count, 1, memory_order_relaxed);
}

static void make_stages(weir_pipeline *pipeline, const weir_pipeline_options *options) {
  for (uint32_t i = 0; i < options->stage_count; i++) {
    const weir_stage *from = &options->stages[i];
    weir__pipeline_stage *stage = &pipeline->stages[i];
    stage->function = from->function;
    stage->user = from->user;
    stage->device = from->device;
    stage->awaits = (from->flags & WEIR_STAGE_AWAIT) != 0;
    stage->job = (from->flags & WEIR_STAGE_GRAPH) != 0;
    snprintf(stage->name, sizeof stage->name, "%s", from->name == NULL ? "" : from->name);
    if (i > 0 && !(from->flags & WEIR_STAGE_PARALLEL)) make_serial(pipeline, i);
  }
  pipeline->last = options->stage_count - 1;
  if (options->deliver == NULL) return;
  pipeline->last = options->stage_count;
  pipeline->stages[pipeline->last].user = options->user;
  snprintf(pipeline->stages[pipeline->last].name, WEIR__STAGE_NAME, "deliver");
  if (!(options->flags & WEIR_PIPELINE_UNORDERED)) make_serial(pipeline, pipeline->last);
}

// The text of a failure is that of a call that failed in the function, if there was one.
static weir_status open_line(weir__pipeline_line *line, const weir_pipeline_options *options) {
  weir__kept_error before;
  weir__error_keep(&before);
  uint32_t index = line->token.line;
  weir_status status = options->open_line(options->user, index, &line->token.line_state);
  if (status == WEIR_OK) return WEIR_OK;
  if (strcmp(weir_last_error(), before.text) == 0)
    return weir__error(status, "pipeline create: open_line of line %u: %s", index, weir_status_text(status));
  char prefix[64];
  snprintf(prefix, sizeof prefix, "pipeline create: open_line of line %u: ", index);
  return weir__error_prefix(status, prefix);
}

static weir_status open_lines(weir_pipeline *pipeline, const weir_pipeline_options *options) {
  for (uint32_t i = 0; i < pipeline->line_count; i++) {
    weir__pipeline_line *line = &pipeline->lines[i];
    line->pipeline = line->token.pipeline = pipeline;
    line->token.line = i;
    atomic_store_explicit(&line->pending, 1, memory_order_relaxed);
    if (options->open_line != NULL) {
      weir_status status = open_line(line, options);
      if (status != WEIR_OK) return status;
    }
    pipeline->opened++;
  }
  return WEIR_OK;
}

static uint32_t usual_threads(uint32_t lines) {
  uint32_t cores = weir__machine_cores();
  return cores < lines ? cores : lines;
}

static weir_status start_threads(weir_pipeline *pipeline) {
  for (uint32_t i = 0; i < pipeline->thread_count; i++) {
    weir__pipeline_thread *thread = &pipeline->threads[i];
    thread->pipeline = pipeline;
    thread->random.state = (pipeline->context->host.seed + i + 1) * 0x9e3779b97f4a7c15ull | 1;
    if (pipeline->context->devices.cpu != NULL) {
      thread->guest =
          weir__cpu_guest_create((weir__cpu *)pipeline->context->devices.cpu, pipeline->context->host.seed + i);
      if (thread->guest == NULL) return no_memory();
    }
    int error =
        weir__allocate_permit() ? weir__thread_create(&thread->thread, weir__pipeline_thread_main, thread) : EAGAIN;
    if (error != 0)
      return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "pipeline create: thread %u of %u cannot be started: %s", i,
                         pipeline->thread_count, strerror(error));
    thread->started = true;
  }
  return WEIR_OK;
}

static weir_status initialize(weir_pipeline *pipeline, const weir_pipeline_options *options) {
  uint32_t slots = 1;
  while (slots < options->lines) slots *= 2;
  pipeline->flags = options->flags;
  if (pipeline->context->host.trace != NULL) pipeline->flags |= WEIR_PIPELINE_TIMES;
  pipeline->stage_count = options->stage_count;
  pipeline->line_count = options->lines;
  pipeline->thread_count = options->threads != 0 ? options->threads : usual_threads(options->lines);
  // A seed, for tests, brings lookouts everywhere.
  const weir_context *context = pipeline->context;
  pipeline->looks_out =
      context->host.spin_ns > 0 && (context->host.seed != 0 ? context->host.seed % 2 == 1 : !context->host.crowded);
  pipeline->join_mask = slots - 1;
  pipeline->all_lines = (1ull << options->lines) - 1;
  pipeline->deliver = options->deliver;
  pipeline->close_line = options->close_line;
  pipeline->user = options->user;
  pipeline->stages = weir__allocate_zeroed((options->stage_count + 1) * sizeof *pipeline->stages);
  pipeline->joins = weir__allocate_zeroed((size_t)(options->stage_count + 1) * slots * sizeof *pipeline->joins);
  pipeline->lines = weir__allocate_zeroed(options->lines * sizeof *pipeline->lines);
  pipeline->threads = weir__allocate_zeroed(pipeline->thread_count * sizeof *pipeline->threads);
  if (pipeline->flags & WEIR_PIPELINE_TIMES) {
    pipeline->latencies = weir__allocate_zeroed(WEIR_PIPELINE_LATENCIES * sizeof *pipeline->latencies);
    if (pipeline->latencies == NULL) return no_memory();
  }
  if (pipeline->stages == NULL || pipeline->joins == NULL || pipeline->lines == NULL || pipeline->threads == NULL)
    return no_memory();
  make_stages(pipeline, options);
  if (!weir__jobs_create(pipeline)) return no_memory();
  weir_status status = open_lines(pipeline, options);
  if (status == WEIR_OK) weir__pipeline_trace_open(pipeline);
  return status == WEIR_OK ? start_threads(pipeline) : status;
}

static void destroy(weir_pipeline *pipeline) {
  atomic_store_explicit(&pipeline->quit, true, memory_order_seq_cst);
  atomic_fetch_add_explicit(&pipeline->epoch, 1, memory_order_seq_cst);
  weir__wake(&pipeline->epoch, INT32_MAX);
  for (uint32_t i = 0; pipeline->threads != NULL && i < pipeline->thread_count; i++) {
    if (pipeline->threads[i].started) pthread_join(pipeline->threads[i].thread, NULL);
    weir__free(pipeline->threads[i].guest);
  }
  while (atomic_load_explicit(&pipeline->in_callbacks, memory_order_acquire) > 0) sched_yield();
  for (uint32_t i = 0; i < pipeline->opened; i++) {
    weir__pipeline_line *line = &pipeline->lines[i];
    if (pipeline->close_line != NULL) pipeline->close_line(pipeline->user, i, line->token.line_state);
    weir__line_free_awaits(line);
  }
  weir__jobs_destroy(pipeline);
  weir__pipeline_trace_close(pipeline);
  weir__free(pipeline->latencies);
  weir__free(pipeline->threads);
  weir__free(pipeline->lines);
  weir__free(pipeline->joins);
  weir__free(pipeline->stages);
  weir__free(pipeline);
}

// ---------------------------------------------------------------------------------------------------------------
// The API

static void stop_and_destroy(weir_pipeline *pipeline) {
  weir_pipeline_cancel(pipeline);
  while (atomic_load_explicit(&pipeline->running, memory_order_acquire) != 0)
    weir__sleep_on(&pipeline->running, 1, UINT64_MAX);
  weir__tsan_acquire(&pipeline->calls);
  destroy(pipeline);
}

static void close_with_context(weir__closer *closer) {
  stop_and_destroy((weir_pipeline *)(void *)((char *)closer - offsetof(weir_pipeline, closer)));
}

weir_status weir_pipeline_create_sized(weir_context *context, const weir_pipeline_options *given, size_t options_size,
                                       weir_pipeline **out_pipeline) {
  if (out_pipeline == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "pipeline create: out_pipeline is NULL");
  *out_pipeline = NULL;
  if (context == NULL || given == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "pipeline create: the %s NULL",
                       context == NULL ? "context is" : "options are");
  weir_pipeline_options options;
  weir_status status = weir__struct_take(&options, sizeof options, given, options_size, "pipeline create");
  if (status == WEIR_OK) status = check(context, &options);
  if (status != WEIR_OK) return status;
  weir_pipeline *pipeline = weir__allocate_zeroed(sizeof *pipeline);
  if (pipeline == NULL) return no_memory();
  pipeline->context = context;
  weir__lock_ignores(&pipeline->lock);
  status = initialize(pipeline, &options);
  if (status != WEIR_OK) {
    destroy(pipeline);
    return status;
  }
  weir__context_lock(context);
  pipeline->closer = (weir__closer){.next = context->closers, .close = close_with_context};
  context->closers = &pipeline->closer;
  weir__context_unlock(context);
  *out_pipeline = pipeline;
  return WEIR_OK;
}

weir_status weir_pipeline_release(weir_pipeline *pipeline) {
  if (pipeline == NULL) return WEIR_OK;
  weir_status status = weir__pipeline_check_waiter(pipeline, "pipeline release");
  if (status != WEIR_OK) return status;
  weir_context *context = pipeline->context;
  weir__context_lock(context);
  for (weir__closer **link = &context->closers; *link != NULL; link = &(*link)->next) {
    if (*link != &pipeline->closer) continue;
    *link = pipeline->closer.next;
    break;
  }
  weir__context_unlock(context);
  stop_and_destroy(pipeline);
  return WEIR_OK;
}
