// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weir/error.h"

typedef struct failure {
  char text[8192];
  uint64_t task; // 0: none
} failure;

static _Thread_local failure last;
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
  return last.text;
}

uint64_t weir_last_error_task(void) {
  return last.task;
}

static void set_text(const char *format, va_list arguments) {
  int length = vsnprintf(last.text, sizeof last.text, format, arguments);
  if (length >= (int)sizeof last.text) memcpy(last.text + sizeof last.text - sizeof CUT, CUT, sizeof CUT);
}

weir_status weir__error(weir_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_text(format, arguments);
  va_end(arguments);
  last.task = 0;
  return status;
}

weir_status weir__error_of_task(weir_status status, uint64_t task, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_text(format, arguments);
  va_end(arguments);
  last.task = task;
  return status;
}

void weir__error_keep(weir__kept_error *kept) {
  static_assert(sizeof kept->text == sizeof last.text, "the whole text is kept");
  memcpy(kept->text, last.text, strlen(last.text) + 1);
  kept->task = last.task;
}

void weir__error_put_back(const weir__kept_error *kept) {
  memcpy(last.text, kept->text, strlen(kept->text) + 1);
  last.task = kept->task;
}

weir_status weir__error_prefix(weir_status status, const char *prefix) {
  char *text = last.text;
  size_t length = strlen(prefix), kept = strlen(text);
  if (length >= sizeof last.text) return status;
  if (kept > sizeof last.text - 1 - length) kept = sizeof last.text - 1 - length;
  memmove(text + length, text, kept);
  memcpy(text, prefix, length);
  text[length + kept] = '\0';
  return status;
}
