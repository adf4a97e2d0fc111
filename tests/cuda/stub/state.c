// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

stub_state stub = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .progress = PTHREAD_COND_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};
_Thread_local bool stub_in_operation;
static _Thread_local CUresult late_result; // of a call that is done and fails

void *stub_allocate(size_t bytes) {
  void *memory = calloc(1, bytes == 0 ? 1 : bytes);
  if (memory != NULL) return memory;
  fprintf(stderr, "stub driver: no memory for %zu bytes\n", bytes);
  abort();
}

void *stub_grow(void *memory, size_t bytes) {
  void *grown = realloc(memory, bytes);
  if (grown != NULL) return grown;
  fprintf(stderr, "stub driver: no memory for %zu bytes\n", bytes);
  abort();
}

uint64_t stub_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  uint64_t now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
  stub.last_time = now > stub.last_time ? now : stub.last_time + 1;
  return stub.last_time;
}

static uint64_t environment_number(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  if (text == NULL || *text == '\0') return otherwise;
  char *end;
  uint64_t value = strtoull(text, &end, 10);
  if (*end == '\0') return value;
  fprintf(stderr, "stub driver: %s=%s is not a number\n", name, text);
  abort();
}

static stub_options environment_options(void) {
  return (stub_options){
      .devices = (uint32_t)environment_number("WEIR_STUB_DEVICES", 1),
      .memory = environment_number("WEIR_STUB_MEMORY", 0),
      .seed = environment_number("WEIR_STUB_SEED", 1),
      .manual = environment_number("WEIR_STUB_THREAD", 1) == 0,
      .executors = (uint32_t)environment_number("WEIR_STUB_EXECUTORS", 1),
      .no_peers = environment_number("WEIR_STUB_PEERS", 1) == 0,
  };
}

static uint32_t between_one_and(uint32_t value, uint32_t most) {
  if (value == 0) return 1;
  return value > most ? most : value;
}

// The lock is held.
static void configure(const stub_options *options) {
  stub.options = options == NULL ? environment_options() : *options;
  stub.options.devices = between_one_and(stub.options.devices, STUB_MAX_DEVICES);
  stub.options.executors = between_one_and(stub.options.executors, STUB_MAX_EXECUTORS);
  if (stub.options.memory == 0) stub.options.memory = UINT64_C(1) << 30;
  stub.random.value = stub.options.seed;
  stub.peer_copies[false] = stub.peer_copies[true] = 0;
  stub.configured = true;
  stub_context_reset();
}

bool stub_configure(const stub_options *options) {
  pthread_mutex_lock(&stub.lock);
  if (stub_context_live() > 0) {
    pthread_mutex_unlock(&stub.lock);
    return false;
  }
  stub_engine_stop();
  stub_ledger_reset();
  stub_capture_forget_all();
  stub_object_forget_all();
  configure(options);
  pthread_mutex_unlock(&stub.lock);
  return true;
}

// Results after which a context is of no use any more.
static bool is_sticky(CUresult result) {
  return result == CUDA_ERROR_UNKNOWN ||
         (result >= CUDA_ERROR_ILLEGAL_ADDRESS && result <= CUDA_ERROR_LAUNCH_FAILED &&
          result != CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES && result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
}

static void lose(CUcontext context, CUresult result) {
  if (context->retained == 0 || context->fault != CUDA_SUCCESS) return;
  stub_context_lose(context, result);
  stub_drain(context);
}

static CUresult refuse(const stub_counter *counter, unsigned needs) {
  if (stub_in_operation) {
    stub_violation("%s: called from a kernel", counter->name);
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult failure = stub_ledger_fails(counter, (needs & STUB_BY_NAME) != 0);
  if (is_sticky(failure) && stub_current() != NULL) lose(stub_current(), failure);
  if (failure != CUDA_SUCCESS && (needs & STUB_RELEASE) == 0) return failure;
  late_result = failure;
  if (!stub.initialized && (needs & STUB_EARLY) == 0) {
    stub_violation("%s: called before cuInit", counter->name);
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if ((needs & STUB_UNSAFE) != 0 && stub_capture_forbids()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if ((needs & STUB_CONTEXT) == 0) return CUDA_SUCCESS;
  CUcontext context = stub_current();
  if (context == NULL) {
    stub_violation("%s: no context is current", counter->name);
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (context->retained == 0) {
    stub_violation("%s: the current context was released", counter->name);
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  if (context->fault == CUDA_SUCCESS) return CUDA_SUCCESS;
  stub_drain(context); // what runs there is over before the first call that fails returns
  if ((needs & STUB_RELEASE) == 0) return context->fault;
  late_result = context->fault;
  return CUDA_SUCCESS;
}

CUresult stub_enter(stub_counter *counter, unsigned needs) {
  pthread_mutex_lock(&stub.lock);
  if (!stub.configured) configure(NULL);
  stub_ledger_call(counter);
  late_result = CUDA_SUCCESS;
  CUresult result = refuse(counter, needs);
  if (result != CUDA_SUCCESS) pthread_mutex_unlock(&stub.lock);
  return result;
}

CUresult stub_leave(CUresult result) {
  if (result == CUDA_SUCCESS) result = late_result;
  late_result = CUDA_SUCCESS;
  pthread_mutex_unlock(&stub.lock);
  return result;
}
