// SPDX-License-Identifier: Apache-2.0
//
// Random launches, one after another without waiting, over random devices with random policies, some of which fail: what is left
// is, byte for byte, what one after another on one device leaves.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/context.h"
#include "random.h"
#include "rig.h"

enum { PROGRAMS = 400, LAUNCHES = 6, MOST_ROWS = 120, MOST_WIDTH = 9, MOST_DEVICES = 5, OFFSET = 16 };

// A policy of the caller's: pieces of any size for anybody, or none.
static uint64_t any_next(void *user, const weir_split_view *view, uint32_t device) {
  (void)device;
  random_state *random = user;
  return random_chance(random, 20) ? 0 : random_between(random, 1, (uint32_t)view->total + 3);
}

typedef struct program {
  random_state random;
  weir_context *context;
  weir_device *devices[MOST_DEVICES];
  uint32_t device_count;
  bool resident; // contents stay where they are
  weir_split *split;
  weir_kernel *kernel;
  rig_field field;
  rig_failure failure;
  random_state policy_random;
  weir_buffer *buffers[2], *table;
  uint64_t offsets[2];
  uint32_t table_words[16], start[2][MOST_ROWS * MOST_WIDTH + OFFSET], cells[2][MOST_ROWS * MOST_WIDTH + OFFSET];
} program;

static void make_context(program *p) {
  static const char *const lists[] = {"cpu:1", "cpu:1,sim:ideal", "cpu:2,cpu:1", "sim:ideal,sim:h200,cpu:1"};
  weir_context_options options = {.devices = lists[random_below(&p->random, 4)],
                                  .seed = random_next(&p->random) | 1,
                                  .window = random_chance(&p->random, 30) ? 8u << random_below(&p->random, 4) : 0,
                                  .flags = random_chance(&p->random, 20) ? WEIR_CONTEXT_NO_RENAME : 0};
  if (random_chance(&p->random, 20)) options.flags |= WEIR_CONTEXT_TRACE;
  if (random_chance(&p->random, 8)) options.flags |= WEIR_CONTEXT_IN_ORDER;
  rig_ok(weir_context_create(&options, &p->context));
  while (p->device_count < weir_context_device_count(p->context)) {
    p->devices[p->device_count] = weir_context_device(p->context, p->device_count);
    p->device_count++;
  }
  uint32_t fakes = random_below(&p->random, 3);
  for (uint32_t i = 0; i < fakes && p->device_count < MOST_DEVICES; i++) {
    bool lost = random_chance(&p->random, 40);
    p->devices[p->device_count++] =
        rig_add_device(p->context, 1 + random_below(&p->random, 20), lost ? random_below(&p->random, 12) : UINT32_MAX);
  }
}

static void make_split(program *p) {
  static const char *const names[] = {"static", "history", "queue", "guided", "frames", "auto"};
  double shares[MOST_DEVICES];
  uint32_t grains[MOST_DEVICES];
  for (uint32_t i = 0; i < p->device_count; i++) {
    shares[i] = 1 + random_below(&p->random, 20);
    grains[i] = random_between(&p->random, 1, 6);
  }
  p->policy_random.value = random_next(&p->random);
  weir_split_policy custom = {.name = "any", .next = any_next, .user = &p->policy_random};
  bool own = random_chance(&p->random, 20);
  const char *name = names[random_below(&p->random, 6)];
  p->resident = random_chance(&p->random, 50) && (own || (strcmp(name, "queue") != 0 && strcmp(name, "guided") != 0));
  weir_split_options options = {.devices = p->devices,
                                .device_count = p->device_count,
                                .policy = own ? NULL : name,
                                .custom = own ? &custom : NULL,
                                .shares = random_chance(&p->random, 50) ? shares : NULL,
                                .granularities = random_chance(&p->random, 50) ? grains : NULL,
                                .least = random_below(&p->random, 5),
                                .resident = p->resident};
  rig_ok(weir_split_create(p->context, &options, &p->split));
}

static void make_data(program *p) {
  p->field = (rig_field){.rows = random_between(&p->random, 1, MOST_ROWS),
                         .width = random_between(&p->random, 1, MOST_WIDTH),
                         .reach = random_below(&p->random, 5)};
  for (uint32_t i = 0; i < 16; i++) p->table_words[i] = (uint32_t)random_next(&p->random);
  rig_ok(weir_buffer_create(p->context, sizeof p->table_words, &p->table));
  rig_ok(weir_copy_in(p->table, 0, sizeof p->table_words, p->table_words, NULL));
  for (int b = 0; b < 2; b++) {
    p->offsets[b] = random_below(&p->random, OFFSET);
    for (uint32_t i = 0; i < MOST_ROWS * MOST_WIDTH + OFFSET; i++) p->cells[b][i] = (uint32_t)random_next(&p->random);
    rig_ok(weir_buffer_create(p->context, sizeof p->cells[b], &p->buffers[b]));
    memcpy(p->start[b], p->cells[b], sizeof p->start[b]);
    rig_ok(weir_copy_in(p->buffers[b], 0, sizeof p->start[b], p->start[b], NULL));
  }
}

