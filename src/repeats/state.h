// SPDX-License-Identifier: Apache-2.0
//
// The state of a trace cache, and what its parts call of each other: what is recorded and kept (keep.c), what is followed
// (follow.c), and how that goes its way (leave.c). The context's lock is held.
#ifndef WEIR_REPEATS_STATE_H
#define WEIR_REPEATS_STATE_H

#include "base/random.h"
#include "repeats/period.h"
#include "repeats/repeat.h"
#include "repeats/repeats.h"

enum {
  WEIR__REPEATS_LOOKS = 2048,        // tasks that are recorded while nothing comes again
  WEIR__REPEATS_LOOKS_AHEAD = 4096,  // the same by default where devices run ahead: two passes of a large network
  WEIR__REPEATS_FIRST_SLEEP = 65536, // tasks that are not looked at after that; doubled each time
  WEIR__REPEATS_LONG_LOOP = 2048,    // tasks without another call: the program runs ahead of its devices
  WEIR__REPEATS_IN_FLIGHT = 64,      // launches that may be in flight when a run begins
  WEIR__REPEATS_TELL_EACH = 16,      // tasks that are held back, idle threads are told how many there are
};

// A launch that may be in flight.
typedef struct weir__repeat_flight {
  weir__id task;
  uint32_t tasks;
} weir__repeat_flight;

typedef struct weir__repeats weir__repeats;

struct weir__repeats {
  weir__repeat *first; // the one that was used last
  uint32_t kept_tasks;
  weir__repeat *last; // that was launched, if nothing else was submitted since; NULL: none
  // The run that is followed.
  weir__repeat *repeat;
  weir__bound bound;
  uint64_t begun;     // weir__ticks of its first task
  uint32_t quick_end; // a task is taken without further questions (repeats.c) while fewer are held back; 0: none is
  uint32_t count, entered; // tasks that are held back, and how many of these have been submitted after all
  bool settling;           // a thread submits or launches them
  // An idle thread submitted what was held back of `broken` (NULL: forgotten): so many of its tasks are still to come, and then
  // perhaps what came after it before.
  weir__repeat *broken;
  uint32_t to_come;
  // The run that is recorded.
  weir__run run;
  weir__period period;
  bool starts;                // the next task may begin a run
  uint64_t pass;              // the number of times that something else was called
  uint64_t pass_bytes;        // of temporaries of the launches since then
  uint64_t most_pass_bytes;   // the most of all passes
  uint32_t since;             // tasks since something else was called, up to WEIR__REPEATS_LONG_LOOP
  uint32_t looks, most_looks; // tasks that may still be recorded, of so many
  bool asleep;                // nothing is looked at
  weir__id wake;              // the task with which this ends; it is looked for as often as something else is called
  bool everywhere;            // the caller asked for it, so that it follows runs on all devices, of host tasks too
  bool ahead;                 // by default: runs of devices that run ahead are followed, and no others
  uint32_t fewest;            // tasks of a run that is kept
  uint32_t familiar;          // times that a run must have come before it is followed
  uint32_t first_piece;
  uint32_t longest_whole; // run that is kept as it is, though it repeats itself
  bool tests;             // runs are followed although they are not worth it, and given up at random
  weir__random random;
  uint64_t next_sleep;
  weir__repeat_flight flights[WEIR__REPEATS_IN_FLIGHT];
  uint32_t flight;
};

// keep.c

void weir__repeats_forget(weir__repeats *self, weir__repeat *repeat);

// Makes it the one that was used last.
void weir__repeats_use(weir__repeats *self, weir__repeat *repeat);

// The run broke too often, or has no graph. By default it is not followed until it came whole many times; where the caller
// asked for repeats it is learned anew.
void weir__repeats_give_up(weir__repeats *self, weir__repeat *repeat);

// Looks at no submission until so many more were made. And looks at them again if it is time; where devices run ahead that is asked
// only when something else is called.
void weir__repeats_sleep(weir_context *context, uint64_t tasks);
void weir__repeats_wake(weir_context *context);

// The run that is recorded begins anew; it ends, and is kept if it is long enough.
void weir__repeats_begin_run(weir_context *context);
void weir__repeats_end_run(weir_context *context);

// Notes a task that was submitted. `ends`: the run ends with it. One that was refused must not be noted: it would be held back the
// next time, where the caller is to hear of it.
void weir__repeats_note(weir_context *context, const weir_task *task, bool ends);

// leave.c

static_assert((uint64_t)WEIR__RUN_MOST_TASKS < WEIR__HELD_RUN, "their number fits");

// Idle threads look at the number, so it is not written each time.
static inline void weir__repeats_hold(weir_context *context, uint32_t count) {
  weir__repeats *self = context->repeating.repeats;
  self->count = count;
  if (count > 1 && count % WEIR__REPEATS_TELL_EACH != 0) return;
  context->repeating.held = count > 0 || self->asleep;
  uint64_t held = count == 0 ? 0 : self->bound.number * WEIR__HELD_RUN + count;
  atomic_store_explicit(&context->host.held, held, memory_order_relaxed);
}

// Counts tasks since something else was called.
static inline void weir__repeats_count(weir__repeats *self, uint32_t tasks) {
  uint32_t most = WEIR__REPEATS_LONG_LOOP - self->since;
  self->since += tasks < most ? tasks : most;
}

// Whether two runs are the same up to task `count`, and go to the same device.
bool weir__repeats_agree(const weir__repeat *from, const weir__repeat *to, uint32_t count);

// Launches the run that is followed, all of which is bound. False: nothing was submitted.
bool weir__repeats_launch(weir_context *context, weir_event **out_event);

// Submits a task by itself.
weir_status weir__repeats_submit_alone(weir_context *context, const weir_task *task, weir_event **out_event);

// The run went on in another way: its tasks are submitted. And the same where something else is called (weir__repeating.settle).
void weir__repeats_leave(weir_context *context);
bool weir__repeats_settle(weir_context *context, bool waits);

// Waits while another thread submits what is held back. A task or callback does not wait.
void weir__repeats_await_settled(weir_context *context);

// storage.c

// The repeat was launched, and what it bound is to be given back: its graph may keep storage of that.
void weir__repeats_keep_storage(weir__repeats *self, weir__repeat *repeat);

// The rest of a pass is submitted task by task, and takes storage, so that graphs keep none.
void weir__repeats_free_storage(weir__repeats *self);

// weir__pool.recall of a context that has a trace cache: all graphs but one that is being launched give back what they keep.
bool weir__repeats_recall(void *user, weir__pool *pool);

// follow.c

typedef enum weir__repeats_way {
  WEIR__REPEATS_TAKEN,  // it is held back, or was launched with those that are
  WEIR__REPEATS_NOTED,  // it is to be submitted, and then noted
  WEIR__REPEATS_PASSED, // it is to be submitted, and that is all
} weir__repeats_way;

weir__repeats_way weir__repeats_take(weir_context *context, const weir_task *task, weir_event **out_event);

#endif // WEIR_REPEATS_STATE_H
