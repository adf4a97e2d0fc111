// SPDX-License-Identifier: Apache-2.0
//
// As much of a CUDA driver as it takes to link the resident kernel: in the test's own process, with a linker that the test
// chooses. It counts what was made and not destroyed, and can let the Nth call fail.
#ifndef RESIDENT_CODE_FAKE_H
#define RESIDENT_CODE_FAKE_H

#include "device/cuda/cuda_device.h"

enum { FAKE_MOST_INPUTS = 16 };

typedef struct fake_input {
  CUjitInputType type;
  const void *data;
  size_t bytes;
  char name[64];
} fake_input;

typedef struct fake_driver {
  weir__cuda_driver functions;
  // Links; returns the image, made with malloc, or NULL with a text in `log`.
  void *(*link)(const fake_input *inputs, uint32_t count, size_t *out_bytes, char *log, size_t log_bytes);
  // What a global variable of a linked image starts as. False: there is none.
  bool (*variable)(const void *image, const char *name, uint64_t *out_value);
  int shared_bytes, most_blocks; // a block may have; fit a multiprocessor
  // For tests to look at.
  _Atomic int states, modules, streams; // alive
  uint32_t inputs, links;               // of the last state that was linked; how often one was
  size_t image_bytes;                   // of what was linked last
  int threads;                          // of the block whose occupancy was asked for last
  _Atomic uint32_t calls;               // that may fail,
  uint32_t fail_at;                     // of which this one fails, unless it is 0,
  CUresult failure;                     // with this
} fake_driver;

extern fake_driver fake;

// Makes everything as new. `device` gets the driver, and nothing else that needs a card.
void fake_reset(weir__cuda_device *device, int capability);

#endif // RESIDENT_CODE_FAKE_H
