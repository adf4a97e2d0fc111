// SPDX-License-Identifier: Apache-2.0
//
// What of a recorded graph is executable graphs: one for each segment, set anew where a launch differs from the one
// before.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/cuda/graph/recorded_inside.h"

enum {
  NODES_PER_SEGMENT = 4, // on average, at least: for fewer, launches of nodes one by one are as good
  MOST_PARTINGS = 8,     // of a plan: each cost captures of all calls that went well
};

static uint32_t node_of(const weir__cuda_plan *made, uint32_t place) {
  return weir__cuda_segments_node(&made->segments, place);
}

// ---------------------------------------------------------------------------------------------------------------
// Layout

static void free_segments(weir__cuda_device *device, weir__cuda_segments *segments, bool entered) {
  for (uint32_t i = 0; entered && i < segments->count; i++) {
    weir__cuda_exec_destroy(device, segments->list[i].exec);
    weir__cuda_exec_destroy(device, segments->list[i].outgrown);
  }
  weir__cuda_segments_free(segments);
}

static void free_steps(weir__cuda_device *device, weir__cuda_plan *made, bool entered) {
  for (uint32_t i = 0; made->calls != NULL && i < made->order.task_count; i++)
    weir__cuda_call_free(device, &made->calls[i], entered);
  weir__free(made->calls);
  weir__free(made->steps);
  weir__free(made->turns);
  weir__free(made->changed);
  made->calls = NULL;
  made->steps = NULL;
  made->turns = NULL;
  made->changed = NULL;
}

void weir__cuda_plan_free_layout(weir__cuda_device *device, weir__cuda_plan *made, bool entered) {
  free_steps(device, made, entered);
  free_segments(device, &made->segments, entered);
  free_segments(device, &made->old, entered);
}

// The nodes that are enqueue functions and become part of executable graphs, with lanes. False: no memory.
static bool make_calls(weir__cuda_device *device, const weir__graph_plan *plan, weir__cuda_plan *made) {
  made->calls = weir__allocate_zeroed(plan->node_count * sizeof *made->calls);
  made->turns = weir__allocate(plan->node_count * sizeof *made->turns);
  if (made->calls == NULL || made->turns == NULL) return false;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[node_of(made, i)];
    if (!weir__cuda_node_calls(node) || (made->apart != NULL && made->apart[node_of(made, i)])) continue;
    made->calls[i] = (weir__cuda_call_step){.enqueue = weir__cuda_code_of(node->kernel)->head.enqueue,
                                            .node = node_of(made, i),
                                            .child = made->children,
                                            .captured = &made->counts.captured,
                                            .why = made->call_why};
  }
  for (uint32_t i = 0; i < made->segments.count; i++) {
    const weir__cuda_segment *segment = &made->segments.list[i];
    if (!segment->apart && !weir__cuda_assign_lanes(device, made->calls + segment->first, segment->count,
                                                    made->segments.first + segment->first, made->segments.predecessors,
                                                    made->set, made->turns + segment->first))
      return false;
  }
  return true;
}

static bool make_steps(const weir__graph_plan *plan, weir__cuda_plan *made) {
  const weir__cuda_segments *segments = &made->segments;
  made->steps = weir__allocate_zeroed(plan->node_count * sizeof *made->steps);
  if (segments->nodes != NULL) made->changed = weir__allocate(plan->node_count * sizeof *made->changed);
  if (made->steps == NULL || (segments->nodes != NULL && made->changed == NULL)) return false;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[node_of(made, i)];
    bool is_bytes = node->kind != WEIR__GRAPH_CALL, calls = weir__cuda_node_calls(node);
    made->steps[i] = (weir__cuda_step){
        .kernel = is_bytes || calls ? NULL : weir__cuda_code_of(node->kernel),
        .adopted = weir__cuda_node_adopted(node) ? node->user : NULL,
        .bytes = is_bytes ? &made->bytes[node_of(made, i)] : NULL,
        .call = calls ? &made->calls[i] : NULL,
        .groups = node->groups,
        .parameters = made->parameters + node->first_arg,
        .parameter_count = node->arg_count,
        .predecessors = segments->predecessors + segments->first[i],
        .predecessor_count = (uint32_t)(segments->first[i + 1] - segments->first[i]),
    };
  }
  return true;
}

// A seed, for tests, has small plans in segments, too.
static uint32_t nodes_per_segment(const weir__cuda_device *device) {
  uint64_t seed = device->base.device.host->seed;
  return seed == 0 ? NODES_PER_SEGMENT : 1 + (uint32_t)((seed >> 1) % NODES_PER_SEGMENT);
}

bool weir__cuda_plan_lay_out(weir__cuda_device *device, const weir__graph_plan *plan, weir__cuda_plan *made) {
  weir__cuda_segments segments;
  if (made->one_by_one) made->apart_count = 0;
  if (!weir__cuda_segments_make(&segments, &made->order, made->apart_count > 0 ? made->apart : NULL)) {
    weir__cuda_segments_free(&segments);
    return false;
  }
  if (made->apart_count > 0 && segments.count > plan->node_count / nodes_per_segment(device)) {
    weir__cuda_segments_free(&segments);
    made->one_by_one = true;
    return weir__cuda_plan_lay_out(device, plan, made);
  }
  free_segments(device, &made->old, true);
  free_steps(device, made, true);
  made->complete = made->knows_lanes = false;
  made->old = made->segments;
  made->segments = segments;
  if (made->one_by_one) return true;
  return (made->call_count == 0 || make_calls(device, plan, made)) && make_steps(plan, made);
}

// ---------------------------------------------------------------------------------------------------------------
// Parting

