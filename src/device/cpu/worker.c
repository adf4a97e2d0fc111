// SPDX-License-Identifier: Apache-2.0
//
// What a CPU worker does all day.
#include <sched.h>
#include <stdio.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/topology.h"
#include "device/cpu/look.h"
#include "device/cpu/rest.h"

enum {
  MOST_OF_ESTIMATE = 4, // a measured task counts as at most so many times what was expected,
  LEAST_TICKS = 64,     // and so much
};

_Thread_local weir__worker *weir__worker_current;

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
  if ((is_long || locked) && worker->finished_count > 0) weir__worker_report_now(worker);
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
      weir__worker_report_now(worker);
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
  weir__worker_report(guest);
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
  weir__core core;
  worker->roams = !weir__core_take(pthread_self(), cpu->first_core + worker->index, &core);
  bool any_work = false;
  for (;;) {
    uint64_t longest_ns = UINT64_MAX;
    weir__task *task = NULL;
    if (atomic_load_explicit(&cpu->urgent_hint, memory_order_relaxed) == 0) task = weir__queue_take(worker);
    if (task == NULL) {
      task = weir__worker_look(worker, any_work);
      worker->now = 0;
    }
    if (task == NULL) task = weir__worker_steal(worker, any_work);
    any_work = false;
    if (task != NULL) {
      if (atomic_load_explicit(&worker->watches, memory_order_relaxed)) weir__worker_stop_watching(worker);
      run(worker, task);
    } else if (!weir__cpu_progress(worker, &longest_ns, &any_work) && !weir__worker_spin(worker)) {
      weir__rest result = weir__worker_sleep(worker, longest_ns);
      if (result == WEIR__REST_STOPPED) break;
      any_work = result == WEIR__REST_OVERSLEPT;
    }
  }
  weir__core_give(&core);
  return NULL;
}
