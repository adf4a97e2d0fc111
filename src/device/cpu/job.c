// SPDX-License-Identifier: Apache-2.0
//
// Jobs: tasks that several workers share. A launch is cut into ranges of work-groups; a graph is run node by node. Whoever
// leaves a finished job last reports its task.
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "device/cpu/cpu.h"
#include "device/graph.h"

enum {
  WORTH_SHARING = 20, // times long_ticks: a shorter launch is run by one worker
  CHUNK = 2,          // times long_ticks: chunks are not made shorter
  NODES_AT_ONCE = 16,
  BYTES_PER_TICK = 4, // that a copy or fill moves, about
  COPY_TICKS = 100,   // before it does
};

struct weir__job {
  weir__job *next; // among the open or free ones; guarded by the context's lock, as are
  weir__job *next_of_all;
  uint32_t participants;
  bool open;
  weir__task *task;
  uint64_t start_ns;
  // Ranges.
  _Atomic uint64_t next_group;
  uint64_t groups, smallest_chunk;
  _Atomic bool failed;
  weir__failure failure; // guarded by `lock`
  // Graphs.
  weir__lock lock;
  uint32_t head, tail; // of run->ready; guarded by `lock`
  bool wants_help;     // guarded by `lock`; counted in job_hint
};

bool weir__jobs_initialize(weir__cpu *cpu) {
  for (uint32_t i = 0; i < 2 * cpu->worker_count; i++) {
    weir__job *job = weir__allocate_zeroed(sizeof *job);
    if (job == NULL) return false;
    job->next = cpu->free_jobs;
    cpu->free_jobs = job;
    job->next_of_all = cpu->all_jobs;
    cpu->all_jobs = job;
  }
  return true;
}

void weir__jobs_deinitialize(weir__cpu *cpu) {
  while (cpu->all_jobs != NULL) {
    weir__job *job = cpu->all_jobs;
    cpu->all_jobs = job->next_of_all;
    weir__free(job);
  }
}

static uint64_t group_count(const weir__task *task) {
  return (uint64_t)task->groups[0] * task->groups[1] * task->groups[2];
}

uint64_t weir__job_expected_ns(const weir_device *device, const weir_kernel *kernel, uint64_t groups) {
  const weir__cpu *cpu = (const weir__cpu *)device;
  if (kernel == NULL) return groups > 1 ? UINT64_MAX : 0;
  uint64_t per_group = atomic_load_explicit(&kernel->group_ticks, memory_order_relaxed), ticks = per_group * groups;
  if (per_group == UINT32_MAX || (groups > 1 && ticks > WORTH_SHARING * cpu->long_ticks)) return UINT64_MAX;
  return ticks * 1000 / weir__ticks_per_us() / cpu->worker_count;
}

bool weir__job_wanted(weir__worker *worker, const weir__task *task) {
  if (task->run != NULL) return true;
  if (task->kernel == NULL) return false; // a host task is one call
  const weir__cpu *cpu = worker->cpu;
  return cpu->worker_count > 1 && group_count(task) > 1 &&
         weir__cpu_expected(cpu, task) > WORTH_SHARING * cpu->long_ticks;
}

// Takes the next chunk of a launch. False: nothing is left.
static bool take_chunk(weir__job *job, uint32_t workers, uint64_t *out_first, uint64_t *out_end) {
  uint64_t first = atomic_load_explicit(&job->next_group, memory_order_relaxed);
  uint64_t end;
  do {
    if (first >= job->groups) return false;
    uint64_t chunk = (job->groups - first) / (2 * (uint64_t)workers);
    if (chunk < job->smallest_chunk) chunk = job->smallest_chunk;
    end = chunk > job->groups - first ? job->groups : first + chunk;
  } while (!atomic_compare_exchange_weak_explicit(&job->next_group, &first, end, memory_order_relaxed,
                                                  memory_order_relaxed));
  *out_first = first;
  *out_end = end;
  return true;
}

