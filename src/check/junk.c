// SPDX-License-Identifier: Apache-2.0
#include "check/junk.h"

#include <string.h>

#include "base/random.h"

enum { BLOCK = 4096 };

void weir__junk_initialize(weir__junk *junk) {
  weir__random random = {.state = 0x5eed};
  for (uint32_t at = 0; at < WEIR__JUNK_BYTES; at += sizeof(uint32_t)) {
    uint32_t bits = weir__random_next(&random);
    uint32_t nan = 0x7ff80000u | (bits & 0x7ffff);
    uint32_t large = nan ^ (0x34ffffffu | (bits & 0x80000000u));
    memcpy(junk->bytes[0] + at, &nan, sizeof nan);
    memcpy(junk->bytes[1] + at, &large, sizeof large);
  }
}

// How many of the bytes come before the junk begins again.
static uint64_t in_one_piece(const weir__junk *junk, uint64_t at, uint64_t bytes, uint64_t *out_from) {
  *out_from = (at + junk->shift) % WEIR__JUNK_BYTES;
  uint64_t piece = WEIR__JUNK_BYTES - *out_from;
  return piece < bytes ? piece : bytes;
}

void weir__junk_fill(const weir__junk *junk, uint32_t variant, uint64_t at, void *memory, uint64_t bytes) {
  for (uint64_t done = 0, from; done < bytes;) {
    uint64_t piece = in_one_piece(junk, at + done, bytes - done, &from);
    memcpy((char *)memory + done, junk->bytes[variant] + from, piece);
    done += piece;
  }
}

weir__range weir__bytes_changed(const void *memory, const void *expected, uint64_t bytes) {
  const unsigned char *a = memory, *b = expected;
  weir__range changed = {0, 0};
  for (uint64_t block = 0; block < bytes; block += BLOCK) {
    uint64_t end = bytes - block < BLOCK ? bytes : block + BLOCK;
    if (memcmp(a + block, b + block, end - block) == 0) continue;
    for (uint64_t i = block; i < end; i++) {
      if (a[i] == b[i]) continue;
      if (changed.hi == 0) changed.lo = i;
      changed.hi = i + 1;
    }
  }
  return changed;
}

weir__range weir__junk_changed(const weir__junk *junk, uint32_t variant, uint64_t at, const void *memory,
                               uint64_t bytes) {
  weir__range changed = {0, 0};
  for (uint64_t done = 0, from; done < bytes;) {
    uint64_t piece = in_one_piece(junk, at + done, bytes - done, &from);
    weir__range found = weir__bytes_changed((const char *)memory + done, junk->bytes[variant] + from, piece);
    if (found.hi != 0 && changed.hi == 0) changed.lo = done + found.lo;
    if (found.hi != 0) changed.hi = done + found.hi;
    done += piece;
  }
  return changed;
}
