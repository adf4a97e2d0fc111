// SPDX-License-Identifier: Apache-2.0
#include "brute_force.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

uint32_t random_below(uint64_t *state, uint32_t limit) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % limit);
}

dense_graph dense_from(const weir__plan_graph *graph) {
  dense_graph dense = {.task_count = graph->task_count};
  for (uint32_t t = 0; t < graph->task_count; t++) {
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++) {
      if (e > graph->first[t]) assert_true(graph->predecessors[e - 1] < graph->predecessors[e]);
      assert_true(graph->predecessors[e] < t);
      dense.edge[graph->predecessors[e]][t] = true;
    }
  }
  return dense;
}

void graph_from(const dense_graph *dense, weir__plan_graph *out_graph) {
  weir__plan_edge edges[MAX_TASKS * MAX_TASKS];
  size_t count = 0;
  for (uint32_t p = 0; p < dense->task_count; p++) {
    for (uint32_t t = 0; t < dense->task_count; t++) {
      if (dense->edge[p][t]) edges[count++] = (weir__plan_edge){p, t};
    }
  }
  assert_int_equal(weir__plan_graph_build(dense->task_count, edges, count, out_graph), WEIR_OK);
}

dense_graph dense_closure(const dense_graph *graph) {
  dense_graph closure = *graph;
  for (uint32_t via = 0; via < graph->task_count; via++) {
    for (uint32_t p = 0; p < graph->task_count; p++) {
      for (uint32_t t = 0; t < graph->task_count; t++)
        closure.edge[p][t] |= closure.edge[p][via] && closure.edge[via][t];
    }
  }
  return closure;
}

double heaviest_path(const dense_graph *graph, const double *weights, uint32_t task, bool downwards) {
  double rest = 0;
  for (uint32_t other = 0; other < graph->task_count; other++) {
    if (!(downwards ? graph->edge[task][other] : graph->edge[other][task])) continue;
    double path = heaviest_path(graph, weights, other, downwards);
    if (path > rest) rest = path;
  }
  return weights[task] + rest;
}

double stepped_makespan(const dense_graph *graph, const double *weights, uint32_t window) {
  uint32_t count = graph->task_count, entered = 0, done_count = 0;
  bool started[MAX_TASKS] = {0}, done[MAX_TASKS] = {0};
  double ends[MAX_TASKS] = {0}, now = 0;
  for (;;) {
    // At one moment: what is over is over, then tasks enter and start until nothing changes; those that take no time
    // are over at once.
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t t = 0; t < count; t++) {
        if (started[t] && !done[t] && ends[t] <= now) done[t] = changed = true, done_count++;
      }
      if (entered < count && (window == 0 || entered < window || done[entered - window])) entered++, changed = true;
      for (uint32_t t = 0; t < entered; t++) {
        bool ready = !started[t];
        for (uint32_t p = 0; p < t; p++) ready = ready && (!graph->edge[p][t] || done[p]);
        if (ready) started[t] = changed = true, ends[t] = now + weights[t];
      }
    }
    if (done_count == count) return now;
    now++;
  }
}

void small_program_init(small_program *program, uint32_t buffer_count, uint32_t task_count) {
  memset(program, 0, sizeof *program);
  for (uint32_t t = 0; t < task_count; t++) program->tasks[t].accesses = program->accesses[t];
  program->program = (weir__plan_program){program->buffers, buffer_count, program->tasks, task_count};
}

void small_program_add(small_program *program, uint32_t task, weir_mode mode, uint32_t buffer, uint64_t offset,
                       uint64_t bytes) {
  uint32_t index = program->tasks[task].access_count++;
  assert_true(index < MAX_ACCESSES);
  program->accesses[task][index] = (weir__plan_access){mode, buffer, offset, bytes};
}

// What a task does with one byte of the space in which a mode looks for conflicts.
typedef struct byte_use {
  bool reads, writes;
  uint32_t buffer, version;
} byte_use;

typedef struct byte_table {
  uint64_t bases[MAX_BUFFERS];
  byte_use use[MAX_TASKS][MAX_SPACE * MAX_BUFFERS];
} byte_table;

