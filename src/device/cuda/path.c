// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/path.h"

#include "device/cuda/cuda_device.h"

void weir__cuda_add_path(weir__cuda_device *device, const weir__cuda_path *path) {
  uint32_t last = device->path_count++;
  if (last > 0) device->paths[last] = device->paths[last - 1];
  device->paths[last > 0 ? last - 1 : 0] = path;
}

void weir__cuda_begin_round(weir__cuda_device *device, bool any) {
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->begin_round != NULL) device->paths[i]->begin_round(device, any);
  }
}

void weir__cuda_flush(weir__cuda_device *device, bool wanted) {
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->flush != NULL) device->paths[i]->flush(device, wanted);
  }
}

bool weir__cuda_poll(weir__cuda_device *device, bool all) {
  bool any = false;
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->poll != NULL && device->paths[i]->poll(device, all)) any = true;
  }
  return any;
}

void weir__cuda_stop(weir__cuda_device *device) {
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->stop != NULL) device->paths[i]->stop(device);
  }
}

// Whether any path answers yes; all are asked.
#define ANY(function)                                                                                                  \
  bool weir__cuda_##function(weir__cuda_device *device) {                                                              \
    bool any = false;                                                                                                  \
    for (uint32_t i = 0; i < device->path_count; i++) {                                                                \
      if (device->paths[i]->function != NULL && device->paths[i]->function(device)) any = true;                        \
    }                                                                                                                  \
    return any;                                                                                                        \
  }
ANY(go_on)
ANY(fail_all)
ANY(is_busy)
ANY(bars_streams)
ANY(rest)
