// SPDX-License-Identifier: Apache-2.0
//
// Buffers give way to others in a memory that is full.
//
// DESIGN. What a device holds and nothing in flight uses is taken from it, in the order of victims.h. A replica whose contents
// are valid elsewhere, too, or undefined, is given up at once. Contents that no other memory has, or only those of devices that
// are lost, are copied to the host first, by a transfer like any other. They are given up once that is done and the storage is
// still wanted. Until then tasks may use them.
// Each time some more than is needed is copied, so that the copies overlap with tasks and the next ones find clean replicas.
// Buffers that the asking submission names stay. All others may go once the tasks in flight are done. So a task is refused only
// if its buffers do not fit alone.
// Submissions run far ahead of a device. What is idle then is what was used long ago, in a sweep just what is needed next. So it
// stays while better victims are in use, as long as their tasks get done and hold enough of the memory to keep the device busy.
#ifndef WEIR_ENGINE_EVICT_H
#define WEIR_ENGINE_EVICT_H

#include "engine/submission.h"

// Makes room for `bytes` bytes in the memory of a device. Does not wait. `waits`: the caller can wait for tasks in flight, so that
// what is idle may stay. True: storage came free, and may be enough. False: nothing is to be taken, or it had better stay, or copies
// to the host are in flight, behind which it will be. The lock is held.
bool weir__evict(weir_context *context, const weir__submission *submission, uint32_t space, uint64_t bytes, bool waits);

// Gives up all replicas in a space whose contents are elsewhere, too, or undefined, and what idle graphs hold on the host. False:
// there were none. The lock is held.
bool weir__evict_copies(weir_context *context, uint32_t space);

#endif // WEIR_ENGINE_EVICT_H
