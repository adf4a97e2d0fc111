// SPDX-License-Identifier: Apache-2.0
//
// Which token goes on when: join counters of serial stages, free lines, the source.
#include <sched.h>
#include <stdio.h>

#include "base/clock.h"
#include "pipeline/job.h"

void weir__line_set(weir__pipeline_line *line, weir__line_state state) {
  uint64_t where = (uint64_t)state | (uint64_t)line->stage << 8 | line->token.number << 16;
  atomic_store_explicit(&line->where, where, memory_order_relaxed);
  if (line->pipeline->latencies != NULL) {
    uint64_t now = weir__clock_ns();
    _Atomic uint64_t *sum = &line->state_ns[line->state];
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + now - line->since_ns,
                          memory_order_relaxed);
    line->since_ns = now;
    if (line->pipeline->trace != NULL) weir__line_trace(line, state, now);
  }
  line->state = state;
}

void weir__line_fail(weir__pipeline_line *line, uint32_t stage, weir_status status, const char *message) {
  if (line->status != WEIR_OK) return;
  weir_pipeline *pipeline = line->pipeline;
  const char *why = message != NULL && message[0] != '\0' ? message : weir_status_text(status);
  if (weir__is_no_failure(status)) status = WEIR_ERROR_TASK_FAILED; // who waits takes a time-out for its own
  line->status = status;
  snprintf(line->text, sizeof line->text, "stage %u '%s': %.*s", stage, pipeline->stages[stage].name,
           WEIR__TOKEN_TEXT - 1, why);
  weir__lock_acquire(&pipeline->lock);
  if (pipeline->first_failure == WEIR_OK) {
    pipeline->first_failure = status;
    snprintf(pipeline->first_text, sizeof pipeline->first_text, "pipeline: token %llu on line %u failed in %s",
             (unsigned long long)line->token.number, line->token.line, line->text);
  }
  weir__lock_release(&pipeline->lock);
  if (pipeline->flags & WEIR_PIPELINE_STOP_ON_FAILURE)
    atomic_fetch_or_explicit(&pipeline->control, WEIR__PIPELINE_STOPPED, memory_order_relaxed);
}

