// SPDX-License-Identifier: Apache-2.0
//
// Runs a random program on Weir and compares all that can be seen of it with the reference: the bytes of buffers and
// of copies, the status of every task, callbacks, explicit order, counts.
#ifndef WEIR_TESTS_PROGRAM_RUN_H
#define WEIR_TESTS_PROGRAM_RUN_H

#include "program.h"

enum { PROGRAM_MESSAGE_BYTES = 512 };

typedef struct program_options {
  weir_context_options context;
  weir_context *shared; // not NULL: run in this context, which others use too
  bool simulated;       // give the kernels code for simulated devices
  bool cuda, vulkan;    // give them code for CUDA or Vulkan devices, for which the program's shape has `cards`
  bool opencl;          // or for OpenCL devices; not with `vulkan`
  bool enqueues;        // on the stub driver: one kernel's code for CUDA is an enqueue function
  bool pure;            // whose tasks may become part of graphs
  uint32_t refusal;     // and which is not captured (program_enqueue_set)
  bool scratch;         // which wants scratch memory
  bool opens;           // on the stub driver, Vulkan and OpenCL: some tasks are open ones; not where tasks fail
  bool calls;           // of the code for Vulkan and OpenCL, let the kernel PROGRAM_CALLED be an enqueue function
  bool resident;        // of the code for CUDA, let a resident kernel run the last two kernels
  bool refusals;        // calls may fail with OUT_OF_MEMORY: what is refused is dropped from the program
  uint64_t *repeated;   // not NULL: the tasks that were launched as parts of repeats are added here
  bool placed;          // the context places tasks that name no device
  uint64_t *evictions;  // not NULL: weir_statistics.evictions is added here
  bool abandon;         // release the context with tasks in flight and objects unreleased; not with `calls`
} program_options;

// True if everything was as expected; otherwise `message` says what was not.
bool program_run(test_program *program, const program_options *options, char message[PROGRAM_MESSAGE_BYTES]);

#endif // WEIR_TESTS_PROGRAM_RUN_H