static const weir__enqueue *enqueue_of(const weir__graph_node *node) {
  return weir__cuda_node_calls(node) ? weir__cuda_code_of(node->kernel)->head.enqueue : NULL;
}

static const weir__cuda_call_step *find_failed(const weir__cuda_plan *made) {
  for (uint32_t i = 0; made->calls != NULL && i < made->order.task_count; i++)
    if (made->calls[i].enqueue != NULL && made->calls[i].failed) return &made->calls[i];
  return NULL;
}

bool weir__cuda_plan_part(weir__cuda_device *device, const weir__graph_plan *plan, weir__cuda_plan *made,
                          CUresult result) {
  const weir__cuda_call_step *failed = find_failed(made);
  char text[96];
  if (failed != NULL) {
    const weir__graph_node *node = &plan->nodes[failed->node];
    snprintf(made->why, sizeof made->why, "node %u '%s': %s", failed->node, weir__graph_node_name(node),
             made->call_why);
  } else if (made->call_why[0] != '\0') {
    memcpy(made->why, made->call_why, sizeof made->call_why);
  } else {
    snprintf(made->why, sizeof made->why, "no executable graph: %s",
             weir__cuda_result_text(device->driver, result, text, sizeof text));
  }
  if (failed == NULL || result == CUDA_ERROR_OUT_OF_MEMORY || made->partings == MOST_PARTINGS) return false;
  if (made->apart == NULL) made->apart = weir__allocate_zeroed(plan->node_count * sizeof *made->apart);
  if (made->apart == NULL) return false;
  const weir__enqueue *enqueue = failed->enqueue;
  made->partings++;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (enqueue_of(&plan->nodes[i]) != enqueue || made->apart[i]) continue;
    made->apart[i] = true;
    made->apart_count++;
  }
  return weir__cuda_plan_lay_out(device, plan, made) && !made->one_by_one;
}

// ---------------------------------------------------------------------------------------------------------------
// Executable graphs

// The executable graph gives way to another. Its launches may be in flight; the driver frees it when they are done.
static void outgrow(weir__cuda_device *device, weir__cuda_segment *segment) {
  weir__cuda_exec_destroy(device, segment->outgrown);
  segment->outgrown = segment->exec;
  segment->exec = NULL;
}

static CUresult make_exec(weir__cuda_device *device, weir__cuda_plan *made, weir__cuda_segment *segment,
                          uint32_t flags) {
  uint32_t at = segment->first;
  if (device->base.device.host->trace != NULL) flags = WEIR__CUDA_EXEC_MARKS;
  CUresult result = weir__cuda_exec_create(device, made->steps + at, made->turns != NULL ? made->turns + at : NULL,
                                           segment->count, flags, &segment->exec);
  made->counts.made += result == CUDA_SUCCESS;
  return result;
}

// Some call, captured straight into the graph, has other arguments now: in the next graph all calls are children.
static bool must_have_children(weir__cuda_plan *made, const weir__cuda_segment *segment, const bool *changed) {
  bool any = false;
  if (made->calls == NULL) return false;
  weir__cuda_call_step *calls = made->calls + segment->first;
  for (uint32_t i = 0; i < segment->count && !any; i++)
    any = calls[i].enqueue != NULL && !calls[i].child && (changed == NULL || changed[i]);
  for (uint32_t i = 0; any && i < segment->count; i++) calls[i].child = true;
  return any;
}

// `changed`, per node of the segment: what has; NULL: all may have. Adds to `*out_updated` if something was set in
// place.
static CUresult set_segment(weir__cuda_device *device, weir__cuda_plan *made, weir__cuda_segment *segment,
                            const bool *changed, bool *out_updated) {
  uint32_t flags = WEIR__CUDA_EXEC_MOVES, set;
  if (segment->exec == NULL) return make_exec(device, made, segment, flags);
  if (changed != NULL && memchr(changed, true, segment->count * sizeof *changed) == NULL) return CUDA_SUCCESS;
  if (!must_have_children(made, segment, changed)) {
    CUresult result = weir__cuda_exec_set(device, segment->exec, made->steps + segment->first, changed, &set);
    *out_updated = *out_updated || (result == CUDA_SUCCESS && (set > 0 || made->calls != NULL));
    if (!segment->exec->outgrown && result != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) return result;
    if (segment->exec->outgrown) flags = 0;
  }
  outgrow(device, segment);
  return make_exec(device, made, segment, flags);
}

// What has changed, by place. NULL: all may have.
static const bool *changes_of(weir__cuda_plan *made, bool known) {
  if (!known || made->changed == NULL) return known ? made->binding.changed : NULL;
  for (uint32_t i = 0; i < made->order.task_count; i++) made->changed[i] = made->binding.changed[node_of(made, i)];
  return made->changed;
}

CUresult weir__cuda_plan_set(weir__cuda_device *device, weir__graph_run *run, weir__cuda_plan *made) {
  bool known = made->binding.known, updated = false;
  uint32_t change_count = weir__cuda_binding_take(&made->binding, run);
  if (change_count == 0 && made->complete) return CUDA_SUCCESS;
  const bool *changed = change_count > 0 ? changes_of(made, known) : NULL;
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; made->calls != NULL && i < made->order.task_count; i++) made->calls[i].run = run;
  for (uint32_t i = 0; i < made->segments.count && result == CUDA_SUCCESS; i++) {
    weir__cuda_segment *segment = &made->segments.list[i];
    if (segment->apart || (change_count == 0 && segment->exec != NULL)) continue;
    result = set_segment(device, made, segment, changed != NULL ? changed + segment->first : NULL, &updated);
  }
  made->complete = result == CUDA_SUCCESS;
  made->counts.updated += updated && result == CUDA_SUCCESS;
  return result;
}
