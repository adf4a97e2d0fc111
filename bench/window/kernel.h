// SPDX-License-Identifier: Apache-2.0
//
// Hazards found by the card: a window of tasks in a block's shared memory, against which each new task is tested. One text for three
// readers, as the resident scheduler's protocol (device/cuda/resident/protocol.h), with whose accesses to memory it is written: NVRTC,
// which makes the kernel of it (entry.cu), the host, and C threads that stand in for lanes in tests.
//
// DESIGN. Tasks are numbered; number n has slot n % slots of the window. Slot s belongs to thread s % threads of the block, alone: this
// thread tests new tasks against the slot's, fills and frees it, so the window needs no order between threads, and no warp waits for
// another but once in WINDOW_BATCH tasks. A thread has up to 32 slots, of which it knows in a register which are taken. All threads copy a batch
// of tasks from the ring into shared memory; then each goes through the batch: it looks whether the oldest task in its slots is done (the
// word is on its way during the test), tests all ranges of the new task against those of its slots, and writes the numbers of the
// tasks that conflict into the new task's list. Two tasks conflict if ranges of theirs overlap of which one at least is written.
//
// Who runs the tasks is left out, so that results are known: task n - live is done as soon as n + 1 comes, which the thread that has its slot
// writes in the worker's place. So a new task always finds `live` tasks that are not done, but for the first ones.
//
// Nothing waits without a bound: a launch that finds nothing published for WINDOW_LOOKS looks, or a slot that it needs taken, says so in `status`.
#ifndef WEIR_BENCH_WINDOW_KERNEL_H
#define WEIR_BENCH_WINDOW_KERNEL_H

#include "device/cuda/resident/protocol.h"

#ifndef WINDOW_RANGES // of a task at most
#define WINDOW_RANGES 8
#endif
#define WINDOW_BATCH 32u // tasks that are copied at once
#define WINDOW_ROWS 32u  // slots that a thread has at most
#define WINDOW_MOST_SLOTS 1024u
#ifndef WINDOW_LOOKS // in a row that find nothing
#define WINDOW_LOOKS 100000u
#endif
#define WINDOW_NOTHING (~(uint64_t)0)

typedef struct WEIR__R_ALIGNED(16) window_range {
  uint64_t lo, hi; // [lo, hi); none: lo is WINDOW_NOTHING and hi is 0
} window_range;

// A task as the host publishes it: number, how many ranges, and how many of them, the first ones, are written. Multiple of 16 bytes.
typedef struct WEIR__R_ALIGNED(16) window_task {
  uint32_t number, ranges, writes, unused;
  window_range range[WINDOW_RANGES]; // behind `ranges`: none
} window_task;

// What was found: how many tasks that are not done the task comes after, and the numbers of as many as there is room for.
typedef struct window_result {
  uint32_t number, count, edges[WEIR__R_EDGES], unused[2];
} window_result;

#define WINDOW_STARVED 1u // less was published than was asked for
#define WINDOW_BLOCKED 2u // a slot was needed whose task is not done

// In the card's memory. `done` has the number of the last task done in each slot; at first, the one before the first task.
typedef struct window_card {
  WEIR__R_ALIGNED(128) uint32_t taken; // number of the last task whose result is there
  uint64_t status;                     // 0, or one of these
  uint64_t start_ns, end_ns;           // the first thread's, of the card's clock
  WEIR__R_ALIGNED(128) uint64_t done[WINDOW_MOST_SLOTS];
} window_card;

// In the memory of the block.
typedef struct window_block {
  window_task batch[WINDOW_BATCH];
  uint32_t counts[WINDOW_BATCH];
  uint32_t tail;
} window_block;

// What a launch does.
typedef struct window_job {
  const weir__r_host *head; // of which `tail` alone is there, and is looked at; in the host's or the card's memory
  const window_task *ring;  // in either
  window_card *card;
  window_result *results; // of task `first` and so on
  uint32_t ring_slots;    // a power of two
  uint32_t first, count;  // number of the first task, number of tasks
  uint32_t slots, live;   // of the window: a power of two, a multiple of the threads; less than `slots`
} window_job;

