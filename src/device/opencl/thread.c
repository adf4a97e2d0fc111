// SPDX-License-Identifier: Apache-2.0
//
// Rounds of the device's thread. While it waits for commands it sleeps, since the device may well be the CPU that it runs on: the
// driver rings when one is done, and should it not, a nap ends soon.
#include "base/clock.h"
#include "device/opencl/fence.h"
#include "device/opencl/opencl.h"

enum {
  TASKS_AT_ONCE = 16,
  TASKS_BETWEEN_REPORTS = 96,
  NAP_NS = 1000000,
  SHORT_NAP_NS = 200000, // of a thread that lags
  DEEP = 8,              // tasks in flight from which on it may
};

// Whether what is done may be reported later than at once: on a CPU, to wake for each task costs the tasks more than many of them
// take. With one device only the host can wait for a task, by its event, and such tasks are not late.
static bool may_lag(const weir__opencl_device *device) {
  return (device->listed->type & CL_DEVICE_TYPE_CPU) != 0 && device->base.operation_count >= DEEP &&
         device->base.device.host->device_count == 1;
}

bool weir__opencl_work(weir__in_order_device *base) {
  weir__opencl_device *device = weir__opencl_of_in_order(base);
  bool slept = base->slept, any = weir__in_order_serve_fences(base);
  base->slept = false;
  weir__device_request *requests = weir__requests_take(&base->requests); // then all tasks that were there before them
  uint64_t tasks = weir__inbox_count(&base->inbox);
  if (tasks > TASKS_AT_ONCE && requests == NULL) tasks = TASKS_AT_ONCE;
  any = any || tasks > 0;
  for (uint64_t i = 0; i < tasks; i++) weir__in_order_issue(base, weir__inbox_take(&base->inbox));
  if (tasks > 0) base->taken_ns = weir__clock_ns();
  if (weir__requests_answer(device, requests)) any = true;
  if (!any) weir__opencl_flush(device);
  base->hurries = !any && !slept && may_lag(device);
  // While tasks come in, what is done is reported now and then only: it takes the lock from who submits them.
  bool reports = base->hurries ? weir__opencl_has_done(device, true)
                               : !any || base->inbox.taken - device->reported >= TASKS_BETWEEN_REPORTS;
  if (!reports) return any;
  device->reported = base->inbox.taken;
  if (weir__in_order_is_well(base)) any = weir__in_order_poll(base, true) || any;
  return weir__in_order_is_well(base) ? any : weir__in_order_report_lost(base) || any;
}

bool weir__opencl_may_sleep(weir__in_order_device *base, uint64_t *out_ns) {
  weir__opencl_device *device = weir__opencl_of_in_order(base);
  weir__opencl_ask_to_ring(device, base->hurries);
  if (base->hurries)
    *out_ns = SHORT_NAP_NS;
  else if (base->operation_count > 0 || weir__fences_any(&base->fences))
    *out_ns = NAP_NS;
  return !weir__opencl_has_done(device, base->hurries) && !weir__requests_any(&base->requests);
}
