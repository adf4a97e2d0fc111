// SPDX-License-Identifier: Apache-2.0
//
// Which of several devices runs a task that each of them could run: the one where it is expected to end first. Pure logic: knows
// no device, reads no clock.
//
// DESIGN. As HEFT does (Topcuoglu, Hariri and Wu, 2002), the earliest finish time is found for each device: from when the device
// has done what is queued there, when what the task reads is written and has arrived, and what the kernel took there lately.
// HEFT knows the whole graph before it runs; here a task is placed when it is submitted, by what is known then, as StarPU's dmda
// does (Augonnet, Thibault, Namyst and Wacrenier, 2011). As there, the time of transfers counts once more, since a link is
// shared by all: a task goes away from its bytes only if that saves more than it costs the others.
// All times are charges in ns: a device's queue is the sum of what its tasks that are not done are expected to add to its work.
// So devices with clocks of their own can be compared. What a task adds is measured, not how long it takes: on a device that runs
// many tasks at once, the time between two reports is divided among the tasks that were reported, in proportion to what was
// expected of them. Rates of links are the best of lately, since interference only makes a transfer slower.
#ifndef WEIR_ISSUE_PLACEMENT_H
#define WEIR_ISSUE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIR__PLACEMENT_DEVICES = 16, WEIR__PLACEMENT_SPACES = 9 };

typedef struct weir__placement weir__placement;

// What a work-group of a kernel took lately, in ns, by device; 0: not known.
typedef float weir__group_ns[WEIR__PLACEMENT_DEVICES];

typedef struct weir__candidate {
  uint32_t device;
  uint64_t run_ns;     // what the task is expected to add to its work
  uint64_t ready_ns;   // from now until what the task reads is written
  uint64_t moves_ns;   // transfers to the device, one after another
  uint64_t updates_ns; // of these, transfers of what the task updates
} weir__candidate;

// For tasks in `slots` slots. NULL: no memory.
weir__placement *weir__placement_create(uint32_t slots);
void weir__placement_destroy(weir__placement *placement); // NULL is allowed

// Devices of the same kind stand in for each other, until what a kernel takes is measured. What is measured on a device counts for
// all that are alike: `model` is the first of these.
void weir__placement_set_kind(weir__placement *placement, uint32_t device, const void *kind, uint32_t model);

// What a task of a kernel that accesses so many bytes is expected to add to the work of the device. Where nothing is known of the
// kernel, it counts as much as moving these bytes: where to move some and where to run it are not known to differ then.
uint64_t weir__placement_expected(const weir__placement *placement, const weir__group_ns known, uint32_t device,
                                  uint64_t groups, uint64_t bytes);

// How long it takes to bring bytes from one space to another.
uint64_t weir__placement_move_ns(const weir__placement *placement, uint32_t from, uint32_t to, uint64_t bytes);

// Index of the best of `count` candidates, at least 1; of equals the first.
uint32_t weir__placement_choose(const weir__placement *placement, const weir__candidate *candidates, uint32_t count);

// A task in the slot is queued on the device: a transfer, or one of a kernel.
void weir__placement_queue(weir__placement *placement, size_t slot, uint32_t device, uint64_t ns, bool moves);

// From now until the task in the slot is expected to be done.
uint64_t weir__placement_left(const weir__placement *placement, size_t slot);

// The device has got the task and may start it, at `now_ns` of its clock.
void weir__placement_issue(weir__placement *placement, size_t slot, uint64_t now_ns);

// The task in the slot is done, at `now_ns` of its device's clock. If it is of a kernel: `known` (NULL: it did not run) learns
// from it, when its device's report ends. A transfer: its link does.
void weir__placement_done(weir__placement *placement, size_t slot, weir__group_ns *known, uint64_t groups,
                          uint64_t now_ns);
void weir__placement_moved(weir__placement *placement, size_t slot, uint32_t from, uint32_t to, uint64_t bytes,
                           uint64_t now_ns);

// All that devices report at a time has been told.
void weir__placement_end_report(weir__placement *placement);

#endif // WEIR_ISSUE_PLACEMENT_H
