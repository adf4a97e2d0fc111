// SPDX-License-Identifier: Apache-2.0
//
// Resident issue (WEIR_ISSUE_RESIDENT), the host's side: tasks of kernels that fit are published to a kernel that stays on
// the card (protocol.h), all others go to queues, and the order between the two is kept here. docs/guide/cuda.md tells of it.
//
// A task that is handed over is deferred until it may go: one for the resident kernel until its predecessors are published or
// done, one for a queue until its predecessors are in queues or done. Held tasks wait at one predecessor at a time.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_RESIDENT_H
#define WEIR_DEVICE_CUDA_RESIDENT_RESIDENT_H

#include "device/cuda/resident/link.h"
#include "device/cuda/resident/protocol.h"

enum {
  WEIR__RESIDENT_IDLE_NS = 200000,       // so long the kernel stays with nothing to do
  WEIR__RESIDENT_MOST_NS = 50000000,     // and so long altogether: calls that wait for the whole card get their turn
  WEIR__RESIDENT_MOST_UNITS = INT32_MAX, // of a launch
  WEIR__RESIDENT_REPORTS = 64,           // at once
  WEIR__RESIDENT_MOST_WORKERS = 16,      // blocks on a multiprocessor
  WEIR__RESIDENT_MOST_LAUNCHES = 64,     // of a kernel
  WEIR__RESIDENT_QUIET_NS = 200000,      // after a kernel another one may come, to be linked together
};

enum { WEIR__RESIDENT_NONE = 0, WEIR__RESIDENT_HELD, WEIR__RESIDENT_PUBLISHED, WEIR__RESIDENT_QUEUED };

// Per slot of the window: the task there, from when it is handed over until it is reported. Lists are of slots + 1; 0 ends.
typedef struct weir__resident_slot {
  weir__id id;
  uint64_t since_ns; // with a timeline: when it went to the resident kernel or to a queue
  uint64_t start_ns; // with a timeline: when its first launch began, on the card's clock; 0: not known yet
  uint32_t number;   // of its last launch, if it is published
  uint32_t waiters;  // deferred tasks that wait at this one
  uint32_t next;     // in the list that it is in
  uint8_t state;     // WEIR__RESIDENT_*
  bool queue_only;   // it is to go to a queue, though it may fit
  bool begins;       // a copy or fill that may go into the ring though it comes after nothing there
} weir__resident_slot;

typedef struct weir__resident_list {
  uint32_t first, last;
} weir__resident_list;

// Per slot of the ring. A task of a kernel with several launches takes several.
typedef struct weir__resident_flight {
  weir__task *task; // whose last launch it is; NULL: it is another, or only joins others
  weir__id first;   // the task whose first launch it is; 0: of none
  uint32_t number;
  uint32_t first_number; // of the task's first launch
  bool used;
} weir__resident_flight;

enum { WEIR__RESIDENT_UNLINKED = 0, WEIR__RESIDENT_LINKED, WEIR__RESIDENT_REFUSED };

struct weir__resident {
  weir__cuda_device *device;
  // Kernels that fit, as they are made; never taken out. The lock guards them, and `state`s against other threads.
  weir__lock lock;
  weir__resident_part **parts;
  uint8_t *states;
  uint32_t part_count, part_capacity;
  uint64_t added_ns;                 // when the last one came
  char refused[WEIR__MESSAGE_BYTES]; // why some were refused
  // Of the device's thread alone.
  weir__resident_module module;
  uint64_t *functions; // per part: 0: it was refused
  uint32_t linked;     // parts that were looked at; those behind are new
  uint32_t ahead;      // so many were to be linked ahead of need
  weir__resident_slot *slots;
  weir__resident_list again; // deferred tasks to be looked at again
  weir__resident_list full;  // deferred tasks for which the ring has no room, oldest first
  bool stuck;                // there was none when it was last looked for
  uint32_t deferred, in_flight;
  bool given_up; // the kernel cannot be launched: all go to queues; written under the lock
  // The ring.
  weir__r_host *host;
  CUdeviceptr card;
  CUstream stream;
  uint32_t written, published; // numbers: the last task in the ring, and the last one that the card was told of
  uint32_t reported;           // how many were, modulo 2^32, counted from the first number
  weir__resident_flight flight[WEIR__R_SLOTS];
  // The kernel on the card.
  bool running;  // a launch that is not known to have left
  bool launched; // the stream was not waited for since a launch
  uint32_t epoch, quiet;
  uint64_t idle_ns, most_ns;
  uint32_t processors, most_workers; // multiprocessors, and blocks on each
  // Times.
  bool timed, clock_known;
  uint64_t card_ns, host_ns; // the same moment on both clocks; the host's is a little early
  uint64_t unknown_ns;       // tasks that went to the card until then have no times by the card's clock
};

