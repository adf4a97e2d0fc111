// SPDX-License-Identifier: Apache-2.0
//
// A CUDA device of a context. A thread of the device's own decides where tasks go and notices what is done; whoever
// submits only hands it tasks, so that nobody waits for the driver while the context's lock is held. Where there are
// cores for them, further threads (launchers) make the calls that launch, each for its share of the queues.
#ifndef WEIR_DEVICE_CUDA_CUDA_DEVICE_H
#define WEIR_DEVICE_CUDA_CUDA_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/cuda/api.h"
#include "device/cuda/driver.h"
#include "device/cuda/imports.h"
#include "device/cuda/kernel.h"
#include "device/cuda/path.h"
#include "device/graph.h"
#include "device/host.h"
#include "issue/in_order.h"
#include "memory/arena.h"

typedef struct weir__cuda_module weir__cuda_module;
typedef struct weir__resident weir__resident;
typedef struct weir__resident_automatic weir__resident_automatic;

enum { WEIR__CUDA_GRAPH_LANES = 48 }; // of timelines, for what runs in graphs or in the resident kernel

enum { WEIR__CUDA_WAITS = 12, WEIR__CUDA_MOST_LAUNCHERS = 4, WEIR__CUDA_COPY_QUEUES = 2 };

enum { WEIR__CUDA_LANE_SETS = 4, WEIR__CUDA_SET_LANES = 16 }; // of enqueue functions in graphs (graph/capture.h)

// Queues of kernels that are to be apart (device/enqueue.h), behind those of open tasks. They are made when they are
// used first.
enum { WEIR__CUDA_APART = 2, WEIR__CUDA_LATE_QUEUES = WEIR__MOST_OPEN + WEIR__CUDA_APART };

// An op in another queue that must be done before an op starts.
typedef struct weir__cuda_wait {
  CUevent event;
  uint32_t queue;
  uint64_t number; // of the op there: the event stands for it once the queue has got so far
} weir__cuda_wait;

// Something that was put into a queue: a task, the launch of a graph, or a batch, a run of tasks launched as one graph.
// Until it is issued it belongs to whoever holds the ring of its queue's launcher, where there is one, then to the device's thread.
struct weir__cuda_op {
  weir__operation head; // a batch has no task
  const weir__cuda_op_ops *ops;
  CUevent event;      // stands for its end; NULL: none is recorded
  CUevent start, end; // for timelines; else NULL
  struct weir__cuda_batch *batch;
  uint64_t number;               // in its queue: 1, 2, ...
  uint64_t launched_ns, done_ns; // guesses, by the host's clock (queue/schedule.c)
  bool finished;                 // known without an event
  bool here;                     // launched by the device's thread, though its queue has a launcher
  bool stalls;                   // its stream waits for events of the caller's first (imports.h)
  bool judged;                   // its kernel's verdict is asked when it has ended (device/enqueue.h)
  weir__cuda_wait waits[WEIR__CUDA_WAITS];
  uint32_t wait_count;
};

static inline weir__cuda_op *weir__cuda_op_of(weir__operation *operation) {
  return (weir__cuda_op *)(void *)operation;
}

typedef struct weir__cuda_queue {
  CUstream stream;
  uint64_t placed;                     // number of the last op
  uint64_t free_ns;                    // a guess, by the host's clock: when it has nothing left to do
  alignas(64) _Atomic uint64_t issued; // ops up to this number are in the stream, with their events
  _Atomic uint64_t awaited;            // ops up to this number are done: the event of this one could not be recorded
} weir__cuda_queue;

typedef struct weir__cuda_launcher weir__cuda_launcher;

// What a thread saw of launchers when it looked: of each that had ops and launched none, how many it had launched, and since when it
// has been seen so; 0: it was not seen so.
typedef struct weir__cuda_look {
  uint64_t taken, since_ns;
} weir__cuda_look;

