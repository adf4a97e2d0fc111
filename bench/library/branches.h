// SPDX-License-Identifier: Apache-2.0
//
// Blocks of Inception v3 (batch 1, float32) with four branches each. A convolution is a call: its windows are laid out in scratch
// memory, then cuBLAS multiplies them by the weights.
#ifndef WEIR_BENCH_LIBRARY_BRANCHES_H
#define WEIR_BENCH_LIBRARY_BRANCHES_H

#include "libraries.h"
#include "report.h"

enum { BRANCHES_MOST_LAYERS = 64, BRANCHES_STREAMS = 4 };

// A layer: a pool (`high` is 0; 3 x 3 means), or a convolution of windows.
typedef struct net_layer {
  int wide, high;    // pixels of a window
  int from, to;      // channels
  int input, output; // numbers of activations
  int output_first;  // channel of the output that its first one is
  int block, branch;
} net_layer;

typedef struct branches {
  const char *name;
  int side;          // pixels in x and y
  cublasMath_t math; // of the products
  int layer_count, activation_count, block;
  net_layer layers[BRANCHES_MOST_LAYERS];
  int channels[BRANCHES_MOST_LAYERS]; // of activations
  CUdeviceptr activations[BRANCHES_MOST_LAYERS], weights[BRANCHES_MOST_LAYERS];
  CUfunction pool, windows;
  size_t scratch_bytes;
} branches;

static inline int branches_pixels(const branches *net) {
  return net->side * net->side;
}

static inline size_t branches_bytes(const branches *net, int channels) {
  return (size_t)channels * (size_t)branches_pixels(net) * sizeof(float);
}

// Puts a layer on a stream.
int branches_call(const branches *net, const net_layer *layer, cublasHandle_t blas, CUstream stream, CUdeviceptr input,
                  CUdeviceptr output, CUdeviceptr scratch);

// Measures all ways, `passes` times after the first.
void branches_measure(int passes, table *report);

// The sum of the values' sizes, to compare results by.
double branches_sum(const float *values, size_t count);

// By Weir (branches_weir.c); the sum of the last activations is compared with `expected`.
void branches_by_weir(const branches *net, int issue, bool graph, double expected, int passes, table *report);

#endif // WEIR_BENCH_LIBRARY_BRANCHES_H