#if defined(__CUDACC__)
WEIR__R_FUNCTION uint32_t window_thread(void) {
  return threadIdx.x;
}
WEIR__R_FUNCTION uint32_t window_threads(void) {
  return blockDim.x;
}
WEIR__R_FUNCTION void window_meet(void) { // of all threads of the block
  __syncthreads();
}
WEIR__R_FUNCTION uint32_t window_add(uint32_t *at, uint32_t value) { // in the block's memory; returns what was there
  return atomicAdd(at, value);
}
#elif defined(WINDOW_TEST) // the threads are the test's own
uint32_t window_thread(void);
uint32_t window_threads(void);
void window_meet(void);
uint32_t window_add(uint32_t *at, uint32_t value);
#endif

#if defined(__CUDACC__) || defined(WINDOW_TEST)

// What a thread keeps.
typedef struct window_slots {
  window_range *ranges; // range r of slot s at r * slots + s
  uint32_t *heads;      // of each slot: ranges * 2^16 + writes
  uint32_t slots,
      rows;        // of all threads, of this one: row r is slot r * threads + thread; powers of two, as the threads
  uint32_t shift;  // that divides by the threads
  uint32_t taken;  // a bit for each row
  uint32_t oldest; // row
} window_slots;

WEIR__R_FUNCTION uint32_t window_slot(const window_slots *w, uint32_t row) {
  return (row << w->shift) + window_thread();
}

// The number of the task in a slot, the next one being `number`.
WEIR__R_FUNCTION uint32_t window_number(const window_slots *w, uint32_t slot, uint32_t number) {
  return number - 1 - ((number - 1 - slot) & (w->slots - 1));
}

// The rows whose tasks conflict with the new one. What is no range overlaps none, so it need not be left out, but where several are.
WEIR__R_FUNCTION uint32_t window_test(const window_slots *w, const window_task *task) {
  const uint32_t ranges = task->ranges, writes = task->writes;
  window_range fresh[WINDOW_RANGES], old[WINDOW_RANGES];
  uint32_t found = 0;
  WEIR__R_UNROLL
  for (uint32_t i = 0; i < WINDOW_RANGES; i++) fresh[i] = task->range[i];
  for (uint32_t left = w->taken; left != 0; left &= left - 1) {
    const uint32_t row = weir__r_lowest(left), slot = window_slot(w, row), head = w->heads[slot];
    uint32_t old_ranges = head >> 16, old_writes = head & 0xffff, conflict = 0;
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < WINDOW_RANGES; j++) old[j] = w->ranges[j * w->slots + slot];
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < WINDOW_RANGES; j++) {
      if (j > 0 && j % 2 == 0 && j >= old_ranges) break;
      uint32_t tests = j < old_writes ? ranges : writes; // of two that read neither waits
      WEIR__R_UNROLL
      for (uint32_t i = 0; i < WINDOW_RANGES; i++) {
        if (i > 0 && i % 4 == 0 && i >= ranges) break;
        conflict |= (uint32_t)(i < tests) & (uint32_t)(fresh[i].lo < old[j].hi) & (uint32_t)(old[j].lo < fresh[i].hi);
      }
    }
    found |= conflict << row;
  }
  return found;
}

// Adds the tasks of the rows in `found` to a list that the warps share.
WEIR__R_FUNCTION void window_list(const window_slots *w, uint32_t number, uint32_t found, uint32_t *count,
                                  window_result *result) {
  if (weir__r_mask(found) == 0) return;
  uint32_t all, at = weir__r_sum_before(weir__r_count(found), &all);
  at += weir__r_from(weir__r_lane() == 0 ? window_add(count, all) : 0, 0);
  for (; found != 0 && at < WEIR__R_EDGES; found &= found - 1, at++) {
    result->edges[at] = window_number(w, window_slot(w, weir__r_lowest(found)), number);
  }
}

// The task gets its slot, by the thread that has it.
WEIR__R_FUNCTION void window_put(window_slots *w, const window_job *job, const window_task *task) {
  const uint32_t slot = task->number & (w->slots - 1), row = slot >> w->shift;
  if (slot != window_slot(w, row)) return;
  if (w->taken >> row & 1) weir__r_store_long(&job->card->status, WINDOW_BLOCKED);
  w->heads[slot] = task->ranges << 16 | task->writes;
  WEIR__R_UNROLL
  for (uint32_t i = 0; i < WINDOW_RANGES; i++) w->ranges[i * w->slots + slot] = task->range[i];
  w->taken |= 1u << row;
}

