// SPDX-License-Identifier: Apache-2.0
//
// What tests of adopted graphs share: a CUgraph of the caller's own, a chain as a capture of one stream gives it, and what is
// said of its nodes.
#ifndef WEIR_TESTS_CUDA_ADOPT_H
#define WEIR_TESTS_CUDA_ADOPT_H

#include "share.h"
#include "weir/adopt.h"

enum { CHAIN_MOST = 4096 };

typedef struct chain {
  const share *s;
  CUgraph graph;
  CUgraphNode last;
  CUfunction set, sum;
  uint32_t count; // nodes
  weir_cuda_access accesses[CHAIN_MOST];
  uint32_t access_count;
} chain;

void chain_begin(const share *s, chain *c);

// Each adds a node behind the last one. Accesses are said by chain_say, of the last node.
void chain_step(chain *c, CUdeviceptr data, uint32_t count, uint32_t value);
void chain_set(chain *c, CUdeviceptr data, uint32_t count, uint32_t value);
void chain_sum(chain *c, CUdeviceptr out, CUdeviceptr a, CUdeviceptr b, uint32_t count);
void chain_kernel(chain *c, CUfunction function, void **parameters);
void chain_copy(chain *c, CUdeviceptr to, CUdeviceptr from, uint64_t bytes);
void chain_fill(chain *c, CUdeviceptr to, uint32_t words, uint32_t pattern);
void chain_host(chain *c, void (*function)(void *user), void *user);
void chain_say(chain *c, CUdeviceptr pointer, uint64_t bytes, weir_mode mode);

// A step of which the whole truth is said.
void chain_said_step(chain *c, CUdeviceptr data, uint32_t count, uint32_t value);

weir_cuda_nodes *chain_read(chain *c);                                              // and destroys the graph
weir_status chain_try(chain *c, weir_cuda_adopt_options options, weir_graph **out); // with what was said
weir_graph *chain_adopt(chain *c, weir_cuda_adopt_options options);                 // the same, which must succeed

void adopt_launch(weir_graph *graph); // and waits
uint64_t adopt_edges(weir_graph *graph);

#endif // WEIR_TESTS_CUDA_ADOPT_H
