// SPDX-License-Identifier: Apache-2.0
//
// The part that all measured runtimes share. Each runtime is a small program of its own, weir-bench-NAME, which `weir
// bench` runs as a subprocess, so that no library of a peer is ever loaded into `weir`, and all are measured alike.
//
// weir-bench-NAME overhead CASE [--tasks N] [--warm-up N] [--repeat N] [--variant WORD]
// weir-bench-NAME metg PATTERN [--steps N] [--repeat N] [--variant WORD]
// weir-bench-NAME wait US [--tasks N] [--busy 1]
//
// Prints a JSON object per measurement on a line of its own: {"case", "runtime", "unit", "value"}. The process keeps to
// the first two CPUs that it may use. Before each measurement of overhead the same work runs once untimed with a tenth
// of the tasks (--warm-up): threads run and pools are set up, but a runtime that holds all tasks at once (oneTBB's flow
// graph) still has to get most of its memory from the system, as in a program that does this once. Results are
// compared with serial execution; a difference is said on stderr and the exit code is 1; 3 with the reason on stderr
// means that the machine lacks something.
#ifndef WEIR_BENCH_COMMON_RUNTIME_H
#define WEIR_BENCH_COMMON_RUNTIME_H

#include <stdint.h>

#include "pattern.h"
#include "taskbench.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WEIR__BENCH_WORKERS = 2, WEIR__BENCH_REPLAYS = 10 };

// The tasks of one measurement of `overhead`. A runtime executes all of them and returns when all are done.
typedef struct weir__bench_tasks {
  uint64_t count;
  const weir__bench_access *accesses; // random, replay: what each task reads and writes; independent: NULL
  uint64_t *cells;                    // independent: one per task; chain: one; random, replay: WEIR__BENCH_CELLS
} weir__bench_tasks;

// A runtime. A member that is NULL is a case that it does not have.
typedef struct weir__bench_runtime {
  const char *name; // with its version
  // Starts the runtime with WEIR__BENCH_WORKERS workers; `variant` is "" unless given. Returns NULL, or why it cannot.
  const char *(*start)(const char *variant);
  void (*stop)(void);
  // Untimed, before and after the tasks are run: hands over the cells, gets them back. May be NULL.
  const char *(*prepare)(const weir__bench_tasks *tasks);
  const char *(*finish)(const weir__bench_tasks *tasks);
  // Task i without dependences: cells[i] = mix(i, i, i).
  void (*independent)(const weir__bench_tasks *tasks);
  // Task i updates one cell: cells[0] = mix(cells[0], cells[0], i).
  void (*chain)(const weir__bench_tasks *tasks);
  // Task i: cells[write] = mix(cells[read[0]], cells[read[1]], i).
  void (*random)(const weir__bench_tasks *tasks);
  // The random tasks, recorded once by record and run by each replay, which returns when all are done.
  void (*record)(const weir__bench_tasks *tasks);
  void (*replay)(const weir__bench_tasks *tasks);
  // Untimed, around all runs of a grid. May be NULL.
  const char *(*grid_prepare)(weir__bench_grid *grid);
  void (*grid_finish)(weir__bench_grid *grid);
  // Runs all tasks of a grid.
  void (*grid_run)(weir__bench_grid *grid);
} weir__bench_runtime;

// The main function of a runtime's program. Returns the exit code.
int weir__bench_runtime_main(const weir__bench_runtime *runtime, int argc, char **argv);

// `wait` of a runtime: `submit_and_wait` submits one task, which keeps its thread busy for `us`, and returns when it is done.
// Takes the time of each of --tasks N round trips, with the rest of the cores idle or, with --busy 1, one of them kept busy by a
// thread of the program's, and prints their median. Returns how many round trips there were, untimed ones included.
uint64_t weir__bench_round_trips(const char *runtime, void (*submit_and_wait)(void *user, uint64_t us), void *user,
                                 int argc, char **argv);

// Keeps the calling thread busy for so many microseconds.
void weir__bench_spin(uint64_t us);

// Keeps the process to the first WEIR__BENCH_WORKERS CPUs that it may use.
void weir__bench_pin(void);

// Prints one measurement.
void weir__bench_print(const char *case_name, const char *runtime, const char *unit, double value);

// The value after option `name` in argv, or `fallback`; a value that is not a whole number ends the program (exit 2).
uint64_t weir__bench_option(int argc, char **argv, const char *name, uint64_t fallback);
const char *weir__bench_text_option(int argc, char **argv, const char *name, const char *fallback);

#ifdef __cplusplus
}
#endif
#endif // WEIR_BENCH_COMMON_RUNTIME_H
