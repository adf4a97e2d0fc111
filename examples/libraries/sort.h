// SPDX-License-Identifier: Apache-2.0
//
// Sorting by CUB, which is CUDA C++.
#ifndef WEIR_EXAMPLES_SORT_H
#define WEIR_EXAMPLES_SORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Bytes that sort_enqueue works in, on the current device. 0: CUB fails.
size_t sort_scratch(uint32_t count);

// Puts sorting of `count` keys on a stream, from `from` to `to`, both on the card. 0, or the CUDA runtime's error.
int sort_enqueue(uint64_t scratch, size_t scratch_bytes, uint64_t from, uint64_t to, uint32_t count, void *stream);

#ifdef __cplusplus
}
#endif
#endif // WEIR_EXAMPLES_SORT_H
