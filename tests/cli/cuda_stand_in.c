// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver and a compiler for the weir command: those of tests/cuda, with the functions of the spin kernel. The
// command loads this library in place of both (WEIR_CUDA_DRIVER, WEIR_NVRTC).
#include <string.h>

#include "device/cuda/symbols.h"
#include "nvrtc_stub.h"
#include "stub.h"

#define EXPORT __attribute__((visibility("default")))

// What any source compiles to; the resident kernel, too.
static const char image[] = "STUB\nspin 1024 8\nspin_measure 1024 8\nspin_group 128 8\nweir__resident 1024 8 8 4 8 8\n";

// Time is of no use without a card: a launch is done when it is executed.
static void spin(const stub_launch *launch) {
  (void)launch;
}

static void spin_group(const stub_launch *launch, uint64_t group) {
  (void)launch;
  (void)group;
}

static void spin_measure(const stub_launch *launch) {
  uint64_t pointer;
  memcpy(&pointer, launch->params[0], sizeof pointer);
  uint64_t *out = stub_memory(launch, pointer, 2 * sizeof *out);
  if (!out) return;
  out[0] = 32;
  out[1] = 0;
}

__attribute__((constructor)) static void register_functions(void) {
  stub_register("spin", spin);
  stub_register("spin_group", spin);
  stub_register_groups("spin_group", spin_group);
  stub_register("spin_measure", spin_measure);
}

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes);
EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin);

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
  (void)program;
  *bytes = sizeof image;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
  (void)program;
  memcpy(cubin, image, sizeof image);
  return NVRTC_SUCCESS;
}
