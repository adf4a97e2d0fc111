// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include "internal.h"

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
  STUB_ENTER(cuEventCreate, STUB_CONTEXT);
  if (event == NULL || (flags & ~7u) != 0) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  CUevent made = stub_object_create(STUB_EVENT, sizeof *made);
  made->context = stub_current();
  made->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  *event = made;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event) {
  STUB_ENTER(cuEventDestroy_v2, STUB_CONTEXT | STUB_RELEASE);
  if (!stub_object_check(event, STUB_EVENT, "cuEventDestroy")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  stub_ticket_release(event->ticket);
  event->ticket = NULL;
  stub_capture_event_clear(event);
  stub_object_destroy(event);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  STUB_ENTER(cuEventRecord, STUB_CONTEXT);
  CUstream stream = stub_stream_of(handle, "cuEventRecord");
  if (!stub_object_check(event, STUB_EVENT, "cuEventRecord") || stream == NULL)
    return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (stream->context->fault != CUDA_SUCCESS) return stub_leave(stream->context->fault);
  if (event->context != stream->context) {
    stub_violation("cuEventRecord: event and stream are of different contexts");
    return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  }
  if (stream->capture != NULL) return stub_leave(stub_capture_record(stream, event));
  stub_capture_event_clear(event);
  stub_operation *operation = stub_operation_create(NULL);
  stub_ticket_release(event->ticket);
  event->ticket = stub_ticket_retain(operation->ticket);
  stub_enqueue(stream, operation);
  return stub_leave(CUDA_SUCCESS);
}

// The event, if one may ask for it.
static CUresult check_recorded(CUevent event, const char *function) {
  if (!stub_object_check(event, STUB_EVENT, function)) return CUDA_ERROR_INVALID_HANDLE;
  if (event->context->fault != CUDA_SUCCESS) {
    stub_drain(event->context);
    return event->context->fault;
  }
  if (stub_capture_has_event(event)) return CUDA_ERROR_CAPTURED_EVENT;
  if (event->ticket == NULL) stub_violation("%s: the event was never recorded", function);
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event) {
  STUB_ENTER(cuEventQuery, STUB_CONTEXT | STUB_UNSAFE);
  CUresult result = check_recorded(event, "cuEventQuery");
  if (result != CUDA_SUCCESS || event->ticket == NULL) return stub_leave(result);
  stub_ticket *ticket = stub_ticket_retain(event->ticket);
  CUcontext context = event->context;
  stub_poke();
  bool done = ticket->done;
  stub_ticket_release(ticket);
  if (context->fault != CUDA_SUCCESS) return stub_leave(context->fault);
  result = stub_leave(done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
  if (!done) sched_yield();
  return result;
}

CUresult cuEventSynchronize(CUevent event) {
  STUB_ENTER(cuEventSynchronize, STUB_CONTEXT | STUB_UNSAFE | STUB_RELEASE);
  CUresult result = check_recorded(event, "cuEventSynchronize");
  if (result != CUDA_SUCCESS || event->ticket == NULL) return stub_leave(result);
  return stub_leave(stub_wait(event->ticket, event->context));
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  STUB_ENTER(cuEventElapsedTime, STUB_CONTEXT);
  const CUevent events[] = {start, end};
  for (int i = 0; i < 2; i++) {
    CUresult result = check_recorded(events[i], "cuEventElapsedTime");
    if (result != CUDA_SUCCESS) return stub_leave(result);
    if (!events[i]->timed) stub_violation("cuEventElapsedTime: the event takes no time");
    if (!events[i]->timed || events[i]->ticket == NULL) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  }
  if (start->context != end->context) {
    stub_violation("cuEventElapsedTime: events of different contexts");
    return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  }
  if (!start->ticket->done || !end->ticket->done) return stub_leave(CUDA_ERROR_NOT_READY);
  *milliseconds = (float)((double)((int64_t)end->ticket->time - (int64_t)start->ticket->time) * 1e-6);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags) {
  STUB_ENTER(cuStreamWaitEvent, STUB_CONTEXT);
  CUstream stream = stub_stream_of(handle, "cuStreamWaitEvent");
  if (stream == NULL) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (flags != 0) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  if (stream->context->fault != CUDA_SUCCESS) return stub_leave(stream->context->fault);
  if (!stub_object_check(event, STUB_EVENT, "cuStreamWaitEvent")) return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (stream->capture != NULL || stub_capture_has_event(event)) return stub_leave(stub_capture_wait(stream, event));
  CUresult result = check_recorded(event, "cuStreamWaitEvent");
  if (result != CUDA_SUCCESS || event->ticket == NULL) return stub_leave(result);
  stub_operation *operation = stub_operation_create(NULL);
  stub_operation_wait(operation, event->ticket);
  stub_enqueue(stream, operation);
  return stub_leave(CUDA_SUCCESS);
}
