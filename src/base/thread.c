// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <stddef.h>

_Thread_local weir__thread weir__this_thread;

const char *weir__thread_place(void) {
  return weir__this_thread.open != NULL ? "called while this thread has an open task"
                                        : "called from a task or callback";
}