typedef struct weir__cuda_looks {
  weir__cuda_look at[WEIR__CUDA_MOST_LAUNCHERS];
} weir__cuda_looks;

// Ordinary memory that stands in for pinned memory.
typedef struct weir__cuda_unpinned {
  struct weir__cuda_unpinned *next;
  void *memory;
} weir__cuda_unpinned;

// A caller who wants a stream of its own to wait for tasks.
typedef struct weir__cuda_request {
  weir__device_request head;
  CUstream stream;
  const weir__id *tasks; // these; NULL: all that were handed over before
  uint32_t task_count;
  CUresult result;
} weir__cuda_request;

struct weir__cuda_device {
  weir__in_order_device base;
  const weir__cuda_path *paths[WEIR__CUDA_MOST_PATHS]; // the first one takes the tasks
  uint32_t path_count;
  const weir__cuda_run_ops *runs; // how recorded graphs are launched
  const weir__cuda_driver *driver;
  int ordinal;
  CUdevice device;
  CUcontext primary;
  int capability;                // 90 for 9.0
  uint32_t queue_count;          // of its own; those of open tasks come behind them
  weir__cuda_module *modules;    // loaded code; see module.c
  weir__arena memory, pinned;    // guarded by the context's lock
  weir__cuda_unpinned *unpinned; // guarded by the context's lock
  weir__cuda_imports imports;
  // Of the thread alone.
  alignas(64) uint64_t last_poll; // tasks that were taken by then
  bool is_behind;                 // there were more tasks than it took
  weir__cuda_queue *streams;      // per queue; the last two of its own are for copies, where there is more than one
  CUevent *free_events;           // without timing
  uint32_t free_event_count, free_event_capacity, event_count;
  weir__cuda_launcher *launchers[WEIR__CUDA_MOST_LAUNCHERS];
  uint32_t launcher_count;                              // 0: the device's thread launches everything itself
  uint64_t launcher_free_ns[WEIR__CUDA_MOST_LAUNCHERS]; // guesses
  weir__cuda_looks looks;                               // at launchers
  uint32_t idle_rounds;                                 // rounds without work; a look comes now and then
  struct weir__cuda_batches *batches;                   // NULL: tasks are launched one by one
  weir__resident *resident;            // NULL: no task goes to a resident kernel. With `automatic` the thread sets it
  weir__resident_automatic *automatic; // NULL: what is not a graph goes to queues
  struct {
    weir__lock lock; // held while a function is captured, since others that are have the same lanes
    CUstream stream;
  } capture;
  CUevent sets[WEIR__CUDA_LANE_SETS]; // of the last launch with the lanes of each; NULL: none
  _Atomic uint32_t next_set;
  uint32_t homes;   // of recorded graphs that have a queue they prefer
  CUfunction mover; // copies and fills in graphs; NULL: not loaded
  bool mover_tried;
  CUevent base_event; // of times; NULL: nobody wanted any
  uint64_t base_ns;
  uint64_t lane_ends[WEIR__CUDA_GRAPH_LANES];
};

static inline weir__cuda_device *weir__cuda_of(weir_device *device) {
  return (weir__cuda_device *)(void *)device;
}

static inline weir__cuda_device *weir__cuda_of_in_order(weir__in_order_device *device) {
  return (weir__cuda_device *)(void *)device;
}

// The driver failed for good, as any thread may see: the device's thread will lose the device.
static inline void weir__cuda_trouble(weir__cuda_device *device, CUresult result) {
  weir__in_order_trouble(&device->base, (uint32_t)result);
}

// Whether the device is a CUDA device.
bool weir__is_cuda(const weir_device *device);
// For functions of weir/cuda.h: INVALID_ARGUMENT where it is none, or NULL; `what` begins the message.
weir_status weir__cuda_check(weir_device *device, const char *what);

