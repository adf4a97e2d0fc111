// SPDX-License-Identifier: Apache-2.0
//
// Hazards found by the card: the kernel of kernel.h on a CUDA device.
#ifndef WEIR_BENCH_WINDOW_CARD_H
#define WEIR_BENCH_WINDOW_CARD_H

#include "cases.h"
#include "kernel.h"

enum { WINDOW_MOST_TASKS = 16384 };

// What NVRTC compiles, with -DWINDOW_RANGES=N.
extern const char window_source[];

// A card that is open.
typedef struct window_gpu window_gpu;

// Opens "cuda" or "cuda:N" and compiles the kernel. NULL: `reason` says why there is none.
window_gpu *window_gpu_open(const char *device, char *reason, size_t reason_bytes);
void window_gpu_close(window_gpu *gpu);
const char *window_gpu_name(const window_gpu *gpu);

// One way of finding the hazards of a case.
typedef struct window_way {
  uint32_t slots, warps;
  uint32_t live;  // tasks that are not done when a task comes
  bool from_host; // the ring is in pinned memory of the host; else in the card's
} window_way;

// Puts a case on the card. Its tasks get the numbers 1, 2, ... False: a call failed; a message was printed.
bool window_gpu_load(window_gpu *gpu, const window_case *which);

// Finds the hazards of the case that was loaded. `out_card_us`: by the card's clock, all tasks; `out_wall_us`: by the host's, launch and
// wait included. `out_results` has room for the tasks. False: a call failed, or the launch says that something was wrong; a message was
// printed.
bool window_gpu_run(window_gpu *gpu, const window_way *way, double *out_card_us, double *out_wall_us,
                    window_result *out_results);

#endif // WEIR_BENCH_WINDOW_CARD_H
