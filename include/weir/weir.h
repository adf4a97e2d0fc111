// SPDX-License-Identifier: Apache-2.0
//
// Weir: an out-of-order processor for compute kernels.
//
// A program submits tasks in order and states what each task reads and writes. At run time Weir finds which tasks may
// overlap, renames buffers so that reuse of memory does not serialise tasks, and runs the tasks on the context's
// devices. The result is that of running the tasks one at a time in the order of submission.
//
// Ownership: the caller owns each object that it creates, and releases it exactly once, by weir_<object>_release. A
// release takes effect for the caller at once; tasks in flight keep what they use until they are done. Devices belong
// to their context and are never released. All other objects must be released before their context.
// weir_context_release frees the objects that are left, and the caller must not release them afterwards.
//
// Threads: any thread may call any function at any time. No thread may use an object during or after its release. Tasks
// that several threads submit are ordered by the order in which their calls enter Weir.
//
// Processes: a program that ends without weir_context_release does not wait for its tasks, and those that have not run
// never do. A process that fork makes has none of the threads that run tasks. In it calls that submit to a context of
// the parent's or wait for it fail with INVALID_ARGUMENT, weir_context_release among them: objects of the parent's are
// left to the end of the process. It may create contexts of its own.
//
// Errors: a function that can fail returns a weir_status. After a failure weir_last_error() returns a text that names
// the task, the argument, the buffer and the byte range. Outputs are the last parameters; a failure sets them to NULL.
// Comments write INVALID_ARGUMENT for WEIR_ERROR_INVALID_ARGUMENT, and so on. They do not repeat two errors that every
// function has: INVALID_ARGUMENT for a needed pointer that is NULL or an object of another context, and RELEASED for an
// object that was released before, as far as Weir recognises it.
//
// Growth: a program that was compiled with this header runs with every later library of the same soname.
// - A struct that a call takes or fills grows at its end only. Zero is the default of every member. The call is an
//   inline function of this header, which passes the size of the program's struct to an exported function: weir_submit
//   calls weir_submit_sized. Members that the program's struct lacks count as 0, and the library does not fill them. A
//   later program that sets a member which an earlier library does not know is refused by that library.
// - A struct that stands in arrays or in other structs keeps its size. New members take the place of members
//   `reserved`, which must be 0.
// - A struct that Weir hands out by pointer (weir_work, weir_device_info, ...) grows at its end.
// - weir_box, weir_cuda_range, weir_vulkan_constant, weir_vulkan_queue, weir_split_part, weir_split_measure and
//   weir_split_way never change. Nor do values of enumerators and parameters of functions.
// Programs in other languages call the _sized functions with the sizes of their own declarations. tests/install/abi.txt
// records all sizes, offsets, values and parameters, and a test compares them with the headers and the library.
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Marks a function that the library exports.
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

// Returns the version of the loaded library, such as "0.1.0". The string is static.
WEIR_API const char *weir_version(void);

// ---------------------------------------------------------------------------------------------------------------
// Status

// Outcome of a call or a task.
typedef enum weir_status {
  WEIR_OK = 0,
  WEIR_PENDING = 1,                // the task is not done yet (weir_event_poll)
  WEIR_TIMEOUT = 2,                // the time-out passed; the task goes on
  WEIR_ERROR_INVALID_ARGUMENT = 3, // an argument that can never be right
  WEIR_ERROR_OUT_OF_RANGE = 4,     // a byte range that leaves its buffer
  WEIR_ERROR_RELEASED = 5,         // an object that was released before
  WEIR_ERROR_NO_CODE = 6,          // the kernel has no code for the device
  WEIR_ERROR_OUT_OF_MEMORY = 7,    // no memory, or more than the context's limit even when all else is idle
  WEIR_ERROR_UNAVAILABLE = 8,      // a device or library that this machine lacks
  WEIR_ERROR_TASK_FAILED = 9,      // the task itself reported failure
  WEIR_ERROR_UPSTREAM_FAILED = 10, // the task was skipped: it reads data of a task that failed
  WEIR_ERROR_CANCELLED = 11,       // the task was skipped: its context or its group was cancelled
  WEIR_ERROR_DEVICE_LOST = 12,     // the device stopped working
  WEIR_ERROR_IO = 13,              // a file could not be read or written
} weir_status;

// Returns the name of a status, such as "WEIR_OK", or "unknown status". The string is static.
WEIR_API const char *weir_status_name(weir_status status);

