// SPDX-License-Identifier: Apache-2.0
#include <stddef.h>
#include <stdlib.h>

#include "core.h"
#include "structmember.h"
#include "weir/error.h"

PyObject *event_class;

PyObject *event_make(context *ctx, weir_event *handle, job *work, PyObject *keep) {
  event *one = (event *)PyType_GenericAlloc((PyTypeObject *)event_class, 0);
  if (one == NULL) {
    weir_event_release(handle);
    if (work != NULL) job_drop(work);
    return NULL;
  }
  Py_INCREF(ctx);
  one->ctx = ctx;
  one->handle = handle;
  one->work = work;
  Py_XINCREF(keep);
  one->keep = keep;
  return (PyObject *)one;
}

static void event_dealloc(PyObject *self) {
  event *one = (event *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (one->weak != NULL) PyObject_ClearWeakRefs(self);
  if (one->handle != NULL && context_alive(one->ctx)) weir_event_release(one->handle);
  if (one->work != NULL) {
    job_forget(one->work);
    job_drop(one->work);
  }
  Py_CLEAR(one->keep);
  Py_CLEAR(one->ctx);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

// Objects that a function holds until it has run are the task's. The collector does not see them here.
static int event_traverse(PyObject *self, visitproc visit, void *arg) {
  event *one = (event *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(one->ctx);
  if (one->work != NULL) {
    Py_VISIT(job_result(one->work));
    Py_VISIT(job_exception(one->work));
  }
  return 0;
}

static int event_clear(PyObject *self) {
  event *one = (event *)self;
  if (one->work != NULL) job_forget(one->work);
  return 0;
}

static bool event_usable(event *one) {
  if (one->ctx == NULL || one->handle == NULL) {
    PyErr_SetString(PyExc_TypeError, "events come from Context.submit and the like");
    return false;
  }
  return context_usable(one->ctx);
}

// ---------------------------------------------------------------------------------------------------------------
// Waiting

static weir_status wait_for(void *what, uint64_t ns) {
  return weir_event_wait(what, ns);
}

// _wait(seconds or None): the status of the task, or TIMEOUT; raises for a wait that is refused.
static PyObject *event_wait(PyObject *self, PyObject *seconds) {
  event *one = (event *)self;
  uint64_t timeout_ns;
  if (!timeout_parse(seconds, &timeout_ns) || !event_usable(one)) return NULL; // the first runs code of Python
  weir_status now = weir_event_poll(one->handle);
  if (now != WEIR_PENDING) return PyLong_FromLong(now);
  int status = wait_in_slices(one->ctx, wait_for, one->handle, timeout_ns);
  if (status < 0) return NULL;
  if (status == WEIR_ERROR_INVALID_ARGUMENT && weir_event_poll(one->handle) == WEIR_PENDING)
    return raise_status(WEIR_ERROR_INVALID_ARGUMENT);
  return PyLong_FromLong(status);
}

// _poll(): the status now.
static PyObject *event_poll(PyObject *self, PyObject *unused) {
  (void)unused;
  event *one = (event *)self;
  if (!event_usable(one)) return NULL;
  return PyLong_FromLong(weir_event_poll(one->handle));
}

// _exception(status): the exception of a task that failed.
static PyObject *event_exception(PyObject *self, PyObject *status_object) {
  event *one = (event *)self;
  long status = PyLong_AsLong(status_object);
  if ((status == -1 && PyErr_Occurred()) || !event_usable(one)) return NULL;
  PyObject *found = NULL;
  weir_event_wait(one->handle, 0);
  uint64_t task = weir_last_error_task();
  context_failure_seen(one->ctx, task);
  if (status == WEIR_ERROR_TASK_FAILED) {
    found = one->work != NULL ? job_exception(one->work) : NULL;
    if (found == NULL) found = context_failure(one->ctx, task);
  }
  if (found == NULL) {
    raise_text((weir_status)status, "%s", weir_event_message(one->handle));
    return take_raised();
  }
  Py_INCREF(found);
  return found;
}

static PyObject *event_result(PyObject *self, PyObject *unused) {
  (void)unused;
  event *one = (event *)self;
  PyObject *result = one->work != NULL ? job_result(one->work) : NULL;
  if (result == NULL) result = one->keep != NULL ? one->keep : Py_None;
  Py_INCREF(result);
  return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Callbacks

static void drop_kept(void *user, weir_status status) {
  (void)status;
  if (interpreter_ending) return;
  PyGILState_STATE state = python_enter();
  Py_DECREF((PyObject *)user);
  python_leave(state);
}

bool event_keep_until_done(context *ctx, weir_event *handle, PyObject *what) {
  weir_status status;
  Py_INCREF(what);
  BEGIN_WEIR(ctx)
  status = weir_event_on_done(handle, drop_kept, what);
  END_WEIR
  if (status == WEIR_OK) return true;
  Py_DECREF(what);
  raise_status(status);
  return false;
}

static _Thread_local unsigned callbacks;

bool in_callback(void) {
  return callbacks > 0;
}

static void call_back(void *user, weir_status status) {
  (void)status;
  if (interpreter_ending) return;
  PyGILState_STATE state = python_enter();
  PyObject *call = user;
  PyObject *function = PyTuple_GetItem(call, 0), *argument = PyTuple_GetItem(call, 1);
  callbacks++;
  PyObject *done = PyObject_CallFunctionObjArgs(function, argument, NULL);
  callbacks--;
  if (done == NULL) PyErr_WriteUnraisable(function);
  Py_XDECREF(done);
  Py_DECREF(call);
  python_leave(state);
}

// _on_done(function, argument): calls function(argument) when the task is done.
static PyObject *event_on_done(PyObject *self, PyObject *arguments) {
  event *one = (event *)self;
  PyObject *function, *argument;
  if (!PyArg_ParseTuple(arguments, "OO", &function, &argument) || !event_usable(one)) return NULL;
  PyObject *call = PyTuple_Pack(2, function, argument);
  if (call == NULL) return NULL;
  weir_status status;
  BEGIN_WEIR(one->ctx)
  status = weir_event_on_done(one->handle, call_back, call);
  END_WEIR
  if (status == WEIR_OK) Py_RETURN_NONE;
  Py_DECREF(call);
  return raise_status(status);
}

bool events_parse(PyObject *after, weir_event **few, uint32_t room, weir_event ***out_events, uint32_t *out_count,
                  PyObject **out_keep) {
  *out_events = few;
  *out_count = 0;
  *out_keep = NULL;
  if (after == NULL || after == Py_None) return true;
  if (PyObject_TypeCheck(after, event_type)) {
    if (!event_usable((event *)after)) return false;
    few[0] = ((event *)after)->handle;
    *out_count = 1;
    return true;
  }
  PyObject *all = *out_keep = PySequence_Tuple(after);
  if (all == NULL) return false;
  Py_ssize_t count = PyTuple_Size(all);
  if ((size_t)count > room) {
    *out_events = malloc((size_t)count * sizeof **out_events);
    if (*out_events == NULL) {
      *out_events = few;
      PyErr_NoMemory();
      return false;
    }
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *one = PyTuple_GetItem(all, i);
    if (!PyObject_TypeCheck(one, event_type)) {
      PyErr_SetString(PyExc_TypeError, "after is an Event, or a sequence of Events");
      return false;
    }
    if (!event_usable((event *)one)) return false;
    (*out_events)[i] = ((event *)one)->handle;
  }
  *out_count = (uint32_t)count;
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The type

static PyMethodDef methods[] = {{"_wait", event_wait, METH_O, NULL},
                                {"_poll", event_poll, METH_NOARGS, NULL},
                                {"_exception", event_exception, METH_O, NULL},
                                {"_result", event_result, METH_NOARGS, NULL},
                                {"_on_done", event_on_done, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {{"_context", T_OBJECT, offsetof(event, ctx), READONLY, NULL},
                                {"__weaklistoffset__", T_PYSSIZET, offsetof(event, weak), READONLY, NULL},
                                {NULL, 0, 0, 0, NULL}};

PyTypeObject *event_make_type(void) {
  static PyType_Slot slots[] = {{Py_tp_new, refuse_new},
                                {Py_tp_dealloc, event_dealloc},
                                {Py_tp_traverse, event_traverse},
                                {Py_tp_clear, event_clear},
                                {Py_tp_methods, methods},
                                {Py_tp_members, members},
                                {0, NULL}};
  static PyType_Spec spec = {.name = "weir._core.Event",
                             .basicsize = sizeof(event),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                             .slots = slots};
  return (PyTypeObject *)PyType_FromSpec(&spec);
}
