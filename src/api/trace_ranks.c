// SPDX-License-Identifier: Apache-2.0
//
// Notes in the timeline of one of several ranks.
#include "weir/trace.h"

#include "base/error.h"
#include "engine/context.h"
#include "engine/event.h"
#include "trace/ranks.h"

// Locks the context of an object whose notes are kept.
static weir_status open_notes(const void *object, weir__kind kind, weir_context **out_context) {
  weir_status status = weir__object_check(object, kind, NULL, "trace note");
  if (status != WEIR_OK) return status;
  *out_context = ((const weir__object *)object)->context;
  if ((*out_context)->host.trace == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace note: the context was made without WEIR_CONTEXT_TRACE");
  weir__context_lock(*out_context);
  return WEIR_OK;
}

weir_status weir_trace_note_rank(weir_context *context, uint32_t rank, uint32_t ranks, int64_t offset_ns,
                                 uint64_t error_ns) {
  if (context == NULL || context->host.trace == NULL || rank >= ranks)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace note: %s",
                       context == NULL               ? "the context is NULL"
                       : context->host.trace == NULL ? "the context was made without WEIR_CONTEXT_TRACE"
                                                     : "there is no such rank");
  uint64_t start_ns = context->host.start_ns;
  bool early = offset_ns < 0 && start_ns < 0 - (uint64_t)offset_ns;
  weir__context_lock(context);
  weir__trace_set_rank(context->host.trace, &(weir__trace_rank){.rank = rank,
                                                                .ranks = ranks,
                                                                .zero_ns = early ? 0 : start_ns + (uint64_t)offset_ns,
                                                                .error_ns = error_ns});
  weir__context_unlock(context);
  return WEIR_OK;
}

weir_status weir_trace_note_buffer(weir_buffer *buffer, uint64_t shared) {
  weir_context *context;
  weir_status status = open_notes(buffer, WEIR__KIND_BUFFER, &context);
  if (status != WEIR_OK) return status;
  weir__trace_share_buffer(context->host.trace, buffer->id, shared);
  weir__context_unlock(context);
  return WEIR_OK;
}

static weir_status note_task(weir_event *event, uint64_t call, const weir__trace_message *message) {
  weir_context *context;
  weir_status status = open_notes(event, WEIR__KIND_EVENT, &context);
  if (status != WEIR_OK) return status;
  weir__trace_task *record = weir__trace_find(context->host.trace, event->task);
  if (record != NULL) {
    record->call = call;
    record->message = *message;
  }
  weir__context_unlock(context);
  if (event->task == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace note: an external event (weir/external.h) is no task");
  return WEIR_OK;
}

weir_status weir_trace_note_call(weir_event *event, uint64_t call) {
  return note_task(event, call, &(weir__trace_message){.direction = WEIR__TRACE_NO_MESSAGE});
}

weir_status weir_trace_note_send(weir_event *event, uint64_t call, uint32_t to, uint64_t number) {
  return note_task(event, call, &(weir__trace_message){.direction = WEIR__TRACE_SENDS, .peer = to, .number = number});
}

weir_status weir_trace_note_receive(weir_event *event, uint64_t call, uint32_t from, uint64_t number) {
  return note_task(event, call,
                   &(weir__trace_message){.direction = WEIR__TRACE_RECEIVES, .peer = from, .number = number});
}

weir_status weir_trace_note_written(weir_buffer *buffer, uint64_t call, uint64_t offset, uint64_t bytes) {
  weir_context *context;
  weir_status status = open_notes(buffer, WEIR__KIND_BUFFER, &context);
  if (status != WEIR_OK) return status;
  weir__trace_add_written(context->host.trace, &(weir__trace_written){call, buffer->id, offset, bytes});
  weir__context_unlock(context);
  return WEIR_OK;
}
