// SPDX-License-Identifier: Apache-2.0
//
// Buffers give way to others in a memory that is full.
//
// DESIGN. What a device holds and nothing in flight uses is taken from it, least recently used first. A replica whose contents
// are valid elsewhere, too, or undefined, is given up at once. Contents that no other memory has, or only those of devices that
// are lost, are copied to the host first, by a transfer like any other. They are given up once that is done and the storage is
// still wanted. Until then tasks may use them.
// Each time some more than is needed is copied, so that the copies overlap with tasks and the next ones find clean replicas.
// Buffers that the asking submission names stay. All others may go once the tasks in flight are done. So a task is refused only
// if its buffers do not fit alone.
#ifndef WEIR_ENGINE_EVICT_H
#define WEIR_ENGINE_EVICT_H

#include "engine/submission.h"

typedef enum weir__eviction {
  WEIR__EVICTED,         // storage came free: it may be enough
  WEIR__EVICTION_COPIES, // copies to the host are in flight, behind which it will
  WEIR__EVICTION_NONE,   // there is nothing to take for now
} weir__eviction;

// Makes room for `bytes` bytes in the memory of a device. Does not wait. The lock is held.
weir__eviction weir__evict(weir_context *context, const weir__submission *submission, uint32_t space, uint64_t bytes);

// Gives up all replicas in a space whose contents are elsewhere, too, or undefined, and what idle graphs hold on the host. False:
// there were none. The lock is held.
bool weir__evict_copies(weir_context *context, uint32_t space);

#endif // WEIR_ENGINE_EVICT_H
