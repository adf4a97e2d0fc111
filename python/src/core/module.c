// SPDX-License-Identifier: Apache-2.0
//
// The module: errors, functions without an object, and the list of types.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "weir/error.h"

PyTypeObject *context_type, *storage_type, *array_type, *access_type, *event_type, *object_type;

static PyObject *errors; // dict: status -> class

// ---------------------------------------------------------------------------------------------------------------
// Errors

static PyObject *raise_message(weir_status status, const char *text) {
  PyObject *key = PyLong_FromLong(status);
  PyObject *class = key != NULL && errors != NULL ? PyDict_GetItemWithError(errors, key) : NULL;
  Py_XDECREF(key);
  if (class == NULL) class = PyExc_RuntimeError;
  PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  if (message != NULL) PyErr_SetObject(class, message);
  Py_XDECREF(message);
  return NULL;
}

PyObject *raise_status(weir_status status) {
  const char *text = weir_last_error();
  return raise_message(status, text[0] != '\0' ? text : weir_status_text(status));
}

PyObject *raise_text(weir_status status, const char *format, ...) {
  char text[8192];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return raise_message(status, text);
}

void raise_again(PyObject *exception) {
  PyObject *class = (PyObject *)Py_TYPE(exception);
  Py_INCREF(class);
  Py_INCREF(exception);
  PyErr_Restore(class, exception, PyException_GetTraceback(exception));
}

PyObject *take_raised(void) {
  PyObject *class, *value, *traceback;
  PyErr_Fetch(&class, &value, &traceback);
  PyErr_NormalizeException(&class, &value, &traceback);
  if (value != NULL && traceback != NULL) PyException_SetTraceback(value, traceback);
  Py_XDECREF(class);
  Py_XDECREF(traceback);
  return value;
}

void describe_exception(PyObject *exception, char *out_text, size_t size) {
  PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(exception), "__name__");
  PyObject *text = name == NULL ? NULL : PyUnicode_FromFormat("%U: %S", name, exception);
  PyObject *bytes = text == NULL ? NULL : PyUnicode_AsEncodedString(text, "utf-8", "replace");
  if (bytes == NULL) PyErr_Clear();
  snprintf(out_text, size, "%s", bytes != NULL ? PyBytes_AsString(bytes) : "an exception without a text");
  Py_XDECREF(bytes);
  Py_XDECREF(text);
  Py_XDECREF(name);
}

// ---------------------------------------------------------------------------------------------------------------
// Functions

static PyObject *version(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  return PyUnicode_FromString(weir_version());
}

static PyObject *status_text(PyObject *self, PyObject *status) {
  (void)self;
  long value = PyLong_AsLong(status);
  if (value == -1 && PyErr_Occurred()) return NULL;
  return Py_BuildValue("(ss)", weir_status_name((weir_status)value), weir_status_text((weir_status)value));
}

static void found_device(void *user, const char *kind, bool available, const char *text) {
  PyObject *one = Py_BuildValue("(sNs)", kind, PyBool_FromLong(available), text);
  if (one == NULL || PyList_Append(user, one) != 0) PyErr_Clear();
  Py_XDECREF(one);
}

// Holds the GIL: the function is called in this thread.
static PyObject *probe(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  PyObject *list = PyList_New(0);
  if (list != NULL) weir_probe(found_device, list);
  return list;
}

// Threads of Weir's come to the main interpreter (PyGILState_Ensure), and the classes are those of one. False: an exception.
static bool is_main_interpreter(void) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(PyExc_ImportError, "weir: subinterpreters are not served, only the main interpreter of a process");
  return false;
}

// set_classes(errors by status, class of events)
static PyObject *set_classes(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *by_status, *events;
  if (!PyArg_ParseTuple(arguments, "O!O", &PyDict_Type, &by_status, &events)) return NULL;
  Py_INCREF(by_status);
  Py_INCREF(events);
  errors = by_status;
  event_class = events;
  Py_RETURN_NONE;
}

// check_interpreter(): raises ImportError in a subinterpreter, which takes the module that was made in the main one.
static PyObject *check_interpreter(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  if (!is_main_interpreter()) return NULL;
  Py_RETURN_NONE;
}

// after_fork(): in a child.
static PyObject *after_fork(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  process_generation++;
  Py_RETURN_NONE;
}

// end(): the interpreter ends, and no context is left.
static PyObject *end(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  interpreter_ending = true;
  Py_RETURN_NONE;
}