static void run_ranges(weir__worker *worker, weir__job *job) {
  weir__cpu *cpu = worker->cpu;
  weir__task *task = job->task;
  weir__trace *trace = cpu->base.host->trace;
  weir_work work = {.args = task->args,
                    .arg_count = task->arg_count,
                    .groups = {task->groups[0], task->groups[1], task->groups[2]},
                    .user = task->user,
                    .internal = &worker->failure};
  weir__this_thread.task = task;
  weir__cpu_fill_work(worker, task->id, &work);
  while (!atomic_load_explicit(&job->failed, memory_order_relaxed) &&
         take_chunk(job, cpu->worker_count, &work.first, &work.end)) {
    weir__cpu_disturb(worker);
    uint64_t start_ns = trace != NULL ? weir__cpu_ns(cpu, weir__clock_ns()) : 0;
    uint64_t since = weir__ticks();
    weir__watch_call(cpu->base.host, task, task->function, &work);
    weir__cpu_measure(worker, weir__cpu_estimate(task->kernel), work.end - work.first, since);
    if (trace != NULL) {
      weir__host_lock(cpu->base.host);
      weir__cpu_trace_span(cpu, task, worker->index, start_ns, weir__cpu_ns(cpu, weir__clock_ns()), 0, "");
      weir__host_unlock(cpu->base.host);
    }
    if (!worker->failure.failed) continue;
    weir__lock_acquire(&job->lock);
    if (!atomic_exchange_explicit(&job->failed, true, memory_order_relaxed)) job->failure = worker->failure;
    weir__lock_release(&job->lock);
    worker->failure.failed = false;
  }
}

// Ticks that a node is expected to take; UINT64_MAX: not known.
static uint64_t node_expected(const weir__graph_run *run, uint32_t index) {
  const weir__graph_node *node = &run->plan->nodes[index];
  if (node->kind != WEIR__GRAPH_CALL) return COPY_TICKS + node->bytes / BYTES_PER_TICK;
  if (node->kernel == NULL) return UINT64_MAX;
  uint32_t ticks = atomic_load_explicit(&node->kernel->group_ticks, memory_order_relaxed);
  if (ticks == UINT32_MAX) return UINT64_MAX;
  return (uint64_t)ticks * node->groups[0] * node->groups[1] * node->groups[2];
}

uint64_t weir__job_expected(const weir__task *task) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < task->run->plan->node_count; i++) {
    uint64_t expected = node_expected(task->run, i);
    if (expected == UINT64_MAX) return UINT64_MAX;
    sum += expected;
  }
  return sum;
}

// Takes ready nodes: a batch of short ones, or one that is or may be long. The job's lock is held.
static uint32_t take_nodes(const weir__cpu *cpu, weir__job *job, const weir__graph_run *run, uint32_t *taken) {
  uint32_t count = 0;
  uint64_t ticks = 0;
  while (job->head < job->tail && count < NODES_AT_ONCE && ticks < cpu->long_ticks) {
    uint64_t expected = node_expected(run, run->ready[job->head]);
    if (count > 0 && expected >= cpu->long_ticks) break;
    ticks += expected < cpu->long_ticks ? expected : cpu->long_ticks;
    taken[count++] = run->ready[job->head++];
  }
  return count;
}

// Calls other workers if the nodes that wait are worth it; the job's lock is held. Returns how many that sleep should be
// woken.
static uint32_t ask_for_help(weir__cpu *cpu, weir__job *job, const weir__graph_run *run) {
  uint32_t waiting = job->tail - job->head;
  bool wants = false;
  if (waiting > 0) {
    uint64_t expected = node_expected(run, run->ready[job->head]);
    wants = expected >= cpu->long_ticks || expected * waiting > CHUNK * cpu->long_ticks;
  }
  if (wants == job->wants_help) return 0;
  job->wants_help = wants;
  if (wants)
    atomic_fetch_add_explicit(&cpu->job_hint, 1, memory_order_relaxed);
  else
    atomic_fetch_sub_explicit(&cpu->job_hint, 1, memory_order_relaxed);
  return wants ? waiting : 0;
}

