// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_card.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/cuda/nvrtc.h"

bool nvrtc_card_good(const nvrtc_card *card, CUresult result, const char *what, char *reason, size_t reason_bytes) {
  char text[256];
  if (result == CUDA_SUCCESS) return true;
  snprintf(reason, reason_bytes, "%s: %s", what, weir__cuda_result_text(card->driver, result, text, sizeof text));
  return false;
}

bool nvrtc_card_open(const char *device, nvrtc_card *card, char *reason, size_t reason_bytes) {
  int ordinal = 0, end = 0, major = 0, minor = 0;
  *card = (nvrtc_card){0};
  if (strcmp(device, "cuda") != 0 && (sscanf(device, "cuda:%d%n", &ordinal, &end) != 1 || device[end] != '\0')) {
    snprintf(reason, reason_bytes, "'%s' is no CUDA device", device);
    return false;
  }
  const weir__cuda_driver *driver = weir__cuda_driver_load(reason, reason_bytes);
  if (driver == NULL) return false;
  card->driver = driver;
  CUresult result = driver->cuDeviceGet(&card->device, ordinal);
  if (result == CUDA_SUCCESS) result = driver->cuDeviceGetName(card->name, (int)sizeof card->name, card->device);
  if (result == CUDA_SUCCESS)
    result = driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, card->device);
  if (result == CUDA_SUCCESS)
    result = driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, card->device);
  if (result == CUDA_SUCCESS) result = driver->cuDevicePrimaryCtxRetain(&card->context, card->device);
  if (result == CUDA_SUCCESS) result = driver->cuCtxSetCurrent(card->context);
  card->capability = 10 * major + minor;
  if (nvrtc_card_good(card, result, "the device cannot be opened", reason, reason_bytes)) return true;
  nvrtc_card_close(card);
  return false;
}

void nvrtc_card_close(nvrtc_card *card) {
  if (card->context != NULL) card->driver->cuDevicePrimaryCtxRelease(card->device);
  card->context = NULL;
}

bool nvrtc_card_compile(const nvrtc_card *card, const char *name, const char *source, CUmodule *out_module,
                        char *reason, size_t reason_bytes) {
  void *image = NULL;
  size_t image_bytes = 0;
  *out_module = NULL;
  if (weir__nvrtc_compile(name, source, "", card->capability, &image, &image_bytes) != WEIR_OK) {
    snprintf(reason, reason_bytes, "%s", weir_last_error());
    return false;
  }
  CUresult result = card->driver->cuModuleLoadDataEx(out_module, image, 0, NULL, NULL);
  weir__free(image);
  return nvrtc_card_good(card, result, "the kernel cannot be loaded", reason, reason_bytes);
}
