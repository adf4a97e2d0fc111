// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

stub_work *stub_work_create(stub_work_kind kind) {
  stub_work *work = stub_allocate(sizeof *work);
  work->references = 1;
  work->kind = kind;
  return work;
}

stub_work *stub_work_retain(stub_work *work) {
  work->references++;
  return work;
}

void stub_work_release(stub_work *work) {
  if (--work->references > 0) return;
  free(work->param_memory);
  free(work->staged);
  if (work->child != NULL) stub_graph_destroy(work->child);
  free(work);
}

static bool dimensions_fit(const CUDA_KERNEL_NODE_PARAMS *launch, const struct CUfunc_st *function) {
  uint64_t threads = (uint64_t)launch->blockDimX * launch->blockDimY * launch->blockDimZ;
  bool grid = launch->gridDimX > 0 && launch->gridDimX <= 2147483647u && launch->gridDimY > 0 &&
              launch->gridDimY <= 65535 && launch->gridDimZ > 0 && launch->gridDimZ <= 65535;
  return grid && threads > 0 && launch->blockDimX <= 1024 && launch->blockDimY <= 1024 && launch->blockDimZ <= 64 &&
         threads <= function->block_limit && launch->sharedMemBytes <= function->shared_limit;
}

// Copies the parameters. False: there are none though the function has some.
static bool copy_params(stub_work *work, const CUDA_KERNEL_NODE_PARAMS *launch) {
  const struct CUfunc_st *function = work->function;
  work->param_memory = stub_allocate(function->param_total);
  const unsigned char *packed = NULL;
  for (size_t i = 0; launch->extra != NULL && launch->extra[i] != NULL; i += 2)
    if ((uintptr_t)launch->extra[i] == 1) packed = launch->extra[i + 1]; // CU_LAUNCH_PARAM_BUFFER_POINTER
  if (function->param_count > 0 && launch->kernelParams == NULL && packed == NULL) return false;
  for (uint32_t i = 0; i < function->param_count; i++) {
    uint32_t offset = function->param_offsets[i];
    work->params[i] = work->param_memory + offset;
    const void *source = packed != NULL ? packed + offset : launch->kernelParams[i];
    if (source == NULL) return false;
    memcpy(work->params[i], source, function->param_bytes[i]);
  }
  return true;
}

CUresult stub_work_kernel(const CUDA_KERNEL_NODE_PARAMS *launch, CUcontext context, stub_work **out_work) {
  bool by_kernel = launch->func == NULL && launch->kern != NULL; // here a CUkernel is its function
  CUfunction function = by_kernel ? (CUfunction)(void *)launch->kern : launch->func;
  if (!stub_object_check(function, STUB_FUNCTION, "launch")) return CUDA_ERROR_INVALID_HANDLE;
  if (context != NULL && function->module->context != context) {
    stub_violation("launch of %s: the function was loaded in another context than the stream's", function->name);
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!dimensions_fit(launch, function)) {
    stub_violation("launch of %s: grid %ux%ux%u, block %ux%ux%u, %u bytes of shared memory", function->name,
                   launch->gridDimX, launch->gridDimY, launch->gridDimZ, launch->blockDimX, launch->blockDimY,
                   launch->blockDimZ, launch->sharedMemBytes);
    return CUDA_ERROR_INVALID_VALUE;
  }
  stub_work *work = stub_work_create(STUB_KERNEL);
  work->function = function;
  work->by_kernel = by_kernel;
  memcpy(work->grid, (uint32_t[]){launch->gridDimX, launch->gridDimY, launch->gridDimZ}, sizeof work->grid);
  memcpy(work->block, (uint32_t[]){launch->blockDimX, launch->blockDimY, launch->blockDimZ}, sizeof work->block);
  work->shared_bytes = launch->sharedMemBytes;
  if (!copy_params(work, launch)) {
    stub_violation("launch of %s: a parameter is missing", function->name);
    stub_work_release(work);
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out_work = work;
  return CUDA_SUCCESS;
}

static void set(unsigned char *bytes, uint32_t pattern, size_t count) {
  for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)(pattern >> (8 * (i % sizeof pattern)));
}