// Returns a sentence that explains a status. The string is static.
WEIR_API const char *weir_status_text(weir_status status);

// Returns the text of the last failed call of this thread; "" if no call failed. The text is valid until the next call
// of this thread that fails.
WEIR_API const char *weir_last_error(void);

// ---------------------------------------------------------------------------------------------------------------
// Context and devices

// Objects of the library. Their members are private.
typedef struct weir_context weir_context;
typedef struct weir_device weir_device;
typedef struct weir_buffer weir_buffer;
typedef struct weir_kernel weir_kernel;
typedef struct weir_event weir_event;
typedef struct weir_group weir_group; // weir/group.h

enum {
  WEIR_CONTEXT_NO_RENAME = 1u << 0, // never give an overwritten buffer fresh storage: WAR and WAW hazards stay
  WEIR_CONTEXT_TRACE = 1u << 1,     // record tasks and lines of pipelines for weir_trace_save
  WEIR_CONTEXT_IN_ORDER = 1u << 2,  // each task also waits for the one before it: serial execution, as a reference
  // Check mode: Weir runs one task at a time and finds out whether it does what it declares. A task that does not fails
  // with TASK_FAILED; weir_event_message and a line on stderr name the argument, the buffer and the bytes, and say what
  // to declare. Kernels run several times, host tasks once. The environment variable WEIR_CHECK=1 sets the flag for
  // every context. docs/inside/check-mode.md says what is found, and what is not.
  WEIR_CONTEXT_CHECK = 1u << 3,
  // The program submits sequences of tasks that come again: the same kernels and ranges, with buffers that are used in
  // the same pattern, whichever they are, and any values. A sequence that came before is launched as one graph. Its
  // tasks are held back until all have been submitted, something else is called, or 0.3 ms have passed. Without the
  // flag kernels on CUDA devices are recognised when they came 32 times, and short kernels in contexts of CPUs alone
  // when they came three times; with it sequences on all devices, of host tasks too, when they came once.
  // docs/guide/repeats.md says more. A context with other flags than NO_RENAME besides, or with a choice of `issue`,
  // recognises nothing.
  WEIR_CONTEXT_REPEATS = 1u << 4,
  // A task of a kernel that names no device goes to the device that is expected to have it done first, of all that the
  // kernel has code for: by where the bytes are that it reads, what is queued on each device, and what the kernel took
  // there lately. Buffers that are first filled by copies are spread over the devices' memories. Without the flag such
  // a task goes to the first device that the kernel has code for. Host tasks, graphs and open tasks are placed as
  // without it. docs/guide/several-devices.md
  WEIR_CONTEXT_PLACE = 1u << 5,
};

// How tasks are issued to a CUDA device, or to a simulated one (docs/guide/sim.md says how far). Other devices have one
// way, and ignore the choice.
typedef enum weir_issue {
  // Graphs where they are faster, else queues. If a program submits many small tasks that do not recur, of kernels
  // written with weir/kernel.h, the resident kernel runs them, as with RESIDENT.
  // docs/guide/scheduling.md has the conditions.
  WEIR_ISSUE_AUTO = 0,
  WEIR_ISSUE_QUEUES = 1, // each task by itself, on in-order queues
  WEIR_ISSUE_GRAPHS = 2, // sequences of tasks as graphs, always
  // A kernel that stays on the card and reads tasks from the host's memory: for tasks of kernels written with
  // weir/kernel.h. All other tasks as with QUEUES. docs/guide/cuda.md says which kernels fit; weir_cuda_is_resident
  // says why one does not.
  WEIR_ISSUE_RESIDENT = 3,
} weir_issue;

// Something that happened to a task, for weir_context_options.profile.
typedef enum weir_profile_what {
  WEIR_PROFILE_READY = 0, // its last predecessor that held it back is done, or it had none: its device has it
  WEIR_PROFILE_START = 1, // it started; not for a task that was skipped
  WEIR_PROFILE_END = 2,   // it ended, or was skipped
} weir_profile_what;

