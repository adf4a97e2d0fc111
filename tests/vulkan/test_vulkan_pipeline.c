// SPDX-License-Identifier: Apache-2.0
//
// Pipelines: what is shared, what is kept on disk, and every refusal, which says what the device offers.
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "add.spv.h"
#include "base/allocate.h"
#include "constants.spv.h"
#include "device/vulkan/pipeline.h"
#include "double.spv.h"
#include "kinds.spv.h"
#include "rig.h"
#include "scratch.h"

static vulkan_rig shared;
static weir__vulkan_pipelines *pipelines;

#define CODE(name) (&(const weir_vulkan_code){name##_spv, sizeof name##_spv})

static const weir_vulkan_launch PLAIN = {.entry = NULL};

static int create_device(void **state) {
  (void)state;
  rig_create(&shared);
  return 0;
}

static int destroy_device(void **state) {
  (void)state;
  rig_destroy(&shared);
  return 0;
}

static int create(void **state) {
  (void)state;
  pipelines = weir__vulkan_pipelines_create(&shared.calls, shared.device, &shared.facts);
  return pipelines != NULL ? 0 : -1;
}

static int destroy(void **state) {
  (void)state;
  weir__vulkan_pipelines_destroy(pipelines);
  return 0;
}

static const weir__vulkan_pipeline *get(const weir_vulkan_code *code, const weir_vulkan_launch *launch) {
  const weir__vulkan_pipeline *pipeline = NULL;
  weir_status status = weir__vulkan_pipeline_get(pipelines, "kernel 'test', launch 0", code, launch, &pipeline);
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_non_null(pipeline);
  return pipeline;
}

static void assert_refused(const weir_vulkan_code *code, const weir_vulkan_launch *launch, const char *text) {
  const weir__vulkan_pipeline *pipeline = NULL;
  assert_int_equal(weir__vulkan_pipeline_get(pipelines, "kernel 'test', launch 0", code, launch, &pipeline),
                   WEIR_ERROR_INVALID_ARGUMENT);
  assert_null(pipeline);
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' does not say '%s'", weir_last_error(), text);
  assert_memory_equal(weir_last_error(), "kernel 'test', launch 0: ", 25);
}

static void what_a_pipeline_says(void **state) {
  (void)state;
  const weir__vulkan_pipeline *pipeline = get(CODE(add), &PLAIN);
  assert_true(pipeline->pipeline != VK_NULL_HANDLE);
  assert_int_equal(pipeline->layout->binding_count, 3);
  assert_int_equal(pipeline->layout->push_bytes, 4);
  assert_int_equal(pipeline->local_size[0], 64);
  assert_true(pipeline->bindings[0].reads && !pipeline->bindings[0].writes);
  assert_true(pipeline->bindings[2].writes && !pipeline->bindings[2].reads);
}

