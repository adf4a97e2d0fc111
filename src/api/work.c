// SPDX-License-Identifier: Apache-2.0
#include "device/work.h"

#include <stdio.h>

#include "base/tsan.h"
#include "weir/weir.h"

void weir_work_fail(const weir_work *work, const char *message) {
  if (work == NULL || work->internal == NULL) return;
  weir__failure *failure = work->internal;
  if (failure->failed) return;
  failure->failed = true;
  weir__tsan_ignore(); // another task of the worker may have left a text there
  snprintf(failure->message, sizeof failure->message, "%s", message == NULL ? "" : message);
  weir__tsan_heed();
}
