// SPDX-License-Identifier: Apache-2.0
//
// Pipelines. What a stage does is in Python (weir/_pipeline.py): here are the calls from the pipeline's threads to it.
// The user of each stage, and of the pipeline, is one tuple: the functions of Python's that stages and deliveries call.
#include "weir/pipeline.h"

#include <string.h>
#include <time.h>

#include "core.h"

enum { STAGE, DELIVER };

// The pipeline's handle has the tuple and is released before it, so callbacks find it alive.
static PyObject *call_python(const weir_token *token, int which, PyObject *last) {
  PyObject *function = PyTuple_GetItem(token->user, which);
  PyObject *done = PyObject_CallFunction(function, "IIO", token->stage, token->line, last);
  if (done == NULL) PyErr_WriteUnraisable(function);
  return done;
}

// The function returns None, False (the input ends), or the text of a failure.
static weir_status run_stage(weir_token *token) {
  if (interpreter_ending) return WEIR_ERROR_CANCELLED;
  PyGILState_STATE state = python_enter();
  PyObject *done = call_python(token, STAGE, Py_None);
  weir_status status = WEIR_OK;
  if (done == Py_False)
    status = weir_token_end_input(token);
  else if (done != Py_None) {
    PyObject *text = done != NULL && PyUnicode_Check(done) ? PyUnicode_AsEncodedString(done, "utf-8", "replace") : NULL;
    status = weir_token_fail(token, WEIR_ERROR_TASK_FAILED, text != NULL ? PyBytes_AsString(text) : NULL);
    Py_XDECREF(text);
    PyErr_Clear();
  }
  Py_XDECREF(done);
  python_leave(state);
  return status;
}

static void deliver(weir_token *token) {
  if (interpreter_ending) return;
  PyGILState_STATE state = python_enter();
  PyObject *text = Py_None;
  if (token->status == WEIR_OK)
    Py_INCREF(text);
  else
    text = PyUnicode_DecodeUTF8(token->message, (Py_ssize_t)strlen(token->message), "replace");
  PyObject *done = text != NULL ? call_python(token, DELIVER, text) : NULL;
  PyErr_Clear();
  Py_XDECREF(done);
  Py_XDECREF(text);
  python_leave(state);
}

// Stages from (name, parallel) each. Names are copied by the library.
static bool fill_stages(PyObject *list, PyObject *calls, weir_stage *out, uint32_t *out_count) {
  Py_ssize_t count = PyTuple_Size(list);
  if (count < 1 || count > WEIR_PIPELINE_MOST_STAGES) {
    raise_text(WEIR_ERROR_INVALID_ARGUMENT, "a pipeline has 1 to %d stages, and not %zd", WEIR_PIPELINE_MOST_STAGES - 1,
               count - 1); // the first one takes the items
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    const char *name;
    int parallel;
    if (!PyArg_ParseTuple(PyTuple_GetItem(list, i), "sp", &name, &parallel)) return false;
    out[i] = (weir_stage){.function = run_stage,
                          .user = calls,
                          .flags = parallel ? WEIR_STAGE_PARALLEL : WEIR_STAGE_SERIAL,
                          .name = name};
  }
  *out_count = (uint32_t)count;
  return true;
}

// pipeline_create(context, ((name, parallel), ...), lines, (stage function, delivery function))
static PyObject *pipeline_create(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  PyObject *list, *calls;
  unsigned int lines;
  weir_stage stages[WEIR_PIPELINE_MOST_STAGES];
  if (!PyArg_ParseTuple(arguments, "O!O!IO!", context_type, &ctx, &PyTuple_Type, &list, &lines, &PyTuple_Type,
                        &calls) ||
      !context_usable(ctx))
    return NULL;
  // A stage waits for its task, so each line may need a thread.
  weir_pipeline_options options = {.stages = stages,
                                   .lines = lines,
                                   .threads = lines,
                                   .flags = WEIR_PIPELINE_STOP_ON_FAILURE,
                                   .deliver = deliver,
                                   .user = calls};
  if (!fill_stages(list, calls, stages, &options.stage_count)) return NULL;
  weir_pipeline *pipeline = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = weir_pipeline_create(open_, &options, &pipeline);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  object *made = (object *)object_make(object_type, ctx, pipeline, PIPELINE);
  if (made == NULL) return NULL;
  Py_INCREF(calls);
  made->jobs = calls;
  return (PyObject *)made;
}

