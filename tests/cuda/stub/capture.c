// SPDX-License-Identifier: Apache-2.0
//
// Capture of streams into graphs. A stream that is being captured has a frontier: the nodes that its next one comes after. An
// event that is recorded there names a frontier; another stream that waits for it joins the capture.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { MOST_STREAMS = 32 };

struct stub_capture {
  stub_capture *next;
  uint64_t id;
  CUgraph graph;
  bool own; // the graph was made for it, and is given out at the end
  bool invalid;
  CUstreamCaptureMode mode;
  pthread_t thread;
  CUstream streams[MOST_STREAMS]; // the first one began it
  uint32_t stream_count;
};

static stub_capture *captures;
static uint64_t last_id;
static uint64_t walked; // nodes of graphs in which captures began and ended
static _Thread_local CUstreamCaptureMode thread_mode;

static void set_frontier(CUgraphNode **frontier, uint32_t *count, const CUgraphNode *nodes, size_t node_count) {
  CUgraphNode *copy = node_count == 0 ? NULL : stub_allocate(node_count * sizeof *copy);
  if (node_count > 0) memcpy(copy, nodes, node_count * sizeof *copy);
  free(*frontier);
  *frontier = copy;
  *count = (uint32_t)node_count;
}

static void join(stub_capture *capture, CUstream stream) {
  if (capture->stream_count == MOST_STREAMS) abort();
  capture->streams[capture->stream_count++] = stream;
  stream->capture = capture;
}

// Takes all streams out, and frees it.
static void forget(stub_capture *capture) {
  for (uint32_t i = 0; i < capture->stream_count; i++) {
    CUstream stream = capture->streams[i];
    stream->capture = NULL;
    set_frontier(&stream->frontier, &stream->frontier_count, NULL, 0);
  }
  stub_capture **link = &captures;
  while (*link != capture) link = &(*link)->next;
  *link = capture->next;
  free(capture);
}

void stub_capture_forget_all(void) {
  while (captures != NULL) forget(captures);
  walked = 0;
}

static stub_capture *find(uint64_t id) {
  stub_capture *capture = captures;
  while (capture != NULL && capture->id != id) capture = capture->next;
  return capture;
}

void stub_capture_invalidate(CUstream stream) {
  if (stream->capture != NULL) stream->capture->invalid = true;
}

void stub_capture_leave(CUstream stream) {
  stub_capture *capture = stream->capture;
  if (capture == NULL) return;
  stub_violation("cuStreamDestroy: the stream is being captured");
  if (capture->own) stub_graph_destroy(capture->graph);
  forget(capture);
}

bool stub_capture_forbids(void) {
  bool forbids = false;
  for (stub_capture *capture = captures; capture != NULL; capture = capture->next) {
    bool own = pthread_equal(capture->thread, pthread_self()) && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
               thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    bool any = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!own && !any) continue;
    capture->invalid = forbids = true;
  }
  return forbids;
}

