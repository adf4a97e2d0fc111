// SPDX-License-Identifier: Apache-2.0
//
// Jobs over ranks of MPI (weir/mpi.h). Their functions are those of libweir-mpi, which is loaded at run time: the package
// itself needs no MPI, and works with the one that the library was built with.
#include <dlfcn.h>
#include <time.h>

#include "core.h"
#include "weir/error.h"
#include "weir/mpi.h"

#define FUNCTIONS(X)                                                                                                   \
  X(create_sized)                                                                                                      \
  X(release)                                                                                                           \
  X(rank)                                                                                                              \
  X(size)                                                                                                              \
  X(buffer_create)                                                                                                     \
  X(buffer_release)                                                                                                    \
  X(buffer_move)                                                                                                       \
  X(submit_sized)                                                                                                      \
  X(fetch)                                                                                                             \
  X(written)                                                                                                           \
  X(skip)                                                                                                              \
  X(finish)                                                                                                            \
  X(get_statistics_sized)

static struct {
  void *library; // NULL: not loaded
#define MEMBER(name) __typeof__(weir_mpi_##name) *name;
  FUNCTIONS(MEMBER)
} mpi;

static bool find_functions(void *library) {
#define FIND(name)                                                                                                     \
  *(void **)&mpi.name = dlsym(library, "weir_mpi_" #name);                                                             \
  if (mpi.name == NULL) return false;
  FUNCTIONS(FIND)
  return true;
}

// ranks_load(path): loads libweir-mpi, unless it is loaded. Its libweir is the package's own, which has the same name.
static PyObject *ranks_load(PyObject *self, PyObject *arguments) {
  (void)self;
  const char *path;
  if (!PyArg_ParseTuple(arguments, "s", &path)) return NULL;
  if (mpi.library != NULL) Py_RETURN_NONE;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL || !find_functions(library)) return raise_text(WEIR_ERROR_UNAVAILABLE, "%s", dlerror());
  mpi.library = library;
  Py_RETURN_NONE;
}

// ranks_mpi_version(): what the MPI that libweir-mpi is linked with says of itself.
static PyObject *ranks_mpi_version(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  static char text[16384]; // MPICH's own limit is 8192
  int length = 0;
  int (*get)(char *, int *);
  *(void **)&get = dlsym(mpi.library, "MPI_Get_library_version");
  if (get == NULL || get(text, &length) != 0) return raise_text(WEIR_ERROR_UNAVAILABLE, "libweir-mpi has no MPI");
  return PyUnicode_DecodeUTF8(text, length, "replace");
}

// ---------------------------------------------------------------------------------------------------------------
// A job

// The handle of a job, for a call of its sequence, which must not be made in tasks and callbacks.
static weir_mpi *job_handle(PyObject *self, context **out_ctx) {
  weir_mpi *handle = object_handle(self, RANKS, out_ctx);
  if (handle == NULL || (!in_job() && !in_callback())) return handle;
  raise_text(WEIR_ERROR_INVALID_ARGUMENT, "a task or callback must not make calls of a job: all ranks make them in one "
                                          "order");
  return NULL;
}

// Around a call of a job without the GIL: `one` is its object, `ctx` its context.
#define BEGIN_JOB(one)                                                                                                 \
  {                                                                                                                    \
    object *one_ = (object *)(one);                                                                                    \
    one_->users++;                                                                                                     \
    BEGIN_WEIR(ctx)
#define END_JOB                                                                                                        \
  END_WEIR                                                                                                             \
  one_->users--;                                                                                                       \
  }

static PyObject *none_or_raise(weir_status status) {
  if (status != WEIR_OK) return raise_status(status);
  Py_RETURN_NONE;
}

// ranks_create(context, address of an MPI_Comm, timeout_ns, send_limit, piece_bytes, check_every): (handle, rank, size)
static PyObject *ranks_create(PyObject *self, PyObject *arguments) {
  (void)self;
  context *ctx;
  unsigned long long address, timeout_ns, send_limit, piece_bytes;
  unsigned int check_every;
  if (!PyArg_ParseTuple(arguments, "O!KKKKI", context_type, &ctx, &address, &timeout_ns, &send_limit, &piece_bytes,
                        &check_every) ||
      !context_usable(ctx))
    return NULL;
  const weir_mpi_options options = {.communicator = (const void *)(uintptr_t)address,
                                    .timeout_ns = timeout_ns,
                                    .send_limit = send_limit,
                                    .piece_bytes = piece_bytes,
                                    .check_every = check_every};
  ctx->keeps_gil = false; // a call submits what must travel for it, too
  weir_mpi *handle = NULL;
  weir_status status;
  BEGIN_WEIR(ctx)
  status = mpi.create_sized(ctx_->handle, &options, sizeof options, &handle);
  END_WEIR
  if (status != WEIR_OK) return raise_status(status);
  PyObject *made = object_make(object_type, ctx, handle, RANKS);
  return made == NULL ? NULL : Py_BuildValue("(NII)", made, mpi.rank(handle), mpi.size(handle));
}

