// SPDX-License-Identifier: Apache-2.0
#include "vulkan_batches.h"

#include <stdlib.h>

#include "vulkan_spin.h"

typedef struct batch {
  uint32_t queue, first_wait, wait_count; // waits: `waits` from first_wait on
  uint32_t dispatches;
  uint64_t signal; // value, without the base of the pass; 0: none
  VkCommandBuffer commands;
} batch;

typedef struct batch_wait {
  uint32_t semaphore;
  uint64_t value;
} batch_wait;

typedef struct batch_queue {
  VkQueue queue;
  VkCommandPool pool;
  VkCommandBuffer *buffers; // as many as the plan could need
  uint32_t used;            // of them, in this recording
  VkPipeline bound;         // in the batch that is open
  uint32_t open;            // index of the batch that is being recorded; UINT32_MAX: none
  size_t last_step;         // of the plan
  uint64_t last_value;      // of the plan's signals
  vulkan_timeline timeline; // value: the base of the next pass
} batch_queue;

struct vulkan_batches {
  const vulkan_program *program;
  const weir__barrier_plan *plan;
  uint32_t chunk, queue_count, count, wait_count;
  batch_queue *queues;
  batch *batches;
  batch_wait *waits;
  // Arrays of one submission.
  VkSubmitInfo *infos;
  VkTimelineSemaphoreSubmitInfo *values;
  VkSemaphore *wait_semaphores;
  uint64_t *wait_values, *signal_values;
  VkPipelineStageFlags *stages;
};

// ---------------------------------------------------------------------------------------------------------------
// Creation

static void create_queue(const vulkan_family *family, uint32_t number, uint32_t buffers, batch_queue *queue) {
  queue->queue = family->queues[number];
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .queueFamilyIndex = family->index};
  VULKAN(CreateCommandPool(card.device, &pool, NULL, &queue->pool));
  queue->buffers = gpu_memory(buffers, sizeof *queue->buffers);
  VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = queue->pool,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = buffers};
  VULKAN(AllocateCommandBuffers(card.device, &allocate, queue->buffers));
  vulkan_timeline_create(&queue->timeline);
}

// Batches of a queue: one to begin with, one more after each signal, wait and chunk.
static uint32_t most_batches(const weir__barrier_plan *plan, uint32_t queue, uint32_t chunk) {
  uint32_t cuts = 1, dispatches = 0;
  for (size_t s = 0; s < plan->step_count; s++) {
    if (plan->steps[s].queue != queue) continue;
    cuts += plan->steps[s].kind == WEIR__BARRIER_SIGNAL || plan->steps[s].kind == WEIR__BARRIER_WAIT;
    dispatches += plan->steps[s].kind == WEIR__BARRIER_DISPATCH;
  }
  return cuts + (chunk > 0 ? dispatches / chunk : 0);
}

vulkan_batches *vulkan_batches_create(const vulkan_program *program, const weir__barrier_plan *plan,
                                      const vulkan_family *family, uint32_t chunk) {
  vulkan_batches *batches = gpu_memory(1, sizeof *batches);
  *batches = (vulkan_batches){.program = program, .plan = plan, .chunk = chunk, .queue_count = plan->queue_count};
  batches->queues = gpu_memory(plan->queue_count, sizeof *batches->queues);
  uint32_t most = 0;
  for (uint32_t q = 0; q < plan->queue_count; q++) {
    uint32_t own = most_batches(plan, q, chunk);
    create_queue(family, q, own, &batches->queues[q]);
    most += own;
  }
  batches->batches = gpu_memory(most, sizeof *batches->batches);
  batches->waits = gpu_memory(plan->waits, sizeof *batches->waits);
  batches->infos = gpu_memory(most, sizeof *batches->infos);
  batches->values = gpu_memory(most, sizeof *batches->values);
  batches->wait_semaphores = gpu_memory(plan->waits, sizeof *batches->wait_semaphores);
  batches->wait_values = gpu_memory(plan->waits, sizeof *batches->wait_values);
  batches->stages = gpu_memory(plan->waits, sizeof *batches->stages);
  batches->signal_values = gpu_memory(most, sizeof *batches->signal_values);
  for (size_t s = 0; s < plan->step_count; s++) batches->queues[plan->steps[s].queue].last_step = s;
  for (uint32_t w = 0; w < plan->waits; w++) batches->stages[w] = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  vulkan_batches_record(batches);
  return batches;
}

