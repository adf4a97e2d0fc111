// SPDX-License-Identifier: Apache-2.0
//
// Pipelines: many jobs (frames, requests, batches) in flight at once, each of which goes through the same stages. A
// stage is a function on the host that prepares a job's next step and submits its tasks. docs/guide/pipelines.md has
// examples.
//
// A job is a *token*, numbered from 0. From its first stage to its delivery a token has a *line*: a slot with state of
// its own, buffers for example, which no other token uses meanwhile. So at most as many tokens as lines are in flight.
// The first stage makes the tokens, and is called only when a line is free.
//
// Stages order calls of functions. The accesses of tasks order the work on devices, as everywhere in Weir. So a stage
// does not wait for the tasks of the stage before, unless that stage has WEIR_STAGE_AWAIT.
//
// A failed token goes through no further stages. Other tokens go on. The pipeline has threads of its own, which call
// the stages; workers of the CPU device do not. So a stage may wait, for events for example, and weir_submit waits in a
// stage while the window is full.
#ifndef WEIR_PIPELINE_H
#define WEIR_PIPELINE_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A pipeline. Its members are private.
typedef struct weir_pipeline weir_pipeline;

enum {
  WEIR_PIPELINE_MOST_STAGES = 32,
  WEIR_PIPELINE_MOST_LINES = 62,
  WEIR_PIPELINE_MOST_THREADS = 62,
};

// ---------------------------------------------------------------------------------------------------------------
// Tokens

// A token, as stages and `deliver` get it. Valid during the call only. A stage may change `data` and nothing else.
typedef struct weir_token {
  uint64_t number;         // 0, 1, 2, ... in the order of the first stage; a restart of the pipeline does not reset it
  uint32_t line;           // 0 to lines - 1
  uint32_t stage;          // index of the stage; in `deliver` the number of stages
  void *line_state;        // output of open_line
  void *user;              // weir_stage.user; in `deliver` weir_pipeline_options.user
  weir_device *device;     // weir_stage.device
  void *data;              // the token's own, passed from stage to stage; NULL in the first
  weir_pipeline *pipeline; // pipeline of the token
  weir_status status;      // in `deliver`: OK, or how the token failed
  const char *message;     // in `deliver`: why it failed, with the stage's name; "" if it did not fail
} weir_token;

// A stage's work on a token. A returned status other than OK fails the token: PENDING and TIMEOUT, which are no
// failures, with TASK_FAILED.
typedef weir_status (*weir_stage_function)(weir_token *token);

// The weir_token_ functions take the token of a stage, in the stage's call and thread. Elsewhere they fail with
// INVALID_ARGUMENT.

// Fails the token: `return weir_token_fail(token, status, "...")`. The text is copied and cut at 159 bytes; NULL stands
// for the text of the status. Returns `status`, or TASK_FAILED if `status` is no failure.
WEIR_API weir_status weir_token_fail(weir_token *token, weir_status status, const char *message);

// Ends the input; for the first stage only. The token of this call does not exist, and its number is used again. The
// pipeline is done when the tokens in flight and what this call awaited are done.
// Errors: INVALID_ARGUMENT (called in a later stage).
WEIR_API weir_status weir_token_end_input(weir_token *token);

// Lets the token go on at a later stage; the stages between are not called. The number of stages skips all that are
// left. At serial stages the token keeps its place among the tokens.
// Errors: INVALID_ARGUMENT (an earlier stage, this one, or a number beyond that of stages).
WEIR_API weir_status weir_token_skip_to(weir_token *token, uint32_t stage);

// Lets the token skip all stages that are left, and its delivery.
WEIR_API weir_status weir_token_drop(weir_token *token);

// Makes the token depend on an event's task: the end of a stage with WEIR_STAGE_AWAIT, and delivery, come after the
// task. If the task fails, the token fails. The event still belongs to the caller, who may release it at once.
WEIR_API weir_status weir_token_await(weir_token *token, weir_event *event);

// Submits a task and awaits it. Members that are 0 have other defaults than in weir_submit: the stage's device, the
// token's number as tag, and the stage's name as label. A failure of the task fails the token, and weir_finish does not
// report it. The CPU device may run a task of less than a microsecond in this call and thread. The caller must not hold
// a lock that the task's function takes.
// Errors: as weir_submit. An error does not fail the token; the stage may return it to do so.
WEIR_API weir_status weir_token_submit_sized(weir_token *token, const weir_task *task, size_t task_size);
static inline weir_status weir_token_submit(weir_token *token_, const weir_task *task_) {
  return weir_token_submit_sized(token_, task_, sizeof *task_);
}

