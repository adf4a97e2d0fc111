// SPDX-License-Identifier: Apache-2.0
//
// Graphs: a plan's steps in level order, recorded as a command buffer, which is submitted again as long as buffers lie where
// they lay and values are what they were. Several recordings are kept, since launches may be in flight at once. The second
// launch runs step by step and times each, so that from then on levels can be chosen by what takes the least time.
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/graph.h"
#include "device/vulkan/enqueue.h"
#include "device/vulkan/graph_recording.h"

enum {
  RECORDINGS_KEPT = 8,
  RECORDINGS_ALIKE = 3,   // that differ in values only
  MOST_SETS_PER_STEP = 2, // of a recording: beyond that it forgets them, and takes their memory again
  TIMED_LAUNCH = 2,       // the launch whose steps are timed
  MOST_TIMED = 1 << 14,   // steps
};

static void destroy_recording(weir__vulkan_device *device, weir__vulkan_recording *item) {
  if (item->pool != VK_NULL_HANDLE) device->calls.vkDestroyCommandPool(device->device, item->pool, NULL);
  if (item->queries != VK_NULL_HANDLE) device->calls.vkDestroyQueryPool(device->device, item->queries, NULL);
  weir__vulkan_sets_deinitialize(&item->sets);
  weir__free(item->addresses);
  weir__free(item->values);
  weir__free(item->bound);
  weir__free(item);
}

void weir__vulkan_graph_forget(weir_device *base, void *device_data) {
  weir__vulkan_device *device = weir__vulkan_of(base);
  weir__vulkan_plan *plan = device_data;
  while (plan->recordings != NULL) {
    weir__vulkan_recording *item = plan->recordings;
    plan->recordings = item->next;
    destroy_recording(device, item);
  }
  weir__vulkan_steps_free(&plan->steps);
  weir__free(plan->addresses);
  weir__free(plan);
}

weir_status weir__vulkan_graph_build(weir_device *base, weir__graph_plan *plan, uint64_t *out_build_ns) {
  uint64_t start = weir__clock_ns();
  weir__vulkan_plan *made = weir__allocate_zeroed(sizeof *made);
  if (made != NULL) made->addresses = weir__allocate((plan->arg_count + 1) * sizeof *made->addresses);
  bool in_order = (base->host->flags & WEIR_CONTEXT_IN_ORDER) != 0;
  if (made == NULL || made->addresses == NULL || !weir__vulkan_steps_find(plan, in_order, &made->steps)) {
    if (made != NULL) weir__vulkan_graph_forget(base, made);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph: no memory for a plan of %u tasks", plan->node_count);
  }
  made->calls = weir__vulkan_plan_calls(plan, &made->each_time);
  plan->device_data = made;
  *out_build_ns += weir__clock_ns() - start;
  return WEIR_OK;
}

static VkResult record_step(weir__vulkan_device *device, weir__vulkan_recorder *recorder, const weir__graph_run *run,
                            uint32_t index, uint32_t dispatch) {
  weir__vulkan_arg args[WEIR_MAX_ARGS];
  const weir__graph_node *node = &run->plan->nodes[index];
  void *const *addresses = run->args + node->first_arg;
  uint32_t pattern;
  switch (node->kind) {
  case WEIR__GRAPH_COPY:
    weir__vulkan_record_copy(device, recorder->commands, addresses[0], addresses[1], node->bytes);
    return VK_SUCCESS;
  case WEIR__GRAPH_FILL:
    memcpy(&pattern, addresses[1], sizeof pattern);
    weir__vulkan_record_fill(device, recorder->commands, addresses[0], node->bytes, pattern);
    return VK_SUCCESS;
  case WEIR__GRAPH_CALL:
    break;
  }
  for (uint32_t i = 0; i < node->arg_count; i++) {
    const weir__graph_arg *arg = &run->plan->args[node->first_arg + i];
    args[i] = (weir__vulkan_arg){
        .address = run->args[node->first_arg + i], .bytes = arg->bytes, .is_value = arg->mode == WEIR_VALUE};
  }
  const weir__vulkan_kernel *kernel = weir__vulkan_code_of(node->kernel);
  if (kernel->count == 0) return VK_SUCCESS;
  return weir__vulkan_record_dispatch(device, recorder, &kernel->launches[dispatch], node->groups, args,
                                      node->arg_count);
}

