// SPDX-License-Identifier: Apache-2.0
#include "weir_calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "../gpu/timing.h"

void weir_calls_check(weir_status status, const char *call, const char *file, int line) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "weir-bench-library: %s:%d: %s: %s: %s\n", file, line, call, weir_status_name(status),
          weir_last_error());
  exit(1);
}

uint32_t weir_calls_flags;

void weir_calls_open(weir_calls *calls, int issue, int rows) {
  weir_context_options options = {.devices = "cuda:0", .issue = (weir_issue)issue};
  *calls = (weir_calls){.rows = rows};
  WEIR_CHECK_CALL(weir_context_create(&options, &calls->context));
  calls->lane_count = weir_device_information(weir_context_device(calls->context, 0))->enqueue_lanes;
  calls->lanes = gpu_memory(calls->lane_count, sizeof *calls->lanes);
}

void weir_calls_close(weir_calls *calls) {
  WEIR_CHECK_CALL(weir_context_release(calls->context));
  for (uint32_t i = 0; i < calls->lane_count; i++) {
    if (calls->lanes[i].blas != NULL) lane_destroy(&calls->lanes[i], false);
  }
  free(calls->lanes);
}

weir_status weir_calls_prepare(const weir_enqueue *call) {
  weir_calls *calls = call->data;
  if (calls->lanes[call->lane].blas == NULL) calls->lanes[call->lane] = lane_create(calls->rows, call->queue, 0);
  return WEIR_OK;
}

call_lane weir_calls_lane(const weir_calls *calls, const weir_enqueue *call) {
  call_lane own = calls->lanes[call->lane];
  if (own.stream == call->queue) return own;
  own.stream = call->queue;
  lib.p_cublasSetStream(own.blas, own.stream);
  lib.p_cusolverDnSetStream(own.solver, own.stream);
  calls->lanes[call->lane].stream = own.stream;
  return own;
}
