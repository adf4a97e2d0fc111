// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "device/loader.h"

enum { MOST_PLATFORMS = 16, VERSION_1_2 = 120, VERSION_2_0 = 200, VERSION_2_1 = 210 };

const char *weir__opencl_result_text(cl_int result, char *text, size_t size) {
  switch (result) {
#define NAME(name, value)                                                                                              \
  case name:                                                                                                           \
    snprintf(text, size, "%s", #name);                                                                                 \
    return text;
    WEIR__OPENCL_RESULTS(NAME)
#undef NAME
  default:
    snprintf(text, size, "OpenCL error %d", (int)result);
    return text;
  }
}

weir_status weir__opencl_status(cl_int result) {
  switch (result) {
  case CL_SUCCESS:
    return WEIR_OK;
  case CL_MEM_OBJECT_ALLOCATION_FAILURE:
  case CL_OUT_OF_RESOURCES:
  case CL_OUT_OF_HOST_MEMORY:
    return WEIR_ERROR_OUT_OF_MEMORY;
  case CL_DEVICE_NOT_FOUND:
  case CL_DEVICE_NOT_AVAILABLE:
  case CL_COMPILER_NOT_AVAILABLE:
  case CL_PLATFORM_NOT_FOUND_KHR:
    return WEIR_ERROR_UNAVAILABLE;
  case CL_BUILD_PROGRAM_FAILURE:
  case CL_DEVICE_PARTITION_FAILED:
    return WEIR_ERROR_INVALID_ARGUMENT;
  default:
    return result <= CL_INVALID_VALUE && result > CL_PLATFORM_NOT_FOUND_KHR ? WEIR_ERROR_INVALID_ARGUMENT
                                                                            : WEIR_ERROR_TASK_FAILED;
  }
}

weir_status weir__opencl_error(cl_int result, const char *format, ...) {
  if (result == CL_SUCCESS) return WEIR_OK;
  char what[256], why[64];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return weir__error(weir__opencl_status(result), "%s: %s", what, weir__opencl_result_text(result, why, sizeof why));
}

static void device_text(const weir__opencl_driver *driver, cl_device_id device, cl_uint what, char *text) {
  char whole[4 * WEIR__OPENCL_TEXT_BYTES] = "";
  if (driver->clGetDeviceInfo(device, what, sizeof whole - 1, whole, NULL) != CL_SUCCESS) whole[0] = '\0';
  snprintf(text, WEIR__OPENCL_TEXT_BYTES, "%.*s", WEIR__OPENCL_TEXT_BYTES - 1, whole);
}

// "OpenCL 1.2 ..." is 120.
static uint32_t read_version(const char *text) {
  unsigned major = 0, minor = 0;
  return sscanf(text, "OpenCL %3u.%1u", &major, &minor) == 2 ? 100 * major + 10 * minor : 0;
}

static bool has_shared_memory(const weir__opencl_driver *driver) {
  return driver->clSVMAlloc != NULL && driver->clSVMFree != NULL && driver->clEnqueueSVMMemcpy != NULL &&
         driver->clEnqueueSVMMemFill != NULL && driver->clSetKernelArgSVMPointer != NULL;
}

cl_command_queue weir__opencl_queue_create(const weir__opencl_driver *driver, const weir__opencl_listed *listed,
                                           cl_context context, cl_device_id device, bool traces, cl_int *out_result) {
  const cl_bitfield wanted = traces ? CL_QUEUE_PROFILING_ENABLE : 0;
  const cl_ulong properties[] = {CL_QUEUE_PROPERTIES, wanted, 0};
  *out_result = CL_INVALID_OPERATION;
  if (listed->version >= VERSION_2_0 && driver->clCreateCommandQueueWithProperties != NULL)
    return driver->clCreateCommandQueueWithProperties(context, device, properties, out_result);
  return driver->clCreateCommandQueue != NULL ? driver->clCreateCommandQueue(context, device, wanted, out_result)
                                              : NULL;
}

void weir__opencl_describe(const weir__opencl_driver *driver, cl_platform_id platform, cl_device_id device,
                           weir__opencl_listed *out_listed) {
  char platform_name[WEIR__OPENCL_TEXT_BYTES] = "", platform_version[WEIR__OPENCL_TEXT_BYTES] = "";
  char name[WEIR__OPENCL_TEXT_BYTES], version[WEIR__OPENCL_TEXT_BYTES], release[WEIR__OPENCL_TEXT_BYTES];
  char il[WEIR__OPENCL_TEXT_BYTES];
  cl_bitfield floats = 0;
  *out_listed = (weir__opencl_listed){.platform = platform, .device = device};
  driver->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name - 1, platform_name, NULL);
  driver->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof platform_version - 1, platform_version, NULL);
  device_text(driver, device, CL_DEVICE_NAME, name);
  device_text(driver, device, CL_DRIVER_VERSION, release);
  device_text(driver, device, CL_DEVICE_VERSION, version);
  device_text(driver, device, CL_DEVICE_IL_VERSION, il);
  memcpy(out_listed->platform_name, platform_name, sizeof platform_name);
  memcpy(out_listed->name, name, sizeof name);
  snprintf(out_listed->identity, sizeof out_listed->identity, "%s\n%s\n%s\n%s\n%s", platform_name, platform_version,
           name, version, release);
  driver->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof out_listed->type, &out_listed->type, NULL);
  driver->clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof out_listed->units, &out_listed->units, NULL);
  driver->clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, NULL);
  out_listed->exact = (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  // Devices of OpenCL 1 do not know the question.
  if (driver->clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof out_listed->svm, &out_listed->svm, NULL) !=
      CL_SUCCESS)
    out_listed->svm = 0;
  out_listed->version = read_version(version);
  out_listed->has_il =
      out_listed->version >= VERSION_2_1 && driver->clCreateProgramWithIL != NULL && strstr(il, "SPIR-V") != NULL;
  out_listed->has_svm =
      (out_listed->svm & (CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_SYSTEM)) != 0 &&
      out_listed->version >= VERSION_2_0 && has_shared_memory(driver);
  if (out_listed->version < VERSION_1_2)
    snprintf(out_listed->reason, sizeof out_listed->reason, "it has OpenCL %u.%u, and Weir needs 1.2",
             out_listed->version / 100, out_listed->version / 10 % 10);
}

