// SPDX-License-Identifier: Apache-2.0
//
// What weir_work.internal points to: whether the function reported failure.
#ifndef WEIR_DEVICE_WORK_H
#define WEIR_DEVICE_WORK_H

#include <stdatomic.h>
#include <stdbool.h>

enum { WEIR__WORK_MESSAGE_BYTES = 256 };

typedef struct weir__failure {
  bool failed;
  char message[WEIR__WORK_MESSAGE_BYTES];
} weir__failure;

#endif // WEIR_DEVICE_WORK_H
