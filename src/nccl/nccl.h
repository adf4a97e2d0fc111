// SPDX-License-Identifier: Apache-2.0
//
// Communicators and collectives from inside.
//
// DESIGN. A kernel of NCCL stays on its card until those of its partners have come. So two things must never happen:
// that a task of a collective is put on a card while a partner still waits for something that may end up behind it, in
// the same stream or in the same queue of the hardware; and that two collectives start in different orders on two
// cards.
//
// A collective is two tasks for each device, on the same bytes. The first one, *ready*, puts nothing on its queue: when
// it is done, all that its device's part has to wait for is done. The second one, the *part*, calls NCCL. All parts
// wait for one external event, *go*, which ends when all ready tasks are done and all parts are in the window. Tasks of
// other threads do not come in between: the window is closed from the first ready task to the last part. So the
// only work that a part can still stand behind, or keep from running, is work that no part of this collective or of an
// earlier one waits for. Go takes the host, once for each collective; parts of one device follow each other on the
// card. Where nothing has used any of the buffers since one earlier collective updated them all, there are no ready
// tasks, since the new parts wait for its parts alone, which start together or not at all. Over processes go is given by
// the caller, who knows when all are ready. They do not know each other's buffers, so that a process without ready tasks
// tells which collective its parts follow: it counts as ready once all were ready for that one, and if that one does not
// take place, the new one does not either.
//
// Both kinds of tasks have queues of their own on each card (weir__enqueue.apart), so that they do not stand behind
// long kernels that they have nothing to do with.
//
// The order is that of submission on each device: the parts there overwrite the same bytes of a small buffer, the
// device's *token*. Tokens belong to the context, and so does the lock that is held while a collective is submitted,
// since two communicators with devices in common could block each other just as well. The order is by overwriting a
// part of a buffer, which neither renames it nor passes a failure on.
//
// A part that fails, or never starts, leaves its partners on their cards. Whoever learns of it first notes it in the
// collective; parts that have not called NCCL yet then do not. If one has, the communicator's own thread, the
// *watcher*, aborts the communicator, so that the kernels end. What they leave is no result: a part's verdict
// (device/enqueue.h) says so when its work has ended, and what was put behind it on the card meanwhile is marked before
// the abort (behind.c).
//
// Locks, in this order: the context's order of collectives; the context's lock; the communicator's.
#ifndef WEIR_NCCL_NCCL_H
#define WEIR_NCCL_NCCL_H

#include <pthread.h>

#include "engine/context.h"
#include "nccl/library.h"
#include "weir/nccl.h"

struct weir__external;

// The last part on a device, and what it updated.
typedef struct weir__nccl_last {
  uint64_t number;           // of its collective, among those of all communicators
  const weir_nccl *nccl;     // the communicator
  uint64_t collective;       // and the number there
  const weir_buffer *buffer; // NULL: none, or it only read
  uint64_t id, lo, hi;
  weir__id task;
} weir__nccl_last;

// The order of a context's collectives, shared by its communicators.
typedef struct weir__nccl_order {
  struct weir__nccl_order *next;
  weir_context *context;
  uint32_t references;  // guarded by a lock of all orders
  pthread_mutex_t lock; // held while a collective is submitted
  // By index of the device; guarded by the lock, as `numbered`; `last` by the lock of the context, too.
  weir_buffer *tokens[WEIR__MAX_DEVICES]; // NULL: not made yet
  weir__nccl_last last[WEIR__MAX_DEVICES];
  uint64_t numbered; // collectives of all communicators
} weir__nccl_order;

// Takes a reference; the first one makes the order. NULL: no memory.
weir__nccl_order *weir__nccl_order_take(weir_context *context);
void weir__nccl_order_drop(weir__nccl_order *order);
// The token of a device of the context. The order's lock is held. NULL: no memory.
weir_buffer *weir__nccl_order_token(weir__nccl_order *order, const weir_device *device);

typedef enum weir__nccl_kind { WEIR__NCCL_ALL_REDUCE, WEIR__NCCL_REDUCE, WEIR__NCCL_BROADCAST } weir__nccl_kind;

struct weir__collective;

// What one device does in a collective.
typedef struct weir__nccl_part {
  struct weir__collective *collective;
  uint32_t member;
  weir_event *ready; // of the ready task, until it is done; guarded by the context's lock, as the next
  weir__id task;     // of the part; 0: it was not submitted
  bool missing;      // it could not be submitted, though its ready task was
} weir__nccl_part;