// Makes the device's context current in a thread of the caller's, and puts back what was current before.
CUresult weir__cuda_enter(const weir__cuda_device *device);
void weir__cuda_leave(const weir__cuda_device *device);

// Threads of a device tell in a word how their start went; who started them waits for that.
enum { WEIR__CUDA_STARTING = 0, WEIR__CUDA_STARTED = 1, WEIR__CUDA_NOT_STARTED = 2 };
// A thread of Weir's takes part in no capture of the caller's: what it asks the driver must not end one.
void weir__cuda_relax_thread(const weir__cuda_device *device);
// Makes the device's context current in a thread that starts. False: it must end. `prepare`, or NULL, is called before the start is
// told, while who started the thread waits, so that it may use what is that one's.
bool weir__cuda_begin_thread(weir__cuda_device *device, _Atomic uint32_t *state,
                             void (*prepare)(weir__cuda_device *device, void *user), void *user);
// Waits for a thread that was made; one that did not start is joined.
weir_status weir__cuda_await_thread(_Atomic uint32_t *state, pthread_t thread);

// The thread (thread.c).
extern const weir__in_order_table weir__cuda_table;
void weir__cuda_answer(void *device, weir__device_request *request); // of a weir__cuda_request

// What follows is called by the thread only.

// Puts a task into a queue (issue.c). The task is reported later, whatever happens.
void weir__cuda_issue(weir__cuda_device *device, weir__task *task);
bool weir__cuda_enqueue(weir__in_order_device *device, weir__operation *operation, uint32_t count);

// Records the events that a choice of a queue asks for. False: not all could be.
bool weir__cuda_record_choice(weir__cuda_device *device, const weir__queue_choice *choice);

// Parts of it, for batches. An operation that was taken is made ready.
weir__cuda_op *weir__cuda_reset(weir__operation *operation);
// Chooses the op's queue (`wanted`, or the best one), and lets it wait for ops that its queue's order does not imply.
bool weir__cuda_place(weir__cuda_device *device, weir__cuda_op *op, uint32_t count, uint32_t wanted);
// Puts a placed op behind the others of its queue and launches it, or lets the queue's launcher do so.
void weir__cuda_start(weir__cuda_device *device, weir__cuda_op *op);
extern const weir__cuda_op_ops weir__cuda_task_ops;

// Queues of its own that take kernels: those before the two for copies, if there are these.
static inline uint32_t weir__cuda_ordinary_queues(const weir__cuda_device *device) {
  return device->queue_count > WEIR__CUDA_COPY_QUEUES ? device->queue_count - WEIR__CUDA_COPY_QUEUES : 1;
}

// How many of them kernels are spread over where launchers make the calls (queue/schedule.h); 0: there are no launchers.
static inline uint32_t weir__cuda_scheduled_queues(const weir__cuda_device *device) {
  uint32_t ordinary = weir__cuda_ordinary_queues(device);
  if (device->launcher_count == 0) return 0;
  return ordinary < WEIR__CUDA_MOST_LAUNCHERS ? ordinary : WEIR__CUDA_MOST_LAUNCHERS;
}

// The launch itself (execute.c), in whatever thread: what the op waits for, its work, its event.
void weir__cuda_execute(weir__cuda_device *device, weir__cuda_op *op);
static inline bool weir__cuda_is_issued(const weir__cuda_queue *queue, uint64_t number) {
  return atomic_load_explicit(&queue->issued, memory_order_acquire) >= number;
}
// Whether others have launched what the op comes after, so that weir__cuda_execute does not wait for them. If not, `*out_blocker` is
// one of those, by queue and number.
bool weir__cuda_can_execute(const weir__cuda_device *device, const weir__cuda_op *op, weir__cuda_wait *out_blocker);
// Waits until ops up to this number, or all that were placed, are in the queue's stream, and helps launchers meanwhile. By the
// device's thread; by others only where they are there, so that it does not wait.
void weir__cuda_await_issued(weir__cuda_device *device, const weir__cuda_queue *queue, uint64_t number);
static inline void weir__cuda_drain(weir__cuda_device *device, const weir__cuda_queue *queue) {
  weir__cuda_await_issued(device, queue, queue->placed);
}

