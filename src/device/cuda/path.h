// SPDX-License-Identifier: Apache-2.0
//
// Issue paths: the ways in which a device's tasks come to the card. Queues (queue/) launch tasks one by one, graphs (graph/) launch
// runs of tasks that come again, the resident kernel (resident/) runs tasks without launches. The first path of a device takes each
// task; it may pass it on to a later one. All functions are called by the device's thread.
#ifndef WEIR_DEVICE_CUDA_PATH_H
#define WEIR_DEVICE_CUDA_PATH_H

#include "device/cuda/api.h"
#include "device/host.h"

typedef struct weir__cuda_device weir__cuda_device;
typedef struct weir__cuda_op weir__cuda_op;

enum { WEIR__CUDA_MOST_PATHS = 3 };

// Functions that are NULL have nothing to do on that path; only `take` is called for the first path alone.
typedef struct weir__cuda_path {
  // A task was handed over. It is reported later, whatever happens.
  void (*take)(weir__cuda_device *device, weir__task *task);
  // The thread looked for tasks, and found some or not.
  void (*begin_round)(weir__cuda_device *device, bool any);
  // No task is there. Tasks that were taken and are stalled go on if that is `wanted`, or if nothing else keeps the device busy.
  void (*flush)(weir__cuda_device *device, bool wanted);
  // Makes sure that the end of everything in flight will be noticed.
  void (*mark_ends)(weir__cuda_device *device);
  // Reports what is done, as far as a look at one place (`all`: at all of them) tells. Returns whether anything was.
  bool (*poll)(weir__cuda_device *device, bool all);
  // Lets tasks go on that could not before. Returns whether there were any.
  bool (*go_on)(weir__cuda_device *device);
  // The device is lost: all that is in flight fails. Returns whether there was anything.
  bool (*fail_all)(weir__cuda_device *device);
  // Whether there is anything that was not reported.
  bool (*is_busy)(const weir__cuda_device *device);
  // Whether there are tasks for which a stream of the caller's cannot wait, and which must be done first.
  bool (*bars_streams)(const weir__cuda_device *device);
  // Nothing is to be done. Returns whether the path needs another look soon.
  bool (*rest)(weir__cuda_device *device);
  // The thread ends.
  void (*stop)(weir__cuda_device *device);
} weir__cuda_path;

extern const weir__cuda_path weir__cuda_queue_path, weir__cuda_graph_path, weir__cuda_resident_path;

// Each is called for all paths.
void weir__cuda_begin_round(weir__cuda_device *device, bool any);
void weir__cuda_flush_paths(weir__cuda_device *device, bool wanted);
void weir__cuda_mark_ends(weir__cuda_device *device);
bool weir__cuda_poll(weir__cuda_device *device, bool all);
bool weir__cuda_go_on(weir__cuda_device *device);
bool weir__cuda_report_lost(weir__cuda_device *device); // does nothing if the device is not lost
bool weir__cuda_is_busy(const weir__cuda_device *device);
bool weir__cuda_bars_streams(const weir__cuda_device *device);
bool weir__cuda_rest(weir__cuda_device *device);
void weir__cuda_stop_paths(weir__cuda_device *device);

// What an op in a queue is: a task, the run of a recorded graph, a batch.
typedef struct weir__cuda_op_ops {
  // Launches it, in the thread of its queue. The context's lock is not held.
  CUresult (*launch)(weir__cuda_device *device, weir__cuda_op *op, CUstream stream);
  // None of its tasks will end well. The lock is held.
  void (*mark_failing)(weir__cuda_device *device, const weir__cuda_op *op);
  // Before the launch: tasks that it comes after may have failed since it was placed. The lock is held. NULL: `launch` sees to it.
  void (*look_again)(weir__cuda_device *device, weir__cuda_op *op);
  // It ended well, and is reported next. The lock is not held. NULL: nothing is to be done.
  void (*finish)(weir__cuda_device *device, const weir__cuda_op *op);
  // Reports its tasks. The lock is held.
  void (*report)(weir__cuda_device *device, weir__cuda_op *op);
} weir__cuda_op_ops;

// The run of a recorded graph also chooses its queue.
typedef struct weir__cuda_run_ops {
  weir__cuda_op_ops head;
  // The queue that the run is launched in, if nothing else decides; WEIR__ANY_QUEUE: any of them.
  uint32_t (*queue)(weir__cuda_device *device, const weir__task *task);
} weir__cuda_run_ops;

extern const weir__cuda_run_ops weir__cuda_recorded_ops;

#endif // WEIR_DEVICE_CUDA_PATH_H