static inline weir__resident_slot *weir__resident_slot_of(const weir__cuda_device *device, weir__id id) {
  return &device->resident->slots[id & device->base.operations.mask];
}

// Work-groups of a launch.
static inline const uint32_t *weir__resident_groups(const weir__task *task, const weir__cuda_launch *launch) {
  return launch->grid[0] == 0 ? task->groups : launch->grid;
}

// How many words of weir__r_task.args a value takes.
static inline uint64_t weir__resident_words(uint64_t bytes) {
  return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

// ---------------------------------------------------------------------------------------------------------------
// host.c: made with the device if its context wants it (or later: automatic.h); destroyed when its thread has ended.
weir_status weir__resident_create(weir__cuda_device *device);
void weir__resident_destroy(weir__cuda_device *device);
// One that the device does not have yet. Any thread.
weir_status weir__resident_make(weir__cuda_device *device, weir__resident **out_resident);
weir_status weir__resident_processors(const weir__cuda_device *device, uint32_t *out_count);
// Blocks on a multiprocessor, at most: WEIR__RESIDENT_MOST_WORKERS, or what the environment variable WEIR_RESIDENT_WORKERS says.
uint32_t weir__resident_most_workers(void);

// What the device's thread calls, in this order again and again: a task is handed over; what is done is reported; what may go
// now goes, and the card is told. The last two return whether there was anything. `may_be_resident`: else it goes to a queue.
// `_take_first`: a copy or fill that tasks of the ring are likely to follow.
void weir__resident_take(weir__cuda_device *device, weir__task *task, bool may_be_resident);
void weir__resident_take_first(weir__cuda_device *device, weir__task *task);
bool weir__resident_go_on(weir__cuda_device *device);
bool weir__resident_is_busy(const weir__cuda_device *device);
// Waits until it is not.
void weir__resident_drain(weir__cuda_device *device);

// ---------------------------------------------------------------------------------------------------------------
// report.c
bool weir__resident_poll(weir__cuda_device *device);
// Reports what the card has done, at most WEIR__RESIDENT_REPORTS tasks.
void weir__resident_report(weir__cuda_device *device);
// The device is lost: what is published fails. Returns whether there was anything.
bool weir__resident_fail_all(weir__cuda_device *device);

// ---------------------------------------------------------------------------------------------------------------
// order.c: decides where a deferred task goes, and lets it go if it may; else it waits at a predecessor. False: it may go, but the
// ring has no room for it.
bool weir__resident_examine(weir__cuda_device *device, weir__task *task);
// Whether the task can go into the ring, as long as the resident kernel can be launched and has its code. Adds its work-groups to
// those of others.
bool weir__resident_fits(const weir__cuda_device *device, const weir__task *task, uint64_t *groups);

// ---------------------------------------------------------------------------------------------------------------
// lists.c

// Whether one of these tasks was handed over and is neither in a queue nor done.
bool weir__resident_has_any(const weir__cuda_device *device, const weir__id *tasks, uint32_t count);
void weir__resident_append(weir__cuda_device *device, weir__resident_list *list, uint32_t slot);
// Those who wait at a task look again: it has gone, or is done.
void weir__resident_wake_waiters(weir__cuda_device *device, weir__resident_slot *slot);
// A task of a queue was reported.
void weir__resident_ended(weir__cuda_device *device, weir__id id);

// ---------------------------------------------------------------------------------------------------------------
// ring.c: tasks in the ring.
weir_status weir__resident_ring_create(weir__resident *resident);
void weir__resident_ring_destroy(weir__resident *resident);
// Writes a task behind those in the ring, with its edges to published ones; its functions are linked. False: there is no room.
bool weir__resident_write(weir__cuda_device *device, weir__task *task);
void weir__resident_publish(weir__resident *resident);
bool weir__resident_has_report(const weir__resident *resident);
// Takes numbers of tasks that the card has reported; at most WEIR__RESIDENT_REPORTS. Returns how many.
uint32_t weir__resident_fetch(weir__resident *resident, uint32_t numbers[WEIR__RESIDENT_REPORTS]);

// ---------------------------------------------------------------------------------------------------------------
// moves.c: whether the ring takes a copy or fill, and how it is written there.
bool weir__resident_takes_move(const weir__cuda_device *device, const weir__move *move);
void weir__resident_write_move(weir__r_task *entry, const weir__move *move);

// ---------------------------------------------------------------------------------------------------------------
// parts.c: the kernel's code.

// Adds a kernel of one launch, if it fits: `*out_part` is its number + 1, or 0, and `reason` says why. Any thread.
weir_status weir__resident_add(weir__cuda_device *device, const char *kernel, const weir_cuda_code *code,
                               const weir_cuda_launch *launch, uint32_t *out_part, char *reason, size_t reason_bytes);
// Address of a part's function; 0: it was refused. Links what is new, which takes long, and waits for all that is published.
// With `automatic` nothing is linked here.
uint64_t weir__resident_function(weir__cuda_device *device, uint32_t part);
// There is nothing to do: links what is new, unless more may come. Returns whether it should be called again soon.
bool weir__resident_link_ahead(weir__cuda_device *device);
// Takes over a module, and the functions of the first `count` parts, from who linked it. The kernel is not on the card.
void weir__resident_exchange(weir__cuda_device *device, const weir__resident_module *module, uint64_t *functions,
                             uint32_t count);

// ---------------------------------------------------------------------------------------------------------------
// launch.c: launches of the kernel.

// Blocks of a launch: the scheduler's, and those of as many workers as are wanted, at least one, if so many fit.
static inline uint32_t weir__resident_blocks(const weir__resident *resident) {
  uint32_t fit = resident->processors * resident->module.blocks_per_sm;
  uint32_t wanted = resident->processors * resident->most_workers + 1, blocks = fit < wanted ? fit : wanted;
  return blocks < 2 ? 2 : blocks;
}

// Launches the kernel if there is something for it to do and it is not on the card.
void weir__resident_ensure_running(weir__cuda_device *device);

// ---------------------------------------------------------------------------------------------------------------
// presence.c: the kernel that was launched.

// Whether the last launch has left; notices, now and then, whether it has failed.
void weir__resident_watch(weir__cuda_device *device);
// Lets the kernel leave as soon as nothing is in flight, though more may come soon. A task of a queue needs that if it needs
// multiprocessors.
void weir__resident_make_room(weir__resident *resident);
static inline bool weir__resident_is_in_the_way(const weir__task *task) {
  return task->kernel != NULL || task->run != NULL || (task->move != NULL && task->move->fill);
}
// The thread ends, or the kernel's code changes: the kernel leaves.
void weir__resident_stop(weir__cuda_device *device);
// Relates the card's clock to the host's, which waits for an answer of the kernel.
void weir__resident_set_clock(weir__cuda_device *device);

// Whether the caller has given up what the resident kernel runs (weir_cuda_abort). Any thread.
static inline bool weir__resident_is_aborted(const weir__resident *resident) {
  return weir__r_host_load_acquire(&resident->host->abort) != 0;
}

// times.c: when a published task ran.
void weir__resident_note_start(weir__cuda_device *device, const weir__resident_flight *flight); // of a first launch
void weir__resident_time(weir__cuda_device *device, const weir__resident_flight *flight, weir__completion *completion);

#endif // WEIR_DEVICE_CUDA_RESIDENT_RESIDENT_H
