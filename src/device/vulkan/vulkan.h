// SPDX-License-Identifier: Apache-2.0
//
// A Vulkan device of a context. A thread of the device's own takes the tasks that submitters hand over, defers them while
// the device is busy, and records what has come together as command buffers: in the order of levels, so that one barrier
// serves all tasks of a level. Between lanes (queues, and the one of copies that the host makes) order is kept by timeline
// semaphores, one for each lane.
//
// Epochs. A barrier in a lane separates all that was recorded there before it from all that comes after. A lane's epoch counts
// its barriers: a task needs a barrier in front of it only if a predecessor in its lane has the lane's current epoch.
#ifndef WEIR_DEVICE_VULKAN_VULKAN_H
#define WEIR_DEVICE_VULKAN_VULKAN_H

#include "device/graph.h"
#include "device/host.h"
#include "device/vulkan/descriptors.h"
#include "device/vulkan/driver.h"
#include "device/vulkan/fence.h"
#include "device/vulkan/kernel.h"
#include "device/vulkan/memory.h"
#include "device/vulkan/share.h"
#include "issue/in_order.h"
#include "memory/arena.h"

enum {
  WEIR__VULKAN_MOST_LANES = 64,
  WEIR__VULKAN_TRACE_LANES = 24,       // of timelines, for what overlaps in a lane
  WEIR__VULKAN_DEFERRED_AT_MOST = 512, // tasks that are deferred
  WEIR__VULKAN_QUERIES = 512,          // timestamps of a batch
  WEIR__VULKAN_MOST_STEPS = 8,         // of a task; the dispatches of one with more stay together
};

#define WEIR__VULKAN_NO_QUERY UINT32_MAX

// A queue of the device.
typedef struct weir__vulkan_queue {
  VkQueue queue;
  uint32_t family;
  bool computes; // else it only copies
  bool has_timestamps;
  weir__lock lock; // of submissions
  uint32_t index;  // in its family
} weir__vulkan_queue;

// What was put into a lane for a task; or the first half of a copy through staging memory, which stands for none.
typedef struct weir__vulkan_op {
  weir__operation head;
  struct weir__vulkan_batch *batch, *marked; // where its last command is; where its start was marked
  struct weir__vulkan_op *rest;              // of a first half: the op of the copy's task
  struct weir__vulkan_recording *recording;  // of a graph
  weir__vulkan_chunk *staging;               // given back when it is done
  uint64_t epoch;
  uint64_t first;    // value of the batch where its first command is
  uint32_t refusals; // the device's when it was issued
  uint32_t query;    // the first of two; NO_QUERY: none
} weir__vulkan_op;

static inline weir__vulkan_op *weir__vulkan_op_of(weir__operation *operation) {
  return (weir__vulkan_op *)(void *)operation;
}

// A run of ops that is submitted as a whole. Its end is a value of its lane's semaphore.
typedef struct weir__vulkan_batch {
  struct weir__vulkan_batch *next; // in its lane, oldest first; or in the lane's list of free ones
  VkCommandPool pool;
  VkCommandBuffer commands; // its own
  VkCommandBuffer graph;    // of a recording or an open task, behind its own; VK_NULL_HANDLE: none
  VkFence fence;            // under the validation layer only: see tell_layer in batch.c
  bool fenced;              // the fence was submitted
  bool graph_timed;         // that has timestamps
  VkQueryPool queries;
  uint32_t query_count;
  weir__vulkan_op *first, *last;
  uint32_t count, lane;
  uint64_t value;
  struct weir__vulkan_told *told;          // under the validation layer
  uint64_t waits[WEIR__VULKAN_MOST_LANES]; // per lane: this value first; 0: none
  uint64_t waited;                         // bit per lane
  weir__vulkan_fence *await, *signal;      // semaphores of the caller's to wait for, to signal; NULL: none
  VkPipelineStageFlags host_writes;        // not 0: stages that read what the host wrote
  bool for_host;                           // the host will read what it writes
  bool submitted;
  // Of the lane of the host's copies.
  struct weir__vulkan_batch *next_copy;
  char *to;
  const char *from;
  uint64_t bytes;
  uint64_t start_ns, end_ns; // of the context's time
} weir__vulkan_batch;

// Where commands go, and what is bound there.
typedef struct weir__vulkan_recorder {
  VkCommandBuffer commands;
  weir__vulkan_sets *sets;
  VkPipeline pipeline;
  const weir__vulkan_layout *layout;
  VkDescriptorSet set;
  VkDescriptorSet *known;    // not NULL: the set of the next dispatch, or VK_NULL_HANDLE: it is put there
  weir__vulkan_chunk *chunk; // that the last binding was in; NULL: none that is sure to be there still
} weir__vulkan_recorder;

