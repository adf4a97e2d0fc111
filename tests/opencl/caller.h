// SPDX-License-Identifier: Apache-2.0
//
// A caller of OpenCL that shares its objects with Weir: what tests of that begin with. Functions of OpenCL are those of the loader
// that counts.
#ifndef WEIR_TESTS_OPENCL_CALLER_H
#define WEIR_TESTS_OPENCL_CALLER_H

#include "device/opencl/symbols.h"
#include "fault_loader.h"
#include "leaks.h"
#include "weir/opencl.h"

enum { WORDS = 1024, BYTES = WORDS * 4, STEP = 128 };

#define CALLER_DECLARE(result, name, need, parameters) result name parameters;
WEIR__OPENCL_SYMBOLS(CALLER_DECLARE)
#undef CALLER_DECLARE

// The caller's own.
typedef struct caller {
  cl_platform_id platform;
  cl_device_id device;
  cl_context context, other;
  cl_command_queue queues[2], own; // for Weir; for the caller alone
  cl_program program;
  cl_kernel kernel;
} caller;

extern caller mine;

// Of the context that shares them: its devices are the caller's, by this name, and the CPU.
extern weir_context *context;
extern weir_device *device;
extern weir_kernel *kernel; // adds to words
extern char name[32];

cl_command_queue make_queue(cl_context in, cl_ulong properties);
cl_mem make_memory(cl_context in, cl_bitfield flags, size_t bytes);

// Fixtures of a group: what the caller has; nothing is left of it at the end.
int caller_open(void **state);
int caller_close(void **state);

// With the two queues for Weir.
weir_opencl_handles handles_of_mine(void);

// Registers the caller's device and makes a context of it and `more` (",cpu:1"); fixtures of a test with the CPU.
void caller_open_weir(const char *more, uint32_t flags);
int caller_open_context(void **state);
int caller_close_context(void **state);

void caller_expect_refusal(weir_status found, weir_status wanted, const char *text);

// A task of Weir's, a kernel of the caller's in its own queue, and a host task that adds 100 to all words.
weir_event *add_words(weir_buffer *buffer, uint64_t offset, uint32_t words, uint32_t value);
void add_by_caller(cl_mem memory, uint32_t value, cl_event after, cl_event *out_event);
void add_on_host(const weir_work *work);

// By commands of the caller's, which it waits for.
void expect_words(cl_mem memory, uint32_t wanted);
cl_mem make_zeros(void);

#endif // WEIR_TESTS_OPENCL_CALLER_H
