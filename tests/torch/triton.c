// SPDX-License-Identifier: Apache-2.0
//
// Functions of the driver that Triton and Inductor call. A module of machine code has whatever function is asked of it,
// and that does nothing.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"

typedef struct config { // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  void *attributes;
  unsigned attribute_count;
} config;

static const char machine_code[] = "a module of machine code";

// The stub's function of a name that this library has, too.
#define STUB(type, name) ((type)dlsym(RTLD_NEXT, #name))

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, void *options, void **values) {
  typedef int (*load)(void **, const void *, unsigned, void *, void **);
  if (memcmp(image, "\177ELF", 4) != 0) return STUB(load, cuModuleLoadDataEx)(module, image, count, options, values);
  *module = (void *)machine_code;
  return 0;
}

int cuModuleLoadData(void **module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

int cuModuleLoad(void **module, const char *file) {
  (void)file;
  *module = (void *)machine_code;
  return 0;
}

int cuModuleUnload(void *module) {
  typedef int (*unload)(void *);
  return module == machine_code ? 0 : STUB(unload, cuModuleUnload)(module);
}

static void nothing(const stub_launch *launch) {
  (void)launch;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  typedef int (*get)(void **, void *, const char *);
  if (module != machine_code) return STUB(get, cuModuleGetFunction)(function, module, name);
  char image[200];
  snprintf(image, sizeof image, "STUB\n%.120s 1024\n", name);
  char cut[124];
  snprintf(cut, sizeof cut, "%.120s", name);
  stub_register(cut, nothing);
  void *made;
  int result = cuModuleLoadDataEx(&made, image, 0, NULL, NULL);
  return result != 0 ? result : STUB(get, cuModuleGetFunction)(function, made, cut);
}

int cuLaunchKernelEx(const config *c, void *function, void **parameters, void **extra) {
  unsigned most = 48 * 1024;
  return cuLaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
                        c->shared_bytes < most ? c->shared_bytes : most, c->stream, parameters, extra);
}

int cuFuncGetAttribute(int *value, int attribute, void *function) {
  typedef int (*get)(int *, int, void *);
  if (STUB(get, cuFuncGetAttribute)(value, attribute, function) != 0) *value = 0;
  return 0;
}

int cuFuncSetCacheConfig(void *function, int preference) {
  (void)function, (void)preference;
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  typedef int (*get)(int *, int, int);
  enum { WARP_SIZE = 10, REGISTERS = 12 };
  if (STUB(get, cuDeviceGetAttribute)(value, attribute, device) == 0) return 0;
  *value = attribute == WARP_SIZE ? 32 : attribute == REGISTERS ? 65536 : 1;
  return 0;
}

int cuCtxSetLimit(int limit, size_t value) {
  (void)limit, (void)value;
  return 0;
}

int cuCtxGetLimit(size_t *value, int limit) {
  (void)limit;
  *value = 0;
  return 0;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer) {
  typedef int (*get)(void *, int, uint64_t);
  enum { DEVICE_POINTER = 3 };
  if (attribute != DEVICE_POINTER) return STUB(get, cuPointerGetAttribute)(value, attribute, pointer);
  memcpy(value, &pointer, sizeof pointer);
  return 0;
}
