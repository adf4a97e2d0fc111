// SPDX-License-Identifier: Apache-2.0
//
// A split and its launches from inside.
//
// A launch is a task of the context's device of splits (device.c), with all that the kernel reads and writes as its accesses, in
// the host's memory. So it is in order with everything else, and what follows it waits for it. When it may start, that device
// runs nothing: the launch hands its parts to the devices as ordinary tasks, whose buffers are wrapped around the bytes of the
// launch's. They need no order with other tasks, and devices with memory of their own move their bytes there and back. So
// whatever happens to a device, all that was done is in the host's memory, and a part can be given to another.
//
// All of this happens in callbacks, of which the context calls one at a time; so a launch needs no lock. What launches of a split
// share is guarded by its lock. Slots of the window for the parts are reserved before the launch enters, because they come
// after tasks that wait for the launch.
//
// Where contents are resident (resident.c) it is the other way round: the parts are known when the launch is submitted, and are
// ordinary tasks on the caller's buffers. They enter while the window is closed to others, and behind them the launch itself, a
// task without accesses. It comes after the parts, and what it then does is to note what they did.
#ifndef WEIR_SPLIT_SPLIT_H
#define WEIR_SPLIT_SPLIT_H

#include "base/lock.h"
#include "engine/context.h"
#include "engine/submission.h"
#include "split/mapping.h"
#include "split/table.h"
#include "weir/split.h"

enum { WEIR__SPLIT_DEPTH = 2 }; // parts that a device has at a time: the next one's bytes move while one is computed

struct weir_split {
  weir_context *context;
  struct weir_split *next; // of the context's
  weir__lock lock;
  uint32_t references; // the caller's, and one for each launch
  bool resident;
  uint32_t device_count;
  weir_device *devices[WEIR_SPLIT_MOST_DEVICES];
  uint64_t ids[WEIR_SPLIT_MOST_DEVICES]; // of devices, in files
  double shares[WEIR_SPLIT_MOST_DEVICES];
  uint32_t granularities[WEIR_SPLIT_MOST_DEVICES];
  bool lost[WEIR_SPLIT_MOST_DEVICES];
  uint64_t pending[WEIR_SPLIT_MOST_DEVICES]; // work-groups that devices have and have not finished
  weir_split_policy policy;
  char policy_name[24];
  uint32_t rounds, least;
  double floor, overhead;
  uint64_t launches;
  uint64_t cost_ns; // of handing out a part
  weir__split_table table;
  char *path; // NULL: none
  bool has_last;
  weir_split_round last;
  char warning[256];
};

// Bytes of a buffer, for messages.
typedef struct weir__split_bytes {
  uint32_t arg;
  uint64_t buffer, lo, hi; // its number; hi 0: none
} weir__split_bytes;

typedef struct weir__split_part {
  struct weir__split_run *run;
  uint32_t device;
  bool used;
  uint64_t first, count; // units
  uint64_t submit_ns;    // device time
  weir_event *event;
  weir_buffer **buffers; // by argument; NULL: none of its own
  // Of a resident launch:
  weir_event *moves;             // has the times of transfers for it; NULL: none
  uint32_t tried;                // bit per device that failed with it
  weir__split_bytes wrote, only; // of one that failed: that it should have written; that were in its memory only
} weir__split_part;

typedef struct weir__split_free {
  uint64_t first, count; // units that no device has
} weir__split_free;

