// SPDX-License-Identifier: Apache-2.0
//
// Kernels and their code, and the type of handles.
#include "weir/kernel.h"

#include <stddef.h>
#include <string.h>

#include "core.h"
#include "structmember.h"
#include "weir/cuda.h"
#include "weir/graph.h"
#include "weir/opencl.h"
#include "weir/split.h"
#include "weir/vulkan.h"

// ---------------------------------------------------------------------------------------------------------------
// Handles

PyObject *object_make(PyTypeObject *type, context *ctx, void *handle, int kind) {
  object *one = (object *)PyType_GenericAlloc(type, 0);
  if (one == NULL) return NULL;
  Py_INCREF(ctx);
  one->ctx = ctx;
  one->handle = handle;
  one->kind = kind;
  return (PyObject *)one;
}

void *object_handle(PyObject *self, int kind, context **out_ctx) {
  static const char *const NAMES[] = {"kernel", "graph", "split", "pipeline", "open task", "job"};
  if (!PyObject_TypeCheck(self, object_type) || ((object *)self)->kind != kind) {
    PyErr_Format(PyExc_TypeError, "a %s is expected, and not %S", NAMES[kind], (PyObject *)Py_TYPE(self));
    return NULL;
  }
  object *one = (object *)self;
  if (!context_usable(one->ctx)) return NULL;
  *out_ctx = one->ctx;
  if (one->handle == NULL) raise_text(WEIR_ERROR_RELEASED, "the %s was released, or has ended", NAMES[kind]);
  return one->handle;
}

// What functions of a graph need stays until launches in flight are done.
static void graph_let_go(object *one) {
  if (one->jobs == NULL) return;
  weir_graph_info info;
  if (weir_graph_information(one->handle, &info) == WEIR_OK && info.running > 0 &&
      PyList_Append(one->ctx->graveyard, one->jobs) != 0) {
    PyErr_Clear();
    Py_INCREF(one->jobs);
  }
  Py_CLEAR(one->jobs);
}

// A pipeline refuses in a task or callback: then it keeps its handle, and what its stages need.
static weir_status handle_release(object *one) {
  void *handle = one->handle;
  if (handle == NULL || one->kind >= OPEN_TASK || !context_alive(one->ctx)) return WEIR_OK;
  if (one->kind == GRAPH) graph_let_go(one);
  if (one->kind == PIPELINE) return pipeline_release(one);
  one->handle = NULL;
  BEGIN_WEIR(one->ctx)
  if (one->kind == KERNEL)
    weir_kernel_release(handle);
  else if (one->kind == GRAPH)
    weir_graph_release(handle);
  else
    weir_split_release(handle);
  END_WEIR
  return WEIR_OK;
}

static void object_dealloc(PyObject *self) {
  object *one = (object *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject *kind, *value, *traceback;
  PyErr_Fetch(&kind, &value, &traceback);
  if (one->weak != NULL) PyObject_ClearWeakRefs(self);
  if (handle_release(one) == WEIR_OK) Py_CLEAR(one->jobs); // else its stages may still be called
  Py_CLEAR(one->ctx);
  PyErr_Restore(kind, value, traceback);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *object_release(PyObject *self, PyObject *unused) {
  (void)unused;
  object *one = (object *)self;
  if (one->handle != NULL && !context_usable(one->ctx)) return NULL;
  weir_status status = handle_release(one);
  if (status != WEIR_OK) return raise_status(status);
  if (one->kind != PIPELINE) Py_CLEAR(one->jobs); // another thread may be releasing it
  Py_RETURN_NONE;
}

PyTypeObject *object_make_type(void) {
  static PyMethodDef methods[] = {{"release", object_release, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
  static PyMemberDef members[] = {{"_context", T_OBJECT, offsetof(object, ctx), READONLY, NULL},
                                  {"__weaklistoffset__", T_PYSSIZET, offsetof(object, weak), READONLY, NULL},
                                  {NULL, 0, 0, 0, NULL}};
  static PyType_Slot slots[] = {{Py_tp_new, refuse_new},
                                {Py_tp_dealloc, object_dealloc},
                                {Py_tp_methods, methods},
                                {Py_tp_members, members},
                                {0, NULL}};
  static PyType_Spec spec = {.name = "weir._core.Handle",
                             .basicsize = sizeof(object),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             .slots = slots};
  return (PyTypeObject *)PyType_FromSpec(&spec);
}

// ---------------------------------------------------------------------------------------------------------------
// Kernels

// kernel_create(context, name, class)
static PyObject *kernel_create(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  const char *name;
  PyObject *class;
  if (!PyArg_ParseTuple(arguments, "O!sO!", context_type, &ctx, &name, &PyType_Type, &class) || !context_usable(ctx))
    return NULL;
  weir_kernel *kernel = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_kernel_create(open_, name, &kernel);
  END_WEIR
  return status == WEIR_OK ? object_make((PyTypeObject *)class, ctx, kernel, KERNEL) : raise_status(status);
}

static PyObject *none_or_raise(weir_status status) {
  if (status != WEIR_OK) return raise_status(status);
  Py_RETURN_NONE;
}

// kernel_set_cpu(kernel, address of a weir_function)
static PyObject *kernel_set_cpu(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *object_;
  unsigned long long address;
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "OK", &object_, &address)) return NULL;
  weir_kernel *kernel = object_handle(object_, KERNEL, &ctx);
  if (kernel == NULL) return NULL;
  weir_function function = NULL;
  memcpy(&function, &(uintptr_t){(uintptr_t)address}, sizeof function);
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_kernel_set_cpu(kernel, function);
  END_WEIR
  return none_or_raise(status);
}

// kernel_set_cuda(kernel, source or None, image or None, ptx, options or None, groups, function, (x, y, z), shared bytes)
static PyObject *kernel_set_cuda(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *object_;
  const char *image;
  Py_ssize_t image_bytes;
  int ptx, groups;
  weir_cuda_code code = {0};
  weir_cuda_launch launch = {0};
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "Ozz#pzps(III)I", &object_, &code.source, &image, &image_bytes, &ptx, &code.options,
                        &groups, &launch.function, &launch.block[0], &launch.block[1], &launch.block[2],
                        &launch.shared_bytes))
    return NULL;
  code.image = image;
  code.image_bytes = ptx ? 0 : (uint64_t)image_bytes;
  code.groups = groups != 0;
  weir_kernel *kernel = object_handle(object_, KERNEL, &ctx);
  if (kernel == NULL) return NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_kernel_set_cuda(kernel, &code, &launch, 1);
  END_WEIR
  return none_or_raise(status);
}