// Ends a call that waited for all tasks of this rank: raises the failure of the job, or else of a task.
static PyObject *job_finished(context *ctx, weir_status status, PyObject *taken) {
  bool of_job = status != WEIR_OK && weir_last_error_task() == 0;
  if (!of_job) return context_finished(ctx, status, taken);
  raise_status(status);
  graveyard_put_back(ctx, taken);
  return NULL;
}

// ranks_finish(handle): as finish of a context.
static PyObject *ranks_finish(PyObject *self, PyObject *job_object) {
  (void)self;
  context *ctx;
  weir_mpi *handle = job_handle(job_object, &ctx);
  if (handle == NULL) return NULL;
  PyObject *taken = graveyard_take(ctx);
  weir_status status;
  BEGIN_JOB(job_object)
  status = mpi.finish(handle);
  END_JOB
  return job_finished(ctx, status, taken);
}

// ranks_release(handle, (storages...)): ends a job, and returns the exception that ranks_finish would raise, or None. Its
// buffers become the context's. Raises where the job goes on.
static PyObject *ranks_release(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *job_object, *storages;
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "OO!", &job_object, &PyTuple_Type, &storages)) return NULL;
  weir_mpi *handle = job_handle(job_object, &ctx);
  if (handle == NULL) return NULL;
  object *one = (object *)job_object;
  one->handle = NULL;
  while (one->users > 0) { // other threads are in calls of it
    PyThreadState *thread = PyEval_SaveThread();
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    PyEval_RestoreThread(thread);
  }
  PyObject *taken = graveyard_take(ctx);
  weir_status status;
  BEGIN_WEIR(ctx)
  status = mpi.release(handle);
  END_WEIR
  for (Py_ssize_t i = 0; i < PyTuple_Size(storages); i++) ((storage *)PyTuple_GetItem(storages, i))->of_ranks = false;
  PyObject *none = job_finished(ctx, status, taken);
  return none != NULL ? none : take_raised();
}

// ranks_skip(handle, count)
static PyObject *ranks_skip(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *job_object;
  unsigned long long count;
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "OK", &job_object, &count)) return NULL;
  weir_mpi *handle = job_handle(job_object, &ctx);
  if (handle == NULL) return NULL;
  weir_status status;
  BEGIN_JOB(job_object)
  status = mpi.skip(handle, count);
  END_JOB
  return none_or_raise(status);
}

// ranks_statistics(handle)
static PyObject *ranks_statistics(PyObject *self, PyObject *job_object) {
  (void)self;
  context *ctx;
  weir_mpi *handle = object_handle(job_object, RANKS, &ctx);
  if (handle == NULL) return NULL;
  weir_mpi_statistics s;
  BEGIN_JOB(job_object)
  mpi.get_statistics_sized(handle, &s, sizeof s);
  END_JOB
#define K(member) #member, (unsigned long long)s.member
  return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsKsK}", K(submitted), K(skipped), K(tasks), K(messages_sent), K(bytes_sent),
                       K(messages_received), K(bytes_received), K(poisoned), K(control_messages), K(direct_sent),
                       K(direct_received));
#undef K
}

// ---------------------------------------------------------------------------------------------------------------
// Buffers

// ranks_buffer_create(handle, bytes, owner, label or None): a storage, which is the job's until the job ends.
static PyObject *ranks_buffer_create(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *job_object;
  unsigned long long bytes;
  unsigned int owner;
  const char *label;
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "OKIz", &job_object, &bytes, &owner, &label)) return NULL;
  weir_mpi *handle = job_handle(job_object, &ctx);
  if (handle == NULL) return NULL;
  weir_buffer *buffer = NULL;
  weir_status status;
  BEGIN_JOB(job_object)
  status = mpi.buffer_create(handle, bytes, owner, &buffer);
  if (status == WEIR_OK && label != NULL) status = weir_buffer_set_label(buffer, label);
  END_JOB
  return status == WEIR_OK ? storage_of_ranks(ctx, buffer, bytes) : raise_status(status);
}

// The buffer of a storage of a job; NULL: an exception.
static weir_buffer *buffer_of(storage *from, context *ctx) {
  if (from->ctx != ctx || !from->of_ranks)
    raise_text(WEIR_ERROR_INVALID_ARGUMENT, "the buffer is none of this job (Job.buffer)");
  else if (from->handle == NULL)
    raise_text(WEIR_ERROR_RELEASED, "the buffer was released");
  else
    return from->handle;
  return NULL;
}

