// SPDX-License-Identifier: Apache-2.0
//
// Which tasks of pure enqueue functions come again with the same arguments, where Weir chooses how to issue them.
//
// DESIGN. A graph that is captured once and launched as it is costs the driver less than calls of its functions. One
// with other arguments costs it more: captures, and updates of child graphs. So nothing of a call is ever set in a
// graph. A task is collected if one that was equal in all that its work depends on came before, and a batch gets a
// graph if an equal batch came before. What that may cost is bounded in two ways, with a way back for programs that
// become regular:
// - To look at tasks, and to collect them: tasks are counted in epochs. If less than a quarter of a function's tasks
//   that were looked at in an epoch were launched by graphs that were there, the function has half as many epochs in
//   which its tasks are looked at, down to one of 128; else it has all. If there are that few after the first 1,024 tasks
//   of an epoch, the rest of it is not looked at, either. Epochs of functions with few are among those of
//   functions with many, so that there are some in which all functions of a program can be parts of one graph.
// - To make graphs: calls that are captured are taken from an account, and put back once such a graph is launched
//   again. Every 64th task adds one.
//
// Used by the device's thread alone.
#ifndef WEIR_DEVICE_CUDA_GRAPH_STEADY_H
#define WEIR_DEVICE_CUDA_GRAPH_STEADY_H

#include <stdbool.h>
#include <stdint.h>

#include "window/task.h"

typedef struct weir__cuda_steady weir__cuda_steady;

// A seed, for tests, has all come about in small programs; 0: none. NULL: no memory.
weir__cuda_steady *weir__cuda_steady_create(uint64_t seed);
void weir__cuda_steady_destroy(weir__cuda_steady *steady); // NULL is allowed

// A hash of what the work of a task with an enqueue function depends on.
uint64_t weir__cuda_steady_hash(const weir__task *task);

// Counts such a task, and may look at it. Whether it is to be collected.
bool weir__cuda_steady_task(weir__cuda_steady *steady, const weir__task *task);

// Looks at a batch with so many of them, by a hash of all. Whether a graph may be made for it, if none is there.
bool weir__cuda_steady_batch(weir__cuda_steady *steady, uint64_t hash, uint32_t calls);

// A graph was made, or could not be made, with so many calls.
void weir__cuda_steady_made(weir__cuda_steady *steady, uint32_t calls);

// A graph that was there is launched: with this task, and with so many calls that were not given back yet.
void weir__cuda_steady_again(weir__cuda_steady *steady, const weir__task *task);
void weir__cuda_steady_pays(weir__cuda_steady *steady, uint32_t calls);

#endif // WEIR_DEVICE_CUDA_GRAPH_STEADY_H
