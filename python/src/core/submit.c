// SPDX-License-Identifier: Apache-2.0
//
// From the arguments of Context.submit to a weir_task.
#include <stdlib.h>
#include <string.h>

#include "core.h"

// An allocation of more bytes may fail while there is memory for others; then the submission waits for tasks in flight.
enum { MOST_BYTES_WITH_GIL = 1 << 20 };

static const char *const KEYWORDS[] = {"groups", "device", "after", "priority", "label", "tag"};
enum { GROUPS, DEVICE, AFTER, PRIORITY, LABEL, TAG, KEYWORD_COUNT };

bool arg_from_access(context *ctx, const array_access *from, Py_ssize_t at, weir_arg *out, weir_box *box) {
  const array *what = from->what;
  if (what->memory->ctx != ctx) {
    raise_text(WEIR_ERROR_INVALID_ARGUMENT, "argument %zd: the buffer belongs to another context", at);
    return false;
  }
  if (what->memory->handle == NULL) {
    raise_text(WEIR_ERROR_RELEASED, "argument %zd: %s", at, storage_why_missing(what->memory));
    return false;
  }
  *out = (weir_arg){.mode = from->mode, .buffer = what->memory->handle, .offset = what->offset, .bytes = what->bytes};
  if (!what->boxed) return true;
  *box = what->box;
  out->shape = WEIR_BOX;
  out->bytes = 0;
  out->value = box;
  return true;
}

// The bytes of a value: of a bytes object, or of a scalar or small array of NumPy's.
static bool arg_from_value(request *out, PyObject *value, Py_ssize_t at, weir_arg *arg) {
  PyObject *bytes;
  if (PyBytes_Check(value)) {
    Py_INCREF(value);
    bytes = value;
  } else {
    bytes = PyObject_HasAttrString(value, "dtype") ? PyObject_CallMethod(value, "tobytes", NULL) : NULL;
    if (bytes == NULL && PyErr_Occurred()) return false;
    if (bytes == NULL || !PyBytes_Check(bytes)) {
      Py_XDECREF(bytes);
      PyErr_Format(PyExc_TypeError,
                   "argument %zd is %S: an argument of a kernel is an access of a buffer (weir.read(a), weir.write(a), "
                   "...), or a value whose type says its bytes: numpy.float32(x), numpy.int32(n), bytes",
                   at, (PyObject *)Py_TYPE(value));
      return false;
    }
  }
  if (out->values == NULL) out->values = PyList_New(0);
  bool kept = out->values != NULL && PyList_Append(out->values, bytes) == 0;
  Py_DECREF(bytes);
  if (!kept) return false;
  *arg = (weir_arg){.mode = WEIR_VALUE, .value = PyBytes_AsString(bytes), .bytes = (uint64_t)PyBytes_Size(bytes)};
  return true;
}

static bool refuse_array(PyObject *value, Py_ssize_t at) {
  if (!PyObject_TypeCheck(value, array_type)) return false;
  PyErr_Format(PyExc_TypeError,
               "argument %zd is a buffer: say what the task does with it: weir.read(a), weir.write(a), weir.update(a)",
               at);
  return true;
}

static bool make_room(request *out, Py_ssize_t count) {
  out->args = out->few;
  out->boxes = out->few_boxes;
  if (count <= FEW_ARGS) return true;
  out->args = malloc((size_t)count * sizeof *out->args);
  out->boxes = malloc((size_t)count * sizeof *out->boxes);
  if (out->args != NULL && out->boxes != NULL) return true;
  PyErr_NoMemory();
  return false;
}

static bool fill_args(request *out, context *ctx, PyObject *arguments, bool values) {
  Py_ssize_t count = PyTuple_Size(arguments);
  if (!make_room(out, count)) return false;
  uint32_t filled = 0;
  for (Py_ssize_t i = 1; i < count; i++) {
    PyObject *given = PyTuple_GetItem(arguments, i);
    if (Py_TYPE(given) == access_type) {
      if (!arg_from_access(ctx, (array_access *)given, i - 1, &out->args[filled], &out->boxes[filled])) return false;
      const storage *memory = ((array_access *)given)->what->memory;
      out->large |= memory->owner == NULL && memory->bytes > MOST_BYTES_WITH_GIL;
      filled++;
    } else if (refuse_array(given, i - 1))
      return false;
    else if (values && !arg_from_value(out, given, i - 1, &out->args[filled++]))
      return false;
  }
  out->task.args = out->args;
  out->task.arg_count = filled;
  return true;
}

