// SPDX-License-Identifier: Apache-2.0
//
// The resident scheduler: what the host, the two warps of the scheduler and the workers on the card share, and how each goes on. One
// text for three readers: NVRTC, which makes the kernel of it (kernel.cu), the host, and C threads that stand in for the
// card in tests. docs/inside/resident.md tells the idea and why it cannot deadlock; tests/resident/model.pml is a model of it.
//
// DESIGN. The host publishes tasks in the order of submission: numbers 1, 2, ...; number n has slot n % SLOTS of the host's ring,
// once the task that had it before was reported. The fetcher, a warp of its own, copies published tasks to the card, and the
// scheduler holds them. It hands them out: those whose predecessors are done, and, while more workers are idle than it wants to
// keep for such tasks, the oldest that it holds. A task that is handed out gets the next positions, one for each entry, which
// stands for one or a few of its units (work-groups). A worker claims the next position, whatever it will be, and waits until it
// was handed out. Then it waits for the tasks that the position's task comes after, runs the units, and, if they were the task's
// last, marks the task as done on the card and reports it to the host. Positions are claimed in their order, and a task only waits
// for tasks that were handed out before it: the earliest position that is not finished never waits.
// When nothing is left to do, or after `most_ns`, the scheduler lets all leave; the host launches the kernel again.
//
// All numbers and positions wrap: they are compared by their differences.
//
// WHAT THE HOST SEES TO
// - It writes slot n % SLOTS only after it has seen the report of n - SLOTS, and read its times.
// - Edges name earlier tasks, fewer than 2^31 before. Those whose report it has seen can be left out.
// - Reports come in any order: also of a task before those that it comes after. What was reported is in memory, and so is all
//   that it came after.
// - One launch at a time, epochs 1, 2, ...: the next one only after `gone`. All reports of a launch are there before `gone`.
//   What is published while a launch leaves may stay: after `gone` the host looks whether all that it has published was
//   reported, and all that it has asked answered, and if not launches again.
// - A launch that it has told to stop may still take in what is published before `gone`.
// - Where it has set `abort`, a launch faults, whatever it holds and whatever runs in it, this one or the next. There is no `gone` for
//   that launch, and nothing of the card can be used again: what was not reported by then never is.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_H
#define WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_H

#if defined(__CUDACC__)
#if defined(__CUDACC_RTC__)
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int int32_t;
typedef long long int64_t;
#else
#include <stdint.h>
#endif
#define WEIR__R_FUNCTION static __device__ __forceinline__
#define WEIR__R_APART static __device__ __noinline__ // what has registers of its own
#define WEIR__R_ALIGNED(bytes) __align__(bytes)
#else
#include <stdbool.h>
#include <stdint.h>
#define WEIR__R_FUNCTION static inline __attribute__((unused))
#define WEIR__R_APART WEIR__R_FUNCTION
#define WEIR__R_ALIGNED(bytes) __attribute__((aligned(bytes)))
#endif

// Both powers of two. A segment is where the positions of a task begin; there are at least as many as the scheduler looks at at once
// and may hand out at once.
#ifndef WEIR__R_SLOTS
#define WEIR__R_SLOTS 1024
#endif
#ifndef WEIR__R_SEGMENTS
#define WEIR__R_SEGMENTS 4096
#endif
#define WEIR__R_EDGES 12
#define WEIR__R_ARGS 12
// Workers look at one of several copies of what was handed out, each in a line of its own: many at one would hold each other up.
#ifndef WEIR__R_COPIES
#define WEIR__R_COPIES 32
#endif
// Of the workers, the scheduler keeps one in so many for tasks that are ready.
#ifndef WEIR__R_KEPT
#define WEIR__R_KEPT 32
#endif
// Tasks that each lane of the scheduler holds at most.
#define WEIR__R_PENDING 4
// Segments that a lane looks at at once, whether they can be written again.
#ifndef WEIR__R_LOOKS
#define WEIR__R_LOOKS 4
#endif
// While it holds tasks, the scheduler reads the clock only so often: every so many rounds.
#define WEIR__R_ROUNDS_PER_CLOCK 64
// As long as a scheduler waits for its first worker.
#define WEIR__R_ALONE_NS 1000000

// A task, as the host writes it. Multiple of 16 bytes.
typedef struct WEIR__R_ALIGNED(16) weir__r_task {
  uint64_t
      function; // address of the kernel's function on the card; 0: none, the task only waits for others; or WEIR__R_MOVE
  uint32_t number;
  uint32_t units; // work-groups, 1 to 2^31
  uint32_t groups[3];
  uint32_t timed;     // not 0: host->times is wanted
  uint32_t per_entry; // units that a worker takes at once, which then run one after the other; 0: 1
  uint32_t unused[2];
  uint32_t edge_count;
  uint32_t edges[WEIR__R_EDGES]; // numbers of earlier tasks; those that were done long ago may be among them
  uint64_t args[WEIR__R_ARGS];   // addresses, and values of up to 8 bytes
} weir__r_task;

