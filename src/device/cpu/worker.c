// SPDX-License-Identifier: Apache-2.0
//
// What a CPU worker does all day.
#include <sched.h>
#include <stdio.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/topology.h"
#include "device/cpu/ready.h"

enum {
  SPINS_A_LOOK = 8,     // rounds between looks for what is held back
  HELD_AT_REST = 60,    // times long_ticks that no more has come,
  HELD_LONG = 300,      // or that it waits in all
  SPIN_ROUNDS = 150,    // looks for work before sleeping, about 5 us
  SLEEP_NS = 1000000,   // a sleeper looks again this often while others work
  MOST_OF_ESTIMATE = 4, // a measured task counts as at most so many times what was expected,
  LEAST_TICKS = 64,     // and so much
};

_Thread_local weir__worker *weir__worker_current;

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

// A watcher that has found work leaves its post to the next.
static void stop_watching(weir__worker *worker) {
  weir__cpu *cpu = worker->cpu;
  weir__host_lock(cpu->base.host);
  atomic_store_explicit(&worker->watches, false, memory_order_relaxed);
  cpu->watcher = NULL;
  weir__cpu_appoint_watcher(cpu);
  weir__host_unlock(cpu->base.host);
}

void weir__cpu_trace_span(weir__cpu *cpu, const weir__task *task, uint32_t lane, uint64_t start_ns, uint64_t end_ns,
                          uint32_t node, const char *name) {
  weir__trace *trace = cpu->base.host->trace;
  weir__trace_span span = {.lane = lane, .start_ns = start_ns, .end_ns = end_ns, .node = node};
  snprintf(span.name, sizeof span.name, "%s", name);
  weir__trace_add_span(trace, task->id, &span);
}

void weir__cpu_disturb(weir__worker *worker) {
  if (worker->cpu->base.host->seed == 0) return;
  uint32_t dice = weir__random_next(&worker->random);
  if (dice % 4 == 0) sched_yield();
  for (uint32_t i = dice >> 8 & 255; dice % 8 == 1 && i > 0; i--) weir__pause();
}

