// SPDX-License-Identifier: Apache-2.0
//
// A program that makes one mistake on a Vulkan device, or none: plant MISTAKE. With the validation layer it must exit with
// WEIR__VULKAN_VALIDATION_EXIT, and without a mistake with 0. Exits 3, with the reason, where the device is not available.
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "add.spv.h"
#include "device/vulkan/pipeline.h"
#include "device/vulkan/validation.h"
#include "rig.h"

enum { BYTES = 1024 };

static vulkan_rig rig;
static rig_buffer buffer;

// After all that the stage wrote.
static void barrier(VkPipelineStageFlags stage) {
  bool copies = stage == VK_PIPELINE_STAGE_TRANSFER_BIT;
  const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = copies ? VK_ACCESS_TRANSFER_WRITE_BIT : VK_ACCESS_SHADER_WRITE_BIT,
                                  .dstAccessMask = copies ? VK_ACCESS_TRANSFER_WRITE_BIT
                                                          : VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  rig.calls.vkCmdPipelineBarrier(rig.commands, stage, stage, 0, 1, &memory, 0, NULL, 0, NULL);
}

static void fill(uint32_t value) {
  rig.calls.vkCmdFillBuffer(rig.commands, buffer.buffer, 0, BYTES, value);
}

static void fill_twice(bool with_barrier, bool two_submissions) {
  rig_begin(&rig);
  fill(1);
  if (two_submissions) {
    rig_submit(&rig);
    rig_begin(&rig);
  }
  if (with_barrier) barrier(VK_PIPELINE_STAGE_TRANSFER_BIT);
  fill(2);
  rig_submit(&rig);
  rig_wait(&rig);
}

static void wrong_call(void) {
  rig_begin(&rig);
  rig.calls.vkCmdFillBuffer(rig.commands, buffer.buffer, 2, 4, 0); // an offset must be a multiple of 4
  rig_submit(&rig);
  rig_wait(&rig);
}

// Binds the buffer three times: each dispatch doubles its numbers.
static VkDescriptorSet make_set(const weir__vulkan_layout *layout, VkDescriptorPool *out_pool) {
  const VkDescriptorPoolSize sizes = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
  const VkDescriptorPoolCreateInfo pool = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &sizes};
  assert_int_equal(rig.calls.vkCreateDescriptorPool(rig.device, &pool, NULL, out_pool), VK_SUCCESS);
  const VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                .descriptorPool = *out_pool,
                                                .descriptorSetCount = 1,
                                                .pSetLayouts = &layout->set};
  VkDescriptorSet set;
  assert_int_equal(rig.calls.vkAllocateDescriptorSets(rig.device, &allocate, &set), VK_SUCCESS);
  for (uint32_t i = 0; i < 3; i++) {
    const VkDescriptorBufferInfo bound = {buffer.buffer, 0, BYTES};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = set,
                                        .dstBinding = i,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &bound};
    rig.calls.vkUpdateDescriptorSets(rig.device, 1, &write, 0, NULL);
  }
  return set;
}

static void dispatch_twice(bool with_barrier) {
  weir__vulkan_pipelines *pipelines = weir__vulkan_pipelines_create(&rig.calls, rig.device, &rig.facts);
  const weir_vulkan_code code = {add_spv, sizeof add_spv};
  const weir_vulkan_launch launch = {.entry = NULL};
  const weir__vulkan_pipeline *pipeline;
  assert_int_equal(weir__vulkan_pipeline_get(pipelines, "kernel 'add'", &code, &launch, &pipeline), WEIR_OK);
  VkDescriptorPool pool;
  VkDescriptorSet set = make_set(pipeline->layout, &pool);
  const uint32_t count = BYTES / 4;
  rig_begin(&rig);
  rig.calls.vkCmdBindPipeline(rig.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
  rig.calls.vkCmdBindDescriptorSets(rig.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout->pipeline, 0, 1,
                                    &set, 0, NULL);
  rig.calls.vkCmdPushConstants(rig.commands, pipeline->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &count);
  rig.calls.vkCmdDispatch(rig.commands, 4, 1, 1);
  if (with_barrier) barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
  rig.calls.vkCmdDispatch(rig.commands, 4, 1, 1);
  rig_submit(&rig);
  rig_wait(&rig);
  rig.calls.vkDestroyDescriptorPool(rig.device, pool, NULL);
  weir__vulkan_pipelines_destroy(pipelines);
}

static bool run(const char *mistake) {
  if (strcmp(mistake, "none") == 0) {
    fill_twice(true, false);
    fill_twice(true, true);
    dispatch_twice(true);
  } else if (strcmp(mistake, "call") == 0) {
    wrong_call();
  } else if (strcmp(mistake, "fills") == 0) {
    fill_twice(false, false);
  } else if (strcmp(mistake, "submissions") == 0) {
    fill_twice(false, true);
  } else if (strcmp(mistake, "dispatches") == 0) {
    dispatch_twice(false);
  } else {
    return false;
  }
  return true;
}

int main(int argc, char **argv) {
  char reason[512];
  if (weir__vulkan_driver_load(reason, sizeof reason) == NULL) {
    printf("%s\n", reason);
    return 3;
  }
  rig_create(&rig);
  buffer = rig_make_buffer(&rig, BYTES);
  bool known = argc == 2 && run(argv[1]);
  rig_free_buffer(&rig, &buffer);
  rig_destroy(&rig);
  printf("%llu messages\n", (unsigned long long)weir__vulkan_validation_messages());
  return known ? 0 : 2;
}
