// SPDX-License-Identifier: Apache-2.0
//
// Error texts: one per thread, set by the call that fails.
#ifndef WEIR_BASE_ERROR_H
#define WEIR_BASE_ERROR_H

#include "weir/weir.h"

// Sets this thread's weir_last_error() and returns `status`. A text of more than 8191 bytes (a compiler's log) is cut, and
// says so.
__attribute__((format(printf, 2, 3))) weir_status weir__error(weir_status status, const char *format, ...);

// weir__error for a task that failed: `task` is its number, which weir_last_error_task() returns.
__attribute__((format(printf, 3, 4))) weir_status weir__error_of_task(weir_status status, uint64_t task,
                                                                      const char *format, ...);

// The text of this thread's last failed call, kept while the thread does work of others that may fail.
typedef struct weir__kept_error {
  char text[8192];
  uint64_t task;
} weir__kept_error;
void weir__error_keep(weir__kept_error *kept);
void weir__error_put_back(const weir__kept_error *kept);

// Puts a text in front of the last error, and returns `status`.
weir_status weir__error_prefix(weir_status status, const char *prefix);

#endif // WEIR_BASE_ERROR_H
