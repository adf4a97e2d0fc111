// SPDX-License-Identifier: Apache-2.0
// Included by kernels and by the tests: plain C for every device.
#ifndef WRITE_ONCE_SHARED_TYPES_H
#define WRITE_ONCE_SHARED_TYPES_H

typedef struct line {
  float slope, start;
  int count;
} line;

#endif // WRITE_ONCE_SHARED_TYPES_H
