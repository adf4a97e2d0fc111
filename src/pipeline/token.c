// SPDX-License-Identifier: Apache-2.0
//
// What a stage can do with its token.
#include <stdio.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/structs.h"
#include "engine/submit.h"
#include "engine/watch.h"
#include "graph/flight.h"
#include "pipeline/job.h"

enum {
  JOB_HERE_NS =
      200000, // of a job that a thread runs by itself, at most; it holds up the stages that are ready meanwhile
  TASK_HERE_NS = 1000, // of a task: about what handing it to a worker takes
};

// The line of a token that this thread is in a stage for; NULL: it is not, and the error is set.
static weir__pipeline_line *line_of(weir_token *token, const char *what) {
  weir__pipeline_line *line = weir__pipeline_line_now();
  if (line != NULL && token == &line->token && line->in_stage) return line;
  weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: called with a token that this thread is not in a stage for", what);
  return NULL;
}

weir_status weir_token_fail(weir_token *token, weir_status status, const char *message) {
  weir__pipeline_line *line = line_of(token, "token fail");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  if (weir__is_no_failure(status)) status = WEIR_ERROR_TASK_FAILED;
  weir__line_fail(line, line->stage, status, message);
  return status;
}

weir_status weir_token_end_input(weir_token *token) {
  weir__pipeline_line *line = line_of(token, "token end input");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  if (line->stage != 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "token end input: token %llu is in stage %u; only the first can end the input",
                       (unsigned long long)token->number, line->stage);
  line->ended = true;
  return WEIR_OK;
}

weir_status weir_token_skip_to(weir_token *token, uint32_t stage) {
  weir__pipeline_line *line = line_of(token, "token skip to");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  if (stage <= line->stage || stage > line->pipeline->stage_count)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "token skip to: stage %u is not in %u to %u, for token %llu", stage,
                       line->stage + 1, line->pipeline->stage_count, (unsigned long long)token->number);
  line->go_to = stage;
  return WEIR_OK;
}

weir_status weir_token_drop(weir_token *token) {
  weir__pipeline_line *line = line_of(token, "token drop");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  line->go_to = line->pipeline->stage_count;
  line->dropped = true;
  return WEIR_OK;
}

// ---------------------------------------------------------------------------------------------------------------
// Tasks

// Records stay until all that the token awaits is done. NULL: no memory.
static weir__await *take_await(weir__pipeline_line *line) {
  weir__await_chunk *chunk = line->chunk;
  if (chunk == NULL || line->chunk_used == WEIR__AWAITS_AT_ONCE) {
    weir__await_chunk *next = chunk != NULL ? chunk->next : NULL;
    if (next == NULL) {
      next = weir__allocate(sizeof *next);
      if (next == NULL) return NULL;
      next->next = NULL;
      if (chunk == NULL)
        line->chunks = next;
      else
        chunk->next = next;
    }
    line->chunk = chunk = next;
    line->chunk_used = 0;
  }
  return &chunk->awaits[line->chunk_used++];
}

void weir__line_free_awaits(weir__pipeline_line *line) {
  while (line->chunks != NULL) {
    weir__await_chunk *chunk = line->chunks;
    line->chunks = chunk->next;
    weir__free(chunk);
  }
}

// Keeps the first failure of what a token awaits. Callbacks of events and of tasks may come at the same time: the lock is held.
static void note_failure(const weir__await *await, weir_status status) {
  weir__pipeline_line *line = await->line;
  if (line->task_status != WEIR_OK) return;
  line->task_status = status;
  line->task_stage = await->stage;
  snprintf(line->task_text, sizeof line->task_text, "%.*s", WEIR__TOKEN_TEXT - 1, await->event->message);
}

// A task is done. `held`: the context's lock is held. Nothing of the pipeline's is touched after the last line.
static void end_await(weir__await *await, weir_status status, bool held) {
  weir__pipeline_line *line = await->line;
  weir_pipeline *pipeline = line->pipeline;
  atomic_fetch_add_explicit(&pipeline->in_callbacks, 1, memory_order_relaxed);
  if (status != WEIR_OK) {
    if (!held) weir__context_lock(pipeline->context);
    note_failure(await, status);
    if (!held) weir__context_unlock(pipeline->context);
  }
  weir__watch_pass(await->event->sync, &line->tasks);
  weir__watch_pass(await->event->sync, &pipeline->calls);
  if (atomic_fetch_sub_explicit(&line->pending, 1, memory_order_acq_rel) == 1) {
    weir__line_set(line, WEIR__LINE_READY);
    if (held)
      weir__pipeline_publish_held(pipeline, line->token.line);
    else
      weir__pipeline_publish(pipeline, line->token.line);
  }
  atomic_fetch_sub_explicit(&pipeline->in_callbacks, 1, memory_order_release);
}

