// SPDX-License-Identifier: Apache-2.0
//
// Compute pipelines of one device: shared by all kernels with the same code, entry point and constants. What the driver
// compiled is kept on disk (base/disk_cache.h) from one process to the next.
#ifndef WEIR_DEVICE_VULKAN_PIPELINE_H
#define WEIR_DEVICE_VULKAN_PIPELINE_H

#include "base/hash.h"
#include "device/vulkan/driver.h"
#include "device/vulkan/spirv.h"

// Descriptor-set layouts and pipeline layouts are shared too: by how many bindings of which kinds, and by push constants.
typedef struct weir__vulkan_layout {
  struct weir__vulkan_layout *next;
  VkDescriptorSetLayout set; // VK_NULL_HANDLE where binding_count is 0
  VkPipelineLayout pipeline;
  uint32_t binding_count, push_bytes; // a multiple of 4
  VkDescriptorType types[];           // per binding
} weir__vulkan_layout;

// What a shader does with a binding.
typedef struct weir__vulkan_binding {
  bool reads, writes;  // neither: the shader ignores it
  uint8_t use;         // the same as bits of device/use.h
  uint32_t dimensions; // of an image; 0: a buffer
  uint32_t format;     // of a storage image: the SPIR-V image format; 0: any, or no storage image
} weir__vulkan_binding;

typedef struct weir__vulkan_pipeline {
  struct weir__vulkan_pipeline *next;
  VkPipeline pipeline;
  const weir__vulkan_layout *layout;
  uint32_t local_size[3];
  weir__hash hash;                 // of code, entry point and constants
  bool known;                      // the shader reaches buffers by its bindings only
  uint32_t member_count;           // of the push constants; 0 also if they are not known
  weir__spirv_member *members;     // by offset; owned
  weir__vulkan_binding bindings[]; // layout->binding_count
} weir__vulkan_pipeline;

typedef struct weir__vulkan_pipelines weir__vulkan_pipelines;

// `enabled`: what the logical device was created with, in the fields of facts; a shader that needs more is refused. It is
// copied. NULL: no memory.
weir__vulkan_pipelines *weir__vulkan_pipelines_create(const weir__vulkan_calls *calls, VkDevice device,
                                                      const weir__vulkan_facts *enabled);

// Writes the pipeline cache to disk, if it grew, and frees all. NULL is allowed.
void weir__vulkan_pipelines_destroy(weir__vulkan_pipelines *pipelines);

// The pipeline of a launch. It lives as long as `pipelines`. Errors as weir_kernel_set_vulkan; the text begins with `what`, such
// as "kernel 'add', launch 0". Any thread; may take seconds, so the context's lock should not be held.
weir_status weir__vulkan_pipeline_get(weir__vulkan_pipelines *pipelines, const char *what, const weir_vulkan_code *code,
                                      const weir_vulkan_launch *launch, const weir__vulkan_pipeline **out_pipeline);

#endif // WEIR_DEVICE_VULKAN_PIPELINE_H