static void note_times(const weir__cpu *cpu, weir__graph_run *run, uint32_t index, uint64_t start_ns) {
  uint8_t state = atomic_load_explicit(&run->states[index], memory_order_relaxed);
  if (state != WEIR__NODE_OK && state != WEIR__NODE_FAILED) return;
  run->start_ns[index] = start_ns;
  run->end_ns[index] = weir__cpu_ns(cpu, weir__clock_ns());
}

static void run_node(weir__worker *worker, weir__graph_run *run, uint32_t index) {
  weir__cpu *cpu = worker->cpu;
  weir__host *host = cpu->base.host;
  const weir__graph_node *node = &run->plan->nodes[index];
  uint64_t groups = (uint64_t)node->groups[0] * node->groups[1] * node->groups[2];
  uint64_t start_ns = host->trace != NULL || run->timed ? weir__cpu_ns(cpu, weir__clock_ns()) : 0;
  uint64_t since = worker->now;
  weir__graph_run_node(run, index, cpu->base.first_worker + worker->index);
  weir__cpu_measure(worker, weir__cpu_estimate(node->kernel), groups, since);
  if (run->timed) note_times(cpu, run, index, start_ns);
  if (host->trace == NULL) return;
  weir__host_lock(host);
  weir__cpu_trace_span(cpu, run->task, worker->index, start_ns, weir__cpu_ns(cpu, weir__clock_ns()), index + 1,
                       weir__graph_node_name(node));
  weir__host_unlock(host);
}

// Puts the successors that have no other predecessor left behind the `count` entries of `list`. Returns the new count.
static uint32_t release_successors(weir__graph_run *run, uint32_t index, uint32_t *list, uint32_t count) {
  const weir__graph_node *node = &run->plan->nodes[index];
  const uint32_t *edges = run->plan->successors + node->first_successor;
  for (uint32_t i = 0; i < node->successor_count; i++) {
    if (atomic_fetch_sub_explicit(&run->blockers[edges[i]], 1, memory_order_acq_rel) == 1) list[count++] = edges[i];
  }
  return count;
}

static void run_nodes(weir__worker *worker, weir__job *job) {
  weir__cpu *cpu = worker->cpu;
  weir__graph_run *run = job->task->run;
  uint32_t taken[NODES_AT_ONCE];
  worker->now = weir__ticks();
  for (;;) {
    weir__cpu_disturb(worker);
    weir__lock_acquire(&job->lock);
    uint32_t count = take_nodes(cpu, job, run, taken);
    uint32_t wake = worker->guest ? 0 : ask_for_help(cpu, job, run); // a guest has others at hand for other jobs
    weir__lock_release(&job->lock);
    if (wake > 0) {
      weir__host_lock(cpu->base.host);
      weir__cpu_wake(cpu, wake);
      weir__host_unlock(cpu->base.host);
    }
    if (count == 0) return;
    for (uint32_t i = 0; i < count; i++) {
      run_node(worker, run, taken[i]);
      uint32_t released[64], released_count = 0;
      const weir__graph_node *node = &run->plan->nodes[taken[i]];
      if (node->successor_count <= 64) {
        released_count = release_successors(run, taken[i], released, 0);
        if (released_count == 0) continue;
        weir__lock_acquire(&job->lock);
        memcpy(run->ready + job->tail, released, released_count * sizeof released[0]);
        job->tail += released_count;
        weir__lock_release(&job->lock);
      } else {
        weir__lock_acquire(&job->lock);
        job->tail = release_successors(run, taken[i], run->ready, job->tail);
        weir__lock_release(&job->lock);
      }
    }
  }
}

static void work_on(weir__worker *worker, weir__job *job) {
  if (job->task->run != NULL)
    run_nodes(worker, job);
  else
    run_ranges(worker, job);
}

static weir_status job_status(weir__job *job, const char **out_message) {
  if (job->task->run != NULL) return weir__graph_run_status(job->task->run, out_message);
  if (!atomic_load_explicit(&job->failed, memory_order_relaxed)) return WEIR_OK;
  *out_message = job->failure.message;
  return WEIR_ERROR_TASK_FAILED;
}

