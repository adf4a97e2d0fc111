// SPDX-License-Identifier: Apache-2.0
#include "boxes_program.h"

#include <stdlib.h>

enum { FAILS = 2, TRIES = 20 };

uint32_t boxes_word(const boxes_part *part, uint32_t index) {
  uint32_t row = index / part->width, slice = row / part->rows;
  return slice * part->slice_pitch + (row - slice * part->rows) * part->pitch + index % part->width;
}

static void mix(const boxes_shape *shape, const uint32_t *from, uint32_t *to) {
  uint32_t sources = boxes_count(&shape->from);
  for (uint32_t i = 0; i < boxes_count(&shape->to); i++) {
    uint32_t at = boxes_word(&shape->to, i), source = (i * 7 + shape->seed) % sources;
    uint32_t word = from[boxes_word(&shape->from, source)] * 2654435761u + i + shape->seed;
    if (shape->updates & 1) word += to[at] * 40503u;
    to[at] = word ^ (word >> 15);
  }
}

void boxes_host(const weir_work *work) {
  const boxes_shape *shape = work->args[2];
  mix(shape, work->args[0], work->args[1]);
  if (shape->updates & FAILS) weir_work_fail(work, "as told");
}

static void *memory(uint64_t bytes) {
  void *zeros = calloc(1, bytes);
  if (zeros == NULL) abort();
  return zeros;
}

void boxes_create(boxes_buffer *buffers, random_state *random, uint32_t unit) {
  for (uint32_t i = 0; i < BOXES_BUFFERS; i++) {
    boxes_buffer *each = &buffers[i];
    *each = (boxes_buffer){.pitch = unit * random_between(random, 2, 6),
                           .rows = random_between(random, 2, 10),
                           .slices = random_chance(random, 30) ? random_between(random, 2, 4) : 1,
                           .wrapped = random_chance(random, 30)};
    each->words = each->pitch * each->rows * each->slices + random_below(random, 4);
    each->memory = memory((uint64_t)each->words * sizeof(uint32_t));
    each->expected = memory((uint64_t)each->words * sizeof(uint32_t));
    each->poisoned = memory(each->words);
    for (uint32_t word = 0; word < each->words; word++)
      each->memory[word] = each->expected[word] = (uint32_t)random_next(random);
  }
}

void boxes_destroy(boxes_buffer *buffers) {
  for (uint32_t i = 0; i < BOXES_BUFFERS; i++) {
    free(buffers[i].memory);
    free(buffers[i].expected);
    free(buffers[i].poisoned);
  }
}

static uint32_t last_word(const boxes_use *use) {
  return use->first + boxes_word(&use->part, boxes_count(&use->part) - 1);
}

static boxes_use choose_use(const boxes_buffer *buffers, random_state *random, uint32_t unit) {
  boxes_use use = {.buffer = random_below(random, BOXES_BUFFERS)};
  const boxes_buffer *buffer = &buffers[use.buffer];
  if (random_chance(random, 15)) { // a range
    use.first = random_chance(random, 30) ? 0 : random_below(random, buffer->words) / unit * unit;
    uint32_t most = buffer->words - use.first,
             width = random_chance(random, 50) ? most : random_between(random, 1, most);
    use.part = (boxes_part){.width = width, .pitch = width, .rows = 1, .slices = 1};
    return use;
  }
  uint32_t pitch = buffer->pitch, rows = buffer->rows;
  if (random_chance(random, 10)) pitch = unit * random_between(random, 1, 8); // of another layout
  use.box = true;
  bool tiled = random_chance(random, 60);
  uint32_t column = random_below(random, pitch / unit) * unit, row = random_below(random, rows);
  uint32_t width = tiled && pitch > unit ? unit : random_between(random, 1, pitch);
  if (tiled) row = row / 2 * 2;
  use.part = (boxes_part){.width = width, .pitch = pitch, .rows = tiled ? 2 : random_between(random, 1, rows)};
  use.part.slice_pitch = pitch * (rows > use.part.rows ? rows : use.part.rows);
  use.part.slices = random_between(random, 1, buffer->slices);
  use.first = column + row * pitch;
  return use;
}

