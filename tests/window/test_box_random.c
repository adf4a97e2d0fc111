// SPDX-License-Identifier: Apache-2.0
//
// Random accesses by boxes and ranges, by tasks that finish and fail in random order, against the byte-by-byte model.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "model.h"
#include "random.h"
#include "window/box_tree.h"
#include "window/buffer.h"

enum { MAX_ACCESSES = 3 };

#ifdef WEIR_SMALL_TESTS
enum { SEEDS = 25 };
#else
enum { SEEDS = 300 };
#endif

typedef struct bytes {
  uint64_t lo, hi;
  weir_box box;
  bool is_box;
  weir_mode mode;
} bytes;

typedef struct workload {
  uint32_t bytes, in_flight, fail_percent, range_percent, whole_percent, foreign_percent, steps;
  uint32_t most_pitch, most_slice; // 0: no slices
  bool tiles;                      // boxes are tiles of a grid
} workload;

typedef struct run {
  random_state random;
  const workload *shape;
  weir__range_pool ranges;
  weir_buffer buffer;
  model_buffer model;
  model_tasks tasks;
  weir__dependences dependences;
  uint64_t pitch, slice_pitch;
  bytes used[MODEL_WINDOW][MAX_ACCESSES];
  uint32_t used_count[MODEL_WINDOW];
} run;

static run self;

static bool has_byte(const bytes *part, uint64_t byte) {
  if (!part->is_box) return byte >= part->lo && byte < part->hi;
  for (uint64_t i = 0; i < weir__box_row_count(&part->box); i++) {
    uint64_t end, at = weir__box_row(part->lo, part->hi, &part->box, i, &end);
    if (byte >= at && byte < end) return true;
  }
  return false;
}

static bool meet(const bytes *a, const bytes *b) {
  for (uint64_t byte = 0; byte < self.model.bytes; byte++) {
    if (has_byte(a, byte) && has_byte(b, byte)) return true;
  }
  return false;
}

static const weir_box *form(const bytes *part) {
  return part->is_box ? &part->box : NULL;
}

static uint32_t up_to(uint64_t most) {
  return random_between(&self.random, 1, (uint32_t)most);
}

static weir_box random_box(void) {
  uint64_t pitch = self.pitch, slice_pitch = self.slice_pitch;
  if (random_chance(&self.random, self.shape->foreign_percent)) {
    pitch = up_to(self.shape->most_pitch);
    slice_pitch = self.shape->most_slice == 0 ? 0 : pitch * up_to(4) + random_below(&self.random, 3);
  }
  weir_box box = {.width = up_to(pitch), .pitch = pitch};
  box.rows = up_to(slice_pitch == 0 ? 6 : slice_pitch / pitch < 6 ? slice_pitch / pitch : 6);
  if (slice_pitch != 0) box.slice_pitch = slice_pitch;
  if (slice_pitch != 0) box.slices = random_below(&self.random, 4);
  return box;
}

static bytes random_tile(void) {
  uint64_t width = self.pitch / 3 == 0 ? 1 : self.pitch / 3, rows = 2;
  uint64_t column = random_below(&self.random, 3) * width, row = random_below(&self.random, 3) * rows;
  bytes part = {.is_box = true, .lo = row * self.pitch + column};
  part.box = (weir_box){.width = column + width <= self.pitch ? width : 1, .pitch = self.pitch, .rows = rows};
  return part;
}

// False: what came out leaves the buffer.
static bool random_bytes(bytes *part) {
  *part = (bytes){.mode = (weir_mode)random_between(&self.random, WEIR_READ, WEIR_READ_WRITE)};
  uint64_t size = self.buffer.bytes, length;
  if (random_chance(&self.random, self.shape->whole_percent)) {
    part->hi = size;
    return true;
  }
  part->lo = random_below(&self.random, (uint32_t)size);
  if (random_chance(&self.random, self.shape->range_percent)) {
    part->hi = part->lo + up_to(size - part->lo);
    return true;
  }
  if (self.shape->tiles) {
    weir_mode mode = part->mode;
    *part = random_tile();
    part->mode = mode;
  } else {
    part->box = random_box();
  }
  weir_box given = part->box;
  if (weir__box_take(&given, &part->box, &length) != NULL) return false;
  part->is_box = part->box.rows > 1;
  part->hi = part->lo + length;
  assert_true(!part->is_box || weir__box_bytes(&part->box) == length);
  return part->hi <= size;
}

