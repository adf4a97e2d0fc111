// SPDX-License-Identifier: Apache-2.0
#include "every_way.h"

#include "way_weir.h"
#include "ways.h"

const job_way *bench_way(uint32_t index) {
  const struct {
    const job_way *ways;
    uint32_t count;
  } tables[] = {
      {job_ways_weir, job_ways_weir_count},
      {job_ways_tbb, job_ways_tbb_count},
      {job_ways_cuda, job_ways_cuda_count},
  };
  for (uint32_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if (index < tables[i].count) return &tables[i].ways[index];
    index -= tables[i].count;
  }
  return NULL;
}

bool bench_way_is_weirs(uint32_t index) {
  return index < job_ways_weir_count;
}
