// SPDX-License-Identifier: Apache-2.0
//
// weir._core: the part of the Python package that is in C. It has what must be quick (submissions, functions of Python
// that run as tasks, events) and thin calls of the rest. It uses the stable ABI of Python 3.9 alone, so one build serves
// that version and all later ones. docs/inside/python.md says who owns what, and how threads and the GIL meet.
#ifndef WEIR_PYTHON_CORE_H
#define WEIR_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "weir/box.h"
#include "weir/graph.h"
#include "weir/weir.h"

// ---------------------------------------------------------------------------------------------------------------
// Objects. All members are guarded by the GIL.

typedef struct job job;

// A context. `handle` is NULL once it is closed; objects that are left over find it so.
typedef struct context {
  PyObject_HEAD weir_context *handle;
  unsigned generation; // of the process that made it: forks count (process_generation)
  bool closing;        // only what its own tasks submit is taken
  unsigned users;      // threads that are in a call of this context without the GIL
  // Submissions that keep the GIL (room.c):
  bool keeps_gil, stuck;
  uint64_t half_window;
  uint64_t room; // tasks that surely find room in the window
  // Failures (failures.c):
  PyObject *first;    // dict: number of a task that failed -> its exception; the first ones since finish told one
  PyObject *failures; // the same of the last ones
  PyObject *unseen;   // dict with those of the numbers that nobody was told of; finish raises the first
  uint64_t *seen;     // numbers of tasks whose failure an event told since then
  size_t seen_count, seen_room;
  PyObject *graveyard; // list: objects that tasks in flight may still need
  PyObject *weak;
} context;

// Memory that arrays lie in: a weir_buffer.
typedef struct storage {
  PyObject_HEAD context *ctx;
  weir_buffer *handle;
  PyObject *owner;  // of wrapped memory: kept until the last task that uses it is done. NULL: Weir's own storage
  uint64_t address; // of wrapped memory, else 0
  uint64_t bytes;
  weir_device *device; // whose memory is wrapped; NULL: the host's
  bool of_lines;       // stands for the storages of a pipeline's lines, and has no buffer
  bool of_ranks;       // of a job over ranks of MPI, which releases it
  PyObject *weak;
} storage;

// A part of a storage with a shape and a type: a buffer, or a slice of one.
typedef struct array {
  PyObject_HEAD storage *memory;
  PyObject *dtype, *shape, *strides; // strides: None if the elements are without gaps
  int axes;
  Py_ssize_t *lengths;    // of the axes, then their strides in bytes
  uint64_t offset, bytes; // from the first byte to the last one
  bool boxed;             // there are gaps
  weir_box box;
  PyObject *weak;
} array;

// An array and how a task uses it.
typedef struct array_access {
  PyObject_HEAD array *what;
  weir_mode mode;
} array_access;

typedef struct event {
  PyObject_HEAD context *ctx;
  weir_event *handle;
  job *work;      // of a task that runs a function of Python; else NULL
  PyObject *keep; // an object that the task needs; dropped with the event, or by a callback
  PyObject *weak;
} event;

// A kernel, graph, split, pipeline, open task, or job over ranks.
typedef struct object {
  PyObject_HEAD context *ctx;
  void *handle;
  int kind;
  PyObject *jobs; // graphs, pipelines: what their functions need; of a pipeline borrowed by its stages
  unsigned users; // pipelines, jobs over ranks: threads that are in a call of it without the GIL
  PyObject *weak;
} object;

enum { KERNEL, GRAPH, SPLIT, PIPELINE, OPEN_TASK, RANKS }; // the last two are not released: they end

extern PyTypeObject *context_type, *storage_type, *array_type, *access_type, *event_type, *object_type;
extern PyObject *event_class; // the subclass of event_type that submissions make

// ---------------------------------------------------------------------------------------------------------------
// module.c: errors

// Raises the exception of a status, with weir_last_error(). Returns NULL.
PyObject *raise_status(weir_status status);
// The same for a text.
PyObject *raise_text(weir_status status, const char *format, ...);
// Raises an exception that a task raised, as it was.
void raise_again(PyObject *exception);
// Takes the exception that is raised now; a new reference.
PyObject *take_raised(void);
// Writes "ValueError: text" of an exception.
void describe_exception(PyObject *exception, char *out_text, size_t size);

// ---------------------------------------------------------------------------------------------------------------
// gil.c: threads of Weir's in Python

