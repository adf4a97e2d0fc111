// SPDX-License-Identifier: Apache-2.0
//
// A context on the card whose tasks are calls of the libraries, with handles for each lane.
#ifndef WEIR_BENCH_LIBRARY_WEIR_CALLS_H
#define WEIR_BENCH_LIBRARY_WEIR_CALLS_H

#include <weir/enqueue.h>
#include <weir/weir.h>

#include "libraries.h"

typedef struct weir_calls {
  weir_context *context;
  int rows; // of potrf at most
  uint32_t lane_count;
  call_lane *lanes; // each as soon as it was prepared
} weir_calls;

// weir_enqueue_code.flags of all functions: 0, or with --pure WEIR_ENQUEUE_PURE.
extern uint32_t weir_calls_flags;

// `issue`: weir_issue.
void weir_calls_open(weir_calls *calls, int issue, int rows);
// Releases the context, and then the handles.
void weir_calls_close(weir_calls *calls);

// weir_enqueue_code.prepare, with the weir_calls as `data`: makes the lane's handles.
weir_status weir_calls_prepare(const weir_enqueue *call);

// The handles of a call, set to its stream.
call_lane weir_calls_lane(const weir_calls *calls, const weir_enqueue *call);

// Ends the program with Weir's message when a call failed.
#define WEIR_CHECK_CALL(call) weir_calls_check((call), #call, __FILE__, __LINE__)
void weir_calls_check(weir_status status, const char *call, const char *file, int line);

#endif // WEIR_BENCH_LIBRARY_WEIR_CALLS_H
