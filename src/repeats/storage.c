// SPDX-License-Identifier: Apache-2.0
//
// Which graphs keep storage for temporaries, and until when: together they keep no more than the launches of one pass need, from one
// call that is no submission to the next.
#include "graph/temporaries.h"
#include "repeats/state.h"

enum {
  LOOK_EACH = 4,    // launches, after which a graph that keeps nothing is looked at again
  LONG_PASSES = 64, // without a launch, after which a graph gives way to others
};

static uint64_t kept_by(const weir__repeat *repeat) {
  return repeat->graph != NULL ? repeat->graph->temporaries.bytes : 0;
}

// Makes room for so many more bytes, at the cost of graphs that have not been launched for long.
static bool make_room(weir__repeats *self, uint64_t bytes) {
  uint64_t kept = bytes;
  for (const weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) kept += kept_by(repeat);
  for (weir__repeat *repeat = self->first; repeat != NULL && kept > self->most_pass_bytes; repeat = repeat->next) {
    if (kept_by(repeat) == 0 || self->pass - repeat->launched_pass < LONG_PASSES) continue;
    kept -= kept_by(repeat);
    weir__temporaries_give_up(repeat->graph);
  }
  return kept <= self->most_pass_bytes;
}

void weir__repeats_keep_storage(weir__repeats *self, weir__repeat *repeat) {
  weir_graph *graph = repeat->graph;
  repeat->launched_pass = self->pass;
  const weir__graph_ops *ops = repeat->run.device->ops->graphs;
  bool looks = graph->temporaries.bytes == 0 && !repeat->keeps_nothing && repeat->came >= repeat->look &&
               (self->tests || (ops != NULL && ops->in_turn));
  if (looks) {
    repeat->temporary_bytes = weir__temporaries_count(graph);
    repeat->look = repeat->came + LOOK_EACH;
  }
  self->pass_bytes += repeat->temporary_bytes;
  if (self->pass_bytes > self->most_pass_bytes) self->most_pass_bytes = self->pass_bytes;
  if (!looks || repeat->temporary_bytes == 0 || !make_room(self, repeat->temporary_bytes)) return;
  weir__temporaries_keep(graph);
}

void weir__repeats_free_storage(weir__repeats *self) {
  for (weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) {
    if (kept_by(repeat) > 0) weir__temporaries_give_up(repeat->graph);
  }
}

bool weir__repeats_recall(void *user, weir__pool *pool) {
  weir_context *context = user;
  bool any = false;
  for (weir__repeat *repeat = context->repeating.repeats->first; repeat != NULL; repeat = repeat->next) {
    if (kept_by(repeat) == 0 || repeat->launching || pool != &context->memory.pools[repeat->graph->plan->space])
      continue;
    weir__temporaries_give_up(repeat->graph);
    repeat->keeps_nothing = true;
    any = true;
  }
  return any;
}
