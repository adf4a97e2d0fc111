// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/queue/open.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/resident/automatic.h"
#include "device/cuda/share.h"

// The device's part of an open task.
typedef struct cuda_open {
  weir__open_slot slot; // the first member
  CUevent event;        // recorded at the end; NULL: it is the op's
  CUevent start, end;
  bool started, ended; // these are recorded
  bool awaited;        // the end was waited for, in place of the event
} cuda_open;

static weir__cuda_queue *queue_of(weir__cuda_device *device, uint32_t slot) {
  return &device->streams[device->queue_count + slot];
}

static weir__cuda_queue *own_queue(weir__cuda_device *device, const cuda_open *own) {
  return queue_of(device, own->slot.index);
}

// ---------------------------------------------------------------------------------------------------------------
// Threads of the caller's

static int make_streams(void *user) {
  weir__cuda_device *device = user;
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < WEIR__MOST_OPEN && result == CUDA_SUCCESS; i++) {
    weir__cuda_queue *queue = queue_of(device, i);
    if (queue->stream == NULL)
      result = device->driver->cuStreamCreateWithPriority(&queue->stream, CU_STREAM_NON_BLOCKING, 0);
  }
  return (int)result;
}

static CUresult enter_and_begin(weir__cuda_device *device, cuda_open *own) {
  CUresult result = weir__cuda_enter(device);
  if (result != CUDA_SUCCESS) return result;
  result = (CUresult)weir__opens_take(&device->base.opens, make_streams, device, &own->slot);
  if (result == CUDA_SUCCESS && device->base.device.host->trace != NULL)
    result = device->driver->cuEventCreate(&own->start, CU_EVENT_DEFAULT);
  if (result == CUDA_SUCCESS && device->base.device.host->trace != NULL)
    result = device->driver->cuEventCreate(&own->end, CU_EVENT_DEFAULT);
  if (result == CUDA_SUCCESS) result = device->driver->cuEventCreate(&own->event, CU_EVENT_DISABLE_TIMING);
  weir__cuda_leave(device);
  return result;
}

static weir_status begin(weir_device *base, weir__open *open) {
  weir__cuda_device *device = weir__cuda_of(base);
  cuda_open *own = weir__allocate_zeroed(sizeof *own);
  if (own == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "task begin: no memory");
  open->native = own;
  weir__resident_disable(device);
  CUresult result = enter_and_begin(device, own);
  if (result != CUDA_SUCCESS) return weir__cuda_error(device->driver, result, "task begin on %s", base->name);
  open->call.call.queue = own_queue(device, own)->stream;
  open->call.call.native_context = device->primary;
  open->call.call.lane = device->queue_count + own->slot.index;
  return WEIR_OK;
}

static weir_status order(weir_device *base, weir__open *open, const weir__id *tasks, uint32_t count) {
  weir__cuda_device *device = weir__cuda_of(base);
  cuda_open *own = open->native;
  CUstream stream = own_queue(device, own)->stream;
  weir_status status = weir__cuda_let_stream_wait_for(device, stream, tasks, count);
  if (status != WEIR_OK || own->start == NULL) return status;
  CUresult result = weir__cuda_enter(device);
  if (result == CUDA_SUCCESS) {
    result = device->driver->cuEventRecord(own->start, stream);
    own->started = result == CUDA_SUCCESS;
    weir__cuda_leave(device);
  }
  return weir__cuda_error(device->driver, result, "task begin on %s", base->name);
}

// What is wrong with the stream. The context is current.
static CUresult inspect(weir__cuda_device *device, weir__open *open, CUstream stream) {
  const weir__cuda_driver *driver = device->driver;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver->cuStreamIsCapturing == NULL) return CUDA_SUCCESS;
  CUresult result = driver->cuStreamIsCapturing(stream, &capture);
  if (result != CUDA_SUCCESS || capture == CU_STREAM_CAPTURE_STATUS_NONE) return result;
  CUgraph graph = NULL;
  driver->cuStreamEndCapture(stream, &graph);
  if (graph != NULL) driver->cuGraphDestroy(graph);
  weir__open_accuse(open, WEIR_ERROR_TASK_FAILED, "its queue was being captured when it ended");
  return CUDA_SUCCESS;
}

