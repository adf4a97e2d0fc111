// SPDX-License-Identifier: Apache-2.0
#include "engine/written.h"

#include <string.h>

#include "base/allocate.h"

enum { FIRST_CAPACITY = 4 };

// The first range that ends at `at` or behind it.
static uint32_t find(const weir__written *written, uint64_t at) {
  uint32_t low = 0, high = written->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (written->ranges[middle][1] < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool grow(weir_buffer *buffer) {
  weir__written *old = buffer->written;
  uint32_t capacity = old == NULL ? FIRST_CAPACITY : 2 * old->capacity;
  weir__written *larger = weir__allocate(sizeof *larger + capacity * sizeof larger->ranges[0]);
  if (larger == NULL) return false;
  larger->count = old == NULL ? 0 : old->count;
  larger->capacity = capacity;
  if (larger->count > 0) memcpy(larger->ranges, old->ranges, larger->count * sizeof larger->ranges[0]);
  weir__free(old);
  buffer->written = larger;
  return true;
}

void weir__written_add(weir_buffer *buffer, uint64_t lo, uint64_t hi) {
  if (buffer->wrapped) return;
  if ((buffer->written == NULL || buffer->written->count == buffer->written->capacity) && !grow(buffer)) {
    if (buffer->written == NULL) return;
    buffer->written->count = 0; // room for one range, of everything
    lo = 0;
    hi = buffer->bytes;
  }
  weir__written *written = buffer->written;
  uint32_t first = find(written, lo), end = first;
  while (end < written->count && written->ranges[end][0] <= hi) {
    if (written->ranges[end][0] < lo) lo = written->ranges[end][0];
    if (written->ranges[end][1] > hi) hi = written->ranges[end][1];
    end++;
  }
  memmove(written->ranges + first + 1, written->ranges + end, (written->count - end) * sizeof written->ranges[0]);
  written->ranges[first][0] = lo;
  written->ranges[first][1] = hi;
  written->count = written->count - (end - first) + 1;
}

bool weir__written_gap(const weir_buffer *buffer, uint64_t lo, uint64_t hi, uint64_t *out_lo, uint64_t *out_hi) {
  if (buffer->wrapped) return false;
  const weir__written *written = buffer->written;
  uint32_t index = written == NULL ? 0 : find(written, lo);
  if (written != NULL && index < written->count && written->ranges[index][0] <= lo) {
    if (written->ranges[index][1] >= hi) return false;
    lo = written->ranges[index++][1];
  }
  *out_lo = lo;
  *out_hi =
      written != NULL && index < written->count && written->ranges[index][0] < hi ? written->ranges[index][0] : hi;
  return true;
}

void weir__written_add_box(weir_buffer *buffer, uint64_t lo, uint64_t hi, const weir_box *box) {
  for (uint64_t i = 0; i < weir__box_row_count(box); i++) {
    uint64_t end, at = weir__box_row(lo, hi, box, i, &end);
    weir__written_add(buffer, at, end);
  }
}

bool weir__written_box_gap(const weir_buffer *buffer, uint64_t lo, uint64_t hi, const weir_box *box, uint64_t *out_lo,
                           uint64_t *out_hi) {
  for (uint64_t i = 0; i < weir__box_row_count(box); i++) {
    uint64_t end, at = weir__box_row(lo, hi, box, i, &end);
    if (weir__written_gap(buffer, at, end, out_lo, out_hi)) return true;
  }
  return false;
}
