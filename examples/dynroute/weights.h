// SPDX-License-Identifier: Apache-2.0
//
// Random weights, in buffers. They belong to their context.
#ifndef DYNROUTE_WEIGHTS_H
#define DYNROUTE_WEIGHTS_H

#include "network.h"

enum { BRANCH_MAX_DEPTH = 2 };

// A branch: `depth` separable convolutions, each a depthwise and a pointwise one.
typedef struct branch_weights {
  int depth;
  weir_buffer *depthwise[BRANCH_MAX_DEPTH];   // channels * 9
  weir_buffer *pointwise[BRANCH_MAX_DEPTH];   // channels * channels, the inputs of one output together
  weir_buffer *scale_shift[BRANCH_MAX_DEPTH]; // channels scales, then channels shifts
} branch_weights;

typedef struct cell_weights {
  int branch_count;
  weir_buffer *gate; // branches * channels
  branch_weights branches[NETWORK_MAX_BRANCHES];
} cell_weights;

typedef struct network_weights {
  weir_buffer *stem, *stem_scale_shift;
  cell_weights cells[NETWORK_MAX_CELLS];
} network_weights;

// A number from -1 to 1.
float random_number(uint64_t *state);

// Fills the weights of a network and waits until they are where they belong.
weir_status network_weights_create(weir_context *context, const network_shape *shape, network_weights *out_weights);

#endif // DYNROUTE_WEIGHTS_H
