// SPDX-License-Identifier: Apache-2.0
//
// Copies and memsets. Memory of the host that is not pinned: it is read in the call, or the call waits until it is
// written.
#include <string.h>

#include "internal.h"

uint64_t stub_peer_copies(bool direct) {
  pthread_mutex_lock(&stub.lock);
  uint64_t count = stub.peer_copies[direct];
  pthread_mutex_unlock(&stub.lock);
  return count;
}

// Whether both ends are right; a copy between two ranges of the host is not one that Weir needs.
static bool check_copy(uint64_t destination, uint64_t source, uint64_t bytes, const char *function,
                       stub_allocation **out_destination, stub_allocation **out_source) {
  if (!stub_memory_check(destination, bytes, function, out_destination)) return false;
  if (!stub_memory_check(source, bytes, function, out_source)) return false;
  bool device = (*out_destination != NULL && (*out_destination)->kind == STUB_DEVICE_MEMORY) ||
                (*out_source != NULL && (*out_source)->kind == STUB_DEVICE_MEMORY);
  if (!device) stub_violation("%s: neither end is memory of a device", function);
  bool apart = destination + bytes <= source || source + bytes <= destination;
  if (!apart)
    stub_violation("%s: %llu bytes from 0x%llx to 0x%llx overlap", function, (unsigned long long)bytes,
                   (unsigned long long)source, (unsigned long long)destination);
  return device && apart;
}

static CUresult enqueue_copy(CUstream handle, uint64_t destination, uint64_t source, uint64_t bytes,
                             const char *function) {
  CUstream stream = stub_stream_of(handle, function);
  if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
  CUcontext context = stream->context;
  if (context->fault != CUDA_SUCCESS) return context->fault;
  if (bytes == 0) return CUDA_SUCCESS;
  stub_allocation *to, *from;
  if (!check_copy(destination, source, bytes, function, &to, &from)) return CUDA_ERROR_INVALID_VALUE;
  bool devices = to != NULL && from != NULL && to->kind == STUB_DEVICE_MEMORY && from->kind == STUB_DEVICE_MEMORY;
  if (devices && to->device != from->device)
    stub.peer_copies[context->peers[to->device == context->device ? from->device : to->device]]++;
  stub_work *work = stub_work_create(STUB_COPY);
  work->destination = destination;
  work->source = source;
  work->bytes = bytes;
  if (from == NULL) {
    work->staged = stub_allocate(bytes);
    memcpy(work->staged, stub_memory_host(source), bytes);
  }
  if (stream->capture != NULL && to != NULL) return stub_capture_work(stream, work);
  if (stream->capture != NULL) { // memory of the host that is not pinned would be waited for
    stub_work_release(work);
    stub_capture_invalidate(stream);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  stub_operation *operation = stub_operation_create(work);
  stub_ticket *ticket = stub_ticket_retain(operation->ticket);
  stub_enqueue(stream, operation);
  CUresult result = to == NULL ? stub_wait(ticket, context) : CUDA_SUCCESS;
  stub_ticket_release(ticket);
  return result;
}

CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  STUB_ENTER(cuMemcpyAsync, STUB_CONTEXT);
  return stub_leave(enqueue_copy(stream, destination, source, bytes, "cuMemcpyAsync"));
}

// A pattern of 4 bytes, again and again.
static CUresult enqueue_set(CUstream handle, CUdeviceptr destination, unsigned int pattern, size_t bytes,
                            const char *function) {
  CUstream stream = stub_stream_of(handle, function);
  if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->context->fault != CUDA_SUCCESS) return stream->context->fault;
  if (bytes == 0) return CUDA_SUCCESS;
  stub_allocation *allocation;
  if (!stub_memory_check(destination, bytes, function, &allocation)) return CUDA_ERROR_INVALID_VALUE;
  if (allocation == NULL) {
    stub_violation("%s: memory of the host", function);
    return CUDA_ERROR_INVALID_VALUE;
  }
  stub_work *work = stub_work_create(STUB_SET);
  work->destination = destination;
  work->bytes = bytes;
  work->value = pattern;
  if (stream->capture != NULL) return stub_capture_work(stream, work);
  stub_enqueue(stream, stub_operation_create(work));
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, size_t bytes, CUstream stream) {
  STUB_ENTER(cuMemsetD8Async, STUB_CONTEXT);
  return stub_leave(enqueue_set(stream, destination, value * 0x01010101u, bytes, "cuMemsetD8Async"));
}

CUresult cuMemsetD32Async(CUdeviceptr destination, unsigned int value, size_t count, CUstream stream) {
  STUB_ENTER(cuMemsetD32Async, STUB_CONTEXT);
  if (destination % sizeof value != 0) {
    stub_violation("cuMemsetD32Async: the address is no multiple of 4");
    return stub_leave(CUDA_ERROR_INVALID_VALUE);
  }
  return stub_leave(enqueue_set(stream, destination, value, count * sizeof value, "cuMemsetD32Async"));
}
