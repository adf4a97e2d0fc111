// SPDX-License-Identifier: Apache-2.0
//
// Graphs as devices see them. A plan has the nodes of a graph, with their hazards found, and buffers by number. A launch of
// the plan is one task of the window, with a run: the pointers, values and counters of that launch.
#ifndef WEIR_DEVICE_GRAPH_H
#define WEIR_DEVICE_GRAPH_H

#include "base/tsan.h"
#include "device/host.h"

// What a node does, and what run->args[first_arg + ...] holds for it.
typedef enum weir__graph_kind {
  WEIR__GRAPH_CALL, // a kernel or a host task: its arguments
  WEIR__GRAPH_COPY, // `bytes` bytes: 0 is where to, 1 where from; addresses that the device can use
  WEIR__GRAPH_FILL, // `bytes` bytes: 0 is where to, 1 points to the 4 bytes of the pattern
} weir__graph_kind;

#define WEIR__GRAPH_ANY_QUEUE UINT32_MAX

typedef struct weir__graph_arg {
  weir_mode mode;
  bool host;       // the caller's memory in a copy, or what stands in for it: an address, though the mode is VALUE
  bool by_rows;    // a box whose rows the plan knows, not only its range
  uint32_t buffer; // number in the plan; not for values
  uint64_t offset, bytes; // of the range; of the value in `values`
  const weir_box *box;    // in the range, in plain form (window/box.h); NULL: all of it
} weir__graph_arg;

typedef struct weir__graph_node {
  weir__graph_kind kind;
  uint64_t bytes; // of a copy or fill
  weir_function function;
  void *user;
  weir_kernel *kernel; // NULL: a host task, copy or fill
  uint32_t groups[3];
  uint32_t first_arg, arg_count;
  uint64_t first_value, value_bytes; // in the plan's and a run's `values`
  uint32_t first_successor, successor_count;
  uint32_t first_predecessor, predecessor_count;
  uint64_t tag;
  char label[WEIR__LABEL_BYTES];
} weir__graph_node;

// What the caller gave the task that a node of a launch stands for, in which tasks that came again differ.
typedef struct weir__graph_given {
  void *user;
  uint64_t tag;
} weir__graph_given;

// Memory of the caller's that a copy reads or writes: argument 1 or 0 of its node.
typedef struct weir__graph_host {
  uint32_t node;
  bool writes;
  uint64_t bytes;
  uint64_t offset; // in a run's memory in between
} weir__graph_host;

// Accesses of a launch come in this order, and those to one buffer side by side.
enum {
  WEIR__EXTERNAL_ANY,
  WEIR__EXTERNAL_READS_ALL, // of its buffer
  WEIR__EXTERNAL_TEMPORARY, // of a buffer that launches do not name (graph/temporaries.h)
};

// What the graph as a whole does to bytes of a buffer.
typedef struct weir__graph_external {
  uint32_t buffer;
  weir_mode mode;
  uint64_t lo, hi;
  bool all;      // of its buffer's bytes
  uint8_t order; // WEIR__EXTERNAL_*
} weir__graph_external;

// Why a node comes after another: bytes of a buffer, by its number in the plan, that both use.
typedef struct weir__graph_reason {
  uint64_t lo, hi;
  uint32_t buffer;
  uint8_t hazard; // weir__hazard
} weir__graph_reason;

// What became of launches of a graph with enqueue functions (weir_graph_calls). Guarded by the context's lock.
typedef struct weir__graph_counts {
  uint64_t captured, updated, made, called;
  char reason[160];
} weir__graph_counts;

// What nodes of a graph point to, and several plans may share.
typedef struct weir__graph_source {
  _Atomic uint32_t references;
  void (*destroy)(struct weir__graph_source *source); // by whoever drops the last, perhaps with the context's lock
} weir__graph_source;

static inline weir__graph_source *weir__graph_source_retain(weir__graph_source *source) {
  atomic_fetch_add_explicit(&source->references, 1, memory_order_relaxed);
  return source;
}

