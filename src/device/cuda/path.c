// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/path.h"

#include "device/cuda/cuda_device.h"

void weir__cuda_begin_round(weir__cuda_device *device, bool any) {
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->begin_round != NULL) device->paths[i]->begin_round(device, any);
  }
}

void weir__cuda_flush_paths(weir__cuda_device *device, bool wanted) {
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->flush != NULL) device->paths[i]->flush(device, wanted);
  }
}

void weir__cuda_mark_ends(weir__cuda_device *device) {
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->mark_ends != NULL) device->paths[i]->mark_ends(device);
  }
}

bool weir__cuda_poll(weir__cuda_device *device, bool all) {
  bool any = false;
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->poll != NULL && device->paths[i]->poll(device, all)) any = true;
  }
  return any;
}

bool weir__cuda_go_on(weir__cuda_device *device) {
  bool any = false;
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->go_on != NULL && device->paths[i]->go_on(device)) any = true;
  }
  return any;
}

bool weir__cuda_report_lost(weir__cuda_device *device) {
  bool any = false;
  for (uint32_t i = 0; i < device->path_count && device->lost != WEIR_OK; i++) {
    if (device->paths[i]->fail_all != NULL && device->paths[i]->fail_all(device)) any = true;
  }
  return any;
}

bool weir__cuda_is_busy(const weir__cuda_device *device) {
  bool busy = false;
  for (uint32_t i = 0; i < device->path_count && !busy; i++) busy = device->paths[i]->is_busy(device);
  return busy;
}

bool weir__cuda_bars_streams(const weir__cuda_device *device) {
  bool bars = false;
  for (uint32_t i = 0; i < device->path_count && !bars; i++)
    bars = device->paths[i]->bars_streams != NULL && device->paths[i]->bars_streams(device);
  return bars;
}

bool weir__cuda_rest(weir__cuda_device *device) {
  bool again = false;
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->rest != NULL && device->paths[i]->rest(device)) again = true;
  }
  return again;
}

void weir__cuda_stop_paths(weir__cuda_device *device) {
  for (uint32_t i = 0; i < device->path_count; i++) {
    if (device->paths[i]->stop != NULL) device->paths[i]->stop(device);
  }
}
