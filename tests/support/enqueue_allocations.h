// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions with many arguments, while one allocation after the other fails.
#ifndef WEIR_TESTS_ENQUEUE_ALLOCATIONS_H
#define WEIR_TESTS_ENQUEUE_ALLOCATIONS_H

#include "weir/enqueue.h"

// A task and a launch of a graph in a context with a device of this kind. `fill_all` fills all arguments with
// ENQUEUE_ALLOCATIONS_PATTERN; `expect` fails the test unless a range of a buffer has a pattern.
enum { ENQUEUE_ALLOCATIONS_PATTERN = 9 };
void enqueue_allocations_fail(weir_context *context, const char *kind, weir_enqueue_function fill_all,
                              void (*expect)(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t wanted));

#endif // WEIR_TESTS_ENQUEUE_ALLOCATIONS_H
