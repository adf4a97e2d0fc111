// SPDX-License-Identifier: Apache-2.0
#include "program_calls.h"

#include <stddef.h>

#include "program_runner.h"

void program_calls_destroy(program_call **list) {
  while (*list != NULL) {
    program_call *first = *list;
    *list = first->next;
    first->destroy(first);
  }
}

bool program_call_fails(const weir_enqueue *call) {
  return runner_description(call->args[0].value).fail_group != PROGRAM_NO_FAILURE;
}
