// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the tests of contexts that use the resident kernel by themselves.
#ifndef WEIR_TEST_CUDA_RESIDENT_AUTOMATIC_H
#define WEIR_TEST_CUDA_RESIDENT_AUTOMATIC_H

#include "random.h"
#include "rig.h"

#ifdef WEIR_SMALL_TESTS
enum { SEEDS = 4, TASKS = 150, LOOPS = 10 };
#else
enum { SEEDS = 12, TASKS = 400, LOOPS = 30 };
#endif

enum { SINGLE = 20 }; // tasks, each waited for

// The nth seed with which a context may use the resident kernel, asks for it after more than `enough` tasks and, if it `awaits`, waits
// for it. With `mixes` tasks of one piece go to different places.
uint64_t automatic_seed(uint32_t nth, uint32_t enough, bool mixes, bool awaits);

void automatic_finish(rig *r);

// Tasks that are waited for one by one are pieces of their own, of which there are no graphs.
void automatic_run_single(rig *r, rig_kernel kernel, uint32_t count);

// The device's thread has looked for a resident kernel since what was done before.
void automatic_pass_thread(rig *r);

// As many tasks as make it ask: what comes later goes to the resident kernel, if one is to be had.
void automatic_make_it_ask(rig *r, uint32_t enough);

// The resident kernel is there, and had one task.
void automatic_begin_with_ring(rig *r, uint64_t seed, uint64_t context_seed);

void automatic_submit_random(rig *r, random_state *random, uint32_t count, uint32_t plain_percent,
                             uint32_t copy_percent);

// The same tasks each time.
void automatic_submit_loop(rig *r);

// Until there is a graph of it.
void automatic_learn_loop(rig *r);

#endif // WEIR_TEST_CUDA_RESIDENT_AUTOMATIC_H
