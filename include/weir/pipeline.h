// SPDX-License-Identifier: Apache-2.0
//
// A pipeline: many jobs (frames, requests, batches) in flight at once, each of which goes through the same stages. A stage is a
// function on the host, which prepares a job's next step and submits tasks for it. docs/guide/pipelines.md has examples.
//
// A job is a *token*, numbered from 0. A token has a *line* from its first stage to its delivery: a place with state of its own,
// buffers for example, that no other token uses meanwhile. So there are at most as many tokens in flight as lines, and the
// first stage, which makes tokens, is held back when all lines are taken.
//
// Stages order calls of functions. The order of device work follows from what tasks read and write, as everywhere in Weir. So a
// stage does not wait for the tasks of the stage before, unless that stage says so (WEIR_STAGE_AWAIT).
//
// A token that fails goes through no further stages, and others go on. Stages are called by threads of the pipeline's own, not
// by the workers of the CPU device: they may wait, for events for example, and weir_submit waits there for a full window.
#ifndef WEIR_PIPELINE_H
#define WEIR_PIPELINE_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A pipeline. Only functions look into it.
typedef struct weir_pipeline weir_pipeline;

enum {
  WEIR_PIPELINE_MOST_STAGES = 32,
  WEIR_PIPELINE_MOST_LINES = 62,
  WEIR_PIPELINE_MOST_THREADS = 62,
};

// ---------------------------------------------------------------------------------------------------------------
// Tokens, as stages see them

// Valid during the call only. A stage may change `data`; the rest is to be read.
typedef struct weir_token {
  uint64_t number;         // 0, 1, 2, ... in the order of the first stage; goes on when a pipeline is started again
  uint32_t line;           // 0 to lines - 1
  uint32_t stage;          // index of the stage; in `deliver`: the number of stages
  void *line_state;        // what open_line gave
  void *user;              // weir_stage.user; in `deliver`: weir_pipeline_options.user
  weir_device *device;     // weir_stage.device
  void *data;              // the token's own, handed from stage to stage; NULL in the first
  weir_pipeline *pipeline; //
  weir_status status;      // in `deliver`: WEIR_OK, or how the token failed
  const char *message;     // in `deliver`: why, with the stage's name; "" if it did not fail
} weir_token;

// What a stage does for a token. A status other than WEIR_OK fails the token.
typedef weir_status (*weir_stage_function)(weir_token *token);

// The functions that follow are called with the token of a stage, in its call and thread; elsewhere they fail with
// INVALID_ARGUMENT.

// Fails the token with a text (copied, cut at 159 bytes; may be NULL): `return weir_token_fail(token, status, "...")`. Without it
// the text is that of the status. Returns `status`, or TASK_FAILED if that is no failure.
WEIR_API weir_status weir_token_fail(weir_token *token, weir_status status, const char *message);

// In the first stage: there is no more input. This token does not exist, and its number is used again. The pipeline is done when
// the tokens in flight are, and what this call awaited.
WEIR_API weir_status weir_token_end_input(weir_token *token);

// The token goes on at stage `stage`, beyond the present one; the stages between are not called. The number of stages: it skips
// all that is left. Where stages are serial it keeps its place among the tokens.
WEIR_API weir_status weir_token_skip_to(weir_token *token, uint32_t stage);

// The token skips all that is left and is not delivered.
WEIR_API weir_status weir_token_drop(weir_token *token);

// The token depends on the event's task: a stage with WEIR_STAGE_AWAIT, and delivery, come after it. A failure of the task fails the
// token. The event stays the caller's, who may release it at once.
WEIR_API weir_status weir_token_await(weir_token *token, weir_event *event);

// Submits a task and awaits it. Where the task names no device, it gets the stage's; no tag, the token's number; no label, the
// stage's name. A failure of the task is the token's, and not reported by weir_finish. The CPU device may run a task of less than a
// microsecond within this call, in this thread, so hold no lock meanwhile that its function takes.
// Errors: as weir_submit; then the token has not failed, unless the stage says so.
WEIR_API weir_status weir_token_submit_sized(weir_token *token, const weir_task *task, size_t task_size);
static inline weir_status weir_token_submit(weir_token *token_, const weir_task *task_) {
  return weir_token_submit_sized(token_, task_, sizeof *task_);
}

