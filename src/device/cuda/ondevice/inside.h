// SPDX-License-Identifier: Apache-2.0
//
// Inside the launcher on the card.
#ifndef WEIR_DEVICE_CUDA_ONDEVICE_INSIDE_H
#define WEIR_DEVICE_CUDA_ONDEVICE_INSIDE_H

#include "device/cuda/ondevice/ondevice.h"
#include "device/cuda/ondevice/protocol.h"

enum {
  WEIR__ONDEVICE_POOLS = 64,         // functions, with their blocks and shared memory
  WEIR__ONDEVICE_MOST_OF_POOL = 64,  // graphs
  WEIR__ONDEVICE_FIRST_OF_POOL = 16, // that are made when the first one is missed
  WEIR__ONDEVICE_IDLE_NS = 200000,   // so long the scheduler stays with nothing to do
  WEIR__ONDEVICE_MOST_NS = 50000000, // and so long altogether
  WEIR__ONDEVICE_REPORTS = 64,       // at once
  WEIR__ONDEVICE_PARAMETERS = 16,    // of a kernel
};

// A device graph of a kernel and of weir__l_done. `grid` is the device's thread's from when it is made.
typedef struct weir__ondevice_graph {
  struct weir__ondevice_graph *next; // in its pool; among those just made
  struct weir__ondevice_pool *pool;
  CUgraph graph;
  CUgraphExec exec;
  uint64_t node;
  uint32_t index, grid[3];
} weir__ondevice_graph;

// The graphs of a function. What is not atomic, the maker only reads.
typedef struct weir__ondevice_pool {
  CUfunction function;
  uint32_t block[3], shared_bytes;
  _Atomic uint32_t wanted, made;
  _Atomic bool refused;                  // none can be made
  _Atomic(weir__ondevice_graph *) fresh; // newest first
  weir__ondevice_graph *first, *last;    // free ones, oldest first
  uint32_t limit, in_flight;
} weir__ondevice_pool;

typedef struct weir__ondevice_flight {
  weir__task *task; // NULL: the slot is free
  weir__ondevice_graph *graph;
} weir__ondevice_flight;

enum { WEIR__ONDEVICE_UNMADE = 0, WEIR__ONDEVICE_MAKING, WEIR__ONDEVICE_READY, WEIR__ONDEVICE_REFUSED_FOR_GOOD };

struct weir__ondevice {
  weir__cuda_device *device;
  _Atomic uint32_t state;
  bool always; // whatever the rule says; what must be made is waited for: for tests
  uint32_t most_of_pool;
  // The rule (choose.c).
  uint32_t *depths; // per slot of the window: of tasks that could go here and are not done; else 0
  uint32_t unfinished, front, score;
  bool wide;
  // Made by the maker, before the state is READY.
  CUmodule module;
  CUfunction schedule, done;
  CUdeviceptr card;
  weir__l_host *host;
  CUstream stream;
  CUgraph scheduler_graphs[WEIR__L_RELAYS];
  CUgraphExec schedulers[WEIR__L_RELAYS];
  // The maker (make.c).
  pthread_t thread;
  bool has_thread;
  _Atomic uint32_t thread_state;
  pthread_mutex_t mutex;
  pthread_cond_t asked;
  bool stopping, work;              // guarded by the mutex
  char reason[WEIR__MESSAGE_BYTES]; // guarded by the mutex
  CUstream upload;
  weir__ondevice_graph graphs[WEIR__L_GRAPHS];
  uint32_t graph_count;
  _Atomic uint32_t pool_count;
  weir__ondevice_pool pools[WEIR__ONDEVICE_POOLS];
  // The ring (ring.c).
  weir__ondevice_flight flight[WEIR__L_SLOTS];
  uint32_t written, published, reported, in_flight;
  bool running, launched;
  uint32_t epoch, quiet;
  _Atomic bool aborted;
};

extern const char weir__ondevice_source[];

// make.c: the first task wants the launcher; a pool wants more graphs.
void weir__ondevice_begin(weir__ondevice *launcher);
void weir__ondevice_ask(weir__ondevice *launcher);
void weir__ondevice_end(weir__ondevice *launcher); // of the thread
// Says why there is no launcher. Any thread.
void weir__ondevice_refuse(weir__ondevice *launcher, const char *why);

// code.c: compiles, links and loads the launcher's kernels. The device's context is current.
weir_status weir__ondevice_load(weir__ondevice *launcher);

// Whether the driver has what device graphs take.
bool weir__ondevice_driver_can(const weir__cuda_driver *driver);

#endif // WEIR_DEVICE_CUDA_ONDEVICE_INSIDE_H
