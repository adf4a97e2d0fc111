// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-pipeline: what pipelines cost, and what they gain, beside other ways of doing the same.
#include "parts.h"
#include "results.h"

int main(int argc, char **argv) {
  bench_settings settings;
  if (!bench_settings_parse(argc, argv, &settings)) return settings.exit_code;
  static const struct {
    const char *name;
    int (*run)(const bench_settings *settings);
  } parts[] = {{"stages", bench_stages}, {"jobs", bench_jobs}, {"latency", bench_latency}};
  int result = BENCH_OK;
  for (int i = 0; i < 3 && result == BENCH_OK; i++) {
    if (!bench_chosen(&settings.parts, parts[i].name)) continue;
    result = parts[i].run(&settings);
    bench_print_missing();
    bench_print(&settings, "\n");
  }
  if (result != BENCH_OK) return result;
  return bench_write(&settings);
}
