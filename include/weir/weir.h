// SPDX-License-Identifier: Apache-2.0
//
// Weir: an out-of-order processor for compute kernels.
//
// A program submits tasks in order and says what each reads and writes. Weir finds, while the program runs, which of
// them may overlap, renames buffers so that reuse of memory does not serialise them, and runs them on the context's
// devices. The result is always that of running the tasks one at a time in the order of submission.
//
// Ownership, one rule throughout: every object is owned by whoever created it and is released exactly once, by
// weir_<object>_release. Releasing is immediate for the caller; tasks in flight keep what they use until they are
// done. Devices belong to their context and are never released. Every other object must be released before its
// context is; a context that is released takes what is left with it.
//
// Threads: every function may be called from any thread at any time, except that an object must not be used while or
// after it is released. Tasks that several threads submit are ordered by who got in first.
//
// Growth: a program that was compiled with this header runs with every later library of the same soname.
// - Structs that a call takes or fills grow at their ends only. Zero in a member is its default. Such a call is an inline
//   function here, which passes the size that its struct has in the program's header to the function that the library
//   exports: weir_submit calls weir_submit_sized. What the program's struct does not have counts as 0; what it has no
//   room for it does not get. A later program on an earlier library is refused if it sets what that does not know.
// - Structs that stand in arrays or in other structs keep their sizes: members `reserved`, which must be 0, make room.
// - Structs that Weir hands out by pointer (weir_work, weir_device_info, ...) grow at their ends.
// - weir_vulkan_constant, weir_vulkan_queue, weir_split_part, weir_split_measure and weir_split_way stay as they are, and so
//   do enumerators and the parameters of functions. tests/install/abi.txt records it all.
// Who calls from another language calls the _sized functions, with the sizes of its own declarations.
//
// Errors: functions that can fail return a weir_status. weir_last_error() then gives the text, which names the task,
// the argument, the buffer and the byte range. Outputs are the last parameters; on failure they are set to NULL.
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Before each function that the library exports.
#if defined(_WIN32)
#define WEIR_API
#else
#define WEIR_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Version of this header: major, minor and patch.
#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0

// Version of the library that is loaded, such as "0.1.0". The string is static.
WEIR_API const char *weir_version(void);

// ---------------------------------------------------------------------------------------------------------------
// Status

// How a call or a task ended.
typedef enum weir_status {
  WEIR_OK = 0,
  WEIR_PENDING = 1,                // the task is not done yet (weir_event_poll)
  WEIR_TIMEOUT = 2,                // the time is over; the task goes on
  WEIR_ERROR_INVALID_ARGUMENT = 3, // an argument that can never be right
  WEIR_ERROR_OUT_OF_RANGE = 4,     // a byte range that leaves its buffer
  WEIR_ERROR_RELEASED = 5,         // a buffer, kernel, event or graph that was released before
  WEIR_ERROR_NO_CODE = 6,          // the kernel has no code for the device
  WEIR_ERROR_OUT_OF_MEMORY = 7,    // no memory, or more than the context's limit even when all else is idle
  WEIR_ERROR_UNAVAILABLE = 8,      // a device or library that this machine lacks
  WEIR_ERROR_TASK_FAILED = 9,      // the task itself reported failure
  WEIR_ERROR_UPSTREAM_FAILED = 10, // the task was skipped: data that it reads comes from a task that failed
  WEIR_ERROR_CANCELLED = 11,       // the task was skipped: its context was cancelled
  WEIR_ERROR_DEVICE_LOST = 12,     // the device stopped working
  WEIR_ERROR_IO = 13,              // a file could not be read or written
} weir_status;

// Name of a status, such as "WEIR_OK", or "unknown status". The string is static.
WEIR_API const char *weir_status_name(weir_status status);

// One sentence on a status. The string is static.
WEIR_API const char *weir_status_text(weir_status status);

// Text of the last failure of a call in this thread; "" if there was none. Valid until the next call that fails in
// this thread.
WEIR_API const char *weir_last_error(void);

// ---------------------------------------------------------------------------------------------------------------
// Context and devices

// The objects. Only functions look into them.
typedef struct weir_context weir_context;
typedef struct weir_device weir_device;
typedef struct weir_buffer weir_buffer;
typedef struct weir_kernel weir_kernel;
typedef struct weir_event weir_event;

