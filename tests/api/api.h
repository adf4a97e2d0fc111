// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the tests of the public interface. Each ends the test if what it makes cannot be made.
#ifndef WEIR_TESTS_API_H
#define WEIR_TESTS_API_H

// cmocka.h needs these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate.h"
#include "weir/weir.h"

weir_context *api_context(const char *devices, uint32_t window, uint32_t flags);
weir_buffer *api_buffer(weir_context *context, uint64_t bytes, const char *label);
weir_kernel *api_kernel(weir_context *context, const char *name, weir_function function);

// A buffer of one uint64_t that holds `value`.
weir_buffer *api_number(weir_context *context, uint64_t value);

// Submits a task with these arguments: a kernel, or a host function.
weir_event *api_submit(weir_context *context, weir_kernel *kernel, const weir_arg *args, uint32_t arg_count);
weir_event *api_submit_host(weir_context *context, weir_function host, void *user, const weir_arg *args,
                            uint32_t arg_count);

// Copies a range of a buffer out and waits for it; returns how the copy went.
weir_status api_read(weir_buffer *buffer, uint64_t offset, uint64_t bytes, void *destination);
uint64_t api_read_number(weir_buffer *buffer);

// Waits for an event and releases it.
weir_status api_await(weir_event *event);

// The call gave `wanted`, and, after a failure, weir_last_error() contains all of the texts (NULL ends the list).
void api_expect(weir_status found, weir_status wanted, ...);

// Task functions: adds argument 0 (a number) to argument 1 (a number); fails with "on purpose"; does nothing; sets the
// atomic_bool that is its `user`.
void api_add(const weir_work *work);
void api_fail(const weir_work *work);
void api_nothing(const weir_work *work);
void api_set_flag(const weir_work *work);

#endif // WEIR_TESTS_API_H
