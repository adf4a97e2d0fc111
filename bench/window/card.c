// SPDX-License-Identifier: Apache-2.0
#include "card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvrtc_card.h"
#include "timing.h"

// Kernels for tasks of up to 2, 4 and 8 ranges.
enum { KINDS = 3, HEAD_BYTES = 128 };

struct window_gpu {
  nvrtc_card opened;
  CUmodule modules[KINDS];
  CUfunction functions[KINDS];
  CUstream stream;
  // Of the head and the ring: the head is first.
  CUdeviceptr ring, results, card;
  void *host_ring;
  window_card *host_card; // pinned, for copies
  const window_case *loaded;
  int kind; // of what is loaded
  uint32_t ring_slots;
};

static size_t task_bytes(int kind) {
  return 16 + 16 * ((size_t)2 << kind);
}

static size_t memory_bytes(int kind, uint32_t slots) {
  return (16 * ((size_t)2 << kind) + 4) * slots;
}

const char *window_gpu_name(const window_gpu *gpu) {
  return gpu->opened.name;
}

static bool compile(window_gpu *gpu, int kind, char *reason, size_t bytes) {
  char options[64];
  CUmodule *module = &gpu->modules[kind];
  snprintf(options, sizeof options, "-DWINDOW_RANGES=%d", 2 << kind);
  if (!nvrtc_card_compile(&gpu->opened, "window", window_source, options, module, reason, bytes)) return false;
  const weir__cuda_driver *driver = gpu->opened.driver;
  CUresult result = driver->cuModuleGetFunction(&gpu->functions[kind], *module, "window");
  if (result == CUDA_SUCCESS)
    result = driver->cuFuncSetAttribute(gpu->functions[kind], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        (int)memory_bytes(kind, WINDOW_MOST_SLOTS));
  return nvrtc_card_good(&gpu->opened, result, "the kernel cannot be loaded", reason, bytes);
}

static bool allocate(window_gpu *gpu, char *reason, size_t bytes) {
  const weir__cuda_driver *driver = gpu->opened.driver;
  const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  size_t ring = HEAD_BYTES + WINDOW_MOST_TASKS * task_bytes(KINDS - 1);
  void *card = NULL;
  CUresult result = driver->cuStreamCreateWithPriority(&gpu->stream, CU_STREAM_NON_BLOCKING, 0);
  if (result == CUDA_SUCCESS) result = driver->cuMemAlloc(&gpu->ring, ring);
  if (result == CUDA_SUCCESS) result = driver->cuMemAlloc(&gpu->results, WINDOW_MOST_TASKS * sizeof(window_result));
  if (result == CUDA_SUCCESS) result = driver->cuMemAlloc(&gpu->card, sizeof(window_card));
  if (result == CUDA_SUCCESS) result = driver->cuMemHostAlloc(&gpu->host_ring, ring, flags);
  if (result == CUDA_SUCCESS) result = driver->cuMemHostAlloc(&card, sizeof(window_card), flags);
  gpu->host_card = card;
  return nvrtc_card_good(&gpu->opened, result, "memory", reason, bytes);
}

window_gpu *window_gpu_open(const char *device, char *reason, size_t reason_bytes) {
  nvrtc_card opened;
  if (!nvrtc_card_open(device, &opened, reason, reason_bytes)) return NULL;
  window_gpu *gpu = gpu_memory(1, sizeof *gpu);
  gpu->opened = opened;
  bool good = true;
  for (int kind = 0; kind < KINDS && good; kind++) good = compile(gpu, kind, reason, reason_bytes);
  if (good && allocate(gpu, reason, reason_bytes)) return gpu;
  window_gpu_close(gpu);
  return NULL;
}

void window_gpu_close(window_gpu *gpu) {
  if (gpu == NULL) return;
  const weir__cuda_driver *driver = gpu->opened.driver;
  if (gpu->ring != 0) driver->cuMemFree(gpu->ring);
  if (gpu->results != 0) driver->cuMemFree(gpu->results);
  if (gpu->card != 0) driver->cuMemFree(gpu->card);
  if (gpu->host_ring != NULL) driver->cuMemFreeHost(gpu->host_ring);
  if (gpu->host_card != NULL) driver->cuMemFreeHost(gpu->host_card);
  if (gpu->stream != NULL) driver->cuStreamDestroy(gpu->stream);
  for (int kind = 0; kind < KINDS; kind++)
    if (gpu->modules[kind] != NULL) driver->cuModuleUnload(gpu->modules[kind]);
  nvrtc_card_close(&gpu->opened);
  free(gpu);
}

// A task as kernels of a kind take it.
static void write_task(const window_case_task *task, uint32_t number, int kind, char *to) {
  const uint32_t words[4] = {number, task->ranges, task->writes, 0};
  memcpy(to, words, sizeof words);
  for (uint32_t i = 0; i < 2u << kind; i++) {
    uint64_t range[2] = {WINDOW_NOTHING, 0};
    if (i < task->ranges) {
      range[0] = task->range[i].lo;
      range[1] = task->range[i].hi;
    }
    memcpy(to + 16 + 16 * (size_t)i, range, sizeof range);
  }
}

