// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/capture.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/graph.h"

bool weir__cuda_can_capture(const weir__cuda_device *device) {
  const weir__cuda_driver *driver = device->driver;
  return driver->cuStreamBeginCapture != NULL && driver->cuStreamEndCapture != NULL &&
         driver->cuStreamIsCapturing != NULL && driver->cuGraphAddChildGraphNode != NULL &&
         driver->cuGraphExecChildGraphNodeSetParams != NULL && driver->cuGraphGetNodes != NULL;
}

bool weir__cuda_can_capture_straight(const weir__cuda_device *device) {
  return weir__cuda_can_capture(device) && device->driver->cuStreamBeginCaptureToGraph != NULL &&
         device->driver->cuStreamGetCaptureInfo != NULL && device->driver->cuStreamUpdateCaptureDependencies != NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Captures

// A call that is captured: by itself, or in a session, of which the node behind its work is wanted.
typedef struct capture {
  weir__cuda_device *device;
  weir__cuda_call_step *call;
  weir__enqueue_call enqueue;
  weir__cuda_session *session; // NULL: a graph of its own
  CUgraphNode end;             // in a session
} capture;

static void note(weir__cuda_call_step *call, const char *what) {
  snprintf(call->why, WEIR__CUDA_WHY_BYTES, "%.*s", WEIR__CUDA_WHY_BYTES - 1, what);
}

static CUresult say(weir__cuda_call_step *call, CUresult result, const char *what) {
  call->failed = true;
  note(call, what);
  return result == CUDA_SUCCESS ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : result;
}

// It went wrong, though perhaps not for this call.
static CUresult note_result(const weir__cuda_device *device, weir__cuda_call_step *call, CUresult result,
                            const char *what) {
  char text[96], all[WEIR__CUDA_WHY_BYTES];
  snprintf(all, sizeof all, "%s: %s", what, weir__cuda_result_text(device->driver, result, text, sizeof text));
  note(call, all);
  return result;
}

static CUresult say_result(const weir__cuda_device *device, weir__cuda_call_step *call, CUresult result,
                           const char *what) {
  note_result(device, call, result, what);
  call->failed = true;
  return result == CUDA_SUCCESS ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : result;
}

static CUresult take_stream(weir__cuda_device *device) {
  if (device->capture.stream != NULL) return CUDA_SUCCESS;
  return device->driver->cuStreamCreateWithPriority(&device->capture.stream, CU_STREAM_NON_BLOCKING, 0);
}

// A thread of Weir's is relaxed towards the captures of others, but not towards its own. Returns the mode it was in.
static CUstreamCaptureMode enter(weir__cuda_device *device) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  weir__lock_acquire(&device->capture.lock);
  if (device->driver->cuThreadExchangeStreamCaptureMode != NULL)
    device->driver->cuThreadExchangeStreamCaptureMode(&mode);
  return mode;
}

static void leave(weir__cuda_device *device, CUstreamCaptureMode mode) {
  if (device->driver->cuThreadExchangeStreamCaptureMode != NULL)
    device->driver->cuThreadExchangeStreamCaptureMode(&mode);
  weir__lock_release(&device->capture.lock);
}

