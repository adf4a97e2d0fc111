// SPDX-License-Identifier: Apache-2.0
//
// The states that resources are in while a plan runs, for callers whose barriers name them (D3D12; barriers of single
// buffers in Vulkan). Global memory barriers need none of this.
//
// A resource is a buffer as a whole, as D3D12 has it: two tasks that use two parts of it side by side need a state that
// allows both. Since the whole plan is known, a resource gets at each barrier the state for all that comes until it must
// change: the uses of one epoch are combined, and so are reads over several epochs. Hence states change only where a
// barrier stands anyway, reads of different kinds need no barrier between them, and no barrier is there for a state
// alone.
#ifndef WEIR_TOOLS_PLAN_BARRIERS_STATES_H
#define WEIR_TOOLS_PLAN_BARRIERS_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/barriers_plan.h"

// Bits; a state may be several. UNDEFINED is a resource that was not used yet: in D3D12 a buffer in the state COMMON,
// which the first use promotes without a barrier.
typedef enum weir__barrier_state {
  WEIR__STATE_UNDEFINED = 0,
  WEIR__STATE_COPY_SOURCE = 1,
  WEIR__STATE_COPY_DESTINATION = 2,
  WEIR__STATE_SHADER_READ = 4,
  WEIR__STATE_SHADER_WRITE = 8, // kernels write it, and may read it too: SHADER_READ is not named besides
} weir__barrier_state;

enum {
  WEIR__STATE_READS = WEIR__STATE_COPY_SOURCE | WEIR__STATE_SHADER_READ,
  WEIR__STATE_WRITES = WEIR__STATE_COPY_DESTINATION | WEIR__STATE_SHADER_WRITE,
};

// A task uses bytes [lo, hi) of a resource. A task may use a resource several times.
typedef struct weir__barrier_use {
  uint32_t resource;
  uint32_t state; // bits
  uint64_t lo, hi;
} weir__barrier_use;

// The uses of all tasks: those of task t are items[first[t]] up to, not including, items[first[t + 1]].
typedef struct weir__barrier_uses {
  const uint64_t *first; // task_count + 1
  const weir__barrier_use *items;
  uint32_t resource_count;
} weir__barrier_uses;

// What happens to a resource at a step of a plan:
// - `before` UNDEFINED, the step is a DISPATCH: its first use in this submission. It needs no barrier.
// - `before` and `after` differ, the step is a BARRIER: its state changes there.
// - `before` and `after` are the same, the step is a BARRIER: what was written before is used, or what was used is
//   written, in the same state. In D3D12 that is a UAV barrier, without a change of state.
typedef struct weir__barrier_transition {
  size_t step; // index
  uint32_t resource;
  uint32_t before, after; // states
  uint64_t lo, hi;        // no byte outside is used until the next transition
} weir__barrier_transition;

typedef struct weir__barrier_transitions {
  weir__barrier_transition *items; // in the order of their steps
  size_t count;
  size_t mixed; // of them: so many lead to a state that D3D12 does not have, see weir__barrier_state_is_mixed
} weir__barrier_transitions;

// Whether a state combines what D3D12 cannot: a copy's writes with anything else, or a shader's writes with a copy's
// reads. It comes up where tasks use different parts of a buffer side by side. Vulkan has no such limit; in D3D12 the
// parts must be buffers of their own.
bool weir__barrier_state_is_mixed(uint32_t state);

// Finds the transitions of a plan that is correct for its tasks. Each queue keeps states of its own, and they start anew
// with UNDEFINED after a semaphore's step: there a submission ends, and with it a buffer's state in D3D12 (it decays to
// COMMON). Whether a resource is used again in the same state is told from the first and last byte that were written
// and used since its last transition: of uses that interleave without touching it may name one too many. On failure
// `out_transitions` is empty. Errors: INVALID_ARGUMENT (a use of an unknown resource, without a state or without bytes),
// OUT_OF_MEMORY. O(steps + uses * log uses + queues * resources).
weir_status weir__barrier_find_transitions(const weir__barrier_plan *plan, const weir__barrier_uses *uses,
                                           weir__barrier_transitions *out_transitions);

void weir__barrier_transitions_free(weir__barrier_transitions *transitions);

// "UNDEFINED", "SHADER_READ", "COPY_SOURCE|SHADER_READ"; the text is static.
const char *weir__barrier_state_name(uint32_t state);

#endif // WEIR_TOOLS_PLAN_BARRIERS_STATES_H