// The stream is gone, or the device: nothing tells when the work is done.
static void lose(weir__cuda_device *device, weir__open *open, cuda_open *own, CUresult result) {
  char text[96], what[160];
  bool sticky = weir__cuda_is_sticky(result);
  snprintf(what, sizeof what, "%s: %s", sticky ? "the device was lost" : "its queue was lost, and with that the device",
           weir__cuda_result_text(device->driver, result, text, sizeof text));
  weir__open_accuse(open, WEIR_ERROR_DEVICE_LOST, what);
  weir__cuda_queue *queue = own_queue(device, own);
  if (!sticky && device->driver->cuStreamCreateWithPriority(&queue->stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS)
    queue->stream = NULL; // the legacy default stream
  weir__cuda_trouble(device, result);
}

static bool is_gone(CUresult result) {
  return result == CUDA_ERROR_INVALID_HANDLE || weir__cuda_is_sticky(result);
}

// Records where the work ends; where that cannot be done, waits for it. The context is current.
static CUresult mark_end(weir__cuda_device *device, cuda_open *own, CUstream stream) {
  const weir__cuda_driver *driver = device->driver;
  own->ended = own->end != NULL && driver->cuEventRecord(own->end, stream) == CUDA_SUCCESS;
  CUresult result = driver->cuEventRecord(own->event, stream);
  if (result == CUDA_SUCCESS || is_gone(result)) return result;
  own->awaited = true;
  return driver->cuStreamSynchronize(stream);
}

static void end(weir_device *base, weir__open *open) {
  weir__cuda_device *device = weir__cuda_of(base);
  cuda_open *own = open->native;
  CUstream stream = own_queue(device, own)->stream;
  CUresult result = weir__cuda_enter(device);
  if (result != CUDA_SUCCESS) {
    lose(device, open, own, result);
    return;
  }
  result = inspect(device, open, stream);
  if (!is_gone(result)) result = mark_end(device, own, stream);
  if (result != CUDA_SUCCESS) lose(device, open, own, result);
  weir__cuda_leave(device);
}

static void await(weir_device *base, weir__open *open) {
  weir__cuda_device *device = weir__cuda_of(base);
  const cuda_open *own = open->native;
  CUresult result = own->awaited ? CUDA_SUCCESS : device->driver->cuEventSynchronize(own->event);
  if (result != CUDA_SUCCESS) weir__cuda_trouble(device, result);
}

static void issued(weir_device *base, weir__open *open) {
  cuda_open *own = open->native;
  weir__opens_give(&weir__cuda_of(base)->base.opens, &own->slot);
}

static void destroy(weir_device *base, weir__open *open) {
  weir__cuda_device *device = weir__cuda_of(base);
  cuda_open *own = open->native;
  CUevent events[] = {own->event, own->start, own->end};
  weir__opens_give(&device->base.opens, &own->slot);
  bool entered = weir__cuda_enter(device) == CUDA_SUCCESS;
  for (int i = 0; entered && i < 3; i++)
    if (events[i] != NULL) device->driver->cuEventDestroy(events[i]);
  if (entered) weir__cuda_leave(device);
  weir__free(own);
}

const weir__open_ops weir__cuda_opens = {
    .begin = begin, .order = order, .end = end, .await = await, .issued = issued, .destroy = destroy};

void weir__cuda_opens_destroy(weir__cuda_device *device) {
  for (uint32_t i = 0; device->streams != NULL && i < WEIR__MOST_OPEN; i++) {
    CUstream stream = queue_of(device, i)->stream;
    if (stream != NULL) device->driver->cuStreamDestroy(stream);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// The device's thread

static const weir__cuda_op_ops open_ops; // nothing is to be launched

// Places the op in its own queue. The events that this asks for are made, though the caller's stream has waited
// already.
// `recorded`: others need not ask for its event.
static bool place(weir__cuda_device *device, weir__cuda_op *op, uint32_t count, uint32_t queue, bool recorded) {
  weir__queue_choice choice = weir__queues_issue(device->base.queues, device->base.operations.places, count, queue);
  if (choice.task == NULL) return false;
  op->head.place = choice.task;
  choice.task->user = op;
  choice.task->recorded = recorded;
  weir__cuda_record_choice(device, &choice);
  return true;
}

bool weir__cuda_enqueue_open(weir__cuda_device *device, weir__operation *operation, uint32_t count) {
  weir__cuda_op *op = weir__cuda_op_of(operation);
  weir__open *open = weir__task_open(operation->task);
  cuda_open *own = open->native;
  bool has_event = open->begun && open->status != WEIR_ERROR_DEVICE_LOST && !own->awaited;
  if (has_event && !weir__cuda_adopt_event(device)) return false;
  if (device->base.queue_count == device->queue_count) weir__in_order_widen(&device->base, WEIR__CUDA_LATE_QUEUES);
  if (!place(device, op, count, device->queue_count + own->slot.index, has_event || own->awaited)) {
    device->event_count -= has_event;
    return false;
  }
  op->ops = &open_ops;
  op->finished = own->awaited; // a task that was skipped gets an event like any other, when one is asked for
  if (has_event) op->event = own->event;
  if (has_event) own->event = NULL; // it is the op's
  weir__cuda_queue *queue = own_queue(device, own);
  op->number = ++queue->placed;
  if (own->awaited) atomic_store_explicit(&queue->awaited, op->number, memory_order_relaxed);
  weir__in_order_append(&device->base, operation);
  atomic_store_explicit(&queue->issued, op->number, memory_order_release);
  return true;
}

void weir__cuda_report_open(weir__cuda_device *device, weir__cuda_op *op, weir__completion *completion) {
  const cuda_open *own = weir__task_open(op->head.task)->native;
  completion->lane = device->queue_count + WEIR__CUDA_GRAPH_LANES + own->slot.index;
  if (device->base.device.host->trace != NULL)
    weir__in_order_set_times(&device->base, op->head.task,
                             weir__cuda_event_ns(device, own->started ? own->start : NULL),
                             weir__cuda_event_ns(device, own->ended ? own->end : NULL), completion);
}
