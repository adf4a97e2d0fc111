// SPDX-License-Identifier: Apache-2.0
//
// The launcher's kernels. Compiled by NVRTC behind protocol.h, and linked with the device runtime.

extern "C" __global__ void weir__l_schedule(weir__l_card *card, weir__l_host *host) {
  weir__l_schedule_run(card, host);
}

extern "C" __global__ void weir__l_done(weir__l_card *card, weir__l_host *host, uint32_t graph) {
  weir__l_done_of(card, host, graph);
}