static void on_event_done(void *await, weir_status status) {
  end_await(await, status, false);
}

static void on_task_done(void *await, weir_status status) {
  end_await(await, status, true);
}

weir_status weir__line_await(weir__pipeline_line *line, weir_event *event) {
  weir__await *await = take_await(line);
  if (await != NULL) {
    *await = (weir__await){.line = line, .event = event, .stage = line->stage};
    line->flushed = false;
    atomic_fetch_add_explicit(&line->pending, 1, memory_order_relaxed);
    weir_status status = weir_event_on_done(event, on_event_done, await);
    if (status == WEIR_OK) return WEIR_OK;
    atomic_fetch_sub_explicit(&line->pending, 1, memory_order_relaxed);
    if (status != WEIR_ERROR_OUT_OF_MEMORY) return status;
  }
  // There is no memory to be told when it is done: it is waited for here and now.
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  if (status != WEIR_OK) weir__line_fail(line, line->stage, status, weir_event_message(event));
  return WEIR_OK;
}

weir_status weir_token_await(weir_token *token, weir_event *event) {
  weir__pipeline_line *line = line_of(token, "token await");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  weir_status status = weir__object_check(event, WEIR__KIND_EVENT, line->pipeline->context, "token await");
  return status == WEIR_OK ? weir__line_await(line, event) : status;
}

// Nanoseconds of work that the thread runs by itself. A job, when its stage is over, where as many tokens are in flight as the CPU has
// workers, and others can call the stage meanwhile: it gains nothing elsewhere. Else what takes less than giving it away.
static uint64_t most_here(const weir__pipeline_line *line, const weir_device *cpu, bool is_job) {
  const weir_pipeline *pipeline = line->pipeline;
  bool spreads = line->stage > 0 && pipeline->stages[line->stage].joins == NULL && pipeline->thread_count >= cpu->lanes;
  uint64_t free_lines = atomic_load_explicit(&pipeline->free_lines, memory_order_relaxed) & pipeline->all_lines;
  uint32_t in_flight = pipeline->line_count - (uint32_t)__builtin_popcountll(free_lines);
  return is_job && spreads && in_flight >= cpu->lanes ? JOB_HERE_NS : TASK_HERE_NS;
}

// What the thread may run by itself of a submission that `await` stands for.
static weir__cpu_guest guest_of(const weir__pipeline_line *line, bool is_job) {
  weir__pipeline_thread *thread = weir__pipeline_thread_now;
  bool seeded = line->pipeline->context->host.seed != 0;
  if (thread->guest == NULL || (seeded && weir__random_next(&thread->random) % 2 == 0)) return (weir__cpu_guest){0};
  weir__cpu *cpu = thread->guest->cpu;
  uint64_t ticks = most_here(line, &cpu->base, is_job) * weir__ticks_per_us() / 1000;
  return (weir__cpu_guest){.cpu = cpu, .most_ticks = ticks};
}

// Submits a task or a graph whose completion goes to the line, without a callback. The await's event is dropped at once.
static weir_status submit_awaited(weir__pipeline_line *line, const weir_task *task, weir_graph *graph,
                                  weir__await *await) {
  const weir_pipeline *pipeline = line->pipeline;
  weir_context *context = pipeline->context;
  // What is awaited next is told with a graph, which ends its stage: that is one passage through the lock less.
  bool flushes = graph != NULL && context->devices.flushes &&
                 (line->stage + 1 == pipeline->stage_count || pipeline->stages[line->stage].awaits);
  weir__cpu_guest guest = guest_of(line, graph != NULL);
  *await = (weir__await){.line = line, .stage = line->stage};
  atomic_fetch_add_explicit(&line->pending, 1, memory_order_relaxed);
  weir__context_lock(context);
  const weir__completion_target target = {.done = on_task_done, .user = await, .at_once = true};
  const weir__submission submission = {.task = task,
                                       .target = &target,
                                       .origin = line->trace != NULL ? &line->origin : NULL,
                                       .guest = guest.cpu != NULL ? &guest : NULL,
                                       .kernel_checked = true};
  uint64_t number;
  weir_status status = graph != NULL ? weir__graph_submit_held(graph, &submission, &number, &await->event)
                                     : weir__submit(context, &submission, &await->event);
  if (status == WEIR_OK) {
    await->event->object.released = true;
    weir__event_drop(await->event);
  }
  line->flushed = flushes;
  if (flushes) weir__context_flush(context);
  weir__context_unlock(context);
  if (status != WEIR_OK) atomic_fetch_sub_explicit(&line->pending, 1, memory_order_relaxed);
  if (guest.task != NULL) weir__cpu_run_guest(weir__pipeline_thread_now->guest, &guest);
  return status;
}

