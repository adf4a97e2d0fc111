// SPDX-License-Identifier: Apache-2.0
//
// The kernel of the `metg` benchmark, its peak rate, and the search for the smallest task at 50 % efficiency.
#include <math.h>
#include <pthread.h>

#include "clock.h"
#include "taskbench.h"

enum { LANES = 16, WORKERS = 2 };
static const double LONGEST_SECONDS = 1e-3; // of a kernel

void weir__bench_compute(uint64_t iterations) {
  double values[LANES];
  for (int i = 0; i < LANES; i++) values[i] = 1.0 + i;
  for (uint64_t iteration = 0; iteration < iterations; iteration++) {
    for (int i = 0; i < LANES; i++) values[i] = values[i] * 0.5 + 1.0;
  }
  volatile double sink = 0;
  for (int i = 0; i < LANES; i++) sink = sink + values[i];
}

typedef struct peak_work {
  pthread_barrier_t *start;
  uint64_t iterations;
} peak_work;

static void *run_peak(void *argument) {
  const peak_work *work = argument;
  pthread_barrier_wait(work->start);
  weir__bench_compute(work->iterations);
  return NULL;
}

// Seconds that both workers take for `iterations` each; 0 if threads could not be started.
static double time_both(uint64_t iterations) {
  pthread_barrier_t start;
  pthread_t thread;
  if (pthread_barrier_init(&start, NULL, WORKERS) != 0) return 0;
  peak_work work = {&start, iterations};
  double seconds = 0;
  if (pthread_create(&thread, NULL, run_peak, &work) == 0) {
    pthread_barrier_wait(&start);
    double begin = weir__bench_seconds();
    weir__bench_compute(iterations);
    pthread_join(thread, NULL);
    seconds = weir__bench_seconds() - begin;
  }
  pthread_barrier_destroy(&start);
  return seconds;
}

double weir__bench_compute_peak(void) {
  uint64_t iterations = 1 << 20;
  double peak = 0;
  for (int i = 0; i < 5; i++) {
    double seconds = time_both(iterations);
    if (seconds > 0 && WORKERS * (double)iterations / seconds > peak) peak = WORKERS * (double)iterations / seconds;
  }
  return peak;
}

typedef struct point {
  double efficiency, us; // granularity
} point;

static point measure(weir__bench_grid *grid, weir__bench_grid_run run, double peak, double iterations) {
  grid->iterations = (uint64_t)iterations;
  grid->pass++;
  double begin = weir__bench_seconds();
  run(grid);
  double seconds = weir__bench_seconds() - begin;
  if (grid->agree) grid->agree(grid, &seconds);
  double tasks = (double)grid->task_count;
  return (point){tasks * (double)grid->iterations / peak / seconds, seconds * WORKERS / tasks * 1e6};
}

double weir__bench_metg(weir__bench_grid *grid, weir__bench_grid_run run, double peak) {
  double iterations = 0.25e-6 * peak / WORKERS; // a kernel of a quarter of a microsecond
  point low = {0, 0}, high = measure(grid, run, peak, iterations);
  high = measure(grid, run, peak, iterations); // the first run warmed up
  while (high.efficiency < 0.5 && iterations < LONGEST_SECONDS * peak / WORKERS) {
    low = high;
    iterations *= 2;
    high = measure(grid, run, peak, iterations);
  }
  if (grid->errors || high.efficiency < 0.5) return grid->errors ? (double)NAN : (double)INFINITY;
  double high_iterations = iterations, low_iterations = iterations / 2;
  while (low.efficiency == 0 || low.efficiency >= 0.5) { // half a peak at the first size already
    low = measure(grid, run, peak, low_iterations);
    if (low.efficiency < 0.5) break;
    high = low;
    high_iterations = low_iterations;
    low_iterations /= 2;
    if (low_iterations < 2) return grid->errors ? (double)NAN : high.us;
  }
  for (int i = 0; i < 3; i++) {
    double middle_iterations = sqrt(low_iterations * high_iterations);
    point middle = measure(grid, run, peak, middle_iterations);
    if (middle.efficiency < 0.5) {
      low = middle;
      low_iterations = middle_iterations;
    } else {
      high = middle;
      high_iterations = middle_iterations;
    }
  }
  if (grid->errors) return (double)NAN;
  double share = (0.5 - low.efficiency) / (high.efficiency - low.efficiency);
  return exp(log(low.us) + share * (log(high.us) - log(low.us)));
}