typedef struct weir__vulkan_lane {
  weir__vulkan_queue *queue; // NULL: copies that the host makes
  VkSemaphore semaphore;
  uint64_t value;   // of the last batch that was opened
  uint64_t refused; // of the last batch that could not be submitted, and why
  VkResult refusal;
  bool lost_barriers; // those of a batch that was refused, and since then none was opened
  weir__vulkan_batch *open;
  weir__vulkan_batch *first, *last; // submitted, not known to be done
  weir__vulkan_batch *free;
  uint64_t reached;                          // value of the semaphore, as far as it is known
  uint64_t awaited[WEIR__VULKAN_MOST_LANES]; // per lane: the value that submissions of this one have waited for
  uint32_t ops_in_flight;
  uint64_t epoch;
  VkPipelineStageFlags stages;    // used in this epoch
  weir__vulkan_recorder recorder; // of the open batch
  uint64_t calls_epoch;           // the last one with enqueue functions (enqueue.h), and how many it has
  uint32_t calls;
  // Of timelines: what was reported last.
  uint64_t reported_epoch, floor_ns, last_end_ns;
} weir__vulkan_lane;

typedef struct weir__vulkan_deferred weir__vulkan_deferred;

typedef struct weir__vulkan_device {
  weir__in_order_device base;
  const weir__vulkan_driver *driver;
  weir__vulkan_registration *registration; // NULL: the device is Weir's own
  VkPhysicalDevice physical;
  VkDevice device;
  weir__vulkan_calls calls;
  weir__vulkan_facts facts;   // what it has
  weir__vulkan_facts enabled; // what it was created with
  weir__vulkan_pipelines *pipelines;
  weir__vulkan_memory memory;
  weir__arena arena, host_arena; // guarded by the context's lock
  weir__vulkan_queue *queues;
  uint32_t queue_count;
  // Lanes: those for kernels, those for copies (perhaps none), and the last one, the host's.
  weir__vulkan_lane lanes[WEIR__VULKAN_MOST_LANES];
  uint32_t lane_count, kernel_lanes;
  bool spreads; // the caller asked for several lanes: tasks without predecessors in flight go to the emptiest
  // Of the thread alone.
  weir__vulkan_deferred *deferred; // tasks that are deferred
  weir__vulkan_sets sets[2];       // the one in use, and the one before, whose sets may be in flight
  uint32_t young;
  uint64_t old_values[WEIR__VULKAN_MOST_LANES]; // of the lanes when the old ones were used last
  uint32_t batches_in_flight;
  uint32_t refusals; // batches that could not be submitted
  uint64_t random;
  uint64_t base_ns, base_ticks; // of timelines
  uint64_t ticks_mask;          // of the bits that timestamps of all queues have
  uint64_t lane_ends[WEIR__VULKAN_MOST_LANES + WEIR__VULKAN_TRACE_LANES];
  // Copies that the host makes, by a thread of their own, to which the device's thread hands those that wait for nothing more.
  pthread_t copier;
  bool has_copier;
  weir__vulkan_batch *next_copy; // the first of the host's lane that was not handed over
  uint64_t copies_handed;        // value of the last one that was
  weir__lock copy_lock;
  weir__vulkan_batch *first_copy, *last_copy; // guarded by copy_lock
  _Atomic uint32_t copy_count;                // that were put into the list; the copier sleeps on it
  _Atomic uint64_t copies_done;               // value of the last one that was made
  _Atomic uint32_t copies_word;               // changes with it; the device's thread sleeps on it
  _Atomic bool copier_stopping;
  weir__vulkan_chunk *idle_staging;
  weir__vulkan_chunk *released_images; // guarded by the context's lock
  // Open tasks (open_task.h).
  weir__lock opened_lock;
  struct weir__vulkan_opened *free_opened; // guarded by it
  weir__id last_opened[WEIR__MOST_OPEN];   // per slot: the task that was issued last; of the thread alone
} weir__vulkan_device;

static inline weir__vulkan_device *weir__vulkan_of(weir_device *device) {
  return (weir__vulkan_device *)(void *)device;
}

static inline bool weir__is_vulkan(const weir_device *device) {
  return device->ops->code == WEIR__CODE_VULKAN;
}

weir__vulkan_pipelines *weir__vulkan_device_pipelines(weir_device *device);
const weir__vulkan_facts *weir__vulkan_device_facts(const weir_device *device); // what it was created with

