// SPDX-License-Identifier: Apache-2.0
//
// What a seed stands for: a program, and how it is run.
#ifndef WEIR_TESTS_RANDOM_OPTIONS_H
#define WEIR_TESTS_RANDOM_OPTIONS_H

#include "program_cuda.h"
#include "program_run.h"

typedef struct random_run {
  test_program program;
  program_options options;
  stub_options stub; // where the CUDA driver is the stub
  bool own_memory;   // simulated devices have memory of their own
} random_run;

// `device`: "sim" stands for several lists of devices; any other is a list as a context takes it. It must outlive the run.
extern uint32_t random_queues; // not 0: of devices that are named, in place of a number at random
extern bool random_resident;   // resident issue, with kernels of which some fit
extern bool random_automatic;  // the same kernels, and contexts that choose the resident kernel by themselves
extern bool random_repeats; // sequences that come again and break off at each position, in contexts with a trace cache
extern uint64_t random_repeated;  // tasks that were launched as parts of repeats, in all programs
extern bool random_boxes;         // accesses of all kinds, boxes among them, meet in a few buffers
extern bool random_placed;        // most tasks leave it to Weir which device runs them
extern bool random_crowded;       // cards that have memory for the largest task only
extern uint64_t random_evictions; // buffers that were copied to the host for that, in all programs
void random_run_make(random_run *out_run, uint64_t seed, const char *device);
void random_run_print(const random_run *run, FILE *file);

// Runs the program. True if everything was as expected, with the stub driver also nothing left and no wrong use of it;
// otherwise `message` says what was not.
bool random_run_once(random_run *run, char message[PROGRAM_MESSAGE_BYTES]);

// A context that keeps a card's state from being built up again for each program; NULL where that takes no time.
weir_context *random_keep_devices(const char *device);

#endif // WEIR_TESTS_RANDOM_OPTIONS_H
