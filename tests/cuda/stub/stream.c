// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include "internal.h"

// What the runtime's headers call cudaStreamLegacy and cudaStreamPerThread.
#define LEGACY ((uintptr_t)1)

CUstream stub_stream_of(CUstream stream, const char *function) {
  if (stream == NULL || (uintptr_t)stream == LEGACY) return &stub_current()->legacy;
  for (uint32_t i = 0; i < stub.options.devices; i++)
    if (stream == &stub_context_of((int)i)->legacy) return stream;
  return stub_object_check(stream, STUB_STREAM, function) ? stream : NULL;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority) {
  STUB_ENTER(cuStreamCreateWithPriority, STUB_CONTEXT);
  (void)priority; // any is right: the driver clamps it
  if (stream == NULL || flags > CU_STREAM_NON_BLOCKING) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  CUstream made = stub_object_create(STUB_STREAM, sizeof *made);
  made->context = stub_current();
  made->blocking = flags == CU_STREAM_DEFAULT;
  *stream = made;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  STUB_ENTER(cuStreamDestroy_v2, STUB_CONTEXT | STUB_RELEASE);
  if (!stub_object_check(stream, STUB_STREAM, "cuStreamDestroy")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  stub_capture_leave(stream);
  stub_object_bury(stream);
  stream->destroyed = true;
  if (stream->head == NULL) stub_object_retire(stream);
  return stub_leave(CUDA_SUCCESS);
}

// What tells when all that is in the stream now is done; NULL: it is.
static stub_ticket *stream_ticket(CUstream stream) {
  if (stream == &stream->context->legacy) { // waits for blocking streams too
    stub_operation *operation = stub_operation_create(NULL);
    stub_ticket *ticket = stub_ticket_retain(operation->ticket);
    stub_enqueue(stream, operation);
    return ticket;
  }
  return stream->tail == NULL ? NULL : stub_ticket_retain(stream->tail->ticket);
}

CUresult cuStreamQuery(CUstream handle) {
  STUB_ENTER(cuStreamQuery, STUB_CONTEXT | STUB_UNSAFE);
  CUstream stream = stub_stream_of(handle, "cuStreamQuery");
  if (stream == NULL) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  stub_capture_invalidate(stream);
  if (stream->capture != NULL) return stub_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUcontext context = stream->context;
  if (context->fault != CUDA_SUCCESS) return stub_leave(context->fault);
  stub_ticket *ticket = stream_ticket(stream);
  stub_poke();
  bool done = ticket == NULL || ticket->done;
  stub_ticket_release(ticket);
  if (context->fault != CUDA_SUCCESS) return stub_leave(context->fault);
  CUresult result = stub_leave(done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
  if (!done) sched_yield();
  return result;
}

CUresult cuStreamSynchronize(CUstream handle) {
  STUB_ENTER(cuStreamSynchronize, STUB_CONTEXT | STUB_UNSAFE | STUB_RELEASE);
  CUstream stream = stub_stream_of(handle, "cuStreamSynchronize");
  if (stream == NULL) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  stub_capture_invalidate(stream);
  if (stream->capture != NULL) return stub_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUcontext context = stream->context;
  if (context->fault != CUDA_SUCCESS) return stub_leave(context->fault);
  stub_ticket *ticket = stream_ticket(stream);
  CUresult result = ticket == NULL ? CUDA_SUCCESS : stub_wait(ticket, context);
  stub_ticket_release(ticket);
  return stub_leave(result);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream handle, void **parameters, void **extra) {
  STUB_ENTER(cuLaunchKernel, STUB_CONTEXT);
  CUstream stream = stub_stream_of(handle, "cuLaunchKernel");
  if (stream == NULL) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (stream->context->fault != CUDA_SUCCESS) return stub_leave(stream->context->fault);
  const CUDA_KERNEL_NODE_PARAMS launch = {
      .func = function,
      .gridDimX = grid_x,
      .gridDimY = grid_y,
      .gridDimZ = grid_z,
      .blockDimX = block_x,
      .blockDimY = block_y,
      .blockDimZ = block_z,
      .sharedMemBytes = shared_bytes,
      .kernelParams = parameters,
      .extra = extra,
  };
  stub_work *work;
  CUresult result = stub_work_kernel(&launch, stream->context, &work);
  if (result != CUDA_SUCCESS) return stub_leave(result);
  if (stream->capture != NULL) return stub_leave(stub_capture_work(stream, work));
  stub_operation *operation = stub_operation_create(work);
  stub_enqueue(stream, operation);
  if (stub_is_alone(operation)) stub_resident_start(stream, operation);
  return stub_leave(CUDA_SUCCESS);
}
