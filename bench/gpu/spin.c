// SPDX-License-Identifier: Apache-2.0
#include "spin.h"

#include <string.h>

#define MAX_SHARED_BYTES (227 * 1024)

gpu_spin spin;

// CLOCK is %globaltimer or %clock64; stamps are always of %globaltimer. The loop reads the clock before it compares, so
// that a time of 0 costs one read.
#define SPIN_FUNCTION(name, clock)                                                                                     \
  ".visible .entry " name "(.param .u64 p_ticks, .param .u64 p_start, .param .u64 p_end)\n"                            \
  "{\n"                                                                                                                \
  "  .reg .pred %p<5>;\n  .reg .b32 %r<4>;\n  .reg .b64 %d<10>;\n"                                                     \
  "  mov.u64 %d1, " clock ";\n"                                                                                        \
  "  ld.param.u64 %d2, [p_ticks];\n  ld.param.u64 %d3, [p_start];\n  ld.param.u64 %d4, [p_end];\n"                     \
  "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %tid.x;\n  or.b32 %r3, %r1, %r2;\n"                                        \
  "  setp.ne.u32 %p1, %r3, 0;\n  setp.eq.u64 %p2, %d3, 0;\n  or.pred %p2, %p1, %p2;\n"                                 \
  "  @%p2 bra AGAIN;\n"                                                                                                \
  "  mov.u64 %d5, %globaltimer;\n  st.volatile.global.u64 [%d3], %d5;\n"                                               \
  "AGAIN:\n"                                                                                                           \
  "  mov.u64 %d6, " clock ";\n  sub.u64 %d7, %d6, %d1;\n  setp.lt.u64 %p3, %d7, %d2;\n"                                \
  "  @%p3 bra AGAIN;\n"                                                                                                \
  "  setp.eq.u64 %p4, %d4, 0;\n  or.pred %p4, %p1, %p4;\n"                                                             \
  "  @%p4 bra DONE;\n"                                                                                                 \
  "  mov.u64 %d8, %globaltimer;\n  st.volatile.global.u64 [%d4], %d8;\n"                                               \
  "DONE:\n  ret;\n}\n"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n" SPIN_FUNCTION("spin_timer", "%globaltimer") SPIN_FUNCTION(
        "spin_clock",
        "%clock64") ".visible .entry step(.param .u64 p_out)\n{\n"
                    "  .reg .pred %p<3>;\n  .reg .b32 %r<3>;\n  .reg .b64 %d<8>;\n"
                    "  ld.param.u64 %d1, [p_out];\n  mov.u32 %r1, 0;\n  mov.u64 %d2, %globaltimer;\n  mov.u64 %d5, "
                    "%d2;\n"
                    "AGAIN:\n  mov.u64 %d3, %globaltimer;\n  setp.eq.u64 %p1, %d3, %d2;\n  @%p1 bra AGAIN;\n"
                    "  mov.u64 %d2, %d3;\n  add.u32 %r1, %r1, 1;\n  setp.lt.u32 %p2, %r1, 1000;\n  @%p2 bra AGAIN;\n"
                    "  sub.u64 %d4, %d3, %d5;\n  st.volatile.global.u64 [%d1], %d4;\n  ret;\n}\n";

uint64_t *gpu_shared_words(size_t count, uint64_t *out_address) {
  void *memory = NULL;
  GPU_CHECK(gpu.host_alloc(&memory, count * sizeof(uint64_t), 2)); // CU_MEMHOSTALLOC_DEVICEMAP
  memset(memory, 0, count * sizeof(uint64_t));
  GPU_CHECK(gpu.host_pointer(out_address, memory, 0));
  return memory;
}

static void *find(void *module, const char *name) {
  void *function = NULL;
  GPU_CHECK(gpu.module_function(&function, module, name));
  GPU_CHECK(gpu.function_attribute(function, 8, MAX_SHARED_BYTES)); // MAX_DYNAMIC_SHARED_SIZE_BYTES
  GPU_CHECK(gpu.function_attribute(function, 9, 100));              // PREFERRED_SHARED_MEMORY_CARVEOUT: all of it
  return function;
}

void gpu_spin_open(void) {
  void *module = NULL, *step = NULL;
  uint64_t address = 0;
  volatile uint64_t *words = gpu_shared_words(2, &address);
  GPU_CHECK(gpu.module_load(&module, ptx));
  GPU_CHECK(gpu.module_function(&step, module, "step"));
  GPU_CHECK(gpu.launch_kernel(step, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&address}, NULL));
  GPU_CHECK(gpu.synchronize());
  spin.globaltimer_step = (double)words[0] / 1000;
  if (spin.globaltimer_step <= 64) {
    spin.clock = "globaltimer";
    spin.function = find(module, "spin_timer");
    spin.ticks_per_us = 1000;
    return;
  }
  spin.clock = "clock64";
  spin.function = find(module, "spin_clock");
  // The first launches let the card reach its clock.
  gpu_spin_launch launch = {1, 32, 0, 100000000, address, address + 8};
  for (int i = 0; i < 5; i++) gpu_spin_put(NULL, &launch);
  GPU_CHECK(gpu.synchronize());
  spin.ticks_per_us = (double)launch.ticks * 1000 / (double)(words[1] - words[0]);
}

void gpu_spin_put(void *stream, const gpu_spin_launch *launch) {
  uint64_t ticks = launch->ticks, start = launch->start, end = launch->end;
  void *parameters[] = {&ticks, &start, &end};
  GPU_CHECK(gpu.launch_kernel(spin.function, launch->blocks, 1, 1, launch->threads, 1, 1, launch->shared_bytes, stream,
                              parameters, NULL));
}

void gpu_spin_node(const gpu_spin_launch *launch, void *parameters[3], gpu_kernel_node *out_node) {
  // The driver takes pointers to what it only reads.
  parameters[0] = (void *)(uintptr_t)&launch->ticks;
  parameters[1] = (void *)(uintptr_t)&launch->start;
  parameters[2] = (void *)(uintptr_t)&launch->end;
  *out_node = (gpu_kernel_node){
      spin.function, {launch->blocks, 1, 1}, {launch->threads, 1, 1}, launch->shared_bytes, parameters, NULL, NULL,
      NULL};
}
