// SPDX-License-Identifier: Apache-2.0
//
// Times of commands. The device has a clock of its own: how far it is from the host's is measured with a marker, when nothing is
// in flight. The host's clock is read before the marker, so that no time is later than it was.
#include "base/clock.h"
#include "device/opencl/opencl.h"

static const uint64_t CLOCK_VALID_NS = 1000000000; // clocks drift

static uint64_t context_ns(const weir__opencl_device *device) {
  return weir__clock_ns() - device->base.device.host->start_ns;
}

void weir__opencl_set_clock(weir__opencl_device *device) {
  const weir__opencl_driver *driver = device->driver;
  uint64_t before = context_ns(device);
  if (device->base.lost != WEIR_OK || (device->clock_set_ns != 0 && before - device->clock_set_ns < CLOCK_VALID_NS))
    return;
  cl_event event = NULL;
  cl_ulong end = 0;
  if (driver->clEnqueueMarkerWithWaitList(device->queues[0].queue, 0, NULL, &event) != CL_SUCCESS) return;
  if (driver->clWaitForEvents(1, &event) == CL_SUCCESS &&
      driver->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS) {
    device->clock_offset_ns = (int64_t)(before - end);
    device->clock_set_ns = before == 0 ? 1 : before;
  }
  driver->clReleaseEvent(event);
}

static uint64_t event_ns(const weir__opencl_device *device, cl_event event, cl_uint what) {
  cl_ulong time = 0;
  if (device->clock_set_ns == 0 ||
      device->driver->clGetEventProfilingInfo(event, what, sizeof time, &time, NULL) != CL_SUCCESS)
    return 0;
  int64_t ns = (int64_t)time + device->clock_offset_ns;
  return ns > 0 ? (uint64_t)ns : 0;
}

void weir__opencl_event_times(const weir__opencl_device *device, cl_event start, cl_event event, uint64_t *out_start_ns,
                              uint64_t *out_end_ns) {
  *out_start_ns = start != NULL ? event_ns(device, start, CL_PROFILING_COMMAND_END)
                                : event_ns(device, event, CL_PROFILING_COMMAND_START);
  *out_end_ns = event_ns(device, event, CL_PROFILING_COMMAND_END);
  uint64_t now = context_ns(device);
  if (*out_end_ns > now) *out_end_ns = now;
  if (*out_start_ns > *out_end_ns) *out_start_ns = *out_end_ns;
}