void vulkan_batches_destroy(vulkan_batches *batches) {
  for (uint32_t q = 0; q < batches->queue_count; q++) {
    vk.DestroyCommandPool(card.device, batches->queues[q].pool, NULL);
    vulkan_timeline_destroy(&batches->queues[q].timeline);
    free(batches->queues[q].buffers);
  }
  free(batches->queues);
  free(batches->batches);
  free(batches->waits);
  free(batches->infos);
  free(batches->values);
  free(batches->wait_semaphores);
  free(batches->wait_values);
  free(batches->stages);
  free(batches->signal_values);
  free(batches);
}

uint32_t vulkan_batches_count(const vulkan_batches *batches) {
  return batches->count;
}

// ---------------------------------------------------------------------------------------------------------------
// Submitting

static void submit(vulkan_batches *batches, uint32_t queue, uint32_t count) {
  VULKAN(QueueSubmit(batches->queues[queue].queue, count, batches->infos, VK_NULL_HANDLE));
}

// Fills in place `at` of the submission. Places are filled in ascending order.
static void fill_info(vulkan_batches *batches, const batch *one, uint32_t at) {
  for (uint32_t w = one->first_wait; w < one->first_wait + one->wait_count; w++) {
    const batch_queue *other = &batches->queues[batches->waits[w].semaphore];
    batches->wait_semaphores[w] = other->timeline.semaphore;
    batches->wait_values[w] = other->timeline.value + batches->waits[w].value;
  }
  const batch_queue *own = &batches->queues[one->queue];
  batches->signal_values[at] = own->timeline.value + one->signal;
  batches->values[at] = (VkTimelineSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                        .waitSemaphoreValueCount = one->wait_count,
                                                        .pWaitSemaphoreValues = &batches->wait_values[one->first_wait],
                                                        .signalSemaphoreValueCount = one->signal > 0,
                                                        .pSignalSemaphoreValues = &batches->signal_values[at]};
  batches->infos[at] = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                      .pNext = &batches->values[at],
                                      .waitSemaphoreCount = one->wait_count,
                                      .pWaitSemaphores = &batches->wait_semaphores[one->first_wait],
                                      .pWaitDstStageMask = &batches->stages[one->first_wait],
                                      .commandBufferCount = one->commands != VK_NULL_HANDLE,
                                      .pCommandBuffers = &one->commands,
                                      .signalSemaphoreCount = one->signal > 0,
                                      .pSignalSemaphores = &own->timeline.semaphore};
}

static void submit_one(vulkan_batches *batches, const batch *one) {
  fill_info(batches, one, 0);
  submit(batches, one->queue, 1);
}

