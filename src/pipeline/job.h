// SPDX-License-Identifier: Apache-2.0
//
// Jobs of stages with WEIR_STAGE_GRAPH: what a stage submits for a token is collected in a graph of the line's, and launched
// when the stage returns.
//
// DESIGN. The graph's own record is the collection. A token whose tasks are those of the graph, one after the other, changes values
// and host memory in place: nothing else has the graph, and no launch of it is in flight, since the line's last token ended after
// its own. At the first task that differs, those before it are submitted from the record, and the rest as they come. Then the
// graph stays, until two jobs in a row were alike and not like it: it is emptied, and the next one is recorded.
#ifndef WEIR_PIPELINE_JOB_H
#define WEIR_PIPELINE_JOB_H

#include "graph/plan.h"
#include "pipeline/pipeline.h"

typedef enum weir__line_job_mode {
  WEIR__JOB_SINGLE, // tasks are submitted as they come
  WEIR__JOB_RECORD, // they are added to the graph, which was empty
  WEIR__JOB_FOLLOW, // they are compared with those of the graph
} weir__line_job_mode;

// Guarded by who has the line.
typedef struct weir__line_job {
  weir_graph *graph; // NULL: there is none yet
  weir__line_job_mode mode;
  uint32_t count;      // tasks of the token so far that the graph has
  bool record;         // the next job is recorded if the graph is empty
  bool recording;      // this one is, or was until it had a task that no graph takes
  uint64_t shape;      // of the token's tasks so far, if they are submitted as they come
  uint64_t last_shape; // of the job before, if its tasks were; else 0
  uint64_t no_graph;   // a shape that no graph takes; 0: none is known
} weir__line_job;

typedef enum weir__job_kind {
  WEIR__JOB_TASK,
  WEIR__JOB_COPY_IN,
  WEIR__JOB_COPY_OUT,
  WEIR__JOB_COPY,
  WEIR__JOB_FILL,
} weir__job_kind;

// What a stage submits, as it said it: nothing is checked yet.
typedef struct weir__job_step {
  weir__job_kind kind;
  const weir_task *task;           // of a task
  weir_buffer *to, *from;          // of copies and fills, as far as they have them
  uint64_t to_offset, from_offset; //
  uint64_t bytes;                  //
  void *host;                      // the caller's memory
  uint32_t pattern;                //
} weir__job_step;

// The stage is about to be called, and has returned. The end launches what was collected; for a stage that failed task by task,
// since that may be part of a job only. A status that is not OK: a task could not be submitted.
void weir__job_begin(weir__pipeline_line *line);
weir_status weir__job_end(weir__pipeline_line *line, weir_status stage_status);

// Collects a step, or submits it if the line has no job now.
weir_status weir__job_add(weir__pipeline_line *line, const weir__job_step *step);

// Gives every line of a pipeline its jobs. False: no memory.
bool weir__jobs_create(weir_pipeline *pipeline);
void weir__jobs_destroy(weir_pipeline *pipeline);

#endif // WEIR_PIPELINE_JOB_H