static inline void weir__graph_source_drop(weir__graph_source *source) {
  if (source != NULL && atomic_fetch_sub_explicit(&source->references, 1, memory_order_acq_rel) == 1)
    source->destroy(source);
}

typedef struct weir__graph_plan {
  uint32_t references; // the graph's and one per run; guarded by the context's lock
  uint32_t node_count, arg_count, buffer_count, host_count;
  uint32_t external_count; // of buffers that launches name; those of temporaries are behind them
  uint32_t first_read;     // of these; all from here on read whole buffers
  uint32_t all_externals;
  uint64_t edge_count, value_bytes, host_bytes; // host_bytes: of a run's memory in between, if it needs some
  weir__graph_node *nodes;
  weir__graph_arg *args;
  uint32_t *successors;        // nodes
  uint32_t *predecessors;      // nodes, the newest first: those that others of them come after are left out
  weir__graph_reason *reasons; // per predecessor
  uint64_t *cuts;              // of each buffer, where uses of it begin and end: in between are its intervals
  uint32_t *first_cuts;        // per buffer, and one more: where its part of `cuts` begins
  weir__graph_external *externals;
  uint32_t *outer; // numbers of the buffers that launches name, and behind them those of temporaries
  uint32_t outer_count;
  uint32_t arrangement; // of these, not 0; another number each time that it changes
  weir__graph_host *hosts;
  unsigned char *values;      // of all nodes, to be copied by each run
  weir__graph_given *given;   // per node, to be copied by each run; NULL: nodes have it
  weir_box *boxes;            // that arguments point to
  weir_device *device;        // that gets the launches
  weir_device *asked;         // that the graph is for, where the checker gets them
  uint32_t space;             // that contents must be in
  bool timed;                 // launches note when nodes start and end
  void *device_data;          // what the device made of it; NULL: nothing
  weir__graph_counts *counts; // the graph's, which is there while a run is in flight
  weir__graph_source *source; // of its adopted nodes; NULL: it has none. A reference
  void **memories;            // per buffer: where it was for the last launch
  uint64_t stamp;             // of what launches bind: another one for other addresses or values. Guarded by the lock
} weir__graph_plan;

typedef enum weir__node_state {
  WEIR__NODE_OK,
  WEIR__NODE_FAILED,
  WEIR__NODE_SKIPPED,
  WEIR__NODE_CANCELLED
} weir__node_state;

// A buffer of a run, by its id.
typedef struct weir__graph_number {
  uint64_t id;
  uint32_t number;
} weir__graph_number;

// Bytes [lo, hi) of a buffer, or a box that begins at `lo`, that one task writes and another reads.
typedef struct weir__graph_bytes {
  weir__id task; // 0: the bytes are poisoned by a task that is done
  uint64_t buffer;
  uint64_t lo, hi;
  weir_box box; // `width` 0: there is none
} weir__graph_bytes;

