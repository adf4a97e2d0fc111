// SPDX-License-Identifier: Apache-2.0
//
// A program in which the Nth allocation fails. The linker sends the program's allocations, and those of libraries that are linked
// into it, here (--wrap: link weir_test_failing_malloc); the JSON parser, a shared library, is told to.
#ifndef WEIR_TESTS_FAILING_MALLOC_H
#define WEIR_TESTS_FAILING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

// Allocation `n` from now on fails; 0: none does.
void failing_malloc_begin(size_t n);

// No more allocation fails. Returns whether one did.
bool failing_malloc_end(void);

// Whether the one that failed was the JSON parser's, which may call that a syntax error.
bool failing_malloc_of_parser(void);

// The JSON parser's allocations count from now on.
void failing_malloc_use_parser(void);

#endif // WEIR_TESTS_FAILING_MALLOC_H
