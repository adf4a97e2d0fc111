// SPDX-License-Identifier: Apache-2.0
//
// Boxes in the plan of a graph. A box is one use for each of its rows, so that hazards, failures and what the graph as a whole
// does to buffers are exact. A node with more rows than WEIR__PLAN_MOST_ROWS in all is the exception: its boxes count as all bytes
// from the first to the last one, and a written one as updated.
#ifndef WEIR_GRAPH_PLAN_BOXES_H
#define WEIR_GRAPH_PLAN_BOXES_H

#include "graph/plan_build.h"

enum { WEIR__PLAN_MOST_ROWS = 1 << 16 };

// Room for all boxes of what is recorded. False: no memory.
bool weir__plan_make_boxes(const weir_graph *graph, weir__graph_plan *plan);

// The next box of the plan, for this argument; NULL: it is a range.
const weir_box *weir__plan_take_box(weir__graph_plan *plan, const weir_arg *arg, uint32_t *count);

// How many uses the arguments of a node are. `out_by_rows`: its boxes count row by row.
uint64_t weir__plan_count_uses(const weir_task *task, bool *out_by_rows);

// Writes the uses of an argument to `uses`; `whole` is the use of its range. Returns how many.
uint32_t weir__plan_make_uses(const weir__plan_use *whole, const weir__graph_arg *arg, weir__plan_use *uses);

#endif // WEIR_GRAPH_PLAN_BOXES_H