static bool list_devices(void *table, char *reason, size_t size) {
  weir__opencl_driver *driver = table;
  cl_platform_id platforms[MOST_PLATFORMS];
  cl_uint platform_count = 0;
  cl_int result = driver->clGetPlatformIDs(MOST_PLATFORMS, platforms, &platform_count);
  if (result != CL_SUCCESS) platform_count = 0;
  if (platform_count > MOST_PLATFORMS) platform_count = MOST_PLATFORMS;
  driver->count = 0;
  for (cl_uint i = 0; i < platform_count; i++) {
    cl_device_id devices[WEIR__OPENCL_MOST_DEVICES];
    cl_uint count = 0;
    if (driver->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, WEIR__OPENCL_MOST_DEVICES, devices, &count) !=
        CL_SUCCESS)
      continue;
    for (cl_uint j = 0; j < count && j < WEIR__OPENCL_MOST_DEVICES && driver->count < WEIR__OPENCL_MOST_DEVICES; j++)
      weir__opencl_describe(driver, platforms[i], devices[j], &driver->devices[driver->count++]);
  }
  if (driver->count > 0) return true;
  char text[64];
  if (platform_count == 0)
    snprintf(reason, size, "no OpenCL platform%s%s", result == CL_SUCCESS ? "" : ": ",
             result == CL_SUCCESS ? "" : weir__opencl_result_text(result, text, sizeof text));
  else
    snprintf(reason, size, "no OpenCL device on %u platform%s", platform_count, platform_count == 1 ? "" : "s");
  return false;
}

const weir__opencl_driver *weir__opencl_driver_load(char *reason, size_t size) {
  static const char *const FILES[] = {"libOpenCL.so.1", NULL};
  static const weir__symbol SYMBOLS[] = {
#define SYMBOL(result, name, need, parameters) WEIR__SYMBOL(weir__opencl_driver, name, name, need),
      WEIR__OPENCL_SYMBOLS(SYMBOL)
#undef SYMBOL
  };
  static weir__opencl_driver driver;
  static weir__library library = {.name = "OpenCL loader",
                                  .lacks = "the loader lacks",
                                  .variable = "WEIR_OPENCL_LOADER",
                                  .files = FILES,
                                  .symbols = WEIR__SYMBOLS_OF(SYMBOLS),
                                  .table = &driver,
                                  .start = list_devices};
  return weir__library_load(&library, reason, size);
}

bool weir__opencl_probe(char *text, size_t size) {
  const weir__opencl_driver *driver = weir__opencl_driver_load(text, size);
  if (driver == NULL) return false;
  size_t used = 0;
  bool usable = false;
  for (uint32_t i = 0; i < driver->count && used < size; i++) {
    const weir__opencl_listed *listed = &driver->devices[i];
    usable = usable || listed->reason[0] == '\0';
    used += (size_t)snprintf(text + used, size - used, "%sopencl:%u %.60s (%.40s, %u compute unit%s%s%s)",
                             i > 0 ? "; " : "", i, listed->name, listed->platform_name, listed->units,
                             listed->units == 1 ? "" : "s", listed->reason[0] != '\0' ? ", not usable: " : "",
                             listed->reason);
  }
  return usable;
}
