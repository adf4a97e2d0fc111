// SPDX-License-Identifier: Apache-2.0
//
// Functions of the Vulkan loader, resolved at run time. One list declares and resolves them.
#ifndef WEIR_BENCH_GPU_VULKAN_CALLS_H
#define WEIR_BENCH_GPU_VULKAN_CALLS_H

#define VULKAN_INSTANCE_CALLS(X)                                                                                       \
  X(EnumeratePhysicalDevices)                                                                                          \
  X(EnumerateDeviceExtensionProperties)                                                                                \
  X(GetPhysicalDeviceProperties2)                                                                                      \
  X(GetPhysicalDeviceFeatures2)                                                                                        \
  X(GetPhysicalDeviceMemoryProperties)                                                                                 \
  X(GetPhysicalDeviceQueueFamilyProperties)                                                                            \
  X(CreateDevice)                                                                                                      \
  X(GetDeviceProcAddr)

#define VULKAN_DEVICE_CALLS(X)                                                                                         \
  X(DestroyDevice)                                                                                                     \
  X(GetDeviceQueue)                                                                                                    \
  X(DeviceWaitIdle)                                                                                                    \
  X(QueueSubmit)                                                                                                       \
  X(CreateCommandPool)                                                                                                 \
  X(DestroyCommandPool)                                                                                                \
  X(ResetCommandPool)                                                                                                  \
  X(AllocateCommandBuffers)                                                                                            \
  X(BeginCommandBuffer)                                                                                                \
  X(EndCommandBuffer)                                                                                                  \
  X(CmdBindPipeline)                                                                                                   \
  X(CmdBindDescriptorSets)                                                                                             \
  X(CmdPushConstants)                                                                                                  \
  X(CmdDispatch)                                                                                                       \
  X(CmdPipelineBarrier)                                                                                                \
  X(CreateSemaphore)                                                                                                   \
  X(DestroySemaphore)                                                                                                  \
  X(GetSemaphoreCounterValue)                                                                                          \
  X(CreateBuffer)                                                                                                      \
  X(DestroyBuffer)                                                                                                     \
  X(GetBufferMemoryRequirements)                                                                                       \
  X(AllocateMemory)                                                                                                    \
  X(FreeMemory)                                                                                                        \
  X(BindBufferMemory)                                                                                                  \
  X(MapMemory)                                                                                                         \
  X(CreateDescriptorSetLayout)                                                                                         \
  X(DestroyDescriptorSetLayout)                                                                                        \
  X(CreateDescriptorPool)                                                                                              \
  X(DestroyDescriptorPool)                                                                                             \
  X(AllocateDescriptorSets)                                                                                            \
  X(UpdateDescriptorSets)                                                                                              \
  X(CreatePipelineLayout)                                                                                              \
  X(DestroyPipelineLayout)                                                                                             \
  X(CreateShaderModule)                                                                                                \
  X(DestroyShaderModule)                                                                                               \
  X(CreateComputePipelines)                                                                                            \
  X(DestroyPipeline)

typedef struct vulkan_calls {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
#define VULKAN_MEMBER(name) PFN_vk##name name;
  VULKAN_INSTANCE_CALLS(VULKAN_MEMBER)
  VULKAN_DEVICE_CALLS(VULKAN_MEMBER)
#undef VULKAN_MEMBER
} vulkan_calls;

#endif // WEIR_BENCH_GPU_VULKAN_CALLS_H
