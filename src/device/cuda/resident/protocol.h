// SPDX-License-Identifier: Apache-2.0
//
// The resident scheduler: what the host, the scheduler's warp and the workers on the card share, and how each goes on. One
// text for three readers: NVRTC, which makes the kernel of it (kernel.cu), the host, and C threads that stand in for the
// card in tests. docs/scheduling.md tells the idea and why it cannot deadlock; tests/resident/model.pml is a model of it.
//
// DESIGN. The host publishes tasks in the order of submission: numbers 1, 2, ...; number n has slot n % SLOTS of the host's
// ring, once the task that had it before was reported. The scheduler copies published tasks to the card and hands their
// units (work-groups) out through a ring of entries, each of which stands for one or a few units of a task. A worker claims
// the next position of that ring, whatever will stand there, waits for its entry, and empties it. Then it waits for the tasks
// that the units' task comes after, runs the units, and, if they were the task's last, marks the task as done on the card and
// reports it to the host. Entries are claimed in the order of submission, and a task only waits for earlier ones: the
// earliest entry that is not finished never waits.
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
#ifndef WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_H
#define WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_H

#if defined(__CUDACC__)
#if defined(__CUDACC_RTC__)
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int int32_t;
#else
#include <stdint.h>
#endif
#define WEIR__R_FUNCTION static __device__ __forceinline__
#define WEIR__R_ALIGNED(bytes) __align__(bytes)
#else
#include <stdbool.h>
#include <stdint.h>
#define WEIR__R_FUNCTION static inline __attribute__((unused))
#define WEIR__R_ALIGNED(bytes) __attribute__((aligned(bytes)))
#endif

// Both powers of two; at least as many entries as the scheduler has lanes.
#ifndef WEIR__R_SLOTS
#define WEIR__R_SLOTS 1024
#endif
#ifndef WEIR__R_ENTRIES
#define WEIR__R_ENTRIES 16384
#endif
// A batch: as many tasks as the scheduler copies at once.
#define WEIR__R_BATCH 32
#define WEIR__R_EDGES 12
#define WEIR__R_ARGS 12
// As long as a scheduler waits for its first worker.
#define WEIR__R_ALONE_NS 1000000

// A task, as the host writes it. Multiple of 16 bytes.
typedef struct WEIR__R_ALIGNED(16) weir__r_task {
  uint64_t function; // address of the kernel's function on the card; 0: none, the task only waits for others
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
  // Written by the card.
  WEIR__R_ALIGNED(128) uint32_t gone; // epoch of the last launch that has left
  uint32_t answer;                    // the last `ask` that was answered,
  uint64_t answer_ns;                 // with this
  WEIR__R_ALIGNED(128)
  uint64_t done[WEIR__R_SLOTS];       // at i % SLOTS: (i + 1) * 2^32 + number of the ith task that was done
  weir__r_times times[WEIR__R_SLOTS]; // of the task in each slot, once it is done, if it is timed
  WEIR__R_ALIGNED(128) weir__r_task ring[WEIR__R_SLOTS];
} weir__r_host;

// In the card's memory, zeroed before the first launch. `fetched`, `filled` and `verified` are the scheduler's alone.
typedef struct weir__r_card {
  WEIR__R_ALIGNED(128) uint32_t claimed;             // positions of the ring of entries that workers have claimed
  WEIR__R_ALIGNED(128) uint32_t fetched;             // number of the last task that was copied
  uint32_t filled;                                   // entries written
  uint32_t verified;                                 // as far as entries are known to be empty; at least `filled`
  WEIR__R_ALIGNED(128) uint32_t finished;            // tasks done, modulo 2^32
  WEIR__R_ALIGNED(128) uint32_t arrived;             // blocks of the launch that have begun
  WEIR__R_ALIGNED(128) uint32_t leaving;             // epoch of the launch that leaves
  uint32_t left;                                     // blocks that have left
  WEIR__R_ALIGNED(128) uint32_t done[WEIR__R_SLOTS]; // number of the last task done in each slot
  uint32_t entries_left[WEIR__R_SLOTS];              // entries that are not finished, of the task that has the slot
  uint64_t started_ns[WEIR__R_SLOTS];                // when its first unit began, if it is timed
  WEIR__R_ALIGNED(128) weir__r_task tasks[WEIR__R_SLOTS];
  WEIR__R_ALIGNED(128) uint64_t entries[WEIR__R_ENTRIES]; // 0: empty; else index in the task * 2^32 + slot + 1
} weir__r_card;