// The struct and its strings are valid during the call only.
typedef struct weir_profile_event {
  weir_profile_what what;
  weir_status status; // END: how it ended; else PENDING
  uint64_t task;      // its number, as in messages and timelines
  uint64_t tag;       // weir_task.tag
  const char *label;  // weir_task.label, cut at 47 bytes; "": none
  // The kernel's name; else "host task", "copy" (also one that Weir makes to move contents), "fence", "graph" (a
  // launch) or "open task" (weir/enqueue.h).
  const char *kernel;
  weir_device *device; // that runs it
  uint32_t lane;       // START, END: worker or queue of the device
  uint64_t time_ns;    // when, in weir_device_time of `device`
} weir_profile_event;

// Receives what happens to tasks. Any thread may call it, but one at a time, with the events of each task in their
// order. It must not call functions of Weir, and should be short: tasks and submissions may wait for it.
typedef void (*weir_profile_function)(void *user, const weir_profile_event *event);

// Options of a context. A member that is 0 has its default, so a zeroed struct has all defaults.
typedef struct weir_context_options {
  // Names of devices, separated by commas: "cpu", "cpu:4" (four workers), "cuda", "cuda:1", "vulkan", "vulkan:1",
  // "opencl", "opencl:1", "opencl:0/2.1" (part 1 of 2), "sim:ideal", "sim:h200", "sim:FILE", "sim:plain+speed=4".
  // Default: "cpu". It has one worker for each core that the process may use, less one for the thread of each CUDA,
  // OpenCL and Vulkan device of the context, but for half of the cores at least. Where a control group has a quota of
  // time, the process may use as many cores as that is worth, rounded up.
  const char *devices;
  uint32_t window; // most tasks in flight: 8 to 2^24, rounded up to a power of two; default 1024
  uint32_t queues; // in-order queues of each device that has queues; default: the device's own number
  // Most bytes of storage for buffers that Weir allocates, on the host and on each device with memory of its own, where
  // copies of wrapped memory count, too. An allocation is rounded up by a quarter at most. Near the limit renaming
  // stops first. Then, in a device's memory, buffers that no task in flight uses give way, what seems needed last
  // first: contents that only the device has are copied to the host, and fetched back when a task needs them.
  // Submissions and launches of graphs wait for what is still missing, until no task is in flight, and then 20 ms more,
  // in which other threads may release buffers. A task or launch is refused only after that, or at once if it never
  // fits. The same happens where a device has no more memory. Default: no limit.
  uint64_t memory_limit;
  weir_issue issue; // default: AUTO
  uint64_t seed;    // for tests: if not 0, scheduling decisions are reordered at random from this seed
  uint32_t flags;   // WEIR_CONTEXT_*
  // Most bytes of each memory that overwritten buffers leave behind for tasks in flight that still use the old
  // contents. A buffer is renamed only if that lets tasks overlap: not where the task that overwrites it comes after
  // all users anyway, and not if there are as many versions of it as the devices run tasks at once; then the oldest is
  // used again. At the limit old storage is waited for, too. Default: an eighth of the memory that the device has, or
  // that the process may use (its control group's limit counts). docs/inside/renaming.md.
  uint64_t rename_limit;
  // Called with `profile_user` when a task is ready, starts and ends. Calls come later than what they report, START and
  // END of a task together. When weir_finish returns, all calls for the tasks that it waited for have been made. A
  // launch of a graph counts as one task. If there is no memory to note an event, it is left out. Default: none, which
  // costs nothing.
  weir_profile_function profile;
  void *profile_user;
  // Most bytes of storage on each device with memory of its own, in place of `memory_limit`, which then bounds the
  // host's alone. Default: `memory_limit`.
  uint64_t device_memory_limit;
} weir_context_options;

// Creates a context with its devices. `options` may be NULL: all defaults.
// Errors: INVALID_ARGUMENT (an option or the name of a device), UNAVAILABLE (a named device; the text has the reason),
// IO (the profile of a simulated device), OUT_OF_MEMORY.
WEIR_API weir_status weir_context_create_sized(const weir_context_options *options, size_t options_size,
                                               weir_context **out_context);
static inline weir_status weir_context_create(const weir_context_options *options_, weir_context **out_context_) {
  return weir_context_create_sized(options_, sizeof *options_, out_context_);
}

// Waits for all tasks in flight and all that they submit, then frees the context and all objects that belong to it. A
// call of weir_context_cancel before it skips the tasks that have not started. `context` may be NULL.
// Errors: INVALID_ARGUMENT (called from a task or callback, or before weir_mpi_release: nothing is released).
WEIR_API weir_status weir_context_release(weir_context *context);

