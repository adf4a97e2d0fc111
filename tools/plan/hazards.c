// SPDX-License-Identifier: Apache-2.0
#include "plan/hazards.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "plan/intervals.h"

typedef struct hazard_finder {
  const weir__plan_program *program;
  weir__plan_intervals intervals;
  uint32_t *versions; // of each buffer, now
  weir__plan_hazards found;
  size_t capacity;
} hazard_finder;

const char *weir__plan_kind_name(weir__plan_kind kind) {
  static const char *const names[] = {"RAW", "WAR", "WAW", "order", "host wait"};
  return names[kind];
}

void weir__plan_hazards_free(weir__plan_hazards *hazards) {
  weir__free(hazards->items);
  *hazards = (weir__plan_hazards){0};
}

static weir_status add_hazard(hazard_finder *finder, const weir__plan_hazard *hazard) {
  weir__plan_hazards *found = &finder->found;
  if (found->count == finder->capacity) {
    size_t capacity = finder->capacity ? finder->capacity * 2 : 256;
    weir__plan_hazard *items = weir__allocate(capacity * sizeof *items);
    if (!items) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory for %zu hazards", capacity);
    if (found->count) memcpy(items, found->items, found->count * sizeof *items);
    weir__free(found->items);
    found->items = items;
    finder->capacity = capacity;
  }
  found->items[found->count++] = *hazard;
  return WEIR_OK;
}

static bool covers_buffer(const weir__plan_program *program, const weir__plan_access *access) {
  return access->mode == WEIR_WRITE && access->offset == 0 && access->bytes == program->buffers[access->buffer].bytes;
}

// How an access uses its buffer: a WRITE that covers it makes the next version.
static weir__plan_use use_of(const hazard_finder *finder, uint32_t task, const weir__plan_access *access) {
  uint32_t version = finder->versions[access->buffer] + covers_buffer(finder->program, access);
  return (weir__plan_use){.task = task, .buffer = access->buffer, .version = version, .next = WEIR__PLAN_NONE};
}

// The conflict of a use with an earlier one in a interval.
static weir_status add_conflict(hazard_finder *finder, weir__plan_kind kind, const weir__plan_use *earlier,
                                const weir__plan_use *later, uint32_t interval) {
  uint64_t base = finder->intervals.bases[later->buffer];
  weir__plan_hazard hazard = {.predecessor = earlier->task,
                              .successor = later->task,
                              .kind = kind,
                              .vanishes = earlier->buffer != later->buffer || earlier->version != later->version,
                              .buffer = later->buffer,
                              .lo = finder->intervals.cuts[interval] - base,
                              .hi = finder->intervals.cuts[interval + 1] - base,
                              .predecessor_buffer = earlier->buffer};
  return add_hazard(finder, &hazard);
}

static weir_status find_in_interval(hazard_finder *finder, uint32_t interval, weir_mode mode,
                                    const weir__plan_use *use) {
  const weir__plan_interval *state = &finder->intervals.intervals[interval];
  weir_status status = WEIR_OK;
  if (state->writer.task != WEIR__PLAN_NONE)
    status = add_conflict(finder, mode == WEIR_WRITE ? WEIR__PLAN_WAW : WEIR__PLAN_RAW, &state->writer, use, interval);
  if (mode == WEIR_READ) return status;
  for (uint32_t r = state->readers; status == WEIR_OK && r != WEIR__PLAN_NONE; r = finder->intervals.readers[r].next)
    status = add_conflict(finder, WEIR__PLAN_WAR, &finder->intervals.readers[r], use, interval);
  return status;
}

static weir_status find_conflicts(hazard_finder *finder, uint32_t task) {
  const weir__plan_task *row = &finder->program->tasks[task];
  for (uint32_t a = 0; a < row->access_count; a++) {
    weir__plan_use use = use_of(finder, task, &row->accesses[a]);
    uint32_t first, end;
    weir__plan_intervals_of(&finder->intervals, &row->accesses[a], &first, &end);
    for (uint32_t interval = first; interval < end; interval++) {
      weir_status status = find_in_interval(finder, interval, row->accesses[a].mode, &use);
      if (status != WEIR_OK) return status;
    }
  }
  return WEIR_OK;
}

static weir_status note_reads(hazard_finder *finder, uint32_t task) {
  const weir__plan_task *row = &finder->program->tasks[task];
  for (uint32_t a = 0; a < row->access_count; a++) {
    if (row->accesses[a].mode != WEIR_READ) continue;
    uint32_t first, end;
    weir__plan_intervals_of(&finder->intervals, &row->accesses[a], &first, &end);
    for (uint32_t interval = first; interval < end; interval++) {
      weir_status status =
          weir__plan_intervals_read(&finder->intervals, interval, use_of(finder, task, &row->accesses[a]));
      if (status != WEIR_OK) return status;
    }
  }
  return WEIR_OK;
}