// What a work-group's function gets.
typedef struct weir__r_group {
  const uint64_t *args;
  uint32_t id[3], count[3];
} weir__r_group;

// ---------------------------------------------------------------------------------------------------------------
// Memory: one function for each kind of access to what is shared. `card`: the card's memory, among its threads; `host`:
// the host's memory, between host and card.

#if defined(__CUDACC__)

WEIR__R_FUNCTION uint32_t weir__r_load(const uint32_t *at) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION uint32_t weir__r_load_acquire(const uint32_t *at) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION uint64_t weir__r_load_entry(const uint64_t *at) {
  uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION uint64_t weir__r_empty_entry(uint64_t *at) { // acquires; returns what was there
  uint64_t old;
  asm volatile("atom.acquire.gpu.global.exch.b64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"((uint64_t)0) : "memory");
  return old;
}
WEIR__R_FUNCTION void weir__r_store_release(uint32_t *at, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
WEIR__R_FUNCTION void weir__r_store_entry_release(uint64_t *at, uint64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
WEIR__R_FUNCTION uint32_t weir__r_add(uint32_t *at, uint32_t value) { // acquires and releases; returns what was there
  uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
  return old;
}
WEIR__R_FUNCTION uint32_t weir__r_host_load_acquire(const uint32_t *at) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION void weir__r_host_store_release(uint32_t *at, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
WEIR__R_FUNCTION void weir__r_host_store_done(uint64_t *at, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
// 16 bytes of a task, from the host's ring to the card's.
WEIR__R_FUNCTION void weir__r_copy_piece(weir__r_task *to, const weir__r_task *from, uint32_t piece) {
  uint64_t low, high;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(low), "=l"(high)
               : "l"((const char *)from + 16 * piece)
               : "memory");
  uint64_t *words = (uint64_t *)((char *)to + 16 * piece);
  words[0] = low;
  words[1] = high;
}
WEIR__R_FUNCTION uint64_t weir__r_now_ns(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
WEIR__R_FUNCTION void weir__r_pause(void) {
  asm volatile("nanosleep.u32 32;");
}
// The threads that are one scheduler: a warp.
#define WEIR__R_LANES 32u
WEIR__R_FUNCTION uint32_t weir__r_lane(void) {
  return threadIdx.x % WEIR__R_LANES;
}
WEIR__R_FUNCTION void weir__r_meet(void) { // orders what lanes did before it and do behind it
  __syncwarp();
}
WEIR__R_FUNCTION uint32_t weir__r_from_first(uint32_t value) { // the first lane's; orders nothing
  return __shfl_sync(0xffffffffu, value, 0);
}
WEIR__R_FUNCTION uint32_t weir__r_all(uint32_t value) { // whether no lane's is 0; orders nothing
  return (uint32_t)__all_sync(0xffffffffu, (int)value);
}

#else // C threads

#include <sched.h>
#include <string.h>
#include <time.h>

#ifndef WEIR__R_POINT // a test's: what a thread does in front of each access to what is shared
#define WEIR__R_POINT() ((void)0)
#endif

WEIR__R_FUNCTION uint32_t weir__r_load(const uint32_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
WEIR__R_FUNCTION uint32_t weir__r_load_acquire(const uint32_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
WEIR__R_FUNCTION uint64_t weir__r_load_entry(const uint64_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
WEIR__R_FUNCTION uint64_t weir__r_empty_entry(uint64_t *at) {
  WEIR__R_POINT();
  return __atomic_exchange_n(at, 0, __ATOMIC_ACQUIRE);
}
WEIR__R_FUNCTION void weir__r_store_release(uint32_t *at, uint32_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
WEIR__R_FUNCTION void weir__r_store_entry_release(uint64_t *at, uint64_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
WEIR__R_FUNCTION uint32_t weir__r_add(uint32_t *at, uint32_t value) {
  WEIR__R_POINT();
  return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
}
WEIR__R_FUNCTION uint32_t weir__r_host_load_acquire(const uint32_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
WEIR__R_FUNCTION void weir__r_host_store_release(uint32_t *at, uint32_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
WEIR__R_FUNCTION void weir__r_host_store_done(uint64_t *at, uint64_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
WEIR__R_FUNCTION void weir__r_copy_piece(weir__r_task *to, const weir__r_task *from, uint32_t piece) {
  WEIR__R_POINT();
  memcpy((char *)to + 16 * piece, (const char *)from + 16 * piece, 16);
}
WEIR__R_FUNCTION uint64_t weir__r_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
WEIR__R_FUNCTION void weir__r_pause(void) {
  sched_yield();
}
#ifndef WEIR__R_LANES // one thread stands in for the warp, unless who includes this has lanes, and these functions, already
#define WEIR__R_LANES 1u
WEIR__R_FUNCTION uint32_t weir__r_lane(void) {
  return 0;
}
WEIR__R_FUNCTION void weir__r_meet(void) {}
WEIR__R_FUNCTION uint32_t weir__r_from_first(uint32_t value) {
  return value;
}
WEIR__R_FUNCTION uint32_t weir__r_all(uint32_t value) {
  return value != 0;
}
#endif

// The host: whether `count` tasks at least were reported as done since the context was made, and the number of the
// `count`th. Positions count from 1.
WEIR__R_FUNCTION bool weir__r_is_reported(const weir__r_host *host, uint32_t count, uint32_t *out_number) {
  WEIR__R_POINT();
  uint64_t entry = __atomic_load_n(&host->done[(count - 1) % WEIR__R_SLOTS], __ATOMIC_ACQUIRE);
  *out_number = (uint32_t)entry;
  return (uint32_t)(entry >> 32) == count;
}

// The host: makes the tasks up to this number known, which it has written to host->ring.
WEIR__R_FUNCTION void weir__r_publish(weir__r_host *host, uint32_t number) {
  WEIR__R_POINT();
  __atomic_store_n(&host->tail, number, __ATOMIC_RELEASE);
}

#endif

// One thread of a block that begins: whether it is the launch's first. That block is the scheduler, whichever it is; the others
// are workers.
WEIR__R_FUNCTION uint32_t weir__r_arrive(weir__r_card *card) {
  return weir__r_add(&card->arrived, 1) == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// The scheduler: all lanes of one warp.

WEIR__R_FUNCTION uint32_t weir__r_per_entry(const weir__r_task *task) {
  return task->per_entry == 0 ? 1 : task->per_entry;
}

// Where the entries of each task of a batch begin: kept in memory that the lanes share.
typedef struct weir__r_batch {
  uint64_t first[WEIR__R_BATCH + 1];
} weir__r_batch;

WEIR__R_FUNCTION void weir__r_copy_batch(weir__r_card *card, const weir__r_host *host, uint32_t count,
                                         weir__r_batch *batch) {
  const uint32_t pieces = sizeof(weir__r_task) / 16;
  for (uint32_t i = weir__r_lane(); i < count * pieces; i += WEIR__R_LANES) {
    uint32_t slot = (card->fetched + 1 + i / pieces) % WEIR__R_SLOTS;
    weir__r_copy_piece(&card->tasks[slot], &host->ring[slot], i % pieces);
  }
  weir__r_meet();
  for (uint32_t i = weir__r_lane(); i < count; i += WEIR__R_LANES) {
    uint32_t slot = (card->fetched + 1 + i) % WEIR__R_SLOTS;
    uint32_t entries = (card->tasks[slot].units - 1) / weir__r_per_entry(&card->tasks[slot]) + 1;
    card->entries_left[slot] = entries;
    batch->first[i + 1] = entries;
  }
  weir__r_meet();
  if (weir__r_lane() == 0) {
    batch->first[0] = 0;
    for (uint32_t i = 1; i <= count; i++) batch->first[i] += batch->first[i - 1];
  }
  weir__r_meet();
}

// Looks whether some more of the entries that will be filled next are empty, ahead of need. They stay so: only the scheduler
// fills them. Returns whether they were, and there may be more.
WEIR__R_FUNCTION uint32_t weir__r_verify(weir__r_card *card) {
  if (card->verified - card->filled > WEIR__R_ENTRIES - WEIR__R_LANES) return 0;
  uint32_t position = card->verified + weir__r_lane();
  if (!weir__r_all(weir__r_load_entry(&card->entries[position % WEIR__R_ENTRIES]) == 0)) return 0;
  weir__r_meet();
  if (weir__r_lane() == 0) card->verified += WEIR__R_LANES;
  weir__r_meet();
  return 1;
}

// Hands the units of a batch out. An entry is free as soon as the worker that claimed it a round ago has read it, which it
// does without waiting for anything.
WEIR__R_FUNCTION void weir__r_fill(weir__r_card *card, uint32_t count, const weir__r_batch *batch) {
  uint32_t task = 0, verified = card->verified - card->filled;
  for (uint64_t i = weir__r_lane(); i < batch->first[count]; i += WEIR__R_LANES) {
    while (i >= batch->first[task + 1]) task++;
    uint64_t *entry = &card->entries[(card->filled + i) % WEIR__R_ENTRIES];
    uint64_t index = i - batch->first[task];
    while (i >= verified && weir__r_load_entry(entry) != 0) weir__r_pause();
    weir__r_store_entry_release(entry, index << 32 | ((card->fetched + 1 + task) % WEIR__R_SLOTS + 1));
  }
  weir__r_meet();
}

// Copies and hands out what is published, a batch at most. Returns how many tasks that were.
WEIR__R_FUNCTION uint32_t weir__r_fetch(weir__r_card *card, const weir__r_host *host, weir__r_batch *batch) {
  uint32_t tail = weir__r_lane() == 0 ? weir__r_host_load_acquire(&host->tail) : 0;
  tail = weir__r_from_first(tail);
  uint32_t count = tail - card->fetched;
  if (count > WEIR__R_BATCH) count = WEIR__R_BATCH;
  if (count == 0) return 0;
  weir__r_meet(); // what the first lane acquired holds for all: passing a value on orders nothing
  weir__r_copy_batch(card, host, count, batch);
  weir__r_fill(card, count, batch);
  if (weir__r_lane() == 0) {
    uint64_t entries = batch->first[count];
    if (card->verified - card->filled < entries) card->verified = card->filled + (uint32_t)entries;
    card->filled += (uint32_t)entries;
    card->fetched += count;
  }
  weir__r_meet();
  return count;
}

// Tells the host what time it is on the card.
WEIR__R_FUNCTION void weir__r_answer(weir__r_host *host) {
  if (weir__r_lane() != 0) return;
  uint32_t ask = weir__r_host_load_acquire(&host->ask);
  if (ask == host->answer) return;
  host->answer_ns = weir__r_now_ns();
  weir__r_host_store_release(&host->answer, ask);
}

// Waits for the first worker. 0: none has come for WEIR__R_ALONE_NS. Then others have the card, among them perhaps a launch that
// waits for the room that this one has: so it must not take in tasks, which it could not leave with.
WEIR__R_FUNCTION uint32_t weir__r_await_worker(const weir__r_card *card) {
  uint64_t start = weir__r_now_ns();
  while (weir__r_from_first(weir__r_load(&card->claimed) == card->filled)) {
    if (weir__r_from_first(weir__r_now_ns() - start >= WEIR__R_ALONE_NS)) return 0;
    weir__r_pause();
  }
  return 1;
}

// The scheduler's whole work in the launch `epoch`. It lets all leave when nothing was published for `idle_ns`, when the
// host asks for it, and when the launch has lasted `most_ns`; always with nothing in flight. However short these times are, a
// launch answers what was asked before it and, unless no worker comes, takes in a batch of what was published before it.
WEIR__R_FUNCTION void weir__r_schedule(weir__r_card *card, weir__r_host *host, weir__r_batch *batch, uint32_t epoch,
                                       uint64_t idle_ns, uint64_t most_ns) {
  uint32_t ends = !weir__r_await_worker(card);
  uint64_t start = weir__r_now_ns(), busy = start;
  for (;;) {
    // What the first lane reads of the time, and of what others write, decides for all.
    uint64_t now = weir__r_now_ns();
    uint32_t fetched = ends ? 0 : weir__r_fetch(card, host, batch);
    uint32_t idle = fetched == 0 && weir__r_from_first(weir__r_load_acquire(&card->finished) == card->fetched);
    if (idle) {
      weir__r_answer(host);
      uint32_t leaves = ends || now - busy >= idle_ns || weir__r_host_load_acquire(&host->stop) == epoch;
      if (weir__r_from_first(leaves)) break;
    } else {
      busy = now;
    }
    ends = weir__r_from_first(ends || now - start >= most_ns);
    if (fetched == 0 && !weir__r_verify(card)) weir__r_pause();
  }
  if (weir__r_lane() == 0) weir__r_store_release(&card->leaving, epoch);
}

// ---------------------------------------------------------------------------------------------------------------
// A worker: a block, one thread of it for what follows unless it says otherwise.

// Claims a position of the ring of entries.
WEIR__R_FUNCTION uint32_t weir__r_claim(weir__r_card *card) {
  return weir__r_add(&card->claimed, 1);
}

// Waits for the entry at a position, and empties it. 0: the launch `epoch` leaves. A worker that was held up behind its claim
// may find others at the same entry, a round later: one of them gets what is there, the others what comes next.
WEIR__R_FUNCTION uint64_t weir__r_take(weir__r_card *card, uint32_t position, uint32_t epoch) {
  uint64_t *entry = &card->entries[position % WEIR__R_ENTRIES];
  for (;;) {
    uint64_t taken = weir__r_load_entry(entry) != 0 ? weir__r_empty_entry(entry) : 0;
    if (taken != 0) return taken;
    if (weir__r_load(&card->leaving) == epoch) return 0;
    weir__r_pause();
  }
}

WEIR__R_FUNCTION const weir__r_task *weir__r_task_of(const weir__r_card *card, uint64_t entry) {
  return &card->tasks[(uint32_t)entry - 1];
}

// The units that an entry stands for: from `first` to before `end`.
typedef struct weir__r_units {
  uint32_t first, end;
} weir__r_units;

WEIR__R_FUNCTION weir__r_units weir__r_units_of(const weir__r_task *task, uint64_t entry) {
  uint32_t per_entry = weir__r_per_entry(task), first = (uint32_t)(entry >> 32) * per_entry;
  weir__r_units units = {first, task->units - first > per_entry ? first + per_entry : task->units};
  return units;
}

// Waits until an earlier task is done. Any thread of the block; those behind a barrier of the block see what the task wrote.
WEIR__R_FUNCTION void weir__r_await(const weir__r_card *card, uint32_t number) {
  const uint32_t *done = &card->done[number % WEIR__R_SLOTS];
  while ((int32_t)(weir__r_load(done) - number) < 0) weir__r_pause();
  (void)weir__r_load_acquire(done);
}

// Units of the task begin with this one. All that it comes after was awaited.
WEIR__R_FUNCTION void weir__r_begin(weir__r_card *card, const weir__r_task *task, uint32_t unit) {
  if (task->timed && unit == 0) card->started_ns[task->number % WEIR__R_SLOTS] = weir__r_now_ns();
}

// The units of an entry are finished: all threads of the block have passed a barrier behind them.
WEIR__R_FUNCTION void weir__r_finish(weir__r_card *card, weir__r_host *host, const weir__r_task *task) {
  uint32_t number = task->number, slot = number % WEIR__R_SLOTS;
  if (task->units > weir__r_per_entry(task) && weir__r_add(&card->entries_left[slot], 0xffffffffu) != 1) return;
  if (task->timed) {
    weir__r_times times = {card->started_ns[slot], weir__r_now_ns()};
    host->times[slot] = times;
  }
  weir__r_store_release(&card->done[slot], number);
  uint32_t position = weir__r_add(&card->finished, 1);
  weir__r_host_store_done(&host->done[position % WEIR__R_SLOTS], (uint64_t)(position + 1) << 32 | number);
}

// A block of the launch leaves; the last of them leaves all in order for the next launch, and tells the host.
WEIR__R_FUNCTION void weir__r_leave(weir__r_card *card, weir__r_host *host, uint32_t epoch, uint32_t blocks) {
  if (weir__r_add(&card->left, 1) != blocks - 1) return;
  card->left = 0;
  card->arrived = 0;
  card->claimed = card->filled;
  weir__r_host_store_release(&host->gone, epoch);
}

#endif // WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_H
