// SPDX-License-Identifier: Apache-2.0
//
// The answers of src/plan and tools/plan again, straight from their definitions and slow.
#ifndef WEIR_TESTS_PLAN_BRUTE_FORCE_H
#define WEIR_TESTS_PLAN_BRUTE_FORCE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/graph.h"
#include "plan/hazards.h"

enum { MAX_TASKS = 48, MAX_BUFFERS = 4, MAX_SPACE = 32, MAX_ACCESSES = 4 };

// A graph as a matrix: edge[p][t] when t must come after p.
typedef struct dense_graph {
  uint32_t task_count;
  bool edge[MAX_TASKS][MAX_TASKS];
} dense_graph;

dense_graph dense_from(const weir__plan_graph *graph);
void graph_from(const dense_graph *dense, weir__plan_graph *out_graph);
dense_graph dense_closure(const dense_graph *graph);

// Weight of the heaviest path that ends with (`downwards` false) or starts at a task, over every path there is.
double heaviest_path(const dense_graph *graph, const double *weights, uint32_t task, bool downwards);

// Makespan with a window, by stepping through time: weights are small whole numbers.
double stepped_makespan(const dense_graph *graph, const double *weights, uint32_t window);

// A program that owns its accesses.
typedef struct small_program {
  weir__plan_buffer buffers[MAX_BUFFERS];
  weir__plan_task tasks[MAX_TASKS];
  weir__plan_access accesses[MAX_TASKS][MAX_ACCESSES];
  weir__plan_program program;
} small_program;

void small_program_init(small_program *program, uint32_t buffer_count, uint32_t task_count);
void small_program_add(small_program *program, uint32_t task, weir_mode mode, uint32_t buffer, uint64_t offset,
                       uint64_t bytes);

// Fails the test unless the hazards are those that every byte of memory shows, ranges joined, in order. A task of the
// program must not use a byte twice.
void assert_hazards_are_right(const small_program *program, weir__plan_mode mode);

// Numbers at random that are the same everywhere.
uint32_t random_below(uint64_t *state, uint32_t limit);

#endif // WEIR_TESTS_PLAN_BRUTE_FORCE_H
