// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/limits.h"

#include <stdio.h>

// Capabilities that a compute shader may declare: X(number, name, condition on the device's facts).
// clang-format off
#define CAPABILITIES(X) \
  X(0, Matrix, true) \
  X(1, Shader, true) \
  X(9, Float16, facts->features12.shaderFloat16) \
  X(10, Float64, facts->features.shaderFloat64) \
  X(11, Int64, facts->features.shaderInt64) \
  X(12, Int64Atomics, facts->features12.shaderBufferInt64Atomics || facts->features12.shaderSharedInt64Atomics) \
  X(22, Int16, facts->features.shaderInt16) \
  X(25, ImageGatherExtended, facts->features.shaderImageGatherExtended) \
  X(28, UniformBufferArrayDynamicIndexing, facts->features.shaderUniformBufferArrayDynamicIndexing) \
  X(29, SampledImageArrayDynamicIndexing, facts->features.shaderSampledImageArrayDynamicIndexing) \
  X(30, StorageBufferArrayDynamicIndexing, facts->features.shaderStorageBufferArrayDynamicIndexing) \
  X(31, StorageImageArrayDynamicIndexing, facts->features.shaderStorageImageArrayDynamicIndexing) \
  X(39, Int8, facts->features12.shaderInt8) \
  X(41, SparseResidency, facts->features.shaderResourceResidency) \
  X(42, MinLod, facts->features.shaderResourceMinLod) \
  X(43, Sampled1D, true) \
  X(44, Image1D, true) \
  X(46, SampledBuffer, true) \
  X(47, ImageBuffer, true) \
  X(49, StorageImageExtendedFormats, facts->features.shaderStorageImageExtendedFormats) \
  X(50, ImageQuery, true) \
  X(51, DerivativeControl, true) \
  X(55, StorageImageReadWithoutFormat, facts->features.shaderStorageImageReadWithoutFormat) \
  X(56, StorageImageWriteWithoutFormat, facts->features.shaderStorageImageWriteWithoutFormat) \
  X(61, GroupNonUniform, has_subgroups(facts, VK_SUBGROUP_FEATURE_BASIC_BIT)) \
  X(62, GroupNonUniformVote, has_subgroups(facts, VK_SUBGROUP_FEATURE_VOTE_BIT)) \
  X(63, GroupNonUniformArithmetic, has_subgroups(facts, VK_SUBGROUP_FEATURE_ARITHMETIC_BIT)) \
  X(64, GroupNonUniformBallot, has_subgroups(facts, VK_SUBGROUP_FEATURE_BALLOT_BIT)) \
  X(65, GroupNonUniformShuffle, has_subgroups(facts, VK_SUBGROUP_FEATURE_SHUFFLE_BIT)) \
  X(66, GroupNonUniformShuffleRelative, has_subgroups(facts, VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT)) \
  X(67, GroupNonUniformClustered, has_subgroups(facts, VK_SUBGROUP_FEATURE_CLUSTERED_BIT)) \
  X(68, GroupNonUniformQuad, has_subgroups(facts, VK_SUBGROUP_FEATURE_QUAD_BIT)) \
  X(4433, StorageBuffer16BitAccess, facts->features11.storageBuffer16BitAccess) \
  X(4434, UniformAndStorageBuffer16BitAccess, facts->features11.uniformAndStorageBuffer16BitAccess) \
  X(4435, StoragePushConstant16, facts->features11.storagePushConstant16) \
  X(4437, DeviceGroup, true) \
  X(4441, VariablePointersStorageBuffer, facts->features11.variablePointersStorageBuffer) \
  X(4442, VariablePointers, facts->features11.variablePointers) \
  X(4448, StorageBuffer8BitAccess, facts->features12.storageBuffer8BitAccess) \
  X(4449, UniformAndStorageBuffer8BitAccess, facts->features12.uniformAndStorageBuffer8BitAccess) \
  X(4450, StoragePushConstant8, facts->features12.storagePushConstant8) \
  X(5055, ShaderClockKHR, facts->shader_clock || facts->shader_device_clock) \
  X(5301, ShaderNonUniform, facts->features12.descriptorIndexing) \
  X(5302, RuntimeDescriptorArray, facts->features12.runtimeDescriptorArray) \
  X(5345, VulkanMemoryModel, facts->features12.vulkanMemoryModel) \
  X(5346, VulkanMemoryModelDeviceScope, facts->features12.vulkanMemoryModelDeviceScope) \
  X(5347, PhysicalStorageBufferAddresses, facts->features12.bufferDeviceAddress) \
  X(5379, DemoteToHelperInvocation, facts->features13.shaderDemoteToHelperInvocation) \
  X(6016, DotProductInputAll, facts->features13.shaderIntegerDotProduct) \
  X(6017, DotProductInput4x8Bit, facts->features13.shaderIntegerDotProduct) \
  X(6018, DotProductInput4x8BitPacked, facts->features13.shaderIntegerDotProduct) \
  X(6019, DotProduct, facts->features13.shaderIntegerDotProduct) \
  X(6033, AtomicFloat32AddEXT, facts->float_atomics)