// Skips every task that was submitted before the call and has not started. A skipped task ends with CANCELLED, and its
// outputs are poisoned. Running tasks go on. Tasks that are submitted later are skipped only if they read poisoned
// data. Does not wait.
WEIR_API void weir_context_cancel(weir_context *context);

// Waits until all tasks and launches of graphs that were submitted before the call are done, copies to the caller's
// memory included, and their callbacks have been called. Tasks that these submitted in their functions, destroy
// functions and callbacks are waited for likewise, and what those submitted, and so on. What other threads submit later
// is not waited for. Returns OK, or the status of the first task that failed since the last report; weir_last_error()
// names the task. The function reports a failure once, also one that another function has returned before, such as
// weir_event_wait, but not what weir_group_wait reports. A task that was skipped because another one failed is reported
// only if nothing else is. weir_finish_for waits for `timeout_ns` nanoseconds at most. After TIMEOUT all tasks go on,
// and weir_last_error() names the oldest that is not done, and what of weir/external.h it awaits.
// Errors: INVALID_ARGUMENT (called from a task or callback).
WEIR_API weir_status weir_finish(weir_context *context);
WEIR_API weir_status weir_finish_for(weir_context *context, uint64_t timeout_ns);

// Counts of a context.
typedef struct weir_statistics {
  uint64_t tasks;          // submitted tasks; a copy that goes through other memory counts as two
  uint64_t done;           // tasks that finished, failed or were skipped
  uint64_t failed;         // tasks that failed or were skipped
  uint64_t edges;          // predecessors that tasks had to wait for
  uint64_t renamed;        // overwrites that got fresh storage instead of waiting
  uint64_t rename_denied;  // overwrites that waited because a limit left no room, or the users of old storage are many
  uint64_t window_waits;   // submissions that waited for a free slot of the window
  uint64_t memory_waits;   // submissions that waited for storage
  uint64_t transfers;      // copies that Weir made between memories
  uint64_t transfer_bytes; // bytes that transfers moved
  uint64_t bytes;          // storage that Weir holds now, on the host and on devices
  uint64_t peak_bytes;     // most storage that Weir held, summed over the memories
  uint32_t window;         // slots of the window
  uint64_t resident;       // tasks of kernels that resident kernels ran (WEIR_ISSUE_RESIDENT and AUTO)
  uint64_t resident_moves; // copies, fills and transfers that resident kernels made (WEIR_ISSUE_RESIDENT)
  uint64_t room;      // slots of the window that are free: the oldest task in flight holds those after its own, too
  uint64_t repeated;  // tasks that were launched as part of a sequence that came before (docs/guide/repeats.md)
  uint64_t evictions; // buffers whose contents were copied to the host because the memory of their device was full
} weir_statistics;

// Reads the counts of a context. Does not wait.
WEIR_API void weir_context_statistics_sized(weir_context *context, weir_statistics *out_statistics,
                                            size_t statistics_size);
static inline void weir_context_statistics(weir_context *context_, weir_statistics *out_statistics_) {
  weir_context_statistics_sized(context_, out_statistics_, sizeof *out_statistics_);
}

// Returns the number of devices of a context.
WEIR_API uint32_t weir_context_device_count(const weir_context *context);

// Returns the device at an index; NULL past the end.
WEIR_API weir_device *weir_context_device(const weir_context *context, uint32_t index);

// Description of a device. The struct and its strings live as long as the context.
typedef struct weir_device_info {
  const char *kind;        // "cpu", "sim", "cuda", "vulkan", "opencl"
  const char *name;        // "cpu:2", "sim:h200": as in weir_context_options.devices
  const char *description; // one line for people
  uint32_t lanes;          // workers or queues that run its tasks
  uint32_t queues;         // queues that weir_graph_options.queue can name; 0: it has none
  uint32_t enqueue_lanes;  // lanes of enqueue functions (weir/enqueue.h); 0: it takes none
} weir_device_info;

// Returns the description of a device, never NULL. If `device` is NULL, the strings are "" and the numbers 0.
WEIR_API const weir_device_info *weir_device_information(const weir_device *device);

// Returns the time of a device in nanoseconds since its context was created. A simulated device has virtual time: the
// present time of its host, which all simulated devices of a context share. Other devices have real time.
WEIR_API uint64_t weir_device_time(weir_device *device);

// Receives one kind of device: whether a context could use it, and a line that says what was found or what is missing.
// The strings are valid during the call only.
typedef void (*weir_probe_function)(void *user, const char *kind, bool available, const char *text);

