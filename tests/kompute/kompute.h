// SPDX-License-Identifier: Apache-2.0
//
// What the tests of docs/guide/kompute.md share: a context on the machine's first Vulkan device, and kernels for it.
#ifndef WEIR_TESTS_KOMPUTE_H
#define WEIR_TESTS_KOMPUTE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph_info.h"
#include "weir/vulkan.h"
#include "weir/weir.h"

enum { COUNT = 256, BYTES = COUNT * sizeof(uint32_t) };

// Set up for every test, and released after it: "vulkan" with the CPU beside it for host tasks, which hold others back.
extern weir_context *context;
int kompute_create(void **state);
int kompute_destroy(void **state);

#define KOMPUTE_TEST(name) cmocka_unit_test_setup_teardown(name, kompute_create, kompute_destroy)
#define CODE(name) (&(const weir_vulkan_code){name##_spv, sizeof name##_spv})

// Ends the program as skipped (77), with the reason, where there is no Vulkan device.
void kompute_skip_without_device(void);

void good(weir_status status);
// The status, and weir_last_error() with the text.
void refused(weir_status status, weir_status wanted, const char *text);

weir_kernel *make_kernel(const char *name, const weir_vulkan_code *code, const weir_vulkan_constant *constants,
                         uint32_t count);
// A kernel of scale.comp: numbers[i] = numbers[i] * factor + add, with `add` as push constants.
weir_kernel *make_scale(uint32_t factor);
// A buffer of COUNT numbers: first, first + 1, ...
weir_buffer *make_numbers(uint32_t first);
weir_graph *make_sequence(void);
weir_graph *make_sequence_with(const weir_graph_options *options);

// Records the dispatch of a kernel of make_scale on a whole buffer; the node.
uint32_t record_scale(weir_graph *sequence, weir_kernel *scale, weir_buffer *numbers, uint32_t add);

// What is in a buffer now, in order with all that was submitted.
void read_numbers(weir_buffer *buffer, uint32_t *numbers);
// The buffer's numbers are (first + i) * factor + add.
void expect_numbers(weir_buffer *buffer, uint32_t first, uint32_t factor, uint32_t add);

#endif // WEIR_TESTS_KOMPUTE_H
