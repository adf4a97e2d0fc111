// SPDX-License-Identifier: Apache-2.0
//
// A CPU worker that finds no task watches for one, looks after the others, and sleeps.
#include "device/cpu/rest.h"

#include "base/clock.h"

enum {
  SPINS_A_LOOK = 256, // rounds between looks for what is held back
  HELD_AT_REST = 60,  // times long_ticks that no more has come,
  HELD_LONG = 300,    // or that it waits in all
  SPIN_ROUNDS = 150,  // looks for work before sleeping, about 5 us
  LOOK_NS = 60000,    // a sleeper looks again this often while submissions are held back
  SLEEP_NS = 1000000, // a sleeper looks again this often while others work
};

void weir__worker_stop_watching(weir__worker *worker) {
  weir__cpu *cpu = worker->cpu;
  weir__host_lock(cpu->base.host);
  atomic_store_explicit(&worker->watches, false, memory_order_relaxed);
  cpu->watcher = NULL;
  weir__cpu_appoint_watcher(cpu);
  weir__host_unlock(cpu->base.host);
}

// Submissions that are held back go their way when no more have come for a while, or when they wait for long.
static bool is_overdue(const weir__cpu *cpu, weir__held_watch *watch, uint64_t held) {
  uint64_t now = weir__ticks();
  if (watch->seen / WEIR__HELD_RUN != held / WEIR__HELD_RUN) watch->since = now;
  if (watch->seen != held) watch->changed = now;
  watch->seen = held;
  return held > 0 &&
         (now - watch->changed > HELD_AT_REST * cpu->long_ticks || now - watch->since > HELD_LONG * cpu->long_ticks);
}

// Whether the thread that submits cannot go on while this worker spins. Its run would always be overdue.
static bool is_in_the_way(const weir__cpu *cpu) {
  return atomic_load_explicit(&cpu->holding_core, memory_order_relaxed) == weir__current_core();
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

bool weir__worker_spin(weir__worker *worker) {
  weir__cpu *cpu = worker->cpu;
  uint32_t nobody = 0;
  if (!atomic_compare_exchange_strong_explicit(&cpu->spinning, &nobody, 1, memory_order_relaxed, memory_order_relaxed))
    return false;
  uint64_t held = atomic_load_explicit(&cpu->base.host->held, memory_order_relaxed);
  bool found = (held == 0 || !is_in_the_way(cpu)) && spin(worker, SPIN_ROUNDS);
  while (!found && (held = atomic_load_explicit(&cpu->base.host->held, memory_order_relaxed)) > 0) {
    found = is_overdue(cpu, &worker->held, held);
    if (found) {
      settle(cpu, held); // what this thread submits may be in its own queue
    } else {
      if (is_in_the_way(cpu)) break;
      found = spin(worker, SPINS_A_LOOK);
    }
  }
  atomic_store_explicit(&cpu->spinning, 0, memory_order_relaxed);
  return found;
}

// Takes a worker that woke by itself from the list of sleepers, unless somebody has woken it meanwhile.
static void get_up(weir__worker *worker) {
  weir__cpu *cpu = worker->cpu;
  weir__worker **link = &cpu->sleepers;
  while (*link != NULL && *link != worker) link = &(*link)->next_sleeper;
  if (*link != NULL) weir__cpu_unlist_sleeper(cpu, link);
}

weir__rest weir__worker_sleep(weir__worker *worker, uint64_t longest_ns) {
  weir__cpu *cpu = worker->cpu;
  weir__host *host = cpu->base.host;
  weir__host_lock(host);
  if ((host->notices.due & WEIR__DUE_CALLBACKS) &&
      !host->notices.calling) { // callbacks may give this worker tasks, so it is not asleep then
    weir__host_unlock(host);
    return WEIR__REST_WOKEN;
  }
  bool stop = cpu->stopping;
  bool looks = atomic_load_explicit(&host->held, memory_order_relaxed) > 0 && cpu->looker == NULL &&
               atomic_load_explicit(&cpu->spinning, memory_order_relaxed) == 0; // somebody must
  bool found = stop || (looks && !is_in_the_way(cpu)) || (cpu->inbox_count > 0 && !weir__inbox_is_for_others(cpu)) ||
               weir__cpu_others_have_work(worker) || atomic_load_explicit(&cpu->job_hint, memory_order_relaxed) > 0;
  bool others_awake = cpu->sleeper_count + 1 < cpu->worker_count;
  bool watches = others_awake && (cpu->watcher == NULL || cpu->watcher == worker);
  if (!found) {
    if (looks) {
      cpu->looker = worker;
      if (longest_ns > LOOK_NS) longest_ns = LOOK_NS;
    }
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
  if (found) return stop ? WEIR__REST_STOPPED : WEIR__REST_WOKEN;
  for (;;) {
    uint32_t appointed = 2;
    if (atomic_compare_exchange_strong_explicit(&worker->word, &appointed, 1, memory_order_acquire,
                                                memory_order_relaxed))
      watches = true;
    weir__sleep_on(&worker->word, 1, watches && SLEEP_NS < longest_ns ? SLEEP_NS : longest_ns);
    uint32_t word = atomic_load_explicit(&worker->word, memory_order_acquire);
    if (word == 0) return WEIR__REST_WOKEN;
    if (word == 2) continue;
    weir__host_lock(host);
    bool gets_up = !worker->lent;
    if (gets_up) get_up(worker);
    weir__host_unlock(host);
    if (gets_up) return watches ? WEIR__REST_OVERSLEPT : WEIR__REST_WOKEN;
  }
}