// Calls `function` once for every kind of device that this build knows.
WEIR_API void weir_probe(weir_probe_function function, void *user);

// ---------------------------------------------------------------------------------------------------------------
// Buffers

// Creates a buffer of `bytes` bytes, at least 1. Its contents are undefined until a task writes them. Weir chooses and
// moves its storage, which is aligned to 64 bytes.
// Errors: INVALID_ARGUMENT (0 bytes), OUT_OF_MEMORY.
WEIR_API weir_status weir_buffer_create(weir_context *context, uint64_t bytes, weir_buffer **out_buffer);

// Creates a buffer on `bytes` bytes of the caller's memory. Weir orders its uses, and never renames or moves it. The
// memory must stay valid until the last task that uses the buffer is done. The caller must not touch it meanwhile.
// Errors: INVALID_ARGUMENT (0 bytes), OUT_OF_MEMORY.
WEIR_API weir_status weir_buffer_wrap(weir_context *context, void *memory, uint64_t bytes, weir_buffer **out_buffer);

// Releases a buffer, at any time; its storage is free after the last use. `buffer` may be NULL. The context keeps free
// storage for other buffers: in memory of the host as many bytes as buffers had in all at one time, or 64 MiB; on
// devices with memory of their own, and in memory that is pinned for such a device, all of it, until other sizes need
// the room.
// Errors: RELEASED (a second release; Weir recognises it at least until 1024 other buffers were released).
WEIR_API weir_status weir_buffer_release(weir_buffer *buffer);

// Names a buffer in messages and timelines. The text is copied and cut at 47 bytes; NULL removes the name.
WEIR_API weir_status weir_buffer_set_label(weir_buffer *buffer, const char *label);

// Returns the size of a buffer in bytes.
WEIR_API uint64_t weir_buffer_bytes(const weir_buffer *buffer);

// Allocates memory of the host that a device accesses directly, aligned to 64 bytes, with undefined contents. It is for
// weir_copy_in and weir_copy_out, which then copy at full speed and without a copy in between. It is pinned for CUDA
// devices, mapped for Vulkan devices, and plain memory for others. The context's memory limit does not count it.
// The caller frees it with weir_host_free, after the last copy and before the release of the context.
// Errors: INVALID_ARGUMENT (0 bytes), OUT_OF_MEMORY.
WEIR_API weir_status weir_host_allocate(weir_device *device, uint64_t bytes, void **out_memory);

// Frees memory of weir_host_allocate, with the same device. `memory` may be NULL.
WEIR_API void weir_host_free(weir_device *device, void *memory);

// ---------------------------------------------------------------------------------------------------------------
// Kernels

// Argument of a function that runs as a task or as a part of one. Valid during the call only.
typedef struct weir_work {
  void *const *args;   // for each argument the first byte of the buffer's range, or of a copy of the value
  uint32_t arg_count;  // number of `args`
  uint32_t groups[3];  // work-groups of the whole launch in x, y, z
  uint64_t first, end; // work-groups to run in this call: [first, end) in row-major order, x fastest
  void *user;          // weir_task.user
  void *internal;      // for weir_work_fail
  // A number below `worker_count` for scratch memory: two functions of one context that run at the same time have
  // different ones. A CPU worker has the same number in all of its calls. A thread of a pipeline that runs a task in
  // place of a worker has that worker's number meanwhile; simulated devices share one. If a function submits a task,
  // the same thread may run others, with the same number, before the call returns.
  uint32_t worker, worker_count;
  uint64_t task; // number of the task, or of the launch of its graph, as in messages and timelines
} weir_work;

// A kernel or a host task as a C function. It must not wait for other tasks. It may submit any number (weir_submit).
typedef void (*weir_function)(const weir_work *work);

// Makes the running task fail. Its function calls this, and then returns as usual. The task's outputs are poisoned, and
// tasks that read them are skipped. `message` is copied and cut at 255 bytes, and may be NULL.
WEIR_API void weir_work_fail(const weir_work *work, const char *message);

// Creates a kernel without code. The name is copied.
// Errors: OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_create(weir_context *context, const char *name, weir_kernel **out_kernel);

// Gives a kernel its code for the CPU: a function that runs any range of work-groups. Several threads may run different
// ranges of one launch at the same time.
WEIR_API weir_status weir_kernel_set_cpu(weir_kernel *kernel, weir_function function);

