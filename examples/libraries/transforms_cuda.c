// SPDX-License-Identifier: Apache-2.0
#include "transforms.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cufft.h>
#include <weir/cuda.h>
#include <weir/enqueue.h>

#include "require.h"

enum { GROUP = 64 };

// The functions of cuFFT that are called, with the types of its header.
#define FUNCTIONS(X)                                                                                                   \
  X(cufftCreate)                                                                                                       \
  X(cufftDestroy)                                                                                                      \
  X(cufftSetAutoAllocation) X(cufftMakePlan2d) X(cufftSetStream) X(cufftSetWorkArea) X(cufftExecC2C) X(cufftEstimate2d)

struct transforms {
#define FIELD(name) __typeof__(&name) p_##name;
  FUNCTIONS(FIELD)
#undef FIELD
  void *library;
  weir_context *context;
  uint32_t size, plan_count;
  size_t scratch;     // bytes that a transform works in
  cufftHandle *plans; // one for each lane: a plan has a stream and a work area, which calls set
  bool *made;         // of each lane
};

const char transforms_library[] = "cuFFT";

static const char lowpass_source[] =
    "extern \"C\" __global__ void lowpass(float2 *spectrum, unsigned size, unsigned limit) {\n"
    "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i % size, y = i / size;\n"
    "  if (i >= size * size) return;\n"
    "  float scale = min(x, size - x) > limit || min(y, size - y) > limit ? 0 : 1.0f / (size * size);\n"
    "  spectrum[i] = make_float2(spectrum[i].x * scale, spectrum[i].y * scale);\n"
    "}\n";

// ---------------------------------------------------------------------------------------------------------------
// Calls

static weir_status said(const weir_enqueue *call, cufftResult result, const char *what) {
  if (result == CUFFT_SUCCESS) return WEIR_OK;
  char message[80];
  snprintf(message, sizeof message, "%s returned %d", what, (int)result);
  weir_enqueue_fail(call, message);
  return WEIR_ERROR_TASK_FAILED;
}

// Makes the lane's plan, which works in scratch memory of Weir's.
static weir_status prepare(const weir_enqueue *call) {
  transforms *all = call->data;
  cufftHandle *plan = &all->plans[call->lane];
  if (all->made[call->lane]) return WEIR_OK;
  size_t bytes;
  weir_status status = said(call, all->p_cufftCreate(plan), "cufftCreate");
  if (status != WEIR_OK) return status;
  cufftResult result = all->p_cufftSetAutoAllocation(*plan, 0);
  if (result == CUFFT_SUCCESS)
    result = all->p_cufftMakePlan2d(*plan, (int)all->size, (int)all->size, CUFFT_C2C, &bytes);
  if (result == CUFFT_SUCCESS && bytes > all->scratch) result = CUFFT_ALLOC_FAILED; // the estimate was too low
  all->made[call->lane] = result == CUFFT_SUCCESS;
  if (result != CUFFT_SUCCESS) all->p_cufftDestroy(*plan);
  return said(call, result, "cufftMakePlan2d");
}

static weir_status transform(const weir_enqueue *call) {
  transforms *all = call->data;
  cufftHandle plan = all->plans[call->lane];
  const uint32_t *inverse = call->args[1].value;
  cufftComplex *image = (cufftComplex *)(uintptr_t)call->args[0].pointer; // NOLINT: an address of the card
  cufftResult result = all->p_cufftSetStream(plan, call->queue);
  if (result == CUFFT_SUCCESS && call->scratch.bytes > 0)
    result = all->p_cufftSetWorkArea(plan, (void *)(uintptr_t)call->scratch.pointer); // NOLINT
  if (result == CUFFT_SUCCESS)
    result = all->p_cufftExecC2C(plan, image, image, *inverse ? CUFFT_INVERSE : CUFFT_FORWARD);
  return said(call, result, "cufftExecC2C");
}

// ---------------------------------------------------------------------------------------------------------------
// The library and its device