enum {
  WEIR_CONTEXT_NO_RENAME = 1u << 0, // never give an overwritten buffer fresh storage: WAR and WAW hazards stay
  WEIR_CONTEXT_TRACE = 1u << 1,     // keep what tasks and lines of pipelines did, for weir_trace_save
  WEIR_CONTEXT_IN_ORDER = 1u << 2,  // every task also waits for the one before it: serial execution, as a reference
};

// How tasks get to a CUDA device, or to a simulated one (docs/sim.md says how far). On other devices, which have one way, all of
// these mean the same.
typedef enum weir_issue {
  // Graphs where they are faster, else queues; and small tasks of kernels that are written with weir/kernel.h, once a program has had
  // many of them that were new each time, by a kernel that stays on the card, as with RESIDENT. docs/guide/scheduling.md says when.
  WEIR_ISSUE_AUTO = 0,
  WEIR_ISSUE_QUEUES = 1, // each task by itself, on in-order queues
  WEIR_ISSUE_GRAPHS = 2, // runs of tasks as graphs, always
  // Tasks of kernels that are written with weir/kernel.h by a kernel that stays on the card and takes them from the host's
  // memory; all others as with QUEUES. docs/guide/cuda.md says what fits, weir_cuda_is_resident why a kernel does not.
  WEIR_ISSUE_RESIDENT = 3,
} weir_issue;

// Options of a context. Zero in a field means its default, so that a zeroed struct means all defaults.
typedef struct weir_context_options {
  // comma-separated: "cpu", "cpu:4" (four workers), "cuda", "cuda:1", "vulkan", "vulkan:1", "opencl", "opencl:1",
  // "opencl:0/2.1" (part 1 of 2), "sim:ideal", "sim:h200", "sim:FILE", "sim:plain+speed=4";
  // default "cpu", which has a worker per core, less one for each CUDA, OpenCL and Vulkan device of the
  // context, whose thread needs it, but at least half as many as there are cores
  const char *devices;
  uint32_t window; // tasks in flight at most, 8 to 2^24, rounded up to a power of two; default 1024
  uint32_t queues; // in-order queues on each device that has them; default: the device's own number
  uint64_t
      memory_limit; // bytes of storage for buffers that Weir allocates (each rounded up by a quarter at most), on the
                    // host and on each device with memory of its own, where copies of wrapped memory count too;
                    // default: no limit. Near the limit renaming gives way first, then submitting waits for tasks
                    // in flight
  weir_issue issue; // default: AUTO
  uint64_t seed;    // not 0: disturb the order of scheduling decisions at random, from this seed (for tests)
  uint32_t flags;   // WEIR_CONTEXT_*
} weir_context_options;

// Creates a context with its devices. `options` may be NULL: all defaults.
// Errors: INVALID_ARGUMENT (an option or device name), UNAVAILABLE (a named device, with the reason), OUT_OF_MEMORY.
WEIR_API weir_status weir_context_create_sized(const weir_context_options *options, size_t options_size,
                                               weir_context **out_context);
static inline weir_status weir_context_create(const weir_context_options *options_, weir_context **out_context_) {
  return weir_context_create_sized(options_, sizeof *options_, out_context_);
}

// Waits for all tasks in flight, then frees the context and all that still belongs to it. To drop what has not
// started instead of running it, call weir_context_cancel first. NULL is allowed. Not to be called from a task or
// callback.
WEIR_API void weir_context_release(weir_context *context);

// Skips every task that was submitted before this call and has not started, with WEIR_ERROR_CANCELLED: its outputs are
// poisoned. Tasks that run go on. Does not wait. Tasks submitted later are not affected, except by poisoned data.
WEIR_API void weir_context_cancel(weir_context *context);

// Waits until every task submitted before is done, and every launch of a graph: what it copies out is there. Returns
// WEIR_OK, or, once, the status of the first task that failed since the last call (weir_last_error() names it): not of one that was
// skipped for it.
// `timeout_ns` nanoseconds at most; WEIR_TIMEOUT leaves all running, and weir_last_error() names the oldest task that is
// not done: what all others may wait for.
WEIR_API weir_status weir_finish(weir_context *context);
WEIR_API weir_status weir_finish_for(weir_context *context, uint64_t timeout_ns);

