// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <time.h>

#include "core.h"
#include "structmember.h"
#include "weir/error.h"

// Each slice of a wait for all tasks waits for those that were submitted before it. So slices grow: other threads may submit
// more than one slice can wait for.
static const uint64_t SLICE_NS = 50000000, MOST_SLICE_NS = 1000000000;

bool context_alive(context *ctx) {
  return ctx->handle != NULL && ctx->generation == process_generation;
}

bool context_usable(context *ctx) {
  if (context_alive(ctx) && (!ctx->closing || python_is_foreign())) return true;
  if (ctx->generation != process_generation)
    raise_text(WEIR_ERROR_INVALID_ARGUMENT,
               "this context belongs to the parent process: its threads are not in a child that was forked. Make a "
               "context in the child");
  else
    raise_text(WEIR_ERROR_RELEASED, "the context is closed");
  return false;
}

bool timeout_parse(PyObject *seconds, uint64_t *out_ns) {
  *out_ns = WEIR_FOREVER;
  if (seconds == NULL || seconds == Py_None) return true;
  double value = PyFloat_AsDouble(seconds);
  if (value == -1 && PyErr_Occurred()) return false;
  if (isnan(value)) {
    PyErr_SetString(PyExc_ValueError, "timeout is not a number");
    return false;
  }
  if (value < 0) value = 0;
  if (value < 1e9) *out_ns = (uint64_t)(value * 1e9);
  return true;
}

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int wait_in_slices(context *ctx, weir_status (*wait)(void *what, uint64_t ns), void *what, uint64_t timeout_ns) {
  uint64_t start = now_ns(), spent = 0, slice = SLICE_NS;
  for (;;) {
    uint64_t left = timeout_ns == WEIR_FOREVER ? WEIR_FOREVER : timeout_ns - spent;
    weir_status status;
    BEGIN_WEIR(ctx)
    status = wait(what, left < slice ? left : slice);
    END_WEIR
    if (status != WEIR_TIMEOUT) return (int)status;
    if (PyErr_CheckSignals() != 0) return -1;
    if (!context_alive(ctx) && !context_usable(ctx)) return -1;
    spent = now_ns() - start;
    if (slice < MOST_SLICE_NS) slice *= 2;
    if (timeout_ns != WEIR_FOREVER && spent >= timeout_ns) return WEIR_TIMEOUT;
  }
}

bool context_device(context *ctx, PyObject *index, weir_device **out_device) {
  *out_device = NULL;
  if (index == NULL || index == Py_None) return true;
  long number = PyLong_AsLong(index);
  if (number == -1 && PyErr_Occurred()) return false;
  *out_device = number < 0 ? NULL : weir_context_device(ctx->handle, (uint32_t)number);
  if (*out_device != NULL) return true;
  raise_text(WEIR_ERROR_INVALID_ARGUMENT, "the context has no device %ld; it has %u", number,
             weir_context_device_count(ctx->handle));
  return false;
}

// ---------------------------------------------------------------------------------------------------------------
// Methods

static PyObject *context_open(PyObject *self, PyObject *arguments) {
  context *ctx = (context *)self;
  const char *devices;
  unsigned int window, queues, issue, flags;
  unsigned long long memory_limit, seed, rename_limit, device_memory_limit;
  if (!PyArg_ParseTuple(arguments, "sIIKIKIKK", &devices, &window, &queues, &memory_limit, &issue, &seed, &flags,
                        &rename_limit, &device_memory_limit))
    return NULL;
  if (interpreter_ending) return raise_text(WEIR_ERROR_RELEASED, "the interpreter is ending");
  if (ctx->handle != NULL) return raise_text(WEIR_ERROR_INVALID_ARGUMENT, "the context is open already");
  weir_context_options options = {.devices = devices,
                                  .window = window,
                                  .queues = queues,
                                  .memory_limit = memory_limit,
                                  .issue = (weir_issue)issue,
                                  .seed = seed,
                                  .flags = flags,
                                  .rename_limit = rename_limit,
                                  .device_memory_limit = device_memory_limit};
  weir_context *handle = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_context_create(&options, &handle);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  ctx->handle = handle;
  ctx->generation = process_generation;
  room_init(ctx, &options);
  Py_RETURN_NONE;
}

static weir_status finish_for(void *what, uint64_t ns) {
  return weir_finish_for(what, ns);
}

PyObject *graveyard_take(context *ctx) {
  PyObject *taken = ctx->graveyard, *empty = PyList_Size(taken) > 0 ? PyList_New(0) : NULL;
  PyErr_Clear();
  if (empty == NULL) return NULL;
  ctx->graveyard = empty;
  return taken;
}

