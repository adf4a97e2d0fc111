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

weir_enqueue program_call_of_open(const weir_enqueue *call, const uint32_t groups[3], program_call *own) {
  weir_enqueue made = *call;
  made.data = own;
  for (int i = 0; i < 3; i++) made.groups[i] = groups[i] == 0 ? 1 : groups[i];
  return made;
}

program_call *program_call_find(program_call *list, uint32_t form, void (*destroy)(program_call *call)) {
  while (list != NULL && (!list->opens || list->form != form || list->destroy != destroy)) list = list->next;
  return list;
}

bool program_call_fails(const weir_enqueue *call) {
  return runner_description(call->args[0].value).fail_group != PROGRAM_NO_FAILURE;
}
