// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "device/cuda/nvrtc.h"
#include "device/loader.h"

static bool start(void *table, char *reason, size_t size) {
  weir__cuda_driver *driver = table;
  char text[160];
  CUresult result = driver->cuInit(0);
  if (result == CUDA_SUCCESS) result = driver->cuDriverGetVersion(&driver->version);
  if (result == CUDA_SUCCESS) result = driver->cuDeviceGetCount(&driver->device_count);
  if (result == CUDA_SUCCESS && driver->device_count == 0) result = CUDA_ERROR_NO_DEVICE;
  if (result == CUDA_SUCCESS) return true;
  snprintf(reason, size, "%s: %s", result == CUDA_ERROR_NO_DEVICE ? "no CUDA device" : "the CUDA driver does not start",
           weir__cuda_result_text(driver, result, text, sizeof text));
  return false;
}

const weir__cuda_driver *weir__cuda_driver_load(char *reason, size_t size) {
  static const weir__symbol SYMBOLS[] = {
#define SYMBOL(member, symbol, need, parameters) WEIR__SYMBOL(weir__cuda_driver, member, symbol, need),
      WEIR__CUDA_SYMBOLS(SYMBOL)
#undef SYMBOL
  };
  static const char *const FILES[] = {"libcuda.so.1", NULL};
  static weir__cuda_driver driver;
  static weir__library library = {.name = "CUDA driver",
                                  .lacks = "the driver lacks",
                                  .variable = "WEIR_CUDA_DRIVER",
                                  .files = FILES,
                                  .symbols = WEIR__SYMBOLS_OF(SYMBOLS),
                                  .table = &driver,
                                  .start = start};
  return weir__library_load(&library, reason, size);
}

const char *weir__cuda_result_text(const weir__cuda_driver *driver, CUresult result, char *text, size_t size) {
  const char *name = NULL, *meaning = NULL;
  driver->cuGetErrorName(result, &name);
  driver->cuGetErrorString(result, &meaning);
  if (name == NULL)
    snprintf(text, size, "CUDA error %d", (int)result);
  else
    snprintf(text, size, "%s%s%s", name, meaning != NULL ? ": " : "", meaning != NULL ? meaning : "");
  return text;
}

bool weir__cuda_is_sticky(CUresult result) {
  switch (result) {
  case CUDA_ERROR_DEINITIALIZED:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_CONTAINED:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_TENSOR_MEMORY_LEAK:
  case CUDA_ERROR_MPS_RPC_FAILURE:
  case CUDA_ERROR_MPS_CLIENT_TERMINATED:
  case CUDA_ERROR_EXTERNAL_DEVICE:
  case CUDA_ERROR_UNKNOWN:
    return true;
  default:
    return false;
  }
}

weir_status weir__cuda_status(CUresult result) {
  if (weir__cuda_is_sticky(result)) return WEIR_ERROR_DEVICE_LOST;
  switch (result) {
  case CUDA_SUCCESS:
    return WEIR_OK;
  case CUDA_ERROR_NOT_READY:
    return WEIR_PENDING;
  case CUDA_ERROR_OUT_OF_MEMORY:
    return WEIR_ERROR_OUT_OF_MEMORY;
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_INVALID_SOURCE:
  case CUDA_ERROR_INVALID_HANDLE:
  case CUDA_ERROR_NOT_FOUND:
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
  case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
  case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
  case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    return WEIR_ERROR_INVALID_ARGUMENT;
  case CUDA_ERROR_NOT_INITIALIZED:
  case CUDA_ERROR_STUB_LIBRARY:
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
  case CUDA_ERROR_NOT_PERMITTED:
  case CUDA_ERROR_NOT_SUPPORTED:
  case CUDA_ERROR_SYSTEM_NOT_READY:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
  case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    return WEIR_ERROR_UNAVAILABLE;
  default:
    return WEIR_ERROR_TASK_FAILED;
  }
}

weir_status weir__cuda_error(const weir__cuda_driver *driver, CUresult result, const char *format, ...) {
  if (result == CUDA_SUCCESS) return WEIR_OK;
  char what[256], why[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return weir__error(weir__cuda_status(result), "%s: %s", what,
                     weir__cuda_result_text(driver, result, why, sizeof why));
}

static void describe_device(const weir__cuda_driver *driver, int ordinal, char *text, size_t size) {
  CUdevice device = 0;
  char name[96] = "?", why[160];
  int major = 0, minor = 0;
  size_t bytes = 0;
  CUresult result = driver->cuDeviceGet(&device, ordinal);
  if (result == CUDA_SUCCESS) result = driver->cuDeviceGetName(name, sizeof name, device);
  if (result == CUDA_SUCCESS)
    result = driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (result == CUDA_SUCCESS)
    result = driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  if (result == CUDA_SUCCESS) result = driver->cuDeviceTotalMem(&bytes, device);
  if (result == CUDA_SUCCESS)
    snprintf(text, size, "%s (%d.%d, %.0f GB)", name, major, minor, (double)bytes / 1e9);
  else
    snprintf(text, size, "device %d: %s", ordinal, weir__cuda_result_text(driver, result, why, sizeof why));
}

// "2 x NAME (9.0, 141 GB), OTHER (8.0, 40 GB)": neighbours that are alike are counted.
static void describe_devices(const weir__cuda_driver *driver, char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (int first = 0, next; first < driver->device_count && used < size; first = next) {
    char one[320], other[320], count[16] = "";
    describe_device(driver, first, one, sizeof one);
    for (next = first + 1; next < driver->device_count; next++) {
      describe_device(driver, next, other, sizeof other);
      if (strcmp(one, other) != 0) break;
    }
    if (next - first > 1) snprintf(count, sizeof count, "%d x ", next - first);
    used += (size_t)snprintf(text + used, size - used, "%s%s%s", first > 0 ? ", " : "", count, one);
  }
}

// "driver 580.159.03, " as the kernel's module tells, or "" if it does not.
static void describe_release(char *text, size_t size) {
  char line[256] = "", *rest = NULL;
  text[0] = 0;
  FILE *file = fopen("/proc/driver/nvidia/version", "re");
  if (file == NULL) return;
  if (fgets(line, sizeof line, file) == NULL) line[0] = 0;
  fclose(file);
  for (char *word = strtok_r(line, " \t\n", &rest); word != NULL; word = strtok_r(NULL, " \t\n", &rest)) {
    if (word[0] < '0' || word[0] > '9' || strchr(word, '.') == NULL) continue;
    snprintf(text, size, "driver %.32s, ", word);
    return;
  }
}

bool weir__cuda_probe(char *text, size_t size) {
  const weir__cuda_driver *driver = weir__cuda_driver_load(text, size);
  if (driver == NULL) return false;
  char devices[512], release[64], compiler[512];
  const weir__nvrtc *nvrtc = weir__nvrtc_load(compiler, sizeof compiler);
  if (nvrtc != NULL) snprintf(compiler, sizeof compiler, "NVRTC %d.%d", nvrtc->major, nvrtc->minor);
  describe_devices(driver, devices, sizeof devices);
  describe_release(release, sizeof release);
  snprintf(text, size, "%s, %sCUDA %d.%d; %s", devices, release, driver->version / 1000, driver->version % 1000 / 10,
           compiler);
  return true;
}
