// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions that tests of OpenCL share: commands of the caller's on what a call names, whatever kind of memory
// that is.
#ifndef WEIR_TESTS_OPENCL_ENQUEUED_H
#define WEIR_TESTS_OPENCL_ENQUEUED_H

#include "caller.h"
#include "weir/enqueue.h"
#include "weir/graph.h"

// Commands on a call's queue. They fail the task where they fail.
weir_status enqueued_fill(const weir_enqueue *call, const weir_enqueue_arg *to, uint32_t pattern);
weir_status enqueued_copy(const weir_enqueue *call, const weir_enqueue_arg *to, const weir_enqueue_arg *from);

// Functions: fills argument 0 with argument 1, a value of 4 bytes; copies argument 1 to argument 0.
weir_status enqueued_fill_task(const weir_enqueue *call);
weir_status enqueued_copy_task(const weir_enqueue *call);

// A kernel of the context whose code for OpenCL is this function.
weir_kernel *enqueued_kernel(const char *label, const weir_enqueue_code *code);

// Submits what the two functions do.
void enqueued_submit_fill(weir_kernel *fill, weir_buffer *to, uint64_t offset, uint64_t bytes, uint32_t pattern,
                          weir_event **out_event);
void enqueued_submit_copy(weir_kernel *copy, weir_buffer *to, weir_buffer *from, uint64_t offset, uint64_t bytes,
                          weir_event **out_event);

// A context of these devices, in `context`; `memory`: of WEIR_OPENCL_MEMORY, or NULL. And its end.
void enqueued_open(const char *devices, const char *memory, const weir_context_options *options);
void enqueued_close(void);

void enqueued_expect(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t wanted);

#endif // WEIR_TESTS_OPENCL_ENQUEUED_H
