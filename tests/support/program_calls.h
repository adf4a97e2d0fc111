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
  bool opens; // it is not a kernel's, but for open tasks
} program_call;

// Give a kernel such code for tasks of a form. What it has is put into the list, and must stay until no task is in
// flight.
weir_status program_opencl_set_call(weir_kernel *kernel, uint32_t form, program_call **list);
weir_status program_vulkan_set_call(weir_kernel *kernel, uint32_t form, program_call **list);

// Put the work of an open task of a form, with these work-groups, on its queue, or report that they cannot. What they have
// is put into the list.
weir_status program_opencl_open(const weir_enqueue *call, const uint32_t groups[3], uint32_t form, program_call **list);
weir_status program_vulkan_open(const weir_enqueue *call, const uint32_t groups[3], uint32_t form, program_call **list);

// What an open task's call would be for a function; `own` is its data.
weir_enqueue program_call_of_open(const weir_enqueue *call, const uint32_t groups[3], program_call *own);

// That of the list which is for open tasks of this form and has this way to be freed; NULL: there is none.
program_call *program_call_find(program_call *list, uint32_t form, void (*destroy)(program_call *call));

void program_calls_destroy(program_call **list);

// Whether the task of a call is to fail.
bool program_call_fails(const weir_enqueue *call);

#endif // WEIR_TESTS_PROGRAM_CALLS_H