typedef struct weir__split_run {
  weir_split *split;
  weir__task *task; // of the launch, once it is issued
  weir_event *start;
  weir_split_launch launch; // its args are `args`
  weir_split_arg *args;
  weir_arg *part_args; // scratch, by argument, for the part that is handed out
  weir_split_part *descriptions;
  uint64_t *bytes;      // by argument: of its range
  weir_buffer **wholes; // by argument: wrapped around all of it, for all parts; NULL: none
  char label[WEIR__LABEL_BYTES];
  char what[96]; // for messages
  weir__split_cut cut;
  bool one_part; // the policy gives a device one part
  bool updates;  // some argument is READ_WRITE
  uint64_t key;
  weir_split_view view;
  weir_split_state states[WEIR_SPLIT_MOST_DEVICES];
  weir_split_way ways[WEIR_SPLIT_MOST_WAYS];
  uint64_t start_device_ns;                     // in the time of the first device
  uint64_t busy_until[WEIR_SPLIT_MOST_DEVICES]; // device time
  weir__split_part parts[WEIR_SPLIT_MOST_DEVICES][WEIR__SPLIT_DEPTH];
  weir__split_part *planned;                // of a resident launch, `handed` of them in order
  weir__access *accesses;                   // the same: scratch, by argument
  uint32_t in_flight, handed, most, margin; // parts: now, so far, at most, of these for devices that fail
  uint32_t depth;                           // parts that a device has at a time
  uint32_t slots;                           // of the window for a part, at most
  uint64_t reserved;                        // slots of the window, still
  uint64_t own;           // of these, while a resident launch has closed the window: those that its parts may take
  weir__split_free *free; // the first is taken from; `most` + 1 of them
  uint32_t free_count;
  bool failed, finished;
  weir_status status;
  char message[WEIR__MESSAGE_BYTES]; // of the failure; or which devices failed
  uint64_t start_ns, start_clock_ns;
  weir_split_round round;
} weir__split_run;

// The device of splits of a context, made when it is first asked for.
weir_status weir__split_device(weir_context *context, weir_device **out_device);
void weir__split_device_add(weir_device *device, weir_split *split);
void weir__split_device_remove(weir_device *device, weir_split *split);

// Drops a reference; frees the split with the last.
void weir__split_drop(weir_split *split);

// Called once for every launch, as a callback, when all that it waits for is done.
void weir__split_start(void *run, weir_status status);

// Hands out parts, and ends the launch if all is done.
void weir__split_pump(weir__split_run *run);

// Hands `units` units to a device. False: it did not get them; unless its `out` is set by then, it may later.
bool weir__split_hand_out(weir__split_run *run, uint32_t device, uint64_t units);

// Parts of handing out, for resident launches too: how many units the next part of a device has, and that it has them; what the
// kernel is told; and that a device's load changes.
uint64_t weir__split_part_units(const weir__split_run *run, uint32_t device, uint64_t units);
void weir__split_take_free(weir__split_run *run, uint64_t units);
weir_split_part weir__split_describe_part(const weir__split_run *run, const weir__split_part *part, uint32_t number,
                                          uint32_t halo_of, weir__split_groups groups);
void weir__split_note_load(weir__split_run *run, const weir__split_part *part, bool given);

// What the policy sees, and what it is asked until nothing is left.
void weir__split_fill_view(weir__split_run *run);
void weir__split_ask(weir__split_run *run);

// The launch's task; `args` has room for its arguments.
weir_task weir__split_task(const weir_split_launch *launch, weir_arg *args, weir_device *device, void *user);

// The launch counts: it has a number, and a reference of the split.
void weir__split_count_launch(weir__split_run *run);

// Waits for room in the window, and reserves it. The context's lock is held before and after.
weir_status weir__split_reserve(weir_context *context, const weir__submission *submission, uint32_t slots);
uint32_t weir__split_most_reserved(const weir_context *context);

// A resident launch, from its submission to its end. `args` has room for its arguments.
weir_status weir__split_submit_resident(weir__split_run *run, const weir_split_launch *launch, weir_device *device,
                                        weir_arg *args, weir_event **out_event);
bool weir__split_again(void *part, weir__task *task, const weir__completion *completion);
void weir__split_end(void *run, weir_status status);

// Notes that a device failed in the launch, or that the whole launch did.
void weir__split_device_fails(weir__split_run *run, uint32_t device, weir_status status, const char *message);
void weir__split_fails(weir__split_run *run, weir_status status, const char *message);

// The launch is over: measurements are kept, its task is done.
void weir__split_finish(weir__split_run *run);
void weir__split_free_run(weir__split_run *run);

#endif // WEIR_SPLIT_SPLIT_H
