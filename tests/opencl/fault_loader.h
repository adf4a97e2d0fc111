// SPDX-License-Identifier: Apache-2.0
//
// An OpenCL loader that passes calls on to the real one, and lets a chosen one fail. It is loaded by Weir (WEIR_OPENCL_LOADER)
// and linked by the test.
#ifndef WEIR_TESTS_OPENCL_FAULT_LOADER_H
#define WEIR_TESTS_OPENCL_FAULT_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Whether the real loader lists a device with two compute units at least; else why the tests cannot run.
bool fault_loader_available(const char **out_why);

// Has Weir use this library, at `path`. Where the tests cannot run, says why and ends the program as skipped.
static inline void fault_loader_use_or_skip(const char *path) {
  const char *why;
  if (!fault_loader_available(&why)) {
    printf("%s\n", why);
    exit(77); // the code of a skipped test
  }
  setenv("WEIR_OPENCL_LOADER", path, 1);
}

// The `n`th call of the function from now on (1: the next) fails with the result; 0: none does. A status that is asked for, of an
// event, is then the result.
void fault_loader_fail(const char *function, uint64_t n, int32_t result);

// Once that call has come, the next calls of this function fail, too, so many `times`; a status is not told then. Said
// after fault_loader_fail.
void fault_loader_fail_also(const char *function, uint64_t times);

// Whether that call came.
bool fault_loader_failed(void);

// How many calls of it are still to come, the failing one among them.
uint64_t fault_loader_left(void);

// Objects that were made and not released, all kinds together.
int64_t fault_loader_live(void);

// Allocations of shared virtual memory among them.
int64_t fault_loader_shared(void);

enum { FAULT_LOADER_ALIGNMENT = 512 };

// Commands that were enqueued in any queue since a clFinish succeeded for any.
uint64_t fault_loader_unfinished(void);

// Queues with commands that were not flushed since they were enqueued.
uint32_t fault_loader_unflushed(void);

// No platform is listed; devices are of OpenCL 1.2, and want sub-buffers to begin at multiples of FAULT_LOADER_ALIGNMENT. How many calls there were then of functions that came later.
void fault_loader_hide(bool platforms, bool newer);
uint64_t fault_loader_newer_calls(void);

// Devices have two formats of images: r32f and rgba8.
void fault_loader_few_formats(bool few);

// Devices take SPIR-V. No driver here does: for just these words a program of the source is made, all others are refused. NULL:
// devices take none.
void fault_loader_translate(const void *words, uint64_t bytes, const char *source);

#endif // WEIR_TESTS_OPENCL_FAULT_LOADER_H
