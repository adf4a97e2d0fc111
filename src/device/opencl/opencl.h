// SPDX-License-Identifier: Apache-2.0
//
// An OpenCL device of a context. A thread of the device's own puts tasks into in-order command queues and notices what is done;
// whoever submits only hands it tasks. Every command has an event: others wait for it in their event lists, and its status tells
// that it is done. A device with memory of its own uses shared virtual memory, so that tasks are given addresses, or memory
// objects; one that works in the host's memory is handed that.
#ifndef WEIR_DEVICE_OPENCL_OPENCL_H
#define WEIR_DEVICE_OPENCL_OPENCL_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/graph.h"
#include "device/host.h"
#include "device/opencl/driver.h"
#include "device/opencl/kernel.h"
#include "device/opencl/objects.h"
#include "issue/fences.h"
#include "issue/queues.h"
#include "memory/arena.h"

enum { WEIR__OPENCL_MOST_QUEUES = WEIR_OPENCL_MOST_QUEUES };

// What the device's thread sleeps on. Callbacks of the driver hold references, since they may come after the device is gone.
typedef struct weir__opencl_bell {
  _Atomic uint32_t sleeping; // 1: the thread sleeps on this word
  _Atomic uint32_t references;
} weir__opencl_bell;

// A node of a graph that was enqueued.
typedef struct weir__opencl_node {
  cl_event event; // NULL: none
  uint32_t queue;
} weir__opencl_node;

// Something that was put into a queue: a task, or the launch of a graph.
typedef struct weir__opencl_op {
  struct weir__opencl_op *next; // in its queue, oldest first; or in the list of free ones
  weir__queue_task *place;
  cl_event event;                  // stands for its end; NULL: it is done, with all that it came after
  struct weir__opencl_node *nodes; // of a launch of a graph whose nodes have events; else NULL
  weir__task *task;
  bool rings;   // a callback was asked for
  bool awaited; // the host may wait for the task
  uint64_t start_ns, end_ns;
  weir_status status; // why it was not launched
  char message[WEIR__MESSAGE_BYTES];
} weir__opencl_op;

typedef struct weir__opencl_queue {
  cl_command_queue queue;
  weir__opencl_op *first, *last; // in flight
  bool unflushed;
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
  weir_device base;
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
  bool has_released;   // of the caller's objects some are to be let go; guarded by the context's lock
  weir__fences fences; // that wait for events of the caller's
  uintptr_t listener;  // names the device to callbacks of such events; 0: none yet
  struct weir__opencl_device *next_listener;
  _Atomic uint32_t image_count;
  // Tasks on their way to the device's thread: written by who holds the context's lock, read by the thread.
  weir__task **ring; // as many as the window has slots
  alignas(64) _Atomic uint64_t pushed;
  _Atomic bool stopping;
  weir__opencl_bell *bell;
  alignas(64) pthread_t thread;
  bool has_thread;
  // Of the thread alone.
  uint64_t taken;
  uint64_t spin_ns;
  uint32_t queue_count;
  weir__opencl_queue *queues_in_flight;
  weir__queues *queues;
  weir__opencl_op *free_ops;
  weir__opencl_op **slot_ops; // per slot of the window: what its task is part of; NULL: nothing in flight
  weir__queue_task **places;  // scratch
  uint32_t place_capacity;
  uint32_t ops_in_flight;
  cl_int trouble;   // not CL_SUCCESS: a command failed, for which the device is lost
  weir_status lost; // not WEIR_OK: the device is dead, and why
  bool stuck;       // commands of the lost device never ended
  char lost_text[WEIR__MESSAGE_BYTES];
  int64_t clock_offset_ns; // of the device's clock to the context's
  uint64_t clock_set_ns;   // when that was measured; 0: never
} weir__opencl_device;

// The commands that a command must wait for, for its event list; none afterwards.
typedef struct weir__opencl_waits {
  cl_uint count;
  cl_event events[WEIR__OPENCL_MOST_QUEUES];
} weir__opencl_waits;

static inline weir__opencl_device *weir__opencl_of(weir_device *device) {
  return (weir__opencl_device *)(void *)device;
}

// Whether the device is an OpenCL device.
bool weir__is_opencl(const weir_device *device);

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

