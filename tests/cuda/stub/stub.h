// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver without a card: a shared library with the driver's symbols that executes asynchronously in host memory.
// Weir loads it when the environment variable WEIR_CUDA_DRIVER names the file; a test that links with it sees the same
// instance through this header.
//
// It is strict and adversarial. Work that is put in a stream runs later, never in the call, and what no stream, event or
// graph edge orders runs in random order. Wrong use is a violation, which is counted and printed even where the real
// driver would accept it: objects that were destroyed, memory that is freed while work refers to it, waits for events that
// were never recorded, ranges that leave their allocation, calls without a current context.
//
// Device memory: an address has bit 56 set, so that the host cannot read it by mistake. A kernel's function gets at the
// memory through stub_memory(), which checks the range. New memory holds a pattern (at least its first 256 KiB).
//
// Environment, read at the first call; stub_configure() replaces all of it but ABORT:
//   WEIR_STUB_DEVICES    devices, 1 to 8 (1)
//   WEIR_STUB_MEMORY     bytes of memory of each device (1 GiB)
//   WEIR_STUB_SEED       order of execution (1)
//   WEIR_STUB_THREAD=0   no thread executes work; it is executed only inside calls that wait for it or ask for it
//   WEIR_STUB_EXECUTORS  threads that execute work, 1 to 8 (1)
//   WEIR_STUB_PEERS=0    no device reaches the memory of another one by itself
//   WEIR_STUB_ABORT=1    a violation ends the process
#ifndef WEIR_TESTS_CUDA_STUB_H
#define WEIR_TESTS_CUDA_STUB_H

#include <stdbool.h>
#include <stdint.h>

#define STUB_API __attribute__((visibility("default")))

// What a kernel's function gets.
typedef struct stub_launch {
  const char *name;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  uint32_t param_count;
  void **params; // as cuLaunchKernel takes them; copies
  const uint32_t *param_bytes;
  int device;
  void *internal;
  bool cooperative;    // attributes of the node that it is
  uint32_t cluster[3]; // the same; 0: none
} stub_launch;

// A kernel: called once per launch, for all of its blocks, in a thread of the stub's.
typedef void (*stub_function)(const stub_launch *launch);

// Makes a function known. A module image is text: a line "STUB", then a line for each function of the module: its name,
// the most threads that a block of it may have, and the size of each parameter in bytes, as in "STUB\nadd 256 8 8 4\n". What follows a line that begins with "//" is ignored: PTX, say, for
// the library to read.
STUB_API void stub_register(const char *name, stub_function function);

// The same, called once for each work-group, which `group` numbers along x, then y, then z: for workers of the resident kernel
// (src/device/cuda/resident). Their threads are the launch's own: one that schedules and up to 4 workers, beside the executors.
// `launch` has no block, and its params are the task's words.
typedef void (*stub_group_function)(const stub_launch *launch, uint64_t group);
STUB_API void stub_register_groups(const char *name, stub_group_function function);

// The host memory behind `bytes` bytes at `pointer`, device or pinned memory that the launch may access; NULL and a
// violation if it is not that.
STUB_API void *stub_memory(const stub_launch *launch, uint64_t pointer, uint64_t bytes);

// The host memory behind `bytes` bytes at `pointer`, which a library that takes memory of devices, such as MPI, uses by
// itself: device memory, or any other. NULL and a violation if it leaves its allocation or is freed.
STUB_API void *stub_memory_outside(uint64_t pointer, uint64_t bytes);

// Makes the launch fault: the context of its device is lost with `result` (700: illegal address). What is queued there
// never runs, and calls return `result` until the context is released.
STUB_API void stub_fault(const stub_launch *launch, int result);

// Whether the context of the launch's device is lost: for functions that do not end before it is.
STUB_API bool stub_is_lost(const stub_launch *launch);

typedef struct stub_options {
  uint32_t devices;   // 0: 1
  uint64_t memory;    // 0: 1 GiB
  uint64_t seed;      //
  bool manual;        // no thread executes work (WEIR_STUB_THREAD=0)
  uint32_t executors; // 0: 1
  bool no_peers;      // no device reaches the memory of another one by itself (WEIR_STUB_PEERS=0)
} stub_options;

// Starts afresh, with these options (NULL: those of the environment): the ledger is empty, no failure is pending.
// Registered functions stay. False if contexts are alive.
STUB_API bool stub_configure(const stub_options *options);

// Makes the nth call from now (1: the next) of a function fail with `result`, once; `function` NULL: of any function but
// those that make a context current and those that tell about errors. Functions that free, destroy, unload, release, pop
// or synchronize do so all the same. A result that stands for a lost context (700 to 719, 999) loses the current one.
// nth 0: takes the failure back.
STUB_API void stub_fail_nth(const char *function, uint64_t nth, int result);

// The function that failed so; NULL: not yet.
STUB_API const char *stub_failed(void);

// Calls of a function, by its name with or without a suffix such as _v2; NULL: of all.
STUB_API uint64_t stub_calls(const char *function);

typedef struct stub_live_objects {
  uint64_t contexts; // primary contexts that are retained
  uint64_t device_bytes, device_allocations;
  uint64_t pinned; // allocated or registered ranges of host memory
  uint64_t streams, events, modules, graphs, execs;
  uint64_t queued;   // operations that are not done
  uint64_t resident; // of them, launches of the resident kernel, with their threads
} stub_live_objects;

STUB_API stub_live_objects stub_live(void);

// Objects of all kinds and operations in flight.
STUB_API uint64_t stub_live_count(void);

// How many violations there were, and what the first ones were, one a line ("" if none). The text is valid until
// stub_configure().
STUB_API uint64_t stub_violations(void);
STUB_API const char *stub_violation_text(void);

// Nodes that graphs had when a capture into them began, and when one ended, all added up: what a driver may have to look at.
STUB_API uint64_t stub_capture_walked(void);

// Sets attributes of a kernel's node, which is a CUgraphNode; they go with the node as cuGraphKernelNodeCopyAttributes says.
STUB_API void stub_node_set_attributes(void *node, bool cooperative, uint32_t cluster_x);

// From now on an allocation is reported as several of this size, as one that is mapped in pieces; 0: not any more.
STUB_API void stub_map_in_pieces(uint64_t bytes);

// Adds a node of another kind (a CUgraphNodeType) to a CUgraph, behind its last node. Such a graph can be neither cloned nor
// launched.
STUB_API void stub_add_other_node(void *graph, int type);

// Operations that were executed: launches, copies and memsets, by themselves or as nodes of graphs.
STUB_API uint64_t stub_executed(void);

// Of these, how many began while another one ran (with more than one executor).
STUB_API uint64_t stub_overlapped(void);

// Copies between the memories of two devices that were enqueued since the last stub_configure(): by a device that may access
// the other one's memory, or by one that may not.
STUB_API uint64_t stub_peer_copies(bool direct);

#endif // WEIR_TESTS_CUDA_STUB_H
