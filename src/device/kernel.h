// SPDX-License-Identifier: Apache-2.0
//
// A kernel as devices see it: a function for CPUs, and for each other kind of device what that made of the caller's code.
#ifndef WEIR_DEVICE_KERNEL_H
#define WEIR_DEVICE_KERNEL_H

#include <stdalign.h>
#include <stdatomic.h>

#include "weir/weir.h"
#include "window/object.h"

enum { WEIR__MAX_DEVICES = 16, WEIR__LABEL_BYTES = 48 };

// Kinds of code.
typedef enum weir__code_kind {
  WEIR__CODE_FUNCTION, // of a device that runs functions, or nothing; nothing is made of it
  WEIR__CODE_CUDA,
  WEIR__CODE_OPENCL,
  WEIR__CODE_SIM,
  WEIR__CODE_VULKAN,
  WEIR__CODE_KINDS,
} weir__code_kind;

// The head of what a kind of device makes of code. It is freed by that device's own function.
typedef struct weir__code {
  void (*destroy)(struct weir__code *code);
  bool takes_all; // the device can launch every task of it
  struct weir__enqueue
      *enqueue; // not NULL: it is this function of the caller's (device/enqueue.h), of the device's kind
} weir__code;

struct weir_kernel {
  weir__object object;    // the first cache line has what most submissions look at
  weir_function function; // NULL: no code for CPUs
  uint32_t device;        // index of the first device of the context that it has code for
  bool has_device;
  uint8_t takes_all;                  // a bit by kind of code: its takes_all; guarded by the context's lock
  weir__code *code[WEIR__CODE_KINDS]; // NULL: none of this kind; guarded by the context's lock
  uint64_t code_change; // the number of the last change of its code, among all of the context's; guarded by the lock
  uint32_t queued;      // submissions of it that wait in the context's queue (engine/queue.h)
  alignas(64) _Atomic uint32_t
      group_ticks; // what one work-group took lately, in weir__ticks; UINT32_MAX: not known yet
  char name[WEIR__LABEL_BYTES];
  float
      group_ns[WEIR__MAX_DEVICES]; // what a work-group took lately, by device (issue/placement.h); guarded by the lock
};

// Describes a task for messages: "task 'blur' (tag 3)". NULL stands for the launch of a graph.
enum { WEIR__WHAT_BYTES = 96 };
void weir__describe_task(const weir_task *task, char what[WEIR__WHAT_BYTES]);

#endif // WEIR_DEVICE_KERNEL_H
