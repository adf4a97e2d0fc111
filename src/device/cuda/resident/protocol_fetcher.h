// SPDX-License-Identifier: Apache-2.0
//
// Part of protocol.h, which includes it: the fetcher, all lanes of a warp beside the scheduler's. It alone looks over the bus: at what
// the host asks for, and for tasks, which it copies to the card. The scheduler never waits for the bus.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_FETCHER_H
#define WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_FETCHER_H

// The fetcher goes through these phases in this order, as the scheduler says.
enum {
  WEIR__R_LOOKS_ONLY = 1, // no tasks yet: no worker has come
  WEIR__R_FETCHES,
  WEIR__R_ENDS,
};

// The fetcher and the scheduler share a desk, in the memory of their block.
typedef struct weir__r_desk {
  uint32_t phase;     // written by the scheduler
  uint32_t ask, stop; // the host's, when the fetcher looked last
  uint64_t
      fetched; // number of the last task that was copied * 2^32 + a phase in which the fetcher has looked and copied since; 0: none
} weir__r_desk;

// One thread, before the two warps begin.
WEIR__R_FUNCTION void weir__r_open_desk(weir__r_desk *desk, const weir__r_card *card) {
  desk->phase = WEIR__R_LOOKS_ONLY;
  desk->ask = 0;
  desk->stop = 0;
  desk->fetched = (uint64_t)card->fetched << 32;
}

// Looks at what the host asks for. The first lane does so, and faults here if that is to abort; the other lanes get zeros.
WEIR__R_FUNCTION weir__r_signals weir__r_signals_of(const weir__r_host *host) {
  weir__r_signals signals = {0, 0, 0, 0};
  if (weir__r_lane() != 0) return signals;
  signals = weir__r_look(host);
  if (signals.abort != 0) weir__r_trap();
  return signals;
}

// From the host's ring to the card's: `count` tasks behind `before`. A lane loads several chunks before it stores the first: the way over
// the bus is long.
WEIR__R_APART void weir__r_copy_batch(weir__r_card *card, const weir__r_host *host, uint32_t before, uint32_t count) {
  enum { AT_ONCE = 6 };
  const uint32_t chunks = sizeof(weir__r_task) / 16, end = count * chunks;
  for (uint32_t first = weir__r_lane(); first < end; first += AT_ONCE * WEIR__R_LANES) {
    weir__r_chunk loaded[AT_ONCE];
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < AT_ONCE; j++) {
      uint32_t i = first + j * WEIR__R_LANES;
      if (i < end) loaded[j] = weir__r_load_chunk(&host->ring[(before + 1 + i / chunks) % WEIR__R_SLOTS], i % chunks);
    }
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < AT_ONCE; j++) {
      uint32_t i = first + j * WEIR__R_LANES;
      uint64_t *words = (uint64_t *)&card->tasks[(before + 1 + i / chunks) % WEIR__R_SLOTS] + 2 * (i % chunks);
      if (i >= end) continue;
      words[0] = loaded[j].low;
      words[1] = loaded[j].high;
    }
  }
  weir__r_meet();
}

// Copies what is published, behind the task `fetched`, a batch at a time. Returns the number of the last one. The host writes a slot
// of its ring after the report of the task that had it before, so there is room on the card.
WEIR__R_FUNCTION uint32_t weir__r_fetch_all(weir__r_desk *desk, weir__r_card *card, const weir__r_host *host,
                                            uint32_t fetched, uint32_t tail) {
  while (tail != fetched) {
    uint32_t count = tail - fetched < WEIR__R_LANES ? tail - fetched : WEIR__R_LANES;
    weir__r_copy_batch(card, host, fetched, count);
    fetched += count;
    if (weir__r_lane() == 0) weir__r_block_store_long_release(&desk->fetched, (uint64_t)fetched << 32);
  }
  return fetched;
}

// The fetcher's whole work in a launch. A host that wants to abort is seen in each look. What it copies after the scheduler has taken
// in its last task, the next launch copies once more.
WEIR__R_FUNCTION void weir__r_fetch(weir__r_desk *desk, weir__r_card *card, const weir__r_host *host) {
  uint32_t fetched = (uint32_t)(desk->fetched >> 32);
  for (;;) {
    // What the first lane reads decides for all.
    uint32_t phase = weir__r_from(weir__r_block_load_acquire(&desk->phase), 0);
    if (phase == WEIR__R_ENDS) return;
    weir__r_signals signals = weir__r_signals_of(host);
    uint32_t tail = phase == WEIR__R_FETCHES ? weir__r_from(signals.tail, 0) : fetched, none = tail == fetched;
    weir__r_meet();
    fetched = weir__r_fetch_all(desk, card, host, fetched, tail);
    if (weir__r_lane() == 0) {
      weir__r_block_store_release(&desk->ask, signals.ask);
      weir__r_block_store_release(&desk->stop, signals.stop);
      weir__r_block_store_long_release(&desk->fetched, (uint64_t)fetched << 32 | phase);
    }
    if (none) weir__r_pause();
  }
}

#endif // WEIR_DEVICE_CUDA_RESIDENT_PROTOCOL_FETCHER_H
