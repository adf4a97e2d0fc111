// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/error.h"

// Room for a whole text is allocated at a thread's first failure. Thread-locals must be few bytes: a library that a program
// loads while it runs, as extensions of Python do, has 512 bytes of those that are at a fixed distance (base/thread.h).
typedef struct failure {
  char *whole;     // TEXT_BYTES, or NULL
  uint64_t task;   // 0: none
  char brief[120]; // where there is no memory
} failure;

enum { TEXT_BYTES = 8192 };
static _Thread_local failure last;
static const char CUT[] = " ... (cut)";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void thread_ends(void *whole) {
  last.whole = NULL;
  free(whole);
}

static void make_key(void) {
  has_key = pthread_key_create(&key, thread_ends) == 0;
}

// The text of this thread, and its room.
static char *text_now(size_t *out_room) {
  *out_room = last.whole ? TEXT_BYTES : sizeof last.brief;
  return last.whole ? last.whole : last.brief;
}

// The same for a new text.
static char *text_for_writing(size_t *out_room) {
  if (!last.whole) {
    pthread_once(&once, make_key);
    char *whole = has_key ? malloc(TEXT_BYTES) : NULL;
    if (whole && pthread_setspecific(key, whole) == 0) {
      memcpy(whole, last.brief, sizeof last.brief);
      last.whole = whole;
    } else
      free(whole);
  }
  return text_now(out_room);
}

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
  X(WEIR_ERROR_CANCELLED, "the task was skipped: it was cancelled")                                                    \
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
  return last.whole ? last.whole : last.brief;
}

uint64_t weir_last_error_task(void) {
  return last.task;
}

static void set_text(const char *format, va_list arguments) {
  size_t room;
  char *text = text_for_writing(&room);
  int length = vsnprintf(text, room, format, arguments);
  if (length >= (int)room) memcpy(text + room - sizeof CUT, CUT, sizeof CUT);
}

weir_status weir__error(weir_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_text(format, arguments);
  va_end(arguments);
  last.task = 0;
  return status;
}

weir_status weir_set_last_error(weir_status status, const char *text) {
  return text == weir_last_error() ? status : weir__error(status, "%s", text);
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
  static_assert(sizeof kept->text == TEXT_BYTES, "the whole text is kept");
  const char *text = weir_last_error();
  memcpy(kept->text, text, strlen(text) + 1);
  kept->task = last.task;
}

void weir__error_put_back(const weir__kept_error *kept) {
  size_t room;
  char *text = text_now(&room); // no less than when it was kept
  snprintf(text, room, "%s", kept->text);
  last.task = kept->task;
}

weir_status weir__error_prefix(weir_status status, const char *prefix) {
  size_t room;
  char *text = text_for_writing(&room);
  size_t length = strlen(prefix), kept = strlen(text);
  if (length >= room) return status;
  if (kept > room - 1 - length) kept = room - 1 - length;
  memmove(text + length, text, kept);
  memcpy(text, prefix, length);
  text[length + kept] = '\0';
  return status;
}
