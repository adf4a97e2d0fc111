// SPDX-License-Identifier: Apache-2.0
#include "program_opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/opencl.h"

// program.cl as text (embed.cmake).
extern const char program_opencl_text[];

enum { NO_VALUE = 7, PLACES = PROGRAM_OPENCL_PLACES, KERNEL_BYTES = 1024 };

uint32_t program_opencl_form(const program_task *task) {
  bool value = task->value_bytes > 0;
  return PLACES * (task->access_count + value) + (value ? task->value_index : NO_VALUE);
}

uint32_t program_opencl_args(uint32_t form) {
  return form / PLACES;
}

// Appends the kernel of a form.
static void add_kernel(char *text, uint32_t form) {
  size_t used = (size_t)snprintf(text, KERNEL_BYTES, "__kernel void body(const body_description d");
  uint32_t count = program_opencl_args(form), value = form % PLACES;
  for (uint32_t i = 0; i < count; i++)
    used +=
        (size_t)snprintf(text + used, KERNEL_BYTES - used, ", %sa%u", i == value ? "ulong " : "__global uchar *", i);
  used += (size_t)snprintf(text + used, KERNEL_BYTES - used, ") {\n  __global uchar *args[8] = {0};\n");
  for (uint32_t i = 0; i < count; i++)
    used += i == value ? 0 : (size_t)snprintf(text + used, KERNEL_BYTES - used, "  args[%u] = a%u;\n", i, i);
  used += (size_t)snprintf(text + used, KERNEL_BYTES - used, "  body_description copy = d;\n");
  if (value < count)
    snprintf(text + used, KERNEL_BYTES - used, "  body_group(&copy, args, a%u);\n}\n", value);
  else
    snprintf(text + used, KERNEL_BYTES - used, "  body_group(&copy, args, 0);\n}\n");
}

char *program_opencl_source(uint32_t form) {
  size_t length = strlen(program_opencl_text);
  char *text = program_memory(length + KERNEL_BYTES);
  memcpy(text, program_opencl_text, length);
  add_kernel(text + length, form);
  return text;
}

weir_status program_opencl_set(weir_kernel *kernel, uint32_t form) {
  char *text = program_opencl_source(form);
  const weir_opencl_code code = {.source = text};
  const weir_opencl_launch launch = {.entry = "body"};
  weir_status status = weir_kernel_set_opencl(kernel, &code, &launch);
  free(text);
  return status;
}
