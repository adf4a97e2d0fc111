// SPDX-License-Identifier: Apache-2.0
//
// A pipeline from inside: the scheduler of stages.
//
// DESIGN. The scheduler follows Pipeflow (C.-H. Chiu, T.-W. Huang, Z. Guo, Y. Lin: "Pipeflow: An Efficient Task-Parallel Pipeline
// Programming Framework using Modern C++", 2022): no data goes through queues between stages, and a join counter says when a token
// may enter a serial stage: when it has left the stage before, and the token before it has left this one. Who counts second
// goes on with the token. Unlike there, a token takes any free line, so that a slow token holds up one line and no other; so
// the counters of a stage go by token numbers. A token that waits at a stage has all tokens between it and the stage's turn in
// flight before it, so that as many counters as lines are enough.
// What can run now is a bit each in one word: a token, by its line, or the source, which calls the first stage. The source is at
// any time in exactly one place: ready, being run, parked because all lines are taken, or closed. Who frees a line while the
// source is parked goes on as the source.
// Threads are the pipeline's own. Workers of the CPU device are not taken: there a function must not wait, neither for a task nor
// for room in the window, and a task that lasts as long as a pipeline would keep the window from moving on.
#ifndef WEIR_PIPELINE_PIPELINE_H
#define WEIR_PIPELINE_PIPELINE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "base/random.h"
#include "base/tsan.h"
#include "device/cpu/cpu.h"
#include "engine/context.h"
#include "trace/lines.h"
#include "weir/pipeline.h"

enum {
  WEIR__ITEM_SOURCE = 63, // lines are items 0 to WEIR_PIPELINE_MOST_LINES - 1
  WEIR__ITEM_NONE = 64,
  WEIR__STAGE_NAME = 48,
  WEIR__TOKEN_TEXT = 160,
  WEIR__AWAITS_AT_ONCE = 32,
};

#define WEIR__SOURCE_PARKED (1ull << 63) // in weir_pipeline.free_lines

enum { WEIR__PIPELINE_STOPPED = 1, WEIR__PIPELINE_CANCELLED = 2 }; // in weir_pipeline.control

typedef enum weir__line_state {
  WEIR__LINE_FREE,
  WEIR__LINE_BUSY,
  WEIR__LINE_TURN,
  WEIR__LINE_TASKS,
  WEIR__LINE_READY,
  WEIR__LINE_STATES,
} weir__line_state;

typedef struct weir__pipeline_line weir__pipeline_line;

// An event that a token awaits.
typedef struct weir__await {
  weir__pipeline_line *line;
  weir_event *event;
  uint32_t stage;
} weir__await;

typedef struct weir__await_chunk {
  struct weir__await_chunk *next;
  weir__await awaits[WEIR__AWAITS_AT_ONCE];
} weir__await_chunk;

// Guarded by who has the line: a thread that works on its token, in turns that the scheduler's atomics order.
struct weir__pipeline_line {
  alignas(64) weir_token token;
  weir_pipeline *pipeline;
  uint32_t stage;   // that is called now, or next
  uint32_t go_to;   // stages below are not called
  bool after_tasks; // when it goes on: its tasks are done
  bool flushed;     // devices were told to hold nothing back since the token's last submission
  bool ended;       // its token was no token: there is no more input
  bool dropped;
  bool in_stage;               // weir_token_* are allowed
  struct weir__line_job *jobs; // per stage; NULL: no stage has one
  struct weir__line_job *job;  // of the stage that is called; NULL: it has none
  weir_status status;
  char text[WEIR__TOKEN_TEXT + WEIR__STAGE_NAME + 32];
  weir__await_chunk *chunks, *chunk; // all, and that in use
  uint32_t chunk_used;
  weir__line_state state;
  uint64_t since_ns, begin_ns;
  // Written by who has the line, read by all.
  _Atomic uint64_t where; // state, stage and token: see weir__line_set
  _Atomic uint64_t delivered, failed, dropped_count, graph_jobs, task_jobs, state_ns[WEIR__LINE_STATES];
  // Tasks. The failure is written by callbacks, of which one at a time is called.
  alignas(64) _Atomic uint32_t pending; // awaited events that are not done, and 1 while the token goes on without them
  weir_status task_status;
  uint32_t task_stage;
  char task_text[WEIR__TOKEN_TEXT];
  // Where the pipeline is traced.
  weir__trace_line *trace;
  weir__trace_origin origin;
  // Where ThreadSanitizer watches: the calls for the line's tokens; tasks that they awaited, and whether these are done.
  weir__point calls, tasks;
  bool took_tasks;
};

// Whether a token may enter a serial stage.
typedef struct weir__join {
  alignas(64) _Atomic uint32_t count; // 1 the token is there, 1 its turn has come
  uint32_t line;                      // of the token
} weir__join;

typedef struct weir__pipeline_stage {
  weir_stage_function function; // NULL: delivery
  void *user;
  weir_device *device;
  weir__join *joins; // NULL: parallel, or the first
  bool awaits;
  bool job;          // its tasks are collected for a graph
  weir__point calls; // of a serial one, where ThreadSanitizer watches
  char name[WEIR__STAGE_NAME];
} weir__pipeline_stage;