// A worker's part: the oldest of more than `live` tasks is done.
WEIR__R_FUNCTION void window_finish(const window_slots *w, const window_job *job, uint32_t number) {
  const uint32_t done = number - 1 - job->live, slot = done & (w->slots - 1);
  if (number - job->first <= job->live || slot != window_slot(w, slot >> w->shift)) return;
  weir__r_store_long(&job->card->done[slot], done);
}

WEIR__R_FUNCTION void window_take(window_slots *w, const window_job *job, const window_task *task, uint32_t *count) {
  const uint32_t number = task->number, is = w->taken >> w->oldest & 1, bit = 1u << w->oldest;
  const uint32_t slot = window_slot(w, w->oldest);
  window_finish(w, job, number);
  uint32_t done = is ? (uint32_t)weir__r_load_long(&job->card->done[slot]) : 0;
  uint32_t found = window_test(w, task);
  if (is && (int32_t)(done - window_number(w, slot, number)) >= 0) {
    found &= ~bit;
    w->taken &= ~bit;
    w->oldest = (w->oldest + 1) & (w->rows - 1);
  }
  window_list(w, number, found, count, &job->results[number - job->first]);
  window_put(w, job, task);
}

// From the ring: `count` tasks from number `first` on. A thread loads several pieces before it stores the first, as weir__r_copy_batch.
WEIR__R_FUNCTION void window_copy(window_block *block, const window_job *job, uint32_t first, uint32_t count) {
  enum { AT_ONCE = 6 };
  const uint32_t pieces = sizeof(window_task) / 16, end = count * pieces, threads = window_threads();
  for (uint32_t at = window_thread(); at < end; at += AT_ONCE * threads) {
    weir__r_piece loaded[AT_ONCE];
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < AT_ONCE; j++) {
      uint32_t i = at + j * threads;
      const window_task *task = &job->ring[(first + i / pieces) & (job->ring_slots - 1)];
      if (i < end) loaded[j] = weir__r_load_piece((const weir__r_task *)(const void *)task, i % pieces);
    }
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < AT_ONCE; j++) {
      uint32_t i = at + j * threads;
      if (i >= end) continue;
      uint64_t *words = (uint64_t *)(void *)&block->batch[i / pieces] + 2 * (i % pieces);
      words[0] = loaded[j].low;
      words[1] = loaded[j].high;
    }
  }
  for (uint32_t i = window_thread(); i < count; i += threads) block->counts[i] = 0;
}

// All threads of a block. `memory`: 16 * WINDOW_RANGES + 4 bytes for each slot of the window, aligned to 16.
WEIR__R_FUNCTION void window_run(const window_job *job, window_block *block, void *memory) {
  const uint32_t thread = window_thread(), threads = window_threads();
  window_slots w = {(window_range *)memory, 0, job->slots, job->slots / threads, 0, 0, 0};
  w.heads = (uint32_t *)(void *)(w.ranges + (uint64_t)job->slots * WINDOW_RANGES);
  w.shift = weir__r_lowest(threads);
  // The row of the first task: rows are taken, and freed, in turn from there on.
  w.oldest = ((job->first + ((thread - job->first) & (threads - 1))) & (job->slots - 1)) >> w.shift;
  if (thread == 0) job->card->start_ns = weir__r_now_ns();
  for (uint32_t taken = 0, looks = 0; taken < job->count;) {
    if (thread == 0) block->tail = weir__r_look(job->head).tail;
    window_meet();
    uint32_t count = block->tail - (job->first + taken) + 1;
    if (count > job->count - taken) count = job->count - taken;
    if (count > WINDOW_BATCH) count = WINDOW_BATCH;
    if (count == 0 && ++looks == WINDOW_LOOKS) {
      if (thread == 0) weir__r_store_long(&job->card->status, WINDOW_STARVED);
      break;
    }
    if (count > 0) looks = 0;
    window_copy(block, job, job->first + taken, count);
    window_meet();
    for (uint32_t i = 0; i < count; i++) window_take(&w, job, &block->batch[i], &block->counts[i]);
    window_meet();
    for (uint32_t i = thread; i < count; i += threads) {
      job->results[taken + i].number = block->batch[i].number;
      job->results[taken + i].count = block->counts[i];
    }
    window_meet();
    taken += count;
    if (thread == 0 && count > 0) weir__r_store_release(&job->card->taken, job->first + taken - 1);
  }
  if (thread == 0) job->card->end_ns = weir__r_now_ns();
}

#endif // threads

#endif // WEIR_BENCH_WINDOW_KERNEL_H
