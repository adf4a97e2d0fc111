// SPDX-License-Identifier: Apache-2.0
#include "run_way.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { LINES = 3, WORKERS = 2 };

void run_way(const job_workload *workload, const job_way *way, const char *device_name, weir_device *device,
             uint64_t tokens) {
  job_data data;
  char why[JOB_WHY] = "";
  assert_true(job_data_create(workload, "cpu", SMALL_NS, device, &data, why));
  void *state = way->open(&data.shape, &(job_options){device_name, LINES, WORKERS}, why);
  if (!state) fail_msg("%s: %s: %s", workload->name, way->name, why);
  for (int i = 0; i < 2; i++) {
    job_checked checked = {.data = &data};
    job_feed feed = job_checked_feed(&checked);
    if (!way->run(state, tokens, &feed, why)) fail_msg("%s: %s: %s", workload->name, way->name, why);
    if (checked.wrong) fail_msg("%s: %s", way->name, checked.what);
    assert_int_equal(checked.done, tokens);
  }
  way->close(state);
  job_data_free(&data);
}