extern unsigned process_generation;
extern bool interpreter_ending; // no function of Python is called any more

// Takes and gives back the GIL on any thread. A thread that is not Python's own keeps its state until it ends.
PyGILState_STATE python_enter(void);
void python_leave(PyGILState_STATE state);
// Whether this is a thread of Weir's.
bool python_is_foreign(void);
int gil_init(void);

// ---------------------------------------------------------------------------------------------------------------
// context.c

PyTypeObject *context_make_type(void);
// Whether a context can be used; else raises why not.
bool context_usable(context *ctx);
// Whether objects of the context may be released: it is neither closed nor of another process.
bool context_alive(context *ctx);
// Around a call of Weir's without the GIL.
#define BEGIN_WEIR(ctx)                                                                                                \
  {                                                                                                                    \
    context *ctx_ = (ctx);                                                                                             \
    weir_context *const open_ = ctx_->handle; /* of the context, which another thread may be closing now */            \
    (void)open_;                                                                                                       \
    ctx_->users++;                                                                                                     \
    PyThreadState *thread_ = PyEval_SaveThread();
#define END_WEIR                                                                                                       \
  PyEval_RestoreThread(thread_);                                                                                       \
  ctx_->users--;                                                                                                       \
  }
// Finds a device by the index of weir_context_device; None: NULL. Returns false with an exception.
bool context_device(context *ctx, PyObject *index, weir_device **out_device);

// Nanoseconds of a time-out in seconds; None: WEIR_FOREVER. Returns false with an exception.
bool timeout_parse(PyObject *seconds, uint64_t *out_ns);
// Takes what tasks in flight may still need, before a wait for all of them: what is added meanwhile may be of later tasks.
// NULL: nothing. The end of the wait drops it (context_finished), or it is put back.
PyObject *graveyard_take(context *ctx);
void graveyard_put_back(context *ctx, PyObject *taken);
// Ends a call that waited for all tasks, with the status of the first that failed: raises the first failure that no event
// told. `taken`: what graveyard_take gave before the wait.
PyObject *context_finished(context *ctx, weir_status status, PyObject *taken);
// Waits in slices, so that signals are handled: calls `wait` without the GIL until it returns another status than
// TIMEOUT, or the time is over. Returns -1 with an exception of a signal's handler.
int wait_in_slices(context *ctx, weir_status (*wait)(void *what, uint64_t ns), void *what, uint64_t timeout_ns);

// ---------------------------------------------------------------------------------------------------------------
// failures.c

bool failures_init(context *ctx);
void failures_free(context *ctx);
// Keeps the exception of a task for whoever waits, and gives it back.
void context_keep_failure(context *ctx, uint64_t task, PyObject *exception);
PyObject *context_failure(context *ctx, uint64_t task); // borrowed; NULL: none
// The failure of a task was told: finish does not raise it any more.
void context_failure_seen(context *ctx, uint64_t task);
// The exception that finish raises where the library says that `task` failed first (0: none did): a new reference, or
// NULL. Forgets what was told. `out_told`: the failure of `task` is no news.
PyObject *failures_finish(context *ctx, uint64_t task, bool *out_told);

// ---------------------------------------------------------------------------------------------------------------
// array.c

// Py_tp_new of types that only functions of this module make.
PyObject *refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords);
PyTypeObject *storage_make_type(void);
PyTypeObject *array_make_type(void);
PyTypeObject *access_make_type(void);
PyObject *access_make(PyObject *what, weir_mode mode);
// Makes the NumPy array of an argument that a function gets: `memory` is its first byte.
PyObject *array_view(const array *what, void *memory, bool read_only);
PyObject *storage_create(PyObject *self, PyObject *arguments);
PyObject *storage_wrap(PyObject *self, PyObject *arguments);
PyObject *storage_of_lines(PyObject *self, PyObject *arguments);
// Takes a buffer of a job over ranks.
PyObject *storage_of_ranks(context *ctx, weir_buffer *handle, uint64_t bytes);
// Why a storage has no buffer.
const char *storage_why_missing(const storage *one);

// ---------------------------------------------------------------------------------------------------------------
// job.c: functions of Python as tasks