static void same_row(void *user, uint32_t first, uint32_t count, uint64_t *out_offset, uint64_t *out_bytes) {
  const uint64_t *row = user;
  *out_offset = first * *row;
  *out_bytes = count * *row;
}

static void launch(program *p, uint32_t number) {
  int to = (int)(number % 2), from = 1 - to;
  uint64_t row = p->field.width * sizeof(uint32_t), bytes = p->field.rows * row;
  p->field.value = (uint32_t)random_next(&p->random);
  weir_split_arg args[RIG_ARGS];
  rig_args(args, &p->field, weir_reads_range(p->buffers[from], p->offsets[from] * sizeof(uint32_t), bytes),
           weir_writes_range(p->buffers[to], p->offsets[to] * sizeof(uint32_t), bytes), p->table);
  static _Thread_local uint64_t rows[LAUNCHES];
  rows[number] = row;
  if (random_chance(&p->random, 30)) args[1] = weir_split_by(args[1].arg, same_row, &rows[number]);
  uint32_t dimension = 1 + random_below(&p->random, 2);
  weir_split_launch launch = {.kernel = p->kernel,
                              .user = &p->failure,
                              .args = args,
                              .arg_count = RIG_ARGS,
                              .dimension = dimension,
                              .granularity = random_below(&p->random, 9),
                              .tag = number};
  launch.groups[0] = p->field.width;
  launch.groups[dimension] = p->field.rows;
  rig_ok(weir_split_submit(p->split, &launch, NULL));
  rig_reference(&p->field, p->table_words, p->cells[from] + p->offsets[from], p->cells[to] + p->offsets[to]);
}

// Something else with the buffers between launches: the caller writes some cells, or reads.
static void disturb(program *p) {
  static _Thread_local uint32_t values[LAUNCHES];
  int b = (int)random_below(&p->random, 2);
  uint32_t first = random_below(&p->random, MOST_ROWS * MOST_WIDTH), count = random_between(&p->random, 1, OFFSET);
  switch (random_below(&p->random, 4)) {
  case 0:
    values[0] = (uint32_t)random_next(&p->random);
    rig_ok(weir_fill(p->buffers[b], first * sizeof(uint32_t), count * sizeof(uint32_t), values[0], NULL));
    for (uint32_t i = 0; i < count; i++) p->cells[b][first + i] = values[0];
    break;
  case 1:
    rig_ok(weir_copy(p->buffers[b], first * sizeof(uint32_t), p->buffers[1 - b], 0, count * sizeof(uint32_t), NULL));
    memcpy(&p->cells[b][first], p->cells[1 - b], count * sizeof(uint32_t));
    break;
  case 2:
    if (p->context->devices.cpu != NULL) rig_ok(rig_read(p->context, p->buffers[b]));
    break;
  default:
    break;
  }
}

static void check(program *p, uint64_t seed) {
  static uint32_t found[2][MOST_ROWS * MOST_WIDTH + OFFSET];
  for (int b = 0; b < 2; b++) rig_ok(weir_copy_out(p->buffers[b], 0, sizeof found[b], found[b], NULL));
  weir_status status = weir_finish(p->context);
  if (status != WEIR_OK) fail_msg("seed %" PRIu64 ": %s", seed, weir_last_error());
  for (int b = 0; b < 2; b++) {
    for (uint32_t i = 0; i < MOST_ROWS * MOST_WIDTH + OFFSET; i++) {
      if (found[b][i] != p->cells[b][i])
        fail_msg("seed %" PRIu64 ": buffer %d, cell %u: %u, not %u", seed, b, i, found[b][i], p->cells[b][i]);
    }
  }
}

static void run(uint64_t seed) {
  program *p = calloc(1, sizeof *p);
  assert_non_null(p);
  p->random.value = seed;
  make_context(p);
  p->kernel = rig_kernel(p->context);
  make_split(p);
  make_data(p);
  // One device at most fails for good; the first real one never does, so that somebody is left.
  bool fails = p->device_count > 1 && random_chance(&p->random, 40);
  p->failure = (rig_failure){fails ? random_between(&p->random, 1, p->device_count - 1) : UINT32_MAX,
                             random_below(&p->random, 4)};
  // What is run ahead cannot be given to another device where contents are resident.
  if (fails && p->resident && p->devices[p->failure.device]->ops->run_ahead) p->failure.device = UINT32_MAX;
  uint32_t launches = random_between(&p->random, 1, LAUNCHES);
  for (uint32_t i = 0; i < launches; i++) {
    launch(p, i);
    disturb(p);
  }
  if (random_chance(&p->random, 30)) {
    rig_ok(weir_split_release(p->split)); // launches in flight finish
    rig_ok(weir_kernel_release(p->kernel));
    p->split = NULL;
  }
  check(p, seed);
  if (random_chance(&p->random, 50)) rig_ok(weir_split_release(p->split)); // else the context takes it
  weir_context_release(p->context);
  free(p);
}

static void random_launches_equal_serial_ones(void **state) {
  (void)state;
  const char *text = getenv("WEIR_TEST_SEED");
  uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
  for (uint64_t i = 0; i < PROGRAMS; i++) run(seed + i);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_launches_equal_serial_ones)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
