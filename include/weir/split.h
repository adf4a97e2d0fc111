// SPDX-License-Identifier: Apache-2.0
//
// Splits: one launch over several devices.
//
// A split cuts the work-groups of a launch along one dimension into parts, and runs each part on one device of a list.
// The devices may be of different kinds. docs/guide/splitting.md says which policy suits which program.
//
// A launch counts as one task. It is in order with all other tasks, has one event, and leaves the contents that the
// kernel would leave on one device. Each part runs as a task of the same kernel, with fewer work-groups in the cut
// dimension and with arguments narrowed to the bytes of these work-groups. The work-groups of a part count from 0, in
// weir_work and in the indexes of kernels in other languages. An argument of mapping PART tells the kernel which part
// of the launch it is.
//
// A device with memory of its own gets the bytes that its parts read, and returns the bytes that they write. Between
// launches the contents of the arguments are in the host's memory, or, with weir_split_options.resident, where the
// parts left them.
//
// If a device fails, other devices run its parts, and it gets no more parts of this launch. A lost device gets no parts
// of later launches either. The launch is OK if the other devices complete it, and weir_event_message says which device
// failed and why. A part that updates an argument in place (WEIR_READ_WRITE) cannot run again: its failure fails the
// launch.
//
// Resident contents: the policy gives all parts when the launch is submitted. Each part is an ordinary task on its
// bytes of the caller's buffers, in order with all other tasks on these bytes. Only bytes that a device lacks are
// moved: halos, in a series of launches with equal shares. A task that depends on one part need not wait for the
// others. To all other tasks, those of other threads included, the launch is one unit: no task comes between its parts.
// Failures differ:
// - Only parts whose input is poisoned are skipped. The other parts' results are kept.
// - A part that fails runs on another device of the split if both devices work in the same memory, the part updates
//   nothing in place, and its device takes tasks only when they can start (CPUs). Otherwise the launch fails. Its
//   message has the bytes that were not written, and those that only a lost device had.
// - A part whose device has no memory for it is given to another device at submission. If no device takes it, the
//   launch is refused. If other parts run already, the launch fails instead, and the bytes that no part writes are
//   poisoned, perhaps with neighbouring bytes of the same buffer.
#ifndef WEIR_SPLIT_H
#define WEIR_SPLIT_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------------------------
// Arguments

// The value of an argument of mapping PART: eight 32-bit numbers in this order, on all devices.
typedef struct weir_split_part {
  uint32_t first, count; // work-groups of the part along the cut dimension: [first, first + count)
  uint32_t total;        // work-groups of the launch along the cut dimension
  // Work-groups before and after the part whose bytes the argument of weir_split_arg.halo_of has: the halo that was
  // asked for, less the work-groups beyond the edges.
  uint32_t halo_before, halo_after;
  uint32_t dimension; // cut dimension: 0, 1 or 2
  uint32_t device;    // index of the device in the split's list
  uint32_t index;     // number of the part in the launch, from 0
} weir_split_part;

// Which bytes of an argument's range a part gets.
typedef enum weir_split_mapping {
  // All bytes; also for values. The kernel must only read them.
  WEIR_SPLIT_WHOLE = 0,
  // `group_bytes` bytes for each of its work-groups along the cut dimension, and a halo. The last block of the range
  // may be shorter.
  WEIR_SPLIT_BLOCK = 1,
  WEIR_SPLIT_FUNCTION = 2, // the bytes that a function gives
  WEIR_SPLIT_PART = 3,     // a value that Weir fills: weir_split_part
} weir_split_mapping;

// Gives the bytes of the work-groups [first, first + count) along the cut dimension: offset, from the first byte of the
// argument's range, and length. The function is pure: equal arguments give equal results. Any thread calls it, any
// number of times, until the launch is done. It must not call Weir.
typedef void (*weir_split_function)(void *user, uint32_t first, uint32_t count, uint64_t *out_offset,
                                    uint64_t *out_bytes);

