// SPDX-License-Identifier: Apache-2.0
//
// The kernel behind weir_graph_multiply: (product, first, second, count), floats. Made when it is first wanted; one per
// context.
#ifndef WEIR_GRAPH_MULTIPLY_H
#define WEIR_GRAPH_MULTIPLY_H

#include "engine/context.h"

// The context's kernel, with code for `device`, or for the context's first device if that is NULL. No lock is held.
weir_status weir__multiply_kernel(weir_context *context, weir_device *device, weir_kernel **out_kernel);

// Work-groups for `count` products. A group does 256 of them, and goes on where that is not enough.
uint32_t weir__multiply_groups(uint32_t count);

#endif // WEIR_GRAPH_MULTIPLY_H
