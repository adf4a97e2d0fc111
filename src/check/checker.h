// SPDX-License-Identifier: Apache-2.0
//
// Check mode (WEIR_CONTEXT_CHECK): whether tasks do what they declare.
//
// DESIGN. A context in check mode has one more device, which is not listed: the checker. Admission gives every task to it
// instead of to the device that was asked for, so all contents are in the host's memory, and hazards, failures and events are
// as always. The checker's thread runs one task at a time; of those for a card it checks several at once that are ready (card.h).
// It lays out copies of all buffers of the task in an arena, with junk
// in front of each buffer, behind it, where the task declared nothing, and where it only writes. A kernel runs there, on the
// device that was asked for, by a task of the checker's own (weir__submission.aside), and once more with other junk. Then
// the arenas tell what was changed, left over or read. A host task runs once; memory that the caller wrapped it gets itself.
//
// Everything here belongs to the checker's thread, unless it says otherwise.
#ifndef WEIR_CHECK_CHECKER_H
#define WEIR_CHECK_CHECKER_H

#include <pthread.h>

#include "check/junk.h"
#include "device/graph.h"
#include "engine/context.h"
#include "engine/submission.h"

enum {
  WEIR__CHECK_GUARD = 1024,           // bytes in front of and behind each buffer; buffers begin at multiples of it
  WEIR__CHECK_ARENAS = 4,             // of the runs; the last one is for contents that come from a card
  WEIR__CHECK_BATCH = 32,             // most tasks that are checked at once
  WEIR__CHECK_BATCH_BYTES = 64 << 20, // of their arenas together
};

// Copies of a task's buffers, for one device.
typedef struct weir__check_arena {
  unsigned char *memory; // aligned like a buffer's; NULL: none yet
  uint64_t bytes;
  weir_buffer *buffer; // around the memory, for a device that works in the host's; else NULL
} weir__check_arena;

// The functions that cards run for the checker (check/card.h).
enum { WEIR__CARD_PREPARE, WEIR__CARD_COMPARE, WEIR__CARD_COMMIT, WEIR__CARD_KERNELS };

// What the checker has for a device that runs kernels.
typedef struct weir__check_bench {
  weir__check_arena arenas[WEIR__CHECK_ARENAS];
  weir_buffer *buffer; // in the memory of a device that has its own; else NULL
  uint64_t bytes;      // of the buffer
  // For tasks that are checked on the card, whose arenas are all in `buffer`:
  weir_buffer *junk;       // both variants
  weir_buffer *more;       // regions that a table has no room for
  weir_buffer *suspicious; // for each task of a batch the token of the last batch where it was
  unsigned char *pinned;   // host memory (card_launch.h)
  bool spoiled;            // a run failed, so contents of the buffers count as poisoned
} weir__check_bench;

// An argument. Of a buffer: a range, or a box in one.
typedef struct weir__check_arg {
  weir_mode mode;
  uint32_t slot; // its buffer's
  uint64_t lo, hi;
  const weir_box *box;  // in that range, in plain form (window/box.h); NULL: all of it
  void *pointer;        // to the bytes themselves
  uint64_t value_bytes; // of a value
} weir__check_arg;

// A buffer that the task names.
typedef struct weir__check_slot {
  weir_buffer *buffer;
  unsigned char *memory; // its first byte
  uint64_t at;           // where its copy begins in an arena
  uint32_t first_arg;    // that names it
  bool in_place;         // the task works in `memory`; the arena has the contents before it
} weir__check_slot;

typedef enum weir__region_kind {
  WEIR__REGION_READ,
  WEIR__REGION_WRITE,
  WEIR__REGION_UPDATE,
  WEIR__REGION_UNWRITTEN, // part of an update that no task wrote before
  WEIR__REGION_OUTSIDE,   // of what the task declared
  WEIR__REGION_GUARD,     // outside of the buffer: offsets from `at` - WEIR__CHECK_GUARD
} weir__region_kind;

// A stretch of a slot: bytes [lo, hi) of its buffer.
typedef struct weir__region {
  weir__region_kind kind;
  uint32_t slot, arg;
  int64_t lo, hi;
} weir__region;

// A task, or a node of a graph, that is checked.
typedef struct weir__check_job {
  weir_context *context;
  weir_device *device; // that was asked for
  weir_kernel *kernel; // NULL: a host task
  weir_function function;
  void *user;
  uint32_t groups[3];
  uint32_t arg_count, slot_count, region_count, region_capacity;
  weir__check_arg *args;
  weir__check_slot *slots; // room for arg_count
  weir__region *regions;
  uint64_t room;   // of what has one for each argument
  weir_arg *inner; // scratch, arg_count long
  void **pointers; // scratch, arg_count long
  uint64_t arena_bytes;
  const weir__task *task;       // that is in flight
  const weir__graph_node *node; // of the graph that the task launches; NULL: it launches none
  uint32_t node_index;
  uint64_t number; // of the task
  uint64_t oldest; // that was in flight when it began
  // The outcome: of the run, or TASK_FAILED for a wrong declaration.
  weir_status status;
  uint32_t findings;
  char message[WEIR__MESSAGE_BYTES];
} weir__check_job;

// One of the tasks that are checked at once.
typedef struct weir__check_entry {
  weir__task *task;
  weir__check_job job;
} weir__check_entry;

typedef struct weir__checker {
  weir_device base;
  pthread_t thread;
  bool started;
  pthread_mutex_t mutex; // guards what follows
  pthread_cond_t changed;
  weir__task *first, *last; // that are ready
  bool ends;
  // The thread's own.
  weir__task *others, *last_other; // taken, and not checked yet: tasks that are checked one at a time,
  weir__task *cards, *last_card;   // and those for cards
  weir__junk junk;
  weir__check_bench benches[WEIR__MAX_DEVICES];
  weir__check_job job;
  weir__check_entry entries[WEIR__CHECK_BATCH];
  weir_kernel *kernels[WEIR__CARD_KERNELS]; // for cards
  uint32_t token;                           // of the last batch that was checked on a card
  bool warned_unsteady;
} weir__checker;

