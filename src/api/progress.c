// SPDX-License-Identifier: Apache-2.0
//
// The function that CPU workers call when they find no task.
#include <sched.h>

#include "base/error.h"
#include "engine/process.h"
#include "weir/external.h"

// A worker that calls the function looks in the other order: says that it does, then whether there is one.
static void take_back(weir__progress *progress) {
  atomic_store_explicit(&progress->function, NULL, memory_order_seq_cst);
  while (atomic_load_explicit(&progress->called, memory_order_seq_cst)) sched_yield();
}

// PENDING: one that was taken back is still called, with the data that stands there.
static weir_status try_to_give(weir_context *context, weir_progress_function function, void *user) {
  weir__progress *progress = &context->host.progress;
  weir_status status = WEIR_OK;
  weir__context_lock(context);
  if (atomic_load_explicit(&progress->function, memory_order_seq_cst) != NULL) {
    status = weir__error(WEIR_ERROR_INVALID_ARGUMENT, "set progress: the context has another function already");
  } else if (atomic_load_explicit(&progress->called, memory_order_seq_cst)) {
    status = WEIR_PENDING;
  } else {
    progress->user = user;
    atomic_store_explicit(&progress->function, function, memory_order_seq_cst);
  }
  weir__context_unlock(context);
  return status;
}

static weir_status give(weir_context *context, weir_progress_function function, void *user) {
  weir_status status;
  while ((status = try_to_give(context, function, user)) == WEIR_PENDING) sched_yield();
  return status;
}

weir_status weir_context_set_progress(weir_context *context, weir_progress_function function, void *user) {
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "set progress: the context is NULL");
  weir_status status = weir__check_waiter(context, "set progress");
  if (status != WEIR_OK) return status;
  if (function != NULL) return give(context, function, user);
  take_back(&context->host.progress);
  return WEIR_OK;
}
