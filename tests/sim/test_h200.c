// SPDX-License-Identifier: Apache-2.0
//
// The profile h200 against measurements on the card (docs/inside/sim-accuracy.md has the table): one profile for all streams.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "replay.h"

enum { COLUMNS = 6 };

static const struct {
  const char *stream;
  double measured_us[COLUMNS];
} rows[] = {
    {"squeezenet", {338, 224, 367, 352, 191, 189}},        {"condconv_b0", {1097, 680, 1261, 1203, 690, 642}},
    {"inception_v3", {1756, 1399, 1979, 1526, 1265, 858}}, {"hrnet_w18", {1311, 1019, 1389, 1290, 706, 439}},
    {"randwire", {1643, 1019, 1874, 1831, 1096, 489}},     {"nasnetalarge", {5877, 4769, 6149, 4750, 3815, 2004}},
    {"dynroute_a.0", {905, 498, 957, 946, 380, 231}},
};

static const struct {
  const char *name;
  replay_hazards hazards;
  bool graph;
} columns[COLUMNS] = {
    {"one stream", REPLAY_SERIAL, false},
    {"serial graph", REPLAY_SERIAL, true},
    {"16 streams by address", REPLAY_ADDRESS, false},
    {"16 streams by buffer", REPLAY_BUFFER, false},
    {"DAG graph by address", REPLAY_ADDRESS, true},
    {"DAG graph by buffer", REPLAY_BUFFER, true},
};

static void every_cell_is_reproduced(void **state) {
  (void)state;
  double sum = 0, largest = 0;
  uint32_t cells = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    weir__stream *stream = replay_read(rows[i].stream);
    for (int j = 0; j < COLUMNS; j++) {
      replay_options options = {
          .device = "sim:h200", .hazards = columns[j].hazards, .graph = columns[j].graph, .queues = 16, .window = 2048};
      double us = replay_run(stream, &options);
      double error = fabs(log(us / rows[i].measured_us[j]));
      printf("%-14s %-22s measured %6.0f us, simulated %6.0f us, %+5.1f %%\n", rows[i].stream, columns[j].name,
             rows[i].measured_us[j], us, 100 * (us / rows[i].measured_us[j] - 1));
      if (error > largest) largest = error;
      sum += error;
      cells++;
    }
    weir__stream_destroy(stream);
  }
  printf("geometric mean of the errors %.1f %%, largest %.1f %%\n", 100 * (exp(sum / cells) - 1),
         100 * (exp(largest) - 1));
  assert_true(exp(sum / cells) < 1.10);
  assert_true(exp(largest) < 1.25);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_cell_is_reproduced)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
