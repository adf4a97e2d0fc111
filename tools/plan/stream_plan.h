// SPDX-License-Identifier: Apache-2.0
//
// The plan of a recorded stream: src/plan and tools/plan put to the tasks, buffers and times of src/stream.
#ifndef WEIR_TOOLS_PLAN_STREAM_PLAN_H
#define WEIR_TOOLS_PLAN_STREAM_PLAN_H

#include "plan/graph.h"
#include "plan/hazards.h"
#include "stream/stream.h"

typedef struct weir__stream_plan {
  const weir__stream *stream; // must outlive the plan
  weir__plan_mode mode;
  uint32_t window;            // 0: no limit
  weir__plan_hazards hazards; // with those that renaming removes
  weir__plan_graph graph;     // in BUFFER mode without them
  weir__plan_graph reduced;
  double *task_us; // per task: its kernels' time
  uint32_t *levels;
  uint32_t level_count;
  double *ends;  // when each task ends at the earliest, on unlimited hardware and with any window
  double *ranks; // the heaviest path from the task's start to the end
  uint32_t *critical_path;
  uint32_t critical_count;
  double serial_us;   // one task after another
  double critical_us; // the critical path of this mode
  double work_us;     // what the recorded device needs for all work
  double bound_us;    // the larger of work_us and the critical path by buffer, whatever the mode
  double makespan_us; // with the window, on unlimited hardware
} weir__stream_plan;

// Plans a stream. On failure `out_plan` is empty. Errors: OUT_OF_MEMORY.
weir_status weir__stream_plan_create(const weir__stream *stream, weir__plan_mode mode, uint32_t window,
                                     weir__stream_plan *out_plan);

void weir__stream_plan_free(weir__stream_plan *plan);

// Critical path of a stream in a mode, and its bound, as in weir__stream_plan. Either output may be NULL. On failure
// they are 0. Errors: OUT_OF_MEMORY.
weir_status weir__stream_limits(const weir__stream *stream, weir__plan_mode mode, double *out_critical_us,
                                double *out_bound_us);

// "serial", "address" or "buffer"; and the three separated by '|', for options.
const char *weir__plan_mode_name(weir__plan_mode mode);
#define WEIR__PLAN_MODES "serial|address|buffer"

#endif // WEIR_TOOLS_PLAN_STREAM_PLAN_H