// clang-format on

static bool has_subgroups(const weir__vulkan_facts *facts, VkSubgroupFeatureFlags operations) {
  return (facts->subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
         (facts->subgroup.supportedOperations & operations) == operations;
}

static const char *capability_name(uint32_t capability) {
  switch (capability) {
#define NAME(number, name, condition)                                                                                  \
  case number:                                                                                                         \
    return #name;
    CAPABILITIES(NAME)
#undef NAME
  default:
    return NULL;
  }
}

static bool has_capability(const weir__vulkan_facts *facts, uint32_t capability) {
  switch (capability) {
#define HAS(number, name, condition)                                                                                   \
  case number:                                                                                                         \
    return condition;
    CAPABILITIES(HAS)
#undef HAS
  default:
    return false;
  }
}

// "Float16, Int64, ...": all that depend on the device, and that it has.
static void list_capabilities(const weir__vulkan_facts *facts, char *text, size_t size) {
  static const uint32_t ALL[] = {
#define NUMBER(number, name, condition) number,
      CAPABILITIES(NUMBER)
#undef NUMBER
  };
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < sizeof ALL / sizeof ALL[0] && used < size; i++) {
    if (!has_capability(facts, ALL[i])) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", capability_name(ALL[i]));
  }
}

static bool check_capabilities(const weir__vulkan_facts *facts, const weir__spirv *module, char *reason, size_t size) {
  for (uint32_t i = 0; i < module->capability_count; i++) {
    uint32_t capability = module->capabilities[i];
    const char *name = capability_name(capability);
    if (name == NULL) {
      snprintf(reason, size, "the SPIR-V capability %u, which is not one that Weir's compute shaders can have",
               capability);
      return false;
    }
    if (has_capability(facts, capability)) continue;
    char list[1536];
    list_capabilities(facts, list, sizeof list);
    snprintf(reason, size, "the shader needs the SPIR-V capability %s; %s offers: %s", name,
             facts->properties.deviceName, list);
    return false;
  }
  return true;
}

static bool check_version(const weir__vulkan_facts *facts, const weir__spirv *module, char *reason, size_t size) {
  uint32_t most = facts->version >= VK_API_VERSION_1_3 ? 0x10600 : 0x10500;
  if (module->version > most) {
    snprintf(reason, size, "SPIR-V %u.%u; %s with Vulkan %u.%u takes up to %u.%u", module->version >> 16,
             module->version >> 8 & 0xff, facts->properties.deviceName, VK_API_VERSION_MAJOR(facts->version),
             VK_API_VERSION_MINOR(facts->version), most >> 16, most >> 8 & 0xff);
    return false;
  }
  if (!module->has_size_ids || facts->features13.maintenance4) return true;
  snprintf(reason, size,
           "the work-group's size is given with LocalSizeId, which %s does not offer; compile for Vulkan 1.2, where it "
           "is a built-in constant",
           facts->properties.deviceName);
  return false;
}

