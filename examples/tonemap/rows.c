// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

weir_status rows_initialize(rows_launcher *self, weir_context *context, const char *policy, const double *shares,
                            bool resident) {
  *self = (rows_launcher){.split = NULL};
  return weir_split_create(context, &(weir_split_options){.policy = policy, .shares = shares, .resident = resident},
                           &self->split);
}

void rows_deinitialize(rows_launcher *self) {
  weir_split_release(self->split);
  self->split = NULL;
}

// The bytes of some rows and of the halo that follows them.
static void with_halo(void *user, uint32_t first, uint32_t count, uint64_t *out_offset, uint64_t *out_bytes) {
  const rows_halo *halo = user;
  *out_offset = first * halo->row_bytes;
  *out_bytes = (uint64_t)(count + halo->rows) * halo->row_bytes;
}

weir_status rows_launch(rows_launcher *self, weir_kernel *kernel, uint32_t rows, const rows_arg *args,
                        uint32_t arg_count) {
  weir_split_arg cut[ROWS_MAX_ARGS];
  for (uint32_t i = 0; i < arg_count; i++) {
    if (args[i].row_bytes == 0) {
      cut[i] = weir_split_whole(args[i].arg);
    } else if (args[i].halo == 0) {
      cut[i] = weir_split_block(args[i].arg, args[i].row_bytes);
    } else {
      self->halos[i] = (rows_halo){args[i].row_bytes, args[i].halo};
      cut[i] = weir_split_by(args[i].arg, with_halo, &self->halos[i]);
    }
  }
  return weir_split_submit(
      self->split,
      &(weir_split_launch){.kernel = kernel, .args = cut, .arg_count = arg_count, .groups = {1, rows}, .dimension = 1},
      NULL);
}

weir_status rows_last(rows_launcher *self, weir_split_round *out_round) {
  return weir_split_last_round(self->split, out_round);
}
