// SPDX-License-Identifier: Apache-2.0
//
// What is measured on a case, and checked.
#ifndef WEIR_BENCH_WINDOW_WAYS_H
#define WEIR_BENCH_WINDOW_WAYS_H

#include "card.h"
#include "host.h"
#include "options.h"

enum { WINDOW_SIZES = 5, WINDOW_CARD_COLUMNS = 12, WINDOW_KINDS = 3 };

extern const uint32_t window_sizes[WINDOW_SIZES];

// Windows and warps of the card's columns.
typedef struct window_column {
  uint32_t slots, warps;
} window_column;
extern const window_column window_columns[WINDOW_CARD_COLUMNS];

// How the card's window is kept: full, with the ring in its memory; a quarter full; full, with the ring in the host's.
extern const char *const window_kind_names[WINDOW_KINDS];
window_way window_way_of(int kind, const window_column *column);

typedef struct window_rounds {
  double values[WINDOW_MOST_ROUNDS];
} window_rounds;

// Of one case. Times are those of all its tasks.
typedef struct window_measures {
  window_rounds find[WINDOW_SIZES], submit;                // the host's, seconds
  double host_edges[WINDOW_SIZES];                         // that the host finds, of a task
  double card_edges[WINDOW_SIZES], too_many[WINDOW_SIZES]; // of a task; tasks whose list has no room for all
  double steps[WINDOW_SIZES], steps_unlimited;             // of a schedule of tasks that take a step each
  window_rounds card[WINDOW_KINDS][WINDOW_CARD_COLUMNS];   // us, by the card's clock
  window_rounds wall[WINDOW_KINDS][WINDOW_CARD_COLUMNS];   // us, by the host's, with the launch
} window_measures;

// Measures the host's ways, and what a window of each size sees. False: a call failed, a message was printed.
bool window_measure_host(const window_case *which, uint32_t rounds, window_measures *out_measures);

// Measures the card's ways. False: a call failed or a result is wrong; a message was printed.
bool window_measure_card(window_gpu *gpu, const window_case *which, uint32_t rounds, window_measures *out_measures);

// Compares a result with what is so: every task's number, count, and as many predecessors as there is room for, in any order. False: a
// message was printed. Numbers count from `first`.
bool window_check(const window_case *which, uint32_t live, uint32_t first, const window_result *results);

#endif // WEIR_BENCH_WINDOW_WAYS_H
