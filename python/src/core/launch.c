// SPDX-License-Identifier: Apache-2.0
//
// Launches of an executable CUDA graph with copies into its inputs, in one call: weir.torch's calls of a model.
//
// The driver's functions come as addresses, since weir._core is linked with no driver. An input is copied by a node of
// the graph, of which each launch sets the source, or else in the stream before the launch.
#include <string.h>

#include "core.h"

enum { MOST_INPUTS = 64, DEVICE_MEMORY = 2, NOT_CAPTURING = 0 };

// CUDA_MEMCPY3D, as cuda.h says it.
typedef struct copy_end {
  size_t x, y, z, level;
  unsigned memory;
  const void *host;
  uint64_t device;
  void *array, *reserved;
  size_t pitch, height;
} copy_end;

typedef struct copy_parameters {
  copy_end source, destination;
  size_t width, height, depth;
} copy_parameters;

typedef struct input {
  void *node; // NULL: copied before the launch
  uint64_t to, bytes;
} input;

typedef struct launch {
  int (*push)(void *context);
  int (*pop)(void **context);
  int (*capturing)(void *stream, int *status);
  int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
  int (*set_copy)(void *exec, void *node, const copy_parameters *parameters, void *context);
  int (*start)(void *exec, void *stream);
  void *context, *exec;
  unsigned count;
  input inputs[MOST_INPUTS];
} launch;

static const char kind[] = "weir.launch";

static void free_launch(PyObject *capsule) {
  PyMem_Free(PyCapsule_GetPointer(capsule, kind));
}

static bool read_inputs(PyObject *list, launch *made) {
  Py_ssize_t count = PySequence_Size(list);
  if (count < 0 || count > MOST_INPUTS) {
    PyErr_Format(PyExc_ValueError, "launch: at most %d inputs", MOST_INPUTS);
    return false;
  }
  made->count = (unsigned)count;
  for (Py_ssize_t i = 0; i < count; i++) {
    unsigned long long node, to, bytes;
    PyObject *item = PySequence_GetItem(list, i);
    bool good = item != NULL && PyArg_ParseTuple(item, "KKK", &node, &to, &bytes);
    Py_XDECREF(item);
    if (!good) return false;
    made->inputs[i] = (input){(void *)(uintptr_t)node, to, bytes};
  }
  return true;
}

// cuda_launch(functions, context, executable graph, inputs): addresses of cuCtxPushCurrent_v2, cuCtxPopCurrent_v2,
// cuStreamIsCapturing, cuMemcpyAsync, cuGraphExecMemcpyNodeSetParams and cuGraphLaunch, the CUcontext, the CUgraphExec,
// and for each input the CUgraphNode that copies it (or 0), where to, and how many bytes. All of it must live as long
// as what is returned.
static PyObject *cuda_launch(PyObject *self, PyObject *arguments) {
  (void)self;
  unsigned long long functions[6], current, exec;
  PyObject *list;
  if (!PyArg_ParseTuple(arguments, "(KKKKKK)KKO", &functions[0], &functions[1], &functions[2], &functions[3],
                        &functions[4], &functions[5], &current, &exec, &list))
    return NULL;
  launch *made = PyMem_Calloc(1, sizeof *made);
  if (made == NULL) return PyErr_NoMemory();
  made->push = (int (*)(void *))(uintptr_t)functions[0];
  made->pop = (int (*)(void **))(uintptr_t)functions[1];
  made->capturing = (int (*)(void *, int *))(uintptr_t)functions[2];
  made->copy = (int (*)(uint64_t, uint64_t, size_t, void *))(uintptr_t)functions[3];
  made->set_copy = (int (*)(void *, void *, const copy_parameters *, void *))(uintptr_t)functions[4];
  made->start = (int (*)(void *, void *))(uintptr_t)functions[5];
  made->context = (void *)(uintptr_t)current;
  made->exec = (void *)(uintptr_t)exec;
  PyObject *capsule = read_inputs(list, made) ? PyCapsule_New(made, kind, free_launch) : NULL;
  if (capsule == NULL) PyMem_Free(made);
  return capsule;
}

static int copy_input(const launch *l, const input *in, uint64_t from, void *stream) {
  if (in->node == NULL) return in->to == from ? 0 : l->copy(in->to, from, in->bytes, stream);
  const copy_parameters parameters = {.source = {.memory = DEVICE_MEMORY, .device = from},
                                      .destination = {.memory = DEVICE_MEMORY, .device = in->to},
                                      .width = in->bytes,
                                      .height = 1,
                                      .depth = 1};
  return l->set_copy(l->exec, in->node, &parameters, l->context);
}

// The driver's result, or -1: the stream is being captured.
static int run(const launch *l, const uint64_t *from, void *stream, bool start) {
  int status = NOT_CAPTURING, result = l->capturing(stream, &status);
  if (result == 0 && status != NOT_CAPTURING) return -1;
  for (unsigned i = 0; i < l->count && result == 0; i++) result = copy_input(l, &l->inputs[i], from[i], stream);
  return result == 0 && start ? l->start(l->exec, stream) : result;
}

// cuda_launch_run(launch, stream, start, addresses): copies the inputs from these addresses, one for each input, and
// launches the graph in the stream if `start` is true. Returns the driver's result; -1: the stream is being captured.
static PyObject *cuda_launch_run(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *capsule, *list;
  unsigned long long stream;
  int start, result;
  uint64_t from[MOST_INPUTS];
  if (!PyArg_ParseTuple(arguments, "OKpO!", &capsule, &stream, &start, &PyTuple_Type, &list)) return NULL;
  const launch *l = PyCapsule_GetPointer(capsule, kind);
  if (l == NULL) return NULL;
  if (PyTuple_Size(list) != (Py_ssize_t)l->count) {
    PyErr_SetString(PyExc_ValueError, "launch: an address for each input");
    return NULL;
  }
  for (unsigned i = 0; i < l->count; i++) from[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(list, (Py_ssize_t)i));
  if (PyErr_Occurred()) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  result = l->push(l->context);
  if (result == 0) {
    result = run(l, from, (void *)(uintptr_t)stream, start != 0);
    void *popped;
    l->pop(&popped);
  }
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(result);
}

PyMethodDef launch_methods[] = {{"cuda_launch", cuda_launch, METH_VARARGS, NULL},
                                {"cuda_launch_run", cuda_launch_run, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