void graveyard_put_back(context *ctx, PyObject *taken) {
  if (taken == NULL) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyList_SetSlice(ctx->graveyard, 0, 0, taken) != 0) {
    PyErr_Clear();
    Py_INCREF(taken); // it stays: tasks may use what is in it
  }
  Py_DECREF(taken);
  PyErr_Restore(type, value, traceback);
}

static void graveyard_drop(PyObject *taken) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Py_XDECREF(taken);
  PyErr_Restore(type, value, traceback);
}

static PyObject *tell_failure(context *ctx, weir_status status) {
  uint64_t task = status == WEIR_OK ? 0 : weir_last_error_task();
  bool told;
  PyObject *failure = failures_finish(ctx, task, &told);
  if (failure != NULL) {
    raise_again(failure);
    Py_DECREF(failure);
    return NULL;
  }
  if (!told) return raise_status(status);
  Py_RETURN_NONE;
}

PyObject *context_finished(context *ctx, weir_status status, PyObject *taken) {
  PyObject *result = tell_failure(ctx, status); // before code of Python runs, which may make calls that fail
  graveyard_drop(taken);
  return result;
}

static PyObject *context_finish(PyObject *self, PyObject *seconds) {
  context *ctx = (context *)self;
  uint64_t timeout_ns;
  if (!timeout_parse(seconds, &timeout_ns) || !context_usable(ctx)) return NULL;
  PyObject *taken = graveyard_take(ctx);
  int status = wait_in_slices(ctx, finish_for, ctx->handle, timeout_ns);
  if (status == WEIR_TIMEOUT || status == WEIR_ERROR_INVALID_ARGUMENT) {
    raise_status((weir_status)status);
    status = -1;
  }
  if (status >= 0) return context_finished(ctx, (weir_status)status, taken);
  graveyard_put_back(ctx, taken);
  return NULL;
}

// Waits for other threads to leave the context, and releases it.
static weir_status release(context *ctx) {
  weir_context *handle = ctx->handle;
  ctx->handle = NULL;
  PyThreadState *thread;
  while (ctx->users > 0) {
    thread = PyEval_SaveThread();
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    PyEval_RestoreThread(thread);
  }
  thread = PyEval_SaveThread();
  weir_status status = weir_context_release(handle);
  PyEval_RestoreThread(thread);
  if (status != WEIR_OK) ctx->handle = handle;
  return status;
}

// Waits for all tasks, then releases the context. Reports no failure of a task.
static PyObject *context_close(PyObject *self, PyObject *unused) {
  (void)unused;
  context *ctx = (context *)self;
  if (!context_alive(ctx) || ctx->closing) Py_RETURN_NONE;
  ctx->closing = true;
  int status = wait_in_slices(ctx, finish_for, ctx->handle, WEIR_FOREVER);
  if (status >= 0 && status != WEIR_ERROR_INVALID_ARGUMENT) status = (int)release(ctx);
  ctx->closing = false;
  if (status < 0) return NULL;
  if (status != WEIR_OK) return raise_status((weir_status)status);
  PyList_SetSlice(ctx->graveyard, 0, PY_SSIZE_T_MAX, NULL);
  Py_RETURN_NONE;
}

static PyObject *context_cancel(PyObject *self, PyObject *unused) {
  (void)unused;
  context *ctx = (context *)self;
  if (!context_usable(ctx)) return NULL;
  BEGIN_WEIR(ctx)
  weir_context_cancel(open_);
  END_WEIR
  Py_RETURN_NONE;
}

// _failure(number of a task): its exception, or None.
static PyObject *context_get_failure(PyObject *self, PyObject *task) {
  unsigned long long number = PyLong_AsUnsignedLongLong(task);
  if (PyErr_Occurred()) return NULL;
  PyObject *found = context_failure((context *)self, number);
  if (found == NULL)
    found = Py_None;
  else
    context_failure_seen((context *)self, number);
  Py_INCREF(found);
  return found;
}

static PyObject *context_is_open(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(context_alive((context *)self));
}

static PyObject *context_statistics(PyObject *self, PyObject *unused) {
  (void)unused;
  context *ctx = (context *)self;
  if (!context_usable(ctx)) return NULL;
  weir_statistics s;
  BEGIN_WEIR(ctx)
  weir_context_statistics(open_, &s);
  END_WEIR
#define K(member) #member, (unsigned long long)s.member
  return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsK}", K(tasks), K(done), K(failed), K(edges), K(renamed),
                       K(rename_denied), K(window_waits), K(memory_waits), K(transfers), K(transfer_bytes), K(bytes),
                       K(peak_bytes), K(window), K(resident), K(resident_moves), K(room), K(repeated), K(evictions));
#undef K
}

