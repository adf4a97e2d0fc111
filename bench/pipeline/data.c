// SPDX-License-Identifier: Apache-2.0
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_memory.h"
#include "shape.h"

bool job_data_create(const job_workload *workload, const char *kind, uint64_t kernels_ns, weir_device *device,
                     job_data *out_data, char why[JOB_WHY]) {
  *out_data = (job_data){.workload = workload, .device = device};
  bool good = workload->shape(kind, kernels_ns, &out_data->shape);
  for (uint32_t variant = 0; good && variant < JOB_VARIANTS; variant++) {
    void *hosts[JOB_MOST_HOSTS] = {0};
    for (uint32_t host = 0; host < out_data->shape.host_count; host++) {
      bool result = job_is_result(&out_data->shape, host);
      void **place = result ? &out_data->expected[variant][host] : &out_data->inputs[variant][host];
      *place = job_host_allocate(result ? NULL : device, out_data->shape.host_bytes[host]);
      if (!*place) good = false;
      hosts[host] = *place;
    }
    if (!good) break;
    workload->input(&out_data->shape, variant, out_data->inputs[variant]);
    workload->reference(&out_data->shape, variant, hosts);
  }
  if (good) return true;
  snprintf(why, JOB_WHY, "no memory for the data of %s", workload->name);
  job_data_free(out_data);
  return false;
}

void job_data_free(job_data *data) {
  for (uint32_t variant = 0; variant < JOB_VARIANTS; variant++) {
    for (uint32_t host = 0; host < JOB_MOST_HOSTS; host++) {
      free(data->expected[variant][host]);
      job_host_free(data->device, data->inputs[variant][host]);
    }
  }
  job_shape_free(&data->shape);
  *data = (job_data){0};
}

void *const *job_next_input(const job_data *data, uint64_t token) {
  return data->inputs[token % JOB_VARIANTS];
}

bool job_results_right(const job_data *data, uint64_t token, void *const *hosts, char what[JOB_WHY]) {
  for (uint32_t host = 0; host < data->shape.host_count; host++) {
    const void *expected = data->expected[token % JOB_VARIANTS][host];
    if (!expected) continue;
    const int32_t *numbers = hosts[host], *right = expected;
    for (uint64_t i = 0; i < data->shape.host_bytes[host] / 4; i++) {
      if (numbers[i] == right[i]) continue;
      snprintf(what, JOB_WHY, "%s: token %llu: number %llu of host memory %u is %d instead of %d", data->workload->name,
               (unsigned long long)token, (unsigned long long)i, host, numbers[i], right[i]);
      return false;
    }
  }
  return true;
}

static void *const *checked_next(void *user, uint64_t token) {
  const job_checked *checked = user;
  return job_next_input(checked->data, token);
}

static void checked_done(void *user, uint64_t token, void *const *hosts) {
  job_checked *checked = user;
  if (token != checked->done && !checked->wrong) {
    checked->wrong = true;
    snprintf(checked->what, JOB_WHY, "token %llu is done where it was token %llu's turn", (unsigned long long)token,
             (unsigned long long)checked->done);
  }
  checked->done++;
  if (!checked->wrong && !job_results_right(checked->data, token, hosts, checked->what)) checked->wrong = true;
}

job_feed job_checked_feed(job_checked *checked) {
  return (job_feed){.next = checked_next, .done = checked_done, .user = checked};
}