static void add_one(_Atomic uint64_t *count) {
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

// ---------------------------------------------------------------------------------------------------------------
// Turns

// Counts; true: this was the second. Then the counter is ready for the token that uses it next.
static bool count_join(weir__join *join) {
  if (atomic_fetch_add_explicit(&join->count, 1, memory_order_acq_rel) == 0) return false;
  atomic_store_explicit(&join->count, 0, memory_order_relaxed);
  return true;
}

// The token is about to enter `stage`. False: its turn has not come, and who gives it the turn goes on with it.
static bool enter(weir__pipeline_line *line, uint32_t stage) {
  weir_pipeline *pipeline = line->pipeline;
  line->stage = stage;
  line->after_tasks = false;
  if (pipeline->stages[stage].joins == NULL) return true;
  weir__join *join = &pipeline->stages[stage].joins[line->token.number & pipeline->join_mask];
  join->line = line->token.line;
  weir__line_set(line, WEIR__LINE_TURN);
  return count_join(join);
}

// The token leaves a serial stage: it is the next one's turn.
static void give_turn(weir_pipeline *pipeline, const weir__pipeline_stage *stage, uint64_t number) {
  weir__join *join = &stage->joins[(number + 1) & pipeline->join_mask];
  if (!count_join(join)) return;
  weir__line_set(&pipeline->lines[join->line], WEIR__LINE_READY);
  weir__pipeline_publish(pipeline, join->line);
}

// ---------------------------------------------------------------------------------------------------------------
// Lines and the source

static void finish(weir_pipeline *pipeline) {
  atomic_store_explicit(&pipeline->end_ns, weir__clock_ns(), memory_order_relaxed);
  atomic_store_explicit(&pipeline->running, 0, memory_order_release);
  weir__wake(&pipeline->running, INT32_MAX);
}

// A line for the source; NULL: there is none, and the source is parked.
static weir__pipeline_line *take_line(weir_pipeline *pipeline) {
  uint64_t free_lines = atomic_load_explicit(&pipeline->free_lines, memory_order_relaxed);
  for (;;) {
    uint64_t rest = free_lines != 0 ? free_lines & (free_lines - 1) : WEIR__SOURCE_PARKED;
    if (!atomic_compare_exchange_weak_explicit(&pipeline->free_lines, &free_lines, rest, memory_order_acq_rel,
                                               memory_order_relaxed))
      continue;
    return free_lines != 0 ? &pipeline->lines[__builtin_ctzll(free_lines)] : NULL;
  }
}

// Gives a line back. True: the source was parked, and goes on with this line.
static bool give_line(weir_pipeline *pipeline, uint32_t index) {
  uint64_t bit = 1ull << index, free_lines = atomic_load_explicit(&pipeline->free_lines, memory_order_acquire);
  for (;;) {
    bool goes_on =
        (free_lines & WEIR__SOURCE_PARKED) != 0 && !atomic_load_explicit(&pipeline->closed, memory_order_relaxed);
    uint64_t then = goes_on ? free_lines & ~WEIR__SOURCE_PARKED : free_lines | bit;
    if (!atomic_compare_exchange_weak_explicit(&pipeline->free_lines, &free_lines, then, memory_order_acq_rel,
                                               memory_order_acquire))
      continue;
    if (then == (pipeline->all_lines | WEIR__SOURCE_PARKED)) finish(pipeline);
    return goes_on;
  }
}

// There is no more input; called by the source.
static void close_input(weir_pipeline *pipeline) {
  atomic_store_explicit(&pipeline->closed, true, memory_order_relaxed);
  uint64_t free_lines = atomic_fetch_or_explicit(&pipeline->free_lines, WEIR__SOURCE_PARKED, memory_order_acq_rel);
  if (free_lines == pipeline->all_lines) finish(pipeline);
}

// The first stage is done with a token: offers the source to others, or parks it until there is a line.
static void pass_source(weir_pipeline *pipeline) {
  uint64_t free_lines = atomic_load_explicit(&pipeline->free_lines, memory_order_relaxed);
  while (free_lines == 0) {
    if (atomic_compare_exchange_weak_explicit(&pipeline->free_lines, &free_lines, WEIR__SOURCE_PARKED,
                                              memory_order_acq_rel, memory_order_relaxed))
      return;
  }
  weir__pipeline_publish(pipeline, WEIR__ITEM_SOURCE);
}

static bool is_stopped(const weir_pipeline *pipeline) {
  return atomic_load_explicit(&pipeline->control, memory_order_relaxed) != 0;
}

// Sets a line up for the next token. False: the pipeline was stopped, and the line is free again.
static bool begin_token(weir__pipeline_line *line) {
  weir_pipeline *pipeline = line->pipeline;
  if (is_stopped(pipeline)) {
    close_input(pipeline);
    give_line(pipeline, line->token.line);
    return false;
  }
  line->token.number = atomic_load_explicit(&pipeline->next_number, memory_order_relaxed);
  line->token.data = NULL;
  line->stage = line->go_to = 0;
  line->after_tasks = line->ended = line->dropped = false;
  line->status = WEIR_OK;
  return true;
}

static void note_latency(weir__pipeline_line *line) {
  weir_pipeline *pipeline = line->pipeline;
  if (pipeline->latencies == NULL) return;
  uint64_t index = atomic_fetch_add_explicit(&pipeline->ended_count, 1, memory_order_relaxed);
  atomic_store_explicit(&pipeline->latencies[index % WEIR_PIPELINE_LATENCIES], line->since_ns - line->begin_ns,
                        memory_order_relaxed);
}

// True: the line's thread goes on as the source, with this line.
static bool end_token(weir__pipeline_line *line) {
  bool ended = line->ended;
  if (!ended) {
    add_one(line->status != WEIR_OK ? &line->failed : line->dropped ? &line->dropped_count : &line->delivered);
  }
  weir__line_set(line, WEIR__LINE_FREE);
  if (!ended) note_latency(line);
  return give_line(line->pipeline, line->token.line);
}

// ---------------------------------------------------------------------------------------------------------------
// Stages

static void call_function(weir__pipeline_line *line, const weir__pipeline_stage *stage) {
  if (stage->function == NULL) {
    line->pipeline->deliver(&line->token);
    return;
  }
  line->in_stage = true;
  line->job = stage->job ? &line->jobs[line->stage] : NULL;
  if (line->job != NULL) weir__job_begin(line);
  weir_status status = stage->function(&line->token);
  line->in_stage = false;
  if (line->job != NULL) {
    weir_status submitted = weir__job_end(line, status != WEIR_OK ? status : line->status);
    if (status == WEIR_OK) status = submitted;
  }
  if (status != WEIR_OK) weir__line_fail(line, line->stage, status, NULL);
}

// A call in ThreadSanitizer's eyes: after those for the same line, those of the same serial stage, and tasks that were awaited.
static void call_watched(void *argument) {
  weir__pipeline_line *line = argument;
  weir_pipeline *pipeline = line->pipeline;
  weir__pipeline_stage *stage = &pipeline->stages[line->stage];
  bool serial = stage->joins != NULL || line->stage == 0;
  weir__tsan_acquire(&pipeline->starts);
  weir__tsan_acquire(&line->calls);
  if (serial) weir__tsan_acquire(&stage->calls);
  if (line->took_tasks) weir__tsan_acquire(&line->tasks);
  line->took_tasks = false;
  call_function(line, stage);
  weir__tsan_release(&line->calls);
  if (serial) weir__tsan_release(&stage->calls);
  weir__tsan_release(&pipeline->calls);
}

static void call(weir__pipeline_line *line, const weir__pipeline_stage *stage) {
  weir_pipeline *pipeline = line->pipeline;
  weir_token *token = &line->token;
  token->stage = line->stage;
  token->user = stage->user;
  token->device = stage->device;
  token->status = line->status;
  token->message = line->status == WEIR_OK ? "" : line->text;
  weir__line_set(line, WEIR__LINE_BUSY);
  if (line->stage == 0) line->begin_ns = line->since_ns;
  weir__pipeline_thread_now->line = line;
  if (pipeline->trace != NULL) weir__line_trace_call(line);
  if (weir__tsan_on())
    weir__tsan_call(call_watched, line);
  else
    call_function(line, stage);
  if (pipeline->trace != NULL) weir__line_trace_return(line);
  weir__pipeline_thread_now->line = NULL;
}

// Calls the stage that the token is in, if it is to be called. True: it was.
static bool call_stage(weir__pipeline_line *line) {
  weir_pipeline *pipeline = line->pipeline;
  const weir__pipeline_stage *stage = &pipeline->stages[line->stage];
  if (stage->function != NULL) {
    if (line->status != WEIR_OK || line->stage < line->go_to) return false;
    uint32_t control = atomic_load_explicit(&pipeline->control, memory_order_relaxed);
    if (line->stage > 0 && (control & WEIR__PIPELINE_CANCELLED)) {
      weir__line_fail(line, line->stage, WEIR_ERROR_CANCELLED, "the pipeline was cancelled");
      return false;
    }
  } else if (line->dropped && line->status == WEIR_OK) {
    return false;
  }
  call(line, stage);
  return true;
}

// What the tasks of a token left, all of which are done.
static void take_tasks(weir__pipeline_line *line) {
  atomic_store_explicit(&line->pending, 1, memory_order_relaxed);
  line->chunk = line->chunks;
  line->chunk_used = 0;
  line->took_tasks = true;
  if (line->task_status != WEIR_OK) weir__line_fail(line, line->task_stage, line->task_status, line->task_text);
  line->task_status = WEIR_OK;
}

// False: tasks are not done, and the last of them has the line published.
static bool await_tasks(weir__pipeline_line *line) {
  weir_pipeline *pipeline = line->pipeline;
  if (line->chunk_used == 0) return true; // none since it last waited
  if (atomic_load_explicit(&line->pending, memory_order_acquire) != 1) {
    line->after_tasks = true;
    if (!atomic_load_explicit(&pipeline->waits, memory_order_relaxed))
      atomic_store_explicit(&pipeline->waits, true, memory_order_relaxed);
    weir__line_set(line, WEIR__LINE_TASKS);
    if (!line->flushed) weir__pipeline_flush(pipeline);
    if (atomic_fetch_sub_explicit(&line->pending, 1, memory_order_acq_rel) != 1) return false;
  }
  take_tasks(line);
  return true;
}

static void disturb(weir__pipeline_thread *thread) {
  if (thread->pipeline->context->host.seed == 0) return;
  uint32_t dice = weir__random_next(&thread->random);
  if (dice % 4 == 0) sched_yield();
  for (uint32_t i = dice >> 8 & 255; dice % 8 == 1 && i > 0; i--) weir__pause();
}

// Works on a token as long as it can go on. True: the thread goes on as the source, with its line.
static bool advance(weir__pipeline_line *line, weir__pipeline_thread *thread) {
  weir_pipeline *pipeline = line->pipeline;
  for (;;) {
    uint32_t index = line->stage;
    if (line->after_tasks) {
      take_tasks(line);
    } else {
      const weir__pipeline_stage *stage = &pipeline->stages[index];
      disturb(thread);
      bool called = call_stage(line);
      bool awaits = index + 1 == pipeline->stage_count || (called && stage->awaits) || line->ended;
      if (line->ended) {
        close_input(pipeline);
      } else if (index == 0) {
        add_one(&pipeline->next_number);
        pass_source(pipeline);
      } else if (stage->joins != NULL) {
        give_turn(pipeline, stage, line->token.number);
      }
      if (awaits && !await_tasks(line)) return false;
    }
    if (index == pipeline->last || line->ended) return end_token(line);
    if (!enter(line, index + 1)) return false;
  }
}

void weir__pipeline_work(weir_pipeline *pipeline, weir__pipeline_thread *thread, uint32_t item) {
  weir__pipeline_line *line;
  if (item == WEIR__ITEM_SOURCE) {
    line = take_line(pipeline);
    if (line == NULL || !begin_token(line)) return;
  } else {
    line = &pipeline->lines[item];
  }
  while (advance(line, thread) && begin_token(line)) continue;
}
