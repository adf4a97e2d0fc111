// SPDX-License-Identifier: Apache-2.0
//
// The functions that Weir calls of Vulkan: X(name, need). `need` is REQUIRED or OPTIONAL (NULL where it is missing).
#ifndef WEIR_DEVICE_VULKAN_SYMBOLS_H
#define WEIR_DEVICE_VULKAN_SYMBOLS_H

// clang-format off
// Without an instance: vkCreateInstance, vkEnumerateInstanceVersion. With one:
#define WEIR__VULKAN_INSTANCE_SYMBOLS(X) \
  X(vkDestroyInstance, REQUIRED) \
  X(vkEnumeratePhysicalDevices, REQUIRED) \
  X(vkEnumerateDeviceExtensionProperties, REQUIRED) \
  X(vkGetPhysicalDeviceProperties2, REQUIRED) \
  X(vkGetPhysicalDeviceFeatures2, REQUIRED) \
  X(vkGetPhysicalDeviceMemoryProperties, REQUIRED) \
  X(vkGetPhysicalDeviceQueueFamilyProperties, REQUIRED) \
  X(vkGetPhysicalDeviceFormatProperties, REQUIRED) \
  X(vkCreateDevice, REQUIRED) \
  X(vkGetDeviceProcAddr, REQUIRED)

#define WEIR__VULKAN_DEVICE_SYMBOLS(X) \
  X(vkDestroyDevice, REQUIRED) \
  X(vkDeviceWaitIdle, REQUIRED) \
  X(vkGetDeviceQueue, REQUIRED) \
  X(vkQueueSubmit, REQUIRED) \
  X(vkQueueWaitIdle, REQUIRED) \
  X(vkAllocateMemory, REQUIRED) \
  X(vkFreeMemory, REQUIRED) \
  X(vkMapMemory, REQUIRED) \
  X(vkUnmapMemory, REQUIRED) \
  X(vkFlushMappedMemoryRanges, REQUIRED) \
  X(vkInvalidateMappedMemoryRanges, REQUIRED) \
  X(vkCreateBuffer, REQUIRED) \
  X(vkDestroyBuffer, REQUIRED) \
  X(vkGetBufferMemoryRequirements, REQUIRED) \
  X(vkBindBufferMemory, REQUIRED) \
  X(vkCreateImage, REQUIRED) \
  X(vkDestroyImage, REQUIRED) \
  X(vkGetImageMemoryRequirements, REQUIRED) \
  X(vkBindImageMemory, REQUIRED) \
  X(vkCreateImageView, REQUIRED) \
  X(vkDestroyImageView, REQUIRED) \
  X(vkCreateSampler, REQUIRED) \
  X(vkDestroySampler, REQUIRED) \
  X(vkCreateShaderModule, REQUIRED) \
  X(vkDestroyShaderModule, REQUIRED) \
  X(vkCreatePipelineCache, REQUIRED) \
  X(vkDestroyPipelineCache, REQUIRED) \
  X(vkGetPipelineCacheData, REQUIRED) \
  X(vkCreateComputePipelines, REQUIRED) \
  X(vkDestroyPipeline, REQUIRED) \
  X(vkCreatePipelineLayout, REQUIRED) \
  X(vkDestroyPipelineLayout, REQUIRED) \
  X(vkCreateDescriptorSetLayout, REQUIRED) \
  X(vkDestroyDescriptorSetLayout, REQUIRED) \
  X(vkCreateDescriptorPool, REQUIRED) \
  X(vkDestroyDescriptorPool, REQUIRED) \
  X(vkResetDescriptorPool, REQUIRED) \
  X(vkAllocateDescriptorSets, REQUIRED) \
  X(vkUpdateDescriptorSets, REQUIRED) \
  X(vkCreateCommandPool, REQUIRED) \
  X(vkDestroyCommandPool, REQUIRED) \
  X(vkResetCommandPool, REQUIRED) \
  X(vkAllocateCommandBuffers, REQUIRED) \
  X(vkBeginCommandBuffer, REQUIRED) \
  X(vkEndCommandBuffer, REQUIRED) \
  X(vkCmdBindPipeline, REQUIRED) \
  X(vkCmdBindDescriptorSets, REQUIRED) \
  X(vkCmdPushConstants, REQUIRED) \
  X(vkCmdDispatch, REQUIRED) \
  X(vkCmdPipelineBarrier, REQUIRED) \
  X(vkCmdCopyBuffer, REQUIRED) \
  X(vkCmdFillBuffer, REQUIRED) \
  X(vkCmdUpdateBuffer, REQUIRED) \
  X(vkCmdCopyBufferToImage, REQUIRED) \
  X(vkCmdCopyImageToBuffer, REQUIRED) \
  X(vkCmdCopyImage, REQUIRED) \
  X(vkCmdClearColorImage, REQUIRED) \
  X(vkCmdWriteTimestamp, REQUIRED) \
  X(vkCmdResetQueryPool, REQUIRED) \
  X(vkResetQueryPool, REQUIRED) \
  X(vkCreateQueryPool, REQUIRED) \
  X(vkDestroyQueryPool, REQUIRED) \
  X(vkGetQueryPoolResults, REQUIRED) \
  X(vkCreateFence, REQUIRED) \
  X(vkDestroyFence, REQUIRED) \
  X(vkWaitForFences, REQUIRED) \
  X(vkResetFences, REQUIRED) \
  X(vkCreateSemaphore, REQUIRED) \
  X(vkDestroySemaphore, REQUIRED) \
  X(vkGetSemaphoreCounterValue, REQUIRED) \
  X(vkWaitSemaphores, REQUIRED) \
  X(vkSignalSemaphore, REQUIRED)
// clang-format on

#endif // WEIR_DEVICE_VULKAN_SYMBOLS_H