// The function of a task that copies or fills. Its arguments: to, from (of a fill: the pattern), how many bytes, and whether it is a
// fill. Each unit moves so many bytes, the last one what is left.
#define WEIR__R_MOVE 1
#define WEIR__R_MOVE_BYTES 4096u
enum { WEIR__R_MOVE_TO = 0, WEIR__R_MOVE_FROM, WEIR__R_MOVE_COUNT, WEIR__R_MOVE_IS_FILL };

// On the card's clock, in ns: when the task's first unit began, and its last one ended.
typedef struct weir__r_times {
  uint64_t start_ns, end_ns;
} weir__r_times;

// In pinned memory of the host, zeroed before the first launch.
typedef struct weir__r_host {
  // Written by the host.
  WEIR__R_ALIGNED(128) uint32_t tail; // number of the last task that is published
  uint32_t stop;                      // the launch with this epoch leaves as soon as nothing is published or in flight
  uint32_t ask;                       // to be answered with the card's time, when nothing is in flight
  uint32_t abort; // not 0: the scheduler ends the launch by a fault; the card reads these 16 bytes at once
  // Written by the card.
  WEIR__R_ALIGNED(128) uint32_t gone; // epoch of the last launch that has left
  uint32_t answer;                    // the last `ask` that was answered,
  uint64_t answer_ns;                 // with this
  WEIR__R_ALIGNED(128)
  uint64_t done[WEIR__R_SLOTS];       // at i % SLOTS: (i + 1) * 2^32 + number of the ith task that was done
  weir__r_times times[WEIR__R_SLOTS]; // of the task in each slot, once it is done, if it is timed
  WEIR__R_ALIGNED(128) weir__r_task ring[WEIR__R_SLOTS];
} weir__r_host;

typedef struct weir__r_handed {
  WEIR__R_ALIGNED(128) uint64_t both; // positions that were handed out * 2^32 + segments written
} weir__r_handed;

// Workers that wait for a task look at it again and again: each has a line of its own.
typedef struct weir__r_done {
  WEIR__R_ALIGNED(128) uint64_t word; // of the task that has the slot: number * 2^32 - entries that are not finished
} weir__r_done;

// In the card's memory, zeroed before the first launch. `fetched`, `verified` and `numbers` are the scheduler's alone, who keeps the first
// two elsewhere during a launch. The fetcher begins behind `fetched`.
typedef struct weir__r_card {
  WEIR__R_ALIGNED(128) uint32_t claimed; // positions that workers have claimed
  WEIR__R_ALIGNED(128) weir__r_handed handed[WEIR__R_COPIES];
  WEIR__R_ALIGNED(128) uint32_t fetched;  // number of the last task that the scheduler has taken in
  uint32_t verified;                      // segments that were written or are known to be free
  WEIR__R_ALIGNED(128) uint32_t finished; // tasks done, modulo 2^32
  WEIR__R_ALIGNED(128) uint32_t arrived;  // blocks of the launch that have begun
  WEIR__R_ALIGNED(128) uint32_t leaving;  // epoch of the launch that leaves
  uint32_t left;                          // blocks that have left
  WEIR__R_ALIGNED(128) weir__r_done done[WEIR__R_SLOTS];
  uint64_t ended_ns[WEIR__R_SLOTS]; // when its last unit ended, if it is timed
  WEIR__R_ALIGNED(128) weir__r_task tasks[WEIR__R_SLOTS];
  WEIR__R_ALIGNED(128) uint64_t segments[WEIR__R_SEGMENTS]; // first position * 2^32 + slot, and WEIR__R_READY
  uint32_t numbers[WEIR__R_SEGMENTS];                       // of the tasks that had them; at first, of any that is done
} weir__r_card;

#define WEIR__R_READY 0x80000000u // in a segment: all that the task comes after is done, and what it wrote is there

// 16 bytes of a task.
typedef struct weir__r_chunk {
  uint64_t low, high;
} weir__r_chunk;

// What the host asks of the card: the first words of weir__r_host.
typedef struct weir__r_signals {
  uint32_t tail, stop, ask, abort;
} weir__r_signals;

// What a work-group's function gets.
typedef struct weir__r_group {
  const uint64_t *args;
  uint32_t id[3], count[3];
} weir__r_group;

WEIR__R_FUNCTION uint32_t weir__r_per_entry(const weir__r_task *task) {
  return task->per_entry == 0 ? 1 : task->per_entry;
}

// What `done` of a task's slot has when the task is done. Before, it has less, by what is left of the task if it was fetched.
WEIR__R_FUNCTION uint64_t weir__r_done_word(uint32_t number) {
  return (uint64_t)number << 32;
}

WEIR__R_FUNCTION uint32_t weir__r_is_done(uint64_t word, uint32_t number) {
  return (int64_t)(word - weir__r_done_word(number)) >= 0;
}

#include "device/cuda/resident/protocol_memory.h"

// Made of what is above.
#include "device/cuda/resident/protocol_fetcher.h"
#include "device/cuda/resident/protocol_scheduler.h"
#include "device/cuda/resident/protocol_worker.h"

#endif // WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_H
