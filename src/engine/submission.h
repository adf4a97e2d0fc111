// SPDX-License-Identifier: Apache-2.0
//
// A task on its way into the window: what the caller asked for, and what the checks made of it.
#ifndef WEIR_ENGINE_SUBMISSION_H
#define WEIR_ENGINE_SUBMISSION_H

#include "engine/context.h"

typedef struct weir__family weir__family; // engine/family.h

// A task on its way into the window, and for whom it goes there. Everything it points to is needed during the call only.
typedef struct weir__submission {
  const weir_task *task;                 // for messages, too; NULL: a graph launch
  const weir__completion_target *target; // NULL: none, nobody but who has the event is told of the end
  const weir__trace_origin *origin;      // the call of a stage that submits it; NULL: none
  struct weir__cpu_guest *guest;         // this thread offers to run it; NULL: it does not
  const weir__family *family;            // whose child it is, and its group; NULL: neither, or its event has joined it
  weir_event *event;                     // that it has already, since it was queued; NULL: none
  uint64_t *ticket;    // of a call of the caller's that had to wait: 1 more than the queued submissions that
                       // it comes after; 0 before. NULL: it waits until none is queued
  uint64_t reserved;   // slots of the window that were set aside for it
  weir_device *device; // not NULL: it is this one's, which has no code for kernels
  weir_device *aside;  // not NULL: it is a part of a task that the checker runs, for this device. It
                       // waits for nothing but its own arguments
  bool unchecked;      // a copy of Weir's own: the checker runs it as it is
  bool kernel_checked; // the kernel was checked before, and may have been released since
  bool may_queue;      // where it must not wait for room it is queued, by who gets LATER
  bool opens;          // it is an open task (engine/open.h)
  bool queued;         // it was, and is to enter now: it must not wait
  bool held;           // it was held back (weir__repeating)
} weir__submission;

// What is known of a list of accesses.
typedef struct weir__checked {
  uint32_t access_count;
  bool ranged;            // some access is not of a whole buffer, or its buffer is used by ranges
  bool repeats;           // some buffer may be named twice
  bool commutes;          // some access is COMMUTE; `ranged` is set then, too
  bool lacks_contents;    // some access needs contents that are not in its space
  bool reduces;           // some access is REDUCE, or to bytes of which there are copies to be combined
  uint32_t box_count;     // accesses that are boxes
  uint32_t value_bytes;   // room for the values, each aligned and behind its length
  uint64_t needs_storage; // bit i: access i may need storage that its buffer does not have; the last bit stands for
                          // all accesses from 63 on
  uint32_t write_backs;   // accesses that write to memory that the caller wrapped elsewhere
} weir__checked;

// Bit of access `index` in weir__checked.needs_storage.
static inline uint64_t weir__storage_bit(uint32_t index) {
  return (uint64_t)1 << (index < 63 ? index : 63);
}

// The first access from `index` on that may need storage; what is beyond the accesses if there is none.
static inline uint32_t weir__storage_next(uint64_t needs_storage, uint32_t index) {
  if (needs_storage == UINT64_MAX) return index; // as in launches, which have many accesses
  uint64_t rest = needs_storage >> (index < 63 ? index : 63);
  return rest == 0 ? UINT32_MAX : index + (uint32_t)__builtin_ctzll(rest);
}

// The origin of what the calling thread submits.
static inline const weir__trace_origin *weir__origin_of(const weir_context *context) {
  return context->host.trace == NULL ? NULL : weir__this_thread.origin;
}

// What is to be admitted, checked already. Everything it points to is needed during the call only.
typedef struct weir__request {
  const weir__submission *submission;
  const weir_task *task; // what the caller asks for, or stands for it
  weir__task_kind kind;
  weir_device *device;
  uint8_t asked;          // weir__task.asked
  weir__access *accesses; // buffers with ranges; they stay there until the task is done. Serials are filled in
  weir__checked checked;
  weir__block **fresh;         // scratch, access_count long
  void **pointers;             // of a task with arguments: room for a pointer each, and then for the values
  struct weir__graph_run *run; // of a graph launch; its pointers are filled in by weir__graph_run_bind
  weir__move *move;            // of a task that moves bytes; its addresses are filled in for copies, not for transfers
} weir__request;

typedef enum weir__admit_result {
  WEIR__ADMITTED,
  WEIR__RETRY, // the lock was released meanwhile: check everything again
  WEIR__REFUSED,
  WEIR__LATER, // it must not wait, and there is no room, or others come first: it must be queued, or stays so
} weir__admit_result;

// Whether a submission must not wait for tasks in flight.
static inline bool weir__must_not_wait(const weir__submission *submission) {
  return weir__this_thread.in_task || submission->queued;
}

#endif // WEIR_ENGINE_SUBMISSION_H