static bool succeeds(const window_gpu *gpu, CUresult result, const char *what) {
  char text[512];
  if (nvrtc_card_good(&gpu->opened, result, what, text, sizeof text)) return true;
  fprintf(stderr, "weir-bench-window: %s\n", text);
  return false;
}

bool window_gpu_load(window_gpu *gpu, const window_case *which) {
  const weir__cuda_driver *driver = gpu->opened.driver;
  const uint32_t count = which->program.task_count;
  if (count > WINDOW_MOST_TASKS) {
    fprintf(stderr, "weir-bench-window: %s: more than %d tasks\n", which->name, WINDOW_MOST_TASKS);
    return false;
  }
  gpu->kind = which->most_ranges <= 2 ? 0 : which->most_ranges <= 4 ? 1 : 2;
  for (gpu->ring_slots = 1; gpu->ring_slots < count;) gpu->ring_slots *= 2;
  gpu->loaded = which;
  memset(gpu->host_ring, 0, HEAD_BYTES);
  memcpy(gpu->host_ring, &count, sizeof count); // the head's `tail`
  for (uint32_t t = 0; t < count; t++) {
    uint32_t number = t + 1;
    char *slot = (char *)gpu->host_ring + HEAD_BYTES + number % gpu->ring_slots * task_bytes(gpu->kind);
    write_task(&which->tasks[t], number, gpu->kind, slot);
  }
  size_t bytes = HEAD_BYTES + gpu->ring_slots * task_bytes(gpu->kind);
  CUresult result = driver->cuMemcpyAsync(gpu->ring, (CUdeviceptr)(uintptr_t)gpu->host_ring, bytes, gpu->stream);
  if (result == CUDA_SUCCESS) result = driver->cuStreamSynchronize(gpu->stream);
  return succeeds(gpu, result, "the tasks cannot be copied");
}

static CUresult launch(window_gpu *gpu, const window_way *way, double *out_wall_us) {
  const weir__cuda_driver *driver = gpu->opened.driver;
  // Pinned memory has the same address on the card.
  CUdeviceptr head = way->from_host ? (CUdeviceptr)(uintptr_t)gpu->host_ring : gpu->ring, ring = head + HEAD_BYTES;
  uint32_t first = 1, count = gpu->loaded->program.task_count, slots = way->slots, live = way->live;
  void *parameters[] = {&head, &ring, &gpu->card, &gpu->results, &gpu->ring_slots, &first, &count, &slots, &live};
  CUresult result = driver->cuMemsetD8Async(gpu->card, 0, sizeof(window_card), gpu->stream);
  if (result == CUDA_SUCCESS)
    result = driver->cuMemsetD8Async(gpu->results, 0xff, count * sizeof(window_result), gpu->stream);
  if (result == CUDA_SUCCESS) result = driver->cuStreamSynchronize(gpu->stream);
  double begin = gpu_now_us();
  if (result == CUDA_SUCCESS)
    result = driver->cuLaunchKernel(gpu->functions[gpu->kind], 1, 1, 1, 32 * way->warps, 1, 1,
                                    (unsigned)memory_bytes(gpu->kind, slots), gpu->stream, parameters, NULL);
  if (result == CUDA_SUCCESS) result = driver->cuStreamSynchronize(gpu->stream);
  *out_wall_us = gpu_now_us() - begin;
  return result;
}

bool window_gpu_run(window_gpu *gpu, const window_way *way, double *out_card_us, double *out_wall_us,
                    window_result *out_results) {
  const weir__cuda_driver *driver = gpu->opened.driver;
  uint32_t count = gpu->loaded->program.task_count;
  CUresult result = launch(gpu, way, out_wall_us);
  if (result == CUDA_SUCCESS)
    result = driver->cuMemcpyAsync((CUdeviceptr)(uintptr_t)gpu->host_card, gpu->card, sizeof(window_card), gpu->stream);
  if (result == CUDA_SUCCESS)
    result = driver->cuMemcpyAsync((CUdeviceptr)(uintptr_t)out_results, gpu->results, count * sizeof *out_results,
                                   gpu->stream);
  if (result == CUDA_SUCCESS) result = driver->cuStreamSynchronize(gpu->stream);
  if (!succeeds(gpu, result, "a launch failed")) return false;
  const window_card *card = gpu->host_card;
  *out_card_us = (double)(card->end_ns - card->start_ns) / 1000;
  if (card->status == 0 && card->taken == count) return true;
  fprintf(stderr, "weir-bench-window: the launch took %u of %u tasks, status %u\n", card->taken, count,
          (unsigned)card->status);
  return false;
}
