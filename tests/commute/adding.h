// SPDX-License-Identifier: Apache-2.0
//
// Kernels on words, a work-group for each, with code for every kind of device.
#ifndef WEIR_TESTS_ADDING_H
#define WEIR_TESTS_ADDING_H

#include "api.h"
#include "weir/reduce.h"

typedef struct adding_value {
  uint32_t factor, more;
} adding_value;

// to[i] += from[i] * factor + more: arguments from, to, and an adding_value. `scales`: to[i] = to[i] * factor + from[i] + more.
weir_kernel *adding_kernel(weir_context *context, bool scales);

// to[i] += from[i]: arguments to and from. For reductions of `words` words.
weir_kernel *adding_combine(weir_context *context);

// A context; ends the program with 77 where there is no such device. On the stub driver of CUDA, `seed` is that of its order.
weir_context *adding_context(const weir_context_options *options, uint64_t seed);

#endif // WEIR_TESTS_ADDING_H
