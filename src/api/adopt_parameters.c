// SPDX-License-Identifier: Apache-2.0
//
// Whether the parameters of a kernel that is adopted agree with what is said of it: each word that is an address in memory of the
// device should be in a range that is named. A word that only looks like one costs an order too many.
#include <stdlib.h>
#include <string.h>

#include "api/adopt.h"
#include "base/allocate.h"
#include "base/error.h"

enum { WORD = 8, LEAST_ADDRESS = 1 << 16 };

// An address at the end of a range is as good: of iterators there are two.
static bool is_said(const weir__adoption *to, uint32_t node, uint64_t address) {
  for (uint32_t i = to->first_use[node]; i < to->first_use[node + 1]; i++)
    if (to->uses[i].lo <= address && address <= to->uses[i].hi) return true;
  return false;
}

// Whether it is in memory of which each use is said.
static bool is_managed(const weir__adoption *to, uint64_t address) {
  uint64_t low = 0, high = to->options->managed_count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (to->managed[middle].pointer <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && address - to->managed[low - 1].pointer < to->managed[low - 1].bytes;
}

static bool is_on_device(const weir__cuda_driver *driver, uint64_t address) {
  unsigned int type = 0;
  return address >= LEAST_ADDRESS &&
         driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE;
}

static bool hides_in(const weir__adoption *to, uint32_t node, const unsigned char *parameter, uint32_t bytes) {
  for (uint32_t at = 0; at + WORD <= bytes; at += WORD) {
    uint64_t word;
    memcpy(&word, parameter + at, sizeof word);
    if (!is_said(to, node, word) && !is_managed(to, word) && is_on_device(to->nodes->device->driver, word)) return true;
  }
  return false;
}

// Whether a kernel uses memory that nothing says of it, or may.
static bool hides(const weir__adoption *to, uint32_t index) {
  const weir_cuda_node *node = &to->nodes->nodes[index];
  if (node->parameter_count == UINT32_MAX || (node->parameters == NULL && node->parameter_count > 0)) return true;
  for (uint32_t i = 0; i < node->parameter_count; i++)
    if (hides_in(to, index, node->parameters[i], node->parameter_bytes[i])) return true;
  return false;
}

static int by_address(const void *left, const void *right) {
  uint64_t a = ((const weir_cuda_range *)left)->pointer, b = ((const weir_cuda_range *)right)->pointer;
  return a < b ? -1 : a > b;
}

static weir_status sort_managed(weir__adoption *to) {
  uint64_t count = to->options->managed_count;
  if (count == 0) return WEIR_OK;
  if (to->options->managed == NULL || count > UINT32_MAX)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: the list of managed memory is %s",
                       to->options->managed == NULL ? "NULL" : "too long");
  to->managed = weir__allocate(count * sizeof *to->managed);
  if (to->managed == NULL) return weir__adopt_no_memory();
  memcpy(to->managed, to->options->managed, count * sizeof *to->managed);
  qsort(to->managed, count, sizeof *to->managed, by_address);
  return WEIR_OK;
}

weir_status weir__adopt_check_parameters(weir__adoption *to) {
  const weir__cuda_device *device = to->nodes->device;
  weir_status status = sort_managed(to);
  if (status == WEIR_OK) status = weir__cuda_error(device->driver, weir__cuda_enter(device), "adopt");
  if (status != WEIR_OK) return status;
  for (uint32_t i = 0; i < to->nodes->count; i++) {
    if (to->nodes->own[i].kind != WEIR_CUDA_NODE_KERNEL || to->unknown[i] || !hides(to, i)) continue;
    to->unknown[i] = true;
    if (i < to->first_unknown) to->first_unknown = i;
  }
  weir__cuda_leave(device);
  return WEIR_OK;
}