// Submit a copy or a fill, as weir_copy_in, weir_copy_out, weir_copy and weir_fill do, and await it. The caller's
// memory must be valid until the copy is done: until the stage after one with WEIR_STAGE_AWAIT, or until delivery. A
// source must not change meanwhile.
// Errors: as the functions that they are named after. An error does not fail the token; the stage may return it to do
// so.
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
  WEIR_STAGE_PARALLEL = 1u << 0, // any tokens at once; not for the first stage
  // The token's next stage begins when the tasks that the token awaits are done. The stage's next token need not wait
  // for them.
  WEIR_STAGE_AWAIT = 1u << 1,
  // The tasks, copies and fills that the stage submits for a token by weir_token_ functions are a job. A job becomes
  // one graph, which is launched when the stage returns. The line keeps the graph: for a later job of the same shape
  // (kernels, work-groups, buffers and ranges in the same order) only values and the caller's memory are set anew. A
  // job of another shape is submitted task by task, until three in a row have that shape, which then becomes the line's
  // graph. Results are the same either way. Tasks that the stage submits by other functions come before its job. The
  // stage must have a device, or the context only one. Tasks are submitted one by one on devices where graphs gain
  // nothing, and if a task cannot be in a graph (another device, `after`).
  WEIR_STAGE_GRAPH = 1u << 2,
};

// A stage.
typedef struct weir_stage {
  weir_stage_function function;
  void *user;           // weir_token.user
  uint32_t flags;       // WEIR_STAGE_*
  weir_device *device;  // for tasks of weir_token_submit; NULL: as weir_submit chooses
  const char *name;     // for messages; copied, cut at 47 bytes; NULL: none
  uint64_t reserved[2]; // 0
} weir_stage;

enum {
  WEIR_PIPELINE_UNORDERED = 1u << 0,       // deliver tokens as they complete, perhaps several at once
  WEIR_PIPELINE_STOP_ON_FAILURE = 1u << 1, // a failed token stops the pipeline, as weir_pipeline_stop does
  // Record times for weir_pipeline_get_statistics, which costs some 100 ns for each stage of a token. A context with
  // WEIR_CONTEXT_TRACE records them, too, for its timeline.
  WEIR_PIPELINE_TIMES = 1u << 2,
};

// Options of a pipeline. A member that is 0 has its default, if it has one.
typedef struct weir_pipeline_options {
  const weir_stage *stages; // 1 to WEIR_PIPELINE_MOST_STAGES; copied
  uint32_t stage_count;
  uint32_t lines;   // most tokens in flight: 1 to WEIR_PIPELINE_MOST_LINES; there is no default
  uint32_t threads; // that call stages: up to WEIR_PIPELINE_MOST_THREADS; default: one a core, but no more than lines
  uint32_t flags;   // WEIR_PIPELINE_*
  // Receives every token that was not dropped, failed ones included, when all that it awaits is done. Calls come one at
  // a time in the order of the numbers, unless UNORDERED is set. It may wait. NULL: tokens end as they complete.
  void (*deliver)(weir_token *token);
  // Create and free the state of a line. weir_pipeline_create and weir_pipeline_release call them once for each line,
  // in the calling thread. weir_pipeline_create returns a status of open_line other than OK. NULL: lines have no state.
  weir_status (*open_line)(void *user, uint32_t line, void **out_state);
  void (*close_line)(void *user, uint32_t line, void *state);
  void *user; // passed to the three functions
} weir_pipeline_options;

// Creates a pipeline, which does nothing until it is started. After the call nothing that the options point to is
// needed, except the users.
// Errors: INVALID_ARGUMENT (a number out of its range, a stage without a function, a parallel first stage, unknown
// flags, a device of another context), OUT_OF_MEMORY, and a status of open_line.
WEIR_API weir_status weir_pipeline_create_sized(weir_context *context, const weir_pipeline_options *options,
                                                size_t options_size, weir_pipeline **out_pipeline);
static inline weir_status weir_pipeline_create(weir_context *context_, const weir_pipeline_options *options_,
                                               weir_pipeline **out_pipeline_) {
  return weir_pipeline_create_sized(context_, options_, sizeof *options_, out_pipeline_);
}

