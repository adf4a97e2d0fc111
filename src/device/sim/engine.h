// SPDX-License-Identifier: Apache-2.0
//
// A discrete-event model of one GPU and of the host thread that feeds it. Pure and deterministic: no threads, no I/O,
// virtual time in picoseconds. docs/inside/sim-model.md describes the model.
//
// The host has a clock of its own, which the calls that stand for calls of a driver move on; the device has one that
// weir__sim_engine_advance and weir__sim_engine_step move on. What the host launches reaches the device at the time
// that the host's clock then shows, so the device must not be advanced past the host's clock before a launch, except
// where the host waits for the device.
#ifndef WEIR_DEVICE_SIM_ENGINE_H
#define WEIR_DEVICE_SIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/sim/profile.h"

typedef struct weir__sim_engine weir__sim_engine;
typedef struct weir__sim_op weir__sim_op;

#define WEIR__SIM_NO_QUEUE UINT32_MAX

// How an op learns that one before it has ended.
typedef enum weir__sim_link {
  WEIR__SIM_LINK_DIRECT = 0, // from what keeps the window: hardware without queues, or a resident kernel
  WEIR__SIM_LINK_QUEUE = 1,  // it is next in the same queue
  WEIR__SIM_LINK_EVENT = 2,  // it waits for an event in another queue
  WEIR__SIM_LINK_GRAPH = 3,  // an edge of a graph
} weir__sim_link;

typedef struct weir__sim_wait {
  weir__sim_op *op; // not taken yet
  weir__sim_link link;
} weir__sim_wait;

// What to run: a kernel or copy on the device, or, without blocks, a marker that takes no time.
typedef struct weir__sim_request {
  const weir__sim_cost *cost;
  uint32_t queue; // or WEIR__SIM_NO_QUEUE: only the waits order it
  const weir__sim_wait *waits;
  uint32_t wait_count;
  uint64_t arrival_ps;     // when the device hears of it
  int32_t priority;        // kernels of higher priority go first
  uint64_t rest_ps;        // FLUID: how long the work takes that must follow it, known now, and
  const uint64_t *tail_ps; // beyond that; read whenever the device is shared out. NULL: nothing
  void *user;
} weir__sim_request;

// Creates an engine; the profile is copied. NULL: no memory.
weir__sim_engine *weir__sim_engine_create(const weir__sim_profile *profile, uint32_t queues);
void weir__sim_engine_destroy(weir__sim_engine *engine); // NULL is allowed

// From now on the host's clock of `engine` is that of `other`, which must outlive it.
void weir__sim_engine_share_host(weir__sim_engine *engine, weir__sim_engine *other);

const weir__sim_profile *weir__sim_engine_profile(const weir__sim_engine *engine);

// The two clocks.
uint64_t weir__sim_engine_host_ps(const weir__sim_engine *engine);
uint64_t weir__sim_engine_device_ps(const weir__sim_engine *engine);
void weir__sim_engine_host_spend(weir__sim_engine *engine, uint64_t ps);

// The host learns of something that happened on the device at `device_ps`: its clock is then at least that plus the
// time that a synchronisation takes to return.
void weir__sim_engine_host_wait(weir__sim_engine *engine, uint64_t device_ps);

// Adds an op. Costs the host nothing: the caller spends what the call costs. NULL: no memory, nothing changed.
weir__sim_op *weir__sim_engine_add(weir__sim_engine *engine, const weir__sim_request *request);

// Lets the device run up to, not including, `ps` (UINT64_MAX: until nothing is left to run), or until at least one op
// has ended; false: nothing is left to run.
void weir__sim_engine_advance(weir__sim_engine *engine, uint64_t ps);
bool weir__sim_engine_step(weir__sim_engine *engine);

// When something happens next on the device; UINT64_MAX: nothing is left to run. And handles what happens then.
uint64_t weir__sim_engine_next_ps(const weir__sim_engine *engine);
void weir__sim_engine_handle_next(weir__sim_engine *engine);

// The next op that has ended, in the order of their ends, or NULL. It belongs to the caller, who frees it.
weir__sim_op *weir__sim_engine_take(weir__sim_engine *engine);
void weir__sim_engine_free_op(weir__sim_engine *engine, weir__sim_op *op);

void *weir__sim_op_user(const weir__sim_op *op);
uint32_t weir__sim_op_queue(const weir__sim_op *op);
uint64_t weir__sim_op_ready_ps(const weir__sim_op *op); // all that it waited for was known to be over
uint64_t weir__sim_op_start_ps(const weir__sim_op *op); // its first block was placed
uint64_t weir__sim_op_end_ps(const weir__sim_op *op);

#endif // WEIR_DEVICE_SIM_ENGINE_H
