// SPDX-License-Identifier: Apache-2.0
//
// Broadcasts and reductions between the CUDA devices of a context, by NCCL: on the cards, over NVLink where there is
// some.
//
// A collective is a set of tasks, one for each device of a communicator. Each of them uses one buffer on its device,
// and waits for what that buffer's uses imply, as every task does; what uses these buffers later waits for it. Tasks of
// other buffers overlap it. docs/guide/nccl.md is the guide.
//
// NCCL starts a kernel on each card that stays there until the others have started theirs. So Weir starts the tasks of
// a collective only when all that any of them waits for is done, and all collectives of a context in the order of their
// calls, on all devices. A program needs no care for either.
//
// NCCL (libnccl.so.2, or the file that the environment variable WEIR_NCCL names) is loaded when the first communicator
// is created. Neither building nor linking needs it.
//
// Failures: if a task of a collective cannot run, because what it reads is missing, it was cancelled, its device is
// lost or NCCL refuses, all tasks of that collective fail, with a text that names the device and the reason, and what
// they should have written is poisoned. If others of them were started by then, the communicator is aborted, so that
// nothing waits for ever: its collectives in flight fail, and later calls are refused with UNAVAILABLE.
//
// Threads: any thread may call these functions, but not in a task or callback.
#ifndef WEIR_NCCL_H
#define WEIR_NCCL_H

#include "weir/reduce.h"
#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A communicator: devices that take part in collectives. Its members are private.
typedef struct weir_nccl weir_nccl;

// Options of weir_nccl_create. A member that is 0 has its default.
typedef struct weir_nccl_options {
  // CUDA devices of the context, each another card. Their order numbers them. Default: all CUDA devices of the context.
  weir_device *const *devices;
  uint32_t device_count;
  // Of a communicator over processes (below), else 0: its id, of weir_nccl_make_id; the number that the first of these
  // devices has among all, and how many there are in all processes.
  const void *id;
  uint32_t first, total;
  // Called with `ready_user` when this process is ready for a collective, or cannot take part for the reason of
  // `status`, which is not OK then, and `message`: once for each collective, in a callback, by any thread, and perhaps
  // before the call of the collective returns. If `follows` is not 0, it is the number of an earlier collective, whose
  // result alone is what this process waits for: it is ready if that one takes place, and else cannot take part.
  void (*ready)(void *ready_user, uint64_t collective, uint64_t follows, weir_status status, const char *message);
  void *ready_user;
  // Called by weir_nccl_create over processes while NCCL waits for the others, every few milliseconds, with
  // `ready_user`. If it returns false, the call gives up, with UNAVAILABLE. What NCCL has begun is then left to a
  // thread that ends when NCCL does. NULL: the call waits for as long as NCCL.
  bool (*waits)(void *ready_user);
} weir_nccl_options;

// Creates a communicator. It takes NCCL a second or so. `options` may be NULL: all defaults.
// Errors: INVALID_ARGUMENT (a device that is not a CUDA device of the context, or twice; a window of less than 8 slots
// a device; an id without `ready`, or devices beyond `total`; called from a task or callback), UNAVAILABLE (no NCCL; it
// cannot work with these cards, and the text says why; a context without CUDA devices, or with WEIR_CONTEXT_IN_ORDER or
// check mode, which run one task at a time), OUT_OF_MEMORY.
WEIR_API weir_status weir_nccl_create_sized(weir_context *context, const weir_nccl_options *options,
                                            size_t options_size, weir_nccl **out_nccl);
static inline weir_status weir_nccl_create(weir_context *context_, const weir_nccl_options *options_,
                                           weir_nccl **out_nccl_) {
  return weir_nccl_create_sized(context_, options_, sizeof *options_, out_nccl_);
}

// Waits until its collectives are done, then frees the communicator. `nccl` may be NULL.
// Errors: INVALID_ARGUMENT (called from a task or callback: nothing is released).
WEIR_API weir_status weir_nccl_release(weir_nccl *nccl);

// Ends all collectives in flight, which fail, and refuses later ones: for a partner that is lost. Does not wait;
// kernels of NCCL on the cards end soon after. `message` is copied and cut at 119 bytes. Any thread may call it, also
// in callbacks.
WEIR_API weir_status weir_nccl_abort(weir_nccl *nccl, const char *message);

