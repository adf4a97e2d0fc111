// SPDX-License-Identifier: Apache-2.0
//
// One launch over several devices: a kernel's work-groups are cut along one dimension, and each device of a list runs some of
// them, whatever its kind. docs/guide/splitting.md says which policy to take when.
//
// A launch counts as one task: it is in order with all else that is submitted, has one event, and leaves what the kernel
// would leave if one device ran it alone. It is cut into parts, each of which runs as a task of the same kernel with fewer
// work-groups in the cut dimension and with arguments that are narrowed to the bytes of these work-groups; in weir_work, and
// in what a kernel of another language asks for its work-groups, a part starts at 0. A value argument of mapping PART tells the
// kernel where in the launch its part is.
//
// Devices with memory of their own get what their parts read and give back what they write. Between launches the contents of
// the arguments are in the host's memory; or, with weir_split_options.resident, where the parts left them.
//
// A device that fails: what it had is given to the others, and it gets no more of this launch; a device that is lost gets nothing
// any more. The launch is OK if the others could do it, and weir_event_message says which device failed, and how. A part that
// updates (WEIR_READ_WRITE) in place cannot be run again: then the launch fails.
//
// Resident contents. The policy gives all parts when a launch is submitted, and each is an ordinary task on its bytes of the
// caller's buffers, in order with all other tasks by these bytes. Only bytes move that a device lacks: in a chain of launches with
// the same shares, halos. What follows a part need not wait for the whole launch. To all other tasks, also other threads', the
// launch is still one: none comes between its parts. It differs where something fails: only parts whose input is
// poisoned are skipped, and what the other parts wrote is there. A part that fails goes to another device of the split if both
// work in the same memory, it updates nothing in place, and its device takes tasks only when they can start (CPUs). Else the
// launch fails, and the message says which bytes were not written, and which only the lost device had. A part that its device has
// no memory for is given to another when it is submitted; if none takes it, the launch is refused, or, if other parts are on their
// way, fails, and what no part writes is poisoned (perhaps with bytes beside it in the same buffer).
#ifndef WEIR_SPLIT_H
#define WEIR_SPLIT_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------------------------
// Arguments

// What a kernel gets for an argument of mapping PART: eight 32-bit numbers, in this order, also on devices.
typedef struct weir_split_part {
  uint32_t first, count; // work-groups of the part, along the cut dimension: [first, first + count) of
  uint32_t total;        // this many
  uint32_t
      halo_before; // work-groups before the part, and after it, whose bytes the argument of weir_split_arg.halo_of has:
  uint32_t halo_after; // what was asked for, less what is beyond the edges
  uint32_t dimension;  // that is cut: 0, 1 or 2
  uint32_t device;     // index in the split's list
  uint32_t piece;      // number of the part in the launch, from 0
} weir_split_part;

// Which bytes of an argument's range a part gets.
typedef enum weir_split_mapping {
  WEIR_SPLIT_WHOLE = 0, // all; also for values. Only for what the kernel reads
  WEIR_SPLIT_BLOCK =
      1, // `group_bytes` for each of its work-groups along the cut dimension, and a halo; the last block of the
         // range may be shorter
  WEIR_SPLIT_FUNCTION = 2, // what a function says
  WEIR_SPLIT_PART = 3,     // a value that Weir fills: weir_split_part
} weir_split_mapping;

// The bytes of the work-groups [first, first + count) along the cut dimension, counted from the first byte of the argument's
// range. Pure; called any number of times, on any thread, until the launch is done. Must not call Weir.
typedef void (*weir_split_function)(void *user, uint32_t first, uint32_t count, uint64_t *out_offset,
                                    uint64_t *out_bytes);