static void mark(const weir__vulkan_device *device, const weir__vulkan_recording *item, uint32_t index) {
  if (item->queries == VK_NULL_HANDLE) return;
  VkPipelineStageFlagBits stage =
      index % 2 == 0 ? VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT : VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT;
  device->calls.vkCmdWriteTimestamp(item->commands, stage, item->queries, index);
}

static bool is_call(const weir__graph_node *node) {
  return node->kernel != NULL && weir__vulkan_code_of(node->kernel)->head.enqueue != NULL;
}

// Stages that a plan's nodes use.
static VkPipelineStageFlags stages_of(const weir__graph_plan *plan) {
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (plan->nodes[i].kind != WEIR__GRAPH_CALL || is_call(&plan->nodes[i]))
      return VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  }
  return VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
}

// Whether the host reads what a launch has written, without a copy in between.
static bool writes_for_host(const weir__vulkan_device *device, const weir__graph_plan *plan) {
  bool writes = device->memory.reads_mapped;
  for (uint32_t i = 0; i < plan->host_count; i++) writes = writes || plan->hosts[i].writes;
  return writes;
}

// Whether a step is recorded: an enqueue function that failed while those before it were has nodes skipped.
static bool is_healthy(weir__graph_run *run, const weir__vulkan_step *step) {
  if (!weir__graph_run_skips(run)) return true;
  if (step->dispatch == 0) return weir__graph_run_admits(run, step->node);
  return atomic_load_explicit(&run->states[step->node], memory_order_relaxed) == WEIR__NODE_OK;
}

static VkResult record_steps(weir__vulkan_device *device, weir__graph_run *run, const weir__vulkan_plan *plan,
                             weir__vulkan_recording *item) {
  const VkPipelineStageFlags stages = stages_of(run->plan);
  const weir__vulkan_graph_steps *steps = &plan->steps;
  weir__vulkan_recorder recorder = {.commands = item->commands, .sets = &item->sets};
  if (item->queries != VK_NULL_HANDLE)
    device->calls.vkCmdResetQueryPool(item->commands, item->queries, 0, 2 * steps->count);
  VkResult result = VK_SUCCESS;
  uint32_t calls = 0; // since the last barrier
  for (uint32_t i = 0; i < steps->count && result == VK_SUCCESS; i++) {
    uint32_t step = steps->order[i], node = steps->items[step].node;
    bool call = is_call(&run->plan->nodes[node]);
    if ((i > 0 && (item->step_by_step || steps->levels[step] != steps->levels[steps->order[i - 1]])) ||
        (call && calls == WEIR__VULKAN_CALLS_AT_ONCE)) {
      weir__vulkan_record_barrier(device, item->commands, stages, stages);
      calls = 0;
    }
    if (!is_healthy(run, &steps->items[step])) continue;
    mark(device, item, 2 * step);
    recorder.known = &item->bound[step];
    result = call ? weir__vulkan_call_node(device, &recorder, run, node, item->lane, calls++)
                  : record_step(device, &recorder, run, node, steps->items[step].dispatch);
    mark(device, item, 2 * step + 1);
  }
  if (!writes_for_host(device, run->plan)) return result;
  const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask =
                                       VK_ACCESS_SHADER_WRITE_BIT |
                                       (stages & VK_PIPELINE_STAGE_TRANSFER_BIT ? VK_ACCESS_TRANSFER_WRITE_BIT : 0),
                                   .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  device->calls.vkCmdPipelineBarrier(item->commands, stages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0,
                                     NULL);
  return result;
}

static VkResult record(weir__vulkan_device *device, weir__graph_run *run, const weir__vulkan_plan *plan,
                       weir__vulkan_recording *item) {
  const weir__vulkan_calls *calls = &device->calls;
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  // Sets that bind what they bound stay good, as long as no memory was given up.
  bool keeps = item->sets_generation == device->memory.generation &&
               item->sets.count + plan->steps.count <= MOST_SETS_PER_STEP * plan->steps.count;
  if (!keeps) weir__vulkan_sets_reset(&item->sets);
  if (!keeps || !item->valid ||
      memcmp(item->addresses, plan->addresses, run->plan->arg_count * sizeof *item->addresses) != 0)
    memset(item->bound, 0, plan->steps.count * sizeof *item->bound);
  item->valid = false;
  item->sets_generation = device->memory.generation;
  VkResult result = calls->vkResetCommandPool(device->device, item->pool, 0);
  if (result == VK_SUCCESS) result = calls->vkBeginCommandBuffer(item->commands, &begin);
  if (result == VK_SUCCESS) {
    result = record_steps(device, run, plan, item);
    VkResult ended = calls->vkEndCommandBuffer(item->commands);
    if (result == VK_SUCCESS) result = ended;
  }
  if (result != VK_SUCCESS) return result;
  memcpy(item->addresses, plan->addresses, run->plan->arg_count * sizeof *item->addresses);
  memcpy(item->values, run->values, run->plan->value_bytes);
  item->version = plan->steps.version;
  item->valid = !plan->each_time && !weir__graph_run_skips(run);
  if (plan->calls > 0)
    weir__vulkan_count_calls(device, run, plan->each_time ? 0 : plan->calls,
                             plan->each_time ? "a function has WEIR_ENQUEUE_NO_CAPTURE" : NULL);
  return VK_SUCCESS;
}

