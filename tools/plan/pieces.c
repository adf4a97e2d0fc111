// SPDX-License-Identifier: Apache-2.0
#include "plan/pieces.h"

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
static void cut_memory(const weir__plan_program *program, weir__plan_pieces *pieces) {
  size_t count = 0;
  for (uint32_t t = 0; t < program->task_count; t++) {
    for (uint32_t a = 0; a < program->tasks[t].access_count; a++) {
      const weir__plan_access *access = &program->tasks[t].accesses[a];
      uint64_t first = pieces->bases[access->buffer] + access->offset;
      pieces->cuts[count++] = first;
      pieces->cuts[count++] = first + access->bytes;
    }
  }
  qsort(pieces->cuts, count, sizeof *pieces->cuts, compare_cuts);
  for (size_t i = 0; i < count; i++) {
    if (pieces->cut_count == 0 || pieces->cuts[pieces->cut_count - 1] != pieces->cuts[i])
      pieces->cuts[pieces->cut_count++] = pieces->cuts[i];
  }
}

static weir_status out_of_memory(weir__plan_pieces *pieces) {
  weir__plan_pieces_free(pieces);
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to find the hazards of a program");
}

weir_status weir__plan_pieces_create(const weir__plan_program *program, bool by_address,
                                     weir__plan_pieces *out_pieces) {
  *out_pieces = (weir__plan_pieces){0};
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

  weir__plan_pieces pieces = {0};
  pieces.bases = weir__allocate(((size_t)program->buffer_count + 1) * sizeof *pieces.bases);
  pieces.cuts = weir__allocate((2 * access_count + 1) * sizeof *pieces.cuts);
  if (!pieces.bases || !pieces.cuts) return out_of_memory(&pieces);
  weir_status status = place_buffers(program, by_address, pieces.bases);
  if (status != WEIR_OK) {
    weir__plan_pieces_free(&pieces);
    return status;
  }
  cut_memory(program, &pieces);
  pieces.pieces = weir__allocate(((size_t)pieces.cut_count + 1) * sizeof *pieces.pieces);
  if (!pieces.pieces) return out_of_memory(&pieces);
  for (uint32_t i = 0; i < pieces.cut_count; i++)
    pieces.pieces[i] = (weir__plan_piece){.writer = {.task = WEIR__PLAN_NONE}, .readers = WEIR__PLAN_NONE};
  *out_pieces = pieces;
  return WEIR_OK;
}

void weir__plan_pieces_free(weir__plan_pieces *pieces) {
  weir__free(pieces->bases);
  weir__free(pieces->cuts);
  weir__free(pieces->pieces);
  weir__free(pieces->readers);
  *pieces = (weir__plan_pieces){0};
}

// Index of a cut that is known to exist.
static uint32_t find_cut(const weir__plan_pieces *pieces, uint64_t position) {
  uint32_t low = 0, high = pieces->cut_count - 1;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (pieces->cuts[middle] < position)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void weir__plan_pieces_of(const weir__plan_pieces *pieces, const weir__plan_access *access, uint32_t *out_first,
                          uint32_t *out_end) {
  uint64_t first = pieces->bases[access->buffer] + access->offset;
  *out_first = find_cut(pieces, first);
  *out_end = find_cut(pieces, first + access->bytes);
}

weir_status weir__plan_pieces_read(weir__plan_pieces *pieces, uint32_t piece, weir__plan_use use) {
  if (pieces->reader_count == pieces->reader_capacity) {
    uint32_t capacity = pieces->reader_capacity ? pieces->reader_capacity * 2 : 64;
    weir__plan_use *readers = capacity < pieces->reader_capacity ? NULL : weir__allocate(capacity * sizeof *readers);
    if (!readers) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to find the hazards of a program");
    if (pieces->reader_count) memcpy(readers, pieces->readers, pieces->reader_count * sizeof *readers);
    weir__free(pieces->readers);
    pieces->readers = readers;
    pieces->reader_capacity = capacity;
  }
  use.next = pieces->pieces[piece].readers;
  pieces->readers[pieces->reader_count] = use;
  pieces->pieces[piece].readers = pieces->reader_count++;
  return WEIR_OK;
}

void weir__plan_pieces_write(weir__plan_pieces *pieces, uint32_t piece, weir__plan_use use) {
  pieces->pieces[piece] = (weir__plan_piece){.writer = use, .readers = WEIR__PLAN_NONE};
}