// Around a call of a pipeline without the GIL: `one` and `ctx` are its object and context.
#define BEGIN_PIPELINE                                                                                                 \
  one->users++;                                                                                                        \
  BEGIN_WEIR(ctx)
#define END_PIPELINE                                                                                                   \
  END_WEIR                                                                                                             \
  one->users--;

weir_status pipeline_release(object *one) {
  context *ctx = one->ctx;
  weir_pipeline *pipeline = one->handle;
  if (weir_pipeline_wait(pipeline, 0) == WEIR_ERROR_INVALID_ARGUMENT) return WEIR_ERROR_INVALID_ARGUMENT;
  one->handle = NULL;
  weir_status status;
  ctx->users++; // the context's end waits: it would release the pipeline, too
  BEGIN_WEIR(ctx)
  weir_pipeline_cancel(pipeline);
  END_WEIR
  while (one->users > 0) { // they wait for its end
    PyThreadState *thread = PyEval_SaveThread();
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    PyEval_RestoreThread(thread);
  }
  BEGIN_WEIR(ctx)
  status = weir_pipeline_release(pipeline);
  END_WEIR
  ctx->users--;
  if (status == WEIR_OK) Py_CLEAR(one->jobs);
  return status;
}

static PyObject *simple_call(PyObject *self, weir_status (*function)(weir_pipeline *pipeline)) {
  context *ctx;
  weir_pipeline *pipeline = object_handle(self, PIPELINE, &ctx);
  if (pipeline == NULL) return NULL;
  object *one = (object *)self;
  weir_status status;
  BEGIN_PIPELINE
  status = function(pipeline);
  END_PIPELINE
  if (status != WEIR_OK) return raise_status(status);
  Py_RETURN_NONE;
}

static PyObject *pipeline_start(PyObject *self, PyObject *handle) {
  (void)self;
  return simple_call(handle, weir_pipeline_start);
}

static PyObject *pipeline_cancel(PyObject *self, PyObject *handle) {
  (void)self;
  return simple_call(handle, weir_pipeline_cancel);
}

static weir_status wait_for(void *what, uint64_t ns) {
  return weir_pipeline_wait(what, ns);
}

// pipeline_wait(handle): until it is done. Failures of tokens were delivered; a wait that is refused raises.
static PyObject *pipeline_wait(PyObject *self, PyObject *handle) {
  (void)self;
  context *ctx;
  weir_pipeline *pipeline = object_handle(handle, PIPELINE, &ctx);
  if (pipeline == NULL) return NULL;
  object *one = (object *)handle;
  one->users++;
  int status = wait_in_slices(ctx, wait_for, pipeline, WEIR_FOREVER);
  one->users--;
  if (status < 0) return NULL;
  if (status == WEIR_ERROR_INVALID_ARGUMENT) return raise_status(WEIR_ERROR_INVALID_ARGUMENT);
  Py_RETURN_NONE;
}

// pipeline_check(handle): raises where a wait for it is refused: in a task or a callback, and in its stages.
static PyObject *pipeline_check(PyObject *self, PyObject *handle) {
  (void)self;
  context *ctx;
  weir_pipeline *pipeline = object_handle(handle, PIPELINE, &ctx);
  if (pipeline == NULL) return NULL;
  if (weir_pipeline_wait(pipeline, 0) == WEIR_ERROR_INVALID_ARGUMENT) return raise_status(WEIR_ERROR_INVALID_ARGUMENT);
  Py_RETURN_NONE;
}

PyMethodDef pipeline_methods[] = {
    {"pipeline_create", pipeline_create, METH_VARARGS, NULL}, {"pipeline_start", pipeline_start, METH_O, NULL},
    {"pipeline_cancel", pipeline_cancel, METH_O, NULL},       {"pipeline_wait", pipeline_wait, METH_O, NULL},
    {"pipeline_check", pipeline_check, METH_O, NULL},         {NULL, NULL, 0, NULL}};
