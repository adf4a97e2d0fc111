// SPDX-License-Identifier: Apache-2.0
//
// The cores of the machine, and which of them threads run on. Thread-safe.
#ifndef WEIR_BASE_TOPOLOGY_H
#define WEIR_BASE_TOPOLOGY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Pins a thread to the core with this number among those that the process may use, one processing unit of each core first.
// False: hwloc is not there, or there are not so many.
bool weir__pin_thread(pthread_t thread, uint32_t index);

// Lets the calling thread run on all cores that the process may use: a thread that a pinned one makes is pinned to its core.
void weir__unpin(void);

// How many cores the process may use.
uint32_t weir__usable_cores(void);

// Whether pinning works on this machine, in a few words.
void weir__pinning_text(char *text, size_t size);

#endif // WEIR_BASE_TOPOLOGY_H
