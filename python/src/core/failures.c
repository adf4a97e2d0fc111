// SPDX-License-Identifier: Apache-2.0
//
// What a context remembers of tasks that failed. The library tells the first failure alone, by its number, when all
// tasks are done; finish raises that task's exception, unless an event told it before. So the first exceptions since
// the last report are kept however many follow: the library's first is among them, since as many tasks as there are
// workers may be between the end of their function and the end of the task. Of the others the last ones are kept, as
// causes of tasks that were skipped.
#include <stdlib.h>
#include <string.h>

#include "core.h"

enum { MOST_FIRST = 512, MOST_LAST = 512, MOST_SEEN = 1 << 20 };

bool failures_init(context *ctx) {
  ctx->first = PyDict_New();
  ctx->failures = PyDict_New();
  ctx->unseen = PyDict_New();
  return ctx->first != NULL && ctx->failures != NULL && ctx->unseen != NULL;
}

void failures_free(context *ctx) {
  Py_CLEAR(ctx->first);
  Py_CLEAR(ctx->failures);
  Py_CLEAR(ctx->unseen);
  free(ctx->seen);
  ctx->seen = NULL;
}

// Keeps one of the last exceptions in the place of the oldest of them.
static void keep_last(context *ctx, PyObject *key, PyObject *exception) {
  if (PyDict_SetItem(ctx->failures, key, exception) != 0) PyErr_Clear();
  if (PyDict_Size(ctx->failures) <= MOST_LAST) return;
  Py_ssize_t place = 0;
  PyObject *oldest, *value;
  if (!PyDict_Next(ctx->failures, &place, &oldest, &value)) return;
  Py_INCREF(oldest);
  if (PyDict_DelItem(ctx->failures, oldest) != 0) PyErr_Clear();
  if (PyDict_DelItem(ctx->unseen, oldest) != 0) PyErr_Clear();
  Py_DECREF(oldest);
}

void context_keep_failure(context *ctx, uint64_t task, PyObject *exception) {
  PyObject *key = PyLong_FromUnsignedLongLong(task);
  if (key == NULL || PyDict_SetItem(ctx->unseen, key, Py_None) != 0)
    PyErr_Clear();
  else if (PyDict_Size(ctx->first) >= MOST_FIRST)
    keep_last(ctx, key, exception);
  else if (PyDict_SetItem(ctx->first, key, exception) != 0)
    PyErr_Clear();
  Py_XDECREF(key);
}

static PyObject *find(context *ctx, PyObject *key) {
  PyObject *found = PyDict_GetItemWithError(ctx->first, key);
  return found != NULL ? found : PyDict_GetItemWithError(ctx->failures, key);
}

PyObject *context_failure(context *ctx, uint64_t task) {
  if (task == 0) return NULL;
  PyObject *key = PyLong_FromUnsignedLongLong(task);
  PyObject *found = key != NULL ? find(ctx, key) : NULL;
  Py_XDECREF(key);
  if (found == NULL) PyErr_Clear();
  return found;
}

// Makes room for one more number. After a million of them without a report, half are forgotten.
static bool seen_reserve(context *ctx) {
  if (ctx->seen_count < ctx->seen_room) return true;
  if (ctx->seen_room == MOST_SEEN) {
    ctx->seen_count = MOST_SEEN / 2;
    memmove(ctx->seen, ctx->seen + MOST_SEEN / 2, ctx->seen_count * sizeof *ctx->seen);
    return true;
  }
  size_t room = ctx->seen_room == 0 ? 64 : 2 * ctx->seen_room;
  uint64_t *more = realloc(ctx->seen, room * sizeof *more);
  if (more == NULL) return false;
  ctx->seen = more;
  ctx->seen_room = room;
  return true;
}

void context_failure_seen(context *ctx, uint64_t task) {
  if (task == 0) return;
  bool again = ctx->seen_count > 0 && ctx->seen[ctx->seen_count - 1] == task;
  if (!again && seen_reserve(ctx)) ctx->seen[ctx->seen_count++] = task;
  PyObject *key = PyLong_FromUnsignedLongLong(task);
  if (key == NULL || PyDict_DelItem(ctx->unseen, key) != 0) PyErr_Clear();
  Py_XDECREF(key);
}

static bool is_seen(const context *ctx, uint64_t task) {
  for (size_t i = 0; i < ctx->seen_count; i++)
    if (ctx->seen[i] == task) return true;
  return false;
}

// The first exception that nobody was told of; borrowed.
static PyObject *first_unseen(context *ctx) {
  PyObject *key, *value;
  Py_ssize_t place = 0;
  PyObject *found = PyDict_Next(ctx->unseen, &place, &key, &value) ? find(ctx, key) : NULL;
  if (found == NULL) PyErr_Clear();
  return found;
}

PyObject *failures_finish(context *ctx, uint64_t task, bool *out_told) {
  *out_told = task == 0 || is_seen(ctx, task);
  PyObject *found = *out_told ? first_unseen(ctx) : context_failure(ctx, task);
  Py_XINCREF(found);
  PyDict_Clear(ctx->unseen);
  ctx->seen_count = 0;
  PyObject *first = ctx->first, *none = PyDict_New(), *key, *value;
  if (none == NULL) PyErr_Clear();
  if (none == NULL || PyDict_Size(first) == 0) {
    Py_XDECREF(none);
    return found;
  }
  ctx->first = none; // the end of an exception may run anything
  Py_ssize_t place = 0;
  while (PyDict_Next(first, &place, &key, &value)) keep_last(ctx, key, value);
  Py_DECREF(first);
  return found;
}