// An argument. Where parts write, the ranges of the parts must not overlap and must leave no gap in the argument's range.
typedef struct weir_split_arg {
  weir_arg arg; // of the whole launch, as for weir_submit; not used for PART
  weir_split_mapping mapping;
  uint64_t group_bytes;             // BLOCK
  uint32_t halo_before, halo_after; // BLOCK that is read: in work-groups
  weir_split_function function;     // FUNCTION
  void *function_user;
  uint32_t halo_of;     // PART: index of the argument whose halo it tells; if that is no BLOCK, 0 and 0
  uint64_t reserved[2]; // 0
} weir_split_arg;

// Arguments in short, from weir_reads, weir_writes_range and so on.
WEIR_API weir_split_arg weir_split_whole(weir_arg arg);
WEIR_API weir_split_arg weir_split_block(weir_arg arg, uint64_t group_bytes);
WEIR_API weir_split_arg weir_split_halo(weir_arg arg, uint64_t group_bytes, uint32_t before, uint32_t after);
WEIR_API weir_split_arg weir_split_by(weir_arg arg, weir_split_function function, void *user);
WEIR_API weir_split_arg weir_split_part_of(uint32_t halo_of);

// ---------------------------------------------------------------------------------------------------------------
// Policies
//
// A policy says how many units a device gets next. A unit is the smallest part that can be cut: weir_split_launch.granularity
// work-groups. It sees what was measured, and has no clock and no state of its own, so that it can be tested with made-up times.

enum {
  WEIR_SPLIT_MOST_DEVICES = 16,
  WEIR_SPLIT_MOST_ROUNDS = 32,
  WEIR_SPLIT_MOST_WAYS = 4 + WEIR_SPLIT_MOST_DEVICES,
  WEIR_SPLIT_WAY_TIMES = 3
};

// What a device did in one launch.
typedef struct weir_split_measure {
  uint64_t units; // that it finished; 0: it had no part in the launch
  uint64_t ns;    // that it was busy with them, transfers included where it has memory of its own
} weir_split_measure;

// A device as a policy sees it.
typedef struct weir_split_state {
  double share;           // weir_split_options.shares; 0 for all: none were given
  bool out;               // lost, or failed in this launch: it gets nothing more
  bool far;               // has memory of its own: bytes of a piece are moved while the one before is computed
  uint32_t grain;         // units: its pieces are multiples of this, but for the last of a launch
  uint32_t in_flight;     // pieces of this launch that it has and that are not done
  uint64_t given;         // units of this launch that it got so far
  uint64_t done, done_ns; // units of this launch that it finished, and how long it was busy
  uint64_t running_ns;    // how long it has been busy with what it has and has not finished, by its clock
  uint64_t backlog;       // units of earlier launches of the split that it has not finished
  uint32_t round_count;   // launches with the same key that were measured, at most WEIR_SPLIT_MOST_ROUNDS,
  weir_split_measure rounds[WEIR_SPLIT_MOST_ROUNDS]; // newest first
  weir_split_measure first;                          // the first that was measured ever
  uint64_t reserved[2];                              // 0
} weir_split_state;

// What launches with the same key took that a policy cut in one of its ways.
typedef struct weir_split_way {
  uint32_t count; // of times, at most WEIR_SPLIT_WAY_TIMES
  uint64_t last;  // number of the newest launch
  double
      ns[WEIR_SPLIT_WAY_TIMES]; // of a unit, newest first: from the start of the launch, when all that it waits for is
                                // done, to its end, in the time of the split's first device (weir_device_time)
} weir_split_way;

// A launch as a policy sees it.
typedef struct weir_split_view {
  uint64_t launch;  // number of the launch in its split, from 0
  uint64_t total;   // units of the launch
  uint64_t left;    // that no device has got yet; at least 1
  uint64_t least;   // units: the least piece worth giving (weir_split_options.least)
  uint32_t rounds;  // K: how many of the last launches count
  double floor;     // the least share of a device
  uint64_t cost_ns; // what a piece costs besides its work, as far as is known
  double overhead;  // the part of the time that may go into such costs
  bool ahead;       // all parts are given before any starts (weir_split_options.resident)
  uint32_t device_count;
  const weir_split_state *devices;
  uint32_t way;               // what the policy's function `way` said of this launch
  const weir_split_way *ways; // WEIR_SPLIT_MOST_WAYS; NULL: nothing was measured
} weir_split_view;