// An argument of a launch. The ranges that parts write must not overlap, and must cover the argument's range.
typedef struct weir_split_arg {
  weir_arg arg; // of the whole launch, as for weir_submit; not used for PART
  weir_split_mapping mapping;
  uint64_t group_bytes;             // BLOCK: bytes of a work-group
  uint32_t halo_before, halo_after; // BLOCK that is read: in work-groups
  weir_split_function function;     // FUNCTION
  void *function_user;              // FUNCTION: its `user`
  uint32_t halo_of;     // PART: index of the BLOCK argument whose halo it has; for another argument the halo is 0 and 0
  uint64_t reserved[2]; // 0
} weir_split_arg;

// Make an argument of each mapping, from an argument of weir_reads, weir_writes_range and so on.
WEIR_API weir_split_arg weir_split_whole(weir_arg arg);
WEIR_API weir_split_arg weir_split_block(weir_arg arg, uint64_t group_bytes);
WEIR_API weir_split_arg weir_split_halo(weir_arg arg, uint64_t group_bytes, uint32_t before, uint32_t after);
WEIR_API weir_split_arg weir_split_by(weir_arg arg, weir_split_function function, void *user);
WEIR_API weir_split_arg weir_split_part_of(uint32_t halo_of);

// ---------------------------------------------------------------------------------------------------------------
// Policies
//
// A policy decides how many units a device gets next. A unit is the smallest part that can be cut:
// weir_split_launch.granularity work-groups. A policy sees measured times, and has no clock and no state of its own, so
// tests can give it made-up times.

enum {
  WEIR_SPLIT_MOST_DEVICES = 16,
  WEIR_SPLIT_MOST_ROUNDS = 32,
  WEIR_SPLIT_MOST_WAYS = 4 + WEIR_SPLIT_MOST_DEVICES,
  WEIR_SPLIT_WAY_TIMES = 3
};

// Work of a device in one launch.
typedef struct weir_split_measure {
  uint64_t units; // units that it finished; 0: it had no part in the launch
  uint64_t ns;    // time that it was busy with them, transfers included if it has memory of its own
} weir_split_measure;

// State of a device, for a policy.
typedef struct weir_split_state {
  double share;           // from weir_split_options.shares; 0 for all devices: none were given
  bool out;               // lost, or failed in this launch: it gets no more parts
  bool far;               // it has memory of its own: bytes of a part are moved while the one before is computed
  uint32_t grain;         // units: its parts are multiples of this, except the last of a launch
  uint32_t in_flight;     // its parts of this launch that are not done
  uint64_t given;         // units of this launch that it got so far
  uint64_t done, done_ns; // units of this launch that it finished, and the time that it was busy with them
  uint64_t running_ns;    // time that it has been busy with unfinished parts, by its clock
  uint64_t backlog;       // units of earlier launches of the split that it has not finished
  uint32_t round_count;   // elements of `rounds`: measured launches with the same key, at most WEIR_SPLIT_MOST_ROUNDS
  weir_split_measure rounds[WEIR_SPLIT_MOST_ROUNDS]; // newest first
  weir_split_measure first;                          // of the first launch that was measured ever
  uint64_t reserved[2];                              // 0
} weir_split_state;

// Measured times of launches with the same key that a policy cut in one of its ways.
typedef struct weir_split_way {
  uint32_t count; // number of times, at most WEIR_SPLIT_WAY_TIMES
  uint64_t last;  // number of the newest launch
  // Time of a unit, newest first: from the start of the launch, when all that it waits for is done, to its end, over
  // its units, in the time of the split's first device (weir_device_time).
  double ns[WEIR_SPLIT_WAY_TIMES];
} weir_split_way;

// State of a launch, for a policy.
typedef struct weir_split_view {
  uint64_t launch;  // number of the launch in its split, from 0
  uint64_t total;   // units of the launch
  uint64_t left;    // units that no device has got yet; at least 1
  uint64_t least;   // units of the smallest part that is worth giving (weir_split_options.least)
  uint32_t rounds;  // K: number of last launches that count
  double floor;     // least share of a device
  uint64_t cost_ns; // cost of a part besides its work, as far as it is known
  double overhead;  // fraction of the time that such costs may take
  bool ahead;       // all parts are given before any starts (weir_split_options.resident)
  uint32_t device_count;
  const weir_split_state *devices;
  uint32_t way;               // what the policy's function `way` returned for this launch
  const weir_split_way *ways; // WEIR_SPLIT_MOST_WAYS elements; NULL: nothing was measured
} weir_split_view;

