// SPDX-License-Identifier: Apache-2.0
//
// The CPU device: workers, their queues of ready tasks, and jobs that several workers share.
//
// DESIGN. A task that becomes ready because a worker finished its last predecessor goes to that worker's own queue, from
// which idle workers steal; a task that is ready when it is submitted goes to the inbox. Both happen with the context's
// lock held. Workers run tasks without the lock, and report short ones in batches: while tasks take some hundred
// nanoseconds, passing the lock and its data between cores costs more than the tasks. How long a kernel takes per
// work-group is remembered, so that a task which is expected to be long is never delayed by a batch and never delays one.
// For the same reason tasks that are known to be tiny are not spread: one worker runs them while the others sleep, unless it
// is held up. Functions under a lock of the program's (weir_task.lock_key) count for a part of their time in all of
// this, since another worker would wait for the lock. They may wait for anything, so nothing that is finished waits for
// them.
// A launch of many work-groups, and a graph, are jobs: they are opened to all workers, who take chunks until none is left.
// A thread of a pipeline runs a short task that it submits by itself, as a guest, where a worker that sleeps leaves it its place: the
// thread has the data, and nobody must be woken. There are never more awake workers and guests than workers.
#ifndef WEIR_DEVICE_CPU_CPU_H
#define WEIR_DEVICE_CPU_CPU_H

#include <pthread.h>

#include "base/random.h"
#include "device/graph.h"
#include "device/host.h"
#include "device/watch.h"
#include "device/work.h"

enum {
  WEIR__WORKER_QUEUE = 256, // ready tasks that a worker keeps; a power of two
  WEIR__WORKER_BATCH = 32,  // finished tasks that it reports at once, at most
  WEIR__LOCKED_SHARE = 16,  // a function under a lock counts for so much less than it takes
  WEIR__PRIORITIES = WEIR_PRIORITY_HIGHEST - WEIR_PRIORITY_LOWEST + 1,
  WEIR__MAX_WORKERS = 1024,
};

typedef struct weir__cpu weir__cpu;
typedef struct weir__job weir__job;

typedef struct weir__finished {
  weir__task *task;
  weir_status status;
  uint64_t start_ns, end_ns; // when the context traces
} weir__finished;

// When the number of submissions that are held back changed last, and when their run began, as a worker saw it.
typedef struct weir__held_watch {
  uint64_t seen;           // weir__host.held
  uint64_t since, changed; // ticks
} weir__held_watch;

typedef struct weir__worker {
  // The queue: the owner adds at `tail`, everyone takes at `head`, oldest first.
  alignas(64) _Atomic uint32_t head;
  alignas(64) _Atomic uint32_t tail;
  _Atomic(weir__task *) queue[WEIR__WORKER_QUEUE];
  _Atomic bool worth_stealing; // the queue may hold tasks that are not tiny
  _Atomic uint64_t last_look;  // ticks when the worker last looked for work
  _Atomic bool in_long_task;
  bool counts_as_busy; // others found it stuck, and counted it in cpu->busy_long; guarded by the context's lock
  // The owner's alone.
  alignas(64) weir__cpu *cpu;
  uint32_t index;
  pthread_t thread;
  bool started;
  weir__finished finished[WEIR__WORKER_BATCH];
  uint32_t finished_count;
  uint64_t first_finished; // ticks when the first of them ended
  uint64_t now;            // ticks, as last read
  weir__failure failure;
  bool guest;          // it is no worker, but stands in for one
  bool roams;          // it is not pinned to a core
  weir__random random; // for stealing, and for disturbing the order in tests
  weir__held_watch held;
  _Atomic bool watches; // it is cpu->watcher; set with the context's lock held
  // Sleeping; guarded by the context's lock but for the word itself.
  alignas(64) _Atomic uint32_t word; // 0 awake, 1 asleep, 2 asleep, and the watcher since then
  struct weir__worker *next_sleeper;
  uint32_t core; // where it ran last
  bool lent;     // a guest has its place and number, so it is not woken
} weir__worker;

struct weir__cpu {
  weir_device base;
  uint32_t worker_count;
  uint32_t first_core; // of the first worker, if it is free: after those of the context's CPU devices before this one
  weir__worker *workers;
  uint64_t long_ticks;  // a task that takes more is long
  uint64_t tiny_ticks;  // and one that takes less is tiny
  uint64_t batch_ticks; // finished tasks are reported at least this often
  // Guarded by the context's lock.
  alignas(64) weir__task *first[WEIR__PRIORITIES], *last[WEIR__PRIORITIES]; // the inbox
  uint32_t inbox_priorities;                                                // bit per priority that is not empty
  uint32_t inbox_count;
  uint64_t inbox_ticks;    // expected work in the inbox
  uint32_t inbox_not_tiny; // tasks in the inbox that are not tiny
  weir__worker *sleepers;
  uint32_t sleeper_count;
  weir__worker *watcher; // sleeps for a short time only, to see whether the others are stuck; NULL: none
  weir__worker *looker;  // sleeps for a short time only, to see whether submissions are still held back; NULL: none
  weir__job *jobs;       // open ones
  weir__job *free_jobs, *all_jobs;
  uint32_t guests;      // that run a task; no more than sleepers
  bool leaves_sleeping; // somebody should have been woken, but for guests
  bool stopping;
  // Hints that idle workers watch without the lock.
  alignas(64) _Atomic uint32_t inbox_hint; // tasks in the inbox
  _Atomic uint32_t urgent_hint;            // of these, with a priority above 0
  _Atomic uint32_t job_hint;               // open jobs that could use another worker
  _Atomic uint32_t spinning;               // workers that look for work
  _Atomic uint32_t busy_long;              // workers in a task that is expected to be long, or was found to be
  _Atomic uint32_t holding_core;           // where the thread last ran whose submissions are held back
  // What functions under a lock took lately, by weir__task.lock_class, as weir_kernel.group_ticks.
  _Atomic uint32_t locked_ticks[WEIR__LOCK_CLASSES];
};

