// SPDX-License-Identifier: Apache-2.0
//
// The benchmark `wait`, for all runtimes.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "runtime.h"

enum { WARM_UP = 100 };

void weir__bench_spin(uint64_t us) {
  if (us == 0) return;
  double end = weir__bench_seconds() + (double)us * 1e-6;
  while (weir__bench_seconds() < end) continue;
}

static void *stay_busy(void *stop) {
  while (!atomic_load_explicit((atomic_bool *)stop, memory_order_relaxed)) continue;
  return NULL;
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

uint64_t weir__bench_round_trips(const char *runtime, void (*submit_and_wait)(void *user, uint64_t us), void *user,
                                 int argc, char **argv) {
  uint64_t us = strtoull(argv[2], NULL, 10), count = weir__bench_option(argc, argv, "--tasks", 2000);
  bool busy = weir__bench_option(argc, argv, "--busy", 0) != 0;
  double *seconds = malloc((count + 1) * sizeof *seconds);
  if (seconds == NULL) {
    fprintf(stderr, "no memory\n");
    exit(1);
  }
  atomic_bool stop = false;
  pthread_t thread;
  busy = busy && pthread_create(&thread, NULL, stay_busy, &stop) == 0;
  for (int i = 0; i < WARM_UP; i++) submit_and_wait(user, us);
  for (uint64_t i = 0; i < count; i++) {
    double begin = weir__bench_seconds();
    submit_and_wait(user, us);
    seconds[i] = weir__bench_seconds() - begin;
  }
  atomic_store(&stop, true);
  if (busy) (void)pthread_join(thread, NULL);
  qsort(seconds, count, sizeof *seconds, by_value);
  char name[64];
  snprintf(name, sizeof name, "task of %llu us%s", (unsigned long long)us, busy ? ", a core busy" : "");
  weir__bench_print(name, runtime, "us", seconds[count / 2] * 1e6);
  free(seconds);
  return count + WARM_UP;
}