static void check_and_record(weir__id task, const bytes *part) {
  uint64_t bit = UINT64_C(1) << (task % MODEL_WINDOW), found = 0, data = 0, wanted = 0, wanted_data = 0, before;
  bool poisoned = false;
  for (size_t i = 0; i < self.dependences.count; i++) {
    const weir__dependence *dependence = &self.dependences.list[i];
    assert_true(part->lo <= dependence->lo && dependence->lo < dependence->hi && dependence->hi <= part->hi);
    if (dependence->task == 0) continue;
    assert_true(weir__live(&self.tasks.live, dependence->task));
    found |= UINT64_C(1) << (dependence->task % MODEL_WINDOW);
    if (dependence->data) data |= UINT64_C(1) << (dependence->task % MODEL_WINDOW);
  }
  for (uint64_t byte = 0; byte < self.model.bytes; byte++) {
    if (!has_byte(part, byte)) continue;
    uint8_t writer = self.model.writer[byte];
    uint64_t writer_bit = writer == MODEL_NO_WRITER ? 0 : UINT64_C(1) << writer;
    wanted |= writer_bit;
    if (part->mode != WEIR_READ) wanted |= self.model.readers[byte];
    if (part->mode != WEIR_WRITE) wanted_data |= writer_bit;
    if (part->mode != WEIR_WRITE) poisoned |= self.model.poisoned[byte];
    if (part->mode == WEIR_READ) {
      self.model.readers[byte] |= bit;
    } else {
      self.model.writer[byte] = (uint8_t)(task % MODEL_WINDOW);
      self.model.readers[byte] = 0;
      self.model.poisoned[byte] = false;
    }
  }
  before = found;
  for (uint64_t left = found; left != 0; left &= left - 1) before |= self.tasks.before[__builtin_ctzll(left)];
  before &= self.tasks.live_mask;
  assert_int_equal(found & ~wanted, 0);
  assert_int_equal(wanted & ~bit & ~before, 0);
  assert_int_equal(data, wanted_data & ~bit);
  assert_int_equal(self.dependences.poisoned, poisoned);
  self.tasks.before[task % MODEL_WINDOW] |= before;
}

static bool prepare(const bytes *part) {
  return weir__buffer_prepare(&self.buffer, &self.tasks.live, part->mode, part->lo, part->hi, form(part));
}

// All of a submission. False: memory ran out in the middle.
static bool prepare_all(const bytes *parts, uint32_t count, const bytes *back) {
  if (!weir__range_pool_reserve(&self.ranges, count + 1)) return false;
  weir__box_pool_begin(&self.ranges.boxes, &self.tasks.live);
  for (uint32_t i = 0; i < count; i++) {
    if (parts[i].is_box && !weir__buffer_use_boxes(&self.buffer, &self.ranges, &self.tasks.live, &parts[i].box))
      return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!prepare(&parts[i])) return false;
  }
  return back->hi == 0 || prepare(back);
}

static void access_bytes(weir__id task, const bytes *part) {
  weir__dependences_clear(&self.dependences);
  if (part->is_box)
    weir__buffer_access_box(&self.buffer, &self.tasks.live, task, part->mode, part->lo, part->hi, &part->box,
                            &self.dependences);
  else
    weir__buffer_access(&self.buffer, &self.ranges, &self.tasks.live, task, part->mode, part->lo, part->hi,
                        &self.dependences);
  check_and_record(task, part);
  uint32_t slot = (uint32_t)(task % MODEL_WINDOW);
  self.used[slot][self.used_count[slot]++] = *part;
}

