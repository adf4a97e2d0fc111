// SPDX-License-Identifier: Apache-2.0
//
// What a device is to the rest of Weir: a small table of functions, and tables for parts that some devices have.
//
// Unless a member says otherwise it is called with the context's lock held, must not block, and must not call weir_*
// functions of its own context. Two kinds of device exist:
// - A device that is not `run_ahead` gets a task when all predecessors are done, and runs it at once (CPU workers).
// - A `run_ahead` device gets a task as soon as its predecessors on the same device have been issued to it and those on
//   other devices are done. It keeps the order itself, in its queues: `task->predecessors` (predecessor_count ids, all
//   issued to this device earlier, some perhaps done by now) must be done before the task starts.
// A device reports each task exactly once, by weir__host_complete (device/host.h), with the lock held.
// Before it runs a task it asks weir__host_skip_status: a task whose input is poisoned, or that was cancelled, must not run
// and is reported with the status that was answered.
#ifndef WEIR_DEVICE_DEVICE_H
#define WEIR_DEVICE_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/topology.h"
#include "device/kernel.h"
#include "memory/pool.h"
#include "weir/graph.h"
#include "weir/image.h"
#include "weir/weir.h"
#include "window/task.h"

struct weir__graph_plan;
struct weir__host;
struct weir_enqueue_code;
struct weir__open_ops;

// Of a device with memory of its own.
typedef struct weir__memory_ops {
  // Where storage on the device, and storage on the host that the device copies from and to, is taken from. Called once, before
  // any storage is needed; both stay valid until `destroy`.
  void (*sources)(weir_device *device, weir__memory_source *out_device_memory, weir__memory_source *out_host_memory);

  // Whether the device itself can copy between its memory and `bytes` bytes at `memory` of the host, without making the caller wait.
  bool (*can_access_host)(weir_device *device, const void *memory, uint64_t bytes, bool writes);

  // Optional, both or none: memory of the host that the device copies from and to by itself, aligned to 64 bytes, and freeing it.
  // `bytes` is not 0. Without the lock. NULL: plain memory serves as well.
  weir_status (*host_allocate)(weir_device *device, uint64_t bytes, void **out_memory);
  void (*host_free)(weir_device *device, void *memory);

  // Optional: the buffer that wrapped this memory of the device's was released; the last task that uses it is `last_use`.
  void (*released)(weir_device *device, void *memory, bool image, weir__id last_use);
} weir__memory_ops;

// Of a device with images (`image` of a buffer whose home is the device's space).
typedef struct weir__image_ops {
  // Storage for one, of which the info was checked as far as it goes for all devices. Without the lock. It is given back by
  // `released` of the device's memory.
  weir_status (*make)(weir_device *device, const weir_image_info *info, void **out_memory, uint64_t *out_bytes);

  // Whether the device itself can copy `from` to `to`, of which one at least is such an image, whole; `from` NULL: fill `to` with
  // the pattern.
  bool (*can_copy)(const weir_device *device, const weir_buffer *to, uint64_t to_offset, const weir_buffer *from,
                   uint64_t from_offset, uint32_t pattern);
} weir__image_ops;

// Of a device that prepares recorded graphs (graph/graph.h) for launches. Either way a launch is one task, whose `run` is set,
// issued like any other.
typedef struct weir__graph_ops {
  // `*out_build_ns`: the virtual or real time that it took.
  weir_status (*build)(weir_device *device, struct weir__graph_plan *plan, uint64_t *out_build_ns);

  // A plan that was prepared is given up; its `device_data` is not NULL.
  void (*forget)(weir_device *device, void *device_data);

  // Launches of one graph run one after another, whatever they access.
  bool in_turn;

  // For a device with memory of its own: whether copies that are nodes of graphs reach these bytes of the host in both directions.
  // If not, the node gets memory of the run's, from the host memory of `sources`. `ask`: the driver may be asked, and the lock
  // is not held; else the answer is yes only where that is known without, and the lock may be held.
  bool (*can_access_host)(weir_device *device, const void *memory, uint64_t bytes, bool ask);
} weir__graph_ops;

// Of a device without threads of its own.
typedef struct weir__polled_ops {
  // Makes progress until at least one more task is done. False: nothing is in flight.
  bool (*progress)(weir_device *device);

  // Optional: reports what is done by now without waiting.
  void (*poll)(weir_device *device);
} weir__polled_ops;

