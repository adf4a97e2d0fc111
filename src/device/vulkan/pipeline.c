// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/pipeline.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/disk_cache.h"
#include "base/error.h"
#include "base/lock.h"
#include "device/use.h"
#include "device/vulkan/limits.h"

enum { MOST_CACHE_BYTES = 64 << 20, REASON_BYTES = 2048 };

struct weir__vulkan_pipelines {
  const weir__vulkan_calls *calls;
  VkDevice device;
  weir__vulkan_facts enabled;
  weir__lock lock; // guards the lists and the cache, also while the driver compiles
  weir__vulkan_pipeline *first;
  weir__vulkan_layout *layouts;
  VkPipelineCache cache; // VK_NULL_HANDLE: none
  size_t cache_bytes;    // that were read from disk
};

// What the driver's cache depends on.
typedef struct cache_key {
  char what[24];
  uint32_t vendor, device, driver;
  uint8_t uuid[VK_UUID_SIZE];
} cache_key;

static cache_key make_cache_key(const weir__vulkan_facts *facts) {
  cache_key key = {.what = "Vulkan pipeline cache",
                   .vendor = facts->properties.vendorID,
                   .device = facts->properties.deviceID,
                   .driver = facts->properties.driverVersion};
  memcpy(key.uuid, facts->properties.pipelineCacheUUID, sizeof key.uuid);
  return key;
}

static VkResult make_cache(weir__vulkan_pipelines *pipelines, const void *data, size_t bytes) {
  const VkPipelineCacheCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, .initialDataSize = bytes, .pInitialData = data};
  return weir__vulkan_made(pipelines->calls->vkCreatePipelineCache(pipelines->device, &info, NULL, &pipelines->cache),
                           &pipelines->cache);
}

// Without a cache all works as well, if not as fast.
static void open_cache(weir__vulkan_pipelines *pipelines) {
  cache_key key = make_cache_key(&pipelines->enabled);
  void *data = NULL;
  size_t bytes = 0;
  if (weir__disk_cache_get(&key, sizeof key, &data, &bytes) && make_cache(pipelines, data, bytes) == VK_SUCCESS)
    pipelines->cache_bytes = bytes;
  if (pipelines->cache == VK_NULL_HANDLE) make_cache(pipelines, NULL, 0);
  weir__free(data);
}

static void save_cache(weir__vulkan_pipelines *pipelines) {
  size_t bytes = 0;
  const weir__vulkan_calls *calls = pipelines->calls;
  if (calls->vkGetPipelineCacheData(pipelines->device, pipelines->cache, &bytes, NULL) != VK_SUCCESS) return;
  if (bytes <= pipelines->cache_bytes || bytes > MOST_CACHE_BYTES) return;
  void *data = weir__allocate(bytes);
  if (data != NULL && calls->vkGetPipelineCacheData(pipelines->device, pipelines->cache, &bytes, data) == VK_SUCCESS) {
    cache_key key = make_cache_key(&pipelines->enabled);
    weir__disk_cache_put(&key, sizeof key, data, bytes);
  }
  weir__free(data);
}

weir__vulkan_pipelines *weir__vulkan_pipelines_create(const weir__vulkan_calls *calls, VkDevice device,
                                                      const weir__vulkan_facts *enabled) {
  weir__vulkan_pipelines *pipelines = weir__allocate_zeroed(sizeof *pipelines);
  if (pipelines == NULL) return NULL;
  pipelines->calls = calls;
  pipelines->device = device;
  pipelines->enabled = *enabled;
  open_cache(pipelines);
  return pipelines;
}

static void destroy_layout(weir__vulkan_pipelines *pipelines, weir__vulkan_layout *layout) {
  pipelines->calls->vkDestroyPipelineLayout(pipelines->device, layout->pipeline, NULL);
  pipelines->calls->vkDestroyDescriptorSetLayout(pipelines->device, layout->set, NULL);
  weir__free(layout);
}