static weir__vulkan_recording *make_recording(weir__vulkan_device *device, const weir__graph_run *run,
                                              const weir__vulkan_plan *plan, uint32_t family, uint32_t lane,
                                              bool timed) {
  weir__vulkan_recording *item = weir__allocate_zeroed(sizeof *item);
  if (item == NULL) return NULL;
  item->family = family;
  item->lane = lane;
  item->addresses = weir__allocate((run->plan->arg_count + 1) * sizeof *item->addresses);
  item->values = weir__allocate(run->plan->value_bytes + 1);
  item->bound = weir__allocate_zeroed(plan->steps.count * sizeof *item->bound);
  weir__vulkan_sets_initialize(&item->sets, &device->calls, device->device);
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = family};
  const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                         .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                         .queryCount = 2 * plan->steps.count};
  bool good = item->addresses != NULL && item->values != NULL && item->bound != NULL;
  if (good)
    good = weir__vulkan_made(device->calls.vkCreateCommandPool(device->device, &pool, NULL, &item->pool),
                             &item->pool) == VK_SUCCESS;
  const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = item->pool,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  if (good) good = device->calls.vkAllocateCommandBuffers(device->device, &allocate, &item->commands) == VK_SUCCESS;
  if (good && timed)
    good = weir__vulkan_made(device->calls.vkCreateQueryPool(device->device, &queries, NULL, &item->queries),
                             &item->queries) == VK_SUCCESS;
  if (good) return item;
  destroy_recording(device, item);
  return NULL;
}

static bool binds_the_same(const weir__vulkan_device *device, const weir__graph_run *run, const weir__vulkan_plan *plan,
                           const weir__vulkan_recording *item) {
  return item->valid && item->generation == device->memory.generation &&
         memcmp(item->addresses, plan->addresses, run->plan->arg_count * sizeof *item->addresses) == 0;
}

static bool fits(const weir__vulkan_device *device, const weir__graph_run *run, const weir__vulkan_plan *plan,
                 const weir__vulkan_recording *item) {
  return item->version == plan->steps.version && binds_the_same(device, run, plan, item) &&
         memcmp(item->values, run->values, run->plan->value_bytes) == 0;
}

