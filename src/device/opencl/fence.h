// SPDX-License-Identifier: Apache-2.0
//
// Order with other OpenCL code, by events. A wait is a fence that stalls; then it is issued as a marker. What the caller gets
// is a user event, which is set when a task of Weir's is done.
#ifndef WEIR_DEVICE_OPENCL_FENCE_H
#define WEIR_DEVICE_OPENCL_FENCE_H

#include "device/fence.h"
#include "device/opencl/driver.h"
#include "issue/in_order.h"

struct weir__opencl_device;

typedef struct weir__opencl_fence {
  weir__external_fence head;
  cl_event event;      // a reference is held until it is done; NULL: the fence signals
  cl_int result;       // below CL_COMPLETE: how it failed
  bool released;       // the reference was given back
  uint64_t refused_ns; // when the driver first refused to tell its status; 0: never
} weir__opencl_fence;

// A fence that waits for an event of the caller's, or with NULL one that signals. Sets weir_last_error() on failure;
// `what` begins the text.
weir_status weir__opencl_fence_create(struct weir__opencl_device *device, cl_event event, const char *what,
                                      weir__opencl_fence **out_fence);
// weir__device_ops.marker.
weir__external_fence *weir__opencl_marker(weir_device *device);
// weir__in_order_table.fence_destroy; also of a fence whose task was not submitted.
void weir__opencl_fence_destroy(weir__in_order_device *device, weir__external_fence *fence);
// weir__in_order_table.fence_is_over: the caller's event is done; on a device that is lost nothing waits.
bool weir__opencl_fence_is_over(void *device, weir__external_fence *fence);

// Has the driver wake the device's thread when the event is done.
void weir__opencl_listen(struct weir__opencl_device *device, cl_event event);
// Callbacks of events that are still to come find the device no more.
void weir__opencl_stop_listening(struct weir__opencl_device *device);

// Notes in the operation of a fence's task how its event ended. By the device's thread.
void weir__opencl_end_fence(weir__operation *operation);

// A user event that is set when a task of Weir's ends.
typedef struct weir__opencl_told weir__opencl_told;

// `fails`: a failure of the task is one of the event. `*out_event` is the caller's.
weir_status weir__opencl_told_create(const struct weir__opencl_device *device, bool fails, weir__opencl_told **out_told,
                                     cl_event *out_event);
// Gives back what was created, the caller's event as well.
void weir__opencl_told_destroy(weir__opencl_told *told);
// A weir_event_function, which frees `told`.
void weir__opencl_tell(void *told, weir_status status);

#endif // WEIR_DEVICE_OPENCL_FENCE_H