typedef struct weir__graph_run {
  struct weir__graph_run *next; // among the graph's idle runs
  weir_graph *graph;
  weir_context *context;
  // The device calls it without the lock when it is done with all nodes and their states are set, before it reports the
  // launch: bytes for memory of the caller's that the device does not reach are put there.
  void (*stage_out)(struct weir__graph_run *run);
  weir__graph_plan *plan;
  weir__task *task;
  weir__id task_id;
  weir__id after;         // the launch that used the storage of temporaries before; 0: there are none
  weir__access *accesses; // of the launch as a whole: external_count
  uint32_t unsettled;     // of these, the first ones; the others read contents that are there
  weir__block **fresh;    // scratch, external_count long
  weir_buffer **buffers;  // by number, as they were at the launch
  uint32_t *serials;
  uint64_t *storages;          // numbers, for timelines
  uint32_t arrangement;        // plan->arrangement for these and `accesses`; 0: none
  weir__graph_number *numbers; // scratch, buffer_count long
  void **args;                 // by number of argument: pointers into storage or `values`
  uint64_t stamp;              // plan->stamp for these; 0: none yet
  unsigned char *values;
  weir__graph_given *given;   // per node; NULL: nodes have it
  _Atomic uint32_t *blockers; // per node
  _Atomic uint8_t *states;    // per node: weir__node_state
  weir__point *points; // per node, where ThreadSanitizer watches: the ends of its predecessors; NULL: it does not
  uint32_t *ready;     // scratch for the device, node_count long
  weir__id *failed_predecessors;       // tasks that failed whose data this launch may read
  weir__graph_bytes *data_dependences; // where the launch's data comes from
  weir__graph_bytes *readers;          // tasks submitted since that read what this launch writes, and which bytes
  uint8_t *poison;                     // what is poisoned while nodes run (device/graph_poison.h)
  _Atomic bool poisoned;               // something is
  weir__lock poison_lock;              // guards `poison` while nodes run
  uint32_t reader_count, reader_capacity;
  uint32_t failed_predecessor_count, failed_predecessor_capacity;
  uint32_t data_dependence_count, data_dependence_capacity;
  bool all_poisoned;             // memory was too short to note which inputs are
  void **hosts;                  // per host of the plan: the caller's memory, as it was at the launch
  bool *reached;                 // per host: the device copies from or to the caller's memory itself
  weir__block *staging;          // on the host, where it does not; NULL: none yet
  bool staged;                   // what is copied in is there
  bool staged_out;               // what is copied out is in the caller's memory
  bool ran;                      // a device started with it
  uint32_t queue;                // of the device, that the caller chose; WEIR__GRAPH_ANY_QUEUE: the device's choice
  bool timed;                    // the device notes in these, per node, when it starts and ends, in ns of its time
  uint64_t *start_ns;            // of nodes that did not run: 0
  uint64_t *end_ns;              // both exist only if some launch was timed
  _Atomic uint32_t failed_count; // nodes that did not end well
  weir__lock message_lock;
  uint32_t message_node; // the first node, in the order of recording, that did not end well so far
  char message[WEIR__MESSAGE_BYTES];
} weir__graph_run;

// What a node is called in messages and timelines.
const char *weir__graph_node_name(const weir__graph_node *node);

// The number of the first cut of a buffer at or behind the byte `at`, counted among the buffer's cuts.
uint32_t weir__graph_find_cut(const weir__graph_plan *plan, uint32_t buffer, uint64_t at);

// Finds out which bytes are poisoned and makes the counters ready. Called by the device before the first node runs, with the
// context's lock held.
void weir__graph_run_start(weir__graph_run *run);
// Whether nodes of a run that started may have to be skipped, although none failed yet.
static inline bool weir__graph_run_skips(const weir__graph_run *run) {
  return atomic_load_explicit(&run->poisoned, memory_order_relaxed);
}
// Notes that no node ran well: the run failed as a whole.
void weir__graph_run_fail(weir__graph_run *run);

// Node `index` of a run as a function call; the device calls it when the node's predecessors are done. It runs all
// work-groups, or skips the node if it reads poison or was cancelled, and sets its state. `worker`: weir_work.worker of the
// caller. Thread-safe for different nodes.
void weir__graph_run_node(weir__graph_run *run, uint32_t index, uint32_t worker);

// Whether the node may run; false: it reads poison, and is skipped. A device that does not run it by weir__graph_run_node asks
// when all of the node's predecessors were asked about, and those that failed are noted. Thread-safe for different nodes.
bool weir__graph_run_admits(weir__graph_run *run, uint32_t index);

// Notes that a node failed, and why, before its successors are asked about.
void weir__graph_run_note_failure(weir__graph_run *run, uint32_t index, const char *message);

// Status of the whole launch, once all nodes are done: that of the first node that did not end well.
weir_status weir__graph_run_status(const weir__graph_run *run, const char **out_message);

// A copy or fill as a thread of the host makes it, from what run->args holds. No lock is needed.
void weir__graph_run_bytes(const weir__graph_node *node, void *const *args);
void weir__fill_bytes(void *destination, uint64_t bytes, const void *pattern);

#endif // WEIR_DEVICE_GRAPH_H