// Starts a pipeline: its first stage is called for one token after the other, until it ends the input. Does not wait.
// Errors: INVALID_ARGUMENT (it runs).
WEIR_API weir_status weir_pipeline_start(weir_pipeline *pipeline);

// Waits until the input has ended and all tokens are done, for `timeout_ns` nanoseconds at most. Returns OK, or the
// status of the first token that failed since the last report; weir_last_error() has token, stage and line. TIMEOUT
// does not affect the pipeline, and weir_last_error() says where the oldest token is and for what it waits. A pipeline
// that was never started is done.
// Errors: INVALID_ARGUMENT (called from a stage of this pipeline, or from a task or callback).
WEIR_API weir_status weir_pipeline_wait(weir_pipeline *pipeline, uint64_t timeout_ns);

// Starts a pipeline and waits until it is done, as weir_pipeline_start and weir_pipeline_wait do.
WEIR_API weir_status weir_pipeline_run(weir_pipeline *pipeline, uint64_t timeout_ns);

// Ends the input: the first stage is not called again in this run. Tokens in flight go on to their delivery. Any thread
// may call it, also in a stage. Does not wait. Does nothing if the pipeline does not run.
WEIR_API weir_status weir_pipeline_stop(weir_pipeline *pipeline);

// Ends the input, and fails the tokens in flight with CANCELLED: no further stage is called for them, and `deliver` is.
// Stages that run go on, as do submitted tasks (see weir_context_cancel). Any thread may call it, also in a stage. Does
// not wait.
WEIR_API weir_status weir_pipeline_cancel(weir_pipeline *pipeline);

// Returns whether the pipeline was stopped or cancelled in this run, for stages that take long.
WEIR_API bool weir_pipeline_stopping(const weir_pipeline *pipeline);

// Releases a pipeline. If it runs, it is cancelled first, and the call waits for stages that run and for awaited tasks.
// The release of a context releases its pipelines in the same way. `pipeline` may be NULL.
// Errors: INVALID_ARGUMENT (called from a stage of this pipeline, or from a task or callback).
WEIR_API weir_status weir_pipeline_release(weir_pipeline *pipeline);

// ---------------------------------------------------------------------------------------------------------------
// Statistics, since the pipeline was created

// Work of a line. Times need WEIR_PIPELINE_TIMES. A line is in one state at a time, and the time of a state is added
// when the state ends.
typedef struct weir_pipeline_line {
  uint64_t tokens;      // tokens that ended on it
  uint64_t busy_ns;     // calls of stages and of `deliver`, with tasks that the same thread ran
  uint64_t input_ns;    // it had no token
  uint64_t turn_ns;     // its token waited for earlier tokens, at a serial stage or for its delivery
  uint64_t tasks_ns;    // its token waited for tasks
  uint64_t thread_ns;   // its token waited for a thread
  uint64_t reserved[2]; // 0
} weir_pipeline_line;

// Number of latest tokens whose latencies are kept.
enum { WEIR_PIPELINE_LATENCIES = 4096 };

// Counts and times of a pipeline.
typedef struct weir_pipeline_statistics {
  uint64_t tokens;     // tokens that the first stage made
  uint64_t delivered;  // tokens that neither failed nor were dropped
  uint64_t failed;     // tokens that failed
  uint64_t dropped;    // tokens that were dropped
  uint32_t in_flight;  // tokens in flight
  uint64_t graph_jobs; // jobs of stages with WEIR_STAGE_GRAPH that were launched as graphs
  uint64_t task_jobs;  // jobs of such stages that were submitted task by task
  uint64_t run_ns;     // duration of the last run, up to now if it goes on
  double per_second;   // tokens that ended in that run, per second
  // Latencies of the last WEIR_PIPELINE_LATENCIES tokens, from the call of the first stage to the end: least, median,
  // 90th and 99th percentile, most. 0 without WEIR_PIPELINE_TIMES.
  uint64_t latency_least_ns, latency_median_ns, latency_90_ns, latency_99_ns, latency_most_ns;
  uint32_t line_count;
  weir_pipeline_line lines[WEIR_PIPELINE_MOST_LINES];
} weir_pipeline_statistics;

// Reads the statistics of a pipeline. Does not wait.
// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (to sort latencies); then all members are 0.
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