typedef struct weir__device_ops {
  const char *kind;     // "cpu": the part of a device's name before ':'
  weir__code_kind code; // that kernels have for it
  bool run_ahead;
  bool
      follows_runs; // runs of tasks that came before are launched as graphs by default (src/repeats): measured to be faster
  bool threaded; // has a thread that issues its tasks and needs a core to be quick
  bool peers; // copies by itself between its memory and that of other devices of its kind, though perhaps by detours of
              // the driver's (weir_device.near)
  bool hidden; // made only when asked for by name; not listed by weir_probe

  // Whether this machine has such a device, and a line about it or about why not. No lock, no context.
  bool (*probe)(char *text, size_t size);

  // Makes a device from what follows "kind:" in its name ("" if nothing does). No lock is held. `queues`: 0 means the
  // device's own number. Sets weir_last_error() on failure.
  weir_status (*create)(struct weir__host *host, const char *argument, uint32_t queues, weir_device **out_device);

  // Every task is done. No lock is held. Frees the device.
  void (*destroy)(weir_device *device);

  // Parts that a device has, or NULL.
  const weir__memory_ops *memory;
  const weir__image_ops *images;
  const weir__graph_ops *graphs;
  const weir__polled_ops *polled;
  const struct weir__open_ops *opens; // device/open.h

  // Optional: refuses a task that the device cannot launch. No change, as for any refusal. PENDING: the task lacks the scratch
  // memory that its kernel's enqueue function wants (weir__enqueue_check).
  weir_status (*check)(const weir_device *device, const weir_task *task);

  // Optional: what the code of the task's kernel does with an argument of the task that is no value, as bits of device/use.h.
  // The task passed `check`, but its arguments may be wrong by themselves. NULL: the device cannot read code.
  uint8_t (*use)(const weir_device *device, const weir_task *task, uint32_t index);

  // Optional: gives a kernel of check mode's own (check/card.h) the function of this name, for all devices of the kind. Its
  // functions address memory of the device by the pointers that tasks get.
  weir_status (*check_code)(weir_kernel *kernel, const char *entry);

  // Optional: gives a kernel a function that puts work on the devices' queues as its code for all devices of the kind, in place
  // of what code it had there (device/enqueue.h). The context has such a device, and the code was checked. No lock is held.
  // NULL: no device of the kind has queues of its own.
  weir_status (*set_enqueue)(weir_kernel *kernel, const struct weir_enqueue_code *code);

  // Whether the kernel has code for this device; NULL stands for a host task.
  bool (*has_code)(const weir_device *device, const weir_kernel *kernel);

  // Takes over a task. See above for its predecessors.
  void (*issue)(weir_device *device, weir__task *task);

  // Optional, for fences that stall: takes over one whose task was submitted, or an import (device/fence.h).
  void (*stall)(weir_device *device, struct weir__external_fence *fence);

  // Optional, both or none: the device keeps a task of its own, which is being submitted, behind an import in its
  // queues, so that nothing else waits. False: not now; the task is held back until the import is over. And the import
  // is over.
  bool (*await_import)(weir_device *device, weir__id task, struct weir__external_fence *import);
  void (*forget_import)(weir_device *device, const struct weir__external_fence *import);

  // Optional: a fence that stands for nothing but its task's place in the order. Without the lock. NULL: no memory. If
  // its task is not submitted it is given back by weir__free.
  struct weir__external_fence *(*marker)(weir_device *device);

  // Optional: somebody waits for tasks of the device, so those that it holds back, to launch them together, must go now.
  void (*flush)(weir_device *device);

  // Optional: by how many ns a task of the kernel is expected to lengthen the work of the device, whose workers are all busy. 0: a
  // host task (kernel NULL), of which nothing is known. UINT64_MAX: no task of it has run yet, or several workers share its
  // work-groups, as they do not in a graph.
  uint64_t (*expected_ns)(const weir_device *device, const weir_kernel *kernel, uint64_t groups);

  // Optional: submissions are held back, and a thread of the device's is to see that they do not wait for long
  // (weir__host_settle). The lock is held.
  void (*look_after)(weir_device *device);

  // Optional: tasks will come soon, so threads of the device that sleep may wake already. Without the lock.
  void (*prewake)(weir_device *device);

  // The host's clock for this device, in ns since the context was made.
  uint64_t (*time)(weir_device *device);
} weir__device_ops;

// The head of every device's own struct.
struct weir_device {
  const weir__device_ops *ops;
  struct weir__host *host;
  uint32_t index;         // in the context
  uint32_t lanes;         // workers or queues
  uint32_t queues;        // that a graph's run->queue can choose among; 0: none
  uint32_t enqueue_lanes; // of enqueue functions (device/enqueue.h); 0: none
  uint32_t space;         // of its memory; 0: the host's
  uint32_t callers;       // threads that may run functions for it at the same time
  uint32_t first_worker;  // weir_work.worker of the first of them; set by the context
  uint64_t memory_bytes;  // of memory of its own; 0: none, or not known
  uint32_t near;          // bit per index of another device of its kind: copies between the two make no detour
  bool plain;             // takes the plainest tasks (engine/plain_whole.h); set by the context
  bool lost;              // guarded by the context's lock
  uint64_t
      parts_end_ns; // guarded by the context's lock: when the last part of a resident split launch ended, in its time
  const pthread_t *thread; // that issues its tasks, for one that is `threaded`
  weir__core core;         // of that thread; taken and given back by the context
  char name[64];           // set by `create`
  char description[160];
  weir_device_info info; // set by the context, once it is created
};

#endif // WEIR_DEVICE_DEVICE_H
