// SPDX-License-Identifier: Apache-2.0
//
// The way of a task into the window: checked, given storage, its hazards found, committed.
#ifndef WEIR_API_SUBMIT_H
#define WEIR_API_SUBMIT_H

#include "api/context.h"

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

// What is to be submitted, checked already. Everything it points to is needed during the call only.
typedef struct weir__request {
  const weir_task *task;  // for messages; NULL: a graph launch
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
} weir__request;

typedef enum weir__enter_result {
  WEIR__ENTERED,
  WEIR__ENTER_AGAIN, // the lock was released meanwhile: check everything again
  WEIR__ENTER_FAILED,
} weir__enter_result;

// Waits until the window has room for `slots` tasks and lets tasks in. The lock is held before and after; AGAIN: it was
// released meanwhile. `task` is for messages. Fails in a task or callback, which must not wait.
weir__enter_result weir__enter_wait(weir_context *context, const weir_task *task, uint32_t slots,
                                    weir_status *out_status);

// weir_submit with the lock held before and after; it is released meanwhile if there is something to wait for.
weir_status weir__submit_held(weir_context *context, const weir_task *task, weir_event **out_event);

// Takes a request into the window, which has room. The lock is held before and after; AGAIN: it was released meanwhile,
// to wait for memory. On failure nothing has changed and `*out_status` and weir_last_error() say why.
weir__enter_result weir__enter(weir_context *context, const weir__request *request, weir_event **out_event,
                               weir_status *out_status);

// The last part of weir__enter, for a task that has its slot and its accesses recorded: edges from context->hits, timeline,
// and off it goes.
void weir__enter_found(weir_context *context, const weir__request *request, weir__task *task);

// Report why a task cannot enter: it would have to wait for `what` in a task or callback; there is no memory for `what`.
weir__enter_result weir__would_wait(const weir_task *task, const char *what, weir_status *out_status);
weir__enter_result weir__no_memory(const weir_task *task, const char *what, weir_status *out_status);

// Takes memory for a run's copies with the caller's memory. AGAIN: the lock was released meanwhile, to wait for some.
weir__enter_result weir__graph_run_take_staging(struct weir__graph_run *run, weir_status *out_status);

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
weir_status weir__check_task(weir_context *context, const weir_task *task, weir_device **out_device);

// Describes a task for messages; NULL stands for the launch of a graph.
enum { WEIR__WHAT_BYTES = 96 };
void weir__describe_task(const weir_task *task, char what[WEIR__WHAT_BYTES]);

#endif // WEIR_API_SUBMIT_H