void weir__vulkan_pipelines_destroy(weir__vulkan_pipelines *pipelines) {
  if (pipelines == NULL) return;
  if (pipelines->cache != VK_NULL_HANDLE) save_cache(pipelines);
  for (weir__vulkan_pipeline *at = pipelines->first, *next; at != NULL; at = next) {
    next = at->next;
    weir__free(at->members);
    pipelines->calls->vkDestroyPipeline(pipelines->device, at->pipeline, NULL);
    weir__free(at);
  }
  for (weir__vulkan_layout *at = pipelines->layouts, *next; at != NULL; at = next) {
    next = at->next;
    destroy_layout(pipelines, at);
  }
  pipelines->calls->vkDestroyPipelineCache(pipelines->device, pipelines->cache, NULL);
  weir__free(pipelines);
}

// What a pipeline is made of, while it is made.
typedef struct making {
  weir__vulkan_pipelines *pipelines;
  const char *what, *entry;
  const weir_vulkan_code *code;
  const weir_vulkan_launch *launch;
  weir__spirv module;
  VkSpecializationMapEntry entries[WEIR__SPIRV_MOST_CONSTANTS];
  uint64_t values[WEIR__SPIRV_MOST_CONSTANTS];
  uint32_t constant_count;
} making;

static weir_status no_memory(const making *make) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory for its pipeline", make->what);
}

static const weir__spirv_constant *find_constant(const weir__spirv *module, uint32_t id) {
  for (uint32_t i = 0; i < module->constant_count; i++)
    if (module->constants[i].id == id) return &module->constants[i];
  return NULL;
}

static weir_status unknown_constant(const making *make, uint32_t id) {
  char list[256] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < make->module.constant_count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%u", i > 0 ? ", " : "", make->module.constants[i].id);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the shader has no specialization constant %u; it has %s%s",
                     make->what, id, used > 0 ? "" : "none", list);
}

// Takes a constant of the launch, after those with smaller ids.
static weir_status take_constant(making *make, const weir_vulkan_constant *given) {
  const weir__spirv_constant *constant = find_constant(&make->module, given->id);
  if (constant == NULL) return unknown_constant(make, given->id);
  uint32_t bytes = constant->bytes == 8 ? 8 : 4; // small types are given as 4 bytes
  if (given->bytes != bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u bytes for specialization constant %u, which takes %u",
                       make->what, given->bytes, given->id, bytes);
  uint32_t at = make->constant_count++;
  make->values[at] = bytes == 8 ? given->u64 : given->u32;
  for (; at > 0 && make->entries[at - 1].constantID > given->id; at--) make->entries[at] = make->entries[at - 1];
  if (at > 0 && make->entries[at - 1].constantID == given->id)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: specialization constant %u is given twice", make->what,
                       given->id);
  make->entries[at] = (VkSpecializationMapEntry){
      given->id, (uint32_t)((make->constant_count - 1) * sizeof make->values[0]), constant->bytes};
  return WEIR_OK;
}

// Reads the shader, and checks that the device can run it with the launch's constants.
static weir_status read_shader(making *make) {
  char reason[REASON_BYTES];
  const weir_vulkan_launch *launch = make->launch;
  if (launch->constant_count > WEIR__SPIRV_MOST_CONSTANTS)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u specialization constants; at most %d are possible",
                       make->what, launch->constant_count, WEIR__SPIRV_MOST_CONSTANTS);
  if (!weir__spirv_read(make->code->words, make->code->bytes, make->entry, launch->constants, launch->constant_count,
                        &make->module, reason, sizeof reason))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s", make->what, reason);
  for (uint32_t i = 0; i < launch->constant_count; i++) {
    weir_status status = take_constant(make, &launch->constants[i]);
    if (status != WEIR_OK) return status;
  }
  if (!weir__vulkan_can_run(&make->pipelines->enabled, &make->module, reason, sizeof reason))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s", make->what, reason);
  return WEIR_OK;
}

// Of code, entry point and constants: all that makes one pipeline differ from another.
static weir__hash hash_of(const making *make) {
  struct {
    uint64_t id, value;
  } constants[WEIR__SPIRV_MOST_CONSTANTS];
  for (uint32_t i = 0; i < make->constant_count; i++) {
    constants[i].id = make->entries[i].constantID;
    constants[i].value = make->values[make->entries[i].offset / sizeof make->values[0]];
  }
  const weir__hash parts[] = {weir__hash_of(make->code->words, (size_t)make->code->bytes),
                              weir__hash_of(make->entry, strlen(make->entry)),
                              weir__hash_of(constants, make->constant_count * sizeof constants[0])};
  return weir__hash_of(parts, sizeof parts);
}

