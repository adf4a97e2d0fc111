// SPDX-License-Identifier: Apache-2.0
//
// The call of a stage that a thread is in: what it submits has that as its origin in the timeline.
#ifndef WEIR_PIPELINE_ORIGIN_H
#define WEIR_PIPELINE_ORIGIN_H

#include "engine/context.h"

// NULL: this thread is in no call of a stage, or the stage's pipeline is not traced.
const weir__trace_origin *weir__pipeline_origin_now(void);

// The same for what is submitted to `context`.
static inline const weir__trace_origin *weir__pipeline_origin(const weir_context *context) {
  return context->host.trace == NULL ? NULL : weir__pipeline_origin_now();
}

#endif // WEIR_PIPELINE_ORIGIN_H