// A policy. The struct is copied. Functions are called by any thread, one at a time for each launch; they must not call Weir.
typedef struct weir_split_policy {
  const char *name; // at most 23 bytes
  // How many units device number `device` gets now: 0 (ask again when a piece of the launch is done) to view->left, which more
  // is cut to. Is rounded to the device's grain. Asked for every device that has fewer than two pieces. If no device has a piece
  // and none gets one, what is left goes to the devices in equal parts; where all parts are given `ahead`, if none gets one.
  uint64_t (*next)(void *user, const weir_split_view *view, uint32_t device);
  // May be NULL. Of the ways that the policy has to cut a launch, the number of the one for this launch, below
  // WEIR_SPLIT_MOST_WAYS, so that it sees in view->ways how each has done; called once, at the start.
  uint32_t (*way)(void *user, const weir_split_view *view);
  // May be NULL. Says in a few words why the launch is cut as it is; called once, at its start.
  void (*why)(void *user, const weir_split_view *view, char *out_text, size_t size);
  void *user;
  uint64_t reserved[2]; // 0
} weir_split_policy;

// The policies that there are, by name; NULL: none of this name.
// - "static"   shares as given, or in the ratio of the speeds first measured;
// - "history"  one part for each device, in the ratio of its speed in the last K launches of the same kernel and size;
// - "queue"    pieces of one size, taken by whoever is free;
// - "guided"   pieces that shrink towards the end, in the ratio of the measured speeds;
// - "frames"   a whole launch for one device, the one that should finish it first;
// - "auto"     history, guided or frames, by what was measured; weir_split_round.why says which and why.
WEIR_API const weir_split_policy *weir_split_find_policy(const char *name);

// ---------------------------------------------------------------------------------------------------------------
// Splits

// A split. Only functions look into it.
typedef struct weir_split weir_split;

// Options. Zero in a field means its default.
typedef struct weir_split_options {
  weir_device *const *devices; // up to WEIR_SPLIT_MOST_DEVICES, each once; NULL: all of the context
  uint32_t device_count;
  const char *policy;              // by name; NULL: "auto", or
  const weir_split_policy *custom; // a policy of the caller's
  const double *shares;            // one a device, not negative, of any sum above 0; NULL: none given
  const uint32_t *granularities;   // one a device: work-groups, of which its pieces are multiples; NULL, 0: 1
  uint32_t rounds;                 // K, 1 to WEIR_SPLIT_MOST_ROUNDS; default 10
  double floor;                    // least share of a device, so that it is measured again; default 0.005
  double overhead;                 // part of the time that handing out pieces may cost; default 0.02
  uint32_t least;                  // work-groups: the least piece of "queue" and "guided"; default 1
  bool
      resident; // contents stay where parts leave them, and only bytes that are missing move; see above. Not with "queue"
                // and "guided", which hand out pieces while a launch runs
  const char
      *history; // file with what was measured, read now if it exists and written by weir_split_save and on release.
                // One that cannot be read or is damaged is ignored, with a warning in weir_split_warning
} weir_split_options;

// Creates a split. `options` may be NULL.
// Errors: INVALID_ARGUMENT (a device of another context or named twice, no such policy, a number out of its range),
// OUT_OF_MEMORY, UNAVAILABLE (the context has too many devices already: 16 with one that splits need).
WEIR_API weir_status weir_split_create_sized(weir_context *context, const weir_split_options *options,
                                             size_t options_size, weir_split **out_split);
static inline weir_status weir_split_create(weir_context *context_, const weir_split_options *options_,
                                            weir_split **out_split_) {
  return weir_split_create_sized(context_, options_, sizeof *options_, out_split_);
}

