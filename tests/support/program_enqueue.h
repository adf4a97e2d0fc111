// SPDX-License-Identifier: Apache-2.0
//
// Tasks of random programs whose work is put on a queue by functions of the caller's, or between the beginning and the end of an
// open task. On the stub driver of tests/cuda/stub: the same functions of this process, launched by hand.
#ifndef WEIR_TESTS_PROGRAM_ENQUEUE_H
#define WEIR_TESTS_PROGRAM_ENQUEUE_H

#include "weir/enqueue.h"

// Gives a kernel an enqueue function as its code for CUDA. `pure`: its tasks may become part of graphs that Weir finds. `refusal`: it
// is not captured: 1: its code says so; 2: it fails in a capture; 0: it is.
weir_status program_enqueue_set(weir_kernel *kernel, bool scratch, bool pure, uint32_t refusal);

// Puts the work of a task, with these work-groups and this description, on the queue of an open task.
void program_enqueue_open(const weir_enqueue *call, const uint32_t groups[3]);

// After the context was released: what the functions have of the driver's is given back.
void program_enqueue_end(void);

#endif // WEIR_TESTS_PROGRAM_ENQUEUE_H
