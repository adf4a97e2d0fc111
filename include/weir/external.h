// SPDX-License-Identifier: Apache-2.0
//
// Order with work outside Weir, for one task or one buffer (docs/guide/external-events.md).
//
// *External events* stand for work that Weir does not run: an event of CUDA (weir_cuda_import_event,
// weir_cuda_import_stream in weir/cuda.h), OpenCL (weir_opencl_import_event) or Vulkan (weir_vulkan_import_semaphore),
// or a flag of the host, which is below. They are weir_events: a task can name them in `after`, weir_event_wait waits
// for them, weir_event_on_done calls back. Other tasks are not held back. For that the functions that order all later
// tasks remain: weir_cuda_tasks_wait_for_stream, weir_opencl_wait_event, weir_vulkan_wait_semaphore.
//
// - An external event is no task: it takes no slot of the window, and weir_finish does not wait for it. A task that
//   waits for one has a slot, as every task in flight. So until the event is done there is room for `window` tasks at
//   most, counted from that one on (weir_context_options.window).
// - `after` orders the task, and not copies that Weir makes between memories for it. Where a task of one device reads
//   what external work writes in the memory of another one, weir_buffer_follow says so.
// - `after` is order alone. If the external work fails, the event has its status and text, and tasks after it run.
//   weir_buffer_follow is for contents: there a failure skips who reads them.
// - weir_finish_for and weir_event_wait name the external event that the oldest task waits for.
// - weir_context_cancel and weir_group_cancel skip tasks that wait for an external event, without waiting for it. But a
//   task that waits on the card, in a CUDA stream, counts as started, and is not skipped.
// - weir_context_release waits for tasks, and so for the external events that they wait for, except that of the host.
//   External events that no task waits for end with CANCELLED then, and their callbacks are called.
// - Graphs record no `after`, hence no external events. A launch comes after what its buffers follow.
#ifndef WEIR_EXTERNAL_H
#define WEIR_EXTERNAL_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Creates a host event: an external event that is done when weir_host_event_signal says so. `label` names it in
// messages, and is copied and cut at 47 bytes; NULL: none. The caller releases the event. If it is released before it
// was signalled, or its context is, nobody can signal it any more. Then it ends with CANCELLED, and tasks that wait for
// it are skipped with CANCELLED.
// Errors: OUT_OF_MEMORY.
WEIR_API weir_status weir_host_event_create(weir_context *context, const char *label, weir_event **out_event);

// Ends a host event, with OK or with the status of an error. What the calling thread wrote to memory before is seen by
// tasks that wait for the event. Any thread may call it, also in tasks and callbacks. Does not wait.
// Errors: INVALID_ARGUMENT (no host event, or one that was signalled before; PENDING or TIMEOUT).
WEIR_API weir_status weir_host_event_signal(weir_event *event, weir_status status);

// Says that work outside Weir uses the storage of the tasks that wait for a host event: MPI sends from it, say. Then
// these tasks keep their place until the event is signalled, also when they are cancelled, so that nobody else gets the
// storage. Those that weir_context_cancel or weir_group_cancel cancelled are skipped then.
// Errors: INVALID_ARGUMENT (as weir_host_event_signal).
WEIR_API weir_status weir_host_event_hold(weir_event *event);

// Ends a host event as weir_host_event_signal, with a status that is not OK, where work outside cannot be ended and may
// still use the storage of the tasks that wait: that storage is never used for other contents nor freed, also not by
// weir_context_release. A buffer that has it keeps it until it is released or renamed, and its contents may change. The
// storage of other devices than CUDA's goes with the device.
// Errors: as weir_host_event_signal; INVALID_ARGUMENT (OK).
WEIR_API weir_status weir_host_event_abandon(weir_event *event, weir_status status);

// Finds the device in whose memory a range's contents are, all of them, when the tasks submitted so far are done. NULL:
// the host's memory has them all, too, or no memory has, or they are undefined. `bytes` may be WEIR_WHOLE. Later tasks
// and memories that are full move contents: this is for a choice, not for an address.
// Errors: OUT_OF_RANGE.
WEIR_API weir_status weir_buffer_device(weir_buffer *buffer, uint64_t offset, uint64_t bytes, weir_device **out_device);

// The device on which tasks of a kernel run that name none: the first one that the kernel has code for. NULL: there is
// none, or WEIR_CONTEXT_PLACE lets Weir choose for each task.
WEIR_API weir_device *weir_kernel_device(weir_kernel *kernel);