// A tuple for each device: kind, name, description, lanes, queues, enqueue_lanes.
static PyObject *context_devices(PyObject *self, PyObject *unused) {
  (void)unused;
  context *ctx = (context *)self;
  if (!context_usable(ctx)) return NULL;
  uint32_t count = weir_context_device_count(ctx->handle);
  PyObject *list = PyList_New(0);
  for (uint32_t i = 0; list != NULL && i < count; i++) {
    const weir_device_info *info = weir_device_information(weir_context_device(ctx->handle, i));
    PyObject *one = Py_BuildValue("(sssIII)", info->kind, info->name, info->description, info->lanes, info->queues,
                                  info->enqueue_lanes);
    if (one == NULL || PyList_Append(list, one) != 0) Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return list;
}

static PyObject *context_device_time(PyObject *self, PyObject *index) {
  context *ctx = (context *)self;
  weir_device *device;
  if (!context_usable(ctx) || !context_device(ctx, index, &device)) return NULL;
  return PyLong_FromUnsignedLongLong(weir_device_time(device));
}

// ---------------------------------------------------------------------------------------------------------------
// The type

static PyObject *context_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  (void)arguments;
  (void)keywords;
  context *ctx = (context *)PyType_GenericAlloc(type, 0);
  if (ctx == NULL) return NULL;
  ctx->graveyard = PyList_New(0);
  ctx->generation = process_generation;
  if (failures_init(ctx) && ctx->graveyard != NULL) return (PyObject *)ctx;
  Py_DECREF(ctx);
  return NULL;
}

static int context_traverse(PyObject *self, visitproc visit, void *arg) {
  context *ctx = (context *)self;
#if PY_VERSION_HEX >= 0x03090000
  Py_VISIT(Py_TYPE(self));
#endif
  Py_VISIT(ctx->first);
  Py_VISIT(ctx->failures);
  Py_VISIT(ctx->graveyard);
  return 0;
}

static int context_clear(PyObject *self) {
  context *ctx = (context *)self;
  if (ctx->first != NULL) PyDict_Clear(ctx->first);
  if (ctx->failures != NULL) PyDict_Clear(ctx->failures);
  return 0;
}

// The subclass in Python closes the context before (Context.__del__). One that could not be closed stays.
static void context_dealloc(PyObject *self) {
  context *ctx = (context *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (ctx->weak != NULL) PyObject_ClearWeakRefs(self);
  failures_free(ctx);
  if (!context_alive(ctx)) Py_CLEAR(ctx->graveyard);
  freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
  free_object(self);
  Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"_open", context_open, METH_VARARGS, NULL},
    {"_finish", context_finish, METH_O, NULL},
    {"_close", context_close, METH_NOARGS, NULL},
    {"_cancel", context_cancel, METH_NOARGS, NULL},
    {"_failure", context_get_failure, METH_O, NULL},
    {"_is_open", context_is_open, METH_NOARGS, NULL},
    {"_statistics", context_statistics, METH_NOARGS, NULL},
    {"_devices", context_devices, METH_NOARGS, NULL},
    {"_device_time", context_device_time, METH_O, NULL},
    {"submit", (PyCFunction)(void (*)(void))context_submit, METH_VARARGS | METH_KEYWORDS,
     "submit(work, *args, groups=None, device=None, after=None, priority=0, label=None, tag=0)\n--\n\n"
     "Submit a task and return its Event.\n\n"
     "work is a Kernel, or a function of Python, which runs once on a worker of the CPU device. Each argument that is\n"
     "weir.read(a), weir.write(a), weir.update(a), weir.commute(a) or weir.auto(a) is an access of an array: a "
     "function\n"
     "gets a NumPy array in its place, which is valid until the function returns. A function gets all other arguments\n"
     "as they are; those of a kernel are values: NumPy scalars, or bytes.\n\n"
     "groups: work-groups of a kernel's launch, a number or up to three. device: a Device or its name. after: an "
     "Event, or a\n"
     "sequence of them, that must be done first. priority: -4 to 3, of ready tasks the highest starts first. label "
     "and\n"
     "tag: for messages and timelines.\n\n"
     "The call waits only while the window or the context's memory is full. Events may be ignored."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(context, weak), READONLY, NULL},
                                {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, context_new},
                              {Py_tp_dealloc, context_dealloc},
                              {Py_tp_traverse, context_traverse},
                              {Py_tp_clear, context_clear},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {0, NULL}};

PyTypeObject *context_make_type(void) {
  static PyType_Spec spec = {.name = "weir._core.Context",
                             .basicsize = sizeof(context),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                             .slots = slots};
  return (PyTypeObject *)PyType_FromSpec(&spec);
}
