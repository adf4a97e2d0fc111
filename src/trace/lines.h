// SPDX-License-Identifier: Apache-2.0
//
// What the lines of pipelines did: part of a trace. A line's log is written by who has the line, with or without the window's
// lock, and may be read and cleared meanwhile, with the window's lock held: it has a lock of its own, under which no other is taken.
#ifndef WEIR_TRACE_LINES_H
#define WEIR_TRACE_LINES_H

#include "trace/trace.h"

typedef enum weir__trace_doing {
  WEIR__TRACE_BUSY,   // a stage, or delivery, is called
  WEIR__TRACE_TURN,   // the token waits for tokens before it, at a serial stage
  WEIR__TRACE_TASKS,  // the token waits for tasks, after a stage
  WEIR__TRACE_THREAD, // the token waits for a thread
  WEIR__TRACE_FREE,   // there is no token
} weir__trace_doing;

// One stretch of time of a line. Times are since the context was created.
typedef struct weir__trace_line_span {
  uint64_t start_ns, end_ns;
  uint64_t token;
  weir__trace_doing doing;
  uint8_t stage;
  bool has_token; // not where doing is FREE, nor once the first stage said that there is no more input
} weir__trace_line_span;

typedef struct weir__trace_stage {
  char name[48];
  bool serial;
} weir__trace_stage;

typedef struct weir__trace_line weir__trace_line;

typedef struct weir__trace_pipeline {
  struct weir__trace_pipeline *next;
  uint32_t id;         // 0, 1, ... in the order of creation
  uint32_t line_count; //
  uint32_t stage_count;
  bool released;
  weir__trace_stage *stages; // delivery among them, if there is any
  weir__trace_line *lines;
} weir__trace_pipeline;

// Adds a pipeline, which the trace owns; with the window's lock held. NULL: no memory, which is counted.
weir__trace_pipeline *weir__trace_add_pipeline(weir__trace *trace, const weir__trace_stage *stages,
                                               uint32_t stage_count, uint32_t line_count);

// The pipeline is no more: it goes when the trace is cleared. With the window's lock held.
void weir__trace_release_pipeline(weir__trace_pipeline *pipeline);

weir__trace_line *weir__trace_line_at(const weir__trace_pipeline *pipeline, uint32_t line);

// What the line did so far is over, and is kept if `keep`; it does `next` from next->start_ns on. For the present.
void weir__trace_line_begin(weir__trace_line *line, const weir__trace_line_span *next, bool keep);

// What the line did so far is over, and is kept; what comes next is not known yet. `has_token`: whether the token is one.
void weir__trace_line_end(weir__trace_line *line, uint64_t end_ns, bool has_token);

// The spans of a line at one moment: those that are over, and the present one, until `now_ns`. With the window's lock held.
typedef struct weir__trace_line_reader {
  const struct weir__trace_line_chunk *chunk;
  size_t at, left;
  weir__trace_line_span open;
  bool has_open, span_is_open; // the last one read was the present
} weir__trace_line_reader;

void weir__trace_line_read(weir__trace_line *line, uint64_t now_ns, weir__trace_line_reader *out_reader);

// False: there are no more.
bool weir__trace_line_next(weir__trace_line_reader *reader, weir__trace_line_span *out_span);

// "busy", "turn", "tasks", "thread" or "free".
const char *weir__trace_doing_name(weir__trace_doing doing);

// What a span is called: its stage's name, or what it waits for. `text` may be used for it.
const char *weir__trace_line_span_name(const weir__trace_pipeline *pipeline, const weir__trace_line_span *span,
                                       char text[32]);

// Where writers cut what lines do at present.
void weir__trace_set_now(weir__trace *trace, uint64_t now_ns);

// For the trace itself: everything of pipelines; spans and pipelines that are released; spans that were lost.
void weir__trace_free_pipelines(weir__trace *trace);
void weir__trace_clear_pipelines(weir__trace *trace);
uint64_t weir__trace_dropped_spans(const weir__trace *trace);

#endif // WEIR_TRACE_LINES_H
