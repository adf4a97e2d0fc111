// SPDX-License-Identifier: Apache-2.0
//
// How a graph is adopted (weir/adopt.h), in steps: what each node uses (adopt_uses.c), whether its parameters agree
// (adopt_parameters.c), in which memory that is (adopt_memory.c), and the graph of it (adopt.c).
#ifndef WEIR_API_ADOPT_H
#define WEIR_API_ADOPT_H

#include "device/cuda/graph/adopted.h"
#include "engine/context.h"
#include "weir/adopt.h"

// Bytes that a node uses, in one place.
typedef struct weir__adopt_use {
  uint64_t lo, hi;
  uint32_t node;
  uint32_t place; // UINT32_MAX: not found yet
  weir_mode mode;
} weir__adopt_use;

// Memory that is one buffer.
typedef struct weir__adopt_place {
  uint64_t lo, hi;
  weir_buffer *buffer; // NULL: none yet
} weir__adopt_place;

typedef struct weir__adoption {
  weir__cuda_adopted *nodes;
  weir_context *context;
  const weir_cuda_adopt_options *options;
  weir__adopt_use *uses; // in order of nodes
  uint32_t use_count, use_capacity;
  uint32_t *first_use;       // per node and one more: where its part of `uses` begins
  bool *unknown;             // per node: it may use anything
  uint32_t first_unknown;    // the first such node; UINT32_MAX: there is none
  weir__adopt_place *places; // the caller's buffers, by address; then memory that is the graph's alone, by address
  uint32_t place_count, place_capacity, given_count;
  weir_cuda_range *managed; // the options', by address; NULL: none
} weir__adoption;

// "adopt: node 7 'gemm'"; cut.
enum { WEIR__ADOPT_WHAT_BYTES = 96 };
void weir__adopt_describe(const weir__adoption *adoption, uint32_t node, char what[WEIR__ADOPT_WHAT_BYTES]);

// The caller's buffers become places.
weir_status weir__adopt_take_buffers(weir__adoption *adoption);

// Finds what each node uses; what is not in a buffer of the caller's has no place yet.
weir_status weir__adopt_find_uses(weir__adoption *adoption);

// Finds kernels that use more than is said of them, as far as their parameters show it. They may use anything.
weir_status weir__adopt_check_parameters(weir__adoption *adoption);

// Finds places for the rest, without buffers.
weir_status weir__adopt_find_places(weir__adoption *adoption);

// Makes arguments of what a node uses, with room for WEIR_MAX_ARGS, which do not overlap. All places have buffers.
weir_status weir__adopt_make_args(const weir__adoption *adoption, uint32_t node, weir_arg *args, uint32_t *out_count);

// Adds a place. False: no memory.
bool weir__adopt_add_place(weir__adoption *adoption, const weir__adopt_place *place);

weir_status weir__adopt_no_memory(void);

// weir_cuda_graph_adopt with options that were taken, also of nodes that a graph of Weir's cannot have: the graph serves
// to make a plan then.
weir_status weir__adopt(weir__cuda_adopted *nodes, const weir_cuda_adopt_options *options, weir_graph **out_graph);

#endif // WEIR_API_ADOPT_H
