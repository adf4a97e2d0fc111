// SPDX-License-Identifier: Apache-2.0
//
// The linker: joins modules' texts. A text that is no module but speaks of the resident kernel brings that. In a linked module
// there is, for each function, a variable with what workers of the resident kernel know it by. A module with a function
// `unlinkable` does not link.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { HASH_DIGITS = 32 };

static const char entry[] = "weir__resident 1024 8 8 4 8 8\n";
static const char pointer_prefix[] = "weir__resident_pointer_";

struct CUlinkState_st {
  stub_object object;
  char *text;
};

static void append(CUlinkState state, const char *text, size_t bytes) {
  size_t used = strlen(state->text);
  state->text = stub_grow(state->text, used + bytes + 2);
  memcpy(state->text + used, text, bytes);
  if (bytes > 0 && text[bytes - 1] != '\n') state->text[used + bytes++] = '\n';
  state->text[used + bytes] = '\0';
}

CUresult cuLinkCreate_v2(unsigned int option_count, CUjit_option *options, void **values, CUlinkState *out_state) {
  STUB_ENTER(cuLinkCreate_v2, STUB_CONTEXT);
  (void)options;
  if (out_state == NULL || (option_count > 0 && values == NULL)) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  CUlinkState state = stub_object_create(STUB_LINK, sizeof *state);
  state->text = stub_allocate(1);
  append(state, "STUB\n", strlen("STUB\n"));
  *out_state = state;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name,
                          unsigned int option_count, CUjit_option *options, void **values) {
  STUB_ENTER(cuLinkAddData_v2, STUB_CONTEXT);
  (void)type, (void)name, (void)option_count, (void)options, (void)values;
  if (!stub_object_check(state, STUB_LINK, "cuLinkAddData")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  const char *text = data;
  size_t length = text == NULL ? 0 : strnlen(text, bytes);
  if (length == 0) return stub_leave(CUDA_ERROR_INVALID_IMAGE);
  if (strstr(text, "\nunlinkable ") != NULL) return stub_leave(CUDA_ERROR_INVALID_IMAGE);
  if (strncmp(text, "STUB\n", 5) == 0)
    append(state, text + 5, length - 5);
  else if (strstr(text, "weir__resident") != NULL)
    append(state, entry, strlen(entry));
  else
    return stub_leave(CUDA_ERROR_INVALID_IMAGE);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuLinkComplete(CUlinkState state, void **image, size_t *bytes) {
  STUB_ENTER(cuLinkComplete, STUB_CONTEXT);
  if (!stub_object_check(state, STUB_LINK, "cuLinkComplete")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  *image = state->text;
  *bytes = strlen(state->text) + 1;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuLinkDestroy(CUlinkState state) {
  STUB_ENTER(cuLinkDestroy, STUB_CONTEXT | STUB_RELEASE);
  if (!stub_object_check(state, STUB_LINK, "cuLinkDestroy")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  memset(state->text, 'x', strlen(state->text)); // the image is gone
  free(state->text);
  state->text = NULL;
  stub_object_destroy(state);
  return stub_leave(CUDA_SUCCESS);
}

// "weir__resident_pointer_", 32 digits, "_", the function's name.
static const char *function_behind(const char *variable) {
  size_t prefix = strlen(pointer_prefix);
  if (strncmp(variable, pointer_prefix, prefix) != 0) return NULL;
  const char *at = variable + prefix;
  for (int i = 0; i < HASH_DIGITS; i++, at++)
    if (!isxdigit((unsigned char)*at)) return NULL;
  return *at == '_' ? at + 1 : NULL;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name) {
  STUB_ENTER(cuModuleGetGlobal_v2, STUB_CONTEXT);
  if (!stub_object_check(module, STUB_MODULE, "cuModuleGetGlobal")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  const char *wanted = name == NULL ? NULL : function_behind(name);
  CUfunction function = wanted == NULL ? NULL : module->functions;
  while (function != NULL && strcmp(function->name, wanted) != 0) function = function->next;
  if (function == NULL) return stub_leave(CUDA_ERROR_NOT_FOUND);
  if (function->variable == NULL) {
    function->variable = stub_memory_create(module->context->device, sizeof(uint64_t));
    if (function->variable == NULL) return stub_leave(CUDA_ERROR_OUT_OF_MEMORY);
    uint64_t address = (uint64_t)(uintptr_t)function;
    memcpy(function->variable->host, &address, sizeof address);
  }
  *pointer = function->variable->base;
  if (bytes != NULL) *bytes = sizeof(uint64_t);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared_bytes) {
  STUB_ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor, STUB_CONTEXT);
  if (!stub_object_check(function, STUB_FUNCTION, "cuOccupancyMaxActiveBlocksPerMultiprocessor"))
    return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (blocks == NULL || threads <= 0 || shared_bytes > STUB_SHARED_OPTIN_BYTES)
    return stub_leave(CUDA_ERROR_INVALID_VALUE);
  *blocks = (uint32_t)threads > function->block_limit ? 0 : 2048 / threads;
  return stub_leave(CUDA_SUCCESS);
}