static bool check_work_group(const weir__vulkan_facts *facts, const weir__spirv *module, char *reason, size_t size) {
  const VkPhysicalDeviceLimits *limits = &facts->properties.limits;
  const uint32_t *most = limits->maxComputeWorkGroupSize, *given = module->local_size;
  uint64_t invocations = 1;
  bool fits = true;
  for (int i = 0; i < 3 && fits; i++) {
    invocations *= given[i];
    fits = given[i] <= most[i] && invocations <= limits->maxComputeWorkGroupInvocations;
  }
  if (!fits) {
    snprintf(reason, size, "work-groups of %u x %u x %u invocations; %s allows %u x %u x %u, and %u together", given[0],
             given[1], given[2], facts->properties.deviceName, most[0], most[1], most[2],
             limits->maxComputeWorkGroupInvocations);
    return false;
  }
  if (module->shared_bytes <= limits->maxComputeSharedMemorySize) return true;
  snprintf(reason, size, "%llu bytes of shared memory; %s allows %u", (unsigned long long)module->shared_bytes,
           facts->properties.deviceName, limits->maxComputeSharedMemorySize);
  return false;
}

static bool check_push_constants(const weir__vulkan_facts *facts, const weir__spirv *module, char *reason,
                                 size_t size) {
  if (module->push_bytes > facts->properties.limits.maxPushConstantsSize) {
    snprintf(reason, size, "push constants of %u bytes; %s allows %u", module->push_bytes, facts->properties.deviceName,
             facts->properties.limits.maxPushConstantsSize);
    return false;
  }
  if (module->push_bytes % 4 == 0) return true;
  snprintf(reason, size, "push constants of %u bytes; Vulkan takes multiples of 4, so the block must be padded",
           module->push_bytes);
  return false;
}

typedef struct kind_limit {
  const char *what;
  uint32_t count, most;
} kind_limit;

static uint32_t least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static bool check_bindings(const weir__vulkan_facts *facts, const weir__spirv *module, char *reason, size_t size) {
  const VkPhysicalDeviceLimits *limits = &facts->properties.limits;
  kind_limit kinds[] = {
      [WEIR__SPIRV_STORAGE_BUFFER] = {"storage buffers", 0,
                                      least(limits->maxPerStageDescriptorStorageBuffers,
                                            limits->maxDescriptorSetStorageBuffers)},
      [WEIR__SPIRV_STORAGE_IMAGE] = {"storage images", 0,
                                     least(limits->maxPerStageDescriptorStorageImages,
                                           limits->maxDescriptorSetStorageImages)},
      [WEIR__SPIRV_SAMPLED_IMAGE] = {"images with samplers", 0,
                                     least(limits->maxPerStageDescriptorSampledImages,
                                           limits->maxPerStageDescriptorSamplers)},
  };
  for (uint32_t i = 0; i < module->binding_count; i++) kinds[module->bindings[i].kind].count++;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].count <= kinds[i].most) continue;
    snprintf(reason, size, "%u %s; %s allows %u", kinds[i].count, kinds[i].what, facts->properties.deviceName,
             kinds[i].most);
    return false;
  }
  if (module->binding_count <= limits->maxPerStageResources) return true;
  snprintf(reason, size, "%u bindings; %s allows %u", module->binding_count, facts->properties.deviceName,
           limits->maxPerStageResources);
  return false;
}

bool weir__vulkan_can_run(const weir__vulkan_facts *facts, const weir__spirv *module, char *reason, size_t size) {
  return check_version(facts, module, reason, size) && check_capabilities(facts, module, reason, size) &&
         check_work_group(facts, module, reason, size) && check_push_constants(facts, module, reason, size) &&
         check_bindings(facts, module, reason, size);
}
