// SPDX-License-Identifier: Apache-2.0
//
// The factorisation without Weir. Each tile has a stream, so that updates of one tile need no events. What potrf and trsm make
// is read on other streams: an event stands for it, and each stream waits for it once.
#include <stdio.h>
#include <stdlib.h>

#include "cholesky.h"

enum { MOST_STREAMS = 32 };

typedef struct hand_run {
  cholesky *problem;
  call_lane lanes[MOST_STREAMS];
  int streams;
  CUdeviceptr tiles;
  CUevent *events; // by tile: it is factored
  bool *waits;     // by tile and stream: that waits for it
  CUevent fork, joins[MOST_STREAMS];
} hand_run;

static int stream_of(const hand_run *hand, const cholesky_operation *operation) {
  return (operation->i * 7 + operation->j * 3) % hand->streams;
}

static CUdeviceptr tile_of(const hand_run *hand, int number) {
  return number < 0 ? 0 : hand->tiles + (size_t)number * hand->problem->tile_bytes;
}

static void enqueue(hand_run *hand, const cholesky_operation *operation) {
  const cholesky *problem = hand->problem;
  int stream = stream_of(hand, operation), operands[2];
  const call_lane *lane = &hand->lanes[stream];
  cholesky_operands(operation, operands);
  for (int o = 0; o < 2 && hand->streams > 1; o++) {
    if (operands[o] < 0) continue;
    bool *waits = &hand->waits[operands[o] * hand->streams + stream];
    if (!*waits) CHECK(lib.p_cuStreamWaitEvent(lane->stream, hand->events[operands[o]], 0));
    *waits = true;
  }
  int tile = cholesky_number(operation->i, operation->j);
  CHECK(cholesky_call(problem, operation, lane, tile_of(hand, operands[0]), tile_of(hand, operands[1]),
                      tile_of(hand, tile)));
  if (hand->streams == 1 || operation->what > TRSM) return;
  CHECK(lib.p_cuEventRecord(hand->events[tile], lane->stream));
  hand->waits[tile * hand->streams + stream] = true; // in order
}

static void enqueue_all(hand_run *hand) {
  for (int i = 0; i < hand->problem->stored * hand->streams; i++) hand->waits[i] = false;
  for (int i = 0; i < hand->problem->operation_count; i++) enqueue(hand, &hand->problem->operations[i]);
}

