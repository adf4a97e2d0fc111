// SPDX-License-Identifier: Apache-2.0
//
// Which tasks are still in flight. A task's id only grows and its slot is id mod window size, so a stored id needs no
// clean-up: if its slot has moved on, or says that it is done, the task is done.
#ifndef WEIR_BASE_LIVENESS_H
#define WEIR_BASE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t weir__id; // 1, 2, 3, ...; 0: no task

typedef struct weir__liveness {
  weir__id oldest; // every task with a smaller id is done
  uint32_t mask;   // window size - 1
  uint8_t *done;   // per slot: its task is done
} weir__liveness;

static inline bool weir__live(const weir__liveness *liveness, weir__id task) {
  // One branch for the caller instead of two: which tasks are done is hard to predict.
  return (task >= liveness->oldest) & (liveness->done[task & liveness->mask] == 0);
}

#endif // WEIR_BASE_LIVENESS_H
