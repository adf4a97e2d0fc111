// SPDX-License-Identifier: Apache-2.0
//
// Arrays of other libraries by DLPack. The structs are those of its version 0, which every producer gives on request
// (https://dmlc.github.io/dlpack/latest/c_api.html).
#include "core.h"
#include "weir/cuda.h"

typedef struct dl_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
  dl_tensor tensor;
  void *manager;
  void (*deleter)(struct dl_managed *self);
} dl_managed;

static const char HELD[] = "weir dlpack";

static void release_managed(PyObject *capsule) {
  dl_managed *managed = PyCapsule_GetPointer(capsule, HELD);
  if (managed->deleter != NULL) managed->deleter(managed);
}

static PyObject *numbers(const int64_t *values, int32_t count) {
  PyObject *tuple = PyTuple_New(count);
  for (int32_t i = 0; tuple != NULL && i < count; i++) {
    PyObject *one = PyLong_FromLongLong(values[i]);
    if (one == NULL)
      Py_CLEAR(tuple);
    else
      PyTuple_SetItem(tuple, i, one);
  }
  return tuple;
}

// dlpack_take(capsule): (owner, address, (device type, number), (code, bits, lanes), shape, strides in elements or
// None). The capsule is used up; the memory lives as long as the owner.
static PyObject *dlpack_take(PyObject *self, PyObject *capsule) {
  (void)self;
  dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
  if (managed == NULL) return NULL;
  const dl_tensor *t = &managed->tensor;
  PyObject *shape = numbers(t->shape, t->ndim);
  PyObject *strides = NULL;
  if (t->strides != NULL)
    strides = numbers(t->strides, t->ndim);
  else {
    Py_INCREF(Py_None);
    strides = Py_None;
  }
  PyObject *owner = shape != NULL && strides != NULL ? PyCapsule_New(managed, HELD, NULL) : NULL;
  PyObject *result = NULL;
  if (owner != NULL)
    result =
        Py_BuildValue("(OK(ii)(iii)OO)", owner, (unsigned long long)((uintptr_t)t->data + (uintptr_t)t->byte_offset),
                      t->device_type, t->device_id, (int)t->code, (int)t->bits, (int)t->lanes, shape, strides);
  if (result != NULL && PyCapsule_SetName(capsule, "used_dltensor") == 0)
    PyCapsule_SetDestructor(owner, release_managed);
  else
    Py_CLEAR(result);
  Py_XDECREF(owner);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  return result;
}

// cuda_tasks_wait(context, device, stream): later tasks come after the work that the stream has now.
static PyObject *cuda_tasks_wait(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  PyObject *index;
  unsigned long long stream;
  weir_device *device;
  if (!PyArg_ParseTuple(arguments, "O!OK", context_type, &ctx, &index, &stream) || !context_usable(ctx) ||
      !context_device(ctx, index, &device))
    return NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_cuda_tasks_wait_for_stream(device, (void *)(uintptr_t)stream);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  Py_RETURN_NONE;
}

PyMethodDef device_methods[] = {{"dlpack_take", dlpack_take, METH_O, NULL},
                                {"cuda_tasks_wait", cuda_tasks_wait, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
