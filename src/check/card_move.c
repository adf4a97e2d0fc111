// SPDX-License-Identifier: Apache-2.0
#include "check/card_move.h"

#include "check/card_launch.h"

static weir__card_region region_at(const weir__check_job *job, const void *contents) {
  return (weir__card_region){
      .bytes = job->arena_bytes, .contents = (uint64_t)(uintptr_t)contents, .kind = WEIR__CARD_OUTPUT};
}

// Repeats the pattern in host memory, and uploads that. False: no memory.
static bool fill(weir__card_launches *all, weir__check_job *job, const void *pattern) {
  const weir__check_arena *staging = weir__check_arena_of(all->checker, job, WEIR__CHECK_ARENAS - 1);
  if (staging == NULL) return false;
  weir__fill_bytes(staging->memory, job->arena_bytes, pattern);
  weir__card_copy_in(all, job->arena_bytes, staging->memory);
  return true;
}

void weir__check_move_on_card(weir__checker *checker, weir__check_job *job, const weir__graph_node *node,
                              const weir__graph_arg *args, void *const *pointers) {
  weir__card_launches all;
  job->arena_bytes = node->bytes;
  weir__card_begin(&all, checker, job);
  if (all.bench->spoiled) weir__check_free_bench(all.device, all.bench);
  if (!weir__check_has_room(job, 1) || !weir__card_make_arenas(all.bench, job, node->bytes)) return;
  if (weir__card_make_bench(&all) != WEIR_OK) {
    weir__card_fail(&all, job);
    return;
  }
  weir__card_clear(&all, node->bytes);
  if (node->kind == WEIR__GRAPH_FILL) {
    if (!fill(&all, job, pointers[1])) return;
  } else if (args[1].mode == WEIR_VALUE) {
    weir__card_copy_in(&all, node->bytes, pointers[1]);
  } else {
    weir__card_region from = region_at(job, pointers[1]);
    weir__card_add(&all, &from);
    weir__card_upload(&all);
    weir__card_prepare(&all, node->bytes);
    weir__card_finish(&all);
    weir__card_clear(&all, node->bytes);
  }
  if (args[0].mode == WEIR_VALUE) {
    weir__card_copy_out(&all, node->bytes, pointers[0]);
  } else {
    weir__card_region to = region_at(job, pointers[0]);
    weir__card_add(&all, &to);
    weir__card_upload(&all);
    weir__card_commit(&all, node->bytes);
  }
  weir__card_finish(&all);
  weir__card_fail(&all, job);
}
