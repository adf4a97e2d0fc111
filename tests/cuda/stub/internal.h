// SPDX-License-Identifier: Apache-2.0
//
// Inside the stub driver. One lock guards everything; only the effects of operations (kernels, copies) run without it.
#ifndef WEIR_TESTS_CUDA_STUB_INTERNAL_H
#define WEIR_TESTS_CUDA_STUB_INTERNAL_H

#include <pthread.h>
#include <stddef.h>

#include "device/cuda/symbols.h"
#include "random.h"
#include "stub.h"

enum {
  STUB_MAX_DEVICES = 8,
  STUB_MAX_EXECUTORS = 8,
  STUB_MAX_PARAMS = 128,
  STUB_MAX_BLOCK = 1024,
  STUB_SHARED_BYTES = 48 * 1024,
  STUB_SHARED_OPTIN_BYTES = 227 * 1024,
};

// The symbols that the library exports.
#define STUB_DECLARE(member, symbol, need, parameters) STUB_API CUresult symbol parameters;
WEIR__CUDA_SYMBOLS(STUB_DECLARE)
#undef STUB_DECLARE

// One that the Python package calls, and the library does not.
STUB_API CUresult cuGraphDestroyNode(CUgraphNode node);

// ---------------------------------------------------------------------------------------------------------------
// ledger.c: violations, calls, failures that are asked for

typedef struct stub_counter {
  const char *name;
  uint64_t calls;
  struct stub_counter *next; // in the list of those that were called
  bool listed;
} stub_counter;

void stub_ledger_reset(void);
void stub_ledger_call(stub_counter *counter);

// Counts the call for stub_fail_nth(); the result that it must fail with, or CUDA_SUCCESS.
CUresult stub_ledger_fails(const stub_counter *counter, bool only_by_name);

// Reports a violation. The lock is held.
__attribute__((format(printf, 1, 2))) void stub_violation(const char *format, ...);

// ---------------------------------------------------------------------------------------------------------------
// state.c: options, lock, begin and end of every call

enum {
  STUB_PLAIN = 0,
  STUB_CONTEXT = 1, // needs a current context
  STUB_RELEASE = 2, // is done even if it fails
  STUB_EARLY = 4,   // may be called before cuInit
  STUB_BY_NAME = 8, // fails only when stub_fail_nth() names it
  STUB_UNSAFE = 16, // refused while streams are captured, unless the thread or the capture is relaxed
};

typedef struct stub_state {
  pthread_mutex_t lock;
  pthread_cond_t progress; // an operation is done
  pthread_cond_t work;     // an operation was added
  bool configured, initialized;
  stub_options options;
  random_state random;
  uint64_t peer_copies[2];
  uint64_t last_time;
} stub_state;

extern stub_state stub;

// Whether this thread runs the effect of an operation; no function of the driver may be called then.
extern _Thread_local bool stub_in_operation;

