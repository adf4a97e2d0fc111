// SPDX-License-Identifier: Apache-2.0
//
// Three blocks of Inception v3 (35 x 35 pixels, batch 1, float32) with four branches each. A convolution is a call: its windows
// are laid out in scratch memory, then cuBLAS multiplies them by the weights.
#ifndef WEIR_BENCH_LIBRARY_BRANCHES_H
#define WEIR_BENCH_LIBRARY_BRANCHES_H

#include "libraries.h"
#include "report.h"

enum { BRANCHES_SIDE = 35, BRANCHES_PIXELS = BRANCHES_SIDE * BRANCHES_SIDE, BRANCHES_MOST_LAYERS = 32 };

// A layer: `pool` (3 x 3 means), or a convolution of side x side windows.
typedef struct net_layer {
  bool pool;
  int side, from, to; // channels
  int input, output;  // numbers of activations
  int output_first;   // channel of the output that its first one is
} net_layer;

typedef struct branches {
  int layer_count, activation_count;
  net_layer layers[BRANCHES_MOST_LAYERS];
  int channels[BRANCHES_MOST_LAYERS]; // of activations
  CUdeviceptr activations[BRANCHES_MOST_LAYERS], weights[BRANCHES_MOST_LAYERS];
  CUfunction pool, windows;
  size_t scratch_bytes;
} branches;

static inline size_t branches_bytes(int channels) {
  return (size_t)channels * BRANCHES_PIXELS * sizeof(float);
}

// Puts a layer on a stream.
int branches_call(const branches *net, const net_layer *layer, cublasHandle_t blas, CUstream stream, CUdeviceptr input,
                  CUdeviceptr output, CUdeviceptr scratch);

// Measures all ways, `passes` times after the first.
void branches_measure(int passes, table *report);

// By Weir (branches_weir.c): `first` of the first activations, and the sum of the last ones is compared with `expected`.
void branches_by_weir(const branches *net, int issue, bool graph, double expected, int passes, table *report);

// The sum of activations in memory of the card.
double branches_sum(CUdeviceptr activations, int channels);

#endif // WEIR_BENCH_LIBRARY_BRANCHES_H