static inline weir__vulkan_lane *weir__vulkan_host_lane(weir__vulkan_device *device) {
  return &device->lanes[device->lane_count - 1];
}

// The driver failed for good. Any thread of the device's.
static inline void weir__vulkan_trouble(weir__vulkan_device *device, VkResult result) {
  weir__in_order_trouble(&device->base, (uint32_t)-result);
}

// After that nothing is submitted any more: it could wait for the end of something that the driver did not take.
static inline bool weir__vulkan_is_in_trouble(const weir__vulkan_device *device) {
  return atomic_load_explicit(&device->base.trouble, memory_order_relaxed) != 0;
}

// What follows is called by the thread only.

// Functions of weir__in_order_table: thread.c, issue.c, complete.c.
bool weir__vulkan_work(weir__in_order_device *device);
bool weir__vulkan_rest(weir__in_order_device *device);
bool weir__vulkan_may_sleep(weir__in_order_device *device, uint64_t *out_ns);
bool weir__vulkan_enqueue(weir__in_order_device *device, weir__operation *operation, uint32_t count);
void weir__vulkan_discard(weir__in_order_device *device, weir__operation *operation);
void weir__vulkan_look(weir__in_order_device *device);
weir__operation *weir__vulkan_last_done(weir__in_order_device *device, uint32_t queue);
void weir__vulkan_finish(weir__in_order_device *device, weir__operation *operation);
void weir__vulkan_report(weir__in_order_device *device, weir__operation *operation, weir__completion *completion);
void weir__vulkan_await(weir__in_order_device *device);
void weir__vulkan_lose(weir__in_order_device *device, uint32_t trouble, char text[WEIR__MESSAGE_BYTES]);
void weir__vulkan_drain(weir__in_order_device *device);

// Tasks that are deferred (hold.c): takes one; issues all, level by level, and submits them.
weir__vulkan_deferred *weir__vulkan_deferred_create(uint32_t window); // NULL: no memory
void weir__vulkan_deferred_destroy(weir__vulkan_deferred *held, uint32_t window);
uint32_t weir__vulkan_deferred_count(const weir__vulkan_device *device);
void weir__vulkan_defer(weir__vulkan_device *device, weir__task *task);
void weir__vulkan_issue_deferred(weir__vulkan_device *device);

// Puts a task into a lane (issue.c). The task is reported later, whatever happens. A task of several steps is not complete
// before the last of them was issued as well: each step, the first one too, is one dispatch of its kernel. Both return its
// op; NULL: the task was reported as failed.
weir__vulkan_op *weir__vulkan_issue(weir__vulkan_device *device, weir__task *task);
weir__vulkan_op *weir__vulkan_issue_step(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t index, bool last);
uint32_t weir__vulkan_steps(const weir__task *task); // 1 for tasks that are issued at once
void weir__vulkan_op_clear(const weir__vulkan_device *device, weir__vulkan_op *op);                // all but its head
static inline weir__vulkan_op *weir__vulkan_find(const weir__vulkan_device *device, weir__id id) { // NULL: done
  weir__operation *operation = weir__in_order_find(&device->base, id);
  return operation == NULL ? NULL : weir__vulkan_op_of(operation);
}

// The parts of issuing. Predecessors are the first `count` of the operations' places. `choose_lane`: the lane of the latest
// predecessor, else one for tasks. `place`: gives the op a place behind them in a lane, whose open batch its
// commands go to; false: no memory. `mark`: a timestamp before or behind its commands. `append`: the op is complete. `refuse`:
// the op's task fails, since what is named here failed; the lock is not held.
uint32_t weir__vulkan_choose_lane(const weir__vulkan_device *device, uint32_t count);
bool weir__vulkan_place(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count, uint32_t lane_index);
void weir__vulkan_mark(const weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane, bool end);
void weir__vulkan_append(weir__vulkan_device *device, weir__vulkan_op *op);
void weir__vulkan_refuse(weir__vulkan_device *device, weir__vulkan_op *op, const char *what, VkResult result);

// Puts a task that runs no kernel into a lane (moves.c). False: no memory.
bool weir__vulkan_put_move(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count);

// A queue is used by one thread at a time, of Weir's or the caller's (registration.c). Between the two the caller's lock is held.
void weir__vulkan_queue_acquire(const weir__vulkan_device *device, weir__vulkan_queue *queue);
void weir__vulkan_queue_release(const weir__vulkan_device *device, weir__vulkan_queue *queue);
void weir__vulkan_wait_idle(weir__vulkan_device *device); // all queues, or until they are lost