// Releases a kernel, at any time; tasks in flight finish. `kernel` may be NULL.
// Errors: OUT_OF_MEMORY (to combine copies by the kernel, see weir/reduce.h: nothing is released).
WEIR_API weir_status weir_kernel_release(weir_kernel *kernel);

// ---------------------------------------------------------------------------------------------------------------
// Tasks

// Access of a task to an argument.
typedef enum weir_mode {
  WEIR_VALUE = 0,      // not a buffer: bytes that are copied at submission
  WEIR_READ = 1,       // reads the range
  WEIR_WRITE = 2,      // overwrites every byte of the range and reads none of it first
  WEIR_READ_WRITE = 3, // any other access
  // Updates the range, in any order relative to other tasks that commute on these bytes, but never at the same time as
  // one of them. Other accesses come before or after all of them, as they were submitted. docs/guide/commute-reduce.md
  WEIR_COMMUTE = 4,
  // Adds to the range by a reduction (weir/reduce.h): as COMMUTE, but several such tasks may run at the same time, each
  // on a private copy. Copies are combined before the next access of another kind.
  WEIR_REDUCE = 5,
  WEIR_AUTO = 6, // READ or READ_WRITE, as the kernel's code says (weir_auto)
} weir_mode;

// For weir_arg.bytes: to the end of the buffer.
#define WEIR_WHOLE UINT64_MAX

// Shape of an argument's bytes.
enum {
  WEIR_RANGE = 0, // `bytes` bytes from `offset` on
  WEIR_BOX = 1,   // rows at equal distances: weir/box.h
};

// An argument of a task: bytes of a buffer, or a value.
typedef struct weir_arg {
  weir_mode mode;
  uint16_t shape;      // of the bytes of a buffer: WEIR_RANGE, WEIR_BOX
  uint16_t reserved;   // 0
  weir_buffer *buffer; // all but VALUE
  uint64_t offset;     // first byte of the range or box
  uint64_t bytes;      // length of the range (WEIR_WHOLE: to the end of the buffer), or of the value; not of a box
  const void *value;   // VALUE: copied at submission. BOX: the weir_box, REDUCE: the weir_reduction, copied, too
} weir_arg;

// Make an argument. The task reads, overwrites or updates a whole buffer, or `bytes` bytes of it from byte `offset` on.
WEIR_API weir_arg weir_reads(weir_buffer *buffer);
WEIR_API weir_arg weir_writes(weir_buffer *buffer);
WEIR_API weir_arg weir_updates(weir_buffer *buffer);
WEIR_API weir_arg weir_reads_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes);
WEIR_API weir_arg weir_writes_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes);
WEIR_API weir_arg weir_updates_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes);

// Makes an argument whose mode the code of the kernel tells, on the device that the task goes to: READ if the code
// surely does not write it, else READ_WRITE. So it is READ_WRITE where Weir cannot read the code: functions for the
// CPU, binary images for CUDA, OpenCL arguments without `const`. It is never WRITE, since code does not tell that it
// overwrites every byte: declare weir_writes where that lets tasks overlap. The mode is taken at submission, or when a
// graph records the task, and timelines show it. For a range, set `offset` and `bytes` of the result. Split launches
// and links of chains refuse it. docs/guide/kernels.md has an example.
WEIR_API weir_arg weir_auto(weir_buffer *buffer);

// Makes an argument from a value of up to 4096 bytes. The task gets a copy, aligned to 16 bytes.
WEIR_API weir_arg weir_value(const void *value, uint64_t bytes);

enum { WEIR_MAX_ARGS = 1024, WEIR_PRIORITY_LOWEST = -4, WEIR_PRIORITY_HIGHEST = 3 };