// Says whether bytes of a buffer may be read; `bytes` is never WEIR_WHOLE. A status that is not OK, with a text of
// weir_set_last_error (weir/error.h), refuses the read.
typedef weir_status (*weir_read_function)(void *user, uint64_t offset, uint64_t bytes);

// Sets a function that weir_read, weir_copy_out and weir_copy ask before they read the buffer, in the calling thread:
// for libraries whose buffers have their contents elsewhere now and then, as those of libweir-mpi on other ranks. If it
// refuses, so does the call. Tasks and graphs do not ask. Until the library takes the function back (NULL), it alone
// releases the buffer, and weir_buffer_release is refused with INVALID_ARGUMENT. Nobody may use the buffer during the
// call.
// Errors: INVALID_ARGUMENT, RELEASED (as all calls on buffers).
WEIR_API weir_status weir_buffer_set_may_read(weir_buffer *buffer, weir_read_function function, void *user);

// Declares that work outside Weir, which ends with `event`, reads (READ), overwrites (WRITE) or updates (READ_WRITE) a
// buffer on wrapped memory, in the place where the buffer lives. Later tasks that conflict with such an access wait for
// the event: after READ those that write, after WRITE and READ_WRITE all. Other tasks, and other buffers, do not. The
// event is an external one, or that of a task.
// The access has a place in the order of submission, like that of a task: it also waits for earlier tasks that conflict
// with it, without making the work outside wait (weir_buffer_event is for that). It takes a slot of the window until
// the event is done. If the event fails, so does the access, with TASK_FAILED, and weir_finish reports it. If the
// access fails or is cancelled, and its mode writes, the buffer's contents are poisoned: tasks that read them are
// skipped. In a task or callback the call never waits, and is refused with OUT_OF_MEMORY if it would have to.
// Errors: INVALID_ARGUMENT (another mode; a buffer whose storage is Weir's own), OUT_OF_MEMORY.
WEIR_API weir_status weir_buffer_follow(weir_buffer *buffer, weir_mode mode, weir_event *event);

// Creates an event that is done when all tasks submitted so far which conflict with an access of this mode to the
// buffer are done: for READ those that write, for WRITE and READ_WRITE all that use it. Copies back to wrapped memory
// count. The caller releases the event. Work outside Weir waits for it by weir_cuda_stream_waits_for_tasks,
// weir_opencl_create_event, weir_vulkan_signal_semaphore, weir_event_wait or weir_event_on_done. Later tasks do not
// wait for it. It takes a slot of the window, and runs nothing. Where the buffer is in the memory of a CUDA, OpenCL or
// Vulkan device, the event belongs to a point in that device's queues, so that a CUDA stream waits without the host.
// For READ and READ_WRITE the event fails with UPSTREAM_FAILED if contents are poisoned; weir_finish does not report
// that once more. In a task or callback as weir_buffer_follow.
// Errors: INVALID_ARGUMENT (another mode), OUT_OF_MEMORY.
WEIR_API weir_status weir_buffer_event(weir_buffer *buffer, weir_mode mode, weir_event **out_event);

// Looks whether work outside Weir has ended that nobody reports by itself, such as a message of a network, and signals
// host events. Returns the nanoseconds after which it is to be called again, if the worker still finds no task then. 0:
// at once; WEIR_FOREVER: not before the worker runs out of tasks the next time.
typedef uint64_t (*weir_progress_function)(void *user);

// Has CPU workers call a function when they find no task, before they sleep: so what is behind a host event runs on the
// thread that found the work outside done, and nobody must be woken. One worker at a time calls it. Nobody calls it
// while all workers run tasks, in a context without CPU workers, or in check mode; a library that needs a limit has a
// thread besides. A worker that sleeps is not woken for the function, and calls it when it next runs out of tasks.
// The function may do what a callback may. It must not wait; while it returns 0 its worker does not sleep. NULL takes
// the function back, and waits until it has returned; a call that gives another one meanwhile waits, too. Until then
// weir_context_release is refused with INVALID_ARGUMENT.
// Errors: INVALID_ARGUMENT (the context has another function; a call in a task, a callback or the function itself).
WEIR_API weir_status weir_context_set_progress(weir_context *context, weir_progress_function function, void *user);

#ifdef __cplusplus
}
#endif
#endif // WEIR_EXTERNAL_H
