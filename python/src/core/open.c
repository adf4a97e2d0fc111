// SPDX-License-Identifier: Apache-2.0
//
// Open tasks: the calling thread puts work on a device's queue between the beginning and the end (weir/enqueue.h).
#include "core.h"
#include "weir/enqueue.h"

static PyObject *addresses(const weir_enqueue *call) {
  PyObject *tuple = PyTuple_New((Py_ssize_t)call->arg_count);
  for (uint32_t i = 0; tuple != NULL && i < call->arg_count; i++) {
    PyObject *one = PyLong_FromUnsignedLongLong(call->args[i].pointer);
    if (one == NULL)
      Py_CLEAR(tuple);
    else
      PyTuple_SetItem(tuple, (Py_ssize_t)i, one);
  }
  return tuple;
}

// open_begin(context, (None, *accesses), keywords): (handle, queue, native context, lane, lane count, task, addresses)
static PyObject *open_begin(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  PyObject *call, *keywords, *result = NULL;
  if (!PyArg_ParseTuple(arguments, "O!O!O!", context_type, &ctx, &PyTuple_Type, &call, &PyDict_Type, &keywords))
    return NULL;
  request one;
  if (!request_fill(&one, ctx, call, keywords, true)) goto end;
  weir_open_task *open = NULL;
  const weir_enqueue *enqueue = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_task_begin(open_, &one.task, &open, &enqueue);
  END_WEIR
  if (status != WEIR_OK) {
    raise_status(status);
    goto end;
  }
  PyObject *handle = object_make(object_type, ctx, open, OPEN_TASK), *pointers = addresses(enqueue);
  if (handle != NULL && pointers != NULL)
    result = Py_BuildValue("(OKKIIKO)", handle, (unsigned long long)(uintptr_t)enqueue->queue,
                           (unsigned long long)(uintptr_t)enqueue->native_context, enqueue->lane, enqueue->lane_count,
                           (unsigned long long)enqueue->task, pointers);
  if (result == NULL) weir_task_abandon(open, WEIR_ERROR_OUT_OF_MEMORY, NULL);
  Py_XDECREF(handle);
  Py_XDECREF(pointers);
end:
  request_free(&one);
  return result;
}

// open_end(handle, (accesses of buffers that were made meanwhile...)): the event
static PyObject *open_end(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *open_object, *made;
  weir_arg args[64];
  weir_box box;
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "OO!", &open_object, &PyTuple_Type, &made)) return NULL;
  weir_open_task *open = object_handle(open_object, OPEN_TASK, &ctx);
  if (open == NULL) return NULL;
  Py_ssize_t count = PyTuple_Size(made);
  if ((size_t)count > sizeof args / sizeof *args) {
    PyErr_Format(PyExc_ValueError, "%zd buffers were made in a task; there can be 64", count);
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; i++)
    if (!arg_from_access(ctx, (array_access *)PyTuple_GetItem(made, i), i, &args[i], &box)) return NULL;
  weir_event *handle = NULL;
  weir_status status = weir_task_end(open, args, (uint32_t)count, &handle);
  if (status != WEIR_OK) return raise_status(status);
  ((object *)open_object)->handle = NULL;
  return event_make(ctx, handle, NULL, NULL);
}

// open_abandon(handle, task, exception): the task failed.
static PyObject *open_abandon(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *open_object, *exception;
  unsigned long long task;
  context *ctx;
  char text[120];
  if (!PyArg_ParseTuple(arguments, "OKO", &open_object, &task, &exception)) return NULL;
  weir_open_task *open = object_handle(open_object, OPEN_TASK, &ctx);
  if (open == NULL) return NULL;
  describe_exception(exception, text, sizeof text);
  weir_status status = weir_task_abandon(open, WEIR_ERROR_TASK_FAILED, text);
  if (status != WEIR_OK) return raise_status(status);
  ((object *)open_object)->handle = NULL;
  context_keep_failure(ctx, task, exception);
  context_failure_seen(ctx, task); // the block raises it
  Py_RETURN_NONE;
}

PyMethodDef open_methods[] = {{"open_begin", open_begin, METH_VARARGS, NULL},
                              {"open_end", open_end, METH_VARARGS, NULL},
                              {"open_abandon", open_abandon, METH_VARARGS, NULL},
                              {NULL, NULL, 0, NULL}};
