// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_stub.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/symbols.h"

#define DECLARE(member, symbol, need, parameters) NVRTC_STUB_API nvrtcResult symbol parameters;
WEIR__NVRTC_SYMBOLS(DECLARE)
#undef DECLARE

struct _nvrtcProgram {
  char *source;
  bool failed;
};

static _Atomic int compilations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of this:
static char last_options[1024];

int nvrtc_stub_compilations(void) {
  return atomic_load(&compilations);
}

const char *nvrtc_stub_options(void) {
  return last_options;
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
  *major = 12;
  *minor = 9;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  *count = 2;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int header_count,
                               const char *const *headers, const char *const *include_names) {
  (void)name, (void)header_count, (void)headers, (void)include_names;
  *program = malloc(sizeof **program);
  if (*program == NULL) return NVRTC_ERROR_OUT_OF_MEMORY;
  (*program)->source = strdup(source);
  (*program)->failed = false;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int option_count, const char *const *options) {
  atomic_fetch_add(&compilations, 1);
  pthread_mutex_lock(&lock);
  last_options[0] = 0;
  for (int i = 0; i < option_count; i++) {
    size_t used = strlen(last_options);
    snprintf(last_options + used, sizeof last_options - used, "%s%s", i > 0 ? " " : "", options[i]);
  }
  pthread_mutex_unlock(&lock);
  program->failed = strstr(program->source, "#error") != NULL;
  return program->failed ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

static nvrtcResult image_size(nvrtcProgram program, size_t *bytes) {
  *bytes = strlen(program->source) + 1;
  return NVRTC_SUCCESS;
}

static nvrtcResult get_image(nvrtcProgram program, char *image) {
  memcpy(image, program->source, strlen(program->source) + 1);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
  return image_size(program, bytes);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
  return get_image(program, cubin);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) {
  return image_size(program, bytes);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx) {
  return get_image(program, ptx);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
  *bytes = program->failed ? strlen(program->source) + 1 : 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
  if (program->failed) return get_image(program, log);
  log[0] = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  free((*program)->source);
  free(*program);
  *program = NULL;
  return NVRTC_SUCCESS;
}
