// SPDX-License-Identifier: Apache-2.0
//
// Streams of jobs by all ways: jobs per second, and how many times as many Weir does as the others.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "clock.h"
#include "every_way.h"
#include "parts.h"
#include "results.h"
#include "workloads.h"

enum { MOST_WEIRS = 4 };

// What is summed over the cases: logarithms of ratios, for geometric means.
typedef struct mean {
  double log_sum, least;
  uint32_t count;
} mean;

typedef struct totals {
  mean best[MOST_WEIRS][JOB_WORKLOADS][BENCH_SIZES]; // Weir's way by the best baseline
  mean each[MOST_WEIRS][BENCH_MOST_WAYS];            // by each baseline
} totals;

static void mean_add(mean *m, double ratio) {
  m->log_sum += log(ratio);
  m->least = m->count == 0 || ratio < m->least ? ratio : m->least;
  m->count++;
}

static void mean_join(mean *m, const mean *other) {
  if (other->count == 0) return;
  m->least = m->count == 0 || other->least < m->least ? other->least : m->least;
  m->log_sum += other->log_sum;
  m->count += other->count;
}

static void print_mean(const bench_settings *settings, const mean *m) {
  if (m->count == 0) {
    bench_print(settings, " %8s", "-");
  } else {
    bench_print(settings, " %8.2f", exp(m->log_sum / m->count));
  }
}

static uint32_t way_index(const job_way *way) {
  uint32_t index = 0;
  while (bench_way(index) != way) index++;
  return index;
}

// CPU time of all threads of the process.
static double host_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *const *next(void *user, uint64_t token) {
  return job_next_input(user, token);
}

static void done(void *user, uint64_t token, void *const *hosts) {
  (void)user, (void)token, (void)hosts;
}

// Wall time of a job that its kernels and copies do not account for, in us. On the CPU its workers share these; another device may
// overlap those of several jobs, so that only one line tells.
static double uncovered_us(const bench_settings *settings, const bench_case *c, double us) {
  bool cpu = strncmp(settings->device, "cpu", 3) == 0;
  if (!cpu && settings->lines > 1) return NAN;
  return us - (c->kernels_ns + c->copies_ns) / 1e3 / (cpu ? c->lanes : 1);
}

static void print_number(const bench_settings *settings, double value, int decimals) {
  if (isnan(value)) {
    bench_print(settings, " %10s", "-");
  } else {
    bench_print(settings, " %10.*f", decimals, value);
  }
}

static void print_case(const bench_settings *settings, const bench_case *c, totals *t) {
  double best = 0;
  for (uint32_t i = 0; i < c->entry_count; i++) {
    double rate = bench_spread_of(c->entries[i].samples, settings->rounds).median;
    if (!c->entries[i].is_weirs && rate > best) best = rate;
  }
  bench_print(
      settings,
      "\n%s: a job alone: kernels %.1f us, copies %.1f us; %llu jobs a round\n%-34s %10s %10s %10s %10s %10s %10s",
      c->name, c->kernels_ns / 1e3, c->copies_ns / 1e3, (unsigned long long)bench_tokens(settings, c->size), "way",
      "jobs/s", "least", "most", "us/job", "uncovered", "host us");
  for (uint32_t i = 0; i < c->entry_count && c->entries[i].is_weirs; i++) {
    bench_print(settings, "  %s/this", c->entries[i].way->name);
  }
  bench_print(settings, "\n");
  for (uint32_t i = 0; i < c->entry_count; i++) {
    const bench_entry *entry = &c->entries[i];
    bench_spread rate = bench_spread_of(entry->samples, settings->rounds);
    bench_print(settings, "%-34s %10.0f %10.0f %10.0f", entry->way->name, rate.median, rate.least, rate.most);
    print_number(settings, 1e6 / rate.median, 2);
    print_number(settings, uncovered_us(settings, c, 1e6 / rate.median), 2);
    print_number(settings, bench_spread_of(entry->host_us, settings->rounds).median, 2);
    for (uint32_t w = 0; w < c->entry_count && c->entries[w].is_weirs; w++) {
      double ratio = bench_spread_of(c->entries[w].samples, settings->rounds).median / rate.median;
      int width = (int)strlen(c->entries[w].way->name) + 7;
      bench_print(settings, " %*.2f", width, ratio);
      if (!entry->is_weirs) mean_add(&t->each[way_index(c->entries[w].way)][way_index(entry->way)], ratio);
    }
    bench_print(settings, "\n");
    if (entry->is_weirs && best > 0) {
      mean_add(&t->best[way_index(entry->way)][c->workload][c->size], rate.median / best);
    }
  }
}