// Batches (batch.c). `open`: the lane's open batch, made if there is none; NULL: no memory.
weir__vulkan_batch *weir__vulkan_open(weir__vulkan_device *device, weir__vulkan_lane *lane);
void weir__vulkan_submit(weir__vulkan_device *device, weir__vulkan_lane *lane); // its open batch, if it has one
void weir__vulkan_submit_all(weir__vulkan_device *device);
// Lets what is recorded in the lane from now on wait for a batch of another lane, which is submitted if it is open.
bool weir__vulkan_let_wait(weir__vulkan_device *device, weir__vulkan_lane *lane, weir__vulkan_batch *batch);
void weir__vulkan_barrier(weir__vulkan_device *device, weir__vulkan_lane *lane);
void weir__vulkan_give_batch(weir__vulkan_device *device, weir__vulkan_lane *lane, weir__vulkan_batch *batch);
void weir__vulkan_destroy_batches(weir__vulkan_device *device, weir__vulkan_lane *lane);

// One argument of a dispatch.
typedef struct weir__vulkan_arg {
  const void *address; // of the range's first byte, or of the value
  uint64_t bytes;
  bool is_value;
} weir__vulkan_arg;

// Records the dispatches of a kernel (record.c).
VkResult weir__vulkan_record_kernel(weir__vulkan_device *device, weir__vulkan_recorder *recorder,
                                    const weir__vulkan_kernel *kernel, const uint32_t groups[3],
                                    const weir__vulkan_arg *args, uint32_t count);
// One of them, without what must stand between them.
VkResult weir__vulkan_record_dispatch(weir__vulkan_device *device, weir__vulkan_recorder *recorder,
                                      const weir__vulkan_launch *launch, const uint32_t groups[3],
                                      const weir__vulkan_arg *args, uint32_t count);
// A barrier between stages for all that device memory holds.
void weir__vulkan_record_barrier(const weir__vulkan_device *device, VkCommandBuffer commands,
                                 VkPipelineStageFlags before, VkPipelineStageFlags after);
// Records a copy between chunks.
void weir__vulkan_record_copy(weir__vulkan_device *device, VkCommandBuffer commands, void *destination,
                              const void *source, uint64_t bytes);
// Records a fill of a chunk's bytes with a pattern of 4.
void weir__vulkan_record_fill(weir__vulkan_device *device, VkCommandBuffer commands, void *destination, uint64_t bytes,
                              uint32_t pattern);
// The generation of descriptor sets to take sets from now.
weir__vulkan_sets *weir__vulkan_current_sets(weir__vulkan_device *device);

// Graphs (graph.c, graph_times.c).
weir_status weir__vulkan_graph_build(weir_device *device, weir__graph_plan *plan, uint64_t *out_build_ns);
void weir__vulkan_graph_forget(weir_device *device, void *device_data);
// Finds or makes the recording of a run.
VkResult weir__vulkan_prepare_run(weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane);
// A launch that ended well, before it is reported: the caller's memory, and the times of its nodes. No lock is held.
void weir__vulkan_finish_run(weir__vulkan_device *device, const weir__vulkan_op *op);
// The op's recording is not in flight any more. The lock is held.
void weir__vulkan_report_run(weir__vulkan_device *device, weir__vulkan_op *op, weir__completion *completion);

// Gives back the batches of which all ops are reported (complete.c).
void weir__vulkan_give_reported(weir__vulkan_device *device);
// Waits until something in flight may be done, for `ns` at most.
void weir__vulkan_wait_any(weir__vulkan_device *device, uint64_t ns);
// A row of the timeline that is free at `start_ns`, taken until `end_ns`: the lane's own, or one of those for what overlaps.
uint32_t weir__vulkan_row(weir__vulkan_device *device, uint32_t lane, uint64_t start_ns, uint64_t end_ns);
// Time of a timestamp, in ns since the context was made.
uint64_t weir__vulkan_ticks_ns(const weir__vulkan_device *device, uint64_t ticks);

// Copies that the host makes (host_copies.c).
weir_status weir__vulkan_copier_start(weir__vulkan_device *device);
void weir__vulkan_copier_stop(weir__vulkan_device *device);
// Hands over copies that wait for nothing more, and lets the other lanes go on behind those that were made.
void weir__vulkan_copier_serve(weir__vulkan_device *device);
// On a device that is lost: makes no more copies; what waits for them goes on without.
void weir__vulkan_copier_give_up(weir__vulkan_device *device);

#endif // WEIR_DEVICE_VULKAN_VULKAN_H