// What a context did and holds.
typedef struct weir_statistics {
  uint64_t tasks;          // submitted; a copy that needs memory in between counts as two
  uint64_t done;           // finished, failed or skipped
  uint64_t failed;         // failed or skipped
  uint64_t edges;          // predecessors that tasks had to wait for
  uint64_t renamed;        // overwrites that got fresh storage instead of waiting
  uint64_t rename_denied;  // overwrites that waited because the memory limit left no room
  uint64_t window_waits;   // submissions that waited for a free slot of the window
  uint64_t memory_waits;   // submissions that waited for storage
  uint64_t transfers;      // copies that Weir made because contents were in another memory
  uint64_t transfer_bytes; // that they moved
  uint64_t bytes;          // storage that Weir holds now, on the host and on devices
  uint64_t peak_bytes;     // the most that it held, summed over the memories
  uint32_t window;         // slots of the window
  uint64_t resident;       // tasks of kernels that resident kernels ran (WEIR_ISSUE_RESIDENT, and some with AUTO)
  uint64_t resident_moves; // copies, fills and transfers that they made (WEIR_ISSUE_RESIDENT)
} weir_statistics;

// Counts of a context up to now. Does not wait.
WEIR_API void weir_context_statistics_sized(weir_context *context, weir_statistics *out_statistics,
                                            size_t statistics_size);
static inline void weir_context_statistics(weir_context *context_, weir_statistics *out_statistics_) {
  weir_context_statistics_sized(context_, out_statistics_, sizeof *out_statistics_);
}

// Devices of a context: count, and the device at an index (NULL past the end).
WEIR_API uint32_t weir_context_device_count(const weir_context *context);
WEIR_API weir_device *weir_context_device(const weir_context *context, uint32_t index);

// What a device is. The struct and its strings live as long as the context.
typedef struct weir_device_info {
  const char *kind;        // "cpu", "sim", "cuda", "vulkan", "opencl"
  const char *name;        // "cpu:2", "sim:h200": as in weir_context_options.devices
  const char *description; // a line for people
  uint32_t lanes;          // workers or queues that it runs tasks on
  uint32_t queues;         // that weir_graph_options.queue can choose among; 0: it has none
} weir_device_info;

// Never NULL: of a device that is NULL the strings are "" and the numbers 0.
WEIR_API const weir_device_info *weir_device_information(const weir_device *device);

// Time of a device in nanoseconds since its context was created: real time on the CPU, virtual time on a simulated
// device (the time at which its host would be now; all simulated devices of a context have one host).
WEIR_API uint64_t weir_device_time(weir_device *device);

// Called once for every kind of device that this build knows: whether a context could use it, and a line that says
// what was found or why it is missing. The strings are valid during the call only.
typedef void (*weir_probe_function)(void *user, const char *kind, bool available, const char *text);
WEIR_API void weir_probe(weir_probe_function function, void *user);

// ---------------------------------------------------------------------------------------------------------------
// Buffers

// Creates a buffer of `bytes` bytes (at least 1). Its contents are undefined until written. Weir chooses and moves its
// storage, aligned to 64 bytes.
WEIR_API weir_status weir_buffer_create(weir_context *context, uint64_t bytes, weir_buffer **out_buffer);

// Creates a buffer on memory that the caller owns, `bytes` long. It is tracked, never renamed or moved. The memory
// must stay valid until the last task that uses the buffer is done, and must not be touched meanwhile.
WEIR_API weir_status weir_buffer_wrap(weir_context *context, void *memory, uint64_t bytes, weir_buffer **out_buffer);

// Releases a buffer, at any time: storage returns after its last use. NULL is allowed.
// A released buffer is recognised, and refused with RELEASED, at least until 1024 others were released.
WEIR_API weir_status weir_buffer_release(weir_buffer *buffer);

// Names a buffer in messages and timelines. The text is copied and cut at 47 bytes; NULL takes the name away.
WEIR_API weir_status weir_buffer_set_label(weir_buffer *buffer, const char *label);

// Size of a buffer in bytes.
WEIR_API uint64_t weir_buffer_bytes(const weir_buffer *buffer);

// Memory of the host that a device reaches by itself, for what weir_copy_in and weir_copy_out move: pinned for CUDA devices, mapped
// for Vulkan devices, so that they copy at full speed and without a copy in between; plain memory for all others. Aligned to 64
// bytes; its contents are undefined. It does not count in the context's memory limit.
// Freed with weir_host_free, before the context is released, and not before the last copy is done. NULL is allowed there.
// Errors: INVALID_ARGUMENT (0 bytes), OUT_OF_MEMORY.
WEIR_API weir_status weir_host_allocate(weir_device *device, uint64_t bytes, void **out_memory);
WEIR_API void weir_host_free(weir_device *device, void *memory);