typedef struct weir__pipeline_thread {
  alignas(64) weir_pipeline *pipeline;
  pthread_t thread;
  bool started;
  uint32_t start;       // looks for items from here on
  uint32_t spin_rounds; // before it sleeps
  weir__random random;
  weir__worker *guest;       // of the context's CPU; NULL: it has none
  weir__pipeline_line *line; // whose token the thread is in a call for; NULL: none
} weir__pipeline_thread;

struct weir_pipeline {
  weir_context *context;
  weir__closer closer; // among those of the context, under its lock
  uint32_t flags, stage_count, line_count, thread_count;
  uint32_t last;      // index of the last stage, delivery if there is any
  uint32_t join_mask; // joins of a stage, less 1
  uint64_t all_lines; // bit each
  void (*deliver)(weir_token *token);
  void (*close_line)(void *user, uint32_t line, void *state);
  void *user;
  weir__pipeline_stage *stages; // stage_count, and delivery
  weir__join *joins;
  weir__pipeline_line *lines;
  uint32_t opened; // lines whose state was made
  weir__pipeline_thread *threads;
  _Atomic uint64_t *latencies;             // NULL: not noted
  weir__trace_pipeline *trace;             // NULL: not traced; else latencies are noted
  alignas(64) _Atomic uint64_t ready;      // items that can run, a bit each
  alignas(64) _Atomic uint64_t free_lines; // bit each; WEIR__SOURCE_PARKED
  _Atomic bool closed;                     // with WEIR__SOURCE_PARKED: the input has ended. Else: a line is missing
  _Atomic uint64_t next_number;            // written by the source
  _Atomic uint64_t ended_count;            // latencies noted
  alignas(64) _Atomic uint32_t control;
  _Atomic uint32_t sleepers, spinning, epoch; // threads; `epoch` is what sleepers sleep on
  _Atomic uint32_t lookouts;                  // of those that spin, who do so for long
  bool looks_out;
  _Atomic bool waits; // some token has waited for tasks
  _Atomic bool quit;
  _Atomic uint32_t running; // 1 from start to the end; waiters sleep on it
  _Atomic uint32_t in_callbacks;
  weir__lock lock; // guards what follows, and the beginning of a run
  weir_status first_failure;
  char first_text[WEIR__MESSAGE_BYTES + 64];
  _Atomic uint64_t start_ns, end_ns, ended_before;
  weir__point starts, calls; // where ThreadSanitizer watches
};

// The thread of a pipeline that this is; NULL in others.
extern _Thread_local weir__pipeline_thread *weir__pipeline_thread_now;

// The same line, in any thread.
static inline weir__pipeline_line *weir__pipeline_line_now(void) {
  return weir__pipeline_thread_now == NULL ? NULL : weir__pipeline_thread_now->line;
}

// Makes the source or a line an item that any thread may run.
void weir__pipeline_publish(weir_pipeline *pipeline, uint32_t item);

// The same with the context's lock held: who sleeps is woken once it is released.
void weir__pipeline_publish_held(weir_pipeline *pipeline, uint32_t item);

// Runs an item, and what follows from it that no other thread was offered.
void weir__pipeline_work(weir_pipeline *pipeline, weir__pipeline_thread *thread, uint32_t item);

void *weir__pipeline_thread_main(void *thread);

// Wakes what will be needed soon, where threads look for items: waking one after another takes longer than the first job.
void weir__pipeline_prewake(weir_pipeline *pipeline);

// Notes what the line is in from now on.
void weir__line_set(weir__pipeline_line *line, weir__line_state state);

// Whether a status is success, or one that no task ends with. Who fails with it fails with TASK_FAILED.
static inline bool weir__is_no_failure(weir_status status) {
  return status == WEIR_OK || status == WEIR_PENDING || status == WEIR_TIMEOUT;
}

// The line's token failed, in `stage`. A line that failed before stays as it was.
void weir__line_fail(weir__pipeline_line *line, uint32_t stage, weir_status status, const char *message);

// Has the devices start what they hold back.
void weir__pipeline_flush(weir_pipeline *pipeline);

// Submits a task that the token awaits, of which what the caller left open is filled in already; or launches a graph that nobody else
// has. What is short, and ready, the thread may run by itself.
weir_status weir__line_submit(weir__pipeline_line *line, const weir_task *task);
weir_status weir__line_launch(weir__pipeline_line *line, weir_graph *graph);

// Has the token await an event.
weir_status weir__line_await(weir__pipeline_line *line, weir_event *event);

// Frees the chunks of awaited events.
void weir__line_free_awaits(weir__pipeline_line *line);

// For the timeline: pipelines of a context that traces come and go.
void weir__pipeline_trace_open(weir_pipeline *pipeline);
void weir__pipeline_trace_close(weir_pipeline *pipeline);

// Where pipeline->trace is not NULL: the pipeline starts; the line is in `state` from now on; its token's stage is about to be
// called; it returned.
void weir__line_trace_start(weir__pipeline_line *line, uint64_t now_ns);
void weir__line_trace(weir__pipeline_line *line, weir__line_state state, uint64_t now_ns);
void weir__line_trace_call(weir__pipeline_line *line);
void weir__line_trace_return(weir__pipeline_line *line);

// Whether this thread must not wait for the pipeline. Then the error is set.
weir_status weir__pipeline_check_waiter(const weir_pipeline *pipeline, const char *what);

#endif // WEIR_PIPELINE_PIPELINE_H