// A number of Python's or NumPy's; -1 with an exception.
static unsigned long long whole_number(PyObject *given) {
  PyObject *number = PyNumber_Index(given);
  if (number == NULL) return (unsigned long long)-1;
  unsigned long long value = PyLong_AsUnsignedLongLong(number);
  Py_DECREF(number);
  return value;
}

bool groups_parse(PyObject *groups, uint32_t out_groups[3]) {
  if (groups == NULL || groups == Py_None) return true;
  bool one = PyIndex_Check(groups) && !PySequence_Check(groups);
  Py_ssize_t count = one ? 1 : PySequence_Size(groups);
  if (count < 0) return false;
  if (count < 1 || count > 3) {
    raise_text(WEIR_ERROR_INVALID_ARGUMENT, "groups has %zd numbers: there are up to three dimensions", count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *number = one ? groups : PySequence_GetItem(groups, i);
    if (number == NULL) return false;
    unsigned long long value = whole_number(number);
    if (!one) Py_DECREF(number);
    if (PyErr_Occurred()) return false;
    if (value == 0 || value > UINT32_MAX) {
      raise_text(WEIR_ERROR_INVALID_ARGUMENT, "groups: %llu is no number of work-groups", value);
      return false;
    }
    out_groups[i] = (uint32_t)value;
  }
  return true;
}

// The label as UTF-8, cut between characters.
static bool fill_label(request *out, PyObject *label) {
  PyObject *bytes = PyUnicode_AsUTF8String(label);
  if (bytes == NULL) return false;
  size_t length = (size_t)PyBytes_Size(bytes);
  const char *text = PyBytes_AsString(bytes);
  if (length >= LABEL_BYTES) {
    length = LABEL_BYTES - 1;
    while (length > 0 && (text[length] & 0xc0) == 0x80) length--;
  }
  memcpy(out->label, text, length);
  out->label[length] = '\0';
  out->task.label = out->label;
  Py_DECREF(bytes);
  return true;
}

static int keyword_index(PyObject *name) {
  for (int i = 0; i < KEYWORD_COUNT; i++)
    if (PyUnicode_CompareWithASCIIString(name, KEYWORDS[i]) == 0) return i;
  PyErr_Format(PyExc_TypeError, "submit() has no keyword argument '%U'", name);
  return -1;
}

static bool device_from(context *ctx, PyObject *device, weir_device **out_device) {
  if (device == Py_None) return true;
  PyObject *index = PyObject_CallMethod((PyObject *)ctx, "_device_index", "(O)", device);
  bool found = index != NULL && context_device(ctx, index, out_device);
  Py_XDECREF(index);
  return found;
}

static bool fill_keyword(request *out, context *ctx, int which, PyObject *value) {
  switch (which) {
  case GROUPS:
    return groups_parse(value, out->task.groups);
  case DEVICE:
    return device_from(ctx, value, &out->task.device);
  case AFTER:
    if (!events_parse(value, out->few_after, FEW_EVENTS, &out->after, &out->task.after_count, &out->keep)) return false;
    out->task.after = out->after;
    return true;
  case PRIORITY:
    return PyArg_Parse(value, "i", &out->task.priority);
  case LABEL:
    if (value != Py_None && !PyUnicode_Check(value)) {
      PyErr_SetString(PyExc_TypeError, "label is a str or None");
      return false;
    }
    return value == Py_None || fill_label(out, value);
  default:
    out->task.tag = whole_number(value);
    return !PyErr_Occurred();
  }
}

static bool fill_keywords(request *out, context *ctx, PyObject *keywords) {
  PyObject *name, *value;
  Py_ssize_t place = 0;
  while (PyDict_Next(keywords, &place, &name, &value)) {
    int which = keyword_index(name);
    if (which < 0 || !fill_keyword(out, ctx, which, value)) return false;
  }
  return true;
}

// A task has the name of its function, unless it has a label.
static void name_task(request *out, PyObject *function) {
  static PyObject *attribute; // made once: a new string would be hashed for each task
  if (attribute == NULL) attribute = PyUnicode_InternFromString("__name__");
  PyObject *name = attribute == NULL ? NULL : PyObject_GetAttr(function, attribute);
  if (name == NULL || !PyUnicode_Check(name) || !fill_label(out, name)) PyErr_Clear();
  Py_XDECREF(name);
}

// Functions of Python run under the GIL: those of one code take about as long. What has no code in Python, like
// time.sleep, may wait, so it gets a worker of its own.
static uint64_t lock_key(PyObject *function) {
  static PyObject *attribute;
  if (attribute == NULL) attribute = PyUnicode_InternFromString("__code__");
  PyObject *code = attribute == NULL ? NULL : PyObject_GetAttr(function, attribute);
  if (code == NULL) PyErr_Clear();
  Py_XDECREF(code);
  return (uint64_t)(uintptr_t)code; // a number, which need not be that of a living object
}

// The kernel or the function of a task.
static bool fill_work(request *out, PyObject *code) {
  if (PyObject_TypeCheck(code, object_type)) {
    context *of;
    out->task.kernel = object_handle(code, KERNEL, &of);
    return out->task.kernel != NULL;
  }
  out->task.host = job_run;
  if (PyCallable_Check(code)) return true;
  PyErr_Format(PyExc_TypeError, "submit() takes a kernel or a function, and not %S", (PyObject *)Py_TYPE(code));
  return false;
}

bool request_fill(request *out, context *ctx, PyObject *arguments, PyObject *keywords, bool open) {
  memset(&out->task, 0, sizeof out->task);
  out->args = out->few;
  out->boxes = out->few_boxes;
  out->after = out->few_after;
  out->keep = out->values = NULL;
  out->work = NULL;
  out->large = false;
  if (!context_usable(ctx)) return false;
  if (PyTuple_Size(arguments) < 1) {
    PyErr_SetString(PyExc_TypeError, "submit() takes a kernel or a function");
    return false;
  }
  PyObject *code = PyTuple_GetItem(arguments, 0);
  if (!open && !fill_work(out, code)) return false;
  bool function = out->task.host != NULL;
  if (!fill_args(out, ctx, arguments, !function)) return false;
  if (keywords != NULL && !fill_keywords(out, ctx, keywords)) return false;
  if (function && out->task.label == NULL) name_task(out, code);
  if (function) out->task.lock_key = lock_key(code);
  return context_usable(ctx); // keywords ran code of Python, in which it may have been closed
}

void request_free(request *one) {
  if (one->args != one->few) free(one->args);
  if (one->boxes != one->few_boxes) free(one->boxes);
  if (one->after != one->few_after) free(one->after);
  Py_CLEAR(one->keep);
  Py_CLEAR(one->values);
}

bool request_take_job(request *one, context *ctx, PyObject *call) {
  if (one->task.host == NULL) return true;
  one->work = job_create(ctx, call, false);
  if (one->work == NULL) return false;
  job_keep(one->work); // of the event
  one->task.user = one->work;
  one->task.destroy = job_destroy;
  return true;
}

void request_drop_job(const request *one) {
  if (one->work == NULL) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  job_drop(one->work);
  job_drop(one->work);
  PyErr_Restore(type, value, traceback);
}

PyObject *context_submit(PyObject *self, PyObject *arguments, PyObject *keywords) {
  context *ctx = (context *)self;
  request one;
  PyObject *made = NULL;
  if (!request_fill(&one, ctx, arguments, keywords, false) || !request_take_job(&one, ctx, arguments)) goto end;
  weir_event *handle = NULL;
  weir_status status;
  bool room = !one.large && room_for_one(ctx);
  if (!context_usable(ctx)) { // closed by another thread while this one waited for room
    request_drop_job(&one);
    goto end;
  }
  if (room)
    status = weir_submit(ctx->handle, &one.task, &handle);
  else {
    room_unknown(ctx);
    BEGIN_WEIR(ctx)
    status = weir_submit(open_, &one.task, &handle);
    END_WEIR
  }
  if (status == WEIR_OK)
    made = event_make(ctx, handle, one.work, NULL);
  else {
    raise_status(status);
    request_drop_job(&one);
  }
end:
  request_free(&one);
  return made;
}
