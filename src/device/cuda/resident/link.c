// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/module.h"
#include "device/cuda/resident/part.h"

enum { WARP = 32, LOG_BYTES = 4096 };

// What goes in: the resident kernel's own code, and that of parts, each once, in the parts' order.
typedef struct inputs {
  weir__resident_part *const *parts;
  uint32_t part_count;
  weir__resident_image **images;
  uint32_t count;
} inputs;

static weir_status failure(const weir__cuda_device *device, CUresult result, const char *what, const char *log) {
  char text[160];
  return weir__error(weir__cuda_status(result), "the resident kernel on %s: %s: %s%s%s", device->base.device.name, what,
                     weir__cuda_result_text(device->driver, result, text, sizeof text), log[0] != 0 ? "\n" : "", log);
}

static weir_status no_memory(const weir__cuda_device *device) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "the resident kernel on %s: no memory to link it",
                     device->base.device.name);
}

static bool is_in(const inputs *in, const weir__resident_image *image) {
  for (uint32_t i = 0; i < in->count; i++)
    if (in->images[i] == image) return true;
  return false;
}

// Takes the images of all parts, as far as their shared memory fits together.
static void take_images(inputs *in, uint64_t shared_limit) {
  uint64_t shared_bytes = 0;
  for (uint32_t i = 0; i < in->part_count; i++) {
    weir__resident_image *image = in->parts[i]->image;
    if (is_in(in, image) || shared_bytes + image->shared_bytes > shared_limit) continue;
    shared_bytes += image->shared_bytes;
    in->images[in->count++] = image;
  }
}

static uint32_t threads_of(const inputs *in) {
  uint32_t threads = 2 * WARP; // the scheduler's and the fetcher's
  for (uint32_t i = 0; i < in->part_count; i++)
    if (in->parts[i]->threads > threads && is_in(in, in->parts[i]->image)) threads = in->parts[i]->threads;
  return (threads + WARP - 1) / WARP * WARP;
}

static CUresult add(const weir__cuda_driver *driver, CUlinkState state, const weir__resident_image *image) {
  char name[64];
  snprintf(name, sizeof name, "%016llx%016llx", (unsigned long long)image->id.high, (unsigned long long)image->id.low);
  CUjitInputType type = weir__cuda_is_cubin(image->data) ? CU_JIT_INPUT_CUBIN : CU_JIT_INPUT_PTX;
  return driver->cuLinkAddData(state, type, image->data, image->bytes, name, 0, NULL, NULL);
}

static weir_status link_images(weir__cuda_device *device, const inputs *in, CUmodule *out_module) {
  const weir__cuda_driver *driver = device->driver;
  char log[LOG_BYTES] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  CUlinkState state = NULL;
  CUresult result = driver->cuLinkCreate(2, options, values, &state);
  if (result != CUDA_SUCCESS) return failure(device, result, "it cannot be linked", "");
  const char *what = "code that the linker does not take";
  for (uint32_t i = 0; i < in->count && result == CUDA_SUCCESS; i++) result = add(driver, state, in->images[i]);
  void *image = NULL;
  size_t bytes = 0;
  if (result == CUDA_SUCCESS) {
    what = "it does not link";
    result = driver->cuLinkComplete(state, &image, &bytes);
  }
  if (result == CUDA_SUCCESS) {
    what = "it does not load";
    result = driver->cuModuleLoadDataEx(out_module, image, 0, NULL, NULL);
  }
  weir_status status = result == CUDA_SUCCESS ? WEIR_OK : failure(device, result, what, log);
  driver->cuLinkDestroy(state); // and its image
  return status;
}

// Finds the kernel, and how many of its blocks a multiprocessor has room for.
static weir_status find_entry(weir__cuda_device *device, uint32_t threads, weir__resident_module *module) {
  const weir__cuda_driver *driver = device->driver;
  CUresult result = driver->cuModuleGetFunction(&module->entry, module->module, "weir__resident");
  if (result != CUDA_SUCCESS) return failure(device, result, "it has no entry", "");
  int blocks = 0;
  result = driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, module->entry, (int)threads, 0);
  if (result != CUDA_SUCCESS) return failure(device, result, "it cannot be said how many blocks fit", "");
  if (blocks < 1)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "the resident kernel on %s: no block of %u threads fits",
                       device->base.device.name, threads);
  module->threads = threads;
  module->blocks_per_sm = (uint32_t)blocks;
  return WEIR_OK;
}

static weir_status link_and_load(weir__cuda_device *device, const inputs *in, weir__resident_module *module) {
  weir_status status = link_images(device, in, &module->module);
  if (status != WEIR_OK) return status;
  status = find_entry(device, threads_of(in), module);
  if (status != WEIR_OK) device->driver->cuModuleUnload(module->module);
  return status;
}

// Whether linking something else may succeed where this was the result.
static bool may_go_on(weir_status status) {
  return status != WEIR_ERROR_OUT_OF_MEMORY && status != WEIR_ERROR_DEVICE_LOST;
}

