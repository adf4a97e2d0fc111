// SPDX-License-Identifier: Apache-2.0
//
// What a graph as a whole does to buffers.
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "graph/plan_build.h"

typedef weir__plan_builder builder;
typedef weir__plan_use use;

enum { READ_FROM_OUTSIDE = 1, WRITTEN = 2 };

// The intervals of one buffer while its uses are gone through in order. unread[i], unwritten[i]: the first interval from i on
// that is not known to be read from outside or written; that is not written (disjoint sets, by halving paths).
typedef struct intervals {
  uint8_t *states;
  uint32_t *unread, *unwritten;
} intervals;

static uint32_t next_in(uint32_t *nexts, uint32_t at) {
  while (nexts[at] != at) at = nexts[at] = nexts[nexts[at]];
  return at;
}

static void read_from(const intervals *all, const use *used) {
  for (uint32_t i = next_in(all->unread, used->first); i < used->end; i = next_in(all->unread, i)) {
    all->states[i] |= READ_FROM_OUTSIDE;
    all->unread[i] = i + 1;
  }
}

static void write_to(const intervals *all, const use *used) {
  for (uint32_t i = next_in(all->unwritten, used->first); i < used->end; i = next_in(all->unwritten, i)) {
    all->states[i] |= WRITTEN;
    all->unwritten[i] = all->unread[i] = i + 1;
  }
}

static void find_states(const builder *build, const uint32_t *uses, uint32_t count, uint32_t interval_count,
                        const intervals *all) {
  memset(all->states, 0, interval_count);
  for (uint32_t i = 0; i <= interval_count; i++) all->unread[i] = all->unwritten[i] = i;
  for (uint32_t first = 0, end; first < count; first = end) { // what a node reads it reads before it writes
    uint32_t node = build->uses[uses[first]].node;
    for (end = first; end < count && build->uses[uses[end]].node == node; end++) {
      if (build->uses[uses[end]].mode != WEIR_WRITE) read_from(all, &build->uses[uses[end]]);
    }
    for (uint32_t i = first; i < end; i++) {
      if (build->uses[uses[i]].mode != WEIR_READ) write_to(all, &build->uses[uses[i]]);
    }
  }
}

static weir_mode mode_of(uint8_t state) {
  if (state == (READ_FROM_OUTSIDE | WRITTEN)) return WEIR_READ_WRITE;
  return state == WRITTEN ? WEIR_WRITE : WEIR_READ;
}

// Nobody but the graph uses the buffer, so that it does not matter which bytes of it a launch uses.
static void add_adopted(weir__graph_plan *plan, uint32_t buffer, uint64_t bytes, const uint8_t *states) {
  uint32_t interval_count = plan->first_cuts[buffer + 1] - plan->first_cuts[buffer] - 1;
  bool written = false;
  for (uint32_t i = 0; i < interval_count && !written; i++) written = (states[i] & WRITTEN) != 0;
  if (plan->externals != NULL)
    plan->externals[plan->external_count] =
        (weir__graph_external){.buffer = buffer, .mode = written ? WEIR_READ_WRITE : WEIR_READ, .lo = 0, .hi = bytes};
  plan->external_count++;
}

// The externals of one buffer, from the states of its intervals. Counts them alone if there is no room yet.
static void add_externals(weir__graph_plan *plan, uint32_t buffer, const uint8_t *states) {
  uint32_t interval_count = plan->first_cuts[buffer + 1] - plan->first_cuts[buffer] - 1;
  const uint64_t *cuts = plan->cuts + plan->first_cuts[buffer];
  for (uint32_t first = 0, end; first < interval_count; first = end) {
    for (end = first + 1; end < interval_count && states[end] == states[first];) end++;
    if (states[first] == 0) continue;
    if (plan->externals != NULL)
      plan->externals[plan->external_count] =
          (weir__graph_external){.buffer = buffer, .mode = mode_of(states[first]), .lo = cuts[first], .hi = cuts[end]};
    plan->external_count++;
  }
}

static void add_all_externals(const builder *build, const uint8_t *states) {
  weir__graph_plan *plan = build->plan;
  plan->external_count = 0;
  for (uint32_t i = 0; i < plan->buffer_count; i++) {
    const weir_buffer *buffer = build->graph->buffers[i];
    if (buffer->adopted)
      add_adopted(plan, i, buffer->bytes, states + plan->first_cuts[i]);
    else
      add_externals(plan, i, states + plan->first_cuts[i]);
  }
}

bool weir__plan_find_externals(builder *build) {
  weir__graph_plan *plan = build->plan;
  uint32_t cut_count = plan->first_cuts[plan->buffer_count], most = 0;
  for (uint32_t i = 0; i < plan->buffer_count; i++) {
    uint32_t cuts = plan->first_cuts[i + 1] - plan->first_cuts[i];
    most = cuts > most ? cuts : most;
  }
  uint8_t *states = weir__allocate((size_t)cut_count + 1);
  uint32_t *nexts = weir__allocate((2 * (size_t)most + 2) * sizeof *nexts);
  bool complete = states != NULL && nexts != NULL;
  for (uint32_t i = 0; complete && i < plan->buffer_count; i++) {
    const intervals all = {states + plan->first_cuts[i], nexts, nexts + most + 1};
    find_states(build, build->by_buffer + build->buffer_uses[i], build->buffer_uses[i + 1] - build->buffer_uses[i],
                plan->first_cuts[i + 1] - plan->first_cuts[i] - 1, &all);
  }
  if (complete) {
    add_all_externals(build, states); // counts them
    plan->externals = weir__allocate(((size_t)plan->external_count + 1) * sizeof *plan->externals);
    complete = plan->externals != NULL;
  }
  if (complete) add_all_externals(build, states);
  plan->all_externals = plan->external_count;
  weir__free(states);
  weir__free(nexts);
  return complete;
}