CUresult stub_capture_work(CUstream stream, stub_work *work) {
  CUgraphNode node;
  if (stream->capture->invalid) {
    stub_work_release(work);
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  CUresult result =
      stub_graph_add(&node, stream->capture->graph, stream->frontier, stream->frontier_count, work, "capture");
  if (result == CUDA_SUCCESS) set_frontier(&stream->frontier, &stream->frontier_count, &node, 1);
  return result;
}

void stub_capture_event_clear(CUevent event) {
  event->capture_id = 0;
  set_frontier(&event->frontier, &event->frontier_count, NULL, 0);
}

CUresult stub_capture_record(CUstream stream, CUevent event) {
  if (stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  stub_ticket_release(event->ticket);
  event->ticket = NULL;
  event->capture_id = stream->capture->id;
  set_frontier(&event->frontier, &event->frontier_count, stream->frontier, stream->frontier_count);
  return CUDA_SUCCESS;
}

bool stub_capture_has_event(CUevent event) {
  return event->capture_id != 0 && find(event->capture_id) != NULL;
}

CUresult stub_capture_wait(CUstream stream, CUevent event) {
  stub_capture *of_event = event->capture_id != 0 ? find(event->capture_id) : NULL;
  if (stream->capture != NULL && stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (of_event == NULL || (stream->capture != NULL && stream->capture != of_event)) {
    stub_capture_invalidate(stream);
    if (of_event != NULL) of_event->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (stream->capture == NULL) join(of_event, stream);
  CUgraphNode *all = stub_allocate((stream->frontier_count + event->frontier_count + 1) * sizeof *all);
  uint32_t count = 0;
  for (uint32_t i = 0; i < stream->frontier_count; i++) all[count++] = stream->frontier[i];
  for (uint32_t i = 0; i < event->frontier_count; i++) {
    bool listed = false;
    for (uint32_t j = 0; j < count; j++) listed |= all[j] == event->frontier[i];
    if (!listed) all[count++] = event->frontier[i];
  }
  set_frontier(&stream->frontier, &stream->frontier_count, all, count);
  free(all);
  return CUDA_SUCCESS;
}

static CUresult begin(CUstream stream, CUgraph graph, bool own, const CUgraphNode *nodes, size_t count,
                      CUstreamCaptureMode mode) {
  stub_capture *capture = stub_allocate(sizeof *capture);
  *capture = (stub_capture){
      .next = captures, .id = ++last_id, .graph = graph, .own = own, .mode = mode, .thread = pthread_self()};
  captures = capture;
  join(capture, stream);
  walked += graph->count;
  set_frontier(&stream->frontier, &stream->frontier_count, nodes, count);
  return CUDA_SUCCESS;
}

uint64_t stub_capture_walked(void) {
  pthread_mutex_lock(&stub.lock);
  uint64_t nodes = walked;
  pthread_mutex_unlock(&stub.lock);
  return nodes;
}

// The stream, if it may be captured.
static CUresult check_begin(CUstream handle, CUstreamCaptureMode mode, const char *function, CUstream *out_stream) {
  *out_stream = stub_stream_of(handle, function);
  if (*out_stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
  if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (*out_stream == &(*out_stream)->context->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return (*out_stream)->capture != NULL ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  STUB_ENTER(cuStreamBeginCapture_v2, STUB_CONTEXT);
  CUstream stream;
  CUresult result = check_begin(handle, mode, "cuStreamBeginCapture", &stream);
  if (result != CUDA_SUCCESS) return stub_leave(result);
  return stub_leave(begin(stream, stub_graph_create(), true, NULL, 0, mode));
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode *dependencies,
                                     const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode) {
  STUB_ENTER(cuStreamBeginCaptureToGraph, STUB_CONTEXT);
  CUstream stream;
  const char *function = "cuStreamBeginCaptureToGraph";
  CUresult result = check_begin(handle, mode, function, &stream);
  if (result != CUDA_SUCCESS) return stub_leave(result);
  if (!stub_object_check(graph, STUB_GRAPH, function)) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  bool good = edges == NULL && stub_graph_check_dependencies(graph, dependencies, count, function);
  if (!good) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  return stub_leave(begin(stream, graph, false, dependencies, count, mode));
}

// Whether all that was put into other streams comes before the end of the first.
static bool is_joined(const stub_capture *capture) {
  uint32_t count = capture->graph->count;
  walked += count;
  bool *before = stub_allocate(count + 1);
  const struct CUstream_st *first = capture->streams[0];
  for (uint32_t i = 0; i < first->frontier_count; i++) before[first->frontier[i]->index] = true;
  for (uint32_t i = count; i-- > 0;) {
    const struct CUgraphNode_st *node = capture->graph->nodes[i];
    for (uint32_t j = 0; j < node->predecessor_count && before[i]; j++) before[node->predecessors[j]] = true;
  }
  bool joined = true;
  for (uint32_t i = 1; i < capture->stream_count; i++) {
    const struct CUstream_st *stream = capture->streams[i];
    for (uint32_t j = 0; j < stream->frontier_count; j++) joined = joined && before[stream->frontier[j]->index];
  }
  free(before);
  return joined;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *out_graph) {
  STUB_ENTER(cuStreamEndCapture, STUB_CONTEXT | STUB_RELEASE);
  CUstream stream = stub_stream_of(handle, "cuStreamEndCapture");
  if (stream == NULL) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  stub_capture *capture = stream->capture;
  *out_graph = NULL;
  if (capture == NULL) return stub_leave(CUDA_ERROR_ILLEGAL_STATE);
  if (capture->streams[0] != stream) {
    capture->invalid = true;
    return stub_leave(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
    return stub_leave(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  CUresult result = capture->invalid      ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                    : !is_joined(capture) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                          : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) *out_graph = capture->graph;
  if (result != CUDA_SUCCESS && capture->own) stub_graph_destroy(capture->graph);
  forget(capture);
  return stub_leave(result);
}

static CUstreamCaptureStatus status_of(const struct CUstream_st *stream) {
  if (stream->capture == NULL) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  STUB_ENTER(cuStreamIsCapturing, STUB_CONTEXT);
  // A stream that was destroyed is found by this call, and that is no mistake of who asks.
  if (handle != NULL && !stub_object_is_live(handle, STUB_STREAM)) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  CUstream stream = stub_stream_of(handle, "cuStreamIsCapturing");
  if (stream == NULL) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (stream->context->fault != CUDA_SUCCESS) return stub_leave(stream->context->fault);
  *status = status_of(stream);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph,
                                   const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count) {
  STUB_ENTER(cuStreamGetCaptureInfo_v3, STUB_CONTEXT);
  CUstream stream = stub_stream_of(handle, "cuStreamGetCaptureInfo");
  if (stream == NULL) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  *status = status_of(stream);
  if (id != NULL) *id = stream->capture == NULL ? 0 : stream->capture->id;
  if (graph != NULL) *graph = stream->capture == NULL ? NULL : stream->capture->graph;
  if (dependencies != NULL) *dependencies = stream->frontier;
  if (edges != NULL) *edges = NULL;
  if (count != NULL) *count = stream->frontier_count;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                                              size_t count, unsigned int flags) {
  STUB_ENTER(cuStreamUpdateCaptureDependencies_v2, STUB_CONTEXT);
  const char *function = "cuStreamUpdateCaptureDependencies";
  CUstream stream = stub_stream_of(handle, function);
  if (stream == NULL) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (stream->capture == NULL) return stub_leave(CUDA_ERROR_ILLEGAL_STATE);
  if (stream->capture->invalid) return stub_leave(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  bool good = edges == NULL && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES &&
              stub_graph_check_dependencies(stream->capture->graph, dependencies, count, function);
  if (!good) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  set_frontier(&stream->frontier, &stream->frontier_count, dependencies, count);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  STUB_ENTER(cuThreadExchangeStreamCaptureMode, STUB_PLAIN);
  if ((unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  CUstreamCaptureMode before = thread_mode;
  thread_mode = *mode;
  *mode = before;
  return stub_leave(CUDA_SUCCESS);
}
