// SPDX-License-Identifier: Apache-2.0
//
// Contents on their way from one memory to another: transfers in flight.
#ifndef WEIR_ENGINE_ARRIVALS_H
#define WEIR_ENGINE_ARRIVALS_H

#include "engine/context.h"

// Whether bytes of [lo, hi) are still on their way to the buffer's replica in `space`.
bool weir__arrives(weir_context *context, weir_buffer *buffer, uint32_t space, uint64_t lo, uint64_t hi);

// Adds to the dependences what brings bytes of [lo, hi) to the buffer's replica in `space` and is not done. Before the access to these
// bytes is recorded.
void weir__depend_on_arrivals_in_flight(weir_context *context, weir_buffer *buffer, uint32_t space, uint64_t lo,
                                        uint64_t hi);

static inline void weir__depend_on_arrivals(weir_context *context, weir_buffer *buffer, uint32_t space, uint64_t lo,
                                            uint64_t hi) {
  if (buffer->replicas[space].arrival >= context->host.window.live.oldest)
    weir__depend_on_arrivals_in_flight(context, buffer, space, lo, hi);
}

#endif // WEIR_ENGINE_ARRIVALS_H
