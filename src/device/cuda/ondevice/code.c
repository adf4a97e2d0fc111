// SPDX-License-Identifier: Apache-2.0
//
// The launcher's own code.
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/module.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/ondevice/inside.h"

enum { LOG_BYTES = 2048, MOST_LIBRARY_BYTES = 64 << 20 };

static const char what[] = "the launcher on the card";

bool weir__ondevice_driver_can(const weir__cuda_driver *driver) {
  return driver->cuLinkCreate != NULL && driver->cuLinkAddData != NULL && driver->cuLinkComplete != NULL &&
         driver->cuLinkDestroy != NULL && driver->cuGraphKernelNodeSetAttribute != NULL &&
         driver->cuGraphKernelNodeGetAttribute != NULL;
}

// All of a file, to be freed with weir__free; NULL: there is none, or no memory for it.
static void *read_file(const char *path, size_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  void *data = NULL;
  long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (bytes > 0 && bytes <= MOST_LIBRARY_BYTES && fseek(file, 0, SEEK_SET) == 0) data = weir__allocate((size_t)bytes);
  if (data != NULL && fread(data, 1, (size_t)bytes, file) != (size_t)bytes) {
    weir__free(data);
    data = NULL;
  }
  fclose(file);
  *out_bytes = (size_t)bytes;
  return data;
}

static void *read_in(const char *folder, size_t length, const char *below, size_t *out_bytes) {
  char path[PATH_MAX];
  if (folder == NULL || length == 0 || length > PATH_MAX - 64) return NULL;
  snprintf(path, sizeof path, "%.*s%s/libcudadevrt.a", (int)length, folder, below);
  return read_file(path, out_bytes);
}

// The device runtime: the file that WEIR_CUDADEVRT names; else beside NVRTC, or where toolkits have it.
static void *find_runtime(const weir__nvrtc *nvrtc, size_t *out_bytes) {
  const char *given = getenv("WEIR_CUDADEVRT"), *home = getenv("CUDA_HOME");
  if (given != NULL && given[0] != 0) return read_file(given, out_bytes);
  void *address = NULL, *found = NULL;
  Dl_info library;
  memcpy(&address, &nvrtc->nvrtcVersion, sizeof address);
  if (dladdr(address, &library) != 0 && library.dli_fname != NULL) {
    const char *end = strrchr(library.dli_fname, '/');
    if (end != NULL) found = read_in(library.dli_fname, (size_t)(end - library.dli_fname), "", out_bytes);
  }
  static const char toolkit[] = "/usr/local/cuda", debian[] = "/usr/lib/x86_64-linux-gnu";
  if (found == NULL && home != NULL) found = read_in(home, strlen(home), "/lib64", out_bytes);
  if (found == NULL) found = read_in(toolkit, strlen(toolkit), "/lib64", out_bytes);
  if (found == NULL) found = read_in(debian, strlen(debian), "", out_bytes);
  return found;
}

static weir_status failure(const weir__cuda_device *device, CUresult result, const char *doing, const char *log) {
  char text[160];
  return weir__error(weir__cuda_status(result), "%s on %s: %s: %s%s%s", what, device->base.name, doing,
                     weir__cuda_result_text(device->driver, result, text, sizeof text), log[0] != 0 ? "\n" : "", log);
}

static weir_status link_and_load(weir__ondevice *launcher, void *image, size_t bytes, void *runtime,
                                 size_t runtime_bytes) {
  const weir__cuda_driver *driver = launcher->device->driver;
  char log[LOG_BYTES] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  CUlinkState state = NULL;
  CUresult result = driver->cuLinkCreate(2, options, values, &state);
  if (result != CUDA_SUCCESS) return failure(launcher->device, result, "it cannot be linked", "");
  CUjitInputType type = weir__cuda_is_cubin(image) ? CU_JIT_INPUT_CUBIN : CU_JIT_INPUT_PTX;
  result = driver->cuLinkAddData(state, type, image, bytes, "launcher", 0, NULL, NULL);
  if (result == CUDA_SUCCESS)
    result =
        driver->cuLinkAddData(state, CU_JIT_INPUT_LIBRARY, runtime, runtime_bytes, "libcudadevrt.a", 0, NULL, NULL);
  void *linked = NULL;
  size_t linked_bytes = 0;
  if (result == CUDA_SUCCESS) result = driver->cuLinkComplete(state, &linked, &linked_bytes);
  if (result == CUDA_SUCCESS) result = driver->cuModuleLoadDataEx(&launcher->module, linked, 0, NULL, NULL);
  if (result == CUDA_SUCCESS)
    result = driver->cuModuleGetFunction(&launcher->schedule, launcher->module, "weir__l_schedule");
  if (result == CUDA_SUCCESS) result = driver->cuModuleGetFunction(&launcher->done, launcher->module, "weir__l_done");
  weir_status status =
      result == CUDA_SUCCESS ? WEIR_OK : failure(launcher->device, result, "it does not link or load", log);
  driver->cuLinkDestroy(state); // and its image
  return status;
}

weir_status weir__ondevice_load(weir__ondevice *launcher) {
  char reason[256] = "";
  const weir__nvrtc *nvrtc = weir__nvrtc_load(reason, sizeof reason);
  if (nvrtc == NULL) return weir__error(WEIR_ERROR_UNAVAILABLE, "%s: %s", what, reason);
  size_t bytes = 0, runtime_bytes = 0;
  void *image = NULL, *runtime = find_runtime(nvrtc, &runtime_bytes);
  if (runtime == NULL)
    return weir__error(WEIR_ERROR_UNAVAILABLE,
                       "%s: no libcudadevrt.a (neither WEIR_CUDADEVRT nor beside NVRTC, in $CUDA_HOME/lib64 or "
                       "/usr/local/cuda/lib64)",
                       what);
  weir_status status = weir__nvrtc_compile("launcher on the card", weir__ondevice_source, "-rdc=true",
                                           launcher->device->capability, &image, &bytes);
  if (status == WEIR_OK) status = link_and_load(launcher, image, bytes, runtime, runtime_bytes);
  weir__free(image);
  weir__free(runtime);
  return status;
}