static bool has_word(const boxes_buffer *buffers, const boxes_use *use, bool *marks) {
  for (uint32_t i = 0; i < boxes_count(&use->part); i++) marks[use->first + boxes_word(&use->part, i)] = true;
  return buffers[use->buffer].words > 0;
}

static bool are_disjoint(const boxes_buffer *buffers, const boxes_use *a, const boxes_use *b) {
  if (a->buffer != b->buffer) return true;
  bool *marks = memory(buffers[a->buffer].words), disjoint = has_word(buffers, a, marks);
  for (uint32_t i = 0; i < boxes_count(&b->part); i++)
    disjoint = disjoint && !marks[b->first + boxes_word(&b->part, i)];
  free(marks);
  return disjoint;
}

bool boxes_choose(const boxes_buffer *buffers, random_state *random, uint32_t unit, boxes_task *out_task) {
  for (int i = 0; i < TRIES; i++) {
    boxes_task task = {.from = choose_use(buffers, random, unit),
                       .to = choose_use(buffers, random, unit),
                       .to_mode = random_chance(random, 50) ? WEIR_WRITE : WEIR_READ_WRITE,
                       .seed = (uint32_t)random_next(random) % 1000};
    if (last_word(&task.from) >= buffers[task.from.buffer].words) continue;
    if (last_word(&task.to) >= buffers[task.to.buffer].words || !are_disjoint(buffers, &task.from, &task.to)) continue;
    *out_task = task;
    return true;
  }
  return false;
}

static bool is_poisoned(const boxes_buffer *buffers, const boxes_use *use) {
  bool poisoned = false;
  for (uint32_t i = 0; i < boxes_count(&use->part); i++)
    poisoned |= buffers[use->buffer].poisoned[use->first + boxes_word(&use->part, i)];
  return poisoned;
}

static boxes_shape shape_of(const boxes_task *task) {
  return (boxes_shape){.from = task->from.part,
                       .to = task->to.part,
                       .seed = task->seed,
                       .updates = (task->to_mode == WEIR_READ_WRITE ? 1u : 0u) | (task->fails ? FAILS : 0u)};
}

weir_status boxes_run(boxes_buffer *buffers, const boxes_task *task) {
  weir_status status = task->fails ? WEIR_ERROR_TASK_FAILED : WEIR_OK;
  bool upstream = is_poisoned(buffers, &task->from);
  if (task->to_mode == WEIR_READ_WRITE) upstream |= is_poisoned(buffers, &task->to);
  if (upstream) status = WEIR_ERROR_UPSTREAM_FAILED;
  boxes_buffer *to = &buffers[task->to.buffer];
  for (uint32_t i = 0; i < boxes_count(&task->to.part); i++)
    to->poisoned[task->to.first + boxes_word(&task->to.part, i)] = status != WEIR_OK;
  boxes_shape shape = shape_of(task);
  if (status == WEIR_OK)
    mix(&shape, buffers[task->from.buffer].expected + task->from.first, to->expected + task->to.first);
  return status;
}

static weir_arg arg_of(const boxes_buffer *buffers, const boxes_use *use, weir_mode mode, weir_box *box) {
  const boxes_part *part = &use->part;
  uint64_t word = sizeof(uint32_t);
  weir_arg arg = {.mode = mode, .buffer = buffers[use->buffer].buffer, .offset = use->first * word};
  arg.bytes = (last_word(use) - use->first + 1) * word;
  if (!use->box) return arg;
  *box = (weir_box){.width = part->width * word,
                    .pitch = part->pitch * word,
                    .rows = part->rows,
                    .slice_pitch = part->slice_pitch * word,
                    .slices = part->slices};
  arg.shape = WEIR_BOX;
  arg.bytes = 0;
  arg.value = box;
  return arg;
}

void boxes_args(const boxes_buffer *buffers, const boxes_task *task, boxes_shape *shape, weir_box boxes[2],
                weir_arg args[3]) {
  *shape = shape_of(task);
  args[0] = arg_of(buffers, &task->from, WEIR_READ, &boxes[0]);
  args[1] = arg_of(buffers, &task->to, task->to_mode, &boxes[1]);
  args[2] = weir_value(shape, sizeof *shape);
}
