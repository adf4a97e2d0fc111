// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-device-launch: what the host and the card share of it, and its parts.
//
// DESIGN. A kernel out of a module of its own can be launched by the card only as a CUDA graph that is made for that
// (device graph). Such a launch (fire and forget) comes from a kernel that itself runs in a device graph, and one
// execution of that graph may make 120 of them in all; that earlier ones are done does not help. A scheduler on the
// card has two ways to go on:
//   tail   It launches itself to run after it (tail launch), with a new count of 120. That run begins only when the
//          scheduler's graph and all that it has launched are done: every 120 kernels, all wait for the last one.
//   relay  It launches another scheduler's graph as its sibling, hands over what it knows, and leaves. Nothing waits,
//          but its own graph cannot be launched again before all that it has launched is done.
// A device graph that runs must not be launched again (cudaErrorInvalidValue). The last kernel of a graph can tell that
// the others are done, but not that the graph is: one that is launched again at once may have to be tried more than
// once, which is counted. Schedulers here use each graph once in a run, but for the case that shows what happens
// otherwise.
#ifndef WEIR_BENCH_GPU_DEVICE_LAUNCH_CUH
#define WEIR_BENCH_GPU_DEVICE_LAUNCH_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

enum {
  CARD_LAUNCHES = 120,       // of one execution of a device graph, at most
  CARD_RELAY_LAUNCHES = 118, // with one left for the sibling
  CARD_MOST_TASKS = 2048,    // power of two
  CARD_MOST_WIDTH = 16,      // and so of a task's successors
  CARD_MOST_FLIGHTS = 256,
  CARD_LATE = 100000, // in card_state.error: the scheduler waited for too long
  CARD_NO_RELAY,      // there was no further scheduler to hand over to
};

// Parameters of the task's kernel, in their order.
typedef struct task_args {
  uint64_t ticks;      // how long it spins
  uint64_t own;        // address of its word, to which it adds one
  uint64_t before[2];  // addresses of words that must not be 0; 0: none
  uint64_t violations; // address of a word to which it adds one for each that is
  uint64_t spare;
} task_args;

typedef struct task_successors {
  uint32_t count;
  uint16_t to[CARD_MOST_WIDTH];
} task_successors;

// A task that the scheduler has launched and not seen done. Multiple of 16 bytes.
typedef struct __align__(16) card_flight {
  uint32_t open, word, wanted; // done when done[word] is at least `wanted`
  task_successors successors;
}
card_flight;

// What a scheduler hands to its next run. The host writes it before each round.
typedef struct card_state {
  uint64_t deadline;      // of globaltimer; 0: the first run sets it
  uint32_t launched, run; // tasks; runs of a scheduler before this one
  uint32_t arrived;       // blocks of a run that are through
  uint32_t error, where;  // cudaError_t, or CARD_LATE...; the task
  uint32_t retries;       // launches of a graph that was not done yet
  uint32_t ready_count, flight_count;
  uint32_t waits[CARD_MOST_TASKS]; // tasks that each waits for
  uint16_t ready[CARD_MOST_TASKS];
  card_flight flights[CARD_MOST_FLIGHTS];
} card_state;

typedef struct card_plan {
  card_state *state;
  const cudaGraphExec_t *execs;       // by task; where `nodes` is set, by slot
  const cudaGraphDeviceNode_t *nodes; // of the slots' tasks, whose parameters are to be set; NULL: they are fixed
  const task_args *args;              // by task
  const task_successors *successors;  // by task
  uint32_t *done;                     // by task or slot, as execs: how often it was done
  const cudaGraphExec_t *relay;       // schedulers, by run; NULL: tail launch
  uint64_t offset;                    // of the first parameter
  uint64_t patience_ns;
  uint32_t count, slots, window, per_run, relays; // window: of launch_windowed, most tasks in flight
  uint32_t fence;                                 // between the parameters and the launch
} card_plan;

typedef enum card_way {
  CARD_NONE,     // the host does it
  CARD_ALL,      // every thread launches its share, without looking at what is done
  CARD_WINDOWED, // one thread, which waits for the task `window` before
  CARD_READY,    // one warp, which launches what has become ready
} card_way;

// The scheduler's kernel.
const void *card_kernel(card_way way);

// Ticks of clock64 in a microsecond.
double card_ticks_per_us(void);

typedef enum work_shape { INDEPENDENT, CHAIN, LAYERED } work_shape;

typedef struct launch_case {
  const char *name; // of one word
  work_shape shape;
  const char *about;
  card_way card;
  unsigned blocks, threads; // of the scheduler
  bool set, tells, relay;   // parameters are set; graphs have a kernel that tells; see above
  uint32_t window, slots;   // of CARD_WINDOWED; slots 0: CARD_LAUNCHES
  unsigned streams;         // of the host; 0: a CUDA graph
  bool serial;              // the graph is one chain
} launch_case;

typedef struct launch_settings {
  int device;
  uint32_t rounds;
  bool quick, fence;
} launch_settings;

enum { MOST_ROUNDS = 101, MOST_TIMES = 4 };

// Times of the tasks of a shape, in us, and how many tasks there are.
uint32_t shape_times(work_shape shape, const uint32_t **out_times);
uint32_t shape_tasks(work_shape shape, bool quick);

// Measures a case and writes lines to stdout: "row US MEDIAN LOW HIGH" (us for all tasks) for each time, "made US" (to
// make one device graph), "retries N", "card NAME", "failed TEXT", "missing TEXT". Ends the process where something
// fails.
void launch_case_run(const launch_case *one, const launch_settings *settings);

// Writes such a line of `kind` and ends the process.
[[noreturn]] void launch_fail(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
void launch_check(cudaError_t error, const char *what);
void launch_check_driver(CUresult result, const char *what);

// ---------------------------------------------------------------------------------------------------------------
// Kernels out of a module of their own, and graphs of them.

typedef struct task_kernels {
  CUkernel task, done;
  uint64_t offset; // of the task's first parameter; the others follow without gaps
} task_kernels;

void task_kernels_load(task_kernels *out_kernels);
void task_put(const task_kernels *kernels, task_args *args, cudaStream_t stream);
CUgraphNode task_node(const task_kernels *kernels, cudaGraph_t graph, const CUgraphNode *before, size_t count,
                      task_args *args);

// A device graph of a task and, if `word` is not 0, of a kernel that then adds one to that word. out_node: NULL, or to
// be the handle by which the card sets the task's parameters. The graph that it is made of stays, as the handle is its.
cudaGraphExec_t task_device_graph(const task_kernels *kernels, task_args *args, uint64_t word, cudaStream_t stream,
                                  cudaGraphDeviceNode_t *out_node);

// A device graph of a scheduler.
cudaGraphExec_t scheduler_graph(card_way way, unsigned blocks, unsigned threads, card_plan *plan, cudaStream_t stream);

#endif // WEIR_BENCH_GPU_DEVICE_LAUNCH_CUH
