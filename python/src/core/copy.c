// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills, as tasks and as nodes of graphs. The caller in Python has checked types and sizes.
#include "core.h"
#include "weir/graph.h"

static bool place(PyObject *from, context **ctx, weir_buffer **out_buffer, uint64_t *out_offset, uint64_t *out_bytes) {
  if (!PyObject_TypeCheck(from, array_type)) {
    PyErr_Format(PyExc_TypeError, "a Buffer is expected, and not %S", (PyObject *)Py_TYPE(from));
    return false;
  }
  const array *what = (array *)from;
  if (*ctx == NULL) *ctx = what->memory->ctx;
  if (!context_usable(*ctx)) return false;
  if (what->memory->ctx != *ctx) {
    raise_text(WEIR_ERROR_INVALID_ARGUMENT, "the buffer belongs to another context");
    return false;
  }
  if (what->memory->handle == NULL) {
    raise_text(WEIR_ERROR_RELEASED, "%s", storage_why_missing(what->memory));
    return false;
  }
  if (what->boxed) {
    raise_text(
        WEIR_ERROR_INVALID_ARGUMENT,
        "a slice with gaps cannot be copied or filled: copy the rows between its first and its last, or submit a "
        "function");
    return false;
  }
  room_taken(*ctx);
  *out_buffer = what->memory->handle;
  *out_offset = what->offset;
  *out_bytes = what->bytes;
  return true;
}

// Ends a submission: an event with `keep`, which tasks in flight need.
static PyObject *submitted(context *ctx, weir_status status, weir_event *handle, PyObject *keep) {
  if (status != WEIR_OK) return raise_status(status);
  if (keep != NULL && !event_keep_until_done(ctx, handle, keep)) {
    Py_INCREF(keep); // it stays: the copy may use it
    weir_event_release(handle);
    return NULL;
  }
  return event_make(ctx, handle, NULL, keep);
}

// copy_in(array, address, owner), copy_out(array, address, owner): the host's memory at an address.
static PyObject *copy_host(PyObject *arguments, bool in) {
  PyObject *what, *owner;
  unsigned long long address;
  if (!PyArg_ParseTuple(arguments, "OKO", &what, &address, &owner)) return NULL;
  context *ctx = NULL;
  weir_buffer *buffer;
  uint64_t offset, bytes;
  if (!place(what, &ctx, &buffer, &offset, &bytes)) return NULL;
  weir_event *handle = NULL;
  weir_status status;
  void *memory = (void *)(uintptr_t)address;
  BEGIN_WEIR(ctx)
  status =
      in ? weir_copy_in(buffer, offset, bytes, memory, &handle) : weir_copy_out(buffer, offset, bytes, memory, &handle);
  END_WEIR
  return submitted(ctx, status, handle, owner);
}

static PyObject *copy_in(PyObject *self, PyObject *arguments) {
  (void)self;
  return copy_host(arguments, true);
}

static PyObject *copy_out(PyObject *self, PyObject *arguments) {
  (void)self;
  return copy_host(arguments, false);
}

static PyObject *copy(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *to, *from;
  if (!PyArg_ParseTuple(arguments, "OO", &to, &from)) return NULL;
  context *ctx = NULL;
  weir_buffer *target, *source;
  uint64_t target_offset, source_offset, room, bytes;
  if (!place(to, &ctx, &target, &target_offset, &room) || !place(from, &ctx, &source, &source_offset, &bytes))
    return NULL;
  weir_event *handle = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_copy(target, target_offset, source, source_offset, bytes, &handle);
  END_WEIR
  return submitted(ctx, status, handle, NULL);
}

static PyObject *fill(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *what;
  unsigned int pattern;
  if (!PyArg_ParseTuple(arguments, "OI", &what, &pattern)) return NULL;
  context *ctx = NULL;
  weir_buffer *buffer;
  uint64_t offset, bytes;
  if (!place(what, &ctx, &buffer, &offset, &bytes)) return NULL;
  weir_event *handle = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_fill(buffer, offset, bytes, pattern, &handle);
  END_WEIR
  return submitted(ctx, status, handle, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// The same in graphs

static PyObject *node_made(weir_status status, uint32_t node) {
  return status == WEIR_OK ? PyLong_FromUnsignedLong(node) : raise_status(status);
}

// graph_copy_host(graph, array, address, in)
static PyObject *graph_copy_host(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *graph_object, *what;
  unsigned long long address;
  int in;
  if (!PyArg_ParseTuple(arguments, "OOKp", &graph_object, &what, &address, &in)) return NULL;
  context *ctx;
  weir_graph *graph = object_handle(graph_object, GRAPH, &ctx);
  weir_buffer *buffer;
  uint64_t offset, bytes;
  if (graph == NULL || !place(what, &ctx, &buffer, &offset, &bytes)) return NULL;
  uint32_t node = 0;
  weir_status status;
  void *memory = (void *)(uintptr_t)address;
  BEGIN_WEIR(ctx)
  status = in ? weir_graph_copy_in(graph, buffer, offset, bytes, memory, &node)
              : weir_graph_copy_out(graph, buffer, offset, bytes, memory, &node);
  END_WEIR
  return node_made(status, node);
}

static PyObject *graph_copy(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *graph_object, *to, *from;
  if (!PyArg_ParseTuple(arguments, "OOO", &graph_object, &to, &from)) return NULL;
  context *ctx;
  weir_graph *graph = object_handle(graph_object, GRAPH, &ctx);
  weir_buffer *target, *source;
  uint64_t target_offset, source_offset, room, bytes;
  if (graph == NULL || !place(to, &ctx, &target, &target_offset, &room) ||
      !place(from, &ctx, &source, &source_offset, &bytes))
    return NULL;
  uint32_t node = 0;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_graph_copy(graph, target, target_offset, source, source_offset, bytes, &node);
  END_WEIR
  return node_made(status, node);
}

static PyObject *graph_fill(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *graph_object, *what;
  unsigned int pattern;
  if (!PyArg_ParseTuple(arguments, "OOI", &graph_object, &what, &pattern)) return NULL;
  context *ctx;
  weir_graph *graph = object_handle(graph_object, GRAPH, &ctx);
  weir_buffer *buffer;
  uint64_t offset, bytes;
  if (graph == NULL || !place(what, &ctx, &buffer, &offset, &bytes)) return NULL;
  uint32_t node = 0;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_graph_fill(graph, buffer, offset, bytes, pattern, &node);
  END_WEIR
  return node_made(status, node);
}

PyMethodDef copy_methods[] = {{"copy_in", copy_in, METH_VARARGS, NULL},
                              {"copy_out", copy_out, METH_VARARGS, NULL},
                              {"copy", copy, METH_VARARGS, NULL},
                              {"fill", fill, METH_VARARGS, NULL},
                              {"graph_copy_host", graph_copy_host, METH_VARARGS, NULL},
                              {"graph_copy", graph_copy, METH_VARARGS, NULL},
                              {"graph_fill", graph_fill, METH_VARARGS, NULL},
                              {NULL, NULL, 0, NULL}};
