// SPDX-License-Identifier: Apache-2.0
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VARIABLES = 64 };

struct CUlinkState_st {
  fake_input inputs[FAKE_MOST_INPUTS];
  uint32_t count;
  char *log;
  size_t log_bytes;
  void *image;
};

struct CUmod_st {
  void *image;
  uint64_t values[MOST_VARIABLES]; // of the variables that were asked for
  uint32_t value_count;
};

fake_driver fake;

static bool fails(void) {
  return ++fake.calls == fake.fail_at;
}

static CUresult get_name(CUresult result, const char **text) {
  (void)result;
  *text = "CUDA_ERROR_OF_THE_TEST";
  return CUDA_SUCCESS;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  (void)device;
  if (fails()) return fake.failure;
  *value = attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK ? fake.shared_bytes : 0;
  return CUDA_SUCCESS;
}

static CUresult link_create(unsigned int count, CUjit_option *options, void **values, CUlinkState *state) {
  if (fails()) return fake.failure;
  *state = calloc(1, sizeof **state);
  if (*state == NULL) abort();
  for (unsigned int i = 0; i < count; i++) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) (*state)->log = values[i];
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) (*state)->log_bytes = (size_t)(uintptr_t)values[i];
  }
  fake.states++;
  return CUDA_SUCCESS;
}

static CUresult link_add(CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name,
                         unsigned int count, CUjit_option *options, void **values) {
  (void)count, (void)options, (void)values;
  if (fails()) return fake.failure;
  if (state->count == FAKE_MOST_INPUTS) abort();
  fake_input *input = &state->inputs[state->count++];
  *input = (fake_input){.type = type, .data = data, .bytes = bytes};
  snprintf(input->name, sizeof input->name, "%s", name);
  return CUDA_SUCCESS;
}

static CUresult link_complete(CUlinkState state, void **image, size_t *bytes) {
  if (fails()) return fake.failure;
  fake.links++;
  fake.inputs = state->count;
  state->image = fake.link(state->inputs, state->count, bytes, state->log, state->log_bytes);
  *image = state->image;
  fake.image_bytes = *bytes;
  return state->image != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult link_destroy(CUlinkState state) {
  free(state->image);
  free(state);
  fake.states--;
  return CUDA_SUCCESS;
}

static CUresult module_load(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                            void **values) {
  (void)count, (void)options, (void)values;
  if (fails()) return fake.failure;
  *module = calloc(1, sizeof **module);
  if (*module == NULL || ((*module)->image = malloc(fake.image_bytes)) == NULL) abort();
  memcpy((*module)->image, image, fake.image_bytes);
  fake.modules++;
  return CUDA_SUCCESS;
}

static CUresult module_unload(CUmodule module) {
  free(module->image);
  free(module);
  fake.modules--;
  return CUDA_SUCCESS;
}

static CUresult get_function(CUfunction *function, CUmodule module, const char *name) {
  if (fails()) return fake.failure;
  if (strcmp(name, "weir__resident") != 0) return CUDA_ERROR_NOT_FOUND;
  *function = (CUfunction)(void *)module;
  return CUDA_SUCCESS;
}

static CUresult get_global(CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name) {
  if (fails()) return fake.failure;
  if (module->value_count == MOST_VARIABLES) abort();
  uint64_t *value = &module->values[module->value_count];
  if (!fake.variable(module->image, name, value)) return CUDA_ERROR_NOT_FOUND;
  module->value_count++;
  *pointer = (CUdeviceptr)(uintptr_t)value;
  *bytes = sizeof *value;
  return CUDA_SUCCESS;
}

static CUresult occupancy(int *blocks, CUfunction function, int threads, size_t shared_bytes) {
  (void)function, (void)shared_bytes;
  if (fails()) return fake.failure;
  fake.threads = threads;
  *blocks = fake.most_blocks;
  return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *stream, unsigned int flags, int priority) {
  (void)flags, (void)priority;
  if (fails()) return fake.failure;
  *stream = (CUstream)(void *)&fake;
  fake.streams++;
  return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream) {
  (void)stream;
  fake.streams--;
  return CUDA_SUCCESS;
}

static CUresult stream_synchronize(CUstream stream) {
  (void)stream;
  return fails() ? fake.failure : CUDA_SUCCESS;
}

static CUresult copy(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  (void)stream;
  if (fails()) return fake.failure;
  memcpy((void *)(uintptr_t)destination, (const void *)(uintptr_t)source, bytes);
  return CUDA_SUCCESS;
}

void fake_reset(weir__cuda_device *device, int capability) {
  memset((void *)&fake, 0, sizeof fake);
  fake.shared_bytes = 48 << 10;
  fake.most_blocks = 2;
  fake.functions = (weir__cuda_driver){
      .cuGetErrorName = get_name,
      .cuGetErrorString = get_name,
      .cuDeviceGetAttribute = get_attribute,
      .cuLinkCreate = link_create,
      .cuLinkAddData = link_add,
      .cuLinkComplete = link_complete,
      .cuLinkDestroy = link_destroy,
      .cuModuleLoadDataEx = module_load,
      .cuModuleUnload = module_unload,
      .cuModuleGetFunction = get_function,
      .cuModuleGetGlobal = get_global,
      .cuOccupancyMaxActiveBlocksPerMultiprocessor = occupancy,
      .cuStreamCreateWithPriority = stream_create,
      .cuStreamDestroy = stream_destroy,
      .cuStreamSynchronize = stream_synchronize,
      .cuMemcpyAsync = copy,
  };
  memset(device, 0, sizeof *device);
  device->driver = &fake.functions;
  device->capability = capability;
  snprintf(device->base.device.name, sizeof device->base.device.name, "cuda:0");
}