// ---------------------------------------------------------------------------------------------------------------
// Kernels

// What a function that runs as a task, or as a part of one, gets. Valid during the call only.
typedef struct weir_work {
  void *const *args;   // per argument: the first byte of the buffer's range, or of a copy of the value
  uint32_t arg_count;  //
  uint32_t groups[3];  // the whole launch in work-groups
  uint64_t first, end; // the part to run now: work-groups [first, end) in row-major order, x fastest
  void *user;          // weir_task.user
  void *internal;      // for weir_work_fail
} weir_work;

// A kernel or host task as a C function. It must not wait for other tasks.
typedef void (*weir_function)(const weir_work *work);

// Makes the task fail with a text (copied, cut at 119 bytes; may be NULL), from within its function: its outputs are
// poisoned and tasks that read them are skipped. The function returns as usual.
WEIR_API void weir_work_fail(const weir_work *work, const char *message);

// Creates a kernel without code. The name is copied.
WEIR_API weir_status weir_kernel_create(weir_context *context, const char *name, weir_kernel **out_kernel);

// Gives a kernel its code for the CPU: a function that runs any range of work-groups. Different ranges of one launch
// may run at the same time in different threads.
WEIR_API weir_status weir_kernel_set_cpu(weir_kernel *kernel, weir_function function);

// Releases a kernel: tasks in flight finish with it. NULL is allowed.
WEIR_API weir_status weir_kernel_release(weir_kernel *kernel);

// ---------------------------------------------------------------------------------------------------------------
// Tasks

// What a task does with an argument.
typedef enum weir_mode {
  WEIR_VALUE = 0,      // not a buffer: bytes that are copied at submission
  WEIR_READ = 1,       // reads the range
  WEIR_WRITE = 2,      // overwrites every byte of the range and reads none of it first
  WEIR_READ_WRITE = 3, // anything else
} weir_mode;

// In weir_arg.bytes: to the end of the buffer.
#define WEIR_WHOLE UINT64_MAX

// An argument of a task: a range of a buffer, or a value.
typedef struct weir_arg {
  weir_mode mode;
  uint32_t reserved;   // 0
  weir_buffer *buffer; // READ, WRITE, READ_WRITE
  uint64_t offset;     // first byte of the range
  uint64_t bytes;      // length of the range (WEIR_WHOLE: to the end of the buffer), or of the value
  const void *value;   // VALUE: copied at submission
} weir_arg;

// Arguments in short: a whole buffer, or `bytes` bytes from `offset` of it, that the task reads, overwrites or updates;
// and a value of up to 4096 bytes, whose copy is aligned to 16 bytes.
WEIR_API weir_arg weir_reads(weir_buffer *buffer);
WEIR_API weir_arg weir_writes(weir_buffer *buffer);
WEIR_API weir_arg weir_updates(weir_buffer *buffer);
WEIR_API weir_arg weir_reads_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes);
WEIR_API weir_arg weir_writes_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes);
WEIR_API weir_arg weir_updates_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes);
WEIR_API weir_arg weir_value(const void *value, uint64_t bytes);

enum { WEIR_MAX_ARGS = 1024, WEIR_PRIORITY_LOWEST = -4, WEIR_PRIORITY_HIGHEST = 3 };

// A task: a kernel over a grid of work-groups, or a host task (a C function that runs once on a CPU worker).
// Zero in a field means its default. Nothing that the struct points to is needed after submission, except `user`.
typedef struct weir_task {
  weir_kernel *kernel;      // this, or
  weir_function host;       // this; always run by the context's CPU, which it must have
  void *user;               // passed on in weir_work
  const weir_arg *args;     // what the function gets, in this order
  uint32_t arg_count;       // up to WEIR_MAX_ARGS
  uint32_t groups[3];       // work-groups in x, y, z; 0 counts as 1
  weir_device *device;      // NULL: the context's first device that the kernel has code for
  weir_event *const *after; // tasks that must be done first, besides those that the arguments imply; a failure among
  uint32_t after_count;     // them does not skip this task
  int32_t priority;         // higher is started first among the tasks that are ready; clamped to LOWEST and HIGHEST
  const char *label;        // for messages and timelines; copied, cut at 47 bytes, only if the context traces
  uint64_t tag;             // the caller's own number, for timelines and messages
} weir_task;

