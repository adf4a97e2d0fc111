// SPDX-License-Identifier: Apache-2.0
//
// Modules: text that names functions which the test registered.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

typedef struct registration {
  struct registration *next;
  stub_function function;
  stub_group_function groups;
  char name[128];
} registration;

static registration *registrations;

static registration *registration_of(const char *name) {
  registration *known = registrations;
  while (known != NULL && strcmp(known->name, name) != 0) known = known->next;
  return known;
}

// The lock is held.
static registration *make_registration(const char *name) {
  registration *known = registration_of(name);
  if (known == NULL) {
    known = stub_allocate(sizeof *known);
    snprintf(known->name, sizeof known->name, "%s", name);
    known->next = registrations;
    registrations = known;
  }
  return known;
}

void stub_register(const char *name, stub_function function) {
  pthread_mutex_lock(&stub.lock);
  make_registration(name)->function = function;
  pthread_mutex_unlock(&stub.lock);
}

void stub_register_groups(const char *name, stub_group_function function) {
  pthread_mutex_lock(&stub.lock);
  make_registration(name)->groups = function;
  pthread_mutex_unlock(&stub.lock);
}

// Where a parameter starts: aligned to its size if that is a power of two up to 16, else to 8, 4, 2 or 1.
static uint32_t align_param(uint32_t offset, uint32_t bytes) {
  uint32_t alignment = 16;
  while (alignment > 1 && bytes % alignment != 0) alignment /= 2;
  return (offset + alignment - 1) / alignment * alignment;
}

// Reads one line. False: it is not as stub.h says.
static bool parse_function(CUmodule module, char *line) {
  char *rest;
  char *name = strtok_r(line, " \t", &rest);
  char *limit = strtok_r(NULL, " \t", &rest);
  if (name == NULL || limit == NULL || strlen(name) >= sizeof((CUfunction)NULL)->name) return false;
  CUfunction function = stub_object_create(STUB_FUNCTION, sizeof *function);
  snprintf(function->name, sizeof function->name, "%s", name);
  function->module = module;
  function->next = module->functions;
  module->functions = function;
  function->block_limit = (uint32_t)strtoul(limit, NULL, 10);
  function->shared_limit = STUB_SHARED_BYTES;
  function->resident = strcmp(name, "weir__resident") == 0;
  const registration *known = registration_of(name);
  if (known != NULL) function->groups = known->groups;
  for (char *text = strtok_r(NULL, " \t", &rest); text != NULL; text = strtok_r(NULL, " \t", &rest)) {
    uint32_t bytes = (uint32_t)strtoul(text, NULL, 10);
    if (bytes == 0 || function->param_count == STUB_MAX_PARAMS) return false;
    uint32_t offset = align_param(function->param_total, bytes);
    function->param_bytes[function->param_count] = bytes;
    function->param_offsets[function->param_count++] = offset;
    function->param_total = offset + bytes;
  }
  return function->block_limit > 0 && function->block_limit <= STUB_MAX_BLOCK;
}

static void destroy_functions(CUmodule module) {
  for (CUfunction function = module->functions; function != NULL; function = function->next) {
    if (function->variable != NULL) stub_memory_destroy(function->variable);
    stub_object_destroy(function);
  }
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int option_count, CUjit_option *options,
                            void **values) {
  STUB_ENTER(cuModuleLoadDataEx, STUB_CONTEXT | STUB_UNSAFE);
  (void)options;
  if (module == NULL || image == NULL || (option_count > 0 && values == NULL))
    return stub_leave(CUDA_ERROR_INVALID_VALUE);
  if (memcmp(image, "\177ELF", 4) == 0) return stub_leave(CUDA_ERROR_NO_BINARY_FOR_GPU);
  const char *own = strncmp(image, "STUB\n", 5) == 0 ? NULL : stub_moves_module(image);
  if (own != NULL) make_registration("weir__move")->function = stub_run_moves;
  if (own != NULL) image = own;
  if (strncmp(image, "STUB\n", 5) != 0) return stub_leave(CUDA_ERROR_INVALID_IMAGE);
  CUmodule made = stub_object_create(STUB_MODULE, sizeof *made);
  made->context = stub_current();
  char *text = strdup((const char *)image + 5);
  bool good = text != NULL;
  char *rest;
  for (char *line = good ? strtok_r(text, "\n", &rest) : NULL; good && line != NULL && strncmp(line, "//", 2) != 0;
       line = strtok_r(NULL, "\n", &rest))
    good = parse_function(made, line);
  free(text);
  if (!good) {
    destroy_functions(made);
    stub_object_destroy(made);
    return stub_leave(CUDA_ERROR_INVALID_IMAGE);
  }
  *module = made;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module) {
  STUB_ENTER(cuModuleUnload, STUB_CONTEXT | STUB_UNSAFE | STUB_RELEASE);
  if (!stub_object_check(module, STUB_MODULE, "cuModuleUnload")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  for (CUfunction function = module->functions; function != NULL; function = function->next)
    if (function->queued > 0)
      stub_violation("cuModuleUnload: %u launches of %s are not done", function->queued, function->name);
  destroy_functions(module);
  stub_object_destroy(module);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  STUB_ENTER(cuModuleGetFunction, STUB_CONTEXT);
  if (!stub_object_check(module, STUB_MODULE, "cuModuleGetFunction")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (function == NULL || name == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  CUfunction found = module->functions;
  while (found != NULL && strcmp(found->name, name) != 0) found = found->next;
  const registration *known = registration_of(name);
  if (found == NULL || (known == NULL && !found->resident)) return stub_leave(CUDA_ERROR_NOT_FOUND);
  if (found->body == NULL && known != NULL) found->body = known->function; // launches may be reading it
  *function = found;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  STUB_ENTER(cuFuncGetAttribute, STUB_CONTEXT);
  if (!stub_object_check(function, STUB_FUNCTION, "cuFuncGetAttribute")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = (int)function->block_limit;
    break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = 0;
    break;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = 32;
    break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = (int)function->shared_limit;
    break;
  default:
    return stub_leave(CUDA_ERROR_INVALID_VALUE);
  }
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  STUB_ENTER(cuFuncSetAttribute, STUB_CONTEXT);
  if (!stub_object_check(function, STUB_FUNCTION, "cuFuncSetAttribute")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) // a hint
    return stub_leave(value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  bool good =
      attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0 && value <= STUB_SHARED_OPTIN_BYTES;
  if (!good) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  function->shared_limit = (uint32_t)value;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes) {
  STUB_ENTER(cuFuncGetParamInfo, STUB_CONTEXT);
  if (!stub_object_check(function, STUB_FUNCTION, "cuFuncGetParamInfo")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (index >= function->param_count || offset == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  *offset = function->param_offsets[index];
  if (bytes != NULL) *bytes = function->param_bytes[index];
  return stub_leave(CUDA_SUCCESS);
}