static bool find(void *library, const char *name, void *out_function, char *why, size_t why_bytes) {
  void *found = dlsym(library, name);
  if (found == NULL) snprintf(why, why_bytes, "%s", dlerror());
  memcpy(out_function, &found, sizeof found);
  return found != NULL;
}

static bool load(transforms *all, char *why, size_t why_bytes) {
  static const char *const names[] = {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10"};
  for (size_t i = 0; i < sizeof names / sizeof *names && all->library == NULL; i++)
    all->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (all->library == NULL) {
    snprintf(why, why_bytes, "%s", dlerror());
    return false;
  }
#define FIND(name)                                                                                                     \
  if (!find(all->library, #name, &all->p_##name, why, why_bytes)) return false;
  FUNCTIONS(FIND)
#undef FIND
  return true;
}

static bool open_all(transforms *all, char *why, size_t why_bytes) {
  if (weir_context_create(&(weir_context_options){.devices = "cuda"}, &all->context) != WEIR_OK) {
    snprintf(why, why_bytes, "%s", weir_last_error());
    return false;
  }
  if (!load(all, why, why_bytes)) return false;
  if (all->p_cufftEstimate2d((int)all->size, (int)all->size, CUFFT_C2C, &all->scratch) != CUFFT_SUCCESS) {
    snprintf(why, why_bytes, "cufftEstimate2d fails");
    return false;
  }
  all->plan_count = weir_device_information(weir_context_device(all->context, 0))->enqueue_lanes;
  all->plans = calloc(all->plan_count, sizeof *all->plans);
  all->made = calloc(all->plan_count, sizeof *all->made);
  if (all->plans == NULL || all->made == NULL) exit(1);
  return true;
}

transforms *transforms_open(uint32_t size, uint32_t images, char *why, size_t why_bytes) {
  (void)images;
  transforms *all = calloc(1, sizeof *all);
  if (all == NULL) exit(1);
  all->size = size;
  if (open_all(all, why, why_bytes)) return all;
  transforms_close(all);
  return NULL;
}

weir_context *transforms_context(transforms *all) {
  return all->context;
}

// Plans live as long as graphs that captured their calls.
void transforms_close(transforms *all) {
  if (all->context != NULL) require(weir_context_release(all->context));
  for (uint32_t i = 0; i < all->plan_count; i++)
    if (all->made[i]) all->p_cufftDestroy(all->plans[i]);
  free(all->plans);
  free(all->made);
  if (all->library != NULL) dlclose(all->library);
  free(all);
}

weir_buffer *transforms_buffer(transforms *all, uint32_t image) {
  (void)image;
  weir_buffer *buffer;
  require(weir_buffer_create(all->context, TRANSFORMS_BYTES(all->size), &buffer));
  return buffer;
}

void transforms_set_transform(transforms *all, weir_kernel *kernel) {
  weir_enqueue_code code = {.function = transform,
                            .prepare = prepare,
                            .scratch_bytes = all->scratch,
                            .flags = WEIR_ENQUEUE_PURE,
                            .data = all};
  require(weir_kernel_set_enqueue(kernel, "cuda", &code));
}

void *transforms_user(transforms *all, uint32_t image) {
  (void)all, (void)image;
  return NULL;
}

// The plans want a workspace, which functions get.
bool transforms_call(transforms *all, weir_buffer *buffer, uint32_t image, bool inverse) {
  (void)all, (void)buffer, (void)image, (void)inverse;
  return false;
}

// cuFFT does not divide: a transform and one back multiply by the number of texels, which the filter takes out.
void transforms_set_lowpass(transforms *all, weir_kernel *kernel) {
  weir_cuda_launch launch = {
      .function = "lowpass", .grid = {all->size * all->size / GROUP, 1, 1}, .block = {GROUP, 1, 1}};
  require(weir_kernel_set_cuda(kernel, &(weir_cuda_code){.source = lowpass_source}, &launch, 1));
}
