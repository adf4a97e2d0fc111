// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions that tests of Vulkan share: commands of the caller's, and a pipeline of the caller's, on the
// VkDevice of the last context that was opened.
#ifndef WEIR_TESTS_VULKAN_COMMANDS_H
#define WEIR_TESTS_VULKAN_COMMANDS_H

#include "device/vulkan/driver.h"
#include "weir/enqueue.h"
#include "weir/graph.h"

extern weir_context *commands_context;
extern weir_device *commands_device;
extern weir__vulkan_calls commands_calls; // of its VkDevice

// A context of "vulkan" with the caller's objects; and its end, when all tasks are done.
void commands_open(const weir_context_options *options);
void commands_close(void);
VkDevice commands_vk_device(void);

void commands_good(weir_status status);
void commands_expect(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t wanted);

// A kernel whose code for Vulkan is this function.
weir_kernel *commands_kernel(const char *label, const weir_enqueue_code *code);

// Records in a call's command buffer.
void commands_fill(const weir_enqueue *call, const weir_enqueue_arg *to, uint32_t pattern);
void commands_copy(const weir_enqueue *call, const weir_enqueue_arg *to, const weir_enqueue_arg *from);
void commands_barrier(const weir_enqueue *call);
// numbers = 2 * numbers + add, by a pipeline, a descriptor set and push constants of the caller's.
void commands_scale(const weir_enqueue *call, const weir_enqueue_arg *numbers, uint32_t add);

// Functions: fills argument 0 with argument 1, a value of 4 bytes; copies argument 1 to argument 0; scales argument 0
// with argument 1, a value of 4 bytes.
weir_status commands_fill_task(const weir_enqueue *call);
weir_status commands_copy_task(const weir_enqueue *call);
weir_status commands_scale_task(const weir_enqueue *call);

#endif // WEIR_TESTS_VULKAN_COMMANDS_H
