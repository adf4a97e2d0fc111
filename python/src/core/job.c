// SPDX-License-Identifier: Apache-2.0
//
// Functions of Python as tasks. A job has two owners: the task, which drops it in weir_task.destroy, and its event. The
// objects in it are guarded by the GIL. A function that ran leaves none behind but its result, which belongs to the
// event; so the end of a task takes the GIL once.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

struct job {
  atomic_uint references;
  bool repeats; // of a graph: runs many times, and keeps its function
  bool over;    // it ran, or was dropped: no objects but the result
  bool forgotten;
  context *ctx;        // borrowed: a context outlives its tasks
  PyObject *arguments; // the function, and its arguments
  PyObject *result, *exception;
};

job *job_create(context *ctx, PyObject *arguments, bool repeats) {
  job *work = calloc(1, sizeof *work);
  if (work == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  atomic_init(&work->references, 1);
  work->repeats = repeats;
  work->ctx = ctx;
  Py_INCREF(arguments);
  work->arguments = arguments;
  return work;
}

static void let_objects_go(job *work) {
  Py_CLEAR(work->arguments);
  work->over = true;
}

void job_keep(job *work) {
  atomic_fetch_add_explicit(&work->references, 1, memory_order_relaxed);
}

void job_drop(job *work) {
  if (atomic_fetch_sub_explicit(&work->references, 1, memory_order_acq_rel) != 1) return;
  if (!work->over || work->result != NULL || work->exception != NULL) {
    if (interpreter_ending) return;
    PyGILState_STATE state = python_enter();
    let_objects_go(work);
    Py_CLEAR(work->result);
    Py_CLEAR(work->exception);
    python_leave(state);
  }
  free(work);
}

void job_forget(job *work) {
  work->forgotten = true;
  Py_CLEAR(work->result);
  Py_CLEAR(work->exception);
}

PyObject *job_result(const job *work) {
  return work->result;
}

PyObject *job_exception(const job *work) {
  return work->exception;
}

void job_destroy(void *user) {
  job *work = user;
  if (!work->over && !interpreter_ending) { // it was skipped
    PyGILState_STATE state = python_enter();
    let_objects_go(work);
    python_leave(state);
  }
  job_drop(work);
}

// ---------------------------------------------------------------------------------------------------------------
// A run

// The arguments that the function gets: NumPy arrays in the place of accesses.
static PyObject *arguments_with_views(const job *work, const weir_work *call) {
  Py_ssize_t count = PyTuple_Size(work->arguments) - 1;
  PyObject *values = PyTuple_New(count);
  uint32_t next = 0;
  for (Py_ssize_t i = 0; values != NULL && i < count; i++) {
    PyObject *given = PyTuple_GetItem(work->arguments, i + 1);
    if (Py_TYPE(given) == access_type) {
      const array_access *of = (const array_access *)given;
      given = array_view(of->what, call->args[next++], of->mode == WEIR_READ);
    } else
      Py_INCREF(given);
    if (given == NULL)
      Py_CLEAR(values);
    else
      PyTuple_SetItem(values, i, given);
  }
  return values;
}

// Whether something still has a view of memory that is Weir's own: that memory is reused after the task.
static bool is_kept(const job *work, PyObject *values) {
  Py_ssize_t count = PyTuple_Size(values);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *given = PyTuple_GetItem(work->arguments, i + 1), *view = PyTuple_GetItem(values, i);
    if (Py_TYPE(given) != access_type || ((const array_access *)given)->what->memory->owner != NULL) continue;
    if (Py_REFCNT(view) > 1) {
      PyErr_Format(PyExc_RuntimeError,
                   "the function keeps argument %zd, or a slice of it, beyond its task: the memory is Weir's, and will "
                   "be used for other contents. Keep or return a copy (numpy.array(x))",
                   i);
      return true;
    }
  }
  return false;
}

// Frames of a traceback have views as local variables.
static void clear_frames(PyObject *exception) {
  PyObject *traceback = PyException_GetTraceback(exception);
  if (traceback == NULL) return;
  PyObject *module = PyImport_ImportModule("traceback");
  PyObject *done = module == NULL ? NULL : PyObject_CallMethod(module, "clear_frames", "O", traceback);
  if (done == NULL) PyErr_Clear();
  Py_XDECREF(done);
  Py_XDECREF(module);
  Py_DECREF(traceback);
}

static void fail(job *work, const weir_work *call, PyObject *exception) {
  char text[120];
  describe_exception(exception, text, sizeof text);
  weir_work_fail(call, text);
  context_keep_failure(work->ctx, call->task, exception);
  if (work->repeats || work->forgotten)
    Py_DECREF(exception);
  else
    work->exception = exception;
}

static _Thread_local unsigned running;

bool in_job(void) {
  return running > 0;
}

void job_run(const weir_work *call) {
  job *work = call->user;
  if (interpreter_ending) {
    weir_work_fail(call, "the interpreter of Python is ending");
    return;
  }
  PyGILState_STATE state = python_enter();
  PyObject *values = arguments_with_views(work, call);
  running++;
  PyObject *result = values == NULL ? NULL : PyObject_Call(PyTuple_GetItem(work->arguments, 0), values, NULL);
  running--;
  PyObject *exception = result == NULL ? take_raised() : NULL;
  if (values != NULL && is_kept(work, values)) {
    if (exception != NULL) {
      PyErr_Clear();
      clear_frames(exception);
      if (is_kept(work, values)) Py_CLEAR(exception);
    } else
      Py_CLEAR(result);
    if (exception == NULL) exception = take_raised();
  }
  Py_XDECREF(values);
  if (!work->repeats) let_objects_go(work);
  if (exception != NULL)
    fail(work, call, exception);
  else if (work->repeats || work->forgotten)
    Py_DECREF(result);
  else
    work->result = result;
  python_leave(state);
}
