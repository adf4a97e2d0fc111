// SPDX-License-Identifier: Apache-2.0
//
// Devices of the caller's: registered by name, used by any number of contexts.
#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/opencl/share.h"

enum { MOST_DEVICES = 256 };

static void destroy(weir__registered *registered);
static weir__registry all = {.kind = "opencl", .destroy = destroy};

static weir_status invalid(const char *what) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "register: %s", what);
}

static weir_status check_handles(const weir_opencl_handles *handles, const char *name, uint64_t size) {
  if (handles == NULL || name == NULL) return invalid(handles == NULL ? "the handles are NULL" : "out_name is NULL");
  if (handles->context == NULL || handles->device == NULL)
    return invalid(handles->context == NULL ? "the cl_context is NULL" : "the cl_device_id is NULL");
  if ((handles->queues == NULL) != (handles->queue_count == 0))
    return invalid("queues without a count, or a count without queues");
  if (handles->queue_count > WEIR_OPENCL_MOST_QUEUES) return invalid("more queues than WEIR_OPENCL_MOST_QUEUES");
  return !weir__registry_has_room(&all, size) ? invalid("no room for the name") : WEIR_OK;
}

static weir_status check_context(const weir__opencl_driver *driver, cl_context context, cl_device_id device) {
  cl_device_id devices[MOST_DEVICES];
  size_t bytes = 0;
  cl_int result = driver->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes);
  if (result != CL_SUCCESS) return weir__opencl_error(result, "register: the cl_context");
  for (size_t i = 0; i < bytes / sizeof devices[0]; i++)
    if (devices[i] == device) return WEIR_OK;
  return invalid("the cl_device_id is none of the cl_context's");
}

static weir_status check_queue(const weir__opencl_registration *registration, uint32_t index,
                               cl_bitfield *out_properties) {
  const weir__opencl_driver *driver = registration->driver;
  cl_command_queue queue = registration->queues[index];
  cl_context context = NULL;
  cl_device_id device = NULL;
  const char *why = NULL;
  *out_properties = 0;
  cl_int result = queue == NULL
                      ? CL_INVALID_COMMAND_QUEUE
                      : driver->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  if (result == CL_SUCCESS)
    result = driver->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  if (result == CL_SUCCESS)
    result = driver->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof *out_properties, out_properties, NULL);
  if (result != CL_SUCCESS) return weir__opencl_error(result, "register: queue %u", index);
  if (context != registration->context)
    why = "is of another cl_context";
  else if (device != registration->listed.device)
    why = "is of another device";
  else if (*out_properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    why = "is out of order, and Weir uses queues that are in order";
  for (uint32_t i = 0; i < index && why == NULL; i++)
    if (registration->queues[i] == queue) why = "is listed twice";
  return why == NULL ? WEIR_OK : weir__error(WEIR_ERROR_INVALID_ARGUMENT, "register: queue %u %s", index, why);
}

static weir_status fill_in(weir__opencl_registration *registration, const weir_opencl_handles *handles) {
  const weir__opencl_driver *driver = registration->driver;
  cl_device_id device = handles->device;
  cl_platform_id platform = NULL;
  weir_status status = check_context(driver, handles->context, device);
  if (status != WEIR_OK) return status;
  cl_int result = driver->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  if (result != CL_SUCCESS) return weir__opencl_error(result, "register: the cl_device_id");
  weir__opencl_describe(driver, platform, device, &registration->listed);
  if (registration->listed.reason[0] != '\0')
    return weir__error(WEIR_ERROR_UNAVAILABLE, "register: %s cannot be used: %s", registration->listed.name,
                       registration->listed.reason);
  registration->context = handles->context;
  registration->keeps_times = true;
  for (uint32_t i = 0; i < handles->queue_count && status == WEIR_OK; i++) {
    cl_bitfield properties;
    registration->queues[i] = handles->queues[i];
    status = check_queue(registration, i, &properties);
    registration->keeps_times = registration->keeps_times && (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  }
  return status;
}

// Drops the references to the caller's objects that were taken: `queues` of them, and the context.
static void release_handles(const weir__opencl_registration *registration, uint32_t queues) {
  for (uint32_t i = 0; i < queues; i++) registration->driver->clReleaseCommandQueue(registration->queues[i]);
  registration->driver->clReleaseContext(registration->context);
}

static void destroy(weir__registered *registered) {
  weir__opencl_registration *registration = (weir__opencl_registration *)registered;
  release_handles(registration, registration->queue_count);
  weir__free(registration);
}

static weir_status hold(weir__opencl_registration *registration, uint32_t queue_count) {
  const weir__opencl_driver *driver = registration->driver;
  cl_int result = driver->clRetainContext(registration->context);
  if (result != CL_SUCCESS) return weir__opencl_error(result, "register: the cl_context");
  for (uint32_t i = 0; i < queue_count; i++) {
    result = driver->clRetainCommandQueue(registration->queues[i]);
    if (result == CL_SUCCESS) continue;
    release_handles(registration, i);
    return weir__opencl_error(result, "register: queue %u", i);
  }
  registration->queue_count = queue_count;
  return WEIR_OK;
}

weir_status weir_opencl_register_sized(const weir_opencl_handles *given, size_t handles_size, char *out_name,
                                       uint64_t size) {
  char reason[256];
  weir_opencl_handles taken, *handles = given == NULL ? NULL : &taken;
  weir_status status = weir__struct_take(&taken, sizeof taken, given, handles_size, "register");
  if (status == WEIR_OK) status = check_handles(handles, out_name, size);
  if (status != WEIR_OK) return status;
  const weir__opencl_driver *driver = weir__opencl_driver_load(reason, sizeof reason);
  if (driver == NULL) return weir__error(WEIR_ERROR_UNAVAILABLE, "register: %s", reason);
  weir__opencl_registration *registration = weir__allocate_zeroed(sizeof *registration);
  if (registration == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "register: no memory");
  registration->driver = driver;
  status = fill_in(registration, handles);
  if (status == WEIR_OK) status = hold(registration, handles->queue_count);
  if (status != WEIR_OK) {
    weir__free(registration);
    return status;
  }
  weir__registry_add(&all, &registration->registered, out_name, size);
  return WEIR_OK;
}

weir_status weir_opencl_unregister(const char *name) {
  return weir__registry_remove(&all, name);
}

weir_status weir__opencl_registration_take(const char *argument, weir__opencl_registration **out_registration) {
  weir__registered *found;
  weir_status status = weir__registry_take(&all, argument, &found);
  *out_registration = (weir__opencl_registration *)found;
  return status;
}

void weir__opencl_registration_give(weir__opencl_registration *registration) {
  weir__registry_give(&all, &registration->registered);
}