// Ends a worker's part; the last one reports the task. The context's lock is held.
static void leave(weir__worker *worker, weir__job *job) {
  weir__cpu *cpu = worker->cpu;
  if (job->open) {
    bool exhausted = job->task->run == NULL || job->participants == 1;
    if (exhausted) {
      job->open = false;
      weir__job **link = &cpu->jobs;
      while (*link != job) link = &(*link)->next;
      *link = job->next;
      if (job->task->run == NULL || job->wants_help) atomic_fetch_sub_explicit(&cpu->job_hint, 1, memory_order_relaxed);
    }
  }
  if (--job->participants > 0) return;
  weir__completion completion = {.lane = worker->index, .start_ns = job->start_ns};
  completion.status = job_status(job, &completion.message);
  if (weir__cpu_notes_times(cpu)) completion.end_ns = weir__cpu_ns(cpu, weir__clock_ns());
  weir__host_complete(cpu->base.host, job->task, &completion);
  weir__host_completed(cpu->base.host);
  job->next = cpu->free_jobs;
  cpu->free_jobs = job;
}

static void open_job(weir__worker *worker, weir__job *job, weir__task *task) {
  weir__cpu *cpu = worker->cpu;
  cpu->free_jobs = job->next;
  job->task = task;
  job->participants = 1;
  job->open = true;
  job->start_ns = weir__cpu_ns(cpu, weir__clock_ns());
  job->groups = group_count(task);
  job->failed = false;
  job->head = job->tail = 0;
  job->wants_help = false;
  atomic_store_explicit(&job->next_group, 0, memory_order_relaxed);
  job->smallest_chunk = 1;
  if (task->kernel != NULL && task->run == NULL) {
    uint32_t per_group = atomic_load_explicit(&task->kernel->group_ticks, memory_order_relaxed);
    if (per_group != UINT32_MAX) job->smallest_chunk = 1 + CHUNK * cpu->long_ticks / (per_group + 1);
  }
  if (task->run != NULL) {
    weir__graph_run_start(task->run);
    for (uint32_t i = 0; i < task->run->plan->node_count; i++) {
      if (task->run->plan->nodes[i].predecessor_count == 0) task->run->ready[job->tail++] = i;
    }
  } else {
    atomic_fetch_add_explicit(&cpu->job_hint, 1, memory_order_relaxed);
    uint64_t chunks = job->groups / job->smallest_chunk;
    weir__cpu_wake(cpu, chunks > cpu->worker_count ? cpu->worker_count - 1 : (uint32_t)chunks);
  }
  job->next = cpu->jobs;
  cpu->jobs = job;
}

void weir__job_run(weir__worker *worker, weir__task *task) {
  weir__host *host = worker->cpu->base.host;
  weir__host_lock(host);
  weir__completion skipped = {.status = weir__host_skip_status(host, task), .lane = worker->index};
  if (skipped.status != WEIR_OK) {
    skipped.start_ns = skipped.end_ns = weir__cpu_ns(worker->cpu, weir__clock_ns());
    weir__host_complete(host, task, &skipped);
    weir__host_completed(host);
    weir__host_unlock(host);
    return;
  }
  // Each worker works on one job at a time, and so does each guest, of whom there are no more than workers: with two per worker
  // one is always free.
  weir__job *job = worker->cpu->free_jobs;
  open_job(worker, job, task);
  weir__host_unlock(host);
  work_on(worker, job);
  weir__host_lock(host);
  leave(worker, job);
  weir__host_unlock(host);
}

static bool needs_help(weir__job *job) {
  if (job->task->run == NULL) return atomic_load_explicit(&job->next_group, memory_order_relaxed) < job->groups;
  weir__lock_acquire(&job->lock);
  bool wants = job->wants_help;
  weir__lock_release(&job->lock);
  return wants;
}

bool weir__job_help(weir__worker *worker) {
  weir__host *host = worker->cpu->base.host;
  for (weir__job *job = worker->cpu->jobs; job != NULL; job = job->next) {
    if (!job->open || !needs_help(job)) continue;
    job->participants++;
    weir__host_unlock(host);
    work_on(worker, job);
    weir__host_lock(host);
    leave(worker, job);
    return true;
  }
  return false;
}
