// SPDX-License-Identifier: Apache-2.0
//
// Launches over the rows of a picture, a work-group a row, cut over the devices of a context by weir_split.
#ifndef TONEMAP_ROWS_H
#define TONEMAP_ROWS_H

#include <weir/split.h>

enum { ROWS_MAX_DEVICES = WEIR_SPLIT_MOST_DEVICES, ROWS_MAX_ARGS = 8 };

// An argument, and how it is cut.
typedef struct rows_arg {
  weir_arg arg;       // of the whole launch
  uint64_t row_bytes; // of which each row has its own; 0: every part gets all
  uint32_t halo;      // rows more that a part gets after its own, of an argument that has as many more than the launch
} rows_arg;

typedef struct rows_halo {
  uint64_t row_bytes;
  uint32_t rows;
} rows_halo;

// What launches a kernel on the context's devices. Must stay where it is while launches are in flight.
typedef struct rows_launcher {
  weir_split *split;              // NULL: not initialized
  rows_halo halos[ROWS_MAX_ARGS]; // of the arguments that have one
} rows_launcher;

// `policy` is a name of weir_split_find_policy. `shares` has a number for each device, or is NULL.
// `resident`: contents stay where parts leave them; not with queue and guided.
// Errors: as weir_split_create.
weir_status rows_initialize(rows_launcher *self, weir_context *context, const char *policy, const double *shares,
                            bool resident);
void rows_deinitialize(rows_launcher *self);

// Submits a launch of `rows` work-groups (in y). The halos must be the same in all launches of a launcher.
// Errors: as weir_split_submit.
weir_status rows_launch(rows_launcher *self, weir_kernel *kernel, uint32_t rows, const rows_arg *args,
                        uint32_t arg_count);

// Says what the devices did in the launch that was done last. Errors: as weir_split_last_round.
weir_status rows_last(rows_launcher *self, weir_split_round *out_round);

#endif // TONEMAP_ROWS_H
