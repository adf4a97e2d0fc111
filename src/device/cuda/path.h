// SPDX-License-Identifier: Apache-2.0
//
// Issue paths: the ways in which a device's tasks come to the card. Queues (queue/) launch tasks one by one, graphs (graph/) launch
// runs of tasks that come again, the resident kernel (resident/) runs tasks without launches. The first path of a device
// takes each task; it may pass it on to a later one. All functions are called by the device's thread.
#ifndef WEIR_DEVICE_CUDA_PATH_H
#define WEIR_DEVICE_CUDA_PATH_H

#include "device/cuda/api.h"
#include "device/host.h"

typedef struct weir__cuda_device weir__cuda_device;
typedef struct weir__cuda_op weir__cuda_op;

enum { WEIR__CUDA_MOST_PATHS = 4 };

// Functions that are NULL have nothing to do on that path.
typedef struct weir__cuda_path {
  // Of the first path: a task was handed over. It is reported later, whatever happens.
  void (*take)(weir__cuda_device *device, weir__task *task);
  // The thread looked for tasks, and found some or not.
  void (*begin_round)(weir__cuda_device *device, bool any);
  // No task is there. Tasks that were taken and are stalled go on if that is `wanted`, or if nothing else keeps the device busy.
  void (*flush)(weir__cuda_device *device, bool wanted);
  // Reports what is done, as far as a look at one place tells. `all`: a look at all places, and the end of everything in flight
  // will be noticed. Returns whether anything was.
  bool (*poll)(weir__cuda_device *device, bool all);
  // Lets tasks go on that could not before. Returns whether there were any.
  bool (*go_on)(weir__cuda_device *device);
  // The device is lost: all that is in flight fails. Returns whether there was anything.
  bool (*fail_all)(weir__cuda_device *device);
  // Whether there are tasks that were not reported.
  bool (*is_busy)(const weir__cuda_device *device);
  // Whether there are tasks for which a stream of the caller's cannot wait, so that they must be done first.
  bool (*bars_streams)(const weir__cuda_device *device);
  // Nothing is to be done. Returns whether the path needs another look soon.
  bool (*rest)(weir__cuda_device *device);
  // The thread ends, or the device is lost: nothing of the path's runs on the card any more.
  void (*stop)(weir__cuda_device *device);
} weir__cuda_path;

extern const weir__cuda_path weir__cuda_queue_path, weir__cuda_graph_path, weir__cuda_resident_path,
    weir__cuda_automatic_path;

// Adds a path before the last one, which is that of queues.
void weir__cuda_add_path(weir__cuda_device *device, const weir__cuda_path *path);

// Each is called for all paths.
void weir__cuda_begin_round(weir__cuda_device *device, bool any);
void weir__cuda_flush(weir__cuda_device *device, bool wanted);
bool weir__cuda_poll(weir__cuda_device *device, bool all);
bool weir__cuda_go_on(weir__cuda_device *device);
bool weir__cuda_fail_all(weir__cuda_device *device);
bool weir__cuda_is_busy(weir__cuda_device *device);
bool weir__cuda_bars_streams(weir__cuda_device *device);
bool weir__cuda_rest(weir__cuda_device *device);
void weir__cuda_stop(weir__cuda_device *device);

// What an op in a queue is: a task, the run of a recorded graph, a batch.
typedef struct weir__cuda_op_ops {
  // Launches it, in the thread of its queue, without the lock.
  CUresult (*launch)(weir__cuda_device *device, weir__cuda_op *op, CUstream stream);
  // Before the launch, with the lock: tasks that it comes after may have failed since it was placed. Optional.
  void (*look_again)(weir__cuda_device *device, weir__cuda_op *op);
  // It could not be launched, with the lock. Optional: of an op without a task.
  void (*mark_failing)(weir__cuda_device *device, const weir__cuda_op *op);
  // It ended well, and is reported next. Optional.
  void (*finish)(weir__cuda_device *device, const weir__cuda_op *op);
  // It is reported, with the lock. Optional. `completion` NULL: its tasks are reported here; else times and lane are set.
  void (*report)(weir__cuda_device *device, weir__cuda_op *op, const weir__completion *completion);
} weir__cuda_op_ops;

// The run of a recorded graph also chooses its queue.
typedef struct weir__cuda_run_ops {
  weir__cuda_op_ops head;
  // The queue that the run is launched in, if nothing else decides; WEIR__ANY_QUEUE: any of them.
  uint32_t (*queue)(weir__cuda_device *device, const weir__task *task);
  // Whether nodes may fail when they are launched: then nothing that may read what they write is launched before.
  bool (*may_fail)(const weir__task *task);
} weir__cuda_run_ops;

extern const weir__cuda_run_ops weir__cuda_recorded_ops;

#endif // WEIR_DEVICE_CUDA_PATH_H