// A policy. The struct is copied. Any thread calls the functions, one at a time for each launch. They must not call
// Weir.
typedef struct weir_split_policy {
  const char *name; // at most 23 bytes
  // Returns the units that device number `device` gets now, from 0 to view->left; a larger number counts as view->left.
  // 0 means to ask again when a part of the launch is done. Weir rounds the number to the device's grain. It asks for
  // every device that has fewer than two parts. If no device has a part and none gets one, the units that are left go
  // to the devices in equal parts. Where all parts are given `ahead`, this happens if no device gets one.
  uint64_t (*next)(void *user, const weir_split_view *view, uint32_t device);
  // Returns the way in which the policy cuts this launch, a number below WEIR_SPLIT_MOST_WAYS; view->ways then has the
  // times of each way. Called once, at the start of a launch. May be NULL.
  uint32_t (*way)(void *user, const weir_split_view *view);
  // Writes a few words that say why the launch is cut as it is. Called once, at the start of a launch. May be NULL.
  void (*why)(void *user, const weir_split_view *view, char *out_text, size_t size);
  void *user;           // passed to the functions
  uint64_t reserved[2]; // 0
} weir_split_policy;

// Returns one of Weir's policies by name; NULL if there is none of this name. The policy is static.
// - "static": shares as given, or in proportion to the speeds first measured.
// - "history": one part for each device, in proportion to its speed in the last K launches of the same kernel and size.
// - "queue": parts of one size, for any device that is free.
// - "guided": parts that shrink towards the end, in proportion to the measured speeds.
// - "frames": a whole launch for one device, the one that should finish it first.
// - "auto": history, guided or frames, according to the measured times; weir_split_round.why says which and why.
WEIR_API const weir_split_policy *weir_split_find_policy(const char *name);

// ---------------------------------------------------------------------------------------------------------------
// Splits

// A split. Its members are private.
typedef struct weir_split weir_split;

// Options of a split. A member that is 0 has its default.
typedef struct weir_split_options {
  weir_device *const *devices; // up to WEIR_SPLIT_MOST_DEVICES, each once; NULL: all of the context
  uint32_t device_count;
  const char *policy;              // name of a policy; default "auto"
  const weir_split_policy *custom; // a policy of the caller's, instead of `policy`
  const double *shares;            // one for each device, not negative, with a sum above 0; NULL: none given
  const uint32_t *granularities;   // one for each device: its parts are multiples of so many work-groups; NULL, 0: 1
  uint32_t rounds;                 // K, 1 to WEIR_SPLIT_MOST_ROUNDS; default 10
  double floor;                    // least share of a device, so that it is measured again; default 0.005
  double overhead;                 // fraction of the time that handing out parts may cost; default 0.02
  uint32_t least;                  // work-groups of the smallest part of "queue" and "guided"; default 1
  // Contents stay where the parts left them, and only missing bytes move: see the top of this file. "queue" and
  // "guided" give parts while a launch runs, and are refused.
  bool resident;
  // Name of a file with measured times. weir_split_create reads it if it exists; weir_split_save and weir_split_release
  // write it. A file that is damaged or cannot be read is ignored, and weir_split_warning says so. What is there and no
  // regular file, such as a device, is neither read nor written; a file that is no history is not replaced.
  const char *history;
} weir_split_options;

// Creates a split. `options` may be NULL: all defaults.
// Errors: INVALID_ARGUMENT (a device of another context or named twice, no such policy, a number out of its range),
// OUT_OF_MEMORY, UNAVAILABLE (the context has 16 devices, with one that splits need).
WEIR_API weir_status weir_split_create_sized(weir_context *context, const weir_split_options *options,
                                             size_t options_size, weir_split **out_split);
static inline weir_status weir_split_create(weir_context *context_, const weir_split_options *options_,
                                            weir_split **out_split_) {
  return weir_split_create_sized(context_, options_, sizeof *options_, out_split_);
}

