// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the engine share. docs/inside/sim-model.md describes the model.
#ifndef WEIR_DEVICE_SIM_OP_H
#define WEIR_DEVICE_SIM_OP_H

#include "base/heap.h"
#include "device/sim/engine.h"
#include "device/sim/pace.h"

typedef struct weir__sim_edge {
  struct weir__sim_edge *next;
  weir__sim_op *successor;
  weir__sim_link link;
} weir__sim_edge;

struct weir__sim_op {
  weir__sim_op *next;    // in one list of the engine
  weir__sim_edge *edges; // to ops that wait for this one
  void *user;
  uint64_t number; // grows
  int32_t priority;
  uint32_t queue;
  uint32_t waits;       // links not resolved yet
  uint32_t timers;      // entries of it in the heap
  uint64_t blocks_left; // not placed yet
  uint64_t blocks_running;
  uint64_t block_units, block_ps;
  uint64_t share, alone_ps, left_ps; // fluid: units wanted, and time with them: in all, and left
  uint64_t rest_ps;                  // fluid: time of what is known to wait for it, the second part
  const uint64_t *tail_ps;           // of which may grow
  uint64_t granted;                  // fluid: units that it has now
  bool marker, copy, dispatched, ended;
  uint64_t ready_ps, start_ps, end_ps;
};

typedef struct weir__sim_list {
  weir__sim_op *first, *last;
} weir__sim_list;

typedef struct weir__sim_timer {
  weir__heap_key key; // its time in ps
  weir__sim_op *op;
  uint64_t blocks; // that end then; 0: the op is ready
} weir__sim_timer;

typedef struct weir__sim_queue {
  weir__sim_op *last;   // not ended, or NULL:
  uint64_t last_end_ps; // when it ended
  bool used;
} weir__sim_queue;

struct weir__sim_engine {
  weir__sim_profile profile;
  uint64_t own_host_ps, *host_ps; // the host's clock, which may be another engine's
  uint64_t device_ps, dispatch_free_ps;
  uint64_t numbers; // given out so far
  uint64_t units_free;
  uint64_t resident, copies;
  uint64_t queues_busy;                                                   // have an op that has not ended
  weir__sim_list ready[WEIR_PRIORITY_HIGHEST - WEIR_PRIORITY_LOWEST + 1]; // by priority, oldest first
  weir__sim_list placing; // resident with blocks left (fluid: resident), the first to go first
  weir__sim_op *finished; // fluid: have nothing left to run
  weir__sim_list ended;
  uint64_t share_until_ps; // fluid: when the device is shared out anew; UINT64_MAX: no kernel runs
  weir__sim_timer *timers; // a heap (base/heap.h)
  size_t timer_count, timer_capacity;
  size_t reserved; // timers that live ops without any may still need
  weir__sim_queue *queues;
  uint32_t queue_count;
  weir__sim_op *free_ops;
  weir__sim_edge *free_edges;
};

// Timers of ops, earliest first. Adding one needs room that weir__sim_timers_reserve made.
bool weir__sim_timers_reserve(weir__sim_engine *engine, size_t count);
void weir__sim_timers_add(weir__sim_engine *engine, weir__sim_op *op, uint64_t ps, uint64_t blocks);
weir__sim_timer weir__sim_timers_take(weir__sim_engine *engine);

// Puts an op whose time has come among those that wait for a place on the device.
void weir__sim_make_ready(weir__sim_engine *engine, weir__sim_op *op);

// Lets ready kernels onto the device.
void weir__sim_admit(weir__sim_engine *engine);

// BLOCKS: places as many blocks as there is room for.
void weir__sim_place(weir__sim_engine *engine);

// The op leaves the device.
void weir__sim_leave(weir__sim_engine *engine, weir__sim_op *op);

// FLUID: lets the kernels that run go on from engine->device_ps to `ps`, the time of the next event, and takes their
// parts of the device from them. Those that end then leave `placing` for `finished`.
void weir__sim_run_shares(weir__sim_engine *engine, uint64_t ps);

// FLUID: shares the device out.
void weir__sim_share(weir__sim_engine *engine);

// BLOCKS: blocks of an op have ended. True: they were its last ones, and the op has left the device.
bool weir__sim_end_blocks(weir__sim_engine *engine, weir__sim_op *op, uint64_t blocks);

// Sorts a list into the order in which ops go first.
void weir__sim_list_sort(weir__sim_list *list);

#endif // WEIR_DEVICE_SIM_OP_H
