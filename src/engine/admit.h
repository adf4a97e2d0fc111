// SPDX-License-Identifier: Apache-2.0
//
// The way of a task into the window: checked, given storage, its hazards found, committed.
#ifndef WEIR_ENGINE_ADMIT_H
#define WEIR_ENGINE_ADMIT_H

#include "engine/context.h"

// What is known of a list of accesses.
typedef struct weir__checked {
  uint32_t access_count;
  bool ranged;            // some access is not of a whole buffer, or its buffer is used by ranges
  bool repeats;           // some buffer may be named twice
  bool lacks_contents;    // some access needs contents that are not in its space
  uint32_t value_bytes;   // room for the values, each aligned and behind its length
  uint64_t needs_storage; // bit i: access i may need storage that its buffer does not have; the last bit stands for
                          // all accesses from 63 on
  uint32_t write_backs;   // accesses that write to memory that the caller wrapped elsewhere
} weir__checked;

// A task on its way into the window, and for whom it goes there. Everything it points to is needed during the call only.
typedef struct weir__submission {
  const weir_task *task;                 // for messages, too; NULL: a graph launch
  const weir__completion_target *target; // NULL: none, nobody but who has the event is told of the end
  const weir__trace_origin *origin;      // the call of a stage that submits it; NULL: none
  struct weir__cpu_guest *guest;         // this thread offers to run it; NULL: it does not
  uint64_t reserved;                     // slots of the window that were set aside for it
  weir_device *device;                   // not NULL: it is this one's, which has no code for kernels
  bool kernel_checked;                   // the kernel was checked before, and may have been released since
} weir__submission;

// What is to be admitted, checked already. Everything it points to is needed during the call only.
typedef struct weir__request {
  const weir__submission *submission;
  weir__task_kind kind;
  weir_function function; // NULL: none
  void *user;
  weir_kernel *kernel; // NULL: none
  weir_device *device;
  uint32_t groups[3];
  int8_t priority;
  uint64_t tag;
  const char *label;
  weir__access *accesses; // buffers with ranges; they stay there until the task is done. Serials are filled in
  weir__checked checked;
  uint32_t arg_count;
  weir__block **fresh;  // scratch, access_count long
  const weir_arg *args; // of an ordinary task
  void **pointers;      // room for arg_count pointers and then the values
  weir_event *const *after;
  uint32_t after_count;
  struct weir__graph_run *run; // of a graph launch; its pointers are filled in by weir__graph_run_bind
  weir__move *move;            // of a task that moves bytes; its addresses are filled in for copies, not for transfers
  struct weir__external_fence *fence;
} weir__request;

typedef enum weir__admit_result {
  WEIR__ADMITTED,
  WEIR__RETRY, // the lock was released meanwhile: check everything again
  WEIR__REFUSED,
} weir__admit_result;

// Waits until the window has room for `slots` tasks and lets tasks in. The lock is held before and after; RETRY: it was
// released meanwhile. Refuses in a task or callback, which must not wait.
weir__admit_result weir__await_room(weir_context *context, const weir__submission *submission, uint32_t slots,
                                    weir_status *out_status);

// Submits a task. The lock is held before and after; it is released meanwhile if there is something to wait for.
weir_status weir__submit(weir_context *context, const weir__submission *submission, weir_event **out_event);

// Takes a request into the window, which has room. The lock is held before and after; RETRY: it was released meanwhile,
// to wait for memory. On failure nothing has changed and `*out_status` and weir_last_error() say why.
weir__admit_result weir__admit(weir_context *context, const weir__request *request, weir_event **out_event,
                               weir_status *out_status);

// The last part of weir__admit, for a task that has its slot and its accesses recorded: edges from context->hits, timeline,
// and off it goes.
void weir__admit_found(weir_context *context, const weir__request *request, weir__task *task);

// Report why a task is refused: it would have to wait for `what` in a task or callback; there is no memory for `what`.
weir__admit_result weir__would_wait(const weir__submission *submission, const char *what, weir_status *out_status);
weir__admit_result weir__no_memory(const weir__submission *submission, const char *what, weir_status *out_status);

// Takes memory for a run's copies with the caller's memory. RETRY: the lock was released meanwhile, to wait for some.
weir__admit_result weir__graph_run_take_staging(struct weir__graph_run *run, const weir__submission *submission,
                                                weir_status *out_status);

// Copies and fills as weir_copy_in and the like submit them. `by` says for whom; its task is not looked at.
weir_status weir__copy_in(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                          const void *source, weir_event **out_event);
weir_status weir__copy_out(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                           void *destination, weir_event **out_event);
weir_status weir__copy(const weir__submission *by, weir_buffer *destination, uint64_t destination_offset,
                       weir_buffer *source, uint64_t source_offset, uint64_t bytes, weir_event **out_event);
weir_status weir__fill(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                       uint32_t pattern, weir_event **out_event);

// Checks that offset and length suit a pattern of 4 bytes.
weir_status weir__check_fill(const weir_buffer *buffer, uint64_t offset, uint64_t bytes, const char *what);

enum { WEIR__MAX_VALUE_BYTES = 4096 };

// Checks the arguments of a task against `context` and turns them into accesses (room for as many as there are
// arguments) in `space`. The lock is held.
weir_status weir__check_args(weir_context *context, const weir_task *task, uint32_t space, weir__access *accesses,
                             weir__checked *out_checked);

// Bit of access `index` in weir__checked.needs_storage.
static inline uint64_t weir__storage_bit(uint32_t index) {
  return (uint64_t)1 << (index < 63 ? index : 63);
}

// The first access from `index` on that may need storage; what is beyond the accesses if there is none.
static inline uint32_t weir__storage_next(uint64_t needs_storage, uint32_t index) {
  uint64_t rest = needs_storage >> (index < 63 ? index : 63);
  return rest == 0 ? UINT32_MAX : index + (uint32_t)__builtin_ctzll(rest);
}

// Checks the rest of a task and chooses its device.
weir_status weir__check_task(weir_context *context, const weir__submission *submission, weir_device **out_device);

#endif // WEIR_ENGINE_ADMIT_H