// Releases a split, at any time; launches in flight finish. Writes the file of its history, if it has one. `split` may
// be NULL.
// Errors: IO, OUT_OF_MEMORY (as weir_split_save). The split is released in any case.
WEIR_API weir_status weir_split_release(weir_split *split);

// One launch. A member that is 0 has its default. The caller may free all that the struct points to after the
// submission; `user` and the users of functions are passed on as they are.
typedef struct weir_split_launch {
  weir_kernel *kernel; // has code for every device of the split
  void *user;          // passed on in weir_work
  const weir_split_arg *args;
  uint32_t arg_count;
  uint32_t groups[3];       // work-groups of the whole launch in x, y, z; 0 counts as 1
  uint32_t dimension;       // cut dimension: 0, 1 or 2
  uint32_t granularity;     // parts are cut at multiples of so many work-groups; 0 counts as 1
  weir_event *const *after; // as for weir_submit
  uint32_t after_count;
  int32_t priority;
  const char *label;
  uint64_t tag;
} weir_split_launch;

// Submits a launch. Like weir_submit, the call waits only while the window, in which it reserves room for its parts, or
// the context's memory is full. `out_event` as for weir_submit. In a context with WEIR_CONTEXT_IN_ORDER the launch is
// one part, on the first device.
// Errors, which submit nothing: as weir_submit; INVALID_ARGUMENT (written parts that overlap or leave gaps, with the
// ranges; no such dimension), NO_CODE (the text has the device), DEVICE_LOST (no device of the split is left).
WEIR_API weir_status weir_split_submit_sized(weir_split *split, const weir_split_launch *launch, size_t launch_size,
                                             weir_event **out_event);
static inline weir_status weir_split_submit(weir_split *split_, const weir_split_launch *launch_,
                                            weir_event **out_event_) {
  return weir_split_submit_sized(split_, launch_, sizeof *launch_, out_event_);
}

// ---------------------------------------------------------------------------------------------------------------
// Records of launches

// Work of a device in a launch.
typedef struct weir_split_device_round {
  weir_device *device;
  uint32_t parts;            // number of its parts
  uint64_t groups;           // work-groups along the cut dimension that it finished
  double share;              // fraction of the launch
  uint64_t busy_ns;          // time that it was busy, transfers included, by its clock (weir_device_time)
  uint64_t start_ns, end_ns; // start of its first part and end of its last, by its clock; 0 and 0: it had none
  bool failed;               // it failed in this launch, or was lost before
  uint64_t reserved[2];      // 0
} weir_split_device_round;

// A completed launch.
typedef struct weir_split_round {
  uint64_t launch; // number of the launch in its split, from 0
  weir_status status;
  char kernel[48];
  char policy[24]; // name of the policy; of "auto" with its choice: "auto: history"
  char why[160];   // why it was cut as it was
  uint64_t groups; // work-groups along the cut dimension
  uint32_t redone; // parts that another device ran because the first failed
  // Duration from its start, when all that it waits for is done, to its end, in real time. Of a resident launch: from
  // the start of its first part, by that device's clock.
  uint64_t wall_ns;
  uint32_t device_count;
  weir_split_device_round devices[WEIR_SPLIT_MOST_DEVICES];
} weir_split_round;

// Reads the record of the launch that completed last.
// Errors: UNAVAILABLE (no launch is done yet).
WEIR_API weir_status weir_split_last_round_sized(weir_split *split, weir_split_round *out_round, size_t round_size);
static inline weir_status weir_split_last_round(weir_split *split_, weir_split_round *out_round_) {
  return weir_split_last_round_sized(split_, out_round_, sizeof *out_round_);
}

// Returns a text on a fault of the history's file; "" if there is none. Valid as long as the split.
WEIR_API const char *weir_split_warning(const weir_split *split);

// Writes the history to its file.
// Errors: INVALID_ARGUMENT (the split has no file), IO, OUT_OF_MEMORY.
WEIR_API weir_status weir_split_save(weir_split *split);

#ifdef __cplusplus
}
#endif
#endif // WEIR_SPLIT_H