// trace_save(context, path as bytes, title or None)
static PyObject *trace_save(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  const char *path, *title;
  if (!PyArg_ParseTuple(arguments, "O!yz", context_type, &ctx, &path, &title) || !context_usable(ctx)) return NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_trace_save(open_, path, title);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  Py_RETURN_NONE;
}

static PyObject *trace_clear(PyObject *self, PyObject *context_object) {
  (void)self;
  if (!PyObject_TypeCheck(context_object, context_type) || !context_usable((context *)context_object)) return NULL;
  BEGIN_WEIR((context *)context_object)
  weir_trace_clear(ctx_->handle);
  END_WEIR
  Py_RETURN_NONE;
}

// why(earlier event, later event)
static PyObject *why(PyObject *self, PyObject *arguments) {
  (void)self;
  event *earlier, *later;
  if (!PyArg_ParseTuple(arguments, "O!O!", event_type, &earlier, event_type, &later)) return NULL;
  if (!context_usable(earlier->ctx) || !context_usable(later->ctx)) return NULL;
  char text[4096];
  weir_status status;
  BEGIN_WEIR(earlier->ctx)
  status = weir_why(earlier->handle, later->handle, text, sizeof text);
  END_WEIR
  return status == WEIR_OK ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : raise_status(status);
}

#define ACCESS(name, mode)                                                                                             \
  static PyObject *access_##name(PyObject *self, PyObject *what) {                                                     \
    (void)self;                                                                                                        \
    return access_make(what, mode);                                                                                    \
  }
ACCESS(read, WEIR_READ)
ACCESS(write, WEIR_WRITE)
ACCESS(update, WEIR_READ_WRITE)
ACCESS(commute, WEIR_COMMUTE)
ACCESS(auto, WEIR_AUTO)

static PyMethodDef methods[] = {
    {"read", access_read, METH_O, "read(array)\n--\n\nThe task reads the array."},
    {"write", access_write, METH_O,
     "write(array)\n--\n\nThe task overwrites every element, and needs nothing of what was there: it may get other\n"
     "memory, and need not wait for tasks that still use the old contents."},
    {"update", access_update, METH_O,
     "update(array)\n--\n\nAny other access: the task reads and writes, or writes a part."},
    {"commute", access_commute, METH_O,
     "commute(array)\n--\n\nThe task updates the array, in any order relative to other tasks that commute on it."},
    {"auto", access_auto, METH_O,
     "auto(array)\n--\n\nThe code of the kernel tells whether it reads or updates, where Weir can read it; else "
     "update."},
    {"version", version, METH_NOARGS, NULL},
    {"status_text", status_text, METH_O, NULL},
    {"probe", probe, METH_NOARGS, NULL},
    {"set_classes", set_classes, METH_VARARGS, NULL},
    {"check_interpreter", check_interpreter, METH_NOARGS, NULL},
    {"after_fork", after_fork, METH_NOARGS, NULL},
    {"end", end, METH_NOARGS, NULL},
    {"storage_create", storage_create, METH_VARARGS, NULL},
    {"storage_wrap", storage_wrap, METH_VARARGS, NULL},
    {"storage_of_lines", storage_of_lines, METH_VARARGS, NULL},
    {"trace_save", trace_save, METH_VARARGS, NULL},
    {"trace_clear", trace_clear, METH_O, NULL},
    {"why", why, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "weir._core", .m_size = -1, .m_methods = methods};

static bool add_type(PyObject *module, PyTypeObject **out_type, PyTypeObject *type, const char *name) {
  *out_type = type;
  if (type == NULL) return false;
  Py_INCREF(type);
  if (PyModule_AddObject(module, name, (PyObject *)type) == 0) return true;
  Py_DECREF(type);
  return false;
}

static bool add_functions(PyObject *module) {
  PyMethodDef *tables[] = {copy_methods,  kernel_methods, graph_methods,    device_methods, open_methods,
                           split_methods, relax_methods,  pipeline_methods, launch_methods, ranks_methods};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (PyModule_AddFunctions(module, tables[i]) != 0) return false;
  return true;
}

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void) {
  if (!is_main_interpreter() || gil_init() != 0) return NULL;
  PyObject *module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  if (add_type(module, &context_type, context_make_type(), "Context") &&
      add_type(module, &storage_type, storage_make_type(), "Storage") &&
      add_type(module, &array_type, array_make_type(), "Array") &&
      add_type(module, &access_type, access_make_type(), "Access") &&
      add_type(module, &event_type, event_make_type(), "Event") &&
      add_type(module, &object_type, object_make_type(), "Handle") && add_functions(module))
    return module;
  Py_DECREF(module);
  return NULL;
}