void stub_work_run(const stub_work *work, CUcontext context) {
  if (work->kind == STUB_SET) {
    set(stub_memory_host(work->destination), work->value, work->bytes);
  } else if (work->kind == STUB_COPY) {
    const void *source = work->staged != NULL ? work->staged : stub_memory_host(work->source);
    memmove(stub_memory_host(work->destination), source, work->bytes);
  } else if (work->kind == STUB_KERNEL) {
    const struct CUfunc_st *function = work->function;
    stub_launch launch = {
        .name = function->name,
        .grid = {work->grid[0], work->grid[1], work->grid[2]},
        .block = {work->block[0], work->block[1], work->block[2]},
        .shared_bytes = work->shared_bytes,
        .param_count = function->param_count,
        .params = (void **)(uintptr_t)work->params,
        .param_bytes = function->param_bytes,
        .device = context->device,
        .internal = context,
        .cooperative = work->cooperative,
        .cluster = {work->cluster[0], work->cluster[1], work->cluster[2]},
    };
    function->body(&launch);
  } else if (work->kind == STUB_HOST) {
    work->host(work->user);
  }
}

// A parameter is opaque: every aligned word of it that is an address in an allocation counts as a reference.
static void visit_params(const stub_work *work, void (*visit)(void *user, stub_allocation *allocation), void *user) {
  for (uint32_t i = 0; i < work->function->param_count; i++) {
    const unsigned char *bytes = work->params[i];
    for (uint32_t at = 0; at + sizeof(uint64_t) <= work->function->param_bytes[i]; at += sizeof(uint64_t)) {
      uint64_t word;
      memcpy(&word, bytes + at, sizeof word);
      stub_allocation *allocation = stub_allocation_find(word);
      if (allocation == NULL) continue;
      if (allocation->freed)
        stub_violation("launch of %s: parameter %u points to 0x%" PRIx64 ", which was freed", work->function->name, i,
                       word);
      visit(user, allocation);
    }
  }
}

void stub_work_visit(const stub_work *work, void (*visit)(void *user, stub_allocation *allocation), void *user) {
  if (work->kind == STUB_KERNEL) {
    visit_params(work, visit, user);
    return;
  }
  if (work->kind != STUB_SET && work->kind != STUB_COPY) return;
  stub_allocation *allocation;
  if (stub_memory_check(work->destination, work->bytes, "destination", &allocation) && allocation != NULL)
    visit(user, allocation);
  if (work->kind == STUB_SET || work->staged != NULL) return;
  if (stub_memory_check(work->source, work->bytes, "source", &allocation) && allocation != NULL)
    visit(user, allocation);
}

void *stub_memory(const stub_launch *launch, uint64_t pointer, uint64_t bytes) {
  pthread_mutex_lock(&stub.lock);
  stub_allocation *allocation;
  char what[160];
  snprintf(what, sizeof what, "kernel %s", launch->name);
  bool good = stub_memory_check(pointer, bytes, what, &allocation);
  if (good && allocation == NULL) {
    stub_violation("%s: 0x%" PRIx64 " is memory of the host", what, pointer);
    good = false;
  }
  if (good && allocation->kind == STUB_DEVICE_MEMORY && allocation->device != launch->device &&
      !stub_context_of(launch->device)->peers[allocation->device]) {
    stub_violation("%s: memory of device %d, to which device %d has no access", what, allocation->device,
                   launch->device);
    good = false;
  }
  pthread_mutex_unlock(&stub.lock);
  return good ? stub_memory_host(pointer) : NULL;
}

void *stub_memory_outside(uint64_t pointer, uint64_t bytes) {
  stub_allocation *allocation;
  pthread_mutex_lock(&stub.lock);
  bool good = stub_memory_check(pointer, bytes, "outside", &allocation);
  pthread_mutex_unlock(&stub.lock);
  return good ? stub_memory_host(pointer) : NULL;
}

void stub_fault(const stub_launch *launch, int result) {
  CUcontext context = launch->internal;
  pthread_mutex_lock(&stub.lock);
  stub_context_lose(context, (CUresult)result);
  pthread_mutex_unlock(&stub.lock);
}

bool stub_is_lost(const stub_launch *launch) {
  const struct CUctx_st *context = launch->internal;
  return __atomic_load_n(&context->lost, __ATOMIC_ACQUIRE);
}
