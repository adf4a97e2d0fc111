// SPDX-License-Identifier: Apache-2.0
//
// The accesses of a task in normal form: a sweep over the ends of its ranges that counts how many reads and how many
// writes cover each stretch between two ends.
#include <stdlib.h>

#include "stream/reader.h"

typedef struct range_end {
  uint32_t buffer;
  uint64_t position;
  int reads, writes, commutes; // what changes here
} range_end;

static int compare_ends(const void *a, const void *b) {
  const range_end *x = a, *y = b;
  if (x->buffer != y->buffer) return x->buffer < y->buffer ? -1 : 1;
  if (x->position != y->position) return x->position < y->position ? -1 : 1;
  return 0;
}

static size_t add_ends(range_end *ends, size_t count, const weir__stream_range *ranges, uint32_t range_count,
                       weir_mode mode) {
  for (uint32_t i = 0; i < range_count; i++) {
    if (ranges[i].bytes == 0) continue;
    int reads = mode == WEIR_READ, writes = mode == WEIR_WRITE, commutes = mode == WEIR_COMMUTE;
    ends[count++] = (range_end){ranges[i].buffer, ranges[i].offset, reads, writes, commutes};
    ends[count++] = (range_end){ranges[i].buffer, ranges[i].offset + ranges[i].bytes, -reads, -writes, -commutes};
  }
  return count;
}

// Adds the stretch, or lengthens the access before it if the two touch and have the same mode.
static void add_stretch(weir__stream_task *task, weir_mode mode, uint32_t buffer, uint64_t from, uint64_t to) {
  if (task->access_count) {
    weir__stream_access *last = &task->accesses[task->access_count - 1];
    if (last->buffer == buffer && last->mode == mode && last->offset + last->bytes == from) {
      last->bytes += to - from;
      return;
    }
  }
  task->accesses[task->access_count++] = (weir__stream_access){mode, buffer, from, to - from};
}

static weir_mode mode_of(int reads, int writes, int commutes) {
  if (commutes) return reads || writes ? WEIR_READ_WRITE : WEIR_COMMUTE;
  return reads && writes ? WEIR_READ_WRITE : writes ? WEIR_WRITE : WEIR_READ;
}

bool weir__stream_normalise(weir__stream_reader *reader, weir__stream_task *task) {
  size_t most = 2 * ((size_t)task->read_count + task->write_count + task->commute_count);
  if (most == 0) return true;
  range_end *ends = malloc(most * sizeof *ends);
  task->accesses = malloc(most * sizeof *task->accesses);
  if (!ends || !task->accesses) {
    free(ends);
    return weir__stream_no_memory(reader);
  }
  size_t count = add_ends(ends, 0, task->reads, task->read_count, WEIR_READ);
  count = add_ends(ends, count, task->writes, task->write_count, WEIR_WRITE);
  count = add_ends(ends, count, task->commutes, task->commute_count, WEIR_COMMUTE);
  qsort(ends, count, sizeof *ends, compare_ends);

  int reads = 0, writes = 0, commutes = 0;
  for (size_t i = 0; i < count; i++) {
    reads += ends[i].reads;
    writes += ends[i].writes;
    commutes += ends[i].commutes;
    if (i + 1 == count || (reads == 0 && writes == 0 && commutes == 0) || ends[i].position == ends[i + 1].position)
      continue;
    add_stretch(task, mode_of(reads, writes, commutes), ends[i].buffer, ends[i].position, ends[i + 1].position);
  }
  free(ends);
  return true;
}
