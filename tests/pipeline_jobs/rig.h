// SPDX-License-Identifier: Apache-2.0
//
// A small job with two diamonds of dependences, a feed that checks all that job.h promises and asks for, and what runs them
// through a way.
#ifndef WEIR_TESTS_PIPELINE_JOBS_RIG_H
#define WEIR_TESTS_PIPELINE_JOBS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ways.h"

enum { RIG_COUNT = 1000, RIG_TABLE = 16, RIG_STEPS = 12, RIG_KERNELS = 5 };

// The job. `source` takes the place of the kernels' text for CUDA and OpenCL, unless it is NULL. Valid until the next call.
const job_shape *rig_shape(const char *source);

// The code of a kernel, as it is on the CPU; NULL: none of this name.
const weir_kernel_code *rig_code(const char *name);

// How the feed behaves besides.
typedef enum rig_manner {
  RIG_PROMPT,
  RIG_PAUSES, // some tokens arrive later, and some results are taken slowly
  RIG_WAITS,  // each token arrives when the one before it is done
} rig_manner;

typedef struct rig_memory { // where the feed's inputs are; NULL: malloc and free
  void *(*allocate)(size_t bytes);
  void (*release)(void *memory);
} rig_memory;

// Runs streams of jobs of many lengths, with several numbers of lines and workers, and fails the test unless all results are
// right and in order.
void rig_run(const job_way *way, const char *device, const char *source, const rig_memory *memory);

// A stream of `count` jobs; fails the test unless it ends well (false: the way says that it failed, `why`).
bool rig_stream(const job_way *way, void *state, const job_options *options, uint64_t count, rig_manner manner,
                const rig_memory *memory, char why[JOB_WHY]);

// Whether open refuses, and with a reason in which `reason` is.
void rig_refused(const job_way *way, const char *device, const char *source, const char *reason);

#endif // WEIR_TESTS_PIPELINE_JOBS_RIG_H
