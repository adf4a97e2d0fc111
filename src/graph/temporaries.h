// SPDX-License-Identifier: Apache-2.0
//
// Temporaries: buffers that nobody but one launch of a graph of Weir's own names. They are new when it is submitted, and the program
// has released them by then. Nobody can ask for their contents, so a graph that is launched again and again keeps storage for them: a
// launch then neither finds storage for a temporary, nor records the access to it, nor gives the storage back.
//
// DESIGN. A graph has no storage of its own from the start: it keeps what a launch took, and its buffers do without it from then on. So
// no launch takes more memory than it did before. Each launch comes after the one before, whose nodes use the same storage. Whether a
// buffer is a temporary, each launch asks anew: where it is none any more, the launch takes storage for it as for others.
//
// The lock is held.
#ifndef WEIR_GRAPH_TEMPORARIES_H
#define WEIR_GRAPH_TEMPORARIES_H

#include "graph/graph.h"

// Whether a buffer that a submission has queued is one: that names it last, and nothing is known of its contents.
static inline bool weir__temporary_is(const weir_buffer *buffer) {
  return buffer->gone && buffer->queued == 1 && weir__buffer_is_bare(buffer);
}

// The bytes of storage that the graph could keep behind its last launch, which took it and was just submitted: for buffers that were
// released, and have been overwritten as a whole by it.
uint64_t weir__temporaries_count(const weir_graph *graph);

// Keeps that storage. False: no memory, and nothing is kept.
bool weir__temporaries_keep(weir_graph *graph);

// The buffer with this number of the graph is none any more. Its storage is free when the last launch is done. Afterwards
// weir__graph_arrange.
void weir__temporaries_drop(weir_graph *graph, uint32_t number);

// Puts the graph's plan in order: the buffers and externals that launches name come first.
void weir__graph_arrange(weir_graph *graph);

// The same where the graph has a new plan, or other buffers, which may be larger.
void weir__graph_arrange_anew(weir_graph *graph);

// Gives all storage back.
void weir__temporaries_give_up(weir_graph *graph);

#endif // WEIR_GRAPH_TEMPORARIES_H
