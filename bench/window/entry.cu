// SPDX-License-Identifier: Apache-2.0
//
// The kernel: one block of one or a few warps. Compiled by NVRTC behind kernel.h.
extern "C" __global__ void window(const weir__r_host *head, const window_task *ring, window_card *card, window_result *results,
                                  uint32_t ring_slots, uint32_t first, uint32_t count, uint32_t slots, uint32_t live) {
  extern __shared__ uint4 memory[];
  __shared__ window_block block;
  const window_job job = {head, ring, card, results, ring_slots, first, count, slots, live};
  window_run(&job, &block, memory);
}