static VkDescriptorType descriptor_type(weir__spirv_kind kind) {
  switch (kind) {
  case WEIR__SPIRV_STORAGE_IMAGE:
    return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
  case WEIR__SPIRV_SAMPLED_IMAGE:
    return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
  default:
    return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  }
}

static bool fits(const weir__vulkan_layout *layout, const weir__spirv *module) {
  if (layout->binding_count != module->binding_count || layout->push_bytes != module->push_bytes) return false;
  for (uint32_t i = 0; i < layout->binding_count; i++)
    if (layout->types[i] != descriptor_type(module->bindings[i].kind)) return false;
  return true;
}

static VkResult make_set_layout(const making *make, weir__vulkan_layout *layout) {
  VkDescriptorSetLayoutBinding bindings[WEIR__SPIRV_MOST_BINDINGS];
  for (uint32_t i = 0; i < layout->binding_count; i++)
    bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                 .descriptorType = layout->types[i],
                                                 .descriptorCount = 1,
                                                 .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  const VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                .bindingCount = layout->binding_count,
                                                .pBindings = bindings};
  const weir__vulkan_pipelines *pipelines = make->pipelines;
  return weir__vulkan_made(pipelines->calls->vkCreateDescriptorSetLayout(pipelines->device, &info, NULL, &layout->set),
                           &layout->set);
}

static VkResult make_pipeline_layout(const making *make, weir__vulkan_layout *layout) {
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, layout->push_bytes};
  const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                           .setLayoutCount = layout->binding_count > 0,
                                           .pSetLayouts = &layout->set,
                                           .pushConstantRangeCount = layout->push_bytes > 0,
                                           .pPushConstantRanges = &range};
  const weir__vulkan_pipelines *pipelines = make->pipelines;
  return weir__vulkan_made(pipelines->calls->vkCreatePipelineLayout(pipelines->device, &info, NULL, &layout->pipeline),
                           &layout->pipeline);
}

static weir_status get_layout(const making *make, const weir__vulkan_layout **out_layout) {
  weir__vulkan_pipelines *pipelines = make->pipelines;
  const weir__spirv *module = &make->module;
  for (const weir__vulkan_layout *at = pipelines->layouts; at != NULL; at = at->next) {
    if (!fits(at, module)) continue;
    *out_layout = at;
    return WEIR_OK;
  }
  weir__vulkan_layout *layout = weir__allocate_zeroed(sizeof *layout + module->binding_count * sizeof layout->types[0]);
  if (layout == NULL) return no_memory(make);
  layout->binding_count = module->binding_count;
  layout->push_bytes = module->push_bytes;
  for (uint32_t i = 0; i < module->binding_count; i++) layout->types[i] = descriptor_type(module->bindings[i].kind);
  VkResult result = layout->binding_count > 0 ? make_set_layout(make, layout) : VK_SUCCESS;
  if (result == VK_SUCCESS) result = make_pipeline_layout(make, layout);
  if (result != VK_SUCCESS) {
    destroy_layout(pipelines, layout);
    return weir__vulkan_error(result, "%s: the layout of its bindings", make->what);
  }
  layout->next = pipelines->layouts;
  pipelines->layouts = layout;
  *out_layout = layout;
  return WEIR_OK;
}

static VkResult compile(const making *make, const weir__vulkan_layout *layout, VkPipeline *out_pipeline) {
  const weir__vulkan_pipelines *pipelines = make->pipelines;
  const weir__vulkan_calls *calls = pipelines->calls;
  uint32_t *words = weir__allocate((size_t)make->code->bytes); // as the caller's need not be aligned
  if (words == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
  memcpy(words, make->code->words, (size_t)make->code->bytes);
  const VkShaderModuleCreateInfo module_info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = (size_t)make->code->bytes, .pCode = words};
  const VkSpecializationInfo constants = {.mapEntryCount = make->constant_count,
                                          .pMapEntries = make->entries,
                                          .dataSize = make->constant_count * sizeof make->values[0],
                                          .pData = make->values};
  VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                .pName = make->entry,
                                                .pSpecializationInfo = &constants},
                                      .layout = layout->pipeline};
  VkResult result = calls->vkCreateShaderModule(pipelines->device, &module_info, NULL, &info.stage.module);
  if (result == VK_SUCCESS) {
    result = calls->vkCreateComputePipelines(pipelines->device, pipelines->cache, 1, &info, NULL, out_pipeline);
    calls->vkDestroyShaderModule(pipelines->device, info.stage.module, NULL);
  }
  weir__free(words);
  return result;
}

