// SPDX-License-Identifier: Apache-2.0
//
// An OpenCL device of a context: an in-order device (issue/in_order.h), whose queues are command queues. Every command has an
// event: others wait for it in their event lists, and its status tells that it is done. A device with memory of its own uses shared virtual memory, so that tasks are given addresses, or memory
// objects; one that works in the host's memory is handed that.
#ifndef WEIR_DEVICE_OPENCL_OPENCL_H
#define WEIR_DEVICE_OPENCL_OPENCL_H

#include "device/graph.h"
#include "device/opencl/driver.h"
#include "device/opencl/kernel.h"
#include "device/opencl/objects.h"
#include "issue/in_order.h"
#include "memory/arena.h"

enum {
  WEIR__OPENCL_MOST_QUEUES = WEIR_OPENCL_MOST_QUEUES,
  WEIR__OPENCL_GUARDS = 8,         // references to a queue that functions of the caller's get,
  WEIR__OPENCL_MORE_GUARDS = 1024, // and more, once one of them is seen to be gone (enqueue.c)
};

// A node of a graph that was enqueued.
typedef struct weir__opencl_node {
  cl_event event; // NULL: none
  cl_event start; // of a node of several commands: a marker before them; NULL: the event's command is all
  uint32_t queue;
} weir__opencl_node;

// A task, or the launch of a graph.
typedef struct weir__opencl_operation {
  weir__operation head;
  cl_event event;           // stands for its end; NULL: it is done, with all that it came after
  cl_event start;           // as a node's
  weir__opencl_node *nodes; // of a launch of a graph whose nodes have events; else NULL
  bool has_callback;        // that wakes the thread
  bool awaited;             // the host may wait for the task
  uint64_t start_ns, end_ns;
} weir__opencl_operation;

typedef struct weir__opencl_queue {
  cl_command_queue queue;
  bool unflushed;
  bool guarded;      // WEIR__OPENCL_GUARDS more references are held, since functions of the caller's get it (enqueue.c)
  bool was_released; // by one of them: how many are left is not known
  cl_event end;      // of a marker behind all that is in it, where the device was lost; NULL: none
} weir__opencl_queue;

typedef struct weir__opencl_program weir__opencl_program;
typedef struct weir__opencl_chunk weir__opencl_chunk;
struct weir__opencl_registration;

// What a device works in: the host's memory; shared virtual memory, or memory objects, of its own.
typedef enum weir__opencl_memory_kind {
  WEIR__OPENCL_HOST,
  WEIR__OPENCL_SHARED,
  WEIR__OPENCL_OBJECTS
} weir__opencl_memory_kind;

typedef struct weir__opencl_device {
  weir__in_order_device base;
  const weir__opencl_driver *driver;
  const weir__opencl_listed *listed;
  struct weir__opencl_registration *registration; // NULL: the cl_context is Weir's
  cl_device_id device;
  cl_context context;
  weir__opencl_program *programs; // built code; see program.c
  weir__opencl_memory_kind memory_kind;
  weir__arena memory;         // guarded by the context's lock, as `chunks`
  weir__opencl_chunk *chunks; // of shared virtual memory
  weir__opencl_objects objects;
  bool has_released;  // of the caller's objects some are to be released; guarded by the context's lock
  uintptr_t listener; // names the device to callbacks of events; 0: none yet
  struct weir__opencl_device *next_listener;
  _Atomic bool stuck; // commands of the lost device never ended: what they may use is left to the driver
  _Atomic uint32_t image_count;
  uint32_t own_queues;
  // Of the thread alone.
  weir__opencl_queue *queues; // its own, then those of open tasks, as far as they were made (open_task.h)
  uint64_t reported;          // tasks that had been taken when it last reported
  bool unseen;                // some commands have ended, or not, without an event that tells
  int64_t clock_offset_ns;    // of the device's clock to the context's
  uint64_t clock_set_ns;      // when that was measured; 0: never
} weir__opencl_device;

// The commands that a command must wait for, for its event list; none afterwards.
typedef struct weir__opencl_waits {
  cl_uint count;
  cl_event events[WEIR__OPENCL_MOST_QUEUES + WEIR__MOST_OPEN];
} weir__opencl_waits;

static inline weir__opencl_device *weir__opencl_of(weir_device *device) {
  return (weir__opencl_device *)(void *)device;
}

static inline weir__opencl_device *weir__opencl_of_in_order(weir__in_order_device *device) {
  return (weir__opencl_device *)(void *)device;
}

static inline weir__opencl_operation *weir__opencl_operation_of(weir__operation *operation) {
  return (weir__opencl_operation *)(void *)operation;
}

// The driver failed for good.
static inline void weir__opencl_trouble(weir__opencl_device *device, cl_int result) {
  weir__in_order_trouble(&device->base, (uint32_t)result);
}

static inline bool weir__is_opencl(const weir_device *device) {
  return device->ops->code == WEIR__CODE_OPENCL;
}

// Which device a name means (name.c): "" or "N", or "N/P.K": part K of P equal ones.
typedef struct weir__opencl_name {
  uint32_t number, parts, part; // parts 0: the whole device
} weir__opencl_name;
weir_status weir__opencl_parse(const weir__opencl_driver *driver, const char *argument, weir__opencl_name *out_name);