static void bindings_of_all_kinds(void **state) {
  (void)state;
  const weir__vulkan_pipeline *pipeline = get(CODE(kinds), &PLAIN);
  assert_int_equal(pipeline->layout->types[0], VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
  assert_int_equal(pipeline->layout->types[1], VK_DESCRIPTOR_TYPE_STORAGE_IMAGE);
  assert_int_equal(pipeline->layout->types[2], VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER);
  assert_int_equal(pipeline->layout->types[3], VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
  assert_int_equal(pipeline->bindings[2].dimensions, 3);
  assert_int_equal(pipeline->bindings[0].dimensions, 0);
}

static void equal_pipelines_are_shared(void **state) {
  (void)state;
  const weir__vulkan_pipeline *first = get(CODE(add), &PLAIN);
  uint32_t copy[sizeof add_spv / 4];
  memcpy(copy, add_spv, sizeof copy);
  const weir_vulkan_launch named = {.entry = "main", .groups = {7, 1, 1}};
  assert_ptr_equal(get(&(weir_vulkan_code){copy, sizeof copy}, &named), first);
}

static void constants_make_a_difference(void **state) {
  (void)state;
  const weir_vulkan_constant eight = {.id = 10, .bytes = 4, .u32 = 8}, four = {.id = 11, .bytes = 4, .u32 = 4};
  const weir_vulkan_constant one_way[] = {eight, four}, other_way[] = {four, eight};
  const weir__vulkan_pipeline *plain = get(CODE(constants), &PLAIN);
  const weir__vulkan_pipeline *first =
      get(CODE(constants), &(weir_vulkan_launch){.constants = one_way, .constant_count = 2});
  const weir__vulkan_pipeline *second =
      get(CODE(constants), &(weir_vulkan_launch){.constants = other_way, .constant_count = 2});
  const weir__vulkan_pipeline *third =
      get(CODE(constants), &(weir_vulkan_launch){.constants = one_way, .constant_count = 1});
  assert_ptr_equal(first, second);
  assert_ptr_not_equal(first, plain);
  assert_ptr_not_equal(first, third);
  assert_ptr_equal(first->layout, plain->layout);
  assert_ptr_equal(third->layout, plain->layout);
  assert_int_equal(first->local_size[0] * 100 + first->local_size[1] * 10 + first->local_size[2], 842);
}

static void constants_of_all_widths(void **state) {
  (void)state;
  const weir_vulkan_constant constants[] = {{.id = 3, .bytes = 8, .i64 = -7},
                                            {.id = 1, .bytes = 4, .u32 = 1},
                                            {.id = 2, .bytes = 8, .f64 = 0.25},
                                            {.id = 0, .bytes = 4, .u32 = 9}};
  get(CODE(constants), &(weir_vulkan_launch){.constants = constants, .constant_count = 4});
}

static void refused_constants(void **state) {
  (void)state;
  weir_vulkan_constant constants[] = {{.id = 10, .bytes = 4, .u32 = 8}, {.id = 99, .bytes = 4, .u32 = 8}};
  const weir_vulkan_launch launch = {.constants = constants, .constant_count = 2};
  assert_refused(CODE(constants), &launch, "no specialization constant 99; it has ");
  assert_refused(CODE(add), &launch, "no specialization constant 10; it has none");
  constants[1] = (weir_vulkan_constant){.id = 2, .bytes = 4, .f32 = 1};
  assert_refused(CODE(constants), &launch, "4 bytes for specialization constant 2, which takes 8");
  constants[1] = (weir_vulkan_constant){.id = 0, .bytes = 8, .u64 = 1};
  assert_refused(CODE(constants), &launch, "8 bytes for specialization constant 0, which takes 4");
  constants[1] = constants[0];
  assert_refused(CODE(constants), &launch, "specialization constant 10 is given twice");
}

static void no_shader(void **state) {
  (void)state;
  assert_refused(&(weir_vulkan_code){"PTX code", 8}, &PLAIN, "SPIR-V, word 0: 8 bytes are no module");
  assert_refused(CODE(add), &(weir_vulkan_launch){.entry = "mian"}, "there are: 'main'");
}

// As with a device that lacks something: `change` is the statement that takes it away.
#define WITHOUT(change, code, text)                                                                                    \
  do {                                                                                                                 \
    weir__vulkan_facts facts = shared.facts;                                                                           \
    change;                                                                                                            \
    weir__vulkan_pipelines *all = pipelines;                                                                           \
    pipelines = weir__vulkan_pipelines_create(&shared.calls, shared.device, &facts);                                   \
    assert_non_null(pipelines);                                                                                        \
    assert_refused(code, &PLAIN, text);                                                                                \
    weir__vulkan_pipelines_destroy(pipelines);                                                                         \
    pipelines = all;                                                                                                   \
  } while (0)

static void what_devices_lack(void **state) {
  (void)state;
  VkPhysicalDeviceLimits *limits;
#define LIMITS limits = &facts.properties.limits
  WITHOUT(facts.features.shaderFloat64 = false, CODE(double), "the shader needs the SPIR-V capability Float64; ");
  assert_non_null(strstr(weir_last_error(), " offers: Matrix, Shader, "));
  assert_null(strstr(weir_last_error(), "Float64,"));
  WITHOUT(facts.features.shaderInt64 = false, CODE(constants), "the SPIR-V capability Int64; ");
  WITHOUT(LIMITS; limits->maxPushConstantsSize = 12, CODE(double), "push constants of 16 bytes; ");
  assert_non_null(strstr(weir_last_error(), " allows 12"));
  WITHOUT(LIMITS;
          limits->maxComputeWorkGroupInvocations = 127, CODE(double), "work-groups of 32 x 4 x 1 invocations; ");
  assert_non_null(strstr(weir_last_error(), ", and 127 together"));
  WITHOUT(LIMITS; limits->maxComputeWorkGroupSize[1] = 2, CODE(double), "work-groups of 32 x 4 x 1 invocations; ");
  WITHOUT(LIMITS; limits->maxComputeSharedMemorySize = 1000, CODE(double), "1024 bytes of shared memory; ");
  assert_non_null(strstr(weir_last_error(), " allows 1000"));
  WITHOUT(LIMITS; limits->maxPerStageDescriptorStorageBuffers = 2, CODE(add), "3 storage buffers; ");
  WITHOUT(LIMITS; limits->maxDescriptorSetStorageBuffers = 2, CODE(add), "3 storage buffers; ");
  WITHOUT(LIMITS; limits->maxPerStageDescriptorStorageImages = 1, CODE(kinds), "3 storage images; ");
  WITHOUT(LIMITS; limits->maxPerStageDescriptorSamplers = 0, CODE(kinds), "1 images with samplers; ");
  WITHOUT(LIMITS; limits->maxPerStageResources = 2, CODE(add), "3 bindings; ");
#undef LIMITS
}

// A module with one word replaced: the first after `code`.
static void patch(uint32_t *words, uint32_t code, uint32_t offset, uint32_t value) {
  uint32_t at = 5;
  while ((words[at] & 0xffff) != code) at += words[at] >> 16;
  words[at + offset] = value;
}

static void versions_and_capabilities(void **state) {
  (void)state;
  enum { CAPABILITY = 17 };
  uint32_t words[sizeof add_spv / 4];
  const weir_vulkan_code code = {words, sizeof words};
  memcpy(words, add_spv, sizeof words);
  words[1] = 0x10600;
  WITHOUT(facts.version = VK_API_VERSION_1_2, &code, "SPIR-V 1.6; ");
  assert_non_null(strstr(weir_last_error(), " with Vulkan 1.2 takes up to 1.5"));
  memcpy(words, add_spv, sizeof words);
  patch(words, CAPABILITY, 1, 6);
  assert_refused(&code, &PLAIN, "the SPIR-V capability 6, which is not one");
}

static VkResult no_room(void) {
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

// Each call of the driver fails: the status says so, and nothing is left (which the layer and the sanitizers see).
static void failing_calls(void **state) {
  (void)state;
  for (int i = 0; i < 5; i++) {
    weir__vulkan_calls calls = shared.calls;
    if (i == 0) calls.vkCreateDescriptorSetLayout = (PFN_vkCreateDescriptorSetLayout)(void (*)(void))no_room;
    if (i == 1) calls.vkCreatePipelineLayout = (PFN_vkCreatePipelineLayout)(void (*)(void))no_room;
    if (i == 2) calls.vkCreateShaderModule = (PFN_vkCreateShaderModule)(void (*)(void))no_room;
    if (i == 3) calls.vkCreateComputePipelines = (PFN_vkCreateComputePipelines)(void (*)(void))no_room;
    if (i == 4) calls.vkCreatePipelineCache = (PFN_vkCreatePipelineCache)(void (*)(void))no_room;
    weir__vulkan_pipelines *failing = weir__vulkan_pipelines_create(&calls, shared.device, &shared.facts);
    assert_non_null(failing);
    const weir__vulkan_pipeline *pipeline;
    weir_status status = weir__vulkan_pipeline_get(failing, "kernel 'test', launch 0", CODE(add), &PLAIN, &pipeline);
    assert_int_equal(status, i < 4 ? WEIR_ERROR_OUT_OF_MEMORY : WEIR_OK); // a cache is not needed
    assert_true((pipeline != NULL) == (status == WEIR_OK));
    weir__vulkan_pipelines_destroy(failing);
  }
}

static void failing_allocations(void **state) {
  (void)state;
  const weir__vulkan_pipeline *pipeline = NULL;
  uint64_t refused = 0;
  for (uint64_t n = 1; pipeline == NULL && n < 100; n++) {
    weir__allocate_fail_at(n);
    weir__vulkan_pipelines *failing = weir__vulkan_pipelines_create(&shared.calls, shared.device, &shared.facts);
    if (failing != NULL) {
      weir_status status = weir__vulkan_pipeline_get(failing, "kernel 'test', launch 0", CODE(add), &PLAIN, &pipeline);
      assert_true(status == WEIR_OK || status == WEIR_ERROR_OUT_OF_MEMORY || strstr(weir_last_error(), "no memory"));
    }
    if (pipeline == NULL) refused++;
    weir__allocate_fail_at(0);
    weir__vulkan_pipelines_destroy(failing);
  }
  assert_non_null(pipeline);
  assert_true(refused >= 4);
}

static void cache_on_disk(void **state) {
  (void)state;
  char path[PATH_MAX];
  struct stat before, after;
  scratch_create();
  for (int i = 0; i < 2; i++) {
    weir__vulkan_pipelines *all = pipelines;
    pipelines = weir__vulkan_pipelines_create(&shared.calls, shared.device, &shared.facts);
    get(CODE(add), &PLAIN);
    weir__vulkan_pipelines_destroy(pipelines);
    pipelines = all;
    assert_int_equal(scratch_files(path), 1);
    assert_int_equal(stat(path, i == 0 ? &before : &after), 0);
  }
  assert_true(before.st_ino == after.st_ino); // it did not grow, and was not written again
  FILE *file = fopen(path, "r+");
  assert_non_null(file);
  fseek(file, -1, SEEK_END);
  fputc(0x55, file);
  fclose(file);
  weir__vulkan_pipelines *all = pipelines;
  pipelines = weir__vulkan_pipelines_create(&shared.calls, shared.device, &shared.facts);
  get(CODE(add), &PLAIN);
  weir__vulkan_pipelines_destroy(pipelines);
  pipelines = all;
  assert_int_equal(stat(path, &after), 0);
  assert_true(before.st_ino != after.st_ino); // a damaged file is as good as none
  scratch_remove();
  setenv("WEIR_CACHE", "", 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_a_pipeline_says, create, destroy),
      cmocka_unit_test_setup_teardown(bindings_of_all_kinds, create, destroy),
      cmocka_unit_test_setup_teardown(equal_pipelines_are_shared, create, destroy),
      cmocka_unit_test_setup_teardown(constants_make_a_difference, create, destroy),
      cmocka_unit_test_setup_teardown(constants_of_all_widths, create, destroy),
      cmocka_unit_test_setup_teardown(refused_constants, create, destroy),
      cmocka_unit_test_setup_teardown(no_shader, create, destroy),
      cmocka_unit_test_setup_teardown(what_devices_lack, create, destroy),
      cmocka_unit_test_setup_teardown(versions_and_capabilities, create, destroy),
      cmocka_unit_test_setup_teardown(failing_calls, create, destroy),
      cmocka_unit_test_setup_teardown(failing_allocations, create, destroy),
      cmocka_unit_test_setup_teardown(cache_on_disk, create, destroy),
  };
  setenv("WEIR_CACHE", "", 1);
  rig_skip_without_device();
  return cmocka_run_group_tests(tests, create_device, destroy_device);
}
