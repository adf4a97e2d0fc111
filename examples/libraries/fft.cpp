// SPDX-License-Identifier: Apache-2.0
#include "fft.h"

#define VKFFT_BACKEND 0
#ifdef SPECTRUM_EARLIER_LIMITS
// VkFFT 1.2 writes the limits of the compiler (glslang) as a list, and later glslangs have some more in the middle of
// it. Here the list becomes what it was written for, and its address that of what glslang takes.
#include <glslang/Include/glslang_c_interface.h>

#include <cstddef>
#include <cstring>

struct earlier_limits {
  int first[offsetof(glslang_resource_t, max_mesh_output_vertices_ext) / sizeof(int)];
  int dual_source_draw_buffers;
  glslang_limits_t limits;

  const glslang_resource_t *operator&() const {
    static glslang_resource_t all;
    memcpy(&all, first, sizeof first);
    all.limits = limits;
    return &all;
  }
};
#define glslang_resource_t earlier_limits
#endif
#include <vkFFT.h>

// VkFFT keeps pointers to these.
struct fft {
  VkFFTApplication application;
  VkBuffer buffer;
  uint64_t bytes;
};

fft *fft_create(vulkan_device *device, VkBuffer buffer, uint32_t size) {
  fft *plan = static_cast<fft *>(calloc(1, sizeof(fft)));
  if (plan == nullptr) return nullptr;
  plan->buffer = buffer;
  plan->bytes = 2 * sizeof(float) * size * size;
  VkFFTConfiguration configuration = {};
  configuration.FFTdim = 2;
  configuration.size[0] = configuration.size[1] = size;
  configuration.physicalDevice = &device->physical;
  configuration.device = &device->device;
  configuration.queue = &device->queue;
  configuration.commandPool = &device->pool;
  configuration.fence = &device->fence;
  configuration.buffer = &plan->buffer;
  configuration.bufferSize = &plan->bytes;
  configuration.normalize = 1;
  if (initializeVkFFT(&plan->application, configuration) == VKFFT_SUCCESS) return plan;
  free(plan);
  return nullptr;
}

void fft_destroy(fft *plan) {
  deleteVkFFT(&plan->application);
  free(plan);
}

int fft_record(fft *plan, VkCommandBuffer commands, bool inverse) {
  VkFFTLaunchParams launch = {};
  launch.commandBuffer = &commands;
  launch.buffer = &plan->buffer;
  return VkFFTAppend(&plan->application, inverse ? 1 : -1, &launch);
}
