// SPDX-License-Identifier: Apache-2.0
//
// What lines did, for the timeline of a context that traces. In others pipeline->trace is NULL, and nothing here is called.
#include <stdio.h>

#include "base/clock.h"
#include "pipeline/pipeline.h"

static uint64_t since_start(const weir_pipeline *pipeline, uint64_t clock_ns) {
  return clock_ns - pipeline->context->host.start_ns;
}

void weir__pipeline_trace_open(weir_pipeline *pipeline) {
  weir_context *context = pipeline->context;
  if (context->host.trace == NULL) return;
  weir__trace_stage stages[WEIR_PIPELINE_MOST_STAGES + 1];
  for (uint32_t i = 0; i <= pipeline->last; i++) {
    snprintf(stages[i].name, sizeof stages[i].name, "%s", pipeline->stages[i].name);
    stages[i].serial = i == 0 || pipeline->stages[i].joins != NULL;
  }
  weir__context_lock(context);
  pipeline->trace = weir__trace_add_pipeline(context->host.trace, stages, pipeline->last + 1, pipeline->line_count);
  weir__context_unlock(context);
  if (pipeline->trace == NULL) return;
  for (uint32_t i = 0; i < pipeline->line_count; i++) {
    pipeline->lines[i].trace = weir__trace_line_at(pipeline->trace, i);
    pipeline->lines[i].origin = (weir__trace_origin){.pipeline = pipeline->trace->id, .line = i};
  }
}

void weir__pipeline_trace_close(weir_pipeline *pipeline) {
  if (pipeline->trace == NULL) return;
  weir__context_lock(pipeline->context);
  weir__trace_release_pipeline(pipeline->trace);
  weir__context_unlock(pipeline->context);
}

void weir__line_trace_start(weir__pipeline_line *line, uint64_t now_ns) {
  const weir__trace_line_span rest = {.start_ns = since_start(line->pipeline, now_ns), .doing = WEIR__TRACE_FREE};
  weir__trace_line_begin(line->trace, &rest, false); // how long the pipeline rested is nobody's stall
}

void weir__line_trace(weir__pipeline_line *line, weir__line_state state, uint64_t now_ns) {
  static const weir__trace_doing doing[WEIR__LINE_STATES] = {[WEIR__LINE_FREE] = WEIR__TRACE_FREE,
                                                             [WEIR__LINE_BUSY] = WEIR__TRACE_BUSY,
                                                             [WEIR__LINE_TURN] = WEIR__TRACE_TURN,
                                                             [WEIR__LINE_TASKS] = WEIR__TRACE_TASKS,
                                                             [WEIR__LINE_READY] = WEIR__TRACE_THREAD};
  const weir__trace_line_span next = {.start_ns = since_start(line->pipeline, now_ns),
                                      .token = line->token.number,
                                      .doing = doing[state],
                                      .stage = (uint8_t)line->stage,
                                      .has_token = state != WEIR__LINE_FREE && !line->ended};
  // Who gives a token its turn makes it ready. A token that goes on by itself had its turn already.
  bool had_turn = line->state == WEIR__LINE_TURN && state != WEIR__LINE_READY;
  weir__trace_line_begin(line->trace, &next, !had_turn);
}

void weir__line_trace_call(weir__pipeline_line *line) {
  line->origin.stage = line->stage;
  line->origin.token = line->token.number;
  weir__this_thread.origin = &line->origin;
}

void weir__line_trace_return(weir__pipeline_line *line) {
  weir__this_thread.origin = NULL;
  weir__trace_line_end(line->trace, since_start(line->pipeline, weir__clock_ns()), !line->ended);
}
