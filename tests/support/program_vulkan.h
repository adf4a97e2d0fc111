// SPDX-License-Identifier: Apache-2.0
//
// The kernels of random programs on Vulkan devices (program.comp.in): one for each number of buffers, with or without a
// value, and for each choice of buffers that are only read.
#ifndef WEIR_TESTS_PROGRAM_VULKAN_H
#define WEIR_TESTS_PROGRAM_VULKAN_H

#include "program_body.h"

enum {
  PROGRAM_VULKAN_FORMS = 4 << PROGRAM_MAX_ACCESSES, // numbers of forms lie below
  PROGRAM_VULKAN_ALIGNMENT = 64,                    // of ranges: enough for the devices that there are
  PROGRAM_VULKAN_LARGEST = 5000, // buffer: Mesa's lavapipe ends all loops after 65,535 rounds together
};

// The form of a task's arguments: what its kernel must be made for.
uint32_t program_vulkan_form(const program_task *task);

// How many arguments it has besides the description.
uint32_t program_vulkan_args(uint32_t form);

// The shader for tasks of a form. The caller frees the words.
typedef struct program_vulkan_module {
  uint32_t *words;
  uint64_t bytes;
} program_vulkan_module;
program_vulkan_module program_vulkan_module_of(uint32_t form);

// Gives a kernel its code for tasks of a form.
weir_status program_vulkan_set(weir_kernel *kernel, uint32_t form);

#endif // WEIR_TESTS_PROGRAM_VULKAN_H
