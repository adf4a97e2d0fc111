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

static PyObject *relax_with(context *ctx, weir_device *device, void *graph, weir_cuda_adopt_options *options) {
  weir_cuda_nodes *nodes;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_cuda_nodes_read(device, graph, &nodes);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  PyObject *result = relax_nodes(ctx, nodes, options);
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
  PyObject *result = own_managed == NULL ? NULL : relax_with(ctx, device, (void *)(uintptr_t)graph, &options);
  PyMem_Free(own);
  PyMem_Free(own_managed);
  return result;
}

PyMethodDef relax_methods[] = {{"relax", relax, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
