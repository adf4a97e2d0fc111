// SPDX-License-Identifier: Apache-2.0
//
// Contexts: made ready for their devices, given these, opened, destroyed.
#ifndef WEIR_ENGINE_CREATE_H
#define WEIR_ENGINE_CREATE_H

#include "engine/rules.h"

enum {
  WEIR__SMALLEST_WINDOW = 8,
  WEIR__LARGEST_WINDOW = 1 << 24,
  WEIR__RELEASED_KEPT = 1024, // released buffers and kernels that are recognised as such
  WEIR__FEW_RELEASED_KEPT = 64,
};

// First, for a context that was zeroed and options that were checked. Rules for launches of graphs, and pools of objects of
// layers above, are set by who has them. After a failure, too, the context must be destroyed.
weir_status weir__context_initialize(weir_context *context, const weir_context_options *options);

// Takes over a device of the context's host, also if it fails.
weir_status weir__context_add_device(weir_context *context, weir_device *device);

// Once all devices are there.
weir_status weir__context_open(weir_context *context);

// Frees the context and all that still belongs to it. Every task is done.
void weir__context_destroy(weir_context *context);

#endif // WEIR_ENGINE_CREATE_H
