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
  X(QueueWaitIdle)                                                                                                     \
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
  X(CmdSetEvent)                                                                                                       \
  X(CmdWaitEvents)                                                                                                     \
  X(CmdCopyBuffer)                                                                                                     \
  X(CmdResetQueryPool)                                                                                                 \
  X(CmdWriteTimestamp)                                                                                                 \
  X(CreateQueryPool)                                                                                                   \
  X(DestroyQueryPool)                                                                                                  \
  X(GetQueryPoolResults)                                                                                               \
  X(CreateEvent)                                                                                                       \
  X(DestroyEvent)                                                                                                      \
  X(ResetEvent)                                                                                                        \
  X(CreateFence)                                                                                                       \
  X(DestroyFence)                                                                                                      \
  X(ResetFences)                                                                                                       \
  X(GetFenceStatus)                                                                                                    \
  X(WaitForFences)                                                                                                     \
  X(CreateSemaphore)                                                                                                   \
  X(DestroySemaphore)                                                                                                  \
  X(GetSemaphoreCounterValue)                                                                                          \
  X(WaitSemaphores)                                                                                                    \
  X(SignalSemaphore)                                                                                                   \
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

// NULL where the device does not have them.
#define VULKAN_OPTIONAL_CALLS(X)                                                                                       \
  X(CmdPushDescriptorSetKHR)                                                                                           \
  X(CmdPipelineBarrier2KHR)                                                                                            \
  X(CmdSetEvent2KHR)                                                                                                   \
  X(CmdWaitEvents2KHR)                                                                                                 \
  X(QueueSubmit2KHR)

typedef struct vulkan_calls {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
#define VULKAN_MEMBER(name) PFN_vk##name name;
  VULKAN_INSTANCE_CALLS(VULKAN_MEMBER)
  VULKAN_DEVICE_CALLS(VULKAN_MEMBER)
  VULKAN_OPTIONAL_CALLS(VULKAN_MEMBER)
#undef VULKAN_MEMBER
} vulkan_calls;

#endif // WEIR_BENCH_GPU_VULKAN_CALLS_H