// Begins a call, and returns from the caller if it fails. Otherwise the lock is held until stub_leave().
#define STUB_ENTER(function, needs)                                                                                    \
  static stub_counter stub_counter_here = {.name = #function};                                                         \
  CUresult stub_refusal = stub_enter(&stub_counter_here, needs);                                                       \
  if (stub_refusal != CUDA_SUCCESS) return stub_refusal

CUresult stub_enter(stub_counter *counter, unsigned needs);
CUresult stub_leave(CUresult result);

// Nanoseconds, always more than the last time.
uint64_t stub_now(void);

// Allocates zeroed memory or ends the process.
void *stub_allocate(size_t bytes);
void *stub_grow(void *memory, size_t bytes);

// ---------------------------------------------------------------------------------------------------------------
// objects.c: handles

typedef enum stub_kind {
  STUB_STREAM,
  STUB_EVENT,
  STUB_MODULE,
  STUB_FUNCTION,
  STUB_GRAPH,
  STUB_NODE,
  STUB_EXEC,
  STUB_LINK,
  STUB_KINDS,
} stub_kind;

typedef struct stub_object {
  stub_kind kind;
  bool live;
  struct stub_object *next; // among those that were destroyed
} stub_object;

// A new object, zeroed but for its head. Destroyed ones are used again only after many others were.
void *stub_object_create(stub_kind kind, size_t bytes);
void stub_object_destroy(void *object);

// An object that is destroyed but still needed is retired later: no longer live now, not used again before.
void stub_object_bury(void *object);
void stub_object_retire(void *object);

// Whether the handle is a live object of the kind; if not, a violation of `function`.
bool stub_object_is_live(const void *handle, stub_kind kind); // without a violation
bool stub_object_check(const void *handle, stub_kind kind, const char *function);
uint64_t stub_object_live(stub_kind kind);

// Destroys what a test left behind.
void stub_object_forget_all(void);

// ---------------------------------------------------------------------------------------------------------------
// Tickets: one for everything that will be done at some time. An event is a name for the ticket of its last record.

typedef struct stub_ticket {
  uint32_t references;
  bool done;
  uint64_t time; // when it was done
} stub_ticket;

stub_ticket *stub_ticket_create(void);
stub_ticket *stub_ticket_retain(stub_ticket *ticket);
void stub_ticket_release(stub_ticket *ticket); // NULL is allowed

// ---------------------------------------------------------------------------------------------------------------
// memory.c: allocations

#define STUB_DEVICE_BIT (UINT64_C(1) << 56)

typedef enum stub_memory_kind { STUB_DEVICE_MEMORY, STUB_PINNED } stub_memory_kind;

typedef struct stub_allocation {
  uint64_t base, bytes; // base: the address that the driver's user sees
  unsigned char *host;  // first byte
  unsigned char *raw;   // what was allocated
  stub_memory_kind kind;
  int device;
  bool freed;      // kept for a while, to recognise its use
  uint32_t queued; // operations not done that refer to it
} stub_allocation;

// The allocation (freed ones too) that holds the address; NULL: none.
stub_allocation *stub_allocation_find(uint64_t address);

// Whether `bytes` bytes at `address` are in one live allocation, which `out_allocation` gets. With none at all the answer
// is true and NULL: memory of the host. Otherwise a violation of `what`.
bool stub_memory_check(uint64_t address, uint64_t bytes, const char *what, stub_allocation **out_allocation);
void *stub_memory_host(uint64_t address);
// Memory of a module's. NULL: there is none.
stub_allocation *stub_memory_create(int device, uint64_t bytes);
void stub_memory_destroy(stub_allocation *allocation);
void stub_memory_drop_context(int device);
void stub_memory_count(stub_live_objects *live);

// ---------------------------------------------------------------------------------------------------------------
// work.c: what one operation does

typedef enum stub_work_kind {
  STUB_KERNEL,
  STUB_COPY,
  STUB_SET,
  STUB_EMPTY,
  STUB_RECORD,
  STUB_CHILD,
  STUB_HOST,
  STUB_OTHER
} stub_work_kind;

typedef struct stub_work {
  uint32_t references;
  stub_work_kind kind;
  CUfunction function;
  uint32_t grid[3], block[3], shared_bytes;
  unsigned char *param_memory;
  void *params[STUB_MAX_PARAMS];
  uint64_t destination, source, bytes; // copy; set: destination and bytes
  unsigned char *staged;               // copy: the source, if it was read in the call
  uint32_t value;                      // of a set: the pattern
  CUevent event;                       // record
  CUgraph child;                       // of a child: owned
  void (*host)(void *user);            // of a function of the host
  void *user;                          // the same
  CUgraphNodeType type;                // of another kind, that is never launched
  bool by_kernel, cooperative;         // of a launch: the node names a CUkernel; its attributes
  uint32_t cluster[3];                 // the same
} stub_work;

stub_work *stub_work_create(stub_work_kind kind);
stub_work *stub_work_retain(stub_work *work);
void stub_work_release(stub_work *work);

// A launch. The parameters are copied. `context` is where it will run.
CUresult stub_work_kernel(const CUDA_KERNEL_NODE_PARAMS *parameters, CUcontext context, stub_work **out_work);

// A memset as a node; NULL and a violation if the parameters are wrong.
stub_work *stub_work_set(const CUDA_MEMSET_NODE_PARAMS *parameters, const char *function);

// Runs its effect, without the lock.
void stub_work_run(const stub_work *work, CUcontext context);

// Calls `visit` for each allocation that the work refers to, as far as one can see; violations for freed ones.
void stub_work_visit(const stub_work *work, void (*visit)(void *user, stub_allocation *allocation), void *user);

// ---------------------------------------------------------------------------------------------------------------
// engine.c: streams' operations and who executes them

typedef struct stub_run stub_run; // a launch of a graph; run.c

typedef struct stub_operation {
  struct stub_operation *next; // in the stream
  stub_ticket *ticket;
  stub_ticket **waits; // must be done before
  uint32_t wait_count;
  stub_work *work;
  stub_run *run;                // not NULL: a launch of a graph
  stub_allocation **references; //
  uint32_t reference_count, reference_capacity;
  bool running;
} stub_operation;

typedef struct stub_capture stub_capture; // capture.c

struct CUstream_st {
  stub_object object;
  CUcontext context;
  bool blocking; // waits for the legacy default stream, and that for it
  stub_operation *head, *tail;
  CUstream next, previous; // among streams with operations
  uint32_t laziness;       // the lower the sooner
  bool destroyed;
  stub_capture *capture; // NULL: it is not being captured
  CUgraphNode *frontier; // nodes that the next one comes after
  uint32_t frontier_count;
};

struct CUctx_st {
  int device;
  uint32_t retained;
  CUresult fault;
  bool lost; // the same, to be read without the lock
  bool peers[STUB_MAX_DEVICES];
  struct CUstream_st legacy;
};

struct CUevent_st {
  stub_object object;
  CUcontext context;
  bool timed;
  stub_ticket *ticket; // of the last record; NULL: never recorded
  uint64_t capture_id; // the last record was captured; 0: it was not
  CUgraphNode *frontier;
  uint32_t frontier_count;
};

stub_operation *stub_operation_create(stub_work *work);
void stub_operation_wait(stub_operation *operation, stub_ticket *ticket);
void stub_operation_refer(stub_operation *operation, const stub_work *work);

// Puts an operation in a stream.
void stub_enqueue(CUstream stream, stub_operation *operation);

// Waits until the ticket is done or the context is lost. Gives the lock away meanwhile.
CUresult stub_wait(stub_ticket *ticket, CUcontext context);

// A call asks how far things are: executes a few operations if no thread does.
void stub_poke(void);

// Launches that run in threads of their own, not by who executes operations. `begin`: waits for the operation's turn; false: it
// was dropped, and is gone. `end`: it is done.
bool stub_is_alone(const stub_operation *operation);
void stub_alone_begins(void); // its thread is made, and
void stub_alone_is_over(void);
uint32_t stub_alone_count(void);
bool stub_begin_alone(CUstream stream, stub_operation *operation, const stub_ticket *ticket);
void stub_end_alone(CUstream stream);
void stub_count_execution(void);

// resident.c: starts a launch of the resident kernel, which was put in the stream.
void stub_resident_start(CUstream stream, stub_operation *operation);

// The context is lost: what is queued in it never runs.
void stub_drop(CUcontext context);

// The same, and waits for what runs. context->fault must be set, so that nothing more starts.
void stub_drain(CUcontext context);
void stub_engine_stop(void);
uint64_t stub_queued(void);

// ---------------------------------------------------------------------------------------------------------------
// run.c: one launch of a graph

typedef struct stub_topology { // of an executable graph; does not change
  uint32_t references;
  uint32_t count;
  uint32_t *missing;         // per node: predecessors
  uint32_t *first_successor; // per node and one more: index in `successors`
  uint32_t *successors;
} stub_topology;

void stub_topology_release(stub_topology *topology);
stub_run *stub_run_create(stub_topology *topology, stub_work *const *works);
void stub_run_destroy(stub_run *run);

// Gives every record of an event in the graph its ticket.
void stub_run_record_events(stub_run *run);

// Takes a node that may run now, in random order; false: none now.
bool stub_run_has_ready(const stub_run *run);
bool stub_run_is_idle(const stub_run *run); // no node runs now
uint32_t stub_run_take(stub_run *run, stub_work **out_work);

// The node is done. True: it was the last.
bool stub_run_done(stub_run *run, uint32_t node);

// ---------------------------------------------------------------------------------------------------------------
// capture.c

// What is put into a stream that is being captured becomes a node; takes over the work.
CUresult stub_capture_work(CUstream stream, stub_work *work);
CUresult stub_capture_record(CUstream stream, CUevent event);
CUresult stub_capture_wait(CUstream stream, CUevent event); // the stream or the event is part of a capture
bool stub_capture_has_event(CUevent event);                 // whether it was recorded in a capture that goes on
void stub_capture_event_clear(CUevent event);               // it is recorded otherwise, or destroyed
void stub_capture_invalidate(CUstream stream);              // no-op for one that is not being captured
void stub_capture_leave(CUstream stream);                   // it is destroyed
void stub_capture_forget_all(void);

// Whether a call that is unsafe while this thread, or any, captures is refused. It invalidates the captures for which that is.
bool stub_capture_forbids(void);

// ---------------------------------------------------------------------------------------------------------------
// context.c, module.c

CUcontext stub_current(void);
void stub_context_lose(CUcontext context, CUresult result); // unless it is lost already
CUcontext stub_context_of(int device);
void stub_context_reset(void);
uint64_t stub_context_live(void);
bool stub_context_check(CUcontext context, const char *function);

// The stream behind a handle (NULL: the legacy default stream of the current context). NULL and a violation if none.
CUstream stub_stream_of(CUstream stream, const char *function);

struct CUmod_st {
  stub_object object;
  CUcontext context;
  CUfunction functions;
};

struct CUfunc_st {
  stub_object object;
  CUmodule module;
  CUfunction next; // of the module
  char name[128];
  uint32_t block_limit;
  uint32_t param_count;
  uint32_t param_bytes[STUB_MAX_PARAMS];
  uint32_t param_offsets[STUB_MAX_PARAMS];
  uint32_t param_total;
  uint32_t shared_limit;
  stub_function body;
  stub_group_function groups; // for workers of the resident kernel; NULL: none
  bool resident;              // it is that kernel
  stub_allocation *variable;  // that holds what workers know it by; NULL: nobody asked
  uint32_t queued;            // launches not done
};

// ---------------------------------------------------------------------------------------------------------------
// moves.c: Weir's own kernel

const char *stub_moves_module(const char *image); // as the stub wants it, if the image is of that kernel; else NULL
void stub_run_moves(const stub_launch *launch);

// ---------------------------------------------------------------------------------------------------------------
// graph.c, exec.c

CUgraph stub_graph_create(void);
void stub_graph_destroy(CUgraph graph);
bool stub_graph_check_dependencies(CUgraph graph, const CUgraphNode *dependencies, size_t count, const char *function);
// Adds a node; takes over the work.
CUresult stub_graph_add(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                        stub_work *work, const char *function);
CUgraph stub_graph_clone(CUgraph graph);
bool stub_graph_has_other(const struct CUgraph_st *graph); // a node that the stub cannot launch

struct CUgraph_st {
  stub_object object;
  uint64_t serial; // no two graphs have the same
  CUgraphNode *nodes;
  uint32_t count, capacity;
};

struct CUgraphNode_st {
  stub_object object;
  CUgraph graph;
  uint32_t index; // in the graph
  stub_work *work;
  uint32_t *predecessors; // by index
  uint32_t predecessor_count;
};

struct CUgraphExec_st {
  stub_object object;
  uint64_t graph_serial;   // of the graph that it was made of
  stub_topology *topology; // with the nodes of children in place of these
  stub_work **works;
  uint32_t node_count; // of the graph, without those of children
  uint32_t *first;     // per node and one more: where it is among `works`
  stub_ticket *last;   // of the last launch
};

// A copy in one dimension. NULL and a violation if the parameters say something else.
stub_work *stub_work_copy(const CUDA_MEMCPY3D *parameters, const char *function);

#endif // WEIR_TESTS_CUDA_STUB_INTERNAL_H