static void note_writes(hazard_finder *finder, uint32_t task) {
  const weir__plan_task *row = &finder->program->tasks[task];
  for (uint32_t a = 0; a < row->access_count; a++) {
    if (row->accesses[a].mode == WEIR_READ) continue;
    weir__plan_use use = use_of(finder, task, &row->accesses[a]);
    finder->versions[use.buffer] = use.version;
    uint32_t first, end;
    weir__plan_intervals_of(&finder->intervals, &row->accesses[a], &first, &end);
    for (uint32_t interval = first; interval < end; interval++)
      weir__plan_intervals_write(&finder->intervals, interval, use);
  }
}

static weir_status add_order(hazard_finder *finder, weir__plan_kind kind, uint32_t predecessor, uint32_t successor) {
  weir__plan_hazard hazard = {.predecessor = predecessor, .successor = successor, .kind = kind};
  return add_hazard(finder, &hazard);
}

#define COMPARE(a, b)                                                                                                  \
  if ((a) != (b)) return (a) < (b) ? -1 : 1

static int compare_hazards(const void *left, const void *right) {
  const weir__plan_hazard *a = left, *b = right;
  COMPARE(a->predecessor, b->predecessor);
  COMPARE(a->kind, b->kind);
  COMPARE(a->buffer, b->buffer);
  COMPARE(a->predecessor_buffer, b->predecessor_buffer);
  COMPARE(a->vanishes, b->vanishes);
  COMPARE(a->lo, b->lo);
  return 0;
}

static bool same_but_range(const weir__plan_hazard *a, const weir__plan_hazard *b) {
  return a->predecessor == b->predecessor && a->kind == b->kind && a->buffer == b->buffer &&
         a->predecessor_buffer == b->predecessor_buffer && a->vanishes == b->vanishes;
}

// Sorts the hazards of one task, those from `begin` on, and joins ranges that touch.
static void join_ranges(weir__plan_hazards *hazards, size_t begin) {
  if (begin == hazards->count) return;
  qsort(hazards->items + begin, hazards->count - begin, sizeof *hazards->items, compare_hazards);
  size_t kept = begin;
  for (size_t i = begin + 1; i < hazards->count; i++) {
    weir__plan_hazard *last = &hazards->items[kept], *next = &hazards->items[i];
    if (same_but_range(last, next) && next->lo <= last->hi) {
      if (next->hi > last->hi) last->hi = next->hi;
    } else {
      hazards->items[++kept] = *next;
    }
  }
  hazards->count = kept + 1;
}

static weir_status find_all(hazard_finder *finder, weir__plan_mode mode) {
  uint32_t waited = WEIR__PLAN_NONE; // the last task that the host waited for
  for (uint32_t t = 0; t < finder->program->task_count; t++) {
    size_t begin = finder->found.count;
    weir_status status = WEIR_OK;
    if (mode == WEIR__PLAN_SERIAL && t > 0) status = add_order(finder, WEIR__PLAN_ORDER, t - 1, t);
    if (mode != WEIR__PLAN_SERIAL) status = find_conflicts(finder, t);
    if (mode != WEIR__PLAN_SERIAL && status == WEIR_OK) status = note_reads(finder, t);
    if (status == WEIR_OK && waited != WEIR__PLAN_NONE) status = add_order(finder, WEIR__PLAN_HOST_WAIT, waited, t);
    if (status != WEIR_OK) return status;
    if (mode != WEIR__PLAN_SERIAL) note_writes(finder, t);
    if (finder->program->tasks[t].host_wait) waited = t;
    join_ranges(&finder->found, begin);
  }
  return WEIR_OK;
}

weir_status weir__plan_find_hazards(const weir__plan_program *program, weir__plan_mode mode,
                                    weir__plan_hazards *out_hazards) {
  *out_hazards = (weir__plan_hazards){0};
  hazard_finder finder = {.program = program};
  weir_status status = weir__plan_intervals_create(program, mode == WEIR__PLAN_ADDRESS, &finder.intervals);
  if (status != WEIR_OK) return status;
  finder.versions = weir__allocate_zeroed(((size_t)program->buffer_count + 1) * sizeof *finder.versions);
  if (finder.versions)
    status = find_all(&finder, mode);
  else
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory for the versions of %u buffers", program->buffer_count);
  weir__plan_intervals_free(&finder.intervals);
  weir__free(finder.versions);
  if (status == WEIR_OK)
    *out_hazards = finder.found;
  else
    weir__plan_hazards_free(&finder.found);
  return status;
}

weir_status weir__plan_hazard_graph(uint32_t task_count, const weir__plan_hazards *hazards, bool renamed,
                                    weir__plan_graph *out_graph) {
  *out_graph = (weir__plan_graph){0};
  weir__plan_edge *edges = weir__allocate((hazards->count + 1) * sizeof *edges);
  if (!edges) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory for %zu edges", hazards->count);
  size_t count = 0;
  for (size_t i = 0; i < hazards->count; i++) {
    const weir__plan_hazard *hazard = &hazards->items[i];
    if (renamed && hazard->vanishes) continue;
    edges[count++] = (weir__plan_edge){hazard->predecessor, hazard->successor};
  }
  weir_status status = weir__plan_graph_build(task_count, edges, count, out_graph);
  weir__free(edges);
  return status;
}