// Submits a task. Never waits for a kernel, except while the window or the context's memory is full. `out_event` may be
// NULL; otherwise it gets an event that the caller releases.
// Refused, with nothing changed: INVALID_ARGUMENT (no kernel or function, too many arguments, an empty range, arguments
// that overlap and disagree), OUT_OF_RANGE, RELEASED, NO_CODE, OUT_OF_MEMORY.
// A simulated device may also run out of memory for its own notes: then the task fails with OUT_OF_MEMORY.
// Two arguments disagree when their ranges overlap, one of them writes, and they differ in range or mode.
WEIR_API weir_status weir_submit_sized(weir_context *context, const weir_task *task, size_t task_size,
                                       weir_event **out_event);
static inline weir_status weir_submit(weir_context *context_, const weir_task *task_, weir_event **out_event_) {
  return weir_submit_sized(context_, task_, sizeof *task_, out_event_);
}

// Copies between the caller's memory and a buffer, or between two buffers, as tasks like any other: in order with all
// that is submitted, and asynchronous. The caller's memory must stay valid and untouched until the copy is done, by other
// copies too: two copies out of different buffers to the same memory are in no order. A copy that is skipped, because
// what it reads is poisoned, leaves its destination as it was.
WEIR_API weir_status weir_copy_in(weir_buffer *buffer, uint64_t offset, uint64_t bytes, const void *source,
                                  weir_event **out_event);
WEIR_API weir_status weir_copy_out(weir_buffer *buffer, uint64_t offset, uint64_t bytes, void *destination,
                                   weir_event **out_event);
WEIR_API weir_status weir_copy(weir_buffer *destination, uint64_t destination_offset, weir_buffer *source,
                               uint64_t source_offset, uint64_t bytes, weir_event **out_event);

// Fills a range of a buffer with a pattern of 4 bytes, in the byte order of the host, as a task like any other. Offset and
// length are multiples of 4.
WEIR_API weir_status weir_fill(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t pattern,
                               weir_event **out_event);

// ---------------------------------------------------------------------------------------------------------------
// Events: one per task that was submitted with an `out_event`

// A time-out that never comes.
#define WEIR_FOREVER UINT64_MAX

// State of the task: PENDING, OK, or how it failed. Does not wait.
WEIR_API weir_status weir_event_poll(weir_event *event);

// Waits until the task is done, `timeout_ns` nanoseconds at most. Returns OK, how the task failed, or TIMEOUT, which
// changes nothing about the task. On a simulated device time passes at once.
WEIR_API weir_status weir_event_wait(weir_event *event, uint64_t timeout_ns);

// Calls `function` once when the task is done, from some thread of Weir's, or at once from this one if it is done.
// The callback must not block; it may submit tasks (which fail with WEIR_ERROR_OUT_OF_MEMORY rather than wait when
// the window is full) and release the event. Several callbacks are called in the order in which they were attached.
typedef void (*weir_event_function)(void *user, weir_status status);
WEIR_API weir_status weir_event_on_done(weir_event *event, weir_event_function function, void *user);

// How the task failed, in words that name it; "" while it has not. Valid until the event is released.
WEIR_API const char *weir_event_message(weir_event *event);

// Releases an event, at any time. The task is not affected; callbacks are still called. NULL is allowed.
WEIR_API void weir_event_release(weir_event *event);

// ---------------------------------------------------------------------------------------------------------------
// Timelines: contexts with WEIR_CONTEXT_TRACE

// Writes what every task so far did, as Chrome trace JSON, to a file whose name ends in ".json". `weir timeline`
// makes a page for a browser of it, Perfetto opens it, `weir check` proves it. `title` may be NULL. Waits for all
// tasks first.
// Errors: INVALID_ARGUMENT (the context does not trace, another ending), IO, OUT_OF_MEMORY.
WEIR_API weir_status weir_trace_save(weir_context *context, const char *path, const char *title);

// Forgets what was traced so far.
WEIR_API void weir_trace_clear(weir_context *context);

#ifdef __cplusplus
}
#endif
#endif // WEIR_WEIR_H
