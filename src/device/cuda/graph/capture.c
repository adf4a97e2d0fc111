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
         device->driver->cuStreamGetCaptureInfo != NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// One capture

// A capture that goes on: of the call alone, or into a graph, of which the ends are wanted.
typedef struct capture {
  weir__cuda_device *device;
  weir__cuda_call_step *call;
  weir__enqueue_call enqueue;
  CUgraph *into;     // NULL: a graph of its own
  CUgraphNode *ends; // nodes behind which the work is done; allocated
  size_t end_count;
} capture;

static CUresult say(const capture *c, CUresult result, const char *what) {
  c->call->failed = true;
  snprintf(c->call->why, WEIR__CUDA_WHY_BYTES, "%.*s", WEIR__CUDA_WHY_BYTES - 1, what);
  return result == CUDA_SUCCESS ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : result;
}

static CUresult say_result(const capture *c, CUresult result, const char *what) {
  char text[96], all[WEIR__CUDA_WHY_BYTES];
  snprintf(all, sizeof all, "%s: %s", what, weir__cuda_result_text(c->device->driver, result, text, sizeof text));
  return say(c, result, all);
}

static CUresult take_stream(weir__cuda_device *device) {
  if (device->capture.stream != NULL) return CUDA_SUCCESS;
  return device->driver->cuStreamCreateWithPriority(&device->capture.stream, CU_STREAM_NON_BLOCKING, 0);
}

// Notes which nodes are the last ones in the stream.
static CUresult note_ends(capture *c) {
  const CUgraphNode *nodes = NULL;
  const CUgraphEdgeData *edges = NULL;
  CUstreamCaptureStatus status;
  CUresult result = c->device->driver->cuStreamGetCaptureInfo(c->device->capture.stream, &status, NULL, NULL, &nodes,
                                                              &edges, &c->end_count);
  if (result != CUDA_SUCCESS) return say_result(c, result, "the capture tells no end");
  c->ends = weir__allocate((c->end_count + 1) * sizeof *c->ends);
  if (c->ends == NULL) return say(c, CUDA_ERROR_OUT_OF_MEMORY, "no memory");
  if (c->end_count > 0) memcpy(c->ends, nodes, c->end_count * sizeof *c->ends);
  return CUDA_SUCCESS;
}

// The function has returned: what it left behind. Ends the capture.
static CUresult finish(capture *c, weir_status status, CUgraph *out_graph) {
  const weir__cuda_driver *driver = c->device->driver;
  CUstream stream = c->device->capture.stream;
  CUcontext current = NULL;
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != c->device->primary)
    driver->cuCtxSetCurrent(c->device->primary);
  CUresult result = driver->cuStreamIsCapturing(stream, &capturing);
  bool gone = result == CUDA_ERROR_INVALID_HANDLE;
  if (gone || (result == CUDA_SUCCESS && capturing == CU_STREAM_CAPTURE_STATUS_NONE)) {
    if (c->into != NULL) *c->into = NULL; // who ended the capture has it, and may have destroyed it
    if (gone) c->device->capture.stream = NULL;
    return gone ? say_result(c, result, "the function destroyed its queue in a capture")
                : say(c, result, "the function ended the capture of its queue");
  }
  CUresult asked = result;
  CUresult noted = c->into != NULL && status == WEIR_OK && capturing == CU_STREAM_CAPTURE_STATUS_ACTIVE ? note_ends(c)
                                                                                                        : CUDA_SUCCESS;
  result = driver->cuStreamEndCapture(stream, out_graph);
  if (asked != CUDA_SUCCESS) return say_result(c, asked, "the capture does not tell its state");
  if (status != WEIR_OK) return say(c, CUDA_SUCCESS, c->enqueue.text);
  if (result != CUDA_SUCCESS) return say_result(c, result, "the function cannot be captured");
  return noted;
}

// The lane's preparation, with the queue as it is, is done before anything is captured.
static CUresult prepare(capture *c) {
  CUresult result = take_stream(c->device);
  if (result != CUDA_SUCCESS) return say_result(c, result, "no queue to capture");
  weir_enqueue *call = &c->enqueue.call;
  call->queue = c->device->capture.stream;
  call->native_context = c->device->primary;
  call->lane = c->call->lane;
  if (c->call->enqueue->code.prepare == NULL) return CUDA_SUCCESS;
  if (weir__enqueue_prepare(&c->enqueue, c->call->enqueue) != WEIR_OK) return say(c, CUDA_SUCCESS, c->enqueue.text);
  result = c->device->driver->cuStreamSynchronize(c->device->capture.stream);
  return result == CUDA_SUCCESS ? result : say_result(c, result, "the preparation went wrong");
}

// Calls the function with its queue captured. `*out_graph`: what came of it; on failure NULL, or the graph that it
// went into.
static CUresult run_locked(capture *c, const CUgraphNode *before, size_t count, CUgraph *out_graph) {
  const weir__cuda_driver *driver = c->device->driver;
  const CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  CUresult result = prepare(c);
  if (result != CUDA_SUCCESS) return result;
  result = c->into != NULL
               ? driver->cuStreamBeginCaptureToGraph(c->device->capture.stream, *c->into, before, NULL, count, mode)
               : driver->cuStreamBeginCapture(c->device->capture.stream, mode);
  if (result != CUDA_SUCCESS) return say_result(c, result, "no capture begins");
  c->enqueue.call.capturing = true;
  ++*c->call->captured;
  return finish(c, weir__enqueue_run(&c->enqueue, c->call->enqueue), out_graph);
}

// A thread of Weir's is relaxed towards the captures of others, but not towards its own.
static CUresult run(capture *c, const CUgraphNode *before, size_t count, CUgraph *out_graph) {
  const weir__cuda_driver *driver = c->device->driver;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  *out_graph = NULL;
  weir_device *base = &c->device->base.device;
  weir__cuda_call_step *call = c->call;
  bool begun = call->task != NULL ? weir__enqueue_begin(&c->enqueue, call->enqueue, base, call->task)
                                  : weir__enqueue_begin_node(&c->enqueue, call->enqueue, base, call->run, call->node);
  if (!begun) return say(c, CUDA_ERROR_OUT_OF_MEMORY, "no memory");
  weir__lock_acquire(&c->device->capture.lock);
  if (driver->cuThreadExchangeStreamCaptureMode != NULL) driver->cuThreadExchangeStreamCaptureMode(&mode);
  CUresult result = run_locked(c, before, count, out_graph);
  if (driver->cuThreadExchangeStreamCaptureMode != NULL) driver->cuThreadExchangeStreamCaptureMode(&mode);
  weir__lock_release(&c->device->capture.lock);
  weir__enqueue_end(&c->enqueue);
  return result;
}

CUresult weir__cuda_capture_straight(weir__cuda_device *device, weir__cuda_call_step *call, CUgraph *graph,
                                     const CUgraphNode *before, size_t count, CUgraphNode *out_end) {
  capture c = {.device = device, .call = call, .into = graph};
  CUgraph same;
  CUresult result = run(&c, before, count, &same);
  if (result == CUDA_SUCCESS && c.end_count == 1)
    *out_end = c.ends[0];
  else if (result == CUDA_SUCCESS)
    result = device->driver->cuGraphAddEmptyNode(out_end, *graph, c.ends, c.end_count);
  weir__free(c.ends);
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
  if (key == NULL) return say(&c, CUDA_ERROR_OUT_OF_MEMORY, "no memory");
  fill_key(call, key);
  CUgraph graph;
  size_t nodes = 0;
  CUresult result = run(&c, NULL, 0, &graph);
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