// The driver makes what a stream, or a thread that calls it, needs when it is used first: an ordinary queue is used, and the next
// one waits for it. While the device is made.
void weir__cuda_use_stream(weir__cuda_device *device, uint32_t index);

// Launchers (launcher.c).
weir_status weir__cuda_launchers_start(weir__cuda_device *device, uint32_t count);
void weir__cuda_launchers_stop(weir__cuda_device *device);
void weir__cuda_launchers_wake(weir__cuda_device *device);
void weir__cuda_launcher_push(weir__cuda_launcher *launcher, weir__cuda_op *op);
void weir__cuda_launcher_drain(weir__cuda_launcher *launcher); // waits until all that was pushed is launched
// Launches ops of launchers that have ops, and by this thread's looks have not got on for a while. Returns whether there were any.
bool weir__cuda_launchers_help(weir__cuda_device *device, weir__cuda_looks *looks);

// Events (events.c): from a pool; NULL: the driver has none.
CUevent weir__cuda_take_event(weir__cuda_device *device);
// Before anything is launched: events that need not be made later, as far as there is memory for them.
void weir__cuda_make_events(weir__cuda_device *device, uint32_t count);
// An event that was made elsewhere, without timing, will be given to the pool. False: no memory.
bool weir__cuda_adopt_event(weir__cuda_device *device);
void weir__cuda_give_event(weir__cuda_device *device, CUevent event);
// Records an event behind the op, if it has none yet. It must be the last in its queue.
CUresult weir__cuda_record(weir__cuda_device *device, weir__cuda_op *op);
// For timelines: events with times around what is launched next; no-ops without a timeline.
void weir__cuda_mark_start(weir__cuda_device *device, weir__cuda_op *op, CUstream stream);
void weir__cuda_mark_end(weir__cuda_device *device, weir__cuda_op *op, CUstream stream);
uint64_t weir__cuda_event_ns(const weir__cuda_device *device, CUevent event);
// Start and end of the work between two events, and a lane on which nothing else was then. Times are `least_ns` at
// least.
void weir__cuda_mark_times(weir__cuda_device *device, const CUevent *marks, uint64_t least_ns, uint64_t *out_start_ns,
                           uint64_t *out_end_ns, uint32_t *out_lane);
// A lane behind those of the queues on which nothing else ran then, as far as there are some.
uint32_t weir__cuda_choose_lane(weir__cuda_device *device, uint64_t start_ns, uint64_t end_ns);
// Makes the event that times are counted from, if there is none yet. The device's context is current; called before
// anything is launched whose times are wanted, with the context's lock held, or while the device is made.
CUresult weir__cuda_begin_times(weir__cuda_device *device);

// Functions of the table (complete.c).
weir__operation *weir__cuda_last_done(weir__in_order_device *device, uint32_t queue);
void weir__cuda_finish(weir__in_order_device *device, weir__operation *operation);
void weir__cuda_report(weir__in_order_device *device, weir__operation *operation, weir__completion *completion);
void weir__cuda_end_fence(weir__in_order_device *device, weir__external_fence *fence);
void weir__cuda_await(weir__in_order_device *device);
void weir__cuda_lose(weir__in_order_device *device, uint32_t trouble, char text[WEIR__MESSAGE_BYTES]);
void weir__cuda_drain_all(weir__in_order_device *device);

// weir__graph_ops.build and .forget (graph.c).
weir_status weir__cuda_graph_build(weir_device *device, weir__graph_plan *plan, uint64_t *out_build_ns);
void weir__cuda_graph_forget(weir_device *device, void *device_data);

#endif // WEIR_DEVICE_CUDA_CUDA_DEVICE_H