// kernel_set_opencl(kernel, source or None, spirv or None, options or None, exact, entry, (x, y, z), [local bytes])
static PyObject *kernel_set_opencl(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *object_, *local;
  const char *spirv;
  Py_ssize_t spirv_bytes;
  int exact;
  weir_opencl_code code = {0};
  weir_opencl_launch launch = {0};
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "Ozz#zps(III)O!", &object_, &code.source, &spirv, &spirv_bytes, &code.options,
                        &exact, &launch.entry, &launch.local[0], &launch.local[1], &launch.local[2], &PyTuple_Type,
                        &local))
    return NULL;
  code.spirv = spirv;
  code.spirv_bytes = (uint64_t)spirv_bytes;
  code.exact = exact != 0;
  Py_ssize_t count = PyTuple_Size(local);
  if (count > WEIR_OPENCL_MOST_LOCAL) {
    PyErr_Format(PyExc_ValueError, "%zd arguments of local memory; there can be %d", count, WEIR_OPENCL_MOST_LOCAL);
    return NULL;
  }
  launch.local_count = (uint32_t)count;
  for (Py_ssize_t i = 0; i < count; i++) {
    launch.local_bytes[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(local, i));
    if (PyErr_Occurred()) return NULL;
  }
  weir_kernel *kernel = object_handle(object_, KERNEL, &ctx);
  if (kernel == NULL) return NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_kernel_set_opencl(kernel, &code, &launch);
  END_WEIR
  return none_or_raise(status);
}

// kernel_set_vulkan(kernel, spirv, entry or None, ((id, bytes of the constant), ...))
static PyObject *kernel_set_vulkan(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *object_, *constants;
  const char *words;
  Py_ssize_t bytes;
  weir_vulkan_code code = {0};
  weir_vulkan_launch launch = {0};
  weir_vulkan_constant values[64];
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "Oy#zO!", &object_, &words, &bytes, &launch.entry, &PyTuple_Type, &constants))
    return NULL;
  code.words = words;
  code.bytes = (uint64_t)bytes;
  Py_ssize_t count = PyTuple_Size(constants);
  if ((size_t)count > sizeof values / sizeof *values) {
    PyErr_SetString(PyExc_ValueError, "there can be 64 specialization constants");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    const char *value;
    Py_ssize_t length;
    memset(&values[i], 0, sizeof values[i]);
    if (!PyArg_ParseTuple(PyTuple_GetItem(constants, i), "Iy#", &values[i].id, &value, &length)) return NULL;
    if (length != 4 && length != 8) {
      PyErr_Format(PyExc_ValueError, "specialization constant %u has %zd bytes: there are 4 or 8", values[i].id,
                   length);
      return NULL;
    }
    values[i].bytes = (uint32_t)length;
    memcpy(&values[i].u64, value, (size_t)length);
  }
  launch.constants = values;
  launch.constant_count = (uint32_t)count;
  weir_kernel *kernel = object_handle(object_, KERNEL, &ctx);
  if (kernel == NULL) return NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_kernel_set_vulkan(kernel, &code, &launch, 1);
  END_WEIR
  return none_or_raise(status);
}

// kernel_code(address of a weir_kernel_code): its function for the CPU, and the size of a work-group.
static PyObject *kernel_code(PyObject *self, PyObject *arguments) {
  (void)self;
  unsigned long long address;
  if (!PyArg_ParseTuple(arguments, "K", &address)) return NULL;
  const weir_kernel_code *code = (const weir_kernel_code *)(uintptr_t)address;
  uintptr_t function;
  memcpy(&function, &code->function, sizeof function);
  return Py_BuildValue("(K(III))", (unsigned long long)function, code->block[0], code->block[1], code->block[2]);
}

PyMethodDef kernel_methods[] = {{"kernel_create", kernel_create, METH_VARARGS, NULL},
                                {"kernel_set_cpu", kernel_set_cpu, METH_VARARGS, NULL},
                                {"kernel_set_cuda", kernel_set_cuda, METH_VARARGS, NULL},
                                {"kernel_set_opencl", kernel_set_opencl, METH_VARARGS, NULL},
                                {"kernel_set_vulkan", kernel_set_vulkan, METH_VARARGS, NULL},
                                {"kernel_code", kernel_code, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
