// SPDX-License-Identifier: Apache-2.0
//
// Ready tasks of the CPU device: the workers' queues, the inbox, and who is woken for them.
#ifndef WEIR_DEVICE_CPU_READY_H
#define WEIR_DEVICE_CPU_READY_H

#include "device/cpu/cpu.h"

enum {
  WEIR__WORTH_WAKING = 5,  // times long_ticks of waiting short tasks that are worth waking another worker for
  WEIR__STUCK_AFTER = 500, // times long_ticks without a look for work
};

// Whether a worker that is awake has not looked for work for long: its task takes longer than was thought.
static inline bool weir__worker_is_stuck(weir__worker *worker, uint64_t now) {
  uint64_t last = atomic_load_explicit(&worker->last_look, memory_order_relaxed);
  return now > last && now - last > WEIR__STUCK_AFTER * worker->cpu->long_ticks;
}

// A worker's queue. Only the owner adds; false: it is full.
static inline bool weir__queue_push(weir__worker *worker, weir__task *task) {
  uint32_t tail = atomic_load_explicit(&worker->tail, memory_order_relaxed);
  if (tail - atomic_load_explicit(&worker->head, memory_order_acquire) == WEIR__WORKER_QUEUE) return false;
  atomic_store_explicit(&worker->queue[tail % WEIR__WORKER_QUEUE], task, memory_order_relaxed);
  atomic_store_explicit(&worker->tail, tail + 1, memory_order_release);
  return true;
}

// Takes the oldest task; NULL: there is none. Any thread.
static inline weir__task *weir__queue_take(weir__worker *worker) {
  uint32_t head = atomic_load_explicit(&worker->head, memory_order_acquire);
  for (;;) {
    if (head == atomic_load_explicit(&worker->tail, memory_order_acquire)) return NULL;
    weir__task *task = atomic_load_explicit(&worker->queue[head % WEIR__WORKER_QUEUE], memory_order_relaxed);
    if (atomic_compare_exchange_weak_explicit(&worker->head, &head, head + 1, memory_order_acq_rel,
                                              memory_order_acquire))
      return task;
  }
}

static inline uint32_t weir__queue_count(weir__worker *worker) {
  return atomic_load_explicit(&worker->tail, memory_order_relaxed) -
         atomic_load_explicit(&worker->head, memory_order_relaxed);
}

// Workers that are awake and not in a long task.
static inline uint32_t weir__cpu_at_hand(const weir__cpu *cpu) {
  uint32_t awake = cpu->worker_count - cpu->sleeper_count;
  uint32_t busy = atomic_load_explicit(&cpu->busy_long, memory_order_relaxed);
  return awake > busy ? awake - busy : 0;
}

// Whether the inbox holds nothing for this worker, because others are at hand for the tiny tasks in it.
static inline bool weir__inbox_is_for_others(const weir__cpu *cpu) {
  return cpu->inbox_not_tiny == 0 && weir__cpu_at_hand(cpu) > 1;
}

// Takes the next task out of the inbox, which is not empty; the most urgent first. The lock is held, as for all that
// follow. Afterwards, once, weir__inbox_update_hints must be called.
weir__task *weir__inbox_take(weir__cpu *cpu);
void weir__inbox_update_hints(weir__cpu *cpu);

// Takes a sleeper from the list: it is awake. The lock is held.
void weir__cpu_unlist_sleeper(weir__cpu *cpu, weir__worker **link);

// Wakes a worker if those that are awake are not enough for the work that waits, of which some is not `tiny`.
void weir__cpu_wake_for(weir__cpu *cpu, uint64_t waiting_ticks, bool tiny);

// Makes sure that, while work waits for workers that are thought to be at hand, somebody looks after them now and then.
void weir__cpu_appoint_watcher(weir__cpu *cpu);

#endif // WEIR_DEVICE_CPU_READY_H
