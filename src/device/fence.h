// SPDX-License-Identifier: Apache-2.0
//
// Order with the caller's own work on a device: a task that moves no bytes, and stands for a point in that work.
#ifndef WEIR_DEVICE_FENCE_H
#define WEIR_DEVICE_FENCE_H

#include "window/task.h"

enum { WEIR__IMPORT_TEXT_BYTES = 80 };

// The head of a device's own struct, which it frees when it reports the task.
typedef struct weir__external_fence {
  struct weir__external_fence *next; // among those that the device stalls
  bool signals; // the caller's work waits for tasks before this one; else all later tasks wait for the caller's work
  // One that does not signal: its task has a blocker until the device has seen that the caller's work is done, and takes it
  // off by weir__host_release. A queue that waited from the start would hold up tasks that were submitted before, on which
  // the caller's work may depend in turn.
  bool stalled;
  bool always;      // it is carried out even if its task is skipped
  weir__task *task; // NULL: it is an import, the caller's work of an external event (engine/external.h), and stalled
  // Of an import. `external` is guarded by the context's lock; NULL: nobody wants to know any more. `device` watches
  // it, and notes how it ended before it says that it is over. `ended` is called then, with the lock held.
  struct weir__external *external;
  weir_device *device;
  void (*ended)(struct weir__external_fence *fence);
  weir_status status;
  char text[WEIR__IMPORT_TEXT_BYTES];
} weir__external_fence;

#endif // WEIR_DEVICE_FENCE_H
