// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/module.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/lock.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/ptx_texts.h"

struct weir__cuda_module {
  struct weir__cuda_module *next;
  weir__hash hash; // of what the caller gave: source and options, or an image
  CUmodule module;
  const weir__ptx_entry *entries; // what its PTX says; NULL: it has none
};

// Guards the lists of all devices; held only to search and to link.
static weir__lock lists;

typedef enum image_kind { PTX, CUBIN, FAT_BINARY } image_kind;

bool weir__cuda_is_cubin(const void *image) {
  static const unsigned char ELF[4] = {0x7f, 'E', 'L', 'F'};
  return strncmp(image, (const char *)ELF, 4) == 0;
}

static image_kind kind_of(const void *image) {
  static const unsigned char FAT[4] = {0x50, 0xed, 0x55, 0xba};
  if (weir__cuda_is_cubin(image)) return CUBIN;
  if (strncmp(image, (const char *)FAT, 4) == 0) return FAT_BINARY;
  return PTX;
}

static weir__hash hash_of(const weir_cuda_code *code, size_t image_bytes) {
  if (code->source == NULL) return weir__hash_of(code->image, image_bytes);
  weir__hash parts[2] = {weir__hash_of(code->source, strlen(code->source)), {0, 0}};
  if (code->options != NULL) parts[1] = weir__hash_of(code->options, strlen(code->options));
  return weir__hash_of(parts, sizeof parts);
}

static CUmodule find(const weir__cuda_device *device, weir__hash hash) {
  for (const weir__cuda_module *at = device->modules; at != NULL; at = at->next)
    if (weir__hash_equal(at->hash, hash)) return at->module;
  return NULL;
}

static weir_status load_image(weir__cuda_device *device, const char *kernel, const void *image, CUmodule *out_module) {
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  CUresult result = device->driver->cuModuleLoadDataEx(out_module, image, 2, options, values);
  if (result == CUDA_SUCCESS) return WEIR_OK;
  char why[160];
  return weir__error(weir__cuda_status(result), "kernel '%s': code for %s: %s%s%s", kernel, device->base.device.name,
                     weir__cuda_result_text(device->driver, result, why, sizeof why), log[0] != 0 ? "\n" : "", log);
}

// PTX whose length was given need not end with a zero byte, but the driver reads up to one.
static weir_status load_ptx(weir__cuda_device *device, const char *kernel, const char *ptx, size_t bytes,
                            weir__cuda_module *to) {
  char *copy = weir__allocate(bytes + 1);
  if (copy == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its code", kernel);
  memcpy(copy, ptx, bytes);
  copy[bytes] = 0;
  weir_status status = load_image(device, kernel, copy, &to->module);
  if (status == WEIR_OK) to->entries = weir__ptx_take(copy, bytes);
  weir__free(copy);
  return status;
}

static weir_status load_source(weir__cuda_device *device, const char *kernel, const weir_cuda_code *code,
                               weir__cuda_module *to) {
  void *image = NULL;
  char *ptx = NULL;
  size_t bytes = 0, ptx_bytes = 0;
  weir_status status = weir__nvrtc_compile_with_ptx(kernel, code->source, code->options, device->capability, &image,
                                                    &bytes, &ptx, &ptx_bytes);
  if (status == WEIR_OK) status = load_image(device, kernel, image, &to->module);
  if (status == WEIR_OK && ptx != NULL) to->entries = weir__ptx_take(ptx, ptx_bytes);
  if (status == WEIR_OK && ptx == NULL && kind_of(image) == PTX) to->entries = weir__ptx_take(image, bytes);
  weir__free(image);
  weir__free(ptx);
  return status;
}

static weir_status load(weir__cuda_device *device, const char *kernel, const weir_cuda_code *code, size_t image_bytes,
                        weir__cuda_module *to) {
  if (code->source != NULL) return load_source(device, kernel, code, to);
  return kind_of(code->image) == PTX ? load_ptx(device, kernel, code->image, image_bytes, to)
                                     : load_image(device, kernel, code->image, &to->module);
}

static void free_module(weir__cuda_module *module) {
  weir__ptx_give_back(module->entries);
  weir__free(module);
}

// Links the module that was loaded, unless another thread loaded the same meanwhile: then theirs is used.
static CUmodule share(weir__cuda_device *device, weir__cuda_module *loaded) {
  weir__lock_acquire(&lists);
  CUmodule theirs = find(device, loaded->hash);
  if (theirs == NULL) {
    loaded->next = device->modules;
    device->modules = loaded;
  }
  weir__lock_release(&lists);
  if (theirs == NULL) return loaded->module;
  device->driver->cuModuleUnload(loaded->module);
  free_module(loaded);
  return theirs;
}

weir_status weir__cuda_module_load(weir__cuda_device *device, const char *kernel, const weir_cuda_code *code,
                                   CUmodule *out_module) {
  *out_module = NULL;
  size_t image_bytes = (size_t)code->image_bytes;
  if (code->image != NULL && image_bytes == 0) {
    if (kind_of(code->image) != PTX)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': a binary image needs image_bytes", kernel);
    image_bytes = strlen(code->image);
  }
  weir__hash hash = hash_of(code, image_bytes);
  weir__lock_acquire(&lists);
  CUmodule found = find(device, hash);
  weir__lock_release(&lists);
  if (found == NULL) {
    weir__cuda_module *loaded = weir__allocate_zeroed(sizeof *loaded);
    if (loaded == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its code", kernel);
    loaded->hash = hash;
    weir_status status = load(device, kernel, code, image_bytes, loaded);
    if (status != WEIR_OK) {
      free_module(loaded);
      return status;
    }
    found = share(device, loaded);
  }
  *out_module = found;
  return WEIR_OK;
}

weir_status weir__cuda_module_function(weir__cuda_device *device, const char *kernel, CUmodule module, const char *name,
                                       CUfunction *out_function) {
  CUresult result = device->driver->cuModuleGetFunction(out_function, module, name);
  if (result == CUDA_ERROR_NOT_FOUND)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s': its code has no function '%s'; C++ functions that are not declared extern \"C\" "
                       "have mangled names",
                       kernel, name);
  return weir__cuda_error(device->driver, result, "kernel '%s', function '%s' on %s", kernel, name,
                          device->base.device.name);
}

const weir__ptx_entry *weir__cuda_module_entry(const weir__cuda_device *device, CUmodule module, const char *name) {
  weir__lock_acquire(&lists);
  const weir__cuda_module *at = device->modules;
  while (at != NULL && at->module != module) at = at->next;
  weir__lock_release(&lists);
  return at == NULL ? NULL : weir__ptx_find(at->entries, name);
}

void weir__cuda_modules_destroy(weir__cuda_device *device) {
  bool current = device->modules != NULL && weir__cuda_enter(device) == CUDA_SUCCESS;
  while (device->modules != NULL) {
    weir__cuda_module *module = device->modules;
    device->modules = module->next;
    if (current) device->driver->cuModuleUnload(module->module);
    free_module(module);
  }
  if (current) weir__cuda_leave(device);
}