// Links the resident kernel alone, then with one image more after another; an image with which that fails is left out.
static weir_status link_one_by_one(weir__cuda_device *device, inputs *in, weir__resident_module *module) {
  uint32_t count = in->count;
  in->count = 1;
  weir_status status = link_and_load(device, in, module);
  if (status != WEIR_OK) return status;
  for (uint32_t i = 1; i < count && may_go_on(status); i++) {
    weir__resident_module more = {0};
    in->images[in->count] = in->images[i];
    in->count++;
    status = link_and_load(device, in, &more);
    if (status == WEIR_OK) {
      device->driver->cuModuleUnload(module->module);
      *module = more;
    } else {
      in->count--;
    }
  }
  if (may_go_on(status)) return WEIR_OK;
  device->driver->cuModuleUnload(module->module);
  return status;
}

// Reads the functions' addresses from the variables that hold them, on a stream of its own: nobody else's work is awaited.
static CUresult read_addresses(const weir__cuda_driver *driver, const inputs *in, CUmodule module, CUstream stream,
                               uint64_t *functions) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < in->part_count && result == CUDA_SUCCESS; i++) {
    CUdeviceptr variable = 0;
    size_t bytes = 0;
    if (!is_in(in, in->parts[i]->image)) continue;
    result = driver->cuModuleGetGlobal(&variable, &bytes, module, in->parts[i]->pointer);
    if (result == CUDA_SUCCESS)
      result = driver->cuMemcpyAsync((CUdeviceptr)(uintptr_t)&functions[i], variable, sizeof functions[i], stream);
    else if (result == CUDA_ERROR_NOT_FOUND)
      result = CUDA_SUCCESS; // PTX without such a kernel: the address stays 0
  }
  CUresult end = driver->cuStreamSynchronize(stream);
  return result != CUDA_SUCCESS ? result : end;
}

static weir_status find_functions(weir__cuda_device *device, const inputs *in, weir__resident_module *module) {
  CUstream stream = NULL;
  CUresult result = device->driver->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
  if (result == CUDA_SUCCESS) {
    result = read_addresses(device->driver, in, module->module, stream, module->functions);
    device->driver->cuStreamDestroy(stream);
  }
  if (result == CUDA_SUCCESS) return WEIR_OK;
  device->driver->cuModuleUnload(module->module);
  return failure(device, result, "its functions cannot be found", "");
}

static void tell_left_out(const inputs *in, const char *why, weir__resident_module *module) {
  uint32_t left_out = 0, first = 0;
  for (uint32_t i = 0; i < in->part_count; i++) {
    if (module->functions[i] != 0) continue;
    if (left_out++ == 0) first = i;
  }
  if (left_out == 0) return;
  snprintf(module->left_out, sizeof module->left_out, "kernel '%s'%s not in the resident kernel: %s",
           in->parts[first]->kernel, left_out > 1 ? " and others are" : " is",
           why[0] != 0 ? why : "the local memory of all kernels together is more than a worker has");
}

// Links all that goes in together.
static weir_status link_most(weir__cuda_device *device, inputs *in, weir__resident_module *module) {
  uint64_t shared_limit = 0;
  weir_status status = weir__resident_shared_limit(device, &shared_limit);
  if (status != WEIR_OK) return status;
  take_images(in, shared_limit);
  char why[sizeof module->left_out - 128] = "";
  status = link_and_load(device, in, module);
  if (status != WEIR_OK && may_go_on(status) && in->count > 1) {
    snprintf(why, sizeof why, "%s", weir_last_error());
    status = link_one_by_one(device, in, module);
  }
  if (status != WEIR_OK) return status;
  module->functions = weir__allocate_zeroed((in->part_count + 1) * sizeof module->functions[0]);
  if (module->functions == NULL) {
    device->driver->cuModuleUnload(module->module);
    return no_memory(device);
  }
  status = find_functions(device, in, module);
  if (status == WEIR_OK) tell_left_out(in, why, module);
  return status;
}

weir_status weir__resident_link(weir__cuda_device *device, weir__resident_part *const *parts, uint32_t count,
                                weir__resident_module *out_module) {
  memset(out_module, 0, sizeof *out_module);
  weir__resident_image *base = NULL;
  weir_status status = weir__resident_base(device, "weir__resident", &base);
  if (status != WEIR_OK) return status;
  inputs in = {.parts = parts, .part_count = count, .images = weir__allocate((count + 1) * sizeof *in.images)};
  if (in.images == NULL) {
    status = no_memory(device);
  } else {
    in.images[in.count++] = base;
    status = link_most(device, &in, out_module);
  }
  weir__free(in.images);
  weir__resident_image_release(base);
  if (status == WEIR_OK) return WEIR_OK;
  weir__free(out_module->functions);
  memset(out_module, 0, sizeof *out_module);
  return status;
}

void weir__resident_unlink(weir__cuda_device *device, weir__resident_module *module) {
  if (module->module != NULL) device->driver->cuModuleUnload(module->module);
  weir__free(module->functions);
  memset(module, 0, sizeof *module);
}