// What is written may be copied back: by a task that reads all from the first to the last byte, and is prepared with the
// first. Of several writes, a copy back may count as a reader of more than it reads.
static void submit(void) {
  bytes parts[MAX_ACCESSES], back = {.mode = WEIR_READ};
  uint32_t count = 0, wanted = up_to(MAX_ACCESSES);
  for (uint32_t i = 0; i < wanted; i++) {
    bytes *part = &parts[count];
    bool fits = random_bytes(part);
    for (uint32_t j = 0; fits && j < count; j++) {
      bool reads = part->mode == WEIR_READ && parts[j].mode == WEIR_READ;
      bool meets = meet(part, &parts[j]);
      assert_int_equal(meets,
                       weir__box_overlaps(part->lo, part->hi, form(part), parts[j].lo, parts[j].hi, form(&parts[j])));
      fits = reads || !meets;
    }
    count += fits;
  }
  if (count == 0) return;
  bool copies = count == 1 && parts[0].mode != WEIR_READ &&
                self.tasks.next - self.tasks.live.oldest < MODEL_WINDOW - 1 && random_chance(&self.random, 50);
  if (copies) back.lo = parts[0].lo;
  if (copies) back.hi = parts[0].hi;
  bool fails = random_chance(&self.random, 10);
  if (fails) weir__allocate_fail_at(up_to(3));
  bool ready = prepare_all(parts, count, &back);
  weir__allocate_fail_at(0);
  assert_true(ready || fails);
  if (!ready) return; // refused, and nothing that the model knows has changed
  weir__id task = model_tasks_begin(&self.tasks);
  self.used_count[task % MODEL_WINDOW] = 0;
  for (uint32_t i = 0; i < count; i++) access_bytes(task, &parts[i]);
  if (!copies) return;
  task = model_tasks_begin(&self.tasks);
  self.used_count[task % MODEL_WINDOW] = 0;
  access_bytes(task, &back);
}

static void finish(weir__id task, bool failed) {
  uint32_t slot = (uint32_t)(task % MODEL_WINDOW);
  for (uint32_t i = 0; failed && i < self.used_count[slot]; i++) {
    const bytes *part = &self.used[slot][i];
    if (part->mode != WEIR_READ)
      weir__buffer_poison_box(&self.buffer, &self.ranges, task, part->lo, part->hi, form(part), 1);
  }
  model_finish(&self.model, &self.tasks, task, failed);
}

static weir__id pick_finishable(void) {
  weir__id task = model_tasks_pick(&self.tasks, random_next(&self.random));
  while (task != 0 && self.tasks.before[task % MODEL_WINDOW] != 0) {
    uint32_t slot = (uint32_t)__builtin_ctzll(self.tasks.before[task % MODEL_WINDOW]);
    weir__id oldest = self.tasks.live.oldest;
    task = oldest + ((slot - oldest) & (MODEL_WINDOW - 1));
  }
  return task;
}

static bool model_idle(void) {
  for (uint32_t byte = 0; byte < self.model.bytes; byte++) {
    if (self.model.writer[byte] != MODEL_NO_WRITER || self.model.readers[byte] != 0) return false;
  }
  return true;
}

// Leaves are disjoint, the tree's bounds and heights are right and it is balanced.
static weir__cell check_node(const weir__box_node *node) {
  if (node->height == 0) {
    assert_ptr_equal(weir__box_pool_find(&self.ranges.boxes, &self.buffer.boxes, &node->cell), node);
    return node->cell;
  }
  const weir__box_node *left = node->child[0], *right = node->child[1];
  assert_ptr_equal(left->parent, node);
  assert_ptr_equal(right->parent, node);
  assert_true(left->height + 2 > right->height && right->height + 2 > left->height);
  assert_int_equal(node->height, 1 + (left->height > right->height ? left->height : right->height));
  weir__cell a = check_node(left), b = check_node(right);
  for (int axis = 0; axis < WEIR__AXES; axis++) {
    assert_int_equal(node->cell.lo[axis], a.lo[axis] < b.lo[axis] ? a.lo[axis] : b.lo[axis]);
    assert_int_equal(node->cell.hi[axis], a.hi[axis] > b.hi[axis] ? a.hi[axis] : b.hi[axis]);
  }
  return node->cell;
}

