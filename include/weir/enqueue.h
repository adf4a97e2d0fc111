// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions: a task whose code is a function of the caller's that puts work on the device's own queue. Such
// work is a call into a library (cuBLAS, cuFFT, CLBlast, VkFFT), an algorithm of Thrust, or commands of the caller's
// own.
//
// The function runs on a thread of the host, and gets the queue and the device's own names of the task's arguments. All
// that it puts on the queue comes after the tasks that the task depends on, and before the tasks that depend on it. The
// function must not wait for the device. docs/guide/enqueue.md has an example and the pitfalls.
//
//   kind      queue                                             arguments that are buffers
//   "cuda"    CUstream                                          pointer: CUdeviceptr
//   "opencl"  cl_command_queue, in order                        handle: cl_mem, or pointer: SVM or the host's memory
//   "vulkan"  VkCommandBuffer, recording, no render pass begun  handle: VkBuffer, or VkImage and view: VkImageView
//
// The CPU needs none of this: weir_kernel_set_cpu takes any function.
#ifndef WEIR_ENQUEUE_H
#define WEIR_ENQUEUE_H

#include "weir/box.h"
#include "weir/graph.h"
#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// An argument of the task, or scratch memory, as the device's own object. Valid during the call only.
typedef struct weir_enqueue_arg {
  const void *value;   // VALUE: its bytes, aligned to 16 bytes. NULL: a buffer
  const weir_box *box; // of a buffer: its rows, from the first byte of the range on; NULL: all bytes of the range
  uint64_t pointer;    // of a buffer: address of the range's first byte, where the device has addresses; else 0
  uint64_t handle;     // of a buffer: the object that the range is in, where there is one; else 0
  uint64_t offset;     // of the range's first byte in the object
  uint64_t bytes;      // length of the value, or of the range (of a box: to the end of its last row)
  uint64_t view;       // of an image: the object with which shaders see it, where there is one; else 0
  weir_mode mode;      // of the task's access: VALUE, READ, WRITE, READ_WRITE or COMMUTE
  bool image;          // `handle` is an image
  uint64_t reserved[2];
} weir_enqueue_arg;

// A call of an enqueue function: its queue, arguments and lane. Valid during the call only.
typedef struct weir_enqueue {
  weir_device *device;
  void *queue;          // CUstream, cl_command_queue or VkCommandBuffer
  void *native_context; // CUcontext, which is current; cl_context; VkDevice
  const weir_enqueue_arg *args;
  uint32_t arg_count;
  uint32_t groups[3]; // weir_task.groups; 0 became 1
  // A number below `lane_count`, for state that calls must not share: a library's handle, a workspace. No two calls
  // with the same lane run at the same time, and no work of two such calls overlaps on the device. The numbers count
  // for one device; lane_count is weir_device_info.enqueue_lanes.
  uint32_t lane, lane_count;
  weir_enqueue_arg scratch; // weir_enqueue_code.scratch_bytes bytes; `bytes` is 0 if the code wants none
  bool capturing;           // CUDA: the queue is being captured into a graph
  void *user;               // weir_task.user
  void *data;               // weir_enqueue_code.data
  uint64_t task;            // number of the task, or of the launch of its graph, as in messages and timelines
  void *internal;           // for weir_enqueue_fail
} weir_enqueue;

// Puts work on `call->queue`. It must not wait for the device or for tasks, and must leave the queue as it found it:
// not destroyed, not being captured (CUDA), still recording and outside a render pass (Vulkan, where Weir binds anew
// after it whatever was bound). It may be called from several threads at once, with different lanes. Returns OK, or
// the status with which the task fails: its outputs are poisoned, and tasks that read them are skipped. Work that the
// function put on the queue before it failed is still done before the task ends. In a recorded graph on CUDA the
// function is also called while the queue is captured, and on Vulkan its commands are part of the graph's command
// buffer: what it puts there is launched again for later launches of the graph with the same arguments, without another
// call. So what it does there must depend on args, groups, user, data, scratch and lane alone, and stay as long as the
// graph. docs/guide/enqueue.md says when it is called.
typedef weir_status (*weir_enqueue_function)(const weir_enqueue *call);

