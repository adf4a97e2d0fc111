// SPDX-License-Identifier: Apache-2.0
//
// Jobs that arrive at a fixed rate: the time from a job's arrival to its result. The arrival counts, not when a way gets to it.
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "case.h"
#include "clock.h"
#include "parts.h"
#include "results.h"

typedef struct arrivals {
  const job_data *data;
  double start, period; // seconds
  double *latencies;    // us, by token
} arrivals;

static void *const *next(void *user, uint64_t token) {
  static _Thread_local bool exact;
  const arrivals *a = user;
  if (!exact) exact = prctl(PR_SET_TIMERSLACK, 1UL) == 0; // else the kernel may end sleeps 50 us late
  double when = a->start + (double)token * a->period;
  if (weir__bench_seconds() < when) {
    struct timespec until = {.tv_sec = (time_t)when, .tv_nsec = (long)((when - (double)(time_t)when) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  }
  return job_next_input(a->data, token);
}

static void done(void *user, uint64_t token, void *const *hosts) {
  const arrivals *a = user;
  (void)hosts;
  if (a->latencies) a->latencies[token] = (weir__bench_seconds() - a->start - (double)token * a->period) * 1e6;
}

// The rate that the best way reaches, each the median of three runs, when all jobs are there at once.
static int best_rate(const bench_settings *settings, const bench_case *c, double *out_rate, const char **out_way) {
  uint64_t tokens = bench_tokens(settings, c->size);
  arrivals all = {.data = &c->data};
  job_feed feed = {next, done, &all};
  *out_rate = 0;
  *out_way = "";
  for (uint32_t i = 0; i < c->entry_count; i++) {
    double rates[3];
    for (int run = 0; run < 3; run++) {
      double start = weir__bench_seconds();
      int result = bench_run(c, &c->entries[i], tokens, &feed);
      if (result != BENCH_OK) return result;
      rates[run] = (double)tokens / (weir__bench_seconds() - start);
    }
    double rate = bench_spread_of(rates, 3).median;
    if (rate <= *out_rate) continue;
    *out_rate = rate;
    *out_way = c->entries[i].way->name;
  }
  return BENCH_OK;
}

static int measure(const bench_settings *settings, bench_case *c, void *user) {
  (void)user;
  double rate = settings->rate, medians[BENCH_MOST_WAYS][BENCH_MOST_ROUNDS], tails[BENCH_MOST_WAYS][BENCH_MOST_ROUNDS];
  uint64_t tokens = bench_tokens(settings, c->size);
  if (c->entry_count == 0) return BENCH_OK;
  if (rate > 0) {
    bench_print(settings, "\n%s: %.0f jobs/s", c->name, rate);
  } else {
    const char *way;
    int result = best_rate(settings, c, &rate, &way);
    if (result != BENCH_OK) return result;
    bench_print(settings, "\n%s: %.0f jobs/s, %g of what %s reached", c->name, rate * settings->load, settings->load,
                way);
    rate *= settings->load;
  }
  double *latencies = malloc(tokens * sizeof *latencies);
  if (!latencies) {
    fprintf(stderr, "weir-bench-pipeline: no memory for the times of %llu jobs\n", (unsigned long long)tokens);
    return BENCH_FAILED;
  }
  int result = BENCH_OK;
  for (uint32_t i = 0; i < settings->rounds * c->entry_count && result == BENCH_OK; i++) {
    uint32_t round = i / c->entry_count, entry = i % c->entry_count;
    arrivals a = {&c->data, weir__bench_seconds() + 1e-4, 1 / rate, latencies};
    job_feed feed = {next, done, &a};
    result = bench_run(c, &c->entries[entry], tokens, &feed);
    medians[entry][round] = bench_percentile(latencies, tokens, 0.5);
    tails[entry][round] = bench_percentile(latencies, tokens, 0.99);
  }
  free(latencies);
  if (result != BENCH_OK) return result;
  bench_print(settings, "; %llu jobs a round\n%-34s %10s %10s %10s %10s %10s %10s\n", (unsigned long long)tokens, "way",
              "median", "least", "most", "99 %", "least", "most");
  for (uint32_t i = 0; i < c->entry_count; i++) {
    const char *way = c->entries[i].way->name;
    bench_add(settings, "latency", c->name, way, "us median", medians[i], settings->rounds);
    bench_add(settings, "latency", c->name, way, "us 99 %", tails[i], settings->rounds);
    bench_spread median = bench_spread_of(medians[i], settings->rounds),
                 tail = bench_spread_of(tails[i], settings->rounds);
    bench_print(settings, "%-34s %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f\n", way, median.median, median.least,
                median.most, tail.median, tail.least, tail.most);
  }
  fflush(stdout);
  return BENCH_OK;
}

int bench_latency(const bench_settings *settings) {
  bench_print(
      settings,
      "Latency on %s: us from a job's arrival to its result at a fixed rate, %u lines, %u workers; median and 99th\n"
      "percentile of a round, of each the median of %u rounds, the least and the most\n",
      settings->device, settings->lines, settings->workers, settings->rounds);
  return bench_each_case(settings, measure, NULL);
}
