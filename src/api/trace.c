// SPDX-License-Identifier: Apache-2.0
//
// Timelines and recorded streams, as the caller saves them.
#include "base/clock.h"
#include "base/error.h"
#include "engine/context.h"
#include "trace/lines.h"

weir_status weir_trace_save(weir_context *context, const char *path, const char *title) {
  if (context == NULL || path == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace save: the %s is NULL", context == NULL ? "context" : "path");
  if (context->host.trace == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace save: the context was made without WEIR_CONTEXT_TRACE");
  if (weir__this_thread.in_task)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace save: called from a task or callback");
  char message[WEIR__MESSAGE_BYTES] = "";
  weir__context_lock(context);
  weir__context_flush(context);
  weir__context_wait(context, context->host.window.next, WEIR_FOREVER);
  weir__trace_set_now(context->host.trace, weir__clock_ns() - context->host.start_ns);
  weir_status status = weir__trace_save(context->host.trace, path, title, message, sizeof message);
  weir__context_unlock(context);
  return status == WEIR_OK ? WEIR_OK : weir__error(status, "trace save: %s", message);
}

void weir_trace_clear(weir_context *context) {
  if (context == NULL || context->host.trace == NULL) return;
  weir__context_lock(context);
  weir__trace_clear(context->host.trace);
  weir__context_unlock(context);
}