// Submit copies and fills, as weir_copy_in, weir_copy_out, weir_copy and weir_fill, and await them. The caller's memory
// must be valid until the copy is done: until the next stage after one with WEIR_STAGE_AWAIT, or until delivery. A source must
// hold still so long.
// Errors: as the functions that they are named after; then the token has not failed, unless the stage says so.
WEIR_API weir_status weir_token_copy_in(weir_token *token, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                        const void *source);
WEIR_API weir_status weir_token_copy_out(weir_token *token, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                         void *destination);
WEIR_API weir_status weir_token_copy(weir_token *token, weir_buffer *destination, uint64_t destination_offset,
                                     weir_buffer *source, uint64_t source_offset, uint64_t bytes);
WEIR_API weir_status weir_token_fill(weir_token *token, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     uint32_t pattern);

// ---------------------------------------------------------------------------------------------------------------
// Pipelines

enum {
  WEIR_STAGE_SERIAL = 0,         // one token at a time, in the order of their numbers
  WEIR_STAGE_PARALLEL = 1u << 0, // any tokens at once; not the first stage
  WEIR_STAGE_AWAIT =
      1u << 1, // the token's next stage begins when the tasks are done that it awaits; the stage's next token
               // need not wait for that
  // What the stage submits for a token with weir_token_submit and weir_token_copy_in, _copy_out, _copy and _fill is a job, which
  // becomes one graph, launched when the stage returns. The line keeps the graph: while its tokens have jobs of the same
  // shape (the same kernels, work-groups, buffers and ranges, in the same order), only values and the caller's memory are set
  // anew. A job of another shape is submitted task by task; one that comes three times in a row becomes the line's graph. Results
  // are the same either way. What the stage submits by other calls comes before its job. Needs a stage with a device, or a
  // context with one device; on devices where graphs gain nothing, and where a task cannot be in a graph (another
  // device, `after`), the tasks are submitted one by one.
  WEIR_STAGE_GRAPH = 1u << 2,
};

// A stage.
typedef struct weir_stage {
  weir_stage_function function;
  void *user;
  uint32_t flags;       // WEIR_STAGE_*
  weir_device *device;  // for the tasks of weir_token_submit; NULL: left to weir_submit
  const char *name;     // for messages; copied, cut at 47 bytes; NULL: none
  uint64_t reserved[2]; // 0
} weir_stage;

enum {
  WEIR_PIPELINE_UNORDERED = 1u << 0,       // deliver tokens as they are done, perhaps several at once
  WEIR_PIPELINE_STOP_ON_FAILURE = 1u << 1, // a token that fails stops the pipeline, as weir_pipeline_stop
  WEIR_PIPELINE_TIMES = 1u << 2, // note times for weir_pipeline_get_statistics, at some 100 ns a stage; so does a
                                 // context with WEIR_CONTEXT_TRACE, for its timeline
};

// Options. Zero in a field means its default, where there is one.
typedef struct weir_pipeline_options {
  const weir_stage *stages; // 1 to WEIR_PIPELINE_MOST_STAGES; copied
  uint32_t stage_count;
  uint32_t lines;   // tokens in flight at most: 1 to WEIR_PIPELINE_MOST_LINES; there is no default
  uint32_t threads; // that call stages, to WEIR_PIPELINE_MOST_THREADS; default: one a core, but no more than lines
  uint32_t flags;   // WEIR_PIPELINE_*
  // Called once for every token that was not dropped, also for those that failed, when all that it awaits is done: one at a time in
  // the order of the numbers, unless UNORDERED. It may wait; its token has a status. NULL: none, and tokens end as they are done.
  void (*deliver)(weir_token *token);
  // Make and free a line's state: called for every line by weir_pipeline_create and weir_pipeline_release, in the calling
  // thread. A status that is not WEIR_OK refuses the pipeline. NULL: none.
  weir_status (*open_line)(void *user, uint32_t line, void **out_state);
  void (*close_line)(void *user, uint32_t line, void *state);
  void *user;
} weir_pipeline_options;

// Creates a pipeline, which rests until it is started. Nothing that the options point to is needed afterwards, except `user`s.
// Errors: INVALID_ARGUMENT (a number out of its range, a stage without a function, a parallel first stage, unknown flags, a
// device of another context), OUT_OF_MEMORY, and what open_line returns.
WEIR_API weir_status weir_pipeline_create_sized(weir_context *context, const weir_pipeline_options *options,
                                                size_t options_size, weir_pipeline **out_pipeline);
static inline weir_status weir_pipeline_create(weir_context *context_, const weir_pipeline_options *options_,
                                               weir_pipeline **out_pipeline_) {
  return weir_pipeline_create_sized(context_, options_, sizeof *options_, out_pipeline_);
}