static uint8_t use_of(const weir__spirv *module, const weir__spirv_binding *binding) {
  if (module->has_addresses) return 0;
  return (uint8_t)(WEIR__USE_KNOWN | (binding->reads ? WEIR__USE_READS : 0) | (binding->writes ? WEIR__USE_WRITES : 0) |
                   (binding->stores ? WEIR__USE_STORES : 0));
}

// False: no memory.
static bool keep_members(weir__vulkan_pipeline *pipeline, const weir__spirv *module) {
  size_t bytes = module->member_count * sizeof pipeline->members[0];
  if (bytes == 0) return true;
  pipeline->members = weir__allocate(bytes);
  if (pipeline->members == NULL) return false;
  memcpy(pipeline->members, module->members, bytes);
  pipeline->member_count = module->member_count;
  return true;
}

static weir_status make_pipeline(const making *make, weir__hash hash, const weir__vulkan_pipeline **out_pipeline) {
  weir__vulkan_pipelines *pipelines = make->pipelines;
  const weir__spirv *module = &make->module;
  const weir__vulkan_layout *layout = NULL;
  weir_status status = get_layout(make, &layout);
  if (status != WEIR_OK) return status;
  weir__vulkan_pipeline *pipeline =
      weir__allocate_zeroed(sizeof *pipeline + module->binding_count * sizeof pipeline->bindings[0]);
  if (pipeline == NULL) return no_memory(make);
  pipeline->layout = layout;
  pipeline->hash = hash;
  pipeline->known = !module->has_addresses;
  memcpy(pipeline->local_size, module->local_size, sizeof pipeline->local_size);
  for (uint32_t i = 0; i < module->binding_count; i++) {
    const weir__spirv_binding *from = &module->bindings[i];
    pipeline->bindings[i] =
        (weir__vulkan_binding){from->reads, from->writes, use_of(module, from), from->dimensions, from->format};
  }
  if (!keep_members(pipeline, module)) {
    weir__free(pipeline);
    return no_memory(make);
  }
  VkResult result = compile(make, layout, &pipeline->pipeline);
  if (result != VK_SUCCESS) {
    weir__free(pipeline->members);
    weir__free(pipeline);
    status = weir__vulkan_error(result, "%s: %s does not take the shader", make->what,
                                pipelines->enabled.properties.deviceName);
    return status == WEIR_ERROR_TASK_FAILED ? WEIR_ERROR_INVALID_ARGUMENT : status;
  }
  pipeline->next = pipelines->first;
  pipelines->first = pipeline;
  *out_pipeline = pipeline;
  return WEIR_OK;
}

static const weir__vulkan_pipeline *find(const weir__vulkan_pipelines *pipelines, weir__hash hash) {
  for (const weir__vulkan_pipeline *at = pipelines->first; at != NULL; at = at->next)
    if (weir__hash_equal(at->hash, hash)) return at;
  return NULL;
}

weir_status weir__vulkan_pipeline_get(weir__vulkan_pipelines *pipelines, const char *what, const weir_vulkan_code *code,
                                      const weir_vulkan_launch *launch, const weir__vulkan_pipeline **out_pipeline) {
  *out_pipeline = NULL;
  making *make = weir__allocate_zeroed(sizeof *make);
  if (make == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory for its pipeline", what);
  make->pipelines = pipelines;
  make->what = what;
  make->entry = launch->entry != NULL ? launch->entry : "main";
  make->code = code;
  make->launch = launch;
  weir_status status = read_shader(make);
  if (status == WEIR_OK) {
    weir__hash hash = hash_of(make);
    weir__lock_acquire(&pipelines->lock);
    *out_pipeline = find(pipelines, hash);
    if (*out_pipeline == NULL) status = make_pipeline(make, hash, out_pipeline);
    weir__lock_release(&pipelines->lock);
  }
  weir__free(make);
  return status;
}
