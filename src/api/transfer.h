// SPDX-License-Identifier: Apache-2.0
//
// Contents that move between memories. A task finds what it reads in its device's memory: where it is not, a transfer is
// submitted in front of the task, which reads the newest copy and fills storage in the other space. For other tasks it is a
// reader, so that hazards with writers need nothing special; tasks that use the new copy also come after its arrival.
#ifndef WEIR_API_TRANSFER_H
#define WEIR_API_TRANSFER_H

#include "api/submit.h"

// Whether an access of [lo, hi) in `space` needs contents that are not there.
static inline bool weir__lacks_contents(const weir_buffer *buffer, uint32_t space, weir_mode mode, uint64_t lo,
                                        uint64_t hi) {
  bool overwrites = mode == WEIR_WRITE && lo == 0 && hi == buffer->bytes;
  return buffer->valid != 0 && !(buffer->valid & weir__space_bit(space)) && !overwrites;
}

// Whether contents can go from one space to the other without the host in between.
static inline bool weir__is_direct(const weir_context *context, uint32_t from, uint32_t to) {
  if (from == to || from == WEIR__HOST_SPACE || to == WEIR__HOST_SPACE) return true;
  const weir__device_ops *ops = context->space_devices[from]->ops;
  return ops->peers && ops == context->space_devices[to]->ops;
}

// Submits a transfer of the buffer's contents to `space`, where they are not. AGAIN: the lock was released meanwhile.
// `task` is for messages.
weir__enter_result weir__transfer(weir_context *context, const weir_task *task, weir_buffer *buffer, uint32_t space,
                                  weir_status *out_status);

// Whether an access in `space` writes to memory that the caller wrapped elsewhere.
static inline bool weir__is_written_back(const weir_buffer *buffer, weir_mode mode, uint32_t space) {
  return buffer->wrapped && mode != WEIR_READ && buffer->home != space;
}

// Submits transfers of what the arguments of a task, which were checked, need in `space`.
weir__enter_result weir__transfer_args(weir_context *context, const weir_task *task, uint32_t space,
                                       weir_status *out_status);

// The same for accesses. `*out_write_backs`: how many of them write to memory that the caller wrapped elsewhere.
weir__enter_result weir__transfer_accesses(weir_context *context, const weir__access *accesses, uint32_t count,
                                           uint32_t *out_write_backs, weir_status *out_status);

// Submits, behind a task with these accesses, copies of what it wrote to wrapped memory in another space, where the caller
// looks for it. The window has room: for weir__write_back_slots tasks. Where the whole window has not enough for a copy per
// access, there is one per buffer. `event` (may be NULL) is done only when the copies are.
void weir__write_back(weir_context *context, const weir__access *accesses, uint32_t count, uint32_t write_backs,
                      weir_event *event);
uint32_t weir__write_back_slots(const weir_context *context, const weir__access *accesses, uint32_t count,
                                uint32_t write_backs);

// A transfer did not end well: what it should have brought is not there. The lock is held.
void weir__transfer_failed(weir_context *context, const weir__task *task);

#endif // WEIR_API_TRANSFER_H