// Ends the session's capture, behind what all its calls end with: a fork that none of them has joined is an error.
static CUresult stop(weir__cuda_session *session) {
  const weir__cuda_driver *driver = session->device->driver;
  CUstream stream = session->device->capture.stream;
  CUgraphNode ends[WEIR__CUDA_SET_LANES];
  CUgraph same;
  size_t count = 0;
  if (!session->capturing) return CUDA_SUCCESS;
  session->capturing = false;
  for (uint32_t i = 0; i < WEIR__CUDA_SET_LANES; i++) {
    if (session->ends[i] != NULL) ends[count++] = session->ends[i];
    session->ends[i] = NULL;
  }
  if (count > 0)
    driver->cuStreamUpdateCaptureDependencies(stream, ends, NULL, count, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  return driver->cuStreamEndCapture(stream, &same);
}

// What is captured next comes after these nodes. A driver that does not move the capture there begins another.
static CUresult go_on(weir__cuda_session *session, CUgraphNode *before, size_t count) {
  const weir__cuda_driver *driver = session->device->driver;
  CUstream stream = session->device->capture.stream;
  CUresult result = CUDA_SUCCESS;
  if (session->capturing) {
    result = driver->cuStreamUpdateCaptureDependencies(stream, before, NULL, count, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    if (result == CUDA_SUCCESS || weir__cuda_is_sticky(result)) return result;
    result = stop(session);
  }
  if (result == CUDA_SUCCESS)
    result = driver->cuStreamBeginCaptureToGraph(stream, *session->graph, before, NULL, count,
                                                 CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  session->capturing = result == CUDA_SUCCESS;
  return result;
}

// Finds the node after which the work of the call is done: its last one, or an empty one behind all that end it.
static CUresult note_end(capture *c) {
  const weir__cuda_driver *driver = c->device->driver;
  const CUgraphNode *nodes = NULL;
  const CUgraphEdgeData *edges = NULL;
  CUstreamCaptureStatus status;
  size_t count = 0;
  CUresult result =
      driver->cuStreamGetCaptureInfo(c->device->capture.stream, &status, NULL, NULL, &nodes, &edges, &count);
  if (result != CUDA_SUCCESS) return say_result(c->device, c->call, result, "the capture tells no end");
  if (count == 1) {
    c->end = nodes[0];
  } else {
    CUgraphNode *ends = weir__allocate((count + 1) * sizeof *ends); // the driver's are good until its next call
    if (ends == NULL) return say(c->call, CUDA_ERROR_OUT_OF_MEMORY, "no memory");
    if (count > 0) memcpy(ends, nodes, count * sizeof *ends);
    result = driver->cuGraphAddEmptyNode(&c->end, *c->session->graph, ends, count);
    weir__free(ends);
    if (result != CUDA_SUCCESS) return result;
  }
  // Whatever was in the lane before comes before it.
  c->session->ends[c->call->lane % WEIR__CUDA_SET_LANES] = c->end;
  return CUDA_SUCCESS;
}

// The queue is not in the capture any more. Who ended that has its graph, and may have destroyed it.
static CUresult lose_capture(capture *c, CUresult result) {
  bool gone = result == CUDA_ERROR_INVALID_HANDLE;
  if (c->session != NULL) {
    c->session->capturing = false;
    *c->session->graph = NULL;
  }
  if (gone) c->device->capture.stream = NULL;
  return gone ? say_result(c->device, c->call, result, "the function destroyed its queue in a capture")
              : say(c->call, result, "the function ended the capture of its queue");
}

// The function has returned: what it left behind. Ends the capture, unless it is a session's and all is well.
static CUresult finish(capture *c, weir_status status, CUgraph *out_graph) {
  const weir__cuda_driver *driver = c->device->driver;
  CUstream stream = c->device->capture.stream;
  CUcontext current = NULL;
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != c->device->primary)
    driver->cuCtxSetCurrent(c->device->primary);
  CUresult asked = driver->cuStreamIsCapturing(stream, &capturing);
  if (asked == CUDA_ERROR_INVALID_HANDLE || (asked == CUDA_SUCCESS && capturing == CU_STREAM_CAPTURE_STATUS_NONE))
    return lose_capture(c, asked);
  if (c->session != NULL && asked == CUDA_SUCCESS && status == WEIR_OK && capturing == CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return note_end(c);
  CUresult result = c->session != NULL ? stop(c->session) : driver->cuStreamEndCapture(stream, out_graph);
  if (asked != CUDA_SUCCESS) return say_result(c->device, c->call, asked, "the capture does not tell its state");
  if (status != WEIR_OK) return say(c->call, CUDA_SUCCESS, c->enqueue.text);
  if (result != CUDA_SUCCESS || c->session != NULL)
    return say_result(c->device, c->call, result, "the function cannot be captured");
  return CUDA_SUCCESS;
}

// The lane's preparation, with the queue as it is, is done before anything is captured.
static CUresult prepare(capture *c) {
  CUresult result = take_stream(c->device);
  if (result != CUDA_SUCCESS) return say_result(c->device, c->call, result, "no queue to capture");
  weir_enqueue *call = &c->enqueue.call;
  call->queue = c->device->capture.stream;
  call->native_context = c->device->primary;
  call->lane = c->call->lane;
  if (weir__enqueue_is_prepared(c->call->enqueue, &c->device->base.device, c->call->lane)) return CUDA_SUCCESS;
  if (weir__enqueue_prepare(&c->enqueue, c->call->enqueue) != WEIR_OK)
    return say(c->call, CUDA_SUCCESS, c->enqueue.text);
  result = c->device->driver->cuStreamSynchronize(c->device->capture.stream);
  return result == CUDA_SUCCESS ? result : say_result(c->device, c->call, result, "the preparation went wrong");
}

// The queue is being captured.
static CUresult call_function(capture *c, CUgraph *out_graph) {
  c->enqueue.call.capturing = true;
  ++*c->call->captured;
  return finish(c, weir__enqueue_run(&c->enqueue, c->call->enqueue), out_graph);
}

static bool begin(capture *c) {
  weir_device *base = &c->device->base.device;
  const weir__cuda_call_step *call = c->call;
  return call->task != NULL ? weir__enqueue_begin(&c->enqueue, call->enqueue, base, call->task)
                            : weir__enqueue_begin_node(&c->enqueue, call->enqueue, base, call->run, call->node);
}

// Captures the call by itself. `*out_graph`: what came of it; NULL on failure.
static CUresult run(capture *c, CUgraph *out_graph) {
  *out_graph = NULL;
  if (!begin(c)) return say(c->call, CUDA_ERROR_OUT_OF_MEMORY, "no memory");
  CUstreamCaptureMode mode = enter(c->device);
  CUresult result = prepare(c);
  if (result == CUDA_SUCCESS) {
    result = c->device->driver->cuStreamBeginCapture(c->device->capture.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    result = result == CUDA_SUCCESS ? call_function(c, out_graph)
                                    : say_result(c->device, c->call, result, "no capture begins");
  }
  leave(c->device, mode);
  weir__enqueue_end(&c->enqueue);
  return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Sessions

// A function's first call in a session has a capture of its own, which tells whether it joins what it forks.
static CUresult run_in_session(capture *c, CUgraphNode *before, size_t count) {
  weir__enqueue *enqueue = c->call->enqueue;
  bool alone = !atomic_load_explicit(&enqueue->joins, memory_order_relaxed);
  CUresult result = CUDA_SUCCESS;
  if (alone || !weir__enqueue_is_prepared(enqueue, &c->device->base.device, c->call->lane)) result = stop(c->session);
  if (result != CUDA_SUCCESS) return note_result(c->device, c->call, result, "the functions cannot be captured");
  result = prepare(c);
  if (result != CUDA_SUCCESS) return result;
  result = go_on(c->session, before, count);
  if (result != CUDA_SUCCESS) return say_result(c->device, c->call, result, "no capture begins");
  result = call_function(c, NULL);
  if (result != CUDA_SUCCESS || !alone) return result;
  result = stop(c->session);
  if (result != CUDA_SUCCESS) return say_result(c->device, c->call, result, "the function cannot be captured");
  atomic_store_explicit(&enqueue->joins, true, memory_order_relaxed);
  return result;
}

CUresult weir__cuda_session_capture(weir__cuda_session *session, weir__cuda_call_step *call, CUgraphNode *before,
                                    size_t count, CUgraphNode *out_end) {
  capture c = {.device = session->device, .call = call, .session = session};
  if (!begin(&c)) return say(call, CUDA_ERROR_OUT_OF_MEMORY, "no memory");
  if (!session->entered) session->mode = enter(session->device);
  session->entered = true;
  session->last = call;
  CUresult result = run_in_session(&c, before, count);
  weir__enqueue_end(&c.enqueue);
  *out_end = c.end;
  return result;
}

CUresult weir__cuda_session_end(weir__cuda_session *session) {
  if (!session->entered) return CUDA_SUCCESS;
  CUresult result = stop(session);
  if (result != CUDA_SUCCESS && !session->last->failed)
    note_result(session->device, session->last, result, "the functions cannot be captured");
  leave(session->device, session->mode);
  session->entered = false;
  return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Variants

// What the work depends on, in parts: where each is, and how many bytes of it count.
typedef struct key_part {
  const void *bytes;
  uint64_t count;
} key_part;

// Of a task: its arguments, its work-groups, and its `user`. False: there is no such part.
static bool task_part(const weir__task *task, uint32_t index, key_part *out_part) {
  if (index == task->arg_count) {
    *out_part = (key_part){task->groups, sizeof task->groups};
  } else if (index == task->arg_count + 1) {
    *out_part = (key_part){&task->user, sizeof task->user};
  } else if (index > task->arg_count) {
    return false;
  } else if (weir__task_is_value(task, index)) {
    *out_part = (key_part){task->args[index], weir__task_value_bytes(task, index)};
  } else {
    *out_part = (key_part){&task->args[index], sizeof task->args[index]};
  }
  return true;
}

// Of a node only the arguments change.
static bool next_part(const weir__cuda_call_step *call, uint32_t index, key_part *out_part) {
  if (call->task != NULL) return task_part(call->task, index, out_part);
  const weir__graph_node *node = &call->run->plan->nodes[call->node];
  if (index >= node->arg_count) return false;
  const weir__graph_arg *arg = &call->run->plan->args[node->first_arg + index];
  void *const *place = &call->run->args[node->first_arg + index];
  *out_part = arg->mode == WEIR_VALUE ? (key_part){*place, arg->bytes} : (key_part){place, sizeof *place};
  return true;
}

static uint64_t key_bytes(const weir__cuda_call_step *call) {
  key_part part = {0};
  uint64_t all = 0;
  for (uint32_t i = 0; next_part(call, i, &part); i++) all += part.count;
  return all;
}

static bool key_is(const weir__cuda_call_step *call, const weir__cuda_variant *variant) {
  key_part part = {0};
  uint64_t at = 0;
  for (uint32_t i = 0; next_part(call, i, &part); i++) {
    if (part.count > variant->key_bytes - at || memcmp(variant->key + at, part.bytes, part.count) != 0) return false;
    at += part.count;
  }
  return at == variant->key_bytes;
}

static void fill_key(const weir__cuda_call_step *call, unsigned char *key) {
  key_part part = {0};
  for (uint32_t i = 0; next_part(call, i, &part); i++) {
    memcpy(key, part.bytes, part.count);
    key += part.count;
  }
}

bool weir__cuda_call_is_for(const weir__cuda_call_step *call, const weir__task *task) {
  weir__cuda_call_step other = {.task = task};
  return call->variant_count > 0 && key_is(&other, &call->variants[call->current]);
}

static void drop_graph(weir__cuda_device *device, CUgraph graph) {
  if (graph != NULL) device->driver->cuGraphDestroy(graph);
}

// Puts what was captured among those that are kept, in place of the oldest.
static void keep(weir__cuda_device *device, weir__cuda_call_step *call, unsigned char *key, uint64_t key_bytes,
                 CUgraph graph) {
  uint32_t at = call->variant_count;
  if (at < WEIR__CUDA_VARIANTS) {
    call->variant_count++;
  } else {
    at = call->next_variant++ % WEIR__CUDA_VARIANTS;
    weir__free(call->variants[at].key);
    drop_graph(device, call->variants[at].graph);
  }
  call->variants[at] =
      (weir__cuda_variant){.key = key, .key_bytes = key_bytes, .graph = graph, .serial = ++call->serials};
  call->current = at;
}

CUresult weir__cuda_choose_variant(weir__cuda_device *device, weir__cuda_call_step *call) {
  capture c = {.device = device, .call = call};
  for (uint32_t i = 0; i < call->variant_count; i++) {
    if (!key_is(call, &call->variants[i])) continue;
    call->current = i;
    return CUDA_SUCCESS;
  }
  uint64_t bytes = key_bytes(call);
  unsigned char *key = weir__allocate(bytes + 1);
  if (key == NULL) return say(call, CUDA_ERROR_OUT_OF_MEMORY, "no memory");
  fill_key(call, key);
  CUgraph graph;
  size_t nodes = 0;
  CUresult result = run(&c, &graph);
  if (result == CUDA_SUCCESS) result = device->driver->cuGraphGetNodes(graph, NULL, &nodes);
  if (result != CUDA_SUCCESS || nodes == 0) {
    drop_graph(device, graph);
    graph = NULL;
  }
  if (result != CUDA_SUCCESS)
    weir__free(key);
  else
    keep(device, call, key, bytes, graph);
  return result;
}

void weir__cuda_call_free(weir__cuda_device *device, weir__cuda_call_step *call, bool entered) {
  for (uint32_t i = 0; i < call->variant_count; i++) {
    weir__free(call->variants[i].key);
    if (entered) drop_graph(device, call->variants[i].graph);
  }
  call->variant_count = 0;
}
