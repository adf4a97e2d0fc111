// SPDX-License-Identifier: Apache-2.0
#include "plan/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"

static weir_status check_access(const weir__plan_program *program, uint32_t task, const weir__plan_access *access) {
  if (access->buffer >= program->buffer_count)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "task %u accesses buffer %u of %u", task, access->buffer,
                       program->buffer_count);
  if (access->mode != WEIR_READ && access->mode != WEIR_WRITE && access->mode != WEIR_READ_WRITE)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "task %u accesses buffer %u in the unknown mode %d", task,
                       access->buffer, (int)access->mode);
  uint64_t bytes = program->buffers[access->buffer].bytes;
  if (access->offset > bytes || access->bytes > bytes - access->offset)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "task %u accesses %llu bytes from byte %llu of buffer %u, which has %llu", task,
                       (unsigned long long)access->bytes, (unsigned long long)access->offset, access->buffer,
                       (unsigned long long)bytes);
  return WEIR_OK;
}

// Puts the buffers where they were recorded, or one after another.
static weir_status place_buffers(const weir__plan_program *program, bool by_address, uint64_t *bases) {
  uint64_t next = 0;
  for (uint32_t b = 0; b < program->buffer_count; b++) {
    bases[b] = by_address ? program->buffers[b].address : next;
    if (program->buffers[b].bytes > UINT64_MAX - bases[b])
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer %u of %llu bytes passes the end of memory", b,
                         (unsigned long long)program->buffers[b].bytes);
    next = bases[b] + program->buffers[b].bytes;
  }
  return WEIR_OK;
}

static int compare_cuts(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

// Fills in the cuts at both ends of every access.
static void cut_memory(const weir__plan_program *program, weir__plan_intervals *intervals) {
  size_t count = 0;
  for (uint32_t t = 0; t < program->task_count; t++) {
    for (uint32_t a = 0; a < program->tasks[t].access_count; a++) {
      const weir__plan_access *access = &program->tasks[t].accesses[a];
      uint64_t first = intervals->bases[access->buffer] + access->offset;
      intervals->cuts[count++] = first;
      intervals->cuts[count++] = first + access->bytes;
    }
  }
  qsort(intervals->cuts, count, sizeof *intervals->cuts, compare_cuts);
  for (size_t i = 0; i < count; i++) {
    if (intervals->cut_count == 0 || intervals->cuts[intervals->cut_count - 1] != intervals->cuts[i])
      intervals->cuts[intervals->cut_count++] = intervals->cuts[i];
  }
}

static weir_status out_of_memory(weir__plan_intervals *intervals) {
  weir__plan_intervals_free(intervals);
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to find the hazards of a program");
}

weir_status weir__plan_intervals_create(const weir__plan_program *program, bool by_address,
                                        weir__plan_intervals *out_intervals) {
  *out_intervals = (weir__plan_intervals){0};
  size_t access_count = 0;
  for (uint32_t t = 0; t < program->task_count; t++) {
    for (uint32_t a = 0; a < program->tasks[t].access_count; a++) {
      weir_status status = check_access(program, t, &program->tasks[t].accesses[a]);
      if (status != WEIR_OK) return status;
    }
    access_count += program->tasks[t].access_count;
  }
  if (access_count >= WEIR__PLAN_NONE / 2)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%zu accesses are too many to find their hazards", access_count);

  weir__plan_intervals intervals = {0};
  intervals.bases = weir__allocate(((size_t)program->buffer_count + 1) * sizeof *intervals.bases);
  intervals.cuts = weir__allocate((2 * access_count + 1) * sizeof *intervals.cuts);
  if (!intervals.bases || !intervals.cuts) return out_of_memory(&intervals);
  weir_status status = place_buffers(program, by_address, intervals.bases);
  if (status != WEIR_OK) {
    weir__plan_intervals_free(&intervals);
    return status;
  }
  cut_memory(program, &intervals);
  intervals.intervals = weir__allocate(((size_t)intervals.cut_count + 1) * sizeof *intervals.intervals);
  if (!intervals.intervals) return out_of_memory(&intervals);
  for (uint32_t i = 0; i < intervals.cut_count; i++)
    intervals.intervals[i] = (weir__plan_interval){.writer = {.task = WEIR__PLAN_NONE}, .readers = WEIR__PLAN_NONE};
  *out_intervals = intervals;
  return WEIR_OK;
}

void weir__plan_intervals_free(weir__plan_intervals *intervals) {
  weir__free(intervals->bases);
  weir__free(intervals->cuts);
  weir__free(intervals->intervals);
  weir__free(intervals->readers);
  *intervals = (weir__plan_intervals){0};
}

// Index of a cut that is known to exist.
static uint32_t find_cut(const weir__plan_intervals *intervals, uint64_t position) {
  uint32_t low = 0, high = intervals->cut_count - 1;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (intervals->cuts[middle] < position)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void weir__plan_intervals_of(const weir__plan_intervals *intervals, const weir__plan_access *access,
                             uint32_t *out_first, uint32_t *out_end) {
  uint64_t first = intervals->bases[access->buffer] + access->offset;
  *out_first = find_cut(intervals, first);
  *out_end = find_cut(intervals, first + access->bytes);
}

weir_status weir__plan_intervals_read(weir__plan_intervals *intervals, uint32_t interval, weir__plan_use use) {
  if (intervals->reader_count == intervals->reader_capacity) {
    uint32_t capacity = intervals->reader_capacity ? intervals->reader_capacity * 2 : 64;
    weir__plan_use *readers = capacity < intervals->reader_capacity ? NULL : weir__allocate(capacity * sizeof *readers);
    if (!readers) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to find the hazards of a program");
    if (intervals->reader_count) memcpy(readers, intervals->readers, intervals->reader_count * sizeof *readers);
    weir__free(intervals->readers);
    intervals->readers = readers;
    intervals->reader_capacity = capacity;
  }
  use.next = intervals->intervals[interval].readers;
  intervals->readers[intervals->reader_count] = use;
  intervals->intervals[interval].readers = intervals->reader_count++;
  return WEIR_OK;
}

void weir__plan_intervals_write(weir__plan_intervals *intervals, uint32_t interval, weir__plan_use use) {
  intervals->intervals[interval] = (weir__plan_interval){.writer = use, .readers = WEIR__PLAN_NONE};
}