static void check_map(void) {
  weir__box_pool *pool = &self.ranges.boxes;
  if (!self.buffer.boxed || self.buffer.boxes.root == NULL) return;
  check_node(self.buffer.boxes.root);
  weir__cell all = self.buffer.boxes.root->cell;
  size_t count = weir__box_tree_find(&self.buffer.boxes, &all);
  assert_int_equal(count, pool->leaf_count);
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < i; j++) assert_false(weir__cells_overlap(&pool->found[i]->cell, &pool->found[j]->cell));
  }
}

static void run_shape(uint64_t seed, const workload *shape) {
  self = (run){.random = {seed}, .shape = shape};
  weir__range_pool_initialize(&self.ranges);
  self.buffer.bytes = random_between(&self.random, 1, shape->bytes);
  self.pitch = up_to(shape->most_pitch);
  if (shape->most_slice != 0) self.slice_pitch = self.pitch * up_to(4) + random_below(&self.random, 3);
  weir__segment_initialize(&self.buffer.whole);
  model_initialize(&self.model, (uint32_t)self.buffer.bytes);
  model_tasks_initialize(&self.tasks);
  weir__dependences_initialize(&self.dependences);
  for (uint32_t step = 0; step < shape->steps; step++) {
    uint32_t live = (uint32_t)__builtin_popcountll(self.tasks.live_mask);
    if (model_tasks_full(&self.tasks))
      finish(self.tasks.live.oldest, random_chance(&self.random, shape->fail_percent));
    else if (random_below(&self.random, shape->in_flight) < live)
      finish(pick_finishable(), random_chance(&self.random, shape->fail_percent));
    else
      submit();
    if (step % 8 == 0) assert_int_equal(weir__buffer_idle(&self.buffer, &self.tasks.live), model_idle());
    if (step % 8 == 0) check_map();
  }
  weir__dependences_deinitialize(&self.dependences);
  weir__buffer_forget_users(&self.buffer);
  assert_int_equal(self.ranges.boxes.leaf_count, 0);
  assert_int_equal(self.ranges.boxes.map_count, 0);
  weir__segment_deinitialize(&self.buffer.whole);
  weir__range_pool_deinitialize(&self.ranges);
}

static uint64_t last_seed;

static void check_shape(const workload *shape) {
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    last_seed = seed;
    run_shape(seed, shape);
  }
}

static void rectangles(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 256, .most_pitch = 20, .in_flight = 40, .fail_percent = 10, .steps = 400});
}

static void tiles_of_a_grid(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 256,
                          .most_pitch = 20,
                          .in_flight = 30,
                          .fail_percent = 10,
                          .range_percent = 5,
                          .steps = 600,
                          .tiles = true});
}

static void boxes_in_volumes(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 256,
                          .most_pitch = 9,
                          .most_slice = 1,
                          .in_flight = 40,
                          .fail_percent = 10,
                          .range_percent = 10,
                          .steps = 400});
}

static void rectangles_and_ranges(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 200,
                          .most_pitch = 30,
                          .in_flight = 40,
                          .fail_percent = 15,
                          .range_percent = 40,
                          .whole_percent = 3,
                          .steps = 400});
}

static void other_pitches(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 200,
                          .most_pitch = 30,
                          .most_slice = 1,
                          .in_flight = 20,
                          .fail_percent = 10,
                          .range_percent = 20,
                          .whole_percent = 2,
                          .foreign_percent = 50,
                          .steps = 400});
}

static void hardly_anything_in_flight(void **state) {
  (void)state;
  check_shape(&(workload){.bytes = 256,
                          .most_pitch = 30,
                          .in_flight = 2,
                          .fail_percent = 5,
                          .range_percent = 20,
                          .foreign_percent = 20,
                          .steps = 600});
}

static int print_seed(void **state) {
  (void)state;
  print_message("last seed: %llu\n", (unsigned long long)last_seed);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(rectangles, print_seed),
      cmocka_unit_test_teardown(tiles_of_a_grid, print_seed),
      cmocka_unit_test_teardown(boxes_in_volumes, print_seed),
      cmocka_unit_test_teardown(rectangles_and_ranges, print_seed),
      cmocka_unit_test_teardown(other_pitches, print_seed),
      cmocka_unit_test_teardown(hardly_anything_in_flight, print_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
