// SPDX-License-Identifier: Apache-2.0
//
// How a CPU worker reports what it has finished, and finds the next task.
#include "device/cpu/look.h"

#include "base/clock.h"

// Whether all workers that are awake are stuck.
static bool all_stuck(weir__worker *self, uint64_t now) {
  weir__cpu *cpu = self->cpu;
  for (uint32_t i = 0; i < cpu->worker_count; i++) {
    weir__worker *worker = &cpu->workers[i];
    if (worker != self && atomic_load_explicit(&worker->word, memory_order_relaxed) == 0 &&
        !weir__worker_is_stuck(worker, now))
      return false;
  }
  return true;
}

// Workers that are stuck are not at hand: what waits for them is for others. They say so themselves when they look for
// work again. The lock is held.
static void count_stuck(weir__worker *self, uint64_t now) {
  weir__cpu *cpu = self->cpu;
  for (uint32_t i = 0; i < cpu->worker_count; i++) {
    weir__worker *worker = &cpu->workers[i];
    bool counted = worker->counts_as_busy || atomic_load_explicit(&worker->in_long_task, memory_order_relaxed);
    bool asleep = atomic_load_explicit(&worker->word, memory_order_relaxed) != 0;
    if (worker == self || counted || asleep || !weir__worker_is_stuck(worker, now)) continue;
    worker->counts_as_busy = true;
    atomic_fetch_add_explicit(&cpu->busy_long, 1, memory_order_relaxed);
    atomic_store_explicit(&worker->worth_stealing, true, memory_order_relaxed);
  }
}

// The lock is held.
static void count_no_more(weir__worker *worker) {
  worker->counts_as_busy = false;
  atomic_fetch_sub_explicit(&worker->cpu->busy_long, 1, memory_order_relaxed);
}

// Asks for the slots of what comes after the tasks that are reported. Mostly another core wrote them last; all at once
// they take little longer than one. (The compiler drops a call of a function that only asks for lines.)
static inline __attribute__((always_inline)) void fetch_successors(const weir__worker *worker) {
  const weir__window *window = &worker->cpu->base.host->window;
  for (uint32_t i = 0; i < worker->finished_count; i++) {
    const weir__task *task = worker->finished[i].task;
    for (uint32_t j = 0; j < task->successor_count; j++)
      __builtin_prefetch(&window->tasks[task->successors[j] >> WEIR__EDGE_BITS], 1);
  }
}

void weir__worker_report(weir__worker *worker) {
  if (worker->finished_count == 0) return;
  weir__host *host = worker->cpu->base.host;
  if (worker->finished_count > 1) fetch_successors(worker);
  for (uint32_t i = 0; i < worker->finished_count; i++) {
    const weir__finished *finished = &worker->finished[i];
    weir__completion completion = {
        .status = finished->status, .lane = worker->index, .start_ns = finished->start_ns, .end_ns = finished->end_ns};
    if (finished->status == WEIR_ERROR_TASK_FAILED) completion.message = worker->failure.message;
    weir__host_complete(host, finished->task, &completion);
  }
  worker->finished_count = 0;
  weir__host_completed(host);
}

void weir__worker_report_now(weir__worker *worker) {
  weir__host *host = worker->cpu->base.host;
  weir__worker_prepare_report(worker);
  weir__host_lock(host);
  weir__worker_report(worker);
  weir__host_unlock(host);
}

// Moves tasks from the inbox to the worker's queue: enough short ones for a batch, or one that may be long.
static void refill(weir__worker *worker) {
  weir__cpu *cpu = worker->cpu;
  uint64_t expected = 0;
  uint32_t share = cpu->inbox_not_tiny == 0 ? WEIR__WORKER_BATCH : cpu->inbox_count / cpu->worker_count + 1;
  uint32_t count = 0;
  while (cpu->inbox_count > 0 && count < share && count < WEIR__WORKER_BATCH && expected < cpu->long_ticks) {
    weir__task *task = weir__inbox_take(cpu);
    uint64_t ticks = weir__cpu_expected(cpu, task);
    expected = ticks > cpu->long_ticks ? cpu->long_ticks : expected + ticks;
    if (ticks >= cpu->tiny_ticks) atomic_store_explicit(&worker->worth_stealing, true, memory_order_relaxed);
    weir__queue_push(worker, task);
    count++;
  }
  if (count == 0) return;
  weir__inbox_update_hints(cpu);
  if (cpu->inbox_count > 0) weir__cpu_wake_for(cpu, cpu->inbox_ticks, cpu->inbox_not_tiny == 0);
}

// A thread that waits on a worker's core sleeps, so the core of a worker that moves is noted. The lock is held.
static void note_core(weir__worker *worker) {
  uint32_t core = weir__current_core();
  if (core == worker->core) return;
  weir__worker_has_core(worker, false);
  worker->core = core;
  weir__worker_has_core(worker, true);
}

weir__task *weir__worker_look(weir__worker *worker, bool any_work) {
  weir__host *host = worker->cpu->base.host;
  weir__cpu_disturb(worker);
  uint64_t now = weir__ticks();
  atomic_store_explicit(&worker->last_look, now, memory_order_relaxed);
  weir__worker_prepare_report(worker);
  weir__host_lock(host);
  if (worker->roams) note_core(worker);
  if (worker->counts_as_busy) count_no_more(worker);
  if (any_work) count_stuck(worker, now);
  weir__worker_report(worker);
  weir__task *task = NULL;
  if (worker->cpu->inbox_priorities >> (1 - WEIR_PRIORITY_LOWEST) != 0) { // urgent tasks come first
    task = weir__inbox_take(worker->cpu);
    weir__inbox_update_hints(worker->cpu);
  } else if (weir__queue_count(worker) == 0) {
    atomic_store_explicit(&worker->worth_stealing, false, memory_order_relaxed);
    if (!weir__inbox_is_for_others(worker->cpu) || (any_work && all_stuck(worker, now)))
      refill(worker);
    else
      weir__inbox_update_hints(
          worker->cpu); // whoever spins may go to sleep, and look after the others when it has overslept
    if (weir__queue_count(worker) == 0) weir__job_help(worker);
  }
  weir__host_unlock(host);
  return task != NULL ? task : weir__queue_take(worker);
}

weir__task *weir__worker_steal(weir__worker *worker, bool any_work) {
  weir__cpu *cpu = worker->cpu;
  uint32_t start = weir__random_next(&worker->random) % cpu->worker_count;
  uint64_t now = any_work ? weir__ticks() : 0;
  for (uint32_t i = 0; i < cpu->worker_count; i++) {
    weir__worker *victim = &cpu->workers[(start + i) % cpu->worker_count];
    if (victim == worker) continue;
    if (!atomic_load_explicit(&victim->worth_stealing, memory_order_relaxed) &&
        !(any_work && weir__worker_is_stuck(victim, now)))
      continue;
    weir__task *task = weir__queue_take(victim);
    if (task != NULL) return task;
  }
  return NULL;
}

bool weir__cpu_others_have_work(const weir__worker *worker) {
  weir__cpu *cpu = worker->cpu;
  for (uint32_t i = 0; i < cpu->worker_count; i++) {
    weir__worker *other = &cpu->workers[i];
    if (other != worker && weir__queue_count(other) > 0 &&
        atomic_load_explicit(&other->worth_stealing, memory_order_relaxed))
      return true;
  }
  return false;
}
