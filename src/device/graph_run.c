// SPDX-License-Identifier: Apache-2.0
//
// What devices do with the run of a launch: which nodes may run, what failed.
#include <stdio.h>
#include <string.h>

#include "device/graph.h"
#include "device/host.h"
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

static bool is_poison(const weir__graph_run *run, const weir__dependence *dependence) {
  if (dependence->task == 0) return true;
  for (uint32_t i = 0; i < run->failed_predecessor_count; i++) {
    if (run->failed_predecessors[i] == dependence->task) return true;
  }
  return false;
}

// Marks the nodes that read poisoned bytes from outside.
static void mark_poisoned(weir__graph_run *run) {
  const weir__graph_plan *plan = run->plan;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const weir__graph_input *input = &plan->inputs[i];
    bool poisoned = run->all_poisoned;
    for (uint32_t dependence = 0; dependence < run->data_dependence_count && !poisoned; dependence++) {
      const weir__dependence *data = &run->data_dependences[dependence];
      poisoned = data->buffer == run->buffers[input->buffer]->id && data->lo < input->hi && input->lo < data->hi &&
                 is_poison(run, data);
    }
    if (poisoned) atomic_store_explicit(&run->poisoned[input->node], 1, memory_order_relaxed);
  }
}

void weir__graph_run_start(weir__graph_run *run) {
  const weir__graph_plan *plan = run->plan;
  run->ran = true;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    atomic_store_explicit(&run->blockers[i], plan->nodes[i].predecessor_count, memory_order_relaxed);
    atomic_store_explicit(&run->states[i], WEIR__NODE_OK, memory_order_relaxed);
    atomic_store_explicit(&run->poisoned[i], 0, memory_order_relaxed);
  }
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
  weir__lock_acquire(&run->message_lock);
  if (index < run->message_node) {
    const weir__graph_node *node = &run->plan->nodes[index];
    run->message_node = index;
    snprintf(run->message, sizeof run->message, "node %u '%s': %s", index, weir__graph_node_name(node), message);
  }
  weir__lock_release(&run->message_lock);
}

void weir__graph_run_note_failure(weir__graph_run *run, uint32_t index, const char *message) {
  note_failure(run, index, WEIR__NODE_FAILED, message);
}

void weir__graph_run_node(weir__graph_run *run, uint32_t index, uint32_t worker) {
  const weir__graph_node *node = &run->plan->nodes[index];
  if (atomic_load_explicit(&run->poisoned[index], memory_order_relaxed)) {
    note_failure(run, index, WEIR__NODE_SKIPPED, weir_status_text(WEIR_ERROR_UPSTREAM_FAILED));
    return;
  }
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
                    .user = node->user,
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

void weir__graph_run_skip(weir__graph_run *run, uint32_t index) {
  const weir__graph_node *node = &run->plan->nodes[index];
  weir__graph_run_node(run, index, 0); // notes that it is skipped
  for (uint32_t i = 0; i < node->successor_count; i++)
    weir__graph_run_edge(run, run->plan->successors[node->first_successor + i]);
}

void weir__graph_run_edge(weir__graph_run *run, uint32_t successor_edge) {
  if (successor_edge & 1) atomic_store_explicit(&run->poisoned[successor_edge >> 1], 1, memory_order_relaxed);
}

weir_status weir__graph_run_status(const weir__graph_run *run, const char **out_message) {
  if (atomic_load_explicit(&run->failed_count, memory_order_relaxed) == 0) return WEIR_OK;
  *out_message = run->message;
  uint8_t state = atomic_load_explicit(&run->states[run->message_node], memory_order_relaxed);
  return state == WEIR__NODE_FAILED ? WEIR_ERROR_TASK_FAILED : WEIR_ERROR_UPSTREAM_FAILED;
}
