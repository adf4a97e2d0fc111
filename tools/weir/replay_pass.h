// SPDX-License-Identifier: Apache-2.0
//
// One pass of a replay: buffers come and go as recorded, and tasks are submitted, or recorded as a graph.
#ifndef WEIR_TOOLS_WEIR_REPLAY_PASS_H
#define WEIR_TOOLS_WEIR_REPLAY_PASS_H

#include "replay.h"
#include "weir/graph.h"
#include "weir/sim.h"

// What the tasks of a stream run, by task.
typedef struct weir__replay_kernels {
  weir_kernel **kernels;
  uint64_t *spin_ns; // on the CPU
} weir__replay_kernels;

typedef struct weir__replay {
  const weir__stream *stream;
  const weir__replay_options *options;
  weir_context *context; // with one device
  weir_device *device;
  weir__replay_kernels kernels;
  weir_graph *graph;          // not NULL: tasks are recorded here
  weir_buffer **buffers;      // by index in the stream; NULL: not there (now)
  weir_buffer *address_space; // by address: one buffer that stands for all of it
  uint64_t base;              // the lowest address
  weir_buffer *chain;         // not NULL: every task also updates this one
  weir_arg *args;             // WEIR_MAX_ARGS
  bool trace;
  uint64_t pass;
  uint64_t edges, build_ns; // of graphs
  uint64_t host_wait_ns;    // real time that the submitting thread waited for tasks
} weir__replay;

// A pass that is recorded and built, with the buffers that live until it was launched.
typedef struct weir__replay_recorded {
  weir_graph *graph;
  weir_buffer **buffers; // by index in the stream; NULL: none to release
} weir__replay_recorded;

// All return exit codes; errors were said on stderr.

// Creates the context, the kernels and what else a pass needs; closes it, with all that belongs to it. To be closed even if it
// could not be opened.
int weir__replay_open(weir__replay *run);
void weir__replay_close(weir__replay *run);

// The clock of a replay's times: virtual on a simulated device, else that of the host.
uint64_t weir__replay_now_ns(const weir__replay *run);

// Writes the timeline as JSON; `path` may be NULL.
int weir__replay_save_trace(const weir__replay *run, const char *path);

// Sorts the values; NAN for none.
double weir__replay_median(double *values, uint64_t count);

// Creates the kernels for the context's device, with the recorded parameters or with others: a quarter longer, and with
// a block more.
#define WEIR__REPLAY_OTHER_TIMES 1.25
int weir__replay_create_kernels(const weir__replay *run, bool others, weir__replay_kernels *out_kernels);
void weir__replay_free_kernels(weir__replay_kernels *kernels); // their kernels too

// A recorded kernel as a launch on a simulated device, its time scaled.
weir_sim_launch weir__replay_sim_launch(const weir__stream_kernel *recorded, double time_scale);

// Gives a kernel its launches for a CUDA device; replay_cuda.c.
weir_status weir__replay_set_cuda(const weir__replay *run, const weir__stream_task *task, bool other,
                                  weir_kernel *kernel);

// The same for a Vulkan device; replay_vulkan.c.
weir_status weir__replay_set_vulkan(const weir__replay *run, const weir__stream_task *task, bool other,
                                    weir_kernel *kernel);

// The same for an OpenCL device, on which a task takes `us` microseconds; replay_opencl.c.
weir_status weir__replay_set_opencl(const weir__replay *run, double us, weir_kernel *kernel);

// Its kernel: "spin", whose argument, a ulong, says how far it counts; and how far that is in a microsecond on the context's first
// device, measured once in a process.
extern const char weir__replay_opencl_source[];
weir_status weir__replay_opencl_rounds(weir_context *context, double *out_per_us);

int weir__replay_create_address_space(weir__replay *run);

// Creates all buffers of the stream that are not there: its parameters, or the others.
int weir__replay_create_buffers(weir__replay *run, bool parameters);

// What task `index` of the stream is, in pass `run->pass`. Valid until the next call: its arguments are `run->args`.
void weir__replay_make_task(weir__replay *run, uint32_t index, weir_task *out_task);

// Submits a pass, and releases what does not live on after it.
int weir__replay_submit_pass(weir__replay *run);

// Records and builds a pass, or launches one that was recorded.
int weir__replay_record_pass(weir__replay *run, weir__replay_recorded *out_recorded);
int weir__replay_launch_pass(const weir__replay *run, const weir__replay_recorded *recorded);

// Releases all buffers of the stream; parameters too if asked.
void weir__replay_release_buffers(weir__replay *run, bool parameters);

// What an error of Weir's is reported with; `task` may be NULL.
int weir__replay_failed(const weir__replay *run, weir_status status, const weir__stream_task *task);
int weir__replay_no_memory(const weir__replay *run);

#endif // WEIR_TOOLS_WEIR_REPLAY_PASS_H
