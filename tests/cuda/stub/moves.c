// SPDX-License-Identifier: Apache-2.0
//
// Weir's own kernel that copies and fills (src/device/cuda/graph/mover.c), of which the stub knows the name: in random order of bytes'
// parts, and with every range checked.
#include <stdio.h>
#include <string.h>

#include "internal.h"

enum { MOVES = 8, PART = 64 };

typedef struct move {
  uint64_t to, from;
  uint32_t bytes, fill;
} move;

const char *stub_moves_module(const char *image) {
  return strstr(image, ".entry weir__move(") != NULL ? "STUB\nweir__move 256 192\n" : NULL;
}

// The last part first: nothing must depend on the order.
static void run_move(const stub_launch *launch, const move *m) {
  unsigned char *to = stub_memory(launch, m->to, m->bytes);
  const unsigned char *from = m->fill ? NULL : stub_memory(launch, m->from, m->bytes);
  if (to == NULL || (from == NULL && !m->fill)) return;
  uint32_t pattern = (uint32_t)m->from;
  for (uint32_t left = m->bytes; left > 0;) {
    uint32_t part = left % PART != 0 ? left % PART : PART;
    left -= part;
    if (!m->fill) memcpy(to + left, from + left, part);
    for (uint32_t i = 0; m->fill && i + 4 <= part; i += 4) memcpy(to + left + i, &pattern, sizeof pattern);
  }
}

void stub_run_moves(const stub_launch *launch) {
  if (launch->grid[1] > MOVES || launch->grid[2] != 1 || launch->block[1] != 1 || launch->block[2] != 1) {
    pthread_mutex_lock(&stub.lock);
    stub_violation("launch of %s: grid %ux%ux%u", launch->name, launch->grid[0], launch->grid[1], launch->grid[2]);
    pthread_mutex_unlock(&stub.lock);
    return;
  }
  const move *moves = launch->params[0];
  for (uint32_t i = launch->grid[1]; i > 0; i--) run_move(launch, &moves[i - 1]);
}