// Makes the job of a tuple: a function, and its arguments. `repeats`: of a graph.
job *job_create(context *ctx, PyObject *arguments, bool repeats);
// Drops a reference without the GIL if the job is over, or with it.
void job_drop(job *work);
void job_keep(job *work);
// What the function returned or raised; borrowed; NULL: neither.
PyObject *job_result(const job *work);
PyObject *job_exception(const job *work);
// The event of the job is gone: nobody will ask for the result.
void job_forget(job *work);
// Whether this thread runs a function of a task.
bool in_job(void);
// weir_task.host and weir_task.destroy, with the job as user.
void job_run(const weir_work *work);
void job_destroy(void *user);

// ---------------------------------------------------------------------------------------------------------------
// submit.c

enum { FEW_ARGS = 16, FEW_EVENTS = 8, LABEL_BYTES = 48 };

// A task that is made from arguments of Python's.
typedef struct request {
  weir_task task;
  weir_arg few[FEW_ARGS], *args;
  weir_box few_boxes[FEW_ARGS], *boxes;
  weir_event *few_after[FEW_EVENTS], **after;
  char label[LABEL_BYTES];
  PyObject *keep;   // tuple of events that must live until the submission; NULL: none
  PyObject *values; // list of objects with the bytes of values; NULL: none
  bool large;       // it has storage that may have to be waited for
  job *work;        // of a function of Python
} request;

// Fills a request from (work, *arguments) and keywords, all but the job; `open`: of an open task, whose work is None.
// Returns false with an exception; request_free frees what it has in either case.
bool request_fill(request *out, context *ctx, PyObject *arguments, PyObject *keywords, bool open);
void request_free(request *one);

// The job of a request for a Python function, with one reference for the task and one for its event. False: an exception is set.
bool request_take_job(request *one, context *ctx, PyObject *call);

// Weir has refused the task: both references go. The exception that is set stays.
void request_drop_job(const request *one);

PyObject *context_submit(PyObject *self, PyObject *arguments, PyObject *keywords);
// Fills an argument from an access. `at` is its place, for messages.
bool arg_from_access(context *ctx, const array_access *from, Py_ssize_t at, weir_arg *out, weir_box *box);
// Parses work-groups: None, a number, or a sequence of up to three.
bool groups_parse(PyObject *groups, uint32_t out_groups[3]);

// ---------------------------------------------------------------------------------------------------------------
// room.c: submissions that keep the GIL

void room_init(context *ctx, const weir_context_options *options);
// Whether a task can be submitted that surely does not wait; it is counted.
bool room_for_one(context *ctx);
// Counts a task that another call submits.
void room_taken(context *ctx);
// A thread goes to submit without the GIL: what was known of the room ends, since it may do so again and again.
void room_unknown(context *ctx);

// ---------------------------------------------------------------------------------------------------------------
// event.c

PyTypeObject *event_make_type(void);
// Whether this thread is in a callback of an event, perhaps inside of the call that attached it.
bool in_callback(void);
// Makes an event of Python's; takes `handle`, a reference of `work`, and borrows `keep`. On failure releases them.
PyObject *event_make(context *ctx, weir_event *handle, job *work, PyObject *keep);
// Keeps `what` until the task of the event is done. Returns false with an exception.
bool event_keep_until_done(context *ctx, weir_event *handle, PyObject *what);
// Fills weir_task.after from an event, or a sequence of them, of which `out_keep` gets a tuple. The caller frees
// `*out_events` if it is not `few`. Returns false with an exception.
bool events_parse(PyObject *after, weir_event **few, uint32_t room, weir_event ***out_events, uint32_t *out_count,
                  PyObject **out_keep);

// ---------------------------------------------------------------------------------------------------------------
// Others: methods of the module, for the tables of module.c

PyTypeObject *object_make_type(void);
PyObject *object_make(PyTypeObject *type, context *ctx, void *handle, int kind);
PyObject *graph_object(context *ctx, weir_graph *graph); // NULL: an exception
// The handle of an object of a kind, of a usable context; NULL with an exception.
void *object_handle(PyObject *self, int kind, context **out_ctx);

// pipeline.c: cancels a pipeline, waits for it and for threads in its calls, and releases it. Refused in a task.
weir_status pipeline_release(object *one);

extern PyMethodDef copy_methods[], kernel_methods[], graph_methods[], device_methods[], open_methods[], split_methods[],
    relax_methods[], pipeline_methods[], launch_methods[], ranks_methods[];

#endif // WEIR_PYTHON_CORE_H
