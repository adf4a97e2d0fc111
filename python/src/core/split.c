// SPDX-License-Identifier: Apache-2.0
//
// Splits: one launch over several devices (weir/split.h).
#include <string.h>

#include "core.h"
#include "weir/split.h"

enum { MOST_SPLIT_ARGS = 64 };

// The numbers of a tuple, as many as it has; None: none. Returns false with an exception.
static bool devices_from(context *ctx, PyObject *tuple, weir_device **out, uint32_t *out_count) {
  *out_count = 0;
  if (tuple == Py_None) return true;
  Py_ssize_t count = PyTuple_Size(tuple);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count && i < WEIR_SPLIT_MOST_DEVICES; i++)
    if (!context_device(ctx, PyTuple_GetItem(tuple, i), &out[i])) return false;
  *out_count = (uint32_t)count;
  return true;
}

// split_create(context, devices or None, policy, shares or None, granularities or None, rounds, floor, least, resident,
// history or None)
static PyObject *split_create(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  PyObject *devices, *shares, *granularities;
  weir_split_options options = {0};
  weir_device *list[WEIR_SPLIT_MOST_DEVICES];
  double share[WEIR_SPLIT_MOST_DEVICES];
  uint32_t granularity[WEIR_SPLIT_MOST_DEVICES];
  int resident;
  if (!PyArg_ParseTuple(arguments, "O!OsOOIdIpz", context_type, &ctx, &devices, &options.policy, &shares,
                        &granularities, &options.rounds, &options.floor, &options.least, &resident, &options.history) ||
      !context_usable(ctx) || !devices_from(ctx, devices, list, &options.device_count))
    return NULL;
  options.devices = options.device_count > 0 ? (weir_device *const *)list : NULL;
  options.resident = resident != 0;
  for (Py_ssize_t i = 0; shares != Py_None && i < PyTuple_Size(shares); i++) {
    share[i] = PyFloat_AsDouble(PyTuple_GetItem(shares, i));
    options.shares = share;
  }
  for (Py_ssize_t i = 0; granularities != Py_None && i < PyTuple_Size(granularities); i++) {
    granularity[i] = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(granularities, i));
    options.granularities = granularity;
  }
  if (PyErr_Occurred()) return NULL;
  ctx->keeps_gil = false; // a launch reserves room for its parts
  weir_split *split = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_split_create(open_, &options, &split);
  END_WEIR
  return status == WEIR_OK ? object_make(object_type, ctx, split, SPLIT) : raise_status(status);
}

// An argument: an access (all of it), bytes (a value), (access, bytes of a work-group, before, after), or a number: the
// part, with the halo of that argument.
static bool split_arg(context *ctx, PyObject *from, Py_ssize_t at, weir_split_arg *out, weir_box *box) {
  memset(out, 0, sizeof *out);
  if (Py_TYPE(from) == access_type) return arg_from_access(ctx, (array_access *)from, at, &out->arg, box);
  if (PyBytes_Check(from)) {
    out->arg = (weir_arg){.value = PyBytes_AsString(from), .bytes = (uint64_t)PyBytes_Size(from)};
    return true;
  }
  if (PyLong_Check(from)) {
    out->mapping = WEIR_SPLIT_PART;
    out->halo_of = (uint32_t)PyLong_AsUnsignedLong(from);
    return !PyErr_Occurred();
  }
  PyObject *whole;
  unsigned long long group_bytes;
  unsigned int before, after;
  if (!PyArg_ParseTuple(from, "O!KII", access_type, &whole, &group_bytes, &before, &after)) return false;
  if (!arg_from_access(ctx, (array_access *)whole, at, &out->arg, box)) return false;
  out->mapping = WEIR_SPLIT_BLOCK;
  out->group_bytes = group_bytes;
  out->halo_before = before;
  out->halo_after = after;
  return true;
}

// split_submit(split, kernel, arguments, groups, dimension, granularity, priority, label or None, tag): the event
static PyObject *split_submit(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *split_object, *kernel_object, *given, *groups;
  weir_split_launch launch = {0};
  weir_split_arg args[MOST_SPLIT_ARGS];
  weir_box boxes[MOST_SPLIT_ARGS];
  unsigned long long tag;
  context *ctx, *of;
  if (!PyArg_ParseTuple(arguments, "OOO!OIIizK", &split_object, &kernel_object, &PyTuple_Type, &given, &groups,
                        &launch.dimension, &launch.granularity, &launch.priority, &launch.label, &tag))
    return NULL;
  if (!groups_parse(groups, launch.groups)) return NULL; // runs code of Python, in which the rest may be released
  weir_split *split = object_handle(split_object, SPLIT, &ctx);
  if (split == NULL) return NULL;
  launch.kernel = object_handle(kernel_object, KERNEL, &of);
  if (launch.kernel == NULL) return NULL;
  Py_ssize_t count = PyTuple_Size(given);
  if (count > MOST_SPLIT_ARGS) {
    PyErr_Format(PyExc_ValueError, "%zd arguments; a split launch from Python has %d at most", count, MOST_SPLIT_ARGS);
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; i++)
    if (!split_arg(ctx, PyTuple_GetItem(given, i), i, &args[i], &boxes[i])) return NULL;
  launch.args = args;
  launch.arg_count = (uint32_t)count;
  launch.tag = tag;
  weir_event *handle = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_split_submit(split, &launch, &handle);
  END_WEIR
  return status == WEIR_OK ? event_make(ctx, handle, NULL, NULL) : raise_status(status);
}

// split_last_round(split): (launch, status, kernel, policy, why, groups, redone, wall_ns, ((device index, parts, groups,
// share, busy_ns, failed), ...))
static PyObject *split_last_round(PyObject *self, PyObject *split_object) {
  (void)self;
  context *ctx;
  weir_split *split = object_handle(split_object, SPLIT, &ctx);
  if (split == NULL) return NULL;
  weir_split_round round;
  weir_status status = weir_split_last_round(split, &round);
  if (status != WEIR_OK) return raise_status(status);
  PyObject *devices = PyList_New(0);
  for (uint32_t i = 0; devices != NULL && i < round.device_count; i++) {
    const weir_split_device_round *one = &round.devices[i];
    PyObject *row = Py_BuildValue("(sIKdKN)", weir_device_information(one->device)->name, one->parts,
                                  (unsigned long long)one->groups, one->share, (unsigned long long)one->busy_ns,
                                  PyBool_FromLong(one->failed));
    if (row == NULL || PyList_Append(devices, row) != 0) Py_CLEAR(devices);
    Py_XDECREF(row);
  }
  if (devices == NULL) return NULL;
  return Py_BuildValue("(KissskIKN)", (unsigned long long)round.launch, (int)round.status, round.kernel, round.policy,
                       round.why, (unsigned long)round.groups, round.redone, (unsigned long long)round.wall_ns,
                       devices);
}

// split_warning(split): a text on its file, or "".
static PyObject *split_warning(PyObject *self, PyObject *split_object) {
  (void)self;
  context *ctx;
  weir_split *split = object_handle(split_object, SPLIT, &ctx);
  return split == NULL ? NULL : PyUnicode_FromString(weir_split_warning(split));
}

PyMethodDef split_methods[] = {{"split_create", split_create, METH_VARARGS, NULL},
                               {"split_submit", split_submit, METH_VARARGS, NULL},
                               {"split_last_round", split_last_round, METH_O, NULL},
                               {"split_warning", split_warning, METH_O, NULL},
                               {NULL, NULL, 0, NULL}};