// A task: a kernel over a grid of work-groups, or a host task, which is a C function that runs once on a CPU worker.
// A member that is 0 has its default. The caller may free all that the struct points to after the submission; `user` is
// passed on as it is.
typedef struct weir_task {
  weir_kernel *kernel;  // this, or
  weir_function host;   // this, which always runs on the context's CPU device
  void *user;           // passed on in weir_work
  const weir_arg *args; // arguments of the function, in order
  uint32_t arg_count;   // up to WEIR_MAX_ARGS
  uint32_t groups[3];   // work-groups in x, y, z; 0 counts as 1. A host task has all of them in its one call
  weir_device *device;  // NULL: as WEIR_CONTEXT_PLACE says; without it the first device that the kernel has code for
  weir_event *const *after; // tasks that must end first, besides those that the arguments imply. A failure of one does
  uint32_t after_count;     // not skip this task
  int32_t priority;         // of ready tasks the highest starts first; clamped to LOWEST and HIGHEST
  const char *label;        // for messages and timelines; copied, cut at 47 bytes
  uint64_t tag;             // number of the caller's choice for messages and timelines
  // Frees what `user` points to: called exactly once with `user`, when the task has run, failed or was skipped, before
  // its event is done and before weir_finish returns. It is called where callbacks are (weir_event_on_done). Not called
  // if the submission is refused. It must not block, and may submit tasks. Graphs, which run their tasks many times,
  // stages of pipelines and prepared tasks do not take it.
  void (*destroy)(void *user);
  // Group that the task is in (weir/group.h). NULL: that of the task whose function submits it, or else none. Graphs,
  // stages of pipelines and prepared tasks do not take one.
  weir_group *group;
  // For a host task whose function holds a lock that the functions of others need, too, such as an interpreter's: a
  // number that is the same for functions which take about as long, for instance the address of their code. 0: no lock.
  // Functions that take a few microseconds at most then run on one worker while the others do something else, because
  // they would wait for the lock. Longer ones are spread over the workers. It has no influence on results. Graphs
  // ignore it.
  uint64_t lock_key;
} weir_task;

// Submits a task. The call waits only while the window or the context's memory is full. If `out_event` is not NULL, it
// gets an event, which the caller releases.
// In a task, its destroy function or a callback the call never waits: the task is a child of the one whose function it
// is, and queues until there is room. Tasks enter in the order of the calls, and what a call names may be released
// after it, as ever. Copies, fills and launches of graphs queue likewise; items of chains and splits are refused with
// OUT_OF_MEMORY where they would have to wait. Queued tasks take 256 MiB at most, some 1 KiB each and their values; a
// task beyond that is refused with OUT_OF_MEMORY. docs/guide/nesting.md has the rest.
// Errors, which submit nothing: INVALID_ARGUMENT (no kernel or function, too many arguments, an empty range, arguments
// that disagree, more writes to wrapped memory of another device than the window has slots for copies back),
// OUT_OF_RANGE, RELEASED, NO_CODE (also a host task without a CPU device), OUT_OF_MEMORY.
// Two arguments disagree if their ranges overlap, at least one is written, and they differ in range or mode.
// Where the device can read the kernel's code, INVALID_ARGUMENT also if the code refutes a mode (a buffer that is only
// read, and the code writes it; one that is overwritten, and the code never writes it) or takes a value of another
// size.
// If a simulated device has no memory to simulate the task, the task fails with OUT_OF_MEMORY.
WEIR_API weir_status weir_submit_sized(weir_context *context, const weir_task *task, size_t task_size,
                                       weir_event **out_event);
static inline weir_status weir_submit(weir_context *context_, const weir_task *task_, weir_event **out_event_) {
  return weir_submit_sized(context_, task_, sizeof *task_, out_event_);
}

// Submit a copy from the caller's memory to a buffer, from a buffer to the caller's memory, or from buffer to buffer. A
// copy is a task: asynchronous, and in order with all others. The caller's memory must stay valid until the copy is
// done. Neither the caller nor another copy may touch it meanwhile: copies from different buffers to the same memory
// have no order. A copy is skipped if its source is poisoned, and then leaves its destination as it was. `bytes` may be
// WEIR_WHOLE: to the end of the buffer, of the source where there are two. `out_event` as for weir_submit.
// Errors: as weir_submit; INVALID_ARGUMENT (no bytes; a source and a destination that overlap; a part of an image).
WEIR_API weir_status weir_copy_in(weir_buffer *buffer, uint64_t offset, uint64_t bytes, const void *source,
                                  weir_event **out_event);
WEIR_API weir_status weir_copy_out(weir_buffer *buffer, uint64_t offset, uint64_t bytes, void *destination,
                                   weir_event **out_event);
WEIR_API weir_status weir_copy(weir_buffer *destination, uint64_t destination_offset, weir_buffer *source,
                               uint64_t source_offset, uint64_t bytes, weir_event **out_event);