static weir__await *await_for_submission(weir__pipeline_line *line) {
  weir__await *await = take_await(line);
  if (await == NULL) weir__error(WEIR_ERROR_OUT_OF_MEMORY, "token submit: no memory");
  return await;
}

weir_status weir__line_submit(weir__pipeline_line *line, const weir_task *task) {
  if (task->kernel != NULL) {
    weir_status status = weir__object_check(task->kernel, WEIR__KIND_KERNEL, line->pipeline->context, "token submit");
    if (status != WEIR_OK) return status;
  }
  weir__await *await = await_for_submission(line);
  return await != NULL ? submit_awaited(line, task, NULL, await) : WEIR_ERROR_OUT_OF_MEMORY;
}

weir_status weir__line_launch(weir__pipeline_line *line, weir_graph *graph) {
  weir__await *await = await_for_submission(line);
  return await != NULL ? submit_awaited(line, NULL, graph, await) : WEIR_ERROR_OUT_OF_MEMORY;
}

// ---------------------------------------------------------------------------------------------------------------
// What a stage submits

weir_status weir_token_submit_sized(weir_token *token, const weir_task *task, size_t task_size) {
  weir__pipeline_line *line = line_of(token, "token submit");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  if (task == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "token submit: the task is NULL");
  weir_task filled;
  const weir_task *known = weir__task_take(&filled, task, task_size, "token submit");
  if (known == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  if (known->destroy != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "token submit: only weir_submit takes a task with `destroy`");
  if (known->group != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "token submit: only weir_submit takes a task with a group");
  if (known != &filled) filled = *known;
  if (filled.device == NULL && filled.kernel != NULL) filled.device = token->device;
  if (filled.tag == 0) filled.tag = token->number;
  if (filled.label == NULL) filled.label = line->pipeline->stages[line->stage].name;
  if (line->job == NULL) return weir__line_submit(line, &filled);
  return weir__job_add(line, &(weir__job_step){.kind = WEIR__JOB_TASK, .task = &filled});
}

weir_status weir_token_copy_in(weir_token *token, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                               const void *source) {
  weir__pipeline_line *line = line_of(token, "token copy in");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  return weir__job_add(line, &(weir__job_step){.kind = WEIR__JOB_COPY_IN,
                                               .to = buffer,
                                               .to_offset = offset,
                                               .bytes = bytes,
                                               .host = (void *)(uintptr_t)source});
}

weir_status weir_token_copy_out(weir_token *token, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                void *destination) {
  weir__pipeline_line *line = line_of(token, "token copy out");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  return weir__job_add(
      line,
      &(weir__job_step){
          .kind = WEIR__JOB_COPY_OUT, .from = buffer, .from_offset = offset, .bytes = bytes, .host = destination});
}

weir_status weir_token_copy(weir_token *token, weir_buffer *destination, uint64_t destination_offset,
                            weir_buffer *source, uint64_t source_offset, uint64_t bytes) {
  weir__pipeline_line *line = line_of(token, "token copy");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  return weir__job_add(line, &(weir__job_step){.kind = WEIR__JOB_COPY,
                                               .to = destination,
                                               .to_offset = destination_offset,
                                               .from = source,
                                               .from_offset = source_offset,
                                               .bytes = bytes});
}

weir_status weir_token_fill(weir_token *token, weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t pattern) {
  weir__pipeline_line *line = line_of(token, "token fill");
  if (line == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  return weir__job_add(
      line,
      &(weir__job_step){.kind = WEIR__JOB_FILL, .to = buffer, .to_offset = offset, .bytes = bytes, .pattern = pattern});
}
