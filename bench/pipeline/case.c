// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alone.h"
#include "every_way.h"
#include "results.h"
#include "workloads.h"

int bench_run(const bench_case *c, const bench_entry *entry, uint64_t tokens, const job_feed *feed) {
  char why[JOB_WHY] = "";
  if (entry->way->run(entry->state, tokens, feed, why)) return BENCH_OK;
  fprintf(stderr, "weir-bench-pipeline: %s: %s failed: %s\n", c->name, entry->way->name, why);
  return BENCH_FAILED;
}

// Two runs, as the second one has what the first one kept.
static int verify(const bench_settings *settings, const bench_case *c, const bench_entry *entry) {
  for (int i = 0; i < 2; i++) {
    job_checked checked = {.data = &c->data};
    job_feed feed = job_checked_feed(&checked);
    uint64_t tokens = 2 * settings->lines + JOB_VARIANTS + 1;
    int result = bench_run(c, entry, tokens, &feed);
    if (result != BENCH_OK) return result;
    if (!checked.wrong && checked.done != tokens) {
      checked.wrong = true;
      snprintf(checked.what, JOB_WHY, "%llu of %llu tokens were done", (unsigned long long)checked.done,
               (unsigned long long)tokens);
    }
    if (checked.wrong) {
      fprintf(stderr, "weir-bench-pipeline: %s: %s: wrong result: %s\n", c->name, entry->way->name, checked.what);
      return BENCH_FAILED;
    }
  }
  return BENCH_OK;
}

static int open_ways(const bench_settings *settings, bench_case *c) {
  for (uint32_t i = 0; bench_way(i) && c->entry_count < BENCH_MOST_WAYS; i++) {
    const job_way *way = bench_way(i);
    if (!bench_chosen(&settings->ways, way->name)) continue;
    char why[JOB_WHY] = "";
    job_options options = {settings->device, settings->lines, settings->workers};
    void *state = way->open(&c->data.shape, &options, why);
    if (!state) {
      bench_add_missing(settings, way->name, why);
      continue;
    }
    bench_entry *entry = &c->entries[c->entry_count++];
    *entry = (bench_entry){.way = way, .state = state, .is_weirs = bench_way_is_weirs(i)};
    int result = verify(settings, c, entry);
    if (result != BENCH_OK) return result;
  }
  return BENCH_OK;
}

static int with_case(const bench_settings *settings, weir_device *device, uint32_t workload, uint32_t size,
                     int (*function)(const bench_settings *, bench_case *, void *), void *user) {
  char kind[16], why[JOB_WHY] = "";
  bench_case *c = calloc(1, sizeof *c);
  bench_kind(settings, kind);
  if (!c || !job_data_create(job_workloads[workload], kind, bench_size_ns[size], device, &c->data, why)) {
    fprintf(stderr, "weir-bench-pipeline: %s\n", c ? why : "no memory");
    free(c);
    return BENCH_FAILED;
  }
  c->workload = workload;
  c->size = size;
  c->lanes = weir_device_information(device)->lanes;
  snprintf(c->name, sizeof c->name, "%s %s", job_workloads[workload]->name, bench_size_names[size]);
  bench_alone(settings->device, &c->data, &c->kernels_ns, &c->copies_ns);
  int result = open_ways(settings, c);
  if (result == BENCH_OK) result = function(settings, c, user);
  for (uint32_t i = 0; i < c->entry_count; i++) c->entries[i].way->close(c->entries[i].state);
  job_data_free(&c->data);
  free(c);
  return result;
}

int bench_each_case(const bench_settings *settings, int (*function)(const bench_settings *, bench_case *, void *),
                    void *user) {
  weir_context *context; // for its device, by which memory is made
  weir_status status = weir_context_create(&(weir_context_options){.devices = settings->device}, &context);
  if (status != WEIR_OK) {
    fprintf(stderr, "weir-bench-pipeline: %s\n", weir_last_error());
    return status == WEIR_ERROR_INVALID_ARGUMENT ? BENCH_USAGE : BENCH_UNAVAILABLE;
  }
  int result = BENCH_OK;
  for (uint32_t i = 0; i < JOB_WORKLOADS && result == BENCH_OK; i++) {
    for (uint32_t size = 0; size < BENCH_SIZES && result == BENCH_OK; size++) {
      if (!bench_chosen(&settings->workloads, job_workloads[i]->name)) continue;
      if (!bench_chosen(&settings->sizes, bench_size_names[size])) continue;
      if (settings->quick && settings->sizes.count == 0 && size > 0) continue;
      result = with_case(settings, weir_context_device(context, 0), i, size, function, user);
    }
  }
  weir_context_release(context);
  return result;
}