// Reads NCCL's version, such as 22703 for 2.27.3, and loads it first.
// Errors: UNAVAILABLE (no NCCL; the text has the reason).
WEIR_API weir_status weir_nccl_version(int *out_version);

// ---------------------------------------------------------------------------------------------------------------
// Communicators over processes: for libraries that know how processes talk to each other. weir/mpi.h has collectives
// over ranks of MPI, and needs none of this.
//
// One process makes an id, and all others get it. Each creates a communicator of its own devices with it, which waits
// for the others. All make the same calls in the same order, each with the buffers of its own devices. Calls are
// numbered from 1 on. That a process is ready for a collective says `ready`; all of them tell each other; and once a
// process knows that all are ready, or that one is not, it calls weir_nccl_go. No part of the collective starts before.
// A process that is ready if an earlier collective takes place counts once it is known that all were ready for that
// one.

enum { WEIR_NCCL_ID_BYTES = 128 };

// Makes an id of WEIR_NCCL_ID_BYTES bytes. Errors: UNAVAILABLE (no NCCL, or it makes none).
WEIR_API weir_status weir_nccl_make_id(void *out_id);

// Lets a collective start, or makes its tasks fail with `status` (not OK) for the reason of `message` (may be NULL,
// copied and cut at 119 bytes). Any thread may call it, also in callbacks. Errors: INVALID_ARGUMENT (a communicator of
// one process, a collective that does not wait, PENDING or TIMEOUT).
WEIR_API weir_status weir_nccl_go(weir_nccl *nccl, uint64_t collective, weir_status status, const char *message);

// ---------------------------------------------------------------------------------------------------------------
// Collectives

// Returns the bytes of an element of this type, or 0 if NCCL does not know the operation or the type.
static inline uint32_t weir_nccl_element_bytes(weir_reduce_operation operation_, weir_reduce_type type_) {
  if (operation_ != WEIR_REDUCE_SUM && operation_ != WEIR_REDUCE_PRODUCT && operation_ != WEIR_REDUCE_MIN &&
      operation_ != WEIR_REDUCE_MAX)
    return 0;
  switch (type_) {
  case WEIR_REDUCE_F32:
  case WEIR_REDUCE_I32:
  case WEIR_REDUCE_U32:
    return 4;
  case WEIR_REDUCE_F64:
  case WEIR_REDUCE_I64:
  case WEIR_REDUCE_U64:
    return 8;
  default:
    return 0;
  }
}

// Submit a collective. `buffers` has a buffer for each device, in the communicator's order, all different; the
// collective works on `bytes` bytes of each from byte `offset` on. `bytes` may be WEIR_WHOLE: to the end of the
// buffers, which are then equally long. `out_events` is NULL, or has room for an event for each device's task, which
// the caller releases. The calls wait as weir_submit does.
// - all_reduce: each buffer gets the combination of all. Access of each task: READ_WRITE.
// - reduce: the buffer of device number `root` gets it. Access: READ_WRITE there, else READ.
// - broadcast: all other buffers get the contents of that of device number `root`. Access: READ there, else WRITE.
// The result is the same on all devices, bit by bit. Sums of floating-point numbers may be added up in another order
// than another number of devices, or another version of NCCL, would.
// Errors, which submit nothing: INVALID_ARGUMENT (no bytes; lengths that differ; a buffer twice; an image; bytes that
// are no multiple of the element; an operation or type that is not known, or WEIR_REDUCE_KERNEL; no such root; called
// from a task or callback), OUT_OF_RANGE, RELEASED, UNAVAILABLE (the communicator was aborted). OUT_OF_MEMORY: tasks of
// the collective that were submitted by then fail, and their events are in `out_events`; others' are NULL.
WEIR_API weir_status weir_nccl_all_reduce(weir_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes,
                                          weir_reduce_operation operation, weir_reduce_type type,
                                          weir_event **out_events);
WEIR_API weir_status weir_nccl_reduce(weir_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes,
                                      weir_reduce_operation operation, weir_reduce_type type, uint32_t root,
                                      weir_event **out_events);
WEIR_API weir_status weir_nccl_broadcast(weir_nccl *nccl, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes,
                                         uint32_t root, weir_event **out_events);

#ifdef __cplusplus
}
#endif
#endif // WEIR_NCCL_H
