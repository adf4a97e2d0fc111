// SPDX-License-Identifier: Apache-2.0
//
// Boxes in the plan of a graph. Between nodes they count as they are. For the graph as a whole, in what it reads from outside
// and what it leaves behind, a box counts as all bytes from its first to its last one, and a written one as updated. So
// launches may wait for more than they must, and where bytes between the rows are poisoned a node may be skipped.
#ifndef WEIR_GRAPH_PLAN_BOXES_H
#define WEIR_GRAPH_PLAN_BOXES_H

#include "graph/plan.h"

// Room for all boxes of what is recorded. False: no memory.
bool weir__plan_make_boxes(const weir_graph *graph, weir__graph_plan *plan);

// The next box of the plan, for this argument; NULL: it is a range.
const weir_box *weir__plan_take_box(weir__graph_plan *plan, const weir_arg *arg, uint32_t *count);

// Records an access of a node to a buffer's shadow, as weir__buffer_access does. False: no memory.
bool weir__plan_access(weir_buffer *shadow, weir__range_pool *ranges, const weir__liveness *liveness, weir__id task,
                       weir_mode mode, uint64_t lo, uint64_t hi, const weir_box *box, weir__dependences *dependences);

#endif // WEIR_GRAPH_PLAN_BOXES_H
