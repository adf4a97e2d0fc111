// SPDX-License-Identifier: Apache-2.0
//
// Storages, arrays and accesses. Slicing is in Python (weir/_array.py): here an array is a finished layout.
#include "core.h"

#include <stddef.h>
#include <stdlib.h>

// Arrays that functions get are made by NumPy's C API, in its form of NumPy 1.22, which later versions keep.
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include "structmember.h"
#include "weir/cuda.h"
#include "weir/external.h"

static void free_object(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

enum { MOST_AXES = 32 };

PyObject *refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  (void)arguments;
  (void)keywords;
  PyErr_Format(PyExc_TypeError, "objects of %S are made by a weir.Context", (PyObject *)type);
  return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Storage

static storage *storage_make(context *ctx, weir_buffer *handle, PyObject *owner, uint64_t address, uint64_t bytes) {
  storage *one = (storage *)PyType_GenericAlloc(storage_type, 0);
  if (one == NULL) {
    weir_buffer_release(handle);
    return NULL;
  }
  Py_INCREF(ctx);
  one->ctx = ctx;
  one->handle = handle;
  Py_XINCREF(owner);
  one->owner = owner;
  one->address = address;
  one->bytes = bytes;
  return one;
}

// storage_create(context, bytes, label): storage of Weir's own.
PyObject *storage_create(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  unsigned long long bytes;
  const char *label;
  if (!PyArg_ParseTuple(arguments, "O!Kz", context_type, &ctx, &bytes, &label) || !context_usable(ctx)) return NULL;
  weir_buffer *handle = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_buffer_create(open_, bytes, &handle);
  if (status == WEIR_OK && label != NULL) status = weir_buffer_set_label(handle, label);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  return (PyObject *)storage_make(ctx, handle, NULL, 0, bytes);
}

// storage_of_lines(context, bytes): what stands for the storages of a pipeline's lines.
PyObject *storage_of_lines(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  unsigned long long bytes;
  if (!PyArg_ParseTuple(arguments, "O!K", context_type, &ctx, &bytes) || !context_usable(ctx)) return NULL;
  storage *one = storage_make(ctx, NULL, NULL, 0, bytes);
  if (one != NULL) one->of_lines = true;
  return (PyObject *)one;
}

PyObject *storage_of_ranks(context *ctx, weir_buffer *handle, uint64_t bytes) {
  storage *one = storage_make(ctx, handle, NULL, 0, bytes);
  if (one != NULL) one->of_ranks = true;
  return (PyObject *)one;
}

const char *storage_why_missing(const storage *one) {
  return one->of_lines ? "the buffer is one for each line of a pipeline: only stages of that pipeline can use it"
                       : "the buffer was released";
}

// storage_wrap(context, owner, address, bytes, device, label): memory of the host, or of a CUDA device (an index).
PyObject *storage_wrap(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  PyObject *owner, *index;
  unsigned long long address, bytes;
  const char *label;
  weir_device *device;
  if (!PyArg_ParseTuple(arguments, "O!OKKOz", context_type, &ctx, &owner, &address, &bytes, &index, &label) ||
      !context_usable(ctx) || !context_device(ctx, index, &device))
    return NULL;
  weir_buffer *handle = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  if (device != NULL)
    status = weir_buffer_wrap_cuda(device, address, bytes, &handle);
  else
    status = weir_buffer_wrap(open_, (void *)(uintptr_t)address, bytes, &handle);
  if (status == WEIR_OK && label != NULL) status = weir_buffer_set_label(handle, label);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  storage *one = storage_make(ctx, handle, owner, address, bytes);
  if (one != NULL) one->device = device;
  return (PyObject *)one;
}

// Releases the buffer. The memory's owner lives until the last task that uses it is done.
static void storage_release(storage *one) {
  weir_buffer *handle = one->handle;
  context *ctx = one->ctx;
  one->handle = NULL;
  if (handle == NULL || one->of_ranks || !context_alive(ctx)) return;
  weir_event *last = NULL;
  weir_status status = WEIR_OK;
  room_taken(ctx); // by the event
  BEGIN_WEIR(ctx)
  if (one->owner != NULL) status = weir_buffer_event(handle, WEIR_WRITE, &last);
  weir_buffer_release(handle);
  END_WEIR
  if (one->owner == NULL || !context_alive(ctx)) return;
  if (status != WEIR_OK || !event_keep_until_done(ctx, last, one->owner)) {
    PyErr_Clear();
    if (PyList_Append(ctx->graveyard, one->owner) != 0) {
      PyErr_Clear();
      Py_INCREF(one->owner); // it stays: tasks may use it
    }
  }
  if (context_alive(ctx)) weir_event_release(last);
}

static void storage_dealloc(PyObject *self) {
  storage *one = (storage *)self;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (one->weak != NULL) PyObject_ClearWeakRefs(self);
  storage_release(one);
  PyErr_Restore(type, value, traceback);
  Py_CLEAR(one->owner);
  Py_CLEAR(one->ctx);
  free_object(self);
}

// release(): as the end of the object, but now.
static PyObject *storage_release_now(PyObject *self, PyObject *unused) {
  (void)unused;
  storage *one = (storage *)self;
  if (one->handle != NULL && !context_usable(one->ctx)) return NULL;
  if (one->of_ranks)
    return raise_text(WEIR_ERROR_INVALID_ARGUMENT, "the buffer belongs to a job, whose ranks release it at the same "
                                                   "place: Job.release(buffer)");
  storage_release(one);
  Py_CLEAR(one->owner);
  Py_RETURN_NONE;
}

static PyObject *storage_get(PyObject *self, void *what) {
  storage *one = (storage *)self;
  switch ((intptr_t)what) {
  case 0:
    return PyLong_FromUnsignedLongLong(one->address);
  case 1:
    return PyLong_FromUnsignedLongLong(one->bytes);
  case 2:
    return PyBool_FromLong(one->handle == NULL || !context_alive(one->ctx));
  case 3:
    return PyBool_FromLong(one->device != NULL);
  default: {
    PyObject *found = (intptr_t)what == 4 ? one->owner : (PyObject *)one->ctx;
    if (found == NULL) found = Py_None;
    Py_INCREF(found);
    return found;
  }
  }
}

static PyGetSetDef storage_members[] = {{"address", storage_get, NULL, NULL, (void *)0},
                                        {"nbytes", storage_get, NULL, NULL, (void *)1},
                                        {"released", storage_get, NULL, NULL, (void *)2},
                                        {"on_device", storage_get, NULL, NULL, (void *)3},
                                        {"owner", storage_get, NULL, NULL, (void *)4},
                                        {"context", storage_get, NULL, NULL, (void *)5},
                                        {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef storage_methods[] = {{"release", storage_release_now, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

PyTypeObject *storage_make_type(void) {
  static PyMemberDef weak[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(storage, weak), READONLY, NULL},
                               {NULL, 0, 0, 0, NULL}};
  static PyType_Slot slots[] = {{Py_tp_new, refuse_new},          {Py_tp_dealloc, storage_dealloc},
                                {Py_tp_getset, storage_members},  {Py_tp_members, weak},
                                {Py_tp_methods, storage_methods}, {0, NULL}};
  static PyType_Spec spec = {
      .name = "weir._core.Storage", .basicsize = sizeof(storage), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
  PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);
  return type;
}

// ---------------------------------------------------------------------------------------------------------------
// Array

// Fills lengths and strides. Without gaps the last axis is the first in memory.
static bool fill_lengths(array *one) {
  Py_ssize_t count = PyTuple_Size(one->shape), stride = (Py_ssize_t)PyDataType_ELSIZE((PyArray_Descr *)one->dtype);
  bool gaps = one->strides != Py_None;
  if (count > MOST_AXES || (gaps && (!PyTuple_Check(one->strides) || PyTuple_Size(one->strides) != count))) {
    PyErr_SetString(PyExc_ValueError, "a buffer has 32 axes at most, and a stride for each");
    return false;
  }
  one->lengths = malloc((size_t)(2 * count + 1) * sizeof *one->lengths);
  if (one->lengths == NULL) {
    PyErr_NoMemory();
    return false;
  }
  one->axes = (int)count;
  for (Py_ssize_t i = count - 1; i >= 0; i--) {
    one->lengths[i] = PyLong_AsSsize_t(PyTuple_GetItem(one->shape, i));
    one->lengths[count + i] = gaps ? PyLong_AsSsize_t(PyTuple_GetItem(one->strides, i)) : stride;
    stride *= one->lengths[i];
  }
  return !PyErr_Occurred();
}

// Loads NumPy's C API at the first array, since a program may import this module and make none.
static bool numpy_loaded(void) {
  static bool loaded;
  if (!loaded) {
    import_array1(false);
    loaded = true;
  }
  return true;
}

// Array(storage, dtype, shape, strides or None, offset, bytes, box or None)
static PyObject *array_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  (void)keywords;
  PyObject *memory, *dtype, *shape, *strides, *box;
  unsigned long long offset, bytes, b[5] = {0};
  if (!numpy_loaded()) return NULL;
  if (!PyArg_ParseTuple(arguments, "O!O!O!OKKO", storage_type, &memory, &PyArrayDescr_Type, &dtype, &PyTuple_Type,
                        &shape, &strides, &offset, &bytes, &box))
    return NULL;
  if (box != Py_None && !PyArg_ParseTuple(box, "KKKKK", &b[0], &b[1], &b[2], &b[3], &b[4])) return NULL;
  array *one = (array *)PyType_GenericAlloc(type, 0);
  if (one == NULL) return NULL;
  Py_INCREF(memory);
  Py_INCREF(dtype);
  Py_INCREF(shape);
  Py_INCREF(strides);
  one->memory = (storage *)memory;
  one->dtype = dtype;
  one->shape = shape;
  one->strides = strides;
  one->offset = offset;
  one->bytes = bytes;
  one->boxed = box != Py_None;
  one->box = (weir_box){b[0], b[1], b[2], b[3], b[4]};
  if (fill_lengths(one)) return (PyObject *)one;
  Py_DECREF(one);
  return NULL;
}

static void array_dealloc(PyObject *self) {
  array *one = (array *)self;
  if (one->weak != NULL) PyObject_ClearWeakRefs(self);
  free(one->lengths);
  Py_CLEAR(one->memory);
  Py_CLEAR(one->dtype);
  Py_CLEAR(one->shape);
  Py_CLEAR(one->strides);
  free_object(self);
}

static PyMemberDef array_members[] = {{"_storage", T_OBJECT, offsetof(array, memory), READONLY, NULL},
                                      {"dtype", T_OBJECT, offsetof(array, dtype), READONLY, "Type of the elements."},
                                      {"shape", T_OBJECT, offsetof(array, shape), READONLY, "Lengths of the axes."},
                                      {"_strides", T_OBJECT, offsetof(array, strides), READONLY, NULL},
                                      {"_offset", T_ULONGLONG, offsetof(array, offset), READONLY, NULL},
                                      {"_span", T_ULONGLONG, offsetof(array, bytes), READONLY, NULL},
                                      {"_boxed", T_BOOL, offsetof(array, boxed), READONLY, NULL},
                                      {"__weaklistoffset__", T_PYSSIZET, offsetof(array, weak), READONLY, NULL},
                                      {NULL, 0, 0, 0, NULL}};

PyTypeObject *array_make_type(void) {
  static PyType_Slot slots[] = {
      {Py_tp_new, array_new}, {Py_tp_dealloc, array_dealloc}, {Py_tp_members, array_members}, {0, NULL}};
  static PyType_Spec spec = {.name = "weir._core.Array",
                             .basicsize = sizeof(array),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             .slots = slots};
  return (PyTypeObject *)PyType_FromSpec(&spec);
}

PyObject *array_view(const array *what, void *memory, bool read_only) {
  PyArray_Descr *dtype = (PyArray_Descr *)what->dtype;
  int flags = read_only ? 0 : NPY_ARRAY_WRITEABLE;
  Py_intptr_t *strides = what->lengths + what->axes;
  // NumPy finds the flags of given strides by a walk over them. Without gaps it knows them, all but the alignment.
  if (what->strides == Py_None) {
    strides = NULL;
    if ((uintptr_t)memory % (uintptr_t)PyDataType_ALIGNMENT(dtype) == 0) flags |= NPY_ARRAY_ALIGNED;
  }
  Py_INCREF(dtype); // which the call takes
  return PyArray_NewFromDescr(&PyArray_Type, dtype, what->axes, what->lengths, strides, memory, flags, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// Access

PyObject *access_make(PyObject *what, weir_mode mode) {
  if (!PyObject_TypeCheck(what, array_type)) {
    PyErr_Format(PyExc_TypeError, "an access is of a Buffer (Context.buffer, .array, .wrap), and not of %S",
                 (PyObject *)Py_TYPE(what));
    return NULL;
  }
  array_access *one = (array_access *)PyType_GenericAlloc(access_type, 0);
  if (one == NULL) return NULL;
  Py_INCREF(what);
  one->what = (array *)what;
  one->mode = mode;
  return (PyObject *)one;
}

static void access_dealloc(PyObject *self) {
  Py_CLEAR(((array_access *)self)->what);
  free_object(self);
}

static PyObject *access_repr(PyObject *self) {
  static const char *const NAMES[] = {"value", "read", "write", "update", "commute", "reduce", "auto"};
  array_access *one = (array_access *)self;
  return PyUnicode_FromFormat("weir.%s(%R)", NAMES[one->mode], one->what);
}

static PyMemberDef access_members[] = {{"array", T_OBJECT, offsetof(array_access, what), READONLY, "The array."},
                                       {"_mode", T_INT, offsetof(array_access, mode), READONLY, NULL},
                                       {NULL, 0, 0, 0, NULL}};

PyTypeObject *access_make_type(void) {
  static PyType_Slot slots[] = {{Py_tp_new, refuse_new},
                                {Py_tp_dealloc, access_dealloc},
                                {Py_tp_repr, access_repr},
                                {Py_tp_members, access_members},
                                {Py_tp_doc, "How a task uses an array: made by weir.read, weir.write and so on."},
                                {0, NULL}};
  static PyType_Spec spec = {
      .name = "weir._core.Access", .basicsize = sizeof(array_access), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
  return (PyTypeObject *)PyType_FromSpec(&spec);
}