typedef struct weir__collective {
  struct weir__collective *next, **link; // of the communicator's; guarded by its lock
  weir_nccl *nccl;
  weir__nccl_kind kind;
  int type, operation;
  uint32_t root;
  uint64_t count;   // of elements
  uint64_t number;  // 1, 2, ...
  uint64_t follows; // over processes: the collective whose parts are all that this one's wait for here; 0: none
  // Guarded by the context's lock.
  struct weir__external *go;    // NULL: it has ended
  struct weir__external *ready; // of a communicator over processes: ends when this one is ready; its callback tells
  uint32_t awaited;             // before this process is ready: ready tasks that are not done, and the submission
  uint32_t left;                // tasks that are not done, the submission, and go, if others give it: then it is freed
  uint32_t reserved;            // slots of the window for tasks that are still to be submitted
  // Guarded by the communicator's lock; once `failed` is set, it and the two after it stay as they are.
  uint32_t called; // parts that called NCCL
  bool started;    // others let it go: their parts may have called NCCL
  _Atomic bool failed;
  weir_status status;
  char text[WEIR__MESSAGE_BYTES];
  weir__nccl_part parts[];
} weir__collective;

typedef struct weir__nccl_member {
  weir_device *device;
  ncclComm_t comm;
  bool calling; // a part calls NCCL right now; guarded by the communicator's lock
} weir__nccl_member;

struct weir_nccl {
  weir__closer closer; // among those of the context, under its lock
  weir_context *context;
  const weir__nccl_library *library;
  weir__nccl_order *order;
  weir_kernel *ready, *part;
  uint32_t first;         // number of the first member among the devices of all processes
  uint32_t total;         // of these devices
  weir_nccl_options over; // `ready` NULL: there is one process
  uint64_t numbered;      // collectives; guarded by the order's lock
  weir__id last;          // task of a collective, + 1; guarded by the context's lock
  pthread_t watcher;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  // Guarded by the lock.
  weir__collective *in_flight;
  bool ends;        // the watcher is to end
  bool aborts;      // it is to abort: nothing calls NCCL any more
  char reason[160]; // why
  uint32_t count;
  weir__nccl_member members[WEIR__MAX_DEVICES];
};

// "all-reduce"
const char *weir__nccl_name(weir__nccl_kind kind);

// Code of the two kernels (part.c).
weir_status weir__nccl_make_kernels(weir_nccl *nccl);

// What NCCL says of a result, which this thread just got.
const char *weir__nccl_text(const weir__nccl_library *library, int result, char *text, size_t size);

// Go, unless it was given. The context's lock is held; the collective may be gone afterwards.
void weir__nccl_go(weir__collective *collective);

// The collective does not take place: parts that have not called NCCL do not. If some have, the communicator is
// aborted. The first reason counts. The context's lock may be held, the communicator's is not.
void weir__nccl_fail(weir__collective *collective, weir_status status, const char *text);

// Other processes let it go.
void weir__nccl_start(weir__collective *collective);

// Aborts the communicator, unless it was.
void weir__nccl_abort(weir_nccl *nccl, const char *why);

// A collective is in flight, and is not any more.
void weir__nccl_enter(weir__collective *collective);
void weir__nccl_leave(weir__collective *collective);

// Parts that are on a card leave no result: what comes behind them there, and may be in queues already, must not end
// well, even if its end is noticed before theirs. Called before they end; takes the context's lock.
void weir__nccl_fail_behind(weir_nccl *nccl);

// The watcher (watch.c).
weir_status weir__nccl_watch(weir_nccl *nccl);
// Its tasks are done: waits until nothing uses its collectives any more.
void weir__nccl_await_callbacks(weir_nccl *nccl);
void weir__nccl_watch_end(weir_nccl *nccl);

// Makes NCCL's communicators of a communicator over processes: one for each device. Returns a ncclResult_t; if it is not
// SUCCESS, `out_text` of WEIR__NCCL_TEXT bytes says why.
enum { WEIR__NCCL_TEXT = 256 };
int weir__nccl_join(const weir_nccl *nccl, ncclComm_t *out_comms, char *out_text);

#endif // WEIR_NCCL_NCCL_H