// Reports what is finished. The lock is held.
static void report(weir__worker *worker) {
  if (worker->finished_count == 0) return;
  weir__host *host = worker->cpu->base.host;
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

// Reports, and looks for work under the lock; `any_work`: also for tiny tasks that others are at hand for. NULL: there is none
// in the inbox.
static weir__task *look_inside(weir__worker *worker, bool any_work) {
  weir__host *host = worker->cpu->base.host;
  weir__cpu_disturb(worker);
  uint64_t now = weir__ticks();
  atomic_store_explicit(&worker->last_look, now, memory_order_relaxed);
  weir__host_lock(host);
  if (worker->counts_as_busy) count_no_more(worker);
  if (any_work) count_stuck(worker, now);
  report(worker);
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

static weir__task *steal(weir__worker *worker, bool any_work) {
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

// Submissions that are held back go their way when no more have come for a while, or when they wait for long.
typedef struct held_watch {
  uint64_t seen;
  uint64_t since, changed; // ticks
} held_watch;

static bool is_overdue(const weir__cpu *cpu, held_watch *watch, uint64_t held) {
  uint64_t now = weir__ticks();
  if (watch->seen / WEIR__HELD_RUN != held / WEIR__HELD_RUN) watch->since = now;
  if (watch->seen != held) watch->changed = now;
  watch->seen = held;
  return held > 0 &&
         (now - watch->changed > HELD_AT_REST * cpu->long_ticks || now - watch->since > HELD_LONG * cpu->long_ticks);
}

static void settle(const weir__cpu *cpu, uint64_t seen) {
  weir__host_lock(cpu->base.host);
  weir__host_settle(cpu->base.host, seen);
  weir__host_unlock(cpu->base.host);
}

static inline bool spin(weir__worker *worker, int rounds) {
  weir__cpu *cpu = worker->cpu;
  bool found = false;
  for (int round = 0; round < rounds && !found; round++) {
    weir__pause();
    found = atomic_load_explicit(&cpu->inbox_hint, memory_order_relaxed) > 0 ||
            atomic_load_explicit(&cpu->job_hint, memory_order_relaxed) > 0 || weir__cpu_others_have_work(worker);
  }
  return found;
}

// Watches for work a little while. One worker at a time does so; the others sleep.
static bool spin_for_work(weir__worker *worker) {
  weir__cpu *cpu = worker->cpu;
  uint32_t nobody = 0;
  if (!atomic_compare_exchange_strong_explicit(&cpu->spinning, &nobody, 1, memory_order_relaxed, memory_order_relaxed))
    return false;
  bool found = spin(worker, SPIN_ROUNDS);
  held_watch watch = {.seen = 0};
  uint64_t held;
  while (!found && (held = atomic_load_explicit(&cpu->base.host->held, memory_order_relaxed)) > 0) {
    found = spin(worker, SPINS_A_LOOK);
    if (found || !is_overdue(cpu, &watch, held)) continue;
    settle(cpu, held);
    found = true; // what this thread submits may be in its own queue
  }
  atomic_store_explicit(&cpu->spinning, 0, memory_order_relaxed);
  return found;
}

typedef enum sleep_result { STOPPED, WOKEN, OVERSLEPT } sleep_result;

// Takes a worker that woke by itself from the list of sleepers, unless somebody has woken it meanwhile.
static void get_up(weir__worker *worker) {
  weir__cpu *cpu = worker->cpu;
  for (weir__worker **link = &cpu->sleepers; *link != NULL; link = &(*link)->next_sleeper) {
    if (*link != worker) continue;
    *link = worker->next_sleeper;
    cpu->sleeper_count--;
    atomic_store_explicit(&worker->word, 0, memory_order_relaxed);
    weir__worker_has_core(worker, true);
    return;
  }
}

// Sleeps until woken, or for `longest_ns`. The watcher does not sleep for long: OVERSLEPT means to look for any work at all, in
// case the others are stuck in tasks that were thought to be short.
static sleep_result sleep_for_work(weir__worker *worker, uint64_t longest_ns) {
  weir__cpu *cpu = worker->cpu;
  weir__host *host = cpu->base.host;
  weir__host_lock(host);
  if ((host->notices.due & WEIR__DUE_CALLBACKS) &&
      !host->notices.calling) { // callbacks may give this worker tasks, so it is not asleep then
    weir__host_unlock(host);
    return WOKEN;
  }
  bool stop = cpu->stopping;
  bool looks = atomic_load_explicit(&host->held, memory_order_relaxed) > 0 &&
               atomic_load_explicit(&cpu->spinning, memory_order_relaxed) == 0; // somebody must
  bool found = stop || looks || (cpu->inbox_count > 0 && !weir__inbox_is_for_others(cpu)) ||
               weir__cpu_others_have_work(worker) || atomic_load_explicit(&cpu->job_hint, memory_order_relaxed) > 0;
  bool others_awake = cpu->sleeper_count + 1 < cpu->worker_count;
  bool watches = others_awake && (cpu->watcher == NULL || cpu->watcher == worker);
  if (!found) {
    if (watches || cpu->watcher == worker) cpu->watcher = watches ? worker : NULL;
    atomic_store_explicit(&worker->watches, watches, memory_order_relaxed);
    atomic_store_explicit(&worker->word, 1, memory_order_relaxed);
    worker->next_sleeper = cpu->sleepers;
    cpu->sleepers = worker;
    cpu->sleeper_count++;
    weir__worker_has_core(worker, false); // its bit, and not one that it had before it was moved
    worker->core = weir__current_core();
  }
  weir__host_unlock(host);
  if (found) return stop ? STOPPED : WOKEN;
  for (;;) {
    uint32_t appointed = 2;
    if (atomic_compare_exchange_strong_explicit(&worker->word, &appointed, 1, memory_order_acquire,
                                                memory_order_relaxed))
      watches = true;
    weir__sleep_on(&worker->word, 1, watches && SLEEP_NS < longest_ns ? SLEEP_NS : longest_ns);
    uint32_t word = atomic_load_explicit(&worker->word, memory_order_acquire);
    if (word == 0) return WOKEN;
    if (word == 2) continue;
    weir__host_lock(host);
    bool gets_up = !worker->lent;
    if (gets_up) get_up(worker);
    weir__host_unlock(host);
    if (gets_up) return watches ? OVERSLEPT : WOKEN;
  }
}

void weir__cpu_measure(weir__worker *worker, _Atomic uint32_t *group_ticks, uint64_t groups, uint64_t since) {
  worker->now = weir__ticks();
  if (group_ticks == NULL) return;
  uint64_t ticks = worker->now - since;
  if (groups != 1) ticks /= groups; // a division takes as long as a tiny task
  if (ticks >= UINT32_MAX) ticks = UINT32_MAX - 1;
  uint32_t old = atomic_load_explicit(group_ticks, memory_order_relaxed);
  // A task that the system interrupted says little about the next one, so one sample cannot raise the estimate by much.
  uint64_t most = MOST_OF_ESTIMATE * (uint64_t)old + LEAST_TICKS;
  if (old != UINT32_MAX && ticks > most) ticks = most;
  uint32_t estimate = old == UINT32_MAX ? (uint32_t)ticks : (uint32_t)((7 * (uint64_t)old + ticks) / 8);
  if (estimate != old) atomic_store_explicit(group_ticks, estimate, memory_order_relaxed);
}

// As weir__host_skip_status, which is asked where there is something to say.
static inline weir_status skip_status(weir__host *host, const weir__task *task) {
  bool plain = (task->kind <= WEIR__TASK_HOST) & !task->dropped & !task->reads_poison;
  if (plain && task->id >= atomic_load_explicit(&host->cancel_before, memory_order_relaxed)) return WEIR_OK;
  return weir__host_skip_status(host, task);
}

static weir_status run_function(weir__worker *worker, weir__task *task, uint64_t groups) {
  weir_status status = skip_status(worker->cpu->base.host, task);
  if (status != WEIR_OK || task->function == NULL) return status;
  weir_work work = {.args = task->args,
                    .arg_count = task->arg_count,
                    .groups = {task->groups[0], task->groups[1], task->groups[2]},
                    .first = 0,
                    .end = groups,
                    .user = task->user,
                    .internal = &worker->failure};
  weir__this_thread.task = task;
  weir__cpu_fill_work(worker, task->id, &work);
  weir__watch_call(worker->cpu->base.host, task, task->function, &work);
  if (!worker->failure.failed) return WEIR_OK;
  worker->failure.failed = false;
  return WEIR_ERROR_TASK_FAILED;
}

static void report_now(weir__worker *worker) {
  weir__host *host = worker->cpu->base.host;
  weir__host_lock(host);
  report(worker);
  weir__host_unlock(host);
}

// Lets others have what is in the queue, since this worker starts a long task.
static void offer_queue(weir__worker *worker) {
  weir__host *host = worker->cpu->base.host;
  atomic_store_explicit(&worker->worth_stealing, true, memory_order_relaxed);
  weir__host_lock(host);
  weir__cpu_wake_for(worker->cpu, WEIR__WORTH_WAKING * worker->cpu->long_ticks, false);
  weir__host_unlock(host);
}

static void run(weir__worker *worker, weir__task *task) {
  weir__cpu *cpu = worker->cpu;
  bool timed = weir__cpu_notes_times(cpu);
  uint64_t expected = weir__cpu_expected(cpu, task);
  bool is_long = expected > cpu->long_ticks && !worker->guest, locked = task->lock_class != 0;
  weir__cpu_disturb(worker);
  if ((is_long || locked) && worker->finished_count > 0) report_now(worker);
  if (is_long) {
    atomic_fetch_add_explicit(&cpu->busy_long, 1, memory_order_relaxed);
    atomic_store_explicit(&worker->in_long_task, true, memory_order_relaxed);
    if (weir__queue_count(worker) > 0) offer_queue(worker);
  }
  bool may_be_job = task->run != NULL || (task->groups[0] | task->groups[1] | task->groups[2]) != 1;
  if (may_be_job && weir__job_wanted(worker, task)) {
    weir__job_run(worker, task);
    worker->now = weir__ticks();
  } else {
    weir__finished *finished = &worker->finished[worker->finished_count++];
    uint64_t groups = (uint64_t)task->groups[0] * task->groups[1] * task->groups[2];
    _Atomic uint32_t *estimate = locked ? &cpu->locked_ticks[task->lock_class] : weir__cpu_estimate(task->kernel);
    finished->task = task;
    if (timed) finished->start_ns = weir__cpu_ns(cpu, weir__clock_ns());
    uint64_t since = is_long || worker->now == 0 ? weir__ticks() : worker->now;
    finished->status = run_function(worker, task, groups);
    weir__cpu_measure(worker, estimate, groups, since);
    if (timed) finished->end_ns = weir__cpu_ns(cpu, weir__clock_ns());
    if (worker->finished_count == 1) worker->first_finished = worker->now;
    bool failed = finished->status == WEIR_ERROR_TASK_FAILED;
    if (failed || locked || worker->finished_count == WEIR__WORKER_BATCH || worker->now - since > cpu->long_ticks ||
        worker->now - worker->first_finished > cpu->batch_ticks)
      report_now(worker);
  }
  if (!is_long) return;
  atomic_store_explicit(&worker->in_long_task, false, memory_order_relaxed);
  atomic_fetch_sub_explicit(&cpu->busy_long, 1, memory_order_relaxed);
}

weir__worker *weir__cpu_guest_create(weir__cpu *cpu, uint64_t seed) {
  weir__worker *guest = weir__allocate_zeroed(sizeof *guest);
  if (guest == NULL) return NULL;
  guest->cpu = cpu;
  guest->guest = true;
  guest->random.state = seed * 0x9e3779b97f4a7c15ull | 1;
  return guest;
}

void weir__cpu_run_guest(weir__worker *guest, const weir__cpu_guest *offer) {
  weir__cpu *cpu = guest->cpu;
  guest->index = offer->place->index;
  weir__thread before = weir__this_thread;
  weir__this_thread.in_task = true;
  weir__this_thread.event = NULL;
  guest->now = 0;
  run(guest, offer->task);
  weir__this_thread = before;
  weir__host_lock(cpu->base.host);
  report(guest);
  cpu->guests--;
  offer->place->lent = false;
  bool wakes = cpu->leaves_sleeping;
  cpu->leaves_sleeping = false;
  if (wakes) weir__cpu_wake(cpu, 1);
  weir__host_unlock(cpu->base.host);
}

void *weir__worker_main(void *argument) {
  weir__worker *worker = argument;
  weir__cpu *cpu = worker->cpu;
  weir__worker_current = worker;
  weir__this_thread.in_task = true;
  (void)weir__pin_thread(pthread_self(), cpu->first_core + worker->index);
  bool any_work = false;
  for (;;) {
    uint64_t longest_ns = UINT64_MAX;
    weir__task *task = NULL;
    if (atomic_load_explicit(&cpu->urgent_hint, memory_order_relaxed) == 0) task = weir__queue_take(worker);
    if (task == NULL) {
      task = look_inside(worker, any_work);
      worker->now = 0;
    }
    if (task == NULL) task = steal(worker, any_work);
    any_work = false;
    if (task != NULL) {
      if (atomic_load_explicit(&worker->watches, memory_order_relaxed)) stop_watching(worker);
      run(worker, task);
    } else if (!weir__cpu_progress(worker, &longest_ns, &any_work) && !spin_for_work(worker)) {
      sleep_result result = sleep_for_work(worker, longest_ns);
      if (result == STOPPED) return NULL;
      any_work = result == OVERSLEPT;
    }
  }
}
