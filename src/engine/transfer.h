// SPDX-License-Identifier: Apache-2.0
//
// Contents that move between memories. A task finds what it reads in its device's memory: of each range that is not there, a
// transfer is submitted in front of the task, which reads the newest copy and fills storage in the other space. For other
// tasks it is a reader of that range, so that hazards with writers need nothing special. Tasks that use the new copy come
// after it, too: they find it among the readers since the last write.
#ifndef WEIR_ENGINE_TRANSFER_H
#define WEIR_ENGINE_TRANSFER_H

#include "engine/submission.h"

// Whether contents can go from one space to the other without the host in between.
static inline bool weir__is_direct(const weir_context *context, uint32_t from, uint32_t to) {
  if (from == to || from == WEIR__HOST_SPACE || to == WEIR__HOST_SPACE) return true;
  const weir__device_ops *ops = context->memory.devices[from]->ops;
  return ops->peers && ops == context->memory.devices[to]->ops;
}

// Whether they do not make a detour then, by which they had better go through memory of the host that Weir knows.
static inline bool weir__is_near(const weir_context *context, uint32_t from, uint32_t to) {
  if (from == to || from == WEIR__HOST_SPACE || to == WEIR__HOST_SPACE) return true;
  return weir__is_direct(context, from, to) &&
         (context->memory.devices[from]->near >> context->memory.devices[to]->index & 1) != 0;
}

// The spaces of devices that are lost. The lock is held.
static inline uint16_t weir__lost_spaces(const weir_context *context) {
  uint16_t lost = 0;
  for (uint32_t space = 1; space < context->memory.space_count; space++) {
    if (context->memory.devices[space]->lost) lost |= weir__space_bit(space);
  }
  return lost;
}

// Whether an access in `space` writes to memory that the caller wrapped elsewhere.
static inline bool weir__is_written_back(const weir_buffer *buffer, weir_mode mode, uint32_t space) {
  return buffer->wrapped && mode != WEIR_READ && buffer->home != space;
}

// The bytes of its buffer that an access of a task with `access_count` accesses needs to have in its space. False: none.
// A write leaves the rest of the buffer where it is, unless there would be too many parts, or what is written back could be
// merged with what is between. Contents move by ranges: a box needs all from its first to its last byte.
static inline bool weir__needed_contents(const weir_context *context, const weir__access *access, uint32_t access_count,
                                         uint64_t *out_lo, uint64_t *out_hi) {
  const weir_buffer *buffer = access->buffer;
  bool whole = weir__access_is_whole(access, buffer->bytes);
  if (buffer->valid == 0 || (access->mode == WEIR_WRITE && whole)) return false;
  uint64_t parts = buffer->parts == NULL ? 1 : buffer->parts->count;
  bool merges = access_count >= context->host.window.size &&
                weir__is_written_back(buffer, (weir_mode)access->mode, access->space);
  if (access->mode != WEIR_READ && (merges || parts + 2 * (uint64_t)access_count > WEIR__MAX_PARTS)) {
    *out_lo = 0;
    *out_hi = buffer->bytes;
    return true;
  }
  *out_lo = access->lo;
  *out_hi = access->hi;
  return access->mode != WEIR_WRITE || access->box != 0;
}

// Whether an access needs contents that are not in its space.
static inline bool weir__lacks_contents(const weir_context *context, const weir__access *access,
                                        uint32_t access_count) {
  uint64_t lo, hi;
  return weir__needed_contents(context, access, access_count, &lo, &hi) &&
         !(weir__buffer_common_spaces(access->buffer, lo, hi) & weir__space_bit(access->space));
}

// Submits transfers of what the arguments of a task, which were checked, need in `space`. RETRY: the lock was released
// meanwhile.
weir__admit_result weir__transfer_args(weir_context *context, const weir__submission *submission, uint32_t space,
                                       uint32_t access_count, weir_status *out_status);

// The same for accesses. `*out_write_backs`: how many of them write to memory that the caller wrapped elsewhere.
weir__admit_result weir__transfer_accesses(weir_context *context, const weir__submission *submission,
                                           const weir__access *accesses, uint32_t count, uint32_t *out_write_backs,
                                           weir_status *out_status);

// Bytes that a space lacks, and the space to take them from. `some_there`: it has some of them, which tasks in flight may
// read there.
typedef struct weir__lacking {
  uint64_t lo, hi;
  uint32_t source;
  bool some_there;
} weir__lacking;

// The three steps of a transfer, for who has found room in the window. The first bytes of [lo, hi) that `space` lacks; false: it has
// all of them. Memory for their transfer; false: there is none. The transfer itself, once the destination has storage: `fresh` if it
// got that for this, or NULL. `skippable`: it is not made if some byte is poisoned. `event` (may be NULL) is done when it is.
bool weir__find_lacking(weir_context *context, weir_buffer *buffer, uint32_t space, uint64_t lo, uint64_t hi,
                        weir__lacking *out_lacking);
bool weir__prepare_transfer(weir_context *context, weir_buffer *buffer, const weir__lacking *bytes);
void weir__enter_transfer(weir_context *context, weir_buffer *buffer, const weir__lacking *bytes, uint32_t destination,
                          const weir__block *fresh, bool skippable, weir_event *event);

// Submits, behind a task with these accesses, copies of what it wrote to wrapped memory in another space, where the caller
// looks for it. The window has room: for weir__write_back_slots tasks. Where the whole window has not enough for a copy per
// access, there is one per buffer. `event` (may be NULL) is done only when the copies are. `by_parts`: of what an access wrote a part
// may be poisoned, and the rest is wanted.
void weir__write_back(weir_context *context, const weir__access *accesses, uint32_t count, uint32_t write_backs,
                      bool by_parts, weir_event *event);
uint32_t weir__write_back_slots(const weir_context *context, const weir__access *accesses, uint32_t count,
                                uint32_t write_backs);

#endif // WEIR_ENGINE_TRANSFER_H