// ranks_buffer_release(handle, storage)
static PyObject *ranks_buffer_release(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *job_object, *what;
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "OO!", &job_object, storage_type, &what)) return NULL;
  weir_mpi *handle = job_handle(job_object, &ctx);
  weir_buffer *buffer = handle == NULL ? NULL : buffer_of((storage *)what, ctx);
  if (buffer == NULL) return NULL;
  weir_status status;
  BEGIN_JOB(job_object)
  status = mpi.buffer_release(handle, buffer);
  END_JOB
  if (status == WEIR_OK) ((storage *)what)->handle = NULL;
  return none_or_raise(status);
}

// ranks_move(handle, storage, owner)
static PyObject *ranks_move(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *job_object, *what;
  unsigned int owner;
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "OO!I", &job_object, storage_type, &what, &owner)) return NULL;
  weir_mpi *handle = job_handle(job_object, &ctx);
  weir_buffer *buffer = handle == NULL ? NULL : buffer_of((storage *)what, ctx);
  if (buffer == NULL) return NULL;
  weir_status status;
  BEGIN_JOB(job_object)
  status = mpi.buffer_move(handle, buffer, owner);
  END_JOB
  return none_or_raise(status);
}

// ranks_range(handle, array, rank, written): fetches a range to a rank, or says that it overwrote it.
static PyObject *ranks_range(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *job_object, *what;
  int rank, written;
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "OO!ip", &job_object, array_type, &what, &rank, &written)) return NULL;
  weir_mpi *handle = job_handle(job_object, &ctx);
  const array *range = (array *)what;
  weir_buffer *buffer = handle == NULL ? NULL : buffer_of(range->memory, ctx);
  if (buffer == NULL) return NULL;
  if (range->boxed)
    return raise_text(WEIR_ERROR_INVALID_ARGUMENT, "a slice with gaps does not travel: take the rows from its first to "
                                                   "its last");
  weir_status status;
  BEGIN_JOB(job_object)
  status = written ? mpi.written(handle, buffer, range->offset, range->bytes, rank)
                   : mpi.fetch(handle, buffer, range->offset, range->bytes, rank);
  END_JOB
  return none_or_raise(status);
}

// ---------------------------------------------------------------------------------------------------------------
// Tasks

// The event of a task that was taken: None if it runs on another rank, where the task has dropped its job.
static PyObject *taken(context *ctx, request *one, weir_event *handle) {
  if (handle != NULL) return event_make(ctx, handle, one->work, NULL);
  if (one->work != NULL) job_drop(one->work);
  Py_RETURN_NONE;
}

// ranks_submit(handle, (work, *arguments), keywords, rank): the event, or None on other ranks
static PyObject *ranks_submit(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *job_object, *call, *keywords, *made = NULL;
  int rank;
  context *ctx;
  if (!PyArg_ParseTuple(arguments, "OO!O!i", &job_object, &PyTuple_Type, &call, &PyDict_Type, &keywords, &rank))
    return NULL;
  weir_mpi *handle = job_handle(job_object, &ctx);
  if (handle == NULL) return NULL;
  request one;
  if (!request_fill(&one, ctx, call, keywords, false)) goto end;
  handle = job_handle(job_object, &ctx); // code of Python ran, in which the job may have ended
  if (handle == NULL || !request_take_job(&one, ctx, call)) goto end;
  weir_event *of_task = NULL;
  weir_status status;
  BEGIN_JOB(job_object)
  status = mpi.submit_sized(handle, &one.task, sizeof one.task, rank, &of_task);
  END_JOB
  if (status == WEIR_OK)
    made = taken(ctx, &one, of_task);
  else {
    raise_status(status);
    request_drop_job(&one);
  }
end:
  request_free(&one);
  return made;
}

PyMethodDef ranks_methods[] = {{"ranks_load", ranks_load, METH_VARARGS, NULL},
                               {"ranks_mpi_version", ranks_mpi_version, METH_NOARGS, NULL},
                               {"ranks_create", ranks_create, METH_VARARGS, NULL},
                               {"ranks_release", ranks_release, METH_VARARGS, NULL},
                               {"ranks_finish", ranks_finish, METH_O, NULL},
                               {"ranks_skip", ranks_skip, METH_VARARGS, NULL},
                               {"ranks_statistics", ranks_statistics, METH_O, NULL},
                               {"ranks_buffer_create", ranks_buffer_create, METH_VARARGS, NULL},
                               {"ranks_buffer_release", ranks_buffer_release, METH_VARARGS, NULL},
                               {"ranks_move", ranks_move, METH_VARARGS, NULL},
                               {"ranks_range", ranks_range, METH_VARARGS, NULL},
                               {"ranks_submit", ranks_submit, METH_VARARGS, NULL},
                               {NULL, NULL, 0, NULL}};
