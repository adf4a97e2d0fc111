// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

static bool is_cpu(const char *device) {
  return strcmp(device, "cpu") == 0 || strncmp(device, "cpu:", 4) == 0;
}

static int open_way(wait_bench *b, int way) {
  weir_status status = WEIR_OK;
  if (!wait_ways[way].is_peer) {
    b->weir[way] = wait_weir_open(&wait_ways[way], b->options->device, &status);
    return status == WEIR_OK ? WAIT_OK : status == WEIR_ERROR_UNAVAILABLE ? WAIT_UNAVAILABLE : WAIT_FAILED;
  }
  if (!b->has_card) return WAIT_OK;
  b->cuda[way] = wait_cuda_open(&wait_ways[way], &b->card);
  return b->cuda[way] != NULL ? WAIT_OK : WAIT_FAILED;
}

int wait_bench_open(const wait_options *options, wait_bench *b) {
  char reason[1024] = "";
  *b = (wait_bench){.options = options};
  b->has_card = nvrtc_card_open(options->device, &b->card, b->no_card, sizeof b->no_card);
  if (!b->has_card && !is_cpu(options->device)) {
    fprintf(stderr, "weir-bench-wait: %s\n", b->no_card);
    return WAIT_UNAVAILABLE;
  }
  if (!wait_clocks_open(b->has_card ? &b->card : NULL, options->questions, &b->clocks, reason, sizeof reason)) {
    fprintf(stderr, "weir-bench-wait: %s\n", reason);
    return WAIT_FAILED;
  }
  int code = WAIT_OK;
  for (int way = 0; way < WAIT_WAYS && code == WAIT_OK; way++) code = open_way(b, way);
  return code;
}

void wait_bench_close(wait_bench *b) {
  for (int way = 0; way < WAIT_WAYS; way++) {
    wait_weir_close(b->weir[way]);
    wait_cuda_close(b->cuda[way]);
  }
  wait_clocks_close(&b->clocks);
  if (b->has_card) nvrtc_card_close(&b->card);
}

bool wait_bench_has(const wait_bench *b, int way, wait_sight sight) {
  return wait_ways[way].sights[sight] && (b->has_card || !wait_ways[way].is_peer);
}

static bool run(wait_bench *b, int way, wait_job *job, wait_sample *out_sample) {
  job->salt = 1000 * ++b->salt;
  return wait_ways[way].is_peer ? wait_cuda_run(b->cuda[way], job, out_sample)
                                : wait_weir_run(b->weir[way], job, out_sample);
}

static double us(uint64_t later_ns, uint64_t earlier_ns) {
  return (double)(int64_t)(later_ns - earlier_ns) / 1000;
}

static void larger(uint64_t *most, uint64_t value) {
  if (value > *most) *most = value;
}

static void note_clocks(const wait_bench *b, const wait_relation *before, const wait_relation *after,
                        wait_measures *measures) {
  int64_t drift = wait_drift_ns(before, after);
  if (before->round_ns < measures->least_round_ns) measures->least_round_ns = before->round_ns;
  if (after->round_ns < measures->least_round_ns) measures->least_round_ns = after->round_ns;
  larger(&measures->most_round_ns, before->round_ns);
  larger(&measures->most_round_ns, after->round_ns);
  larger(&measures->most_error_ns, wait_error_ns(&b->clocks, before, after));
  larger(&measures->most_drift_ns, (uint64_t)(drift < 0 ? -drift : drift));
}

static void add(wait_column *column, const wait_sample *sample, uint64_t written_ns, uint64_t error_ns) {
  const double error = (double)error_ns / 1000, from_write = us(sample->seen_ns, written_ns);
  column->from_submit[column->all++] = us(sample->seen_ns, sample->submit_ns);
  if (us(written_ns, sample->wait_ns) >= 0) column->from_write[column->waited++] = from_write;
  if (from_write < -error || us(written_ns, sample->submit_ns) < -error) column->contradicted++;
}

// The samples of one round. The first round does not count.
static bool measure_column(wait_bench *b, int way, wait_job *job, bool counts, wait_column *column,
                           wait_measures *measures) {
  wait_relation before, after;
  const uint32_t count = b->options->samples;
  wait_sample *samples = gpu_memory(count, sizeof *samples);
  bool good = wait_clocks_relate(&b->clocks, &before);
  for (uint32_t i = 0; i < b->options->warm_up && good; i++) good = run(b, way, job, &samples[0]);
  for (uint32_t i = 0; i < count && good; i++) good = run(b, way, job, &samples[i]);
  good = good && wait_clocks_relate(&b->clocks, &after);
  for (uint32_t i = 0; i < count && good && counts; i++)
    add(column, &samples[i], wait_to_host(&before, &after, samples[i].write_ns),
        wait_error_ns(&b->clocks, &before, &after));
  if (good && counts) note_clocks(b, &before, &after, measures);
  free(samples);
  return good;
}

static bool measure_round(wait_bench *b, bool counts, wait_measures *measures) {
  for (int shape = 0; shape < WAIT_SHAPES; shape++) {
    for (int sight = 0; sight < WAIT_SIGHTS; sight++) {
      for (int way = 0; way < WAIT_WAYS; way++) {
        wait_job job = {&wait_shapes[shape], (wait_sight)sight, (uint64_t)b->options->us * 1000, 0};
        wait_column *column = wait_column_of(measures, way, shape, sight);
        if (!wait_bench_has(b, way, job.sight)) continue;
        if (!measure_column(b, way, &job, counts, column, measures)) return false;
      }
    }
  }
  return true;
}

bool wait_measure(wait_bench *b, wait_measures *measures) {
  *measures = (wait_measures){.least_round_ns = UINT64_MAX};
  const size_t most = (size_t)b->options->rounds * b->options->samples;
  for (int i = 0; i < WAIT_COLUMNS; i++) {
    measures->columns[i].from_write = gpu_memory(most, sizeof(double));
    measures->columns[i].from_submit = gpu_memory(most, sizeof(double));
  }
  bool good = true;
  for (uint32_t round = 0; round <= b->options->rounds && good; round++) good = measure_round(b, round > 0, measures);
  for (int way = 0; way < WAIT_WAYS && good; way++)
    if (b->weir[way] != NULL) measures->resident[way] = wait_weir_resident(b->weir[way]);
  return good;
}

void wait_measures_free(wait_measures *measures) {
  for (int i = 0; i < WAIT_COLUMNS; i++) {
    free(measures->columns[i].from_write);
    free(measures->columns[i].from_submit);
  }
}