// Says why the function fails, before it returns another status than OK; if it returns OK, the task fails with
// TASK_FAILED. `message` is copied and cut at 255 bytes, and may be NULL.
WEIR_API void weir_enqueue_fail(const weir_enqueue *call, const char *message);

enum {
  // CUDA: the function must not run while its queue is captured into a graph. Each launch of the graph calls it then,
  // in order with the graph's other nodes (docs/guide/enqueue.md). Vulkan: each launch calls the function, and records
  // the graph anew.
  WEIR_ENQUEUE_NO_CAPTURE = 1u << 0,
  // CUDA: what the function puts on the queue depends on args, groups, user, data and scratch alone, also outside of
  // recorded graphs, and once `prepare` was called for a lane, even the first call with that lane may be captured.
  // Then tasks that recur become part of the graphs that Weir finds by itself, and their functions are not called for
  // each of them: with WEIR_ISSUE_GRAPHS all, with WEIR_ISSUE_AUTO those that recur with the same arguments, groups and
  // `user`.
  WEIR_ENQUEUE_PURE = 1u << 1,
};

// Code of a kernel for one kind of device.
typedef struct weir_enqueue_code {
  weir_enqueue_function function;
  // Optional: called once for each device and lane before the function's first call with that lane, never while the
  // queue is captured. Libraries set themselves up here. The call is that of the task, and work on its queue is in
  // order, too. A failure is the task's, and the next task with that lane calls it again.
  weir_enqueue_function prepare;
  // Bytes of scratch memory that each call gets, aligned to 256 bytes, with undefined contents: the call's alone
  // until the work that it enqueued is done. It counts to weir_context_options.memory_limit.
  uint64_t scratch_bytes;
  uint32_t flags; // WEIR_ENQUEUE_*
  void *data;     // passed on in weir_enqueue
} weir_enqueue_code;

// Gives a kernel its code for the context's devices of a kind ("cuda", "opencl", "vulkan"): a function, in place of all
// code that the kernel had for that kind. Tasks of the kernel take any arguments.
// Errors: INVALID_ARGUMENT (a kind without queues, flags that are not known, tasks in flight that use the kernel's code
// of that kind), UNAVAILABLE (the context has no such device), OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_enqueue_sized(weir_kernel *kernel, const char *kind, const weir_enqueue_code *code,
                                                   size_t code_size);
static inline weir_status weir_kernel_set_enqueue(weir_kernel *kernel_, const char *kind_,
                                                  const weir_enqueue_code *code_) {
  return weir_kernel_set_enqueue_sized(kernel_, kind_, code_, sizeof *code_);
}

// What became of launches of a recorded graph with enqueue functions, or with adopted nodes (weir/adopt.h).
typedef struct weir_graph_calls {
  uint32_t nodes;    // whose code is an enqueue function, or which were adopted
  uint64_t captured; // calls of functions for later launches, too: CUDA: while their queue was captured
  uint64_t made;     // executable graphs that were made of it (CUDA), command buffers that were recorded (Vulkan)
  uint64_t updated;  // CUDA: launches for which the executable graph was updated in place, for other arguments
  uint64_t called;   // launches that called functions for queues: all of them, or those that are not captured
  char reason[160];  // why all launches do so, and how many functions, if it is not all; "": they do not
} weir_graph_calls;

// Reads these counts. Does not wait.
// Errors: INVALID_ARGUMENT, RELEASED; then all members are 0.
WEIR_API weir_status weir_graph_get_calls_sized(weir_graph *graph, weir_graph_calls *out_calls, size_t calls_size);
static inline weir_status weir_graph_get_calls(weir_graph *graph_, weir_graph_calls *out_calls_) {
  return weir_graph_get_calls_sized(graph_, out_calls_, sizeof *out_calls_);
}

