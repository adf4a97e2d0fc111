// SPDX-License-Identifier: Apache-2.0
#include "sort.h"

#include <cub/device/device_radix_sort.cuh>

static cudaError_t sort(void *scratch, size_t &bytes, const uint32_t *from, uint32_t *to, uint32_t count,
                        cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(scratch, bytes, from, to, count, 0, 32, stream);
}

size_t sort_scratch(uint32_t count) {
  size_t bytes = 0;
  const uint32_t *from = nullptr;
  uint32_t *to = nullptr;
  return sort(nullptr, bytes, from, to, count, nullptr) == cudaSuccess ? bytes : 0;
}

int sort_enqueue(uint64_t scratch, size_t scratch_bytes, uint64_t from, uint64_t to, uint32_t count, void *stream) {
  return sort(reinterpret_cast<void *>(scratch), scratch_bytes, reinterpret_cast<const uint32_t *>(from),
              reinterpret_cast<uint32_t *>(to), count, static_cast<cudaStream_t>(stream));
}
