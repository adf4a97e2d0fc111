// SPDX-License-Identifier: Apache-2.0
#include "program_body.h"

#include <stdlib.h>

_Static_assert((int)BODY_MAX_ARGS == (int)PROGRAM_MAX_ACCESSES + 1, "the accesses and a value");
_Static_assert(WEIR_VALUE == 0 && WEIR_READ == 1 && WEIR_WRITE == 2 && WEIR_READ_WRITE == 3, "known to program_code.h");
_Static_assert(BODY_PAUSE_BITS + BODY_COUNT_BITS + BODY_GROUP_BITS +
                       BODY_MAX_ARGS * (BODY_MODE_BITS + BODY_SIZE_BITS) <=
                   8 * sizeof((body_packed){0}.bits),
               "all in the bits of a packed description");

body_description body_describe(const program_task *task) {
  body_description description = {.seed = task->seed, .fail_group = task->fail_group, .pause = task->pause};
  uint32_t count = 0;
  for (uint32_t i = 0; i <= task->access_count; i++) {
    if (task->value_bytes > 0 && i == task->value_index) {
      description.args[count].mode = WEIR_VALUE;
      description.args[count++].bytes = task->value_bytes;
    }
    if (i < task->access_count) {
      bool reduces = task->accesses[i].mode == WEIR_REDUCE;
      description.args[count].mode = reduces ? WEIR_COMMUTE : task->accesses[i].mode;
      description.args[count++].bytes = program_bytes(&task->accesses[i]);
    }
  }
  description.arg_count = count;
  return description;
}

// Puts the next bits. False: the value has more.
static bool put_bits(body_packed *packed, uint32_t *at, uint32_t count, uint64_t value) {
  uint32_t word = *at / 64, low = *at % 64;
  packed->bits[word] |= value << low;
  if (low + count > 64) packed->bits[word + 1] |= value >> (64 - low);
  *at += count;
  return value >> count == 0;
}

bool body_pack(const body_description *description, body_packed *out_packed) {
  uint32_t at = 0;
  *out_packed = (body_packed){.seed = description->seed, .self = description->self};
  bool fits = description->arg_count <= BODY_MAX_ARGS;
  fits = put_bits(out_packed, &at, BODY_PAUSE_BITS, description->pause) && fits;
  fits = put_bits(out_packed, &at, BODY_COUNT_BITS, description->arg_count) && fits;
  fits = put_bits(out_packed, &at, BODY_GROUP_BITS, description->fail_group) && fits;
  for (uint32_t a = 0; a < BODY_MAX_ARGS; a++) {
    fits = put_bits(out_packed, &at, BODY_MODE_BITS, description->args[a].mode) && fits;
    fits = put_bits(out_packed, &at, BODY_SIZE_BITS, description->args[a].bytes) && fits;
  }
  return fits;
}

uint64_t body_group_count(const uint32_t groups[3]) {
  uint64_t count = 1;
  for (int i = 0; i < 3; i++) count *= groups[i] == 0 ? 1 : groups[i];
  return count;
}

void body_fill(void *memory, uint64_t bytes, uint64_t seed) {
  body_fill_slice(memory, 0, bytes, body_mix(seed));
}

void body_run(const body_description *description, void *const *args, const uint32_t groups[3], uint64_t first,
              uint64_t end) {
  unsigned char *ranges[BODY_MAX_ARGS];
  for (uint32_t a = 0; a < description->arg_count; a++) ranges[a] = args[a];
  uint64_t common = body_common(description, ranges, groups), count = body_group_count(groups);
  for (uint64_t group = first; group < end; group++) body_group(description, ranges, common, group, count);
}

// Moves bytes [low, high) of a box's rows between these and memory where one follows the other.
static void move_rows(const program_access *access, unsigned char *box, unsigned char *packed, uint64_t low,
                      uint64_t high, bool back) {
  uint32_t width = access->box.width;
  for (uint64_t at = low, end; at < high; at = end) {
    uint64_t row = at / width;
    end = (row + 1) * width < high ? (row + 1) * width : high;
    unsigned char *there = box + (program_row(access, (uint32_t)row) - access->offset) + at % width;
    if (back)
      memcpy(there, packed + at, end - at);
    else
      memcpy(packed + at, there, end - at);
  }
}

// One work-group. Others write to other bytes of the same boxes meanwhile.
static void run_group_of_boxes(const body_description *description, const program_access *const *boxes,
                               void *const *args, const uint32_t groups[3], uint64_t group, uint64_t count) {
  unsigned char *ranges[BODY_MAX_ARGS];
  for (uint32_t a = 0; a < description->arg_count; a++) {
    uint32_t mode = description->args[a].mode;
    uint64_t bytes = description->args[a].bytes, low = bytes * group / count, high = bytes * (group + 1) / count;
    ranges[a] = boxes[a] == NULL ? args[a] : program_memory(bytes);
    if (boxes[a] == NULL) continue;
    if (mode == WEIR_READ) low = 0, high = bytes;
    if (mode != WEIR_WRITE) move_rows(boxes[a], args[a], ranges[a], low, high, false);
  }
  body_group(description, ranges, body_common(description, ranges, groups), group, count);
  for (uint32_t a = 0; a < description->arg_count; a++) {
    uint64_t bytes = description->args[a].bytes, low = bytes * group / count, high = bytes * (group + 1) / count;
    if (boxes[a] == NULL) continue;
    if (description->args[a].mode != WEIR_READ) move_rows(boxes[a], args[a], ranges[a], low, high, true);
    free(ranges[a]);
  }
}

void body_run_boxes(const body_description *description, const program_task *task, void *const *args,
                    const uint32_t groups[3], uint64_t first, uint64_t end) {
  const program_access *boxes[BODY_MAX_ARGS] = {NULL};
  bool any = false;
  for (uint32_t a = 0, next = 0; a < description->arg_count; a++) {
    if (description->args[a].mode == WEIR_VALUE) continue;
    const program_access *access = &task->accesses[next++];
    if (access->box.width > 0) boxes[a] = access;
    any |= access->box.width > 0;
  }
  if (!any) {
    body_run(description, args, groups, first, end);
    return;
  }
  uint64_t count = body_group_count(groups);
  for (uint64_t group = first; group < end; group++) run_group_of_boxes(description, boxes, args, groups, group, count);
}