// Has the first stage called for one token after the other, until it ends the input. Does not wait.
// Errors: INVALID_ARGUMENT (it runs).
WEIR_API weir_status weir_pipeline_start(weir_pipeline *pipeline);

// Waits until the input has ended and all tokens are done, `timeout_ns` nanoseconds at most. Returns OK, or, once, the status of
// the first token that failed since the last such report; weir_last_error() has token, stage and line. TIMEOUT leaves all
// running, and weir_last_error() tells where the oldest token is, and what it waits for. OK if it was never started.
// Errors: INVALID_ARGUMENT (called from a stage of this pipeline, or from a task or callback).
WEIR_API weir_status weir_pipeline_wait(weir_pipeline *pipeline, uint64_t timeout_ns);

// Starts, and waits for the end.
WEIR_API weir_status weir_pipeline_run(weir_pipeline *pipeline, uint64_t timeout_ns);

// Ends the input: the first stage is not called again in this run. Tokens in flight go on to their delivery. From any thread, stages
// too. Does not wait, and does nothing if the pipeline does not run.
WEIR_API weir_status weir_pipeline_stop(weir_pipeline *pipeline);

// The same, and tokens in flight fail with WEIR_ERROR_CANCELLED: no stage is called for them any more, but `deliver` is. Stages
// that run go on, and tasks that were submitted too (see weir_context_cancel).
WEIR_API weir_status weir_pipeline_cancel(weir_pipeline *pipeline);

// Whether the pipeline was stopped or cancelled in this run: for stages that take long.
WEIR_API bool weir_pipeline_stopping(const weir_pipeline *pipeline);

// Releases a pipeline. One that runs is cancelled first, and waited for: for calls of stages and for awaited tasks. NULL is allowed.
// A context that is released takes its pipelines with it, in the same way.
// Errors: INVALID_ARGUMENT (called from a stage of this pipeline, or from a task or callback).
WEIR_API weir_status weir_pipeline_release(weir_pipeline *pipeline);

// ---------------------------------------------------------------------------------------------------------------
// What happened, since the pipeline was created

// What a line did. Times need WEIR_PIPELINE_TIMES, and cover whole states that are over: they are added up when a state ends.
typedef struct weir_pipeline_line {
  uint64_t tokens;      // that ended on it
  uint64_t busy_ns;     // in calls of stages and of `deliver`, with tasks that the same thread ran
  uint64_t input_ns;    // it had no token
  uint64_t turn_ns;     // its token waited for tokens before it, at a serial stage or for its delivery
  uint64_t tasks_ns;    // its token waited for tasks
  uint64_t thread_ns;   // its token waited for a thread
  uint64_t reserved[2]; // 0
} weir_pipeline_line;

enum { WEIR_PIPELINE_LATENCIES = 4096 };

// What a pipeline did.
typedef struct weir_pipeline_statistics {
  uint64_t tokens;    // that the first stage made
  uint64_t delivered; // that ended well and were not dropped
  uint64_t failed;
  uint64_t dropped;
  uint32_t in_flight;
  uint64_t graph_jobs; // jobs of stages with WEIR_STAGE_GRAPH that were launched as graphs,
  uint64_t task_jobs;  // and that were submitted task by task
  uint64_t run_ns;     // of the last run, so far if it is not over
  double per_second;   // tokens that ended in it
  // Of the last WEIR_PIPELINE_LATENCIES tokens, from the call of the first stage to the end. Need WEIR_PIPELINE_TIMES, else 0.
  uint64_t latency_least_ns, latency_median_ns, latency_90_ns, latency_99_ns, latency_most_ns;
  uint32_t line_count;
  weir_pipeline_line lines[WEIR_PIPELINE_MOST_LINES];
} weir_pipeline_statistics;

// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (to sort latencies); then all is 0.
WEIR_API weir_status weir_pipeline_get_statistics_sized(weir_pipeline *pipeline,
                                                        weir_pipeline_statistics *out_statistics,
                                                        size_t statistics_size);
static inline weir_status weir_pipeline_get_statistics(weir_pipeline *pipeline_,
                                                       weir_pipeline_statistics *out_statistics_) {
  return weir_pipeline_get_statistics_sized(pipeline_, out_statistics_, sizeof *out_statistics_);
}

#ifdef __cplusplus
}
#endif
#endif // WEIR_PIPELINE_H
