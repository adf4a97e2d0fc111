// SPDX-License-Identifier: Apache-2.0
//
// What the tests run on every device: a launch of each kernel in forms.c, with the result that plain C gives.
#ifndef WRITE_ONCE_CASES_H
#define WRITE_ONCE_CASES_H

#include <weir/kernel.h>

enum { CASE_COUNT = 9, CASE_MAX_ARGS = 12 };

typedef struct case_arg {
  bool is_buffer;
  size_t bytes;
  void *start;    // contents before the launch, or the value
  void *expected; // contents after it
} case_arg;

typedef struct launch_case {
  const weir_kernel_code *code;
  uint32_t groups[3];
  uint32_t arg_count;
  case_arg args[CASE_MAX_ARGS];
} launch_case;

// Makes case `index`, 0 .. CASE_COUNT - 1; ends the process when there is no memory.
launch_case case_create(int index);
void case_release(launch_case *self);

// Whether the contents of buffer `index` are as expected, to the bit. If not, prints the first byte that is not.
bool case_right(const launch_case *self, uint32_t index, const void *contents, const char *device);

#endif // WRITE_ONCE_CASES_H
