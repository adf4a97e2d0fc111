// SPDX-License-Identifier: Apache-2.0
//
// Counts what the library has allocated and not yet freed: the linker puts the ledger between it and base/allocate.h.
#ifndef WEIR_TESTS_ALLOCATION_LEDGER_H
#define WEIR_TESTS_ALLOCATION_LEDGER_H

#include <stdint.h>

// Pieces of memory that the library holds now.
int64_t ledger_live(void);

// Threads of this process; waits a little for threads that were joined to disappear.
int ledger_threads(int expected);
// Threads of this process, once as many as these were there for a fifth of a second: those that stay.
int ledger_threads_settled(void);

// Open files of this process.
int ledger_files(void);

#endif // WEIR_TESTS_ALLOCATION_LEDGER_H
