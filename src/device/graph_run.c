// SPDX-License-Identifier: Apache-2.0
//
// What devices do with the run of a launch: which nodes may run, what failed.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "device/graph_poison.h"
#include "device/host.h"
#include "device/watch.h"
#include "device/work.h"

void weir__graph_run_bytes(const weir__graph_node *node, void *const *args) {
  if (node->kind == WEIR__GRAPH_COPY) {
    memcpy(args[0], args[1], node->bytes);
    return;
  }
  weir__fill_bytes(args[0], node->bytes, args[1]);
}

void weir__fill_bytes(void *destination, uint64_t bytes, const void *pattern) {
  char *first = destination;
  for (uint64_t done = 0; done < bytes; done += sizeof(uint32_t)) memcpy(first + done, pattern, sizeof(uint32_t));
}

uint32_t weir__graph_find_cut(const weir__graph_plan *plan, uint32_t buffer, uint64_t at) {
  uint32_t low = plan->first_cuts[buffer], high = plan->first_cuts[buffer + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (plan->cuts[middle] < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low - plan->first_cuts[buffer];
}

static int by_id(const void *left, const void *right) {
  weir__id a = *(const weir__id *)left, b = *(const weir__id *)right;
  return a < b ? -1 : a > b;
}

static bool is_poison(const weir__graph_run *run, const weir__graph_bytes *bytes) {
  return bytes->task == 0 ||
         (run->failed_predecessor_count > 0 && bsearch(&bytes->task, run->failed_predecessors,
                                                       run->failed_predecessor_count, sizeof(weir__id), by_id) != NULL);
}

void weir__graph_run_number_buffers(weir__graph_run *run) {
  for (uint32_t i = 0; i < run->plan->buffer_count; i++)
    run->numbers[i] = (weir__graph_number){.id = run->buffers[i]->id, .number = i};
  qsort(run->numbers, run->plan->buffer_count, sizeof *run->numbers, by_id); // the id comes first
}

uint32_t weir__graph_run_buffer_number(const weir__graph_run *run, uint64_t id) {
  const weir__graph_number *found = bsearch(&id, run->numbers, run->plan->buffer_count, sizeof *run->numbers, by_id);
  return found == NULL ? UINT32_MAX : found->number;
}

// Poisons what comes from outside and is.
static void mark_poisoned(weir__graph_run *run) {
  const weir__graph_plan *plan = run->plan;
  weir__graph_poison_clear(run);
  for (uint32_t i = 0; i < plan->buffer_count && run->all_poisoned; i++)
    weir__graph_poison_set(run, i, 0, UINT64_MAX, true);
  if (run->failed_predecessor_count > 0)
    qsort(run->failed_predecessors, run->failed_predecessor_count, sizeof(weir__id), by_id);
  weir__graph_run_number_buffers(run);
  for (uint32_t i = 0; i < run->data_dependence_count && !run->all_poisoned; i++) {
    const weir__graph_bytes *data = &run->data_dependences[i];
    uint32_t buffer = weir__graph_run_buffer_number(run, data->buffer);
    bool poisoned = buffer != UINT32_MAX && is_poison(run, data);
    for (uint64_t j = 0, rows = weir__graph_bytes_rows(data); poisoned && j < rows; j++) {
      uint64_t hi, lo = weir__graph_bytes_row(data, j, &hi);
      if (lo < hi) weir__graph_poison_set(run, buffer, lo, hi, true);
    }
  }
  atomic_store_explicit(&run->poisoned, true, memory_order_relaxed);
}

// New points for a launch: those of the one before say what was before its nodes.
static void renew_points(weir__graph_run *run) {
  weir__free(run->points);
  run->points = NULL;
  if (weir__host_of(run->context)->watch != NULL) run->points = weir__allocate(run->plan->node_count);
}

void weir__graph_run_start(weir__graph_run *run) {
  const weir__graph_plan *plan = run->plan;
  run->ran = true;
  renew_points(run);
  for (uint32_t i = 0; i < plan->node_count; i++) {
    atomic_store_explicit(&run->blockers[i], plan->nodes[i].predecessor_count, memory_order_relaxed);
    atomic_store_explicit(&run->states[i], WEIR__NODE_OK, memory_order_relaxed);
  }
  atomic_store_explicit(&run->poisoned, false, memory_order_relaxed);
  if (run->task->reads_poison) mark_poisoned(run);
}

void weir__graph_run_fail(weir__graph_run *run) {
  for (uint32_t i = 0; i < run->plan->node_count; i++)
    atomic_store_explicit(&run->states[i], WEIR__NODE_FAILED, memory_order_relaxed);
}

const char *weir__graph_node_name(const weir__graph_node *node) {
  if (node->label[0] != '\0') return node->label;
  if (node->kernel != NULL) return node->kernel->name;
  return node->kind == WEIR__GRAPH_COPY ? "copy" : node->kind == WEIR__GRAPH_FILL ? "fill" : "host";
}

static void note_failure(weir__graph_run *run, uint32_t index, weir__node_state state, const char *message) {
  atomic_store_explicit(&run->states[index], (uint8_t)state, memory_order_relaxed);
  atomic_fetch_add_explicit(&run->failed_count, 1, memory_order_relaxed);
  weir__lock_acquire(&run->poison_lock);
  if (!weir__graph_run_skips(run)) weir__graph_poison_clear(run);
  weir__graph_poison_set_written(run, index, true);
  atomic_store_explicit(&run->poisoned, true, memory_order_relaxed); // its successors see it, which come later
  weir__lock_release(&run->poison_lock);
  weir__lock_acquire(&run->message_lock);
  if (index < run->message_node) {
    const weir__graph_node *node = &run->plan->nodes[index];
    run->message_node = index;
    char tag[40] = "";
    uint64_t number = run->given != NULL ? run->given[index].tag : node->tag;
    if (number != 0) snprintf(tag, sizeof tag, " (tag %" PRIu64 ")", number);
    snprintf(run->message, sizeof run->message, "node %u '%s'%s: %s", index, weir__graph_node_name(node), tag, message);
  }
  weir__lock_release(&run->message_lock);
}

void weir__graph_run_note_failure(weir__graph_run *run, uint32_t index, const char *message) {
  note_failure(run, index, WEIR__NODE_FAILED, message);
}

// The lock for poison is held.
static bool reads_poison(const weir__graph_run *run, const weir__graph_node *node) {
  for (uint32_t i = 0; i < node->arg_count; i++) {
    const weir__graph_arg *arg = &run->plan->args[node->first_arg + i];
    if (arg->mode != WEIR_VALUE && arg->mode != WEIR_WRITE && weir__graph_poison_in(run, arg)) return true;
  }
  return false;
}

bool weir__graph_run_admits(weir__graph_run *run, uint32_t index) {
  if (!weir__graph_run_skips(run)) return true;
  weir__lock_acquire(&run->poison_lock);
  bool poisoned = reads_poison(run, &run->plan->nodes[index]);
  if (!poisoned) weir__graph_poison_set_written(run, index, false);
  weir__lock_release(&run->poison_lock);
  if (poisoned) note_failure(run, index, WEIR__NODE_SKIPPED, weir_status_text(WEIR_ERROR_UPSTREAM_FAILED));
  return !poisoned;
}

static void run_node(weir__graph_run *run, uint32_t index, uint32_t worker) {
  const weir__graph_node *node = &run->plan->nodes[index];
  if (!weir__graph_run_admits(run, index)) return;
  if (node->kind != WEIR__GRAPH_CALL) {
    weir__graph_run_bytes(node, run->args + node->first_arg);
    return;
  }
  if (node->function == NULL) return;
  weir__failure failure;
  failure.failed = false;
  weir_work work = {.args = run->args + node->first_arg,
                    .arg_count = node->arg_count,
                    .groups = {node->groups[0], node->groups[1], node->groups[2]},
                    .first = 0,
                    .end = (uint64_t)node->groups[0] * node->groups[1] * node->groups[2],
                    .user = run->given != NULL ? run->given[index].user : node->user,
                    .internal = &failure,
                    .worker = worker,
                    .worker_count = weir__host_of(run->context)->worker_count,
                    .task = run->task_id};
  weir__this_thread.task = run->task;
  node->function(&work);
  if (failure.failed)
    note_failure(run, index, WEIR__NODE_FAILED,
                 failure.message[0] != '\0' ? failure.message : weir_status_text(WEIR_ERROR_TASK_FAILED));
}

// A node in ThreadSanitizer's eyes. One that is skipped passes on what was before it.
typedef struct watched_node {
  weir__graph_run *run;
  uint32_t index, worker;
} watched_node;

static void run_watched(void *argument) {
  const watched_node *self = argument;
  weir__graph_run *run = self->run;
  const weir__graph_node *node = &run->plan->nodes[self->index];
  const weir__host *host = weir__host_of(run->context);
  weir__watch_begin(host, run->task);
  weir__tsan_acquire(&run->points[self->index]);
  run_node(run, self->index, self->worker);
  for (uint32_t i = 0; i < node->successor_count; i++)
    weir__tsan_release(&run->points[run->plan->successors[node->first_successor + i]]);
  weir__watch_end(host, run->task);
}

void weir__graph_run_node(weir__graph_run *run, uint32_t index, uint32_t worker) {
  if (__builtin_expect(run->points == NULL, true)) {
    run_node(run, index, worker);
    return;
  }
  watched_node self = {.run = run, .index = index, .worker = worker};
  weir__tsan_call(run_watched, &self);
}

weir_status weir__graph_run_status(const weir__graph_run *run, const char **out_message) {
  if (atomic_load_explicit(&run->failed_count, memory_order_relaxed) == 0) return WEIR_OK;
  *out_message = run->message;
  uint8_t state = atomic_load_explicit(&run->states[run->message_node], memory_order_relaxed);
  return state == WEIR__NODE_FAILED ? WEIR_ERROR_TASK_FAILED : WEIR_ERROR_UPSTREAM_FAILED;
}
