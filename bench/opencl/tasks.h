// SPDX-License-Identifier: Apache-2.0
//
// `weir-bench-opencl tasks`: what it costs to give many small tasks to an OpenCL device, by its own queues and by Weir.
#ifndef WEIR_BENCH_OPENCL_TASKS_H
#define WEIR_BENCH_OPENCL_TASKS_H

#include <stdbool.h>
#include <stdint.h>

enum { CELLS = 64, BENCH_WINDOW = 1024, BENCH_MOST_RUNS = 1000 };

// Task i reads cells reads[0] and reads[1] and updates cell `write`.
typedef struct bench_task {
  uint32_t reads[2], write;
} bench_task;

typedef struct bench_work {
  const bench_task *tasks;
  uint32_t count;
  uint32_t rounds;          // how long each task counts
  const uint32_t *expected; // the cells afterwards
} bench_work;

// A way to run them. At most BENCH_WINDOW tasks are in flight, so that no way gets ahead of the device by more than the others.
typedef enum bench_kind {
  BENCH_RAW, // OpenCL's in-order queues, tasks in turn; of one queue only each 512th task has an event, for the window
  BENCH_RAW_EVENT, // the same with an event for each task, also in one queue
  BENCH_RAW_ANY,   // one out-of-order queue, event lists by hand
  BENCH_WEIR,
} bench_kind;

typedef struct bench_way {
  const char *name;
  bench_kind kind;
  uint32_t queues; // 0: the device's own number
  bool profiling;  // queues keep times
} bench_way;

// Microseconds: until all tasks were handed over, and until all were done; what the submitting thread, and all threads of the
// process together, spent on a CPU.
enum { BENCH_SUBMIT, BENCH_TOTAL, BENCH_THREAD, BENCH_PROCESS, BENCH_TIMES };
typedef struct bench_result {
  double us[BENCH_TIMES];
} bench_result;

// What the cell becomes.
static inline uint32_t bench_mix(uint32_t a, uint32_t b, uint32_t old, uint32_t number) {
  return (a * 31 + b) * 17 + old * 7 + number;
}

// OpenCL C of the kernel "work": cell, a, b, number, rounds.
extern const char bench_source[];

// Times, started at once and read one after another.
typedef struct bench_clocks {
  double start[BENCH_TIMES];
} bench_clocks;
bench_clocks bench_start(void);
void bench_submitted(const bench_clocks *clocks, bench_result *out_result); // also what the thread spent
void bench_done(const bench_clocks *clocks, bench_result *out_result);

// The driver's version.
enum { BENCH_DRIVER_BYTES = 128 };
const char *bench_driver_text(uint32_t device, char text[BENCH_DRIVER_BYTES]);

// False: it failed, or the cells are not as expected, as was said on stderr.
bool bench_check(const bench_work *work, const uint32_t cells[CELLS], const char *what);
bool bench_raw(uint32_t device, const bench_work *work, const bench_way *way, bench_result *out_result);
bool bench_weir(uint32_t device, const bench_work *work, const bench_way *way, bench_result *out_result);

// The whole table, or JSON; each way with `named` in its name in turn, `runs` times after one that does not count. Returns an exit
// code.
int bench_tasks(uint32_t device, uint32_t count, uint32_t runs, const char *named, bool json);

#endif // WEIR_BENCH_OPENCL_TASKS_H
