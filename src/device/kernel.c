// SPDX-License-Identifier: Apache-2.0
#include "device/kernel.h"

#include <stdio.h>

void weir__describe_task(const weir_task *task, char what[WEIR__WHAT_BYTES]) {
  if (task == NULL) {
    snprintf(what, WEIR__WHAT_BYTES, "graph launch");
    return;
  }
  const char *name = task->label;
  if (name == NULL) name = task->kernel != NULL ? task->kernel->name : "host task";
  snprintf(what, WEIR__WHAT_BYTES, "task '%.47s' (tag %llu)", name, (unsigned long long)task->tag);
}