// Reads bytes of a buffer: submits a copy out, and waits until it is done, for as long as that takes. Returns OK, or
// the status with which the copy failed. Unlike weir_copy_out, it leaves nothing for weir_finish to report.
// Errors: as weir_copy_out; INVALID_ARGUMENT (called from a task or callback).
WEIR_API weir_status weir_read(weir_buffer *buffer, uint64_t offset, uint64_t bytes, void *destination);

// Submits a task that fills a range of a buffer with a pattern of 4 bytes, in the byte order of the host. `offset` and
// `bytes` are multiples of 4; `bytes` may be WEIR_WHOLE. `out_event` as for weir_submit.
// Errors: as weir_submit; INVALID_ARGUMENT (no bytes; no multiples of 4).
WEIR_API weir_status weir_fill(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t pattern,
                               weir_event **out_event);

// ---------------------------------------------------------------------------------------------------------------
// Events
//
// Each task that was submitted with an `out_event` has an event.

// A time-out that never passes.
#define WEIR_FOREVER UINT64_MAX

// Returns the state of the task: PENDING, OK, or the status with which it failed, and weir_last_error then says how.
// Does not wait.
WEIR_API weir_status weir_event_poll(weir_event *event);

// Waits until the task is done, for `timeout_ns` nanoseconds at most. Returns OK, the status with which the task
// failed, or TIMEOUT, which does not affect the task. On a simulated device virtual time advances without a real wait.
// Errors: INVALID_ARGUMENT (called from a task or callback before the task is done).
WEIR_API weir_status weir_event_wait(weir_event *event, uint64_t timeout_ns);

// Receives the status of a task that is done.
typedef void (*weir_event_function)(void *user, weir_status status);

// Calls `function` once when the task is done. A context calls its callbacks one at a time, by a thread of Weir's or
// by one that is in a call of Weir's on the context, so the caller of such a call must not hold a lock that a callback
// takes. If the task is done already, this thread calls the function before the call returns, unless a callback is
// being called: then it comes after that. The callback must not block. It may submit tasks, which are children of the
// task that is done, and release the event. Several callbacks are called in the order in which they were attached.
// Errors: OUT_OF_MEMORY.
WEIR_API weir_status weir_event_on_done(weir_event *event, weir_event_function function, void *user);

// Returns a text that names the task and says how it failed; "" if it has not failed. For a task that was skipped it
// names the first task that failed, and the bytes that are missing therefore. Valid until the event is released.
WEIR_API const char *weir_event_message(weir_event *event);

// Releases an event, at any time. The task goes on, and its callbacks are still called. `event` may be NULL.
WEIR_API void weir_event_release(weir_event *event);

// ---------------------------------------------------------------------------------------------------------------
// Timelines
//
// A context with WEIR_CONTEXT_TRACE records what its tasks did. The environment variable WEIR_TRACE=FILE sets the flag
// for every context, and saves what a context did to that file when it is released, or when the program ends without
// that; further contexts get a number in the name of the file (run.2.jsonl).

// Waits for all tasks, then writes a file, as the end of its name says. `title` may be NULL.
// - ".json": what the tasks did, in the format of Chrome's traces. `weir timeline` makes a page for a browser from it,
//   Perfetto opens it, and `weir check` verifies it beside the stream that ran.
// - ".jsonl": what the program issued, as a recorded stream, which `weir plan` and `weir replay` take. It has tasks
//   with their accesses and measured times, and what the host waited for; docs/guide/timeline.md says how, and what it
//   lacks.
// Errors: INVALID_ARGUMENT (the context does not trace, another ending, what a stream cannot express; called from a
// task or callback), IO, OUT_OF_MEMORY.
WEIR_API weir_status weir_trace_save(weir_context *context, const char *path, const char *title);

// Says why a task waited for another one: which of its bytes, of which buffer, the other one writes or reads, or by way
// of which other tasks; or that it did not wait. The events are of the two tasks, in the order of submission. The text
// goes to `out_text`, and is cut so that it has `size` bytes with the zero byte behind it. Does not wait.
// Errors, which leave the text empty: INVALID_ARGUMENT (the context does not trace; no room for a text), UNAVAILABLE
// (the record of one of them was cleared), OUT_OF_MEMORY.
WEIR_API weir_status weir_why(weir_event *earlier, weir_event *later, char *out_text, size_t size);

// Discards what was recorded so far.
WEIR_API void weir_trace_clear(weir_context *context);

#ifdef __cplusplus
}
#endif
#endif // WEIR_WEIR_H
