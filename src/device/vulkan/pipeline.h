// SPDX-License-Identifier: Apache-2.0
//
// Compute pipelines of one device: shared by all kernels with the same code, entry point and constants, and kept on disk from
// one process to the next.
#ifndef WEIR_DEVICE_VULKAN_PIPELINE_H
#define WEIR_DEVICE_VULKAN_PIPELINE_H

#include "device/vulkan/driver.h"
#include "device/vulkan/spirv.h"

// Descriptor-set layouts and pipeline layouts are shared too: by how many bindings of which kinds, and by push constants.
typedef struct weir__vulkan_layout {
  struct weir__vulkan_layout *next;
  VkDescriptorSetLayout set; // VK_NULL_HANDLE where binding_count is 0
  VkPipelineLayout pipeline;
  uint32_t binding_count, push_bytes;
  VkDescriptorType *types; // per binding
} weir__vulkan_layout;

typedef struct weir__vulkan_pipeline {
  struct weir__vulkan_pipeline *next;
  VkPipeline pipeline;
  const weir__vulkan_layout *layout;
  bool *writes, *reads; // per binding, as the shader declares
  uint32_t *formats;    // per binding: the SPIR-V format of a storage image, 0 otherwise
  uint32_t *dimensions; // per binding: of an image
  uint64_t hash;
  struct weir__vulkan_pipeline_key *key; // what it was made of
} weir__vulkan_pipeline;

typedef struct weir__vulkan_pipelines weir__vulkan_pipelines;

// `enabled`: what the logical device was created with, in the fields of facts; a shader that needs more is refused.
// NULL: no memory. Not thread-safe: the context's lock guards it.
weir__vulkan_pipelines *weir__vulkan_pipelines_create(const weir__vulkan_calls *calls, VkDevice device,
                                                      const weir__vulkan_facts *enabled);

// Writes the pipeline cache to disk, if it grew, and frees all.
void weir__vulkan_pipelines_destroy(weir__vulkan_pipelines *pipelines);

// The pipeline of a launch. It lives as long as `pipelines`. Errors as weir_kernel_set_vulkan.
weir_status weir__vulkan_pipeline_get(weir__vulkan_pipelines *pipelines, const char *kernel_name,
                                      const weir_vulkan_code *code, const weir_vulkan_launch *launch,
                                      const weir__vulkan_pipeline **out_pipeline);

#endif // WEIR_DEVICE_VULKAN_PIPELINE_H
