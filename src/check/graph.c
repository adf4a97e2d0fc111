// SPDX-License-Identifier: Apache-2.0
//
// The launch of a graph: its nodes in the order of recording, which is one of their orders. On a card those that follow each
// other and do not depend on each other are checked at once.
#include "base/clock.h"
#include "check/card.h"
#include "check/card_move.h"
#include "check/checker.h"

typedef struct launch {
  weir__checker *checker;
  weir__graph_run *run;
} launch;

static uint64_t time_now(const launch *of) {
  return weir__clock_ns() - of->checker->base.host->start_ns;
}

static bool fill_in(const launch *of, uint32_t index, weir__check_job *job) {
  weir__graph_run *run = of->run;
  const weir__graph_plan *plan = run->plan;
  const weir__graph_node *node = &plan->nodes[index];
  if (!weir__check_begin(of->checker, job, run->task, node->arg_count)) return false;
  job->node = node;
  job->node_index = index;
  for (uint32_t i = 0; i < node->arg_count; i++) {
    const weir__graph_arg *arg = &plan->args[node->first_arg + i];
    void *pointer = run->args[node->first_arg + i];
    if (arg->mode == WEIR_VALUE)
      job->args[i] = (weir__check_arg){.pointer = pointer, .value_bytes = arg->bytes};
    else
      weir__check_set_buffer(job, i, arg->mode, run->buffers[arg->buffer], arg->offset, arg->offset + arg->bytes,
                             arg->box, pointer);
  }
  job->device = plan->asked;
  job->kernel = node->kernel;
  job->function = node->function;
  job->user = node->user;
  for (int i = 0; i < 3; i++) job->groups[i] = node->groups[i];
  return true;
}

// What became of a node, and when.
static void note(const launch *of, uint32_t index, const weir__check_job *job, uint64_t start_ns) {
  weir__graph_run *run = of->run;
  if (job->status != WEIR_OK) weir__graph_run_note_failure(run, index, job->message);
  uint8_t state = atomic_load_explicit(&run->states[index], memory_order_relaxed);
  if (!run->timed || (state != WEIR__NODE_OK && state != WEIR__NODE_FAILED)) return;
  run->start_ns[index] = start_ns;
  run->end_ns[index] = time_now(of);
}

static void run_bytes(const launch *of, uint32_t index, weir__check_job *job) {
  const weir__graph_node *node = &of->run->plan->nodes[index];
  weir__check_written(job);
  if (of->run->plan->space == WEIR__HOST_SPACE)
    weir__graph_run_bytes(node, of->run->args + node->first_arg);
  else
    weir__check_move_on_card(of->checker, job, node, of->run->plan->args + node->first_arg,
                             of->run->args + node->first_arg);
}

// One node that was admitted.
static void run_node(const launch *of, uint32_t index) {
  weir__check_job *job = &of->checker->job;
  const weir__graph_node *node = &of->run->plan->nodes[index];
  uint64_t start_ns = time_now(of);
  if (!fill_in(of, index, job) || (node->kind == WEIR__GRAPH_CALL && !weir__check_lay_out(job)))
    weir__check_no_memory(job);
  else if (node->kind != WEIR__GRAPH_CALL)
    run_bytes(of, index, job);
  else
    weir__check_job_run(of->checker, job);
  note(of, index, job, start_ns);
}

// ---------------------------------------------------------------------------------------------------------------
// On a card

static bool depends_on(const weir__graph_plan *plan, uint32_t index, uint32_t first) {
  const weir__graph_node *node = &plan->nodes[index];
  for (uint32_t i = 0; i < node->predecessor_count; i++)
    if (plan->predecessors[node->first_predecessor + i] >= first) return true;
  return false;
}

static uint64_t bytes_of(const weir__graph_run *run, uint32_t index) {
  const weir__graph_node *node = &run->plan->nodes[index];
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < node->arg_count; i++) {
    const weir__graph_arg *arg = &run->plan->args[node->first_arg + i];
    if (arg->mode != WEIR_VALUE) bytes += weir__check_card_bytes(run->buffers[arg->buffer]);
  }
  return bytes;
}

// How many kernels from `first` on may be checked at once.
static uint32_t count_group(const weir__graph_run *run, uint32_t first) {
  const weir__graph_plan *plan = run->plan;
  uint64_t bytes = 0;
  uint32_t count = 0;
  for (; first + count < plan->node_count && count < WEIR__CHECK_BATCH; count++) {
    uint32_t index = first + count;
    if (plan->nodes[index].kind != WEIR__GRAPH_CALL || bytes_of(run, index) == 0 || depends_on(plan, index, first))
      break;
    bytes += bytes_of(run, index);
    if (count > 0 && bytes > WEIR__CHECK_BATCH_BYTES) break;
  }
  return count;
}

static void run_group(const launch *of, uint32_t first, uint32_t count) {
  weir__checker *checker = of->checker;
  weir__check_job *jobs[WEIR__CHECK_BATCH];
  uint32_t nodes[WEIR__CHECK_BATCH], admitted = 0, ready = 0;
  uint64_t start_ns = time_now(of);
  for (uint32_t i = first; i < first + count; i++) {
    if (!weir__graph_run_admits(of->run, i)) continue;
    weir__check_entry *entry = &checker->entries[admitted];
    nodes[admitted++] = i;
    if (fill_in(of, i, &entry->job) && weir__check_lay_out(&entry->job))
      jobs[ready++] = &entry->job;
    else
      weir__check_no_memory(&entry->job);
  }
  if (ready > 0) weir__check_on_card(checker, jobs, ready);
  for (uint32_t i = 0; i < admitted; i++) {
    note(of, nodes[i], &checker->entries[i].job, start_ns);
  }
}

weir_status weir__check_run_graph(weir__checker *checker, weir__task *task, const char **out_message) {
  weir__graph_run *run = task->run;
  launch of = {.checker = checker, .run = run};
  weir__host_lock(checker->base.host);
  weir__graph_run_start(run);
  weir__host_unlock(checker->base.host);
  for (uint32_t i = 0, count; i < run->plan->node_count; i += count) {
    count = run->plan->space == WEIR__HOST_SPACE ? 0 : count_group(run, i);
    if (count > 0) {
      run_group(&of, i, count);
      continue;
    }
    count = 1;
    if (weir__graph_run_admits(run, i)) run_node(&of, i);
  }
  return weir__graph_run_status(run, out_message);
}
