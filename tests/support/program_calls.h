// SPDX-License-Identifier: Apache-2.0
//
// Kernels of random programs whose code is an enqueue function (weir/enqueue.h): the same bodies as else, launched by
// commands of the caller's. What the caller keeps for each lane is used without a lock, as lanes allow.
#ifndef WEIR_TESTS_PROGRAM_CALLS_H
#define WEIR_TESTS_PROGRAM_CALLS_H

#include "program_body.h"
#include "weir/enqueue.h"

enum { PROGRAM_MOST_LANES = 256, PROGRAM_MOST_DEVICES = 16, PROGRAM_SCRATCH_BYTES = 300 };

// What the functions of a kernel have on one kind of device.
typedef struct program_call {
  struct program_call *next; // in the list that they are freed by
  void (*destroy)(struct program_call *call);
  uint32_t form;
} program_call;

// Give a kernel such code for tasks of a form. What it has is put into the list, and must stay until no task is in
// flight.
weir_status program_opencl_set_call(weir_kernel *kernel, uint32_t form, program_call **list);
weir_status program_vulkan_set_call(weir_kernel *kernel, uint32_t form, program_call **list);

void program_calls_destroy(program_call **list);

// Whether the task of a call is to fail.
bool program_call_fails(const weir_enqueue *call);

#endif // WEIR_TESTS_PROGRAM_CALLS_H
