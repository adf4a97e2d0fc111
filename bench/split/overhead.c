// SPDX-License-Identifier: Apache-2.0
#include "overhead.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "weir/split.h"

enum { ROWS = 256, ROUNDS = 400, WARM = 50, EMPTY_NS = 0, LONG_NS = 1000000 };

typedef struct work {
  double seconds; // of a row
} work;

static void spin_rows(const weir_work *part) {
  const work *spin = part->user;
  unsigned char *rows = part->args[0];
  double end = weir__bench_seconds() + spin->seconds * (double)(part->end - part->first);
  while (spin->seconds > 0 && weir__bench_seconds() < end) {
  }
  for (uint64_t i = part->first; i < part->end; i++) rows[i]++;
}

typedef struct bench {
  weir_context *context;
  weir_device *devices[2];
  weir_kernel *kernel;
  weir_split *split;
  weir_buffer *rows;
  work work;
} bench;

static int good(weir_status status) {
  if (status == WEIR_OK) return 1;
  fprintf(stderr, "weir-bench-split: %s\n", weir_last_error());
  return 0;
}

static int open_bench(bench *b, double ns, bool resident) {
  weir_context_options options = {.devices = "cpu:1,cpu:1"};
  if (!good(weir_context_create(&options, &b->context))) return 0;
  for (uint32_t i = 0; i < 2; i++) b->devices[i] = weir_context_device(b->context, i);
  double shares[2] = {1, 1};
  weir_split_options split = {
      .devices = b->devices, .device_count = 2, .policy = "static", .shares = shares, .resident = resident};
  b->work.seconds = ns * 1e-9 * 2 / ROWS;
  return good(weir_kernel_create(b->context, "rows", &b->kernel)) && good(weir_kernel_set_cpu(b->kernel, spin_rows)) &&
         good(weir_split_create(b->context, &split, &b->split)) &&
         good(weir_buffer_create(b->context, ROWS, &b->rows)) && good(weir_fill(b->rows, 0, ROWS, 0, NULL)) &&
         good(weir_finish(b->context));
}

static int launch_plain(bench *b, weir_event *events[2]) {
  for (uint32_t i = 0; i < 2; i++) {
    weir_arg arg = weir_updates_range(b->rows, i * ROWS / 2, ROWS / 2);
    weir_task task = {.kernel = b->kernel,
                      .user = &b->work,
                      .args = &arg,
                      .arg_count = 1,
                      .groups = {ROWS / 2, 1, 1},
                      .device = b->devices[i]};
    if (!good(weir_submit(b->context, &task, &events[i]))) return 0;
  }
  return 1;
}

static int launch_split(bench *b, weir_event *events[2]) {
  weir_split_arg arg = weir_split_block(weir_updates(b->rows), 1);
  weir_split_launch launch = {
      .kernel = b->kernel, .user = &b->work, .args = &arg, .arg_count = 1, .groups = {ROWS, 1, 1}};
  return good(weir_split_submit(b->split, &launch, &events[0]));
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double at_part(double *values, double part) {
  qsort(values, ROUNDS, sizeof *values, by_value);
  return values[(int)(part * ROUNDS)];
}

typedef struct times {
  double host[ROUNDS], whole[ROUNDS]; // of the submitting calls, and to the end
} times;

static int measure_round(bench *b, int (*launch)(bench *b, weir_event *events[2]), times *out, int round) {
  weir_event *events[2] = {NULL, NULL};
  double start = weir__bench_seconds();
  if (!launch(b, events)) return 0;
  double submitted = weir__bench_seconds();
  for (int i = 0; i < 2; i++) {
    if (events[i] != NULL && !good(weir_event_wait(events[i], WEIR_FOREVER))) return 0;
  }
  double end = weir__bench_seconds();
  for (int i = 0; i < 2; i++) weir_event_release(events[i]);
  if (round < 0) return 1;
  out->host[round] = (submitted - start) * 1e6;
  out->whole[round] = (end - start) * 1e6;
  return 1;
}

// Workers have the usable cores in their order.
static void bind_to(int core, const cpu_set_t *usable) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (size_t i = 0; i < CPU_SETSIZE; i++) {
    if (CPU_ISSET(i, usable) && core-- == 0) CPU_SET(i, &one);
  }
  if (CPU_COUNT(&one) > 0) pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

// Plain and split launches take turns, so that what disturbs the machine hits both alike.
static int measure(double ns, bool resident, int core, times *plain, times *split) {
  bench b = {0};
  cpu_set_t usable;
  int done = open_bench(&b, ns, resident);
  pthread_getaffinity_np(pthread_self(), sizeof usable, &usable);
  if (core >= 0) bind_to(core, &usable);
  for (int round = -WARM; done && round < ROUNDS; round++)
    done = measure_round(&b, launch_plain, plain, round) && measure_round(&b, launch_split, split, round);
  weir_split_release(b.split);
  weir_context_release(b.context);
  pthread_setaffinity_np(pthread_self(), sizeof usable, &usable);
  return done;
}

static overhead_pair pair(double *plain, double *split) {
  return (overhead_pair){at_part(plain, 0.5), at_part(split, 0.5), at_part(plain, 0.1), at_part(split, 0.1)};
}

int measure_overhead(bool resident, int core, overhead *out) {
  static times plain, split;
  if (!measure(EMPTY_NS, resident, core, &plain, &split)) return 0;
  out->host = pair(plain.host, split.host);
  out->empty = pair(plain.whole, split.whole);
  if (!measure(LONG_NS, resident, core, &plain, &split)) return 0;
  out->work = pair(plain.whole, split.whole);
  return 1;
}
