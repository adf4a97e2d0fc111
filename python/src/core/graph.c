// SPDX-License-Identifier: Apache-2.0
//
// Graphs. The graph's object keeps what its functions need (jobs, as capsules).
#include <string.h>

#include "core.h"

static const char JOB[] = "weir job";

static void free_job(PyObject *capsule) {
  job_drop(PyCapsule_GetPointer(capsule, JOB));
}

PyObject *graph_object(context *ctx, weir_graph *graph) {
  object *made = (object *)object_make(object_type, ctx, graph, GRAPH);
  if (made == NULL) return NULL;
  made->jobs = PyList_New(0);
  if (made->jobs == NULL) Py_CLEAR(made);
  return (PyObject *)made;
}

// graph_create(context, device index or None, queue, timing)
static PyObject *graph_create(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  PyObject *index;
  unsigned int queue;
  int timing;
  weir_graph_options options = {0};
  if (!PyArg_ParseTuple(arguments, "O!OIp", context_type, &ctx, &index, &queue, &timing) || !context_usable(ctx) ||
      !context_device(ctx, index, &options.device))
    return NULL;
  options.queue = queue;
  options.timing = timing != 0;
  weir_graph *graph = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_graph_create(open_, &options, &graph);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  return graph_object(ctx, graph);
}

// graph_add(graph, (work, *arguments), keywords): the number of the node.
static PyObject *graph_add(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *graph_object, *call, *keywords, *result = NULL;
  if (!PyArg_ParseTuple(arguments, "OO!O!", &graph_object, &PyTuple_Type, &call, &PyDict_Type, &keywords)) return NULL;
  context *ctx;
  weir_graph *graph = object_handle(graph_object, GRAPH, &ctx);
  if (graph == NULL) return NULL;
  request one;
  PyObject *capsule = NULL;
  if (!request_fill(&one, ctx, call, keywords, false)) goto end;
  graph = object_handle(graph_object, GRAPH, &ctx); // code of Python ran, in which it may have been released
  if (graph == NULL) goto end;
  if (one.task.host != NULL) {
    one.work = job_create(ctx, call, true);
    if (one.work == NULL) goto end;
    capsule = PyCapsule_New(one.work, JOB, free_job);
    if (capsule == NULL) {
      job_drop(one.work);
      goto end;
    }
    one.task.user = one.work;
    if (PyList_Append(((object *)graph_object)->jobs, capsule) != 0) goto end;
  }
  uint32_t node = 0;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_graph_add(graph, &one.task, &node);
  END_WEIR
  result = status == WEIR_OK ? PyLong_FromUnsignedLong(node) : raise_status(status);
end:
  Py_XDECREF(capsule);
  request_free(&one);
  return result;
}

// A launch in flight of a graph that was released may need its jobs.
static void keep_jobs(context *ctx, weir_event *handle, PyObject *jobs) {
  if (jobs == NULL || !context_alive(ctx) || event_keep_until_done(ctx, handle, jobs)) return;
  PyErr_Clear();
  Py_INCREF(jobs); // they stay
}

// graph_launch(graph)
static PyObject *graph_launch(PyObject *self, PyObject *graph_object) {
  (void)self;
  context *ctx;
  weir_graph *graph = object_handle(graph_object, GRAPH, &ctx);
  if (graph == NULL) return NULL;
  weir_event *handle = NULL;
  weir_status status;
  PyObject *jobs = ((object *)graph_object)->jobs; // another thread may release the graph meanwhile
  Py_XINCREF(jobs);
  room_taken(ctx);
  BEGIN_WEIR(ctx)
  status = weir_graph_launch(graph, &handle);
  END_WEIR
  if (status == WEIR_OK && ((object *)graph_object)->handle == NULL) keep_jobs(ctx, handle, jobs);
  PyObject *made = status == WEIR_OK ? event_make(ctx, handle, NULL, NULL) : raise_status(status);
  Py_XDECREF(jobs);
  return made;
}

static PyObject *graph_build(PyObject *self, PyObject *graph_object) {
  (void)self;
  context *ctx;
  weir_graph *graph = object_handle(graph_object, GRAPH, &ctx);
  if (graph == NULL) return NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_graph_build(graph);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  Py_RETURN_NONE;
}

// graph_set_arg(graph, node, index, access or bytes)
static PyObject *graph_set_arg(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *graph_object, *value;
  unsigned int node, index;
  if (!PyArg_ParseTuple(arguments, "OIIO", &graph_object, &node, &index, &value)) return NULL;
  context *ctx;
  weir_graph *graph = object_handle(graph_object, GRAPH, &ctx);
  weir_arg arg = {0};
  weir_box box;
  if (graph == NULL) return NULL;
  if (PyBytes_Check(value)) {
    arg.value = PyBytes_AsString(value);
    arg.bytes = (uint64_t)PyBytes_Size(value);
  } else if (Py_TYPE(value) != access_type) {
    PyErr_SetString(PyExc_TypeError, "an access of a buffer (weir.read(a), ...) or bytes are expected");
    return NULL;
  } else if (!arg_from_access(ctx, (array_access *)value, (Py_ssize_t)index, &arg, &box))
    return NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_graph_set_arg(graph, node, index, &arg);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  Py_RETURN_NONE;
}

// graph_info(graph): tasks, running, edges, build_ns
static PyObject *graph_info(PyObject *self, PyObject *graph_object) {
  (void)self;
  context *ctx;
  weir_graph *graph = object_handle(graph_object, GRAPH, &ctx);
  weir_graph_info info;
  if (graph == NULL) return NULL;
  weir_status status = weir_graph_information(graph, &info);
  if (status != WEIR_OK) return raise_status(status);
  return Py_BuildValue("(IIKK)", info.tasks, info.running, (unsigned long long)info.edges,
                       (unsigned long long)info.build_ns);
}

// graph_times(graph, starts, ends): fills the two arrays of 64-bit numbers, given by address and count.
static PyObject *graph_times(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *graph_object;
  unsigned long long starts, ends;
  unsigned int count;
  if (!PyArg_ParseTuple(arguments, "OKKI", &graph_object, &starts, &ends, &count)) return NULL;
  context *ctx;
  weir_graph *graph = object_handle(graph_object, GRAPH, &ctx);
  if (graph == NULL) return NULL;
  weir_status status = weir_graph_times(graph, count, (uint64_t *)(uintptr_t)starts, (uint64_t *)(uintptr_t)ends);
  if (status != WEIR_OK) return raise_status(status);
  Py_RETURN_NONE;
}

PyMethodDef graph_methods[] = {
    {"graph_create", graph_create, METH_VARARGS, NULL},   {"graph_add", graph_add, METH_VARARGS, NULL},
    {"graph_launch", graph_launch, METH_O, NULL},         {"graph_build", graph_build, METH_O, NULL},
    {"graph_set_arg", graph_set_arg, METH_VARARGS, NULL}, {"graph_info", graph_info, METH_O, NULL},
    {"graph_times", graph_times, METH_VARARGS, NULL},     {NULL, NULL, 0, NULL}};
