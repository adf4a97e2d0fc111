// SPDX-License-Identifier: Apache-2.0
//
// Events: from a pool where they carry no times; made and destroyed one by one for timelines.
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "device/cuda/cuda_device.h"

bool weir__cuda_adopt_event(weir__cuda_device *device) {
  // Room for giving it back is made now, so that giving back cannot fail.
  if (device->event_count == device->free_event_capacity) {
    uint32_t capacity = device->free_event_capacity == 0 ? 256 : 2 * device->free_event_capacity;
    CUevent *larger = weir__allocate(capacity * sizeof(CUevent));
    if (larger == NULL) return false;
    if (device->free_event_count > 0) memcpy(larger, device->free_events, device->free_event_count * sizeof(CUevent));
    weir__free(device->free_events);
    device->free_events = larger;
    device->free_event_capacity = capacity;
  }
  device->event_count++;
  return true;
}

// A new event; NULL: there is no memory, or the driver has none.
static CUevent make_event(weir__cuda_device *device) {
  if (!weir__cuda_adopt_event(device)) return NULL;
  CUevent event;
  if (device->driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) return event;
  device->event_count--;
  return NULL;
}

CUevent weir__cuda_take_event(weir__cuda_device *device) {
  return device->free_event_count > 0 ? device->free_events[--device->free_event_count] : make_event(device);
}

void weir__cuda_give_event(weir__cuda_device *device, CUevent event) {
  device->free_events[device->free_event_count++] = event;
}

void weir__cuda_make_events(weir__cuda_device *device, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    CUevent event = make_event(device);
    if (event == NULL) return;
    weir__cuda_give_event(device, event);
  }
}

CUresult weir__cuda_record(weir__cuda_device *device, weir__cuda_op *op) {
  if (op->event != NULL) {
    const weir__cuda_queue *queue = &device->streams[op->head.place->queue];
    weir__cuda_await_issued(device, queue, op->number);
    return CUDA_SUCCESS;
  }
  CUevent event = weir__cuda_take_event(device);
  if (event == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = device->driver->cuEventRecord(event, device->streams[op->head.place->queue].stream);
  if (result != CUDA_SUCCESS) {
    weir__cuda_give_event(device, event);
    return result;
  }
  op->event = event;
  op->head.place->recorded = true;
  return CUDA_SUCCESS;
}

static CUresult record_base(weir__cuda_device *device, CUevent event) {
  // In a stream of its own: nothing in flight holds it up.
  CUstream stream = NULL;
  CUresult result = device->driver->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
  if (result != CUDA_SUCCESS) return result;
  // The clock is read first: no end of a task is later than the time at which it is noticed.
  device->base_ns = weir__clock_ns() - device->base.device.host->start_ns;
  result = device->driver->cuEventRecord(event, stream);
  if (result == CUDA_SUCCESS) result = device->driver->cuEventSynchronize(event);
  device->driver->cuStreamDestroy(stream);
  return result;
}

CUresult weir__cuda_begin_times(weir__cuda_device *device) {
  if (device->base_event != NULL) return CUDA_SUCCESS;
  CUevent event;
  CUresult result = device->driver->cuEventCreate(&event, CU_EVENT_DEFAULT);
  if (result != CUDA_SUCCESS) return result;
  result = record_base(device, event);
  if (result == CUDA_SUCCESS)
    device->base_event = event;
  else
    device->driver->cuEventDestroy(event);
  return result;
}

static CUevent mark(weir__cuda_device *device, CUstream stream) {
  CUevent event;
  if (device->driver->cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return NULL;
  if (device->driver->cuEventRecord(event, stream) == CUDA_SUCCESS) return event;
  device->driver->cuEventDestroy(event);
  return NULL;
}

void weir__cuda_mark_start(weir__cuda_device *device, weir__cuda_op *op, CUstream stream) {
  if (device->base.device.host->trace != NULL) op->start = mark(device, stream);
}

void weir__cuda_mark_end(weir__cuda_device *device, weir__cuda_op *op, CUstream stream) {
  if (device->base.device.host->trace != NULL) op->end = mark(device, stream);
}

uint64_t weir__cuda_event_ns(const weir__cuda_device *device, CUevent event) {
  float milliseconds = 0;
  if (event == NULL || device->driver->cuEventElapsedTime(&milliseconds, device->base_event, event) != CUDA_SUCCESS)
    return 0;
  return device->base_ns + (uint64_t)((double)milliseconds * 1e6);
}

uint32_t weir__cuda_choose_lane(weir__cuda_device *device, uint64_t start_ns, uint64_t end_ns) {
  uint32_t lane = 0;
  for (uint32_t i = 0; i < WEIR__CUDA_GRAPH_LANES && device->lane_ends[lane] > start_ns; i++) {
    if (device->lane_ends[i] <= start_ns || device->lane_ends[i] < device->lane_ends[lane]) lane = i;
  }
  device->lane_ends[lane] = end_ns;
  return device->queue_count + lane;
}

void weir__cuda_mark_times(weir__cuda_device *device, const CUevent *marks, uint64_t least_ns, uint64_t *out_start_ns,
                           uint64_t *out_end_ns, uint32_t *out_lane) {
  uint64_t start = weir__cuda_event_ns(device, marks[0]);
  uint64_t end = weir__cuda_event_ns(device, marks[1]);
  if (start < least_ns) start = least_ns;
  if (end < start) end = start;
  *out_start_ns = start;
  *out_end_ns = end;
  *out_lane = weir__cuda_choose_lane(device, start, end);
}