// The thread (thread.c): start and stop; hand over a task.
weir_status weir__opencl_thread_start(weir__opencl_device *device);
void weir__opencl_thread_stop(weir__opencl_device *device);
void weir__opencl_push(weir_device *device, weir__task *task);
void weir__opencl_wake(weir__opencl_device *device);

// What follows is called by the thread only.

// Puts a task into a queue (issue.c). The task is reported later, whatever happens.
void weir__opencl_issue(weir__opencl_device *device, weir__task *task);
weir__opencl_op *weir__opencl_find(const weir__opencl_device *device, weir__id id); // NULL: done
bool weir__opencl_reserve_places(weir__opencl_device *device, uint32_t count);
void weir__opencl_flush(weir__opencl_device *device);
void weir__opencl_flush_queue(weir__opencl_device *device, weir__opencl_queue *queue);

// Enqueues one kernel. `*out_event` (not NULL) is the command's.
cl_int weir__opencl_enqueue_kernel(weir__opencl_device *device, const weir__opencl_kernel *kernel,
                                   const uint32_t groups[3], const weir__opencl_argument *arguments, uint32_t count,
                                   cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event);
cl_int weir__opencl_enqueue_copy(weir__opencl_device *device, void *to, const void *from, uint64_t bytes,
                                 cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event);
cl_int weir__opencl_enqueue_fill(weir__opencl_device *device, void *to, uint32_t pattern, uint64_t bytes,
                                 cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event);

// Whether an address may lie in a memory object.
static inline bool weir__opencl_has_objects(const weir__opencl_device *device) {
  return device->memory_kind == WEIR__OPENCL_OBJECTS ||
         atomic_load_explicit(&device->image_count, memory_order_relaxed) > 0;
}

// The same on memory objects (object_commands.c): an argument that is an address, which must be aligned; copies between two
// objects, or an object and the host; fills; and what turns out to be no object. `waits` stays as it is.
cl_int weir__opencl_set_object(weir__opencl_device *device, cl_kernel kernel, cl_uint index,
                               const weir__opencl_argument *argument);
cl_int weir__opencl_copy_objects(weir__opencl_device *device, void *to, const void *from, uint64_t bytes,
                                 cl_command_queue queue, const weir__opencl_waits *waits, cl_event *out_event);
cl_int weir__opencl_fill_object(weir__opencl_device *device, void *to, uint32_t pattern, uint64_t bytes,
                                cl_command_queue queue, const weir__opencl_waits *waits, cl_event *out_event);

// Launches of graphs (graph.c): enqueues the nodes; what follows when they are done; their times. On failure `waits` has what a
// marker in place of the launch must wait for.
cl_int weir__opencl_launch_run(weir__opencl_device *device, weir__opencl_op *op, weir__opencl_waits *waits);
void weir__opencl_finish_run(weir__opencl_device *device, weir__opencl_op *op);
void weir__opencl_trace_run(weir__opencl_device *device, const weir__opencl_op *op);
void weir__opencl_release_nodes(weir__opencl_device *device, weir__opencl_op *op);

// Times (times.c): when the event's command started and ended, in ns since the context was made; 0: not known.
void weir__opencl_set_clock(weir__opencl_device *device);
void weir__opencl_event_times(const weir__opencl_device *device, cl_event event, uint64_t *out_start_ns,
                              uint64_t *out_end_ns);

// Reports what is done (complete.c). Returns whether anything was.
bool weir__opencl_poll(weir__opencl_device *device);
// Whether something is done that was not reported, or can be told by no event; `lags`: only if the host may wait for one
// of it, or it is much.
bool weir__opencl_has_done(const weir__opencl_device *device, bool lags);
// Asks the driver to ring when the oldest command of each queue is done, or one that comes much later.
void weir__opencl_ask_to_ring(weir__opencl_device *device, bool lags);
// Waits for all that is in flight, and reports it.
void weir__opencl_drain(weir__opencl_device *device);
// There is no memory to keep track of the task: waits for all that is in flight, and reports it as failed.
void weir__opencl_fail_now(weir__opencl_device *device, weir__task *task);

#endif // WEIR_DEVICE_OPENCL_OPENCL_H
