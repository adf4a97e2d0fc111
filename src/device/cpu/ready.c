// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/ready.h"

// Ticks that a task is expected to take; one of unknown length counts as worth a worker of its own.
static uint64_t expected_at_most(const weir__cpu *cpu, const weir__task *task) {
  uint64_t expected = weir__cpu_expected(cpu, task), most = WEIR__WORTH_WAKING * cpu->long_ticks;
  return expected < most ? expected : most;
}

void weir__inbox_update_hints(weir__cpu *cpu) {
  uint32_t urgent = cpu->inbox_priorities >> (1 - WEIR_PRIORITY_LOWEST);
  atomic_store_explicit(&cpu->inbox_hint, weir__inbox_is_for_others(cpu) ? 0 : cpu->inbox_count, memory_order_relaxed);
  atomic_store_explicit(&cpu->urgent_hint, urgent, memory_order_relaxed);
}

static void inbox_add(weir__cpu *cpu, weir__task *task, uint64_t expected) {
  int bucket = task->priority - WEIR_PRIORITY_LOWEST;
  task->next = NULL;
  if (cpu->inbox_priorities >> bucket & 1)
    cpu->last[bucket]->next = task;
  else
    cpu->first[bucket] = task;
  cpu->last[bucket] = task;
  cpu->inbox_priorities |= 1u << bucket;
  cpu->inbox_count++;
  cpu->inbox_ticks += expected;
  cpu->inbox_not_tiny += expected >= cpu->tiny_ticks;
  weir__inbox_update_hints(cpu);
}

weir__task *weir__inbox_take(weir__cpu *cpu) {
  int bucket = 31 - __builtin_clz(cpu->inbox_priorities);
  weir__task *task = cpu->first[bucket];
  cpu->first[bucket] = task->next;
  if (task->next == NULL) cpu->inbox_priorities &= ~(1u << bucket);
  // Estimates change between adding and taking, so the sums are only about right until the inbox is empty.
  uint64_t expected = expected_at_most(cpu, task);
  cpu->inbox_ticks -= expected < cpu->inbox_ticks ? expected : cpu->inbox_ticks;
  if (cpu->inbox_not_tiny > 0) cpu->inbox_not_tiny -= expected >= cpu->tiny_ticks;
  if (--cpu->inbox_count == 0) cpu->inbox_ticks = cpu->inbox_not_tiny = 0;
  return task;
}

// Whether a sleeper may be woken: those whose places guests have may not, and it is noted that one should have been.
static bool may_wake(weir__cpu *cpu) {
  bool may = cpu->sleeper_count > cpu->guests || cpu->stopping;
  if (!may) cpu->leaves_sleeping = true;
  return may;
}

// The link to the first sleeper from `link` on whose place no guest has; there is one if a sleeper may be woken.
static weir__worker **first_not_lent(weir__worker **link) {
  while (*link != NULL && (*link)->lent) link = &(*link)->next_sleeper;
  return link;
}

// Where in the list the sleeper is that is woken next: not the first, if it would have to wait for this thread's core.
static weir__worker **next_sleeper(weir__cpu *cpu) {
  weir__worker **first = first_not_lent(&cpu->sleepers), **second = first_not_lent(&(*first)->next_sleeper);
  return *second != NULL && (*first)->core == weir__current_core() ? second : first;
}

void weir__cpu_unlist_sleeper(weir__cpu *cpu, weir__worker **link) {
  weir__worker *worker = *link;
  *link = worker->next_sleeper;
  cpu->sleeper_count--;
  if (cpu->looker == worker) cpu->looker = NULL;
  weir__worker_has_core(worker, true);
  atomic_store_explicit(&worker->word, 0, memory_order_release);
}

static void wake_sleeper(weir__cpu *cpu, weir__worker **link) {
  weir__worker *worker = *link;
  weir__cpu_unlist_sleeper(cpu, link);
  weir__host_wake(cpu->base.host, &worker->word);
}

void weir__cpu_wake(weir__cpu *cpu, uint32_t count) {
  while (count-- > 0 && cpu->sleepers != NULL && may_wake(cpu)) wake_sleeper(cpu, next_sleeper(cpu));
}

// The watcher only sleeps for less long from now on. Awake it would count as at hand, and take the work over from the
// one that has it.
void weir__cpu_appoint_watcher(weir__cpu *cpu) {
  if (cpu->watcher != NULL || cpu->sleepers == NULL || !may_wake(cpu)) return;
  cpu->watcher = *next_sleeper(cpu);
  atomic_store_explicit(&cpu->watcher->watches, true, memory_order_relaxed);
  atomic_store_explicit(&cpu->watcher->word, 2, memory_order_release);
  weir__host_wake(cpu->base.host, &cpu->watcher->word);
}

void weir__cpu_wake_for(weir__cpu *cpu, uint64_t waiting_ticks, bool tiny) {
  if (cpu->sleepers == NULL) return;
  if (weir__cpu_at_hand(cpu) > 0 && (tiny || waiting_ticks < WEIR__WORTH_WAKING * cpu->long_ticks)) {
    weir__cpu_appoint_watcher(cpu);
    return;
  }
  if (atomic_load_explicit(&cpu->spinning, memory_order_relaxed) > 0 &&
      waiting_ticks < 2 * WEIR__WORTH_WAKING * cpu->long_ticks)
    return;
  weir__cpu_wake(cpu, 1);
}

// Whether the submitting thread takes the task.
static bool is_for_guest(weir__cpu *cpu, weir__task *task) {
  weir__cpu_guest *guest = task->guest;
  if (guest == NULL || guest->cpu != cpu) return false;
  if (cpu->guests >= cpu->sleeper_count || cpu->base.host->trace != NULL || task->priority != 0) return false;
  uint64_t expected = task->run != NULL ? weir__job_expected(task) : weir__cpu_expected(cpu, task);
  if (expected > guest->most_ticks) return false;
  guest->task = task;
  guest->place = *first_not_lent(&cpu->sleepers);
  guest->place->lent = true;
  cpu->guests++;
  return true;
}

void weir__cpu_issue(weir_device *device, weir__task *task) {
  weir__cpu *cpu = (weir__cpu *)device;
  if (is_for_guest(cpu, task)) return;
  uint64_t expected = expected_at_most(cpu, task);
  weir__worker *worker = weir__worker_current;
  bool tiny = expected < cpu->tiny_ticks;
  // Tiny tasks gather in the inbox until one worker is left for them.
  bool keeps = worker != NULL && worker->cpu == cpu && task->priority == 0 && !(tiny && weir__cpu_at_hand(cpu) > 1);
  if (keeps && weir__queue_push(worker, task)) {
    uint32_t others = weir__queue_count(worker) - 1; // the owner takes one itself
    if (!tiny) atomic_store_explicit(&worker->worth_stealing, true, memory_order_relaxed);
    if (others > 0) weir__cpu_wake_for(cpu, others * expected, tiny);
    return;
  }
  inbox_add(cpu, task, expected);
  weir__cpu_wake_for(cpu, cpu->inbox_ticks, cpu->inbox_not_tiny == 0);
}