static int measure(const bench_settings *settings, bench_case *c, void *user) {
  uint64_t tokens = bench_tokens(settings, c->size);
  job_feed feed = {.next = next, .done = done, .user = &c->data};
  for (uint32_t round = 0; round < settings->rounds; round++) {
    for (uint32_t i = 0; i < c->entry_count; i++) {
      double start = weir__bench_seconds(), host = host_seconds();
      int result = bench_run(c, &c->entries[i], tokens, &feed);
      if (result != BENCH_OK) return result;
      c->entries[i].samples[round] = (double)tokens / (weir__bench_seconds() - start);
      c->entries[i].host_us[round] = (host_seconds() - host) / (double)tokens * 1e6;
    }
  }
  for (uint32_t i = 0; i < c->entry_count; i++) {
    double us[BENCH_MOST_ROUNDS], uncovered[BENCH_MOST_ROUNDS];
    for (uint32_t round = 0; round < settings->rounds; round++) {
      us[round] = 1e6 / c->entries[i].samples[round];
      uncovered[round] = uncovered_us(settings, c, us[round]);
    }
    bench_add(settings, "jobs", c->name, c->entries[i].way->name, "us/job", us, settings->rounds);
    if (settings->samples) continue;
    bench_add(settings, "jobs", c->name, c->entries[i].way->name, "us host", c->entries[i].host_us, settings->rounds);
    if (!isnan(uncovered[0])) {
      bench_add(settings, "jobs", c->name, c->entries[i].way->name, "us uncovered", uncovered, settings->rounds);
    }
  }
  if (!settings->samples && !isnan(c->kernels_ns)) {
    double kernels_us = c->kernels_ns / 1e3, copies_us = c->copies_ns / 1e3;
    bench_add(settings, "jobs", c->name, "kernels alone", "us", &kernels_us, 1);
    bench_add(settings, "jobs", c->name, "copies alone", "us", &copies_us, 1);
  }
  print_case(settings, c, user);
  fflush(stdout);
  return BENCH_OK;
}

static void print_totals(const bench_settings *settings, const totals *t) {
  for (uint32_t w = 0; bench_way_is_weirs(w); w++) {
    mean all = {0};
    bench_print(settings, "\n%s: jobs per second by those of the best baseline of each case\n%-10s", bench_way(w)->name,
                "workload");
    for (uint32_t size = 0; size < BENCH_SIZES; size++) bench_print(settings, " %8s", bench_size_names[size]);
    bench_print(settings, " %8s\n", "mean");
    for (uint32_t i = 0; i < JOB_WORKLOADS; i++) {
      mean row = {0};
      for (uint32_t size = 0; size < BENCH_SIZES; size++) mean_join(&row, &t->best[w][i][size]);
      if (row.count == 0) continue;
      mean_join(&all, &row);
      bench_print(settings, "%-10s", job_workloads[i]->name);
      for (uint32_t size = 0; size < BENCH_SIZES; size++) print_mean(settings, &t->best[w][i][size]);
      print_mean(settings, &row);
      bench_print(settings, "\n");
    }
    if (all.count == 0) {
      bench_print(settings, "no baseline ran\n");
      continue;
    }
    bench_print(settings, "geometric mean of all %.2f, least %.2f\nby each baseline: geometric mean, least, cases\n",
                exp(all.log_sum / all.count), all.least);
    for (uint32_t i = 0; bench_way(i); i++) {
      const mean *m = &t->each[w][i];
      if (m->count == 0) continue;
      bench_print(settings, "%-34s %8.2f %8.2f %8u\n", bench_way(i)->name, exp(m->log_sum / m->count), m->least,
                  m->count);
    }
  }
}

int bench_jobs(const bench_settings *settings) {
  totals t = {0};
  bench_print(settings,
              "Jobs on %s: %u lines, %u workers, medians of %u rounds. \"Uncovered\", us: wall time per job less the "
              "time of a\n"
              "job's kernels and copies alone, %s. \"Host us\": CPU time of\n"
              "the process per job, with kernels that run on its threads.\n",
              settings->device, settings->lines, settings->workers, settings->rounds,
              strncmp(settings->device, "cpu", 3) == 0 ? "on one CPU worker, divided by the device's workers"
                                                       : "one after the other; only with one line");
  int result = bench_each_case(settings, measure, &t);
  if (result == BENCH_OK) print_totals(settings, &t);
  return result;
}
