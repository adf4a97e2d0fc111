// SPDX-License-Identifier: Apache-2.0
#include "sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

const weir__cluster_settings free_calls = {
    .ranks_per_node = 1, .workers = 1, .oversubscribe = 1, .latency_us = 2, .gbs = 1, .local_latency_us = 1};

void write_after(weir__cluster_program *program, double us, uint32_t writes, const int *reads) {
  weir__plan_access accesses[ACCESSES];
  uint32_t count = 0;
  for (; *reads >= 0; reads++)
    accesses[count++] = (weir__plan_access){WEIR_READ, (uint32_t)*reads, 0, program->buffer_bytes[*reads]};
  accesses[count++] = (weir__plan_access){WEIR_WRITE, writes, 0, program->buffer_bytes[writes]};
  weir__cluster_program_task(program, accesses, count, 1000 * us, false);
}

weir__cluster_result finish(weir__cluster_program *program, const weir__cluster_settings *settings, uint32_t window) {
  weir__cluster_result result;
  assert_true(weir__cluster_program_end(program));
  assert_int_equal(weir__cluster_run(program, settings, window, &result), WEIR_OK);
  weir__cluster_program_free(program);
  return result;
}

void check_us(double found, double expected) {
  if (found != expected) print_error("%.6f us in place of %.6f us\n", found, expected);
  assert_true(found == expected);
}
