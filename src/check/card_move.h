// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills that are nodes of graphs whose contents are in a card's memory. They go through the checker's memory there,
// since the launch that they are part of has their buffers.
#ifndef WEIR_CHECK_CARD_MOVE_H
#define WEIR_CHECK_CARD_MOVE_H

#include "check/checker.h"

// The job has the status. `args` and `pointers`: of the node.
void weir__check_move_on_card(weir__checker *checker, weir__check_job *job, const weir__graph_node *node,
                              const weir__graph_arg *args, void *const *pointers);

#endif // WEIR_CHECK_CARD_MOVE_H