// The worker that this thread is; NULL in other threads.
extern _Thread_local weir__worker *weir__worker_current;

void *weir__worker_main(void *worker);

// A thread that submits a task and would run it by itself.
typedef struct weir__cpu_guest {
  weir__cpu *cpu;
  uint64_t most_ticks; // the task is run if it is expected to take no more
  weir__task *task;    // NULL: it is not for the guest; else weir__cpu_run_guest must be called, without the lock
  weir__worker *place; // the sleeping worker that it stands in for
} weir__cpu_guest;

// A guest's part of what a worker is, for one CPU device and one thread at a time. NULL: no memory.
weir__worker *weir__cpu_guest_create(weir__cpu *cpu, uint64_t seed);
void weir__cpu_run_guest(weir__worker *guest, const weir__cpu_guest *offer);

// What a function learns of who runs it.
static inline void weir__cpu_fill_work(const weir__worker *worker, weir__id task, weir_work *work) {
  work->worker = worker->cpu->base.first_worker + worker->index;
  work->worker_count = worker->cpu->base.host->worker_count;
  work->task = task;
}

// Notes that a worker is awake, or not. The lock is held.
static inline void weir__worker_has_core(const weir__worker *worker, bool awake) {
  weir__host *host = worker->cpu->base.host;
  uint64_t bit = (uint64_t)1 << worker->core % 64;
  if (awake) {
    atomic_store_explicit(&host->worker_core, worker->core, memory_order_relaxed);
    atomic_fetch_or_explicit(&host->worker_cores, bit, memory_order_relaxed);
  } else {
    atomic_fetch_and_explicit(&host->worker_cores, ~bit, memory_order_relaxed);
  }
}

// Adds a ready task to the inbox, or to the current worker's queue. The lock is held.
void weir__cpu_issue(weir_device *device, weir__task *task);

// Wakes up to `count` sleeping workers. The lock is held.
void weir__cpu_wake(weir__cpu *cpu, uint32_t count);

// Ticks that the task is expected to take; UINT64_MAX: not known.
static inline uint64_t weir__cpu_expected(const weir__cpu *cpu, const weir__task *task) {
  if (task->run != NULL || (task->kernel == NULL && task->lock_class == 0)) return UINT64_MAX;
  const _Atomic uint32_t *ticks =
      task->kernel != NULL ? &task->kernel->group_ticks : &cpu->locked_ticks[task->lock_class];
  uint32_t per_group = atomic_load_explicit(ticks, memory_order_relaxed);
  if (per_group == UINT32_MAX) return UINT64_MAX;
  if (task->kernel == NULL) return per_group / WEIR__LOCKED_SHARE;
  return (uint64_t)per_group * task->groups[0] * task->groups[1] * task->groups[2];
}

// Whether somebody wants to know when tasks start and end.
static inline bool weir__cpu_notes_times(const weir__cpu *cpu) {
  const weir__host *host = cpu->base.host;
  return host->trace != NULL || atomic_load_explicit(&host->times_tasks, memory_order_relaxed);
}

static inline uint64_t weir__cpu_ns(const weir__cpu *cpu, uint64_t clock_ns) {
  return clock_ns - cpu->base.host->start_ns;
}

// Adds a span to the task's record in the timeline. The lock is held.
void weir__cpu_trace_span(weir__cpu *cpu, const weir__task *task, uint32_t lane, uint64_t start_ns, uint64_t end_ns,
                          uint32_t node, const char *name);

// Reads the time and corrects an estimate for a work-group, of which `groups` ran since `since`; NULL: there is none.
void weir__cpu_measure(weir__worker *worker, _Atomic uint32_t *group_ticks, uint64_t groups, uint64_t since);

static inline _Atomic uint32_t *weir__cpu_estimate(weir_kernel *kernel) {
  return kernel == NULL ? NULL : &kernel->group_ticks;
}

// Calls the context's progress function until there is work, or the function lets the worker sleep: false, and for how
// long. `*out_any_work` becomes true if the worker has not looked for work for long: it looks for any then, as a
// watcher does.
bool weir__cpu_progress(weir__worker *worker, uint64_t *out_sleep_ns, bool *out_any_work);

// Whether other workers have work in their queues that is worth taking over.
bool weir__cpu_others_have_work(const weir__worker *worker);

// With a seed: gives way to other threads now and then.
void weir__cpu_disturb(weir__worker *worker);

// Ticks that the nodes of a graph are expected to take, one after the other; UINT64_MAX: not known.
uint64_t weir__job_expected(const weir__task *task);

// Jobs (job.h): whether the task should be one, starting it, and helping with one that is open.
bool weir__job_wanted(weir__worker *worker, const weir__task *task);

// See weir__device_ops.expected_ns.
uint64_t weir__job_expected_ns(const weir_device *device, const weir_kernel *kernel, uint64_t groups);

// Runs the task as a job, alone if no job is to be had. No lock is held.
void weir__job_run(weir__worker *worker, weir__task *task);

// Helps with an open job until it has no more chunks. The lock is held before and after. False: there was none.
bool weir__job_help(weir__worker *worker);

bool weir__jobs_initialize(weir__cpu *cpu);
void weir__jobs_deinitialize(weir__cpu *cpu);

#endif // WEIR_DEVICE_CPU_CPU_H