static void submit_by_queue(vulkan_batches *batches) {
  for (uint32_t q = 0; q < batches->queue_count; q++) {
    uint32_t count = 0;
    for (uint32_t b = 0; b < batches->count; b++) {
      if (batches->batches[b].queue == q) fill_info(batches, &batches->batches[b], count++);
    }
    if (count > 0) submit(batches, q, count);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Recording

static batch *open_batch(vulkan_batches *batches, uint32_t number) {
  batch_queue *queue = &batches->queues[number];
  if (queue->open == UINT32_MAX) {
    queue->open = batches->count++;
    queue->bound = VK_NULL_HANDLE;
    batches->batches[queue->open] = (batch){.queue = number, .first_wait = batches->wait_count};
  }
  return &batches->batches[queue->open];
}

static VkCommandBuffer commands_of(vulkan_batches *batches, batch *one) {
  if (one->commands) return one->commands;
  batch_queue *queue = &batches->queues[one->queue];
  one->commands = queue->buffers[queue->used++];
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VULKAN(BeginCommandBuffer(one->commands, &info));
  return one->commands;
}

static void close_batch(vulkan_batches *batches, uint32_t number, bool submit_it) {
  batch_queue *queue = &batches->queues[number];
  batch *one = &batches->batches[queue->open];
  if (one->commands) VULKAN(EndCommandBuffer(one->commands));
  if (submit_it) submit_one(batches, one);
  queue->open = UINT32_MAX;
}

static void put_dispatch(vulkan_batches *batches, const weir__barrier_step *step) {
  const vulkan_dispatch *dispatch = &batches->program->dispatches[step->task];
  batch *one = open_batch(batches, step->queue);
  VkCommandBuffer commands = commands_of(batches, one);
  batch_queue *queue = &batches->queues[step->queue];
  if (queue->bound != dispatch->pipeline)
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch->pipeline);
  queue->bound = dispatch->pipeline;
  vulkan_spin_put(commands, vulkan_spin.clock, dispatch->groups, dispatch->us);
  one->dispatches++;
}

static void put_wait(vulkan_batches *batches, const weir__barrier_step *step, bool submit_it) {
  uint32_t open = batches->queues[step->queue].open;
  // The waits of a batch lie side by side, so only the batch that was opened last may take one more.
  if (open != UINT32_MAX && (batches->batches[open].commands || open + 1 != batches->count))
    close_batch(batches, step->queue, submit_it);
  batch *one = open_batch(batches, step->queue);
  batches->waits[batches->wait_count++] = (batch_wait){step->semaphore, step->value};
  one->wait_count++;
}

// Every queue's last batch says that all of the queue is done, by a value after those of the plan.
static void record(vulkan_batches *batches, bool submit_each) {
  batches->count = batches->wait_count = 0;
  for (uint32_t q = 0; q < batches->queue_count; q++) {
    batch_queue *queue = &batches->queues[q];
    VULKAN(ResetCommandPool(card.device, queue->pool, 0));
    queue->used = 0;
    queue->open = UINT32_MAX;
    queue->last_value = 0;
  }
  const weir__barrier_plan *plan = batches->plan;
  for (size_t s = 0; s < plan->step_count; s++) {
    const weir__barrier_step *step = &plan->steps[s];
    batch_queue *queue = &batches->queues[step->queue];
    bool last = s == queue->last_step;
    if (step->kind == WEIR__BARRIER_DISPATCH) put_dispatch(batches, step);
    if (step->kind == WEIR__BARRIER_BARRIER) vulkan_barrier(commands_of(batches, open_batch(batches, step->queue)));
    if (step->kind == WEIR__BARRIER_WAIT) put_wait(batches, step, submit_each);
    if (step->kind == WEIR__BARRIER_SIGNAL) open_batch(batches, step->queue)->signal = queue->last_value = step->value;
    batch *one = &batches->batches[queue->open];
    if (last) one->signal = ++queue->last_value;
    bool full = batches->chunk > 0 && one->dispatches >= batches->chunk;
    if (last || full || step->kind == WEIR__BARRIER_SIGNAL) close_batch(batches, step->queue, submit_each);
  }
}

void vulkan_batches_record(vulkan_batches *batches) {
  record(batches, false);
}

double vulkan_batches_run(vulkan_batches *batches, vulkan_pass pass) {
  double start = gpu_now_us();
  if (pass == VULKAN_RECORD_FIRST || pass == VULKAN_AS_RECORDED) record(batches, pass == VULKAN_AS_RECORDED);
  if (pass == VULKAN_BATCH_A_CALL) {
    for (uint32_t b = 0; b < batches->count; b++) submit_one(batches, &batches->batches[b]);
  } else if (pass != VULKAN_AS_RECORDED) {
    submit_by_queue(batches);
  }
  for (uint32_t q = 0; q < batches->queue_count; q++) {
    batches->queues[q].timeline.value += batches->queues[q].last_value;
    vulkan_await(&batches->queues[q].timeline);
  }
  return gpu_now_us() - start;
}
