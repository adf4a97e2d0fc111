// SPDX-License-Identifier: Apache-2.0
#include "../write_once/cuda_threads.hpp"

#include <string.h>

#include "../support/program_bodies.c"

#include "units.h"

void launched_run(uint32_t arg_count, const body_packed *packed, const uint64_t *w, const uint32_t groups[3]) {
  const body_packed &d = *packed;
  launch({groups[0], groups[1], groups[2]}, {1, 1, 1}, [&] {
    switch (arg_count) {
    case 0:
      body0(d);
      break;
    case 1:
      body1(d, w[0]);
      break;
    case 2:
      body2(d, w[0], w[1]);
      break;
    case 3:
      body3(d, w[0], w[1], w[2]);
      break;
    case 4:
      body4(d, w[0], w[1], w[2], w[3]);
      break;
    case 5:
      body5(d, w[0], w[1], w[2], w[3], w[4]);
      break;
    case 6:
      body6(d, w[0], w[1], w[2], w[3], w[4], w[5]);
      break;
    case 7:
      body7(d, w[0], w[1], w[2], w[3], w[4], w[5], w[6]);
      break;
    default:
      abort();
    }
  });
}