// Releases a split, at any time: launches in flight finish. Saves its history, if it has a file. NULL is allowed.
WEIR_API weir_status weir_split_release(weir_split *split);

// One launch. Zero in a field means its default. Nothing that it points to is needed after submission, except `user` and the
// users of functions.
typedef struct weir_split_launch {
  weir_kernel *kernel; // has code for every device of the split
  void *user;          // passed on in weir_work
  const weir_split_arg *args;
  uint32_t arg_count;
  uint32_t groups[3];       // work-groups of the whole launch in x, y, z; 0 counts as 1
  uint32_t dimension;       // that is cut: 0, 1 or 2
  uint32_t granularity;     // parts are cut at multiples of this many work-groups; 0 counts as 1
  weir_event *const *after; // as for weir_submit
  uint32_t after_count;
  int32_t priority;
  const char *label;
  uint64_t tag;
} weir_split_launch;

// Submits a launch. Does not wait for kernels, but as weir_submit does for a full window, in which it keeps room for its parts.
// `out_event` may be NULL. In a context that is IN_ORDER the launch is one part, on the first device.
// Refused, with nothing changed: as weir_submit; INVALID_ARGUMENT (parts that overlap or leave gaps where they write, with the
// ranges; a dimension that there is not), NO_CODE (with the device), DEVICE_LOST (no device of the split is left).
WEIR_API weir_status weir_split_submit_sized(weir_split *split, const weir_split_launch *launch, size_t launch_size,
                                             weir_event **out_event);
static inline weir_status weir_split_submit(weir_split *split_, const weir_split_launch *launch_,
                                            weir_event **out_event_) {
  return weir_split_submit_sized(split_, launch_, sizeof *launch_, out_event_);
}

// ---------------------------------------------------------------------------------------------------------------
// What happened

// A device's part in a launch.
typedef struct weir_split_device_round {
  weir_device *device;
  uint32_t pieces;
  uint64_t groups;           // work-groups along the cut dimension that it finished
  double share;              // of the launch
  uint64_t busy_ns;          // time that it was busy, transfers included, in the clock of the device (weir_device_time)
  uint64_t start_ns, end_ns; // of its first and its last piece, in the same clock; 0 and 0: it had none
  bool failed;               // it failed in this launch, or was lost before
  uint64_t reserved[2];      // 0
} weir_split_device_round;

// A launch that is done.
typedef struct weir_split_round {
  uint64_t launch; // number of the launch in its split, from 0
  weir_status status;
  char kernel[48];
  char policy[24]; // "auto" says here what it took: "auto: history"
  char why[160];   // why it was cut as it was
  uint64_t groups; // along the cut dimension
  uint32_t redone; // pieces that another device did, because the first failed
  uint64_t
      wall_ns; // from its start, when all that it waits for is done, to its end, in real time; of a resident launch from the start of its first part, in its device's time
  uint32_t device_count;
  weir_split_device_round devices[WEIR_SPLIT_MOST_DEVICES];
} weir_split_round;

// The launch that was done last. Errors: UNAVAILABLE (none is done yet).
WEIR_API weir_status weir_split_last_round_sized(weir_split *split, weir_split_round *out_round, size_t round_size);
static inline weir_status weir_split_last_round(weir_split *split_, weir_split_round *out_round_) {
  return weir_split_last_round_sized(split_, out_round_, sizeof *out_round_);
}

// What was wrong with the file of the history; "" if nothing was. Valid as long as the split.
WEIR_API const char *weir_split_warning(const weir_split *split);

// Writes the history now. Errors: INVALID_ARGUMENT (the split has no file), IO, OUT_OF_MEMORY.
WEIR_API weir_status weir_split_save(weir_split *split);

#ifdef __cplusplus
}
#endif
#endif // WEIR_SPLIT_H