// ---------------------------------------------------------------------------------------------------------------
// Open tasks: for callers that cannot give a function, such as frameworks whose operators allocate their results. CUDA,
// OpenCL and Vulkan devices have them.
//
// weir_task_begin takes a task's place in the order, and gives the queue, which comes after all that the task depends
// on. The calling thread puts any work there. weir_task_end makes that the task's work. Whatever uses the same bytes
// and is submitted in between waits for the end, and nothing else does. Failures, timelines and events are as for
// other tasks. The queue is of the kind that enqueue functions get:
// - CUDA: a stream, and OpenCL: a command queue in order. Work that is put there may run at once.
// - Vulkan: a command buffer that is recording, which the caller must leave recording. It is submitted at the end. One
//   whose task is abandoned is not submitted.
//
// Between the two the thread is as one that runs a task: it must not wait (weir_finish, weir_event_wait, weir_read,
// ... are refused), what it submits never waits for room and is a child of the open task, and it can begin no second
// task. So no thread that has an open task waits for one, and open tasks of several threads cannot wait for each
// other in a circle. Eight tasks can be open on a device at the same time, with a lane of its own for each;
// weir_task_begin waits for one of these to end. If a thread ends without weir_task_end, its task fails.
// weir_context_release refuses to release a context with an open task and names it, and so does weir_finish_for after
// a TIMEOUT.

// A task that was begun and not ended. Its members are private.
typedef struct weir_open_task weir_open_task;

// Begins a task: neither `kernel` nor `host` is set, `args` is what is known of its accesses, `groups` is ignored.
// `*out_call` has what an enqueue function gets, and is valid until weir_task_end; native_context need not be
// current. The call waits as weir_submit does, and until all tasks that this one depends on are issued to the device;
// tasks of other devices, and tasks of a resident kernel (WEIR_ISSUE_RESIDENT), it waits for. COMMUTE and REDUCE are
// taken as READ_WRITE. Errors, after which no task is open: as weir_submit; INVALID_ARGUMENT (called from a task or
// callback, or by a thread that has an open task); UNAVAILABLE (a kind of device without open tasks);
// UPSTREAM_FAILED, CANCELLED (the task was skipped).
WEIR_API weir_status weir_task_begin_sized(weir_context *context, const weir_task *task, size_t task_size,
                                           weir_open_task **out_open, const weir_enqueue **out_call);
static inline weir_status weir_task_begin(weir_context *context_, const weir_task *task_, weir_open_task **out_open_,
                                          const weir_enqueue **out_call_) {
  return weir_task_begin_sized(context_, task_, sizeof *task_, out_open_, out_call_);
}

// Ends a task, by the thread that began it. Does not wait. The work that is on the queue now is the task's. `args`
// (`arg_count`; 0: none) are ranges of buffers that were made since the beginning on memory of the device
// (weir_buffer_wrap_cuda, weir_buffer_wrap_opencl, weir_buffer_wrap_vulkan), such as results that the work itself
// allocated; no other task may have used them. `out_event` (may be NULL) gets an event as by weir_submit. Errors, after
// which the task is still open: INVALID_ARGUMENT (another thread's task, a buffer that is not as above, a mode other
// than READ, WRITE and READ_WRITE), OUT_OF_MEMORY.
WEIR_API weir_status weir_task_end(weir_open_task *open, const weir_arg *args, uint32_t arg_count,
                                   weir_event **out_event);

// Ends a task as one that failed with `status` (not OK) for the reason that `message` gives (copied, cut at 255
// bytes, may be NULL): its outputs are poisoned once the work that is on the queue is done (Vulkan: it never runs).
// Does not wait. Errors: INVALID_ARGUMENT (another thread's task; no failure).
WEIR_API weir_status weir_task_abandon(weir_open_task *open, weir_status status, const char *message);

#ifdef __cplusplus
}
#endif
#endif // WEIR_ENQUEUE_H
