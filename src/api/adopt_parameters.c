// SPDX-License-Identifier: Apache-2.0
//
// Whether the parameters of a kernel that is adopted agree with what is said of it: each word that is an address in memory of the
// device should be in a range that is named. A word that only looks like one costs an order too many.
#include <string.h>

#include "api/adopt.h"
#include "base/error.h"

enum { WORD = 8, LEAST_ADDRESS = 1 << 16 };

// An address at the end of a range is as good: of iterators there are two.
static bool is_said(const weir__adoption *to, uint32_t node, uint64_t address) {
  for (uint32_t i = to->first_use[node]; i < to->first_use[node + 1]; i++)
    if (to->uses[i].lo <= address && address <= to->uses[i].hi) return true;
  return false;
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
    if (!is_said(to, node, word) && is_on_device(to->nodes->device->driver, word)) return true;
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

weir_status weir__adopt_check_parameters(weir__adoption *to) {
  const weir__cuda_device *device = to->nodes->device;
  weir_status status = weir__cuda_error(device->driver, weir__cuda_enter(device), "adopt");
  if (status != WEIR_OK) return status;
  for (uint32_t i = 0; i < to->nodes->count; i++) {
    if (to->nodes->own[i].kind != WEIR_CUDA_NODE_KERNEL || to->unknown[i] || !hides(to, i)) continue;
    to->unknown[i] = true;
    if (i < to->first_unknown) to->first_unknown = i;
  }
  weir__cuda_leave(device);
  return WEIR_OK;
}
