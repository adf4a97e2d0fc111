// SPDX-License-Identifier: Apache-2.0
//
// A repeat: a run that came, and is expected to come again, with the graph that is launched in place of its tasks.
#ifndef WEIR_REPEATS_REPEAT_H
#define WEIR_REPEATS_REPEAT_H

#include "graph/graph.h"
#include "repeats/run.h"

// The buffers, by number, the values, and by task the user pointers and tags of a run that is being followed.
typedef struct weir__bound {
  weir__graph_given *given;
  weir_buffer **buffers;
  unsigned char *values;
  uint32_t given_capacity, buffer_count, buffer_capacity, value_capacity;
  uint64_t number;       // weir_buffer.run of the buffers: checks of other threads leave it alone
  weir_context *context; // theirs
} weir__bound;

typedef struct weir__repeat {
  struct weir__repeat *next; // the one that was used before it
  weir__run run;             // as it came first
  weir_graph *graph;         // NULL: it has not come again yet
  uint32_t *numbers;         // of the run's buffers, by the graph's
  uint32_t look;            // after so many launches it is asked whether its graph can keep storage, if that keeps none
  bool launching;           // its graph is being launched
  bool keeps_nothing;       // its graph had to give storage back when memory was short
  uint64_t launched_pass;   // in which it was launched last
  uint64_t temporary_bytes; // that its launches need for buffers that nobody else names, as far as is known
  struct weir__repeat *then; // what came after it last time; NULL: something else
  uint32_t seen;             // how often it came and was not followed
  uint32_t came, broke;      // how often it was launched, and how often it went on in another way
  uint32_t slow;             // how often in a row its tasks came so slowly that it was not worth it
  bool useless;              // its graph cannot be made, or it broke or was slow too often
} weir__repeat;

// Takes the tasks of `run`, which is empty then. NULL: no memory.
weir__repeat *weir__repeat_create(weir__run *run);
void weir__repeat_destroy(weir__repeat *repeat);

// It is made anew at the next launch.
void weir__repeat_forget_graph(weir__repeat *repeat);

// Has room for what the repeat binds. False: no memory.
bool weir__bound_reserve(weir__bound *bound, const weir__run *run);

// Whether `task` is the repeat's task `index`, where those before it are bound. If so what it has of its own is bound, too. A
// buffer that is bound stays the same, though it is released, until weir__bound_clear.
bool weir__repeat_matches(const weir__repeat *repeat, uint32_t index, const weir_task *task, weir__bound *bound);

// A bound task as the caller submitted it. Its arguments are put into `args`, of WEIR_MAX_ARGS.
void weir__repeat_task(const weir__repeat *repeat, uint32_t index, const weir__bound *bound, weir_arg *args,
                       weir_task *out_task);

// Launches the graph for what is bound, which it makes if there is none. False: nothing was submitted.
bool weir__repeat_launch(weir_context *context, weir__repeat *repeat, const weir__bound *bound, weir_event **out_event);

// Buffers that were released after they were bound count as they are while tasks that name them are submitted, or no longer.
void weir__bound_revive(const weir__bound *bound, bool live);

void weir__bound_clear(weir__bound *bound);

#endif // WEIR_REPEATS_REPEAT_H
