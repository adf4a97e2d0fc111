// SPDX-License-Identifier: Apache-2.0
//
// Random graphs of host tasks, and what running their nodes one after another leaves, failures included.
#ifndef WEIR_TESTS_RANDOM_GRAPH_H
#define WEIR_TESTS_RANDOM_GRAPH_H

#include <stdatomic.h>

#include "random.h"
#include "weir/box.h"
#include "weir/graph.h"

enum { GRAPH_BUFFERS = 3, GRAPH_BYTES = 24, GRAPH_ARGS = 3, GRAPH_MOST_NODES = 60 };

typedef struct graph_arg {
  uint32_t buffer, mode; // weir_mode
  uint32_t lo, bytes;    // from the first to the last byte
  bool boxed;
  weir_box box;
} graph_arg;

typedef struct graph_node {
  graph_arg args[GRAPH_ARGS];
  uint32_t arg_count;
  uint32_t salt;
  bool fails;
  atomic_bool ran;
} graph_node;

typedef struct graph_program {
  graph_node nodes[GRAPH_MOST_NODES];
  uint32_t node_count;
} graph_program;

// The bytes of all buffers, and which are poisoned.
typedef struct graph_memory {
  uint8_t bytes[GRAPH_BUFFERS][GRAPH_BYTES];
  bool poisoned[GRAPH_BUFFERS][GRAPH_BYTES];
} graph_memory;

// `boxes`: some arguments are boxes.
void graph_generate_arg(graph_arg *arg, random_state *random, bool boxes);
void graph_generate(graph_program *program, random_state *random, uint32_t node_count, bool boxes);

// Lets other nodes fail, about `percent` of them.
void graph_choose_failures(graph_program *program, random_state *random, uint32_t percent);

weir_arg graph_make_arg(const graph_arg *arg, weir_buffer *buffer);

// Whether the argument has the byte.
bool graph_arg_has(const graph_arg *arg, uint32_t byte);

// Whether the nodes use a byte in common that one of them writes.
bool graph_conflict(const graph_node *a, const graph_node *b);

// Records the program; buffers by number. NULL, or the last error.
const char *graph_record(graph_program *program, weir_graph *graph, weir_buffer *const *buffers);

// Runs the nodes one after another. `out_ran`: per node, may be NULL.
void graph_run_serially(const graph_program *program, graph_memory *memory, bool *out_ran);

#endif // WEIR_TESTS_RANDOM_GRAPH_H