static void fill_table(const small_program *program, weir__plan_mode mode, byte_table *table) {
  memset(table, 0, sizeof *table);
  for (uint32_t b = 0; b < program->program.buffer_count; b++)
    table->bases[b] = mode == WEIR__PLAN_ADDRESS ? program->buffers[b].address : (uint64_t)b * MAX_SPACE;
  uint32_t versions[MAX_BUFFERS] = {0};
  for (uint32_t t = 0; t < program->program.task_count; t++) {
    for (uint32_t a = 0; a < program->tasks[t].access_count; a++) {
      const weir__plan_access *access = &program->accesses[t][a];
      versions[access->buffer] += access->mode == WEIR_WRITE && access->bytes == program->buffers[access->buffer].bytes;
      for (uint64_t byte = access->offset; byte < access->offset + access->bytes; byte++) {
        byte_use *use = &table->use[t][table->bases[access->buffer] + byte];
        assert_false(use->reads || use->writes);
        *use =
            (byte_use){access->mode != WEIR_WRITE, access->mode != WEIR_READ, access->buffer, versions[access->buffer]};
      }
    }
  }
}

// The hazard of task t with task p in one byte, if there is one.
static bool hazard_of_byte(const byte_table *table, uint32_t p, uint32_t t, uint64_t byte, weir__plan_hazard *out) {
  const byte_use *earlier = &table->use[p][byte], *later = &table->use[t][byte];
  if (!(earlier->writes && (later->reads || later->writes)) && !(earlier->reads && later->writes)) return false;
  for (uint32_t between = p + 1; between < t; between++) {
    if (table->use[between][byte].writes) return false;
  }
  weir__plan_kind kind = !earlier->writes ? WEIR__PLAN_WAR : later->reads ? WEIR__PLAN_RAW : WEIR__PLAN_WAW;
  bool same = earlier->buffer == later->buffer && earlier->version == later->version;
  uint64_t lo = byte - table->bases[later->buffer];
  *out = (weir__plan_hazard){p, t, kind, !same, later->buffer, lo, lo + 1, earlier->buffer};
  return true;
}

static bool covers(const weir__plan_hazard *item, const weir__plan_hazard *byte) {
  return item->predecessor == byte->predecessor && item->successor == byte->successor && item->kind == byte->kind &&
         item->vanishes == byte->vanishes && item->buffer == byte->buffer &&
         item->predecessor_buffer == byte->predecessor_buffer && item->lo <= byte->lo && byte->hi <= item->hi;
}

static void assert_ordered_and_joined(const weir__plan_hazards *hazards) {
  for (size_t i = 1; i < hazards->count; i++) {
    const weir__plan_hazard *a = &hazards->items[i - 1], *b = &hazards->items[i];
    assert_true(a->successor <= b->successor);
    if (a->successor != b->successor) continue;
    assert_true(a->predecessor <= b->predecessor);
    if (a->predecessor != b->predecessor || a->kind != b->kind || a->buffer != b->buffer ||
        a->predecessor_buffer != b->predecessor_buffer)
      continue;
    assert_true(a->hi < b->lo);
  }
}

void assert_hazards_are_right(const small_program *program, weir__plan_mode mode) {
  static byte_table table;
  fill_table(program, mode, &table);
  weir__plan_hazards hazards;
  assert_int_equal(weir__plan_find_hazards(&program->program, mode, &hazards), WEIR_OK);
  assert_ordered_and_joined(&hazards);

  uint64_t expected_bytes = 0, found_bytes = 0;
  for (uint32_t t = 0; t < program->program.task_count; t++) {
    for (uint32_t p = 0; p < t; p++) {
      for (uint64_t byte = 0; byte < MAX_SPACE * MAX_BUFFERS; byte++) {
        weir__plan_hazard expected;
        if (!hazard_of_byte(&table, p, t, byte, &expected)) continue;
        expected_bytes++;
        bool found = false;
        for (size_t i = 0; i < hazards.count && !found; i++) found = covers(&hazards.items[i], &expected);
        if (!found)
          fail_msg("no %s%s of task %u on task %u in byte %llu of buffer %u", weir__plan_kind_name(expected.kind),
                   expected.vanishes ? " that vanishes" : "", t, p, (unsigned long long)expected.lo, expected.buffer);
      }
    }
  }
  for (size_t i = 0; i < hazards.count; i++) {
    if (hazards.items[i].kind <= WEIR__PLAN_WAW) found_bytes += hazards.items[i].hi - hazards.items[i].lo;
  }
  assert_int_equal(found_bytes, expected_bytes);
  weir__plan_hazards_free(&hazards);
}