// A recording of the run as it is, that is not in flight: one that fits, or one made new, or the one that was used longest ago.
// Where only values differ a few are enough, and what they bind is bound already.
static VkResult find_recording(weir__vulkan_device *device, weir__graph_run *run, weir__vulkan_plan *plan,
                               const weir__vulkan_lane *lane, bool step_by_step,
                               weir__vulkan_recording **out_recording) {
  const weir__vulkan_queue *queue = lane->queue;
  uint32_t lane_index = plan->calls > 0 ? (uint32_t)(lane - device->lanes) : 0;
  weir__vulkan_recording *idle = NULL, *alike = NULL;
  uint32_t alike_count = 0;
  bool timed = queue->has_timestamps && (device->base.device.host->trace != NULL || run->timed || step_by_step);
  for (uint32_t i = 0; i < run->plan->arg_count; i++)
    plan->addresses[i] =
        run->plan->args[i].mode == WEIR_VALUE && !run->plan->args[i].host ? 0 : (uintptr_t)run->args[i];
  for (weir__vulkan_recording *item = plan->recordings; item != NULL; item = item->next) {
    if (item->in_flight || item->family != queue->family || item->lane != lane_index ||
        (item->queries != VK_NULL_HANDLE) != timed)
      continue;
    if (!step_by_step && !item->step_by_step && fits(device, run, plan, item)) {
      *out_recording = item;
      return VK_SUCCESS;
    }
    if (idle == NULL || item->last_used < idle->last_used) idle = item;
    if (!binds_the_same(device, run, plan, item)) continue;
    alike_count++;
    if (alike == NULL || item->last_used < alike->last_used) alike = item;
  }
  if (alike_count >= RECORDINGS_ALIKE) idle = alike;
  if ((plan->recording_count < RECORDINGS_KEPT && alike_count < RECORDINGS_ALIKE) || idle == NULL) {
    weir__vulkan_recording *item = make_recording(device, run, plan, queue->family, lane_index, timed);
    if (item != NULL) {
      item->next = plan->recordings;
      plan->recordings = item;
      plan->recording_count++;
      idle = item;
    }
  }
  if (idle == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
  *out_recording = idle;
  idle->generation = device->memory.generation;
  idle->step_by_step = step_by_step;
  return record(device, run, plan, idle);
}

// Nodes that read poison are skipped, and those that read what they should have written; the others are recorded one after
// another.
static VkResult record_healthy(weir__vulkan_device *device, weir__graph_run *run, weir__vulkan_lane *lane) {
  const VkPipelineStageFlags stages = stages_of(run->plan);
  VkResult result = VK_SUCCESS;
  lane->open->for_host = lane->open->for_host || writes_for_host(device, run->plan);
  lane->recorder.sets = weir__vulkan_current_sets(device);
  for (uint32_t i = 0; i < run->plan->node_count && result == VK_SUCCESS; i++) {
    const weir__graph_node *node = &run->plan->nodes[i];
    if (!weir__graph_run_admits(run, i)) continue;
    bool call = is_call(node);
    uint32_t dispatches = node->kernel != NULL && !call ? weir__vulkan_code_of(node->kernel)->count : 1;
    for (uint32_t j = 0; j < dispatches && result == VK_SUCCESS; j++) {
      weir__vulkan_record_barrier(device, lane->open->commands, stages, stages);
      result = call ? weir__vulkan_call_node(device, &lane->recorder, run, i, (uint32_t)(lane - device->lanes), 0)
                    : record_step(device, &lane->recorder, run, i, j);
    }
  }
  return result;
}

static void lay_out_images(weir__vulkan_device *device, weir__vulkan_lane *lane, const weir__graph_run *run) {
  for (uint32_t i = 0; i < run->plan->arg_count && weir__vulkan_has_new_images(&device->memory); i++)
    if (run->plan->args[i].mode != WEIR_VALUE) weir__vulkan_lay_out(device, lane, run->args[i]);
}

// Whether this launch is to time its steps.
static bool times_steps(const weir__vulkan_device *device, const weir__graph_run *run, const weir__vulkan_plan *plan,
                        const weir__vulkan_lane *lane) {
  return plan->launches + 1 == TIMED_LAUNCH && !plan->steps.fixed && !plan->steps.timed &&
         plan->steps.count <= MOST_TIMED && lane->queue->has_timestamps && !run->timed &&
         device->base.device.host->trace == NULL;
}

VkResult weir__vulkan_prepare_run(weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane) {
  weir__graph_run *run = op->head.task->run;
  weir__vulkan_plan *plan = run->plan->device_data;
  weir__host_lock(device->base.device.host);
  weir__graph_run_start(run);
  weir__host_unlock(device->base.device.host);
  if (plan->calls > 0) weir__vulkan_take_numbers(device, op, lane);
  lay_out_images(device, lane, run);
  lane->stages |= stages_of(run->plan);
  if (weir__graph_run_skips(run)) {
    if (plan->calls > 0) weir__vulkan_count_calls(device, run, 0, NULL);
    return record_healthy(device, run, lane);
  }
  if (plan->steps.timed && !plan->steps.fixed) weir__vulkan_steps_balance(&plan->steps);
  bool step_by_step = times_steps(device, run, plan, lane);
  VkResult result = find_recording(device, run, plan, lane, step_by_step, &op->recording);
  if (result != VK_SUCCESS) {
    op->recording = NULL;
    return result;
  }
  op->recording->in_flight = true;
  op->recording->last_used = ++plan->launches;
  lane->open->graph = op->recording->commands;
  lane->open->graph_timed = op->recording->queries != VK_NULL_HANDLE;
  return VK_SUCCESS;
}
