// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[8192];
static const char CUT[] = " ... (cut)";

// Name, code and text of every status.
#define STATUS_LIST(X)                                                                                                 \
  X(WEIR_OK, "success")                                                                                                \
  X(WEIR_PENDING, "the task is not done yet")                                                                          \
  X(WEIR_TIMEOUT, "the time is over; the task goes on")                                                                \
  X(WEIR_ERROR_INVALID_ARGUMENT, "an argument that can never be right")                                                \
  X(WEIR_ERROR_OUT_OF_RANGE, "a byte range that leaves its buffer")                                                    \
  X(WEIR_ERROR_RELEASED, "an object that was released before")                                                         \
  X(WEIR_ERROR_NO_CODE, "the kernel has no code for the device")                                                       \
  X(WEIR_ERROR_OUT_OF_MEMORY, "no memory, or more than the context's limit")                                           \
  X(WEIR_ERROR_UNAVAILABLE, "a device or library that this machine lacks")                                             \
  X(WEIR_ERROR_TASK_FAILED, "the task itself reported failure")                                                        \
  X(WEIR_ERROR_UPSTREAM_FAILED, "the task was skipped: data that it reads comes from a task that failed")              \
  X(WEIR_ERROR_CANCELLED, "the task was skipped: its context was cancelled")                                           \
  X(WEIR_ERROR_DEVICE_LOST, "the device stopped working")                                                              \
  X(WEIR_ERROR_IO, "a file could not be read or written")

const char *weir_status_name(weir_status status) {
  switch (status) {
#define NAME(name, text)                                                                                               \
  case name:                                                                                                           \
    return #name;
    STATUS_LIST(NAME)
#undef NAME
  }
  return "unknown status";
}

const char *weir_status_text(weir_status status) {
  switch (status) {
#define TEXT(name, text)                                                                                               \
  case name:                                                                                                           \
    return text;
    STATUS_LIST(TEXT)
#undef TEXT
  }
  return "unknown status";
}

const char *weir_last_error(void) {
  return last_error;
}

weir_status weir__error(weir_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  if (length >= (int)sizeof last_error) memcpy(last_error + sizeof last_error - sizeof CUT, CUT, sizeof CUT);
  return status;
}

void weir__error_keep(weir__kept_error *kept) {
  static_assert(sizeof kept->text == sizeof last_error, "a text fits");
  memcpy(kept->text, last_error, strlen(last_error) + 1);
}

void weir__error_put_back(const weir__kept_error *kept) {
  memcpy(last_error, kept->text, strlen(kept->text) + 1);
}

weir_status weir__error_prefix(weir_status status, const char *prefix) {
  size_t length = strlen(prefix), kept = strlen(last_error);
  if (length >= sizeof last_error) return status;
  if (kept > sizeof last_error - 1 - length) kept = sizeof last_error - 1 - length;
  memmove(last_error + length, last_error, kept);
  memcpy(last_error, prefix, length);
  last_error[length + kept] = '\0';
  return status;
}
