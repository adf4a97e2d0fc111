// SPDX-License-Identifier: Apache-2.0
//
// A 128-bit hash of bytes (FNV-1a), by which code is found again, in memory and on disk.
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weir__hash {
  uint64_t high, low;
} weir__hash;

static inline weir__hash weir__hash_of(const void *bytes, size_t size) {
  __extension__ typedef unsigned __int128 wide;
  const wide prime = ((wide)1 << 88) + 0x13b;
  wide hash = ((wide)0x6c62272e07bb0142u << 64) | 0x62b821756295c58du;
  const unsigned char *byte = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ byte[i]) * prime;
  return (weir__hash){(uint64_t)(hash >> 64), (uint64_t)hash};
}

static inline bool weir__hash_equal(weir__hash a, weir__hash b) {
  return a.high == b.high && a.low == b.low;
}

#endif // WEIR_BASE_HASH_H