// The junk variant that a run has everywhere, but for bytes [lo, hi) of the arena, which have the other one.
typedef struct weir__junk_choice {
  uint32_t variant;
  uint64_t lo, hi;
} weir__junk_choice;

// Begins a job of a task in flight, with room for arguments, which are filled in then. False: no memory.
bool weir__check_begin(weir__checker *checker, weir__check_job *job, const weir__task *task, uint32_t arg_count);
void weir__check_free_job(weir__check_job *job);
void weir__check_no_memory(weir__check_job *job); // how it failed
void weir__check_set_buffer(weir__check_job *job, uint32_t index, weir_mode mode, weir_buffer *buffer, uint64_t lo,
                            uint64_t hi, const weir_box *box, void *pointer);

// Checks the launch of a graph, node by node.
weir_status weir__check_run_graph(weir__checker *checker, weir__task *task, const char **out_message);

// Makes slots and regions from the arguments. False: no memory.
bool weir__check_lay_out(weir__check_job *job);

// Where a region's bytes are for the task, and where its junk begins in the arena.
static inline uint64_t weir__region_at(const weir__check_job *job, const weir__region *region) {
  return (uint64_t)((int64_t)job->slots[region->slot].at + region->lo);
}
static inline unsigned char *weir__region_memory(const weir__check_job *job, const weir__region *region,
                                                 const weir__check_arena *arena) {
  const weir__check_slot *slot = &job->slots[region->slot];
  return (slot->in_place ? slot->memory : arena->memory + slot->at) + region->lo;
}
static inline bool weir__region_is_junk(const weir__region *region) {
  return region->kind != WEIR__REGION_READ && region->kind != WEIR__REGION_UPDATE;
}
static inline bool weir__region_is_output(const weir__region *region) {
  return region->kind >= WEIR__REGION_WRITE && region->kind <= WEIR__REGION_UNWRITTEN;
}

// The arena `index` of the job's device, of the job's size at least. NULL: no memory; the job has the status then.
weir__check_arena *weir__check_arena_of(weir__checker *checker, weir__check_job *job, uint32_t index);
void weir__check_free_benches(weir__checker *checker);

// Fills an arena, runs the task there and waits for its end. The status is the job's, too, if it is a failure.
weir_status weir__check_run(weir__checker *checker, weir__check_job *job, weir__check_arena *arena,
                            weir__junk_choice choice);

// Parts of that, for cards: a task of the checker's own, submitted or not, its end, and the slots of the window for it.
weir__submission weir__check_aside(const weir__check_job *job);
// `base`: where in the buffer the arena begins.
weir_status weir__check_submit(weir__check_job *job, weir_buffer *buffer, uint64_t base, weir_event **out_event);
weir_status weir__check_await(weir__check_job *job, weir_status status, weir_event *event);
// The last part of that, for an event that is done: the job takes over how it failed. The lock is held.
weir_status weir__check_take_end(weir__check_job *job, weir_event *event);
bool weir__check_has_room(weir__check_job *job, uint32_t tasks);
unsigned char *weir__check_host_memory(weir_device *device, uint64_t bytes);
void weir__check_free_host_memory(weir_device *device, unsigned char *memory); // may be NULL
void weir__check_free_bench(weir_device *device, weir__check_bench *bench);

// Whether there is junk on which the results must not depend, besides what is around buffers.
bool weir__check_has_junk(const weir__check_job *job);

// Runs the task on the host's contents of its buffers. False: a run failed, and there are no results.
bool weir__check_run_and_look(weir__checker *checker, weir__check_job *job);

// Runs the task as often as needed, and looks at what it did. Results are in the buffers afterwards.
void weir__check_job_run(weir__checker *checker, weir__check_job *job);

// What a run that had this junk changed though it is not declared as written.
void weir__check_changed(weir__checker *checker, weir__check_job *job, const weir__check_arena *arena,
                         weir__junk_choice choice);
// Of a host task, which runs once: bytes that still have junk.
void weir__check_left_over(weir__checker *checker, weir__check_job *job, const weir__check_arena *arena,
                           weir__junk_choice choice);
// Of a kernel that ran in both arenas, with both variants: bytes that it did not overwrite, and results that differ.
void weir__check_compare(weir__checker *checker, weir__check_job *job, weir__check_arena *first,
                         weir__check_arena *second);
// Whether outputs differ, apart from bytes that still have the junk of both runs.
bool weir__check_differs(const weir__checker *checker, const weir__check_job *job, const weir__check_arena *first,
                         weir__junk_choice first_choice, const weir__check_arena *second,
                         weir__junk_choice second_choice);
// Outputs differ: finds what they depend on. `first` has the outputs of a run with the junk variant 0.
void weir__check_find_cause(weir__checker *checker, weir__check_job *job, weir__check_arena *first);

// What the job is called on stderr. Takes the lock.
enum { WEIR__CHECK_NAME_BYTES = 2 * WEIR__MESSAGE_BYTES };
void weir__check_name_job(const weir__check_job *job, char text[WEIR__CHECK_NAME_BYTES]);

// Notes a finding about bytes [lo, hi) of a region's buffer. `format` has the rest of the text.
void weir__check_report(weir__check_job *job, const weir__region *region, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Reports each read of bytes that no task wrote, and notes what the job writes. Takes the lock.
void weir__check_written(weir__check_job *job);

#endif // WEIR_CHECK_CHECKER_H