// What the device of this number works in (shared.c): the host's memory only if it does at any address.
weir__opencl_memory_kind weir__opencl_memory_of(const weir__opencl_driver *driver, uint32_t number);

// Storage of devices with memory of their own (memory.c).
void weir__opencl_memory_initialize(weir__opencl_device *device);
void weir__opencl_memory_deinitialize(weir__opencl_device *device);
void weir__opencl_memory(weir_device *base, weir__memory_source *out_device_memory,
                         weir__memory_source *out_host_memory);

// What follows is called by the thread only.

// Functions of weir__in_order_table: thread.c, issue.c, complete.c.
bool weir__opencl_work(weir__in_order_device *device);
bool weir__opencl_may_sleep(weir__in_order_device *device, uint64_t *out_ns);
bool weir__opencl_enqueue(weir__in_order_device *device, weir__operation *operation, uint32_t count);
weir__operation *weir__opencl_last_done(weir__in_order_device *device, uint32_t queue);
void weir__opencl_finish(weir__in_order_device *device, weir__operation *operation);
void weir__opencl_report(weir__in_order_device *device, weir__operation *operation, weir__completion *completion);
void weir__opencl_await(weir__in_order_device *device);
void weir__opencl_lose(weir__in_order_device *device, uint32_t trouble, char text[WEIR__MESSAGE_BYTES]);
void weir__opencl_drain(weir__in_order_device *device);

// Commands (commands.c).
void weir__opencl_flush(weir__opencl_device *device);
void weir__opencl_flush_queue(weir__opencl_device *device, uint32_t queue);
// Waits for all that is in a queue, where there is no event to wait for. The device is lost where that fails.
void weir__opencl_finish_queue(weir__opencl_device *device, uint32_t queue);
// A command that comes after all that is before it in the queue, and after the waits, which stay as they are.
cl_int weir__opencl_enqueue_marker(weir__opencl_device *device, uint32_t queue, const weir__opencl_waits *waits,
                                   cl_event *out_event);

// Enqueues one kernel. `*out_event` (not NULL) is the command's.
cl_int weir__opencl_enqueue_kernel(weir__opencl_device *device, const weir__opencl_kernel *kernel,
                                   const uint32_t groups[3], const weir__opencl_argument *arguments, uint32_t count,
                                   cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event);
cl_int weir__opencl_enqueue_copy(weir__opencl_device *device, void *to, const void *from, uint64_t bytes,
                                 cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event);
cl_int weir__opencl_enqueue_fill(weir__opencl_device *device, void *to, uint32_t pattern, uint64_t bytes,
                                 cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event);

// The same for an address that is in no memory object, and need not be aligned.
cl_int weir__opencl_fill_memory(weir__opencl_device *device, void *to, uint32_t pattern, uint64_t bytes,
                                cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event);

// Whether an address may lie in a memory object.
static inline bool weir__opencl_has_objects(const weir__opencl_device *device) {
  return device->memory_kind == WEIR__OPENCL_OBJECTS ||
         atomic_load_explicit(&device->image_count, memory_order_relaxed) > 0;
}

// The same on memory objects (object_commands.c): an argument that is an address, which must be aligned; copies between two
// objects, or an object and the host; fills; and what turns out to be no object. `waits` may stay as it is.
cl_int weir__opencl_set_object(weir__opencl_device *device, cl_kernel kernel, cl_uint index,
                               const weir__opencl_argument *argument);
cl_int weir__opencl_copy_objects(weir__opencl_device *device, void *to, const void *from, uint64_t bytes,
                                 cl_command_queue queue, const weir__opencl_waits *waits, cl_event *out_event);
cl_int weir__opencl_fill_object(weir__opencl_device *device, void *to, uint32_t pattern, uint64_t bytes,
                                cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event);

// Launches of graphs (graph.c): enqueues the nodes; what follows when they are done; their times. On failure `waits` has what a
// marker in place of the launch must wait for.
cl_int weir__opencl_launch_run(weir__opencl_device *device, weir__opencl_operation *operation,
                               weir__opencl_waits *waits);
void weir__opencl_finish_run(weir__opencl_device *device, weir__opencl_operation *operation);
void weir__opencl_trace_run(weir__opencl_device *device, const weir__opencl_operation *operation);
void weir__opencl_release_nodes(weir__opencl_device *device, weir__opencl_operation *operation);

// Times (times.c): when what is between a marker and an event's command started and ended, or, if `start` is NULL, that
// command alone; in ns since the context was made; 0: not known.
void weir__opencl_set_clock(weir__opencl_device *device);
void weir__opencl_event_times(const weir__opencl_device *device, cl_event start, cl_event event, uint64_t *out_start_ns,
                              uint64_t *out_end_ns);

// Whether something is done that was not reported, or can be told by no event; `lags`: only if the host may wait for one
// of it, or it is much (complete.c).
bool weir__opencl_has_done(const weir__opencl_device *device, bool lags);
// Has the driver wake the thread when that is so.
void weir__opencl_ask_to_ring(weir__opencl_device *device, bool lags);

#endif // WEIR_DEVICE_OPENCL_OPENCL_H
