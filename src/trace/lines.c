// SPDX-License-Identifier: Apache-2.0
#include "trace/lines.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/lock.h"
#include "trace/record.h"

enum { SPANS_AT_ONCE = 256 };

typedef struct weir__trace_line_chunk {
  struct weir__trace_line_chunk *next;
  weir__trace_line_span spans[SPANS_AT_ONCE];
} weir__trace_line_chunk;

struct weir__trace_line {
  weir__lock lock;
  weir__trace_line_chunk *first, *last;
  size_t count;
  uint64_t dropped;
  weir__trace_line_span open; // the present
  bool has_open;
};

// ---------------------------------------------------------------------------------------------------------------
// Logs

static void append(weir__trace_line *line, const weir__trace_line_span *span) {
  size_t at = line->count % SPANS_AT_ONCE;
  if (at == 0) {
    weir__trace_line_chunk *chunk = weir__allocate(sizeof *chunk);
    if (chunk == NULL) {
      line->dropped++;
      return;
    }
    chunk->next = NULL;
    if (line->last != NULL)
      line->last->next = chunk;
    else
      line->first = chunk;
    line->last = chunk;
  }
  line->last->spans[at] = *span;
  line->count++;
}

static void close_open(weir__trace_line *line, uint64_t end_ns, bool keep) {
  line->open.end_ns = end_ns;
  if (line->has_open && keep) append(line, &line->open);
  line->has_open = false;
}

void weir__trace_line_begin(weir__trace_line *line, const weir__trace_line_span *next, bool keep) {
  weir__lock_acquire(&line->lock);
  close_open(line, next->start_ns, keep);
  line->open = *next;
  line->has_open = true;
  weir__lock_release(&line->lock);
}

void weir__trace_line_end(weir__trace_line *line, uint64_t end_ns, bool has_token) {
  weir__lock_acquire(&line->lock);
  line->open.has_token = has_token;
  close_open(line, end_ns, true);
  weir__lock_release(&line->lock);
}

static void clear(weir__trace_line *line) {
  weir__lock_acquire(&line->lock);
  while (line->first != NULL) {
    weir__trace_line_chunk *chunk = line->first;
    line->first = chunk->next;
    weir__free(chunk);
  }
  line->last = NULL;
  line->count = 0;
  line->dropped = 0;
  weir__lock_release(&line->lock);
}

// Chunks stay and spans do not change until the trace is cleared, so that reading goes on without the lock.
void weir__trace_line_read(weir__trace_line *line, uint64_t now_ns, weir__trace_line_reader *out_reader) {
  weir__lock_acquire(&line->lock);
  *out_reader = (weir__trace_line_reader){.chunk = line->first, .left = line->count, .open = line->open};
  out_reader->has_open = line->has_open && line->open.doing != WEIR__TRACE_FREE;
  weir__lock_release(&line->lock);
  out_reader->open.end_ns = now_ns > out_reader->open.start_ns ? now_ns : out_reader->open.start_ns;
}

bool weir__trace_line_next(weir__trace_line_reader *reader, weir__trace_line_span *out_span) {
  reader->span_is_open = reader->left == 0 && reader->has_open;
  if (reader->span_is_open) {
    *out_span = reader->open;
    reader->has_open = false;
    return true;
  }
  if (reader->left == 0) return false;
  *out_span = reader->chunk->spans[reader->at++];
  if (--reader->left > 0 && reader->at == SPANS_AT_ONCE) {
    reader->chunk = reader->chunk->next;
    reader->at = 0;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Pipelines

static void free_pipeline(weir__trace_pipeline *pipeline) {
  for (uint32_t i = 0; pipeline->lines != NULL && i < pipeline->line_count; i++) clear(&pipeline->lines[i]);
  weir__free(pipeline->lines);
  weir__free(pipeline->stages);
  weir__free(pipeline);
}

weir__trace_pipeline *weir__trace_add_pipeline(weir__trace *trace, const weir__trace_stage *stages,
                                               uint32_t stage_count, uint32_t line_count) {
  weir__trace_pipeline *pipeline = weir__allocate_zeroed(sizeof *pipeline);
  if (pipeline != NULL) {
    pipeline->stages = weir__allocate(stage_count * sizeof *stages);
    pipeline->lines = weir__allocate_zeroed(line_count * sizeof *pipeline->lines);
    pipeline->stage_count = stage_count;
    pipeline->line_count = line_count;
  }
  if (pipeline == NULL || pipeline->stages == NULL || pipeline->lines == NULL) {
    if (pipeline != NULL) free_pipeline(pipeline);
    trace->dropped++;
    return NULL;
  }
  memcpy(pipeline->stages, stages, stage_count * sizeof *stages);
  pipeline->id = trace->pipelines_made++;
  weir__trace_pipeline **link = &trace->pipelines;
  while (*link != NULL) link = &(*link)->next;
  *link = pipeline;
  return pipeline;
}

void weir__trace_release_pipeline(weir__trace_pipeline *pipeline) {
  pipeline->released = true;
}

weir__trace_line *weir__trace_line_at(const weir__trace_pipeline *pipeline, uint32_t line) {
  return &pipeline->lines[line];
}

// Frees pipelines, or only those that are released; of the others, what is kept of them.
static void clear_pipelines(weir__trace *trace, bool all) {
  for (weir__trace_pipeline **link = &trace->pipelines; *link != NULL;) {
    weir__trace_pipeline *pipeline = *link;
    if (all || pipeline->released) {
      *link = pipeline->next;
      free_pipeline(pipeline);
    } else {
      for (uint32_t i = 0; i < pipeline->line_count; i++) clear(&pipeline->lines[i]);
      link = &pipeline->next;
    }
  }
}

void weir__trace_set_now(weir__trace *trace, uint64_t now_ns) {
  trace->now_ns = now_ns;
}

void weir__trace_free_pipelines(weir__trace *trace) {
  clear_pipelines(trace, true);
}

void weir__trace_clear_pipelines(weir__trace *trace) {
  clear_pipelines(trace, false);
}

uint64_t weir__trace_dropped_spans(const weir__trace *trace) {
  uint64_t dropped = 0;
  for (const weir__trace_pipeline *pipeline = trace->pipelines; pipeline != NULL; pipeline = pipeline->next) {
    for (uint32_t i = 0; i < pipeline->line_count; i++) {
      weir__lock_acquire(&pipeline->lines[i].lock);
      dropped += pipeline->lines[i].dropped;
      weir__lock_release(&pipeline->lines[i].lock);
    }
  }
  return dropped;
}

// ---------------------------------------------------------------------------------------------------------------
// Names

const char *weir__trace_doing_name(weir__trace_doing doing) {
  static const char *const names[] = {"busy", "turn", "tasks", "thread", "free"};
  return names[doing];
}

const char *weir__trace_line_span_name(const weir__trace_pipeline *pipeline, const weir__trace_line_span *span,
                                       char text[32]) {
  static const char *const waits[] = {[WEIR__TRACE_TURN] = "waits for its turn",
                                      [WEIR__TRACE_TASKS] = "waits for tasks",
                                      [WEIR__TRACE_THREAD] = "waits for a thread",
                                      [WEIR__TRACE_FREE] = "no token"};
  if (span->doing != WEIR__TRACE_BUSY) return waits[span->doing];
  if (pipeline->stages[span->stage].name[0] != '\0') return pipeline->stages[span->stage].name;
  snprintf(text, 32, "stage %u", span->stage);
  return text;
}
