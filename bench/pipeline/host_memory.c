// SPDX-License-Identifier: Apache-2.0
#include "host_memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_cuda(const weir_device *device) {
  return device && strcmp(weir_device_information(device)->kind, "cuda") == 0;
}

void *job_host_allocate(weir_device *device, uint64_t bytes) {
  void *memory = NULL;
  if (!is_cuda(device)) return aligned_alloc(64, (bytes + 63) / 64 * 64);
  return weir_host_allocate(device, bytes, &memory) == WEIR_OK ? memory : NULL;
}

void job_host_free(weir_device *device, void *memory) {
  if (is_cuda(device))
    weir_host_free(device, memory);
  else
    free(memory);
}