static CUgraphExec capture(hand_run *hand) {
  CUgraph graph;
  CUgraphExec exec;
  CHECK(lib.p_cuStreamBeginCapture(hand->lanes[0].stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(lib.p_cuEventRecord(hand->fork, hand->lanes[0].stream));
  for (int s = 1; s < hand->streams; s++) CHECK(lib.p_cuStreamWaitEvent(hand->lanes[s].stream, hand->fork, 0));
  enqueue_all(hand);
  for (int s = 1; s < hand->streams; s++) {
    CHECK(lib.p_cuEventRecord(hand->joins[s], hand->lanes[s].stream));
    CHECK(lib.p_cuStreamWaitEvent(hand->lanes[0].stream, hand->joins[s], 0));
  }
  CHECK(lib.p_cuStreamEndCapture(hand->lanes[0].stream, &graph));
  CHECK(lib.p_cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(lib.p_cuGraphDestroy(graph));
  return exec;
}

static void create(hand_run *hand, cholesky *problem, int streams) {
  hand->problem = problem;
  hand->streams = streams;
  for (int s = 0; s < streams; s++) {
    hand->lanes[s] = lane_create(problem->tile, NULL, 0);
    CHECK(lib.p_cuEventCreate(&hand->joins[s], CU_EVENT_DISABLE_TIMING));
  }
  CHECK(lib.p_cuEventCreate(&hand->fork, CU_EVENT_DISABLE_TIMING));
  CHECK(lib.p_cuMemAlloc(&hand->tiles, (size_t)problem->stored * problem->tile_bytes));
  hand->events = gpu_memory((size_t)problem->stored, sizeof *hand->events);
  hand->waits = gpu_memory((size_t)problem->stored * (size_t)streams, sizeof *hand->waits);
  for (int i = 0; i < problem->stored; i++) CHECK(lib.p_cuEventCreate(&hand->events[i], CU_EVENT_DISABLE_TIMING));
}

static void destroy(hand_run *hand) {
  for (int i = 0; i < hand->problem->stored; i++) CHECK(lib.p_cuEventDestroy(hand->events[i]));
  for (int s = 0; s < hand->streams; s++) {
    lane_destroy(&hand->lanes[s], true);
    CHECK(lib.p_cuEventDestroy(hand->joins[s]));
  }
  CHECK(lib.p_cuEventDestroy(hand->fork));
  CHECK(lib.p_cuMemFree(hand->tiles));
  free(hand->events);
  free(hand->waits);
}

void cholesky_by_hand(cholesky *problem, int streams, bool graph, int passes, table *report) {
  hand_run hand;
  create(&hand, problem, streams);
  CUgraphExec exec = NULL;
  double times[REPORT_MOST];
  char subject[64], way[64];
  for (int pass = 0; pass <= passes; pass++) {
    CHECK(lib.p_cuMemcpyDtoD(hand.tiles, problem->matrix, (size_t)problem->stored * problem->tile_bytes));
    CHECK(lib.p_cuCtxSynchronize());
    double start = gpu_now_us();
    if (graph) {
      if (exec == NULL) exec = capture(&hand);
      CHECK(lib.p_cuGraphLaunch(exec, hand.lanes[0].stream));
    } else {
      enqueue_all(&hand);
    }
    CHECK(lib.p_cuCtxSynchronize());
    times[pass] = 1e-3 * (gpu_now_us() - start);
  }
  snprintf(subject, sizeof subject, "cholesky %d, tiles of %d", problem->size, problem->tile);
  snprintf(way, sizeof way, "by hand, %d stream%s%s", streams, streams == 1 ? "" : "s", graph ? ", graph" : "");
  cholesky_compare(problem, way, hand.tiles);
  report_add(report, subject, way, "ms", times, passes + 1);
  if (exec != NULL) CHECK(lib.p_cuGraphExecDestroy(exec));
  destroy(&hand);
}

void cholesky_by_solver(const cholesky *problem, int passes, table *report) {
  int n = problem->size, work_size;
  call_lane own = lane_create(problem->tile, NULL, 0);
  size_t bytes = (size_t)n * (size_t)n * sizeof(double);
  CUdeviceptr matrix, work;
  CHECK(lib.p_cuMemAlloc(&matrix, bytes));
  CHECK(lib.p_cusolverDnDpotrf_bufferSize(own.solver, CUBLAS_FILL_MODE_LOWER, n, NULL, n, &work_size));
  CHECK(lib.p_cuMemAlloc(&work, (size_t)work_size * sizeof(double) + sizeof(int)));
  double times[REPORT_MOST];
  for (int pass = 0; pass <= passes; pass++) {
    CHECK(lib.p_cuMemsetD32(matrix, 0, bytes / 4));
    for (int column = 0; column < n; column++) { // only the time matters: a diagonal matrix
      double value = n;
      CHECK(lib.p_cuMemcpyHtoD(matrix + ((size_t)column * (size_t)n + (size_t)column) * sizeof value, &value,
                               sizeof value));
    }
    CHECK(lib.p_cuCtxSynchronize());
    double start = gpu_now_us();
    CHECK(lib.p_cusolverDnDpotrf(own.solver, CUBLAS_FILL_MODE_LOWER, n, (double *)(uintptr_t)matrix, n,
                                 (double *)(uintptr_t)work, work_size,
                                 (int *)(void *)((double *)(uintptr_t)work + work_size)));
    CHECK(lib.p_cuCtxSynchronize());
    times[pass] = 1e-3 * (gpu_now_us() - start);
  }
  char subject[64];
  snprintf(subject, sizeof subject, "cholesky %d, tiles of %d", problem->size, problem->tile);
  report_add(report, subject, "cuSOLVER, whole", "ms", times, passes + 1);
  CHECK(lib.p_cuMemFree(work));
  CHECK(lib.p_cuMemFree(matrix));
  lane_destroy(&own, true);
}
