// SPDX-License-Identifier: Apache-2.0
#define WEIR__RESIDENT 1e5 // an id may look like a number
#include "../write_once/cuda_threads.hpp"

#include <stdlib.h>
#include <string.h>

#include "../../examples/dynroute/layers.c"
#include "../write_once/forms.c"

// A second file with functions of the same names.
#undef WEIR__RESIDENT
#define WEIR__RESIDENT second
#define offsets other_offsets
#include "../support/program_bodies.c"
#include "../write_once/broken.c"
#include "odd.c"

#include "units.h"

typedef void (*unit_function)(const weir__unit *);

static const struct {
  const char *name;
  unit_function function;
} units[] = {
#define FORM(name) {#name, weir__resident_pointer_1e5_##name},
#define ODD(name) {#name, weir__resident_pointer_second_##name},
    FORM(indexes) FORM(reduce) FORM(transpose) FORM(scan) FORM(histogram) FORM(float_sum) FORM(arithmetic)
        FORM(integers) FORM(axpy) FORM(depthwise) FORM(pointwise) FORM(average) FORM(gate) ODD(single) ODD(rounds)
            ODD(limit) ODD(wide) ODD(broken) ODD(body0) ODD(body1) ODD(body2) ODD(body3) ODD(body4) ODD(body5)
                ODD(body6) ODD(body7)};

bool unit_run(const char *kernel, const uint64_t *args, const uint32_t groups[3], uint32_t threads) {
  for (auto &unit : units) {
    if (strcmp(unit.name, kernel) != 0) continue;
    if (unit.function == NULL) return false;
    unit_function function = unit.function;
    weir__unit call; // as in the resident kernel, the same memory for each work-group
    call.args = args;
    for (int d = 0; d < 3; d++) call.count[d] = groups[d];
    launch({groups[0], groups[1], groups[2]}, {threads, 1, 1}, [&] {
      if (threadIdx.x == 0) {
        call.id[0] = blockIdx.x;
        call.id[1] = blockIdx.y;
        call.id[2] = blockIdx.z;
      }
      __syncthreads();
      function(&call);
    });
    return true;
  }
  abort();
}
