// SPDX-License-Identifier: Apache-2.0
//
// A CUDA card for the ways that use it without Weir, with the driver and the compiler that Weir's CUDA device loads.
#ifndef WEIR_BENCH_WAIT_NVRTC_CARD_H
#define WEIR_BENCH_WAIT_NVRTC_CARD_H

#include "device/cuda/driver.h"

typedef struct nvrtc_card {
  const weir__cuda_driver *driver;
  CUdevice device;
  CUcontext context; // the primary one
  int capability;    // 90: 9.0
  char name[128];
} nvrtc_card;

// Opens "cuda" or "cuda:N", and makes its context this thread's. False: `reason` says why there is none.
bool nvrtc_card_open(const char *device, nvrtc_card *out_card, char *reason, size_t reason_bytes);
void nvrtc_card_close(nvrtc_card *card);

// Compiles a source and loads it; `name` is for messages. False: `reason` says why not.
bool nvrtc_card_compile(const nvrtc_card *card, const char *name, const char *source, CUmodule *out_module,
                        char *reason, size_t reason_bytes);

// Whether a call went well; if not, `reason` is `what` and the driver's text.
bool nvrtc_card_good(const nvrtc_card *card, CUresult result, const char *what, char *reason, size_t reason_bytes);

#endif // WEIR_BENCH_WAIT_NVRTC_CARD_H
