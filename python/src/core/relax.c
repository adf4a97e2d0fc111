// SPDX-License-Identifier: Apache-2.0
//
// Captured CUDA graphs that get the edges of their true dependences (weir/relax.h).
#include <string.h>

#include "core.h"
#include "weir/relax.h"

// With nodes that were read.
static PyObject *relax_nodes(context *ctx, const weir_cuda_nodes *nodes, weir_cuda_adopt_options *options) {
  bool *undescribed = PyMem_Malloc((size_t)nodes->count + 1);
  if (undescribed == NULL) return PyErr_NoMemory();
  options->out_undescribed = undescribed;
  uint64_t edges = 0;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_cuda_graph_relax(nodes, options, &edges);
  END_WEIR
  PyObject *result = status != WEIR_OK ? raise_status(status)
                                       : Py_BuildValue("(Ky#)", (unsigned long long)edges, (char *)undescribed,
                                                       (Py_ssize_t)nodes->count);
  PyMem_Free(undescribed);
  return result;
}

typedef PyObject *(*use_nodes)(context *ctx, const weir_cuda_nodes *nodes, weir_cuda_adopt_options *options);

// Reads a graph's nodes, and calls `use` with them.
static PyObject *with_nodes(context *ctx, weir_device *device, void *graph, weir_cuda_adopt_options *options,
                            use_nodes use) {
  weir_cuda_nodes *nodes;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_cuda_nodes_read(device, graph, &nodes);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  PyObject *result = use(ctx, nodes, options);
  BEGIN_WEIR(ctx)
  weir_cuda_nodes_release(nodes);
  END_WEIR
  return result;
}

// A copy, aligned. NULL: an exception.
static void *copy_bytes(const char *from, Py_ssize_t bytes) {
  void *made = PyMem_Malloc((size_t)bytes + 1);
  if (made == NULL)
    PyErr_NoMemory();
  else if (bytes > 0)
    memcpy(made, from, (size_t)bytes);
  return made;
}

// relax(context, device number, CUgraph, accesses, managed or None): bytes, elements of weir_cuda_access and of
// weir_cuda_range; with the latter, parameters are checked (weir_cuda_adopt_options.check_parameters).
// Returns the number of edges, and for each node a byte: whether nobody described it.
static PyObject *relax(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  PyObject *number;
  unsigned long long graph;
  const char *accesses, *managed;
  Py_ssize_t bytes, managed_bytes;
  weir_device *device;
  if (!PyArg_ParseTuple(arguments, "O!OKy#z#", context_type, &ctx, &number, &graph, &accesses, &bytes, &managed,
                        &managed_bytes) ||
      !context_usable(ctx) || !context_device(ctx, number, &device))
    return NULL;
  if (managed == NULL) managed_bytes = 0;
  size_t count = (size_t)bytes / sizeof(weir_cuda_access), ranges = (size_t)managed_bytes / sizeof(weir_cuda_range);
  if (count * sizeof(weir_cuda_access) != (size_t)bytes || count > UINT32_MAX ||
      ranges * sizeof(weir_cuda_range) != (size_t)managed_bytes) {
    PyErr_SetString(PyExc_ValueError, "relax: the bytes are no whole number of elements");
    return NULL;
  }
  weir_cuda_access *own = copy_bytes(accesses, bytes);
  weir_cuda_range *own_managed = own == NULL ? NULL : copy_bytes(managed, managed_bytes);
  weir_cuda_adopt_options options = {.accesses = own,
                                     .access_count = (uint32_t)count,
                                     .check_parameters = managed != NULL,
                                     .managed = own_managed,
                                     .managed_count = ranges};
  PyObject *result =
      own_managed == NULL ? NULL : with_nodes(ctx, device, (void *)(uintptr_t)graph, &options, relax_nodes);
  PyMem_Free(own);
  PyMem_Free(own_managed);
  return result;
}

static PyObject *adopt_nodes(context *ctx, const weir_cuda_nodes *nodes, weir_cuda_adopt_options *options) {
  weir_graph *graph = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_cuda_graph_adopt(nodes, options, &graph);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  return graph_object(ctx, graph);
}

// The texts of a tuple of bytes, which must live as long. NULL: an exception.
static const char **texts_of(PyObject *labels) {
  Py_ssize_t count = PyTuple_Size(labels);
  const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
  if (texts == NULL) PyErr_NoMemory();
  for (Py_ssize_t i = 0; texts != NULL && i < count; i++) {
    texts[i] = PyBytes_AsString(PyTuple_GetItem(labels, i));
    if (texts[i] != NULL) continue;
    PyMem_Free(texts);
    texts = NULL;
  }
  return texts;
}

// adopt(context, device number, CUgraph, accesses, labels): accesses as for relax; for each node its name as bytes.
// Returns a graph, whose nodes are the CUgraph's.
static PyObject *adopt(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  PyObject *number, *labels;
  unsigned long long graph;
  const char *accesses;
  Py_ssize_t bytes;
  weir_device *device;
  if (!PyArg_ParseTuple(arguments, "O!OKy#O!", context_type, &ctx, &number, &graph, &accesses, &bytes, &PyTuple_Type,
                        &labels) ||
      !context_usable(ctx) || !context_device(ctx, number, &device))
    return NULL;
  const char **texts = texts_of(labels);
  weir_cuda_access *own = texts == NULL ? NULL : copy_bytes(accesses, bytes);
  weir_cuda_adopt_options options = {
      .accesses = own, .access_count = (uint32_t)((size_t)bytes / sizeof(weir_cuda_access)), .labels = texts};
  PyObject *result = own == NULL ? NULL : with_nodes(ctx, device, (void *)(uintptr_t)graph, &options, adopt_nodes);
  PyMem_Free(own);
  PyMem_Free(texts);
  return result;
}

PyMethodDef relax_methods[] = {
    {"relax", relax, METH_VARARGS, NULL}, {"adopt", adopt, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
