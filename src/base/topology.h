// SPDX-License-Identifier: Apache-2.0
//
// The cores of the machine, and which of them threads run on. Thread-safe.
//
// DESIGN. A thread that spins, as workers and devices' threads do, keeps another one that is pinned to its core waiting for as long
// as it spins. So a core is taken before a thread is pinned to it, and no other thread of Weir is then, in whatever context or process.
// A thread that finds all cores taken stays where the scheduler puts it. A core is taken by a name for an abstract socket: the
// system gives the name to one process, and takes it back when that one ends, by whatever means. A process that is forked lets go
// of its parent's names: the threads are the parent's. Processes in network namespaces of their own do not see each other's.
#ifndef WEIR_BASE_TOPOLOGY_H
#define WEIR_BASE_TOPOLOGY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A core that is taken. Zeroed: none.
typedef struct weir__core {
  bool taken;
  uint32_t unit; // its processing unit
} weir__core;

// Takes a core for a thread, and pins the thread to it: the first one that is free among those that the process may use, from number
// `first` on, one processing unit of each core first. False: hwloc is not there, there are fewer cores, or none is free.
bool weir__core_take(pthread_t thread, uint32_t first, weir__core *out_core);

// Lets others take the core; none is allowed. The thread has ended, or is about to end.
void weir__core_give(weir__core *core);

// Lets the calling thread run on all cores that the process may use: a thread that a pinned one makes is pinned to its core.
void weir__unpin(void);

// How many cores the process may use. The topology is read by then: who asks before it starts threads keeps them from reading it,
// while another thread may fork.
uint32_t weir__usable_cores(void);

// Whether pinning works on this machine, in a few words.
void weir__pinning_text(char *text, size_t size);

#endif // WEIR_BASE_TOPOLOGY_H
