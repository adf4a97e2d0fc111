// SPDX-License-Identifier: Apache-2.0
#include "opencl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

opencl_functions opencl;

bool opencl_load(void) {
  void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("OpenCL: %s\n", dlerror());
    return false;
  }
  const struct {
    const char *name;
    void *member;
  } functions[] = {
#define OPENCL_MEMBER(type, name, parameters) {#name, &opencl.name},
      OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *function = dlsym(library, functions[i].name);
    if (!function) {
      printf("OpenCL: no %s\n", functions[i].name);
      return false;
    }
    memcpy(functions[i].member, &function, sizeof function);
  }
  return true;
}
