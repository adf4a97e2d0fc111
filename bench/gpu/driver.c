// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

gpu_driver gpu;

void gpu_check(int result, const char *call, const char *file, int line) {
  if (result == 0) return;
  const char *name = NULL;
  gpu.error_name(result, &name);
  fprintf(stderr, "weir-gpu-peers: %s:%d: %s: %s (%d)\n", file, line, call, name ? name : "unknown error", result);
  exit(1);
}

static _Noreturn void no_card(const char *reason, const char *detail) {
  fprintf(stderr, "weir-gpu-peers: no CUDA card to measure: %s%s\n", reason, detail);
  exit(GPU_EXIT_NO_CARD);
}

static void load(void *library, const char *symbol, void *out_function) {
  void *found = dlsym(library, symbol);
  if (!found) no_card("the driver is too old, it has no ", symbol);
  memcpy(out_function, &found, sizeof found);
}

void gpu_open(gpu_card *out_card) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) no_card("", dlerror());
#define GPU_LOAD(symbol, name, parameters) load(library, #symbol, &gpu.name);
  GPU_SYMBOLS(GPU_LOAD)
#undef GPU_LOAD
  if (gpu.init(0) != 0) no_card("the driver finds none", "");
  int device = 0;
  if (gpu.device_get(&device, 0) != 0) no_card("the driver has no device 0", "");
  *out_card = (gpu_card){0};
  GPU_CHECK(gpu.device_name(out_card->name, (int)sizeof out_card->name, device));
  GPU_CHECK(gpu.device_attribute(&out_card->sms, 16, device)); // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  GPU_CHECK(gpu.version(&out_card->version));
  void *context = NULL;
  GPU_CHECK(gpu.primary_retain(&context, device));
  GPU_CHECK(gpu.set_current(context));
}
