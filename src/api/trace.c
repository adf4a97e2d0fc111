// SPDX-License-Identifier: Apache-2.0
//
// Timelines and recorded streams, as the caller saves them.
#include "base/clock.h"
#include "base/error.h"
#include "engine/family.h"
#include "engine/process.h"
#include "trace/lines.h"
#include "trace/why.h"

weir_status weir_trace_save(weir_context *context, const char *path, const char *title) {
  if (context == NULL || path == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace save: the %s is NULL", context == NULL ? "context" : "path");
  if (context->host.trace == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace save: the context was made without WEIR_CONTEXT_TRACE");
  weir_status status = weir__check_waiter(context, "trace save");
  if (status != WEIR_OK) return status;
  char message[WEIR__MESSAGE_BYTES] = "";
  weir__context_lock(context);
  weir__context_flush(context);
  weir__id target = context->host.window.next;
  weir__context_wait(context, target, WEIR_FOREVER);
  weir__family_wait(context, NULL, target, 0);
  weir__trace_set_now(context->host.trace, weir__clock_ns() - context->host.start_ns);
  status = weir__trace_save(context->host.trace, path, title, message, sizeof message);
  weir__context_unlock(context);
  return status == WEIR_OK ? WEIR_OK : weir__error(status, "trace save: %s", message);
}

weir_status weir_why(weir_event *earlier, weir_event *later, char *out_text, size_t size) {
  if (out_text == NULL || size == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "why: the text is %s", out_text == NULL ? "NULL" : "of 0 bytes");
  out_text[0] = '\0';
  weir_status status = weir__object_check(earlier, WEIR__KIND_EVENT, NULL, "why");
  if (status == WEIR_OK) status = weir__object_check(later, WEIR__KIND_EVENT, earlier->object.context, "why");
  if (status != WEIR_OK) return status;
  weir_context *context = earlier->object.context;
  if (context->host.trace == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "why: the context was made without WEIR_CONTEXT_TRACE (or WEIR_TRACE=FILE in the environment)");
  if (earlier->task == 0 || later->task == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "why: an external event (weir/external.h) is no task");
  weir__context_lock(context);
  status = weir__trace_why(context->host.trace, earlier->task, later->task, out_text, size);
  weir__context_unlock(context);
  if (status == WEIR_ERROR_UNAVAILABLE)
    return weir__error(status, "why: the record of task %llu or %llu was cleared, or lost for lack of memory",
                       (unsigned long long)earlier->task, (unsigned long long)later->task);
  return status == WEIR_OK ? WEIR_OK : weir__error(status, "why: no memory");
}

void weir_trace_clear(weir_context *context) {
  if (context == NULL || context->host.trace == NULL) return;
  weir__context_lock(context);
  weir__trace_clear(context->host.trace);
  weir__context_unlock(context);
}
