// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/imports.h"

#include "device/cuda/cuda_device.h"
#include "device/cuda/share.h"

// Tasks may stall so many of the last ordinary queues: half of them, and none to which launchers give kernels.
static uint32_t most_stalls(const weir__cuda_device *device) {
  uint32_t ordinary = weir__cuda_ordinary_queues(device), most = ordinary / 2;
  uint32_t others = ordinary - weir__cuda_scheduled_queues(device);
  return most < others ? most : others;
}

static uint32_t count_of(const weir__cuda_imports *imports) {
  return atomic_load_explicit(&imports->count, memory_order_relaxed);
}

static uint32_t waiting_for_a_queue(const weir__cuda_imports *imports) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < count_of(imports); i++) count += !imports->list[i].placed;
  return count;
}

bool weir__cuda_await_import(weir_device *base, weir__id task, weir__external_fence *import) {
  weir__cuda_device *device = weir__cuda_of(base);
  weir__cuda_imports *imports = &device->imports;
  uint32_t count = count_of(imports);
  // A timeline counts all that is in a stream as time of its task, and the resident kernel has no streams.
  if (!weir__is_cuda(import->device) || base->host->trace != NULL || base->host->issue == WEIR_ISSUE_RESIDENT)
    return false;
  if (count == WEIR__CUDA_MOST_IMPORTS || waiting_for_a_queue(imports) + imports->stalls >= most_stalls(device))
    return false;
  imports->list[count] = (weir__cuda_awaited){.task = task, .import = import};
  atomic_store_explicit(&imports->count, count + 1, memory_order_release);
  return true;
}

void weir__cuda_forget_import(weir_device *base, const weir__external_fence *import) {
  weir__cuda_imports *imports = &weir__cuda_of(base)->imports;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count_of(imports); i++) {
    if (imports->list[i].import != import) imports->list[kept++] = imports->list[i];
  }
  atomic_store_explicit(&imports->count, kept, memory_order_release);
}

static bool find(weir__cuda_imports *imports, weir__id task, bool place) {
  bool found = false;
  for (uint32_t i = 0; i < count_of(imports); i++) {
    if (imports->list[i].task != task) continue;
    found = true;
    if (place) imports->list[i].placed = true;
  }
  return found;
}

bool weir__cuda_awaits(weir__cuda_device *device, weir__id task) {
  weir__host *host = device->base.device.host;
  if (atomic_load_explicit(&device->imports.count, memory_order_acquire) == 0) return false;
  weir__host_lock(host);
  bool awaits = find(&device->imports, task, false);
  weir__host_unlock(host);
  return awaits;
}

bool weir__cuda_stalls(weir__cuda_device *device, weir__id task, uint32_t *out_queue) {
  weir__host *host = device->base.device.host;
  if (atomic_load_explicit(&device->imports.count, memory_order_acquire) == 0) return false;
  uint32_t end = weir__cuda_ordinary_queues(device);
  weir__host_lock(host);
  bool stalls = find(&device->imports, task, true);
  device->imports.stalls += stalls;
  weir__host_unlock(host);
  if (stalls) *out_queue = weir__queues_quietest(device->base.queues, end - most_stalls(device), end);
  return stalls;
}

void weir__cuda_stalls_no_more(weir__cuda_device *device) {
  device->imports.stalls--;
}

// While the lock is held an import that is found is not over, so that its event is there.
CUresult weir__cuda_let_wait_for_imports(weir__cuda_device *device, const weir__cuda_op *op, CUstream stream) {
  weir__host *host = device->base.device.host;
  const weir__cuda_imports *imports = &device->imports;
  CUresult result = CUDA_SUCCESS;
  weir__host_lock(host);
  for (uint32_t i = 0; i < count_of(imports) && result == CUDA_SUCCESS; i++) {
    if (imports->list[i].task != op->head.task->id) continue;
    CUevent event = ((const weir__cuda_fence *)imports->list[i].import)->event;
    result = device->driver->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT);
  }
  weir__host_unlock(host);
  return result;
}
