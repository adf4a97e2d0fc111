// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of the library goes through here, so that tests can count them and make the Nth fail.
#ifndef WEIR_BASE_ALLOCATE_H
#define WEIR_BASE_ALLOCATE_H

#include <stddef.h>
#include <stdint.h>

// Memory aligned to 64 bytes, or NULL. Contents undefined.
void *weir__allocate(size_t bytes);

// The same, zeroed.
void *weir__allocate_zeroed(size_t bytes);

// Memory of the size of an array that is used page by page: zeroed, and backed by the system only where touched.
void *weir__allocate_sparse(size_t bytes);
void weir__free_sparse(void *memory, size_t bytes);

// A copy of a string, or NULL.
char *weir__allocate_string(const char *text);

// Frees what weir__allocate and its siblings gave; NULL is allowed.
void weir__free(void *memory);

// For tests: makes the Nth allocation from now fail, once (1 is the next one; 0: none), and counts allocations so far.
// Creating a thread counts as an allocation.
void weir__allocate_fail_at(uint64_t n);
uint64_t weir__allocate_count(void);

// Counts one allocation that is made by other means (a thread); returns 0 if it is to fail.
int weir__allocate_permit(void);

#endif // WEIR_BASE_ALLOCATE_H
