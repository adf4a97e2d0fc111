// SPDX-License-Identifier: Apache-2.0
//
// Contents that stay where parts leave them, on the devices of the first argument: chains of launches, with other tasks and copies
// between, equal serial ones byte for byte; and exactly those bytes move that are missing. Skipped where a device is missing.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/context.h"
#include "far.h"
#include "part.h"
#include "random.h"

enum { MOST_ROWS = 96, MOST_WIDTH = 8, CELLS = MOST_ROWS * MOST_WIDTH, WORD = sizeof(uint32_t), MOST_DEVICES = 4 };
enum { MOST_COPIES = 8 };

static const char *device_list;
static uint32_t program_count;

typedef struct scene {
  weir_context *context;
  weir_kernel *kernel;
  weir_split *split;
  weir_buffer *buffers[2], *table;
  bool wrapped;
  rig_field field;
  uint32_t table_words[16], start[2][CELLS], memory[2][CELLS], cells[2][CELLS], found[2][CELLS];
  uint32_t copies[MOST_COPIES][CELLS], copied[MOST_COPIES][CELLS],
      copy_count; // what was copied out between launches: is, should be
} scene;

static void open_scene(scene *s, const weir_context_options *wanted, const weir_split_options *split, bool wrapped) {
  weir_context_options options = *wanted;
  options.devices = device_list;
  rig_ok(weir_context_create(&options, &s->context));
  s->kernel = far_kernel(s->context);
  weir_split_options resident = *split;
  resident.resident = true;
  rig_ok(weir_split_create(s->context, &resident, &s->split));
  s->wrapped = wrapped;
  for (uint32_t i = 0; i < 16; i++) s->table_words[i] = i * i + 3;
  for (int b = 0; b < 2; b++) {
    for (uint32_t i = 0; i < CELLS; i++) s->start[b][i] = s->cells[b][i] = i * 2654435761u + (uint32_t)b;
    if (wrapped) {
      memcpy(s->memory[b], s->start[b], sizeof s->start[b]);
      rig_ok(weir_buffer_wrap(s->context, s->memory[b], sizeof s->memory[b], &s->buffers[b]));
    } else {
      rig_ok(weir_buffer_create(s->context, sizeof s->start[b], &s->buffers[b]));
      rig_ok(weir_copy_in(s->buffers[b], 0, sizeof s->start[b], s->start[b], NULL));
    }
  }
  rig_ok(weir_buffer_create(s->context, sizeof s->table_words, &s->table));
  rig_ok(weir_copy_in(s->table, 0, sizeof s->table_words, s->table_words, NULL));
}

static void close_scene(scene *s) {
  rig_ok(weir_split_release(s->split));
  weir_context_release(s->context);
}

static void launch(scene *s, uint32_t from, uint32_t granularity) {
  weir_split_arg args[RIG_ARGS];
  uint64_t bytes = (uint64_t)s->field.rows * s->field.width * WORD;
  rig_args(args, &s->field, weir_reads_range(s->buffers[from], 0, bytes),
           weir_writes_range(s->buffers[1 - from], 0, bytes), s->table);
  weir_split_launch launch = {.kernel = s->kernel,
                              .args = args,
                              .arg_count = RIG_ARGS,
                              .groups = {s->field.width, s->field.rows, 1},
                              .dimension = 1,
                              .granularity = granularity};
  rig_ok(weir_split_submit(s->split, &launch, NULL));
  rig_reference(&s->field, s->table_words, s->cells[from], s->cells[1 - from]);
}

static void check(scene *s, const char *what, uint64_t number) {
  for (int b = 0; b < 2; b++) {
    memset(s->found[b], 0, sizeof s->found[b]);
    rig_ok(weir_copy_out(s->buffers[b], 0, sizeof s->found[b], s->found[b], NULL));
  }
  weir_status status = weir_finish(s->context);
  if (status != WEIR_OK) fail_msg("%s %" PRIu64 ": %s", what, number, weir_last_error());
  for (int b = 0; b < 2; b++) {
    const uint32_t *found = s->wrapped ? s->memory[b] : s->found[b];
    for (uint32_t i = 0; i < CELLS; i++) {
      if (found[i] != s->cells[b][i])
        fail_msg("%s %" PRIu64 ": buffer %d, cell %u: %u, not %u", what, number, b, i, found[i], s->cells[b][i]);
    }
  }
  for (uint32_t i = 0; i < s->copy_count; i++) {
    for (uint32_t j = 0; j < CELLS; j++) {
      if (s->copies[i][j] != s->copied[i][j])
        fail_msg("%s %" PRIu64 ": copy %u, cell %u: %u, not %u", what, number, i, j, s->copies[i][j], s->copied[i][j]);
    }
  }
}

static uint64_t moved(scene *s) {
  weir_statistics statistics;
  weir_context_statistics(s->context, &statistics);
  return statistics.transfer_bytes;
}

// How often what a device reads of a buffer moves on its way, if all of it is in one memory.
static uint64_t hops(scene *s, const weir_buffer *buffer, uint32_t device) {
  const weir_device *to = weir_context_device(s->context, device);
  if (buffer->valid & weir__space_bit(to->space)) return 0;
  const weir_device *from = s->context->memory.devices[__builtin_ctz(buffer->valid)];
  return buffer->valid & 1 || (from->near >> to->index & 1) ? 1 : 2;
}

// Rows that launches move between parts [0, half) and [half, rows): `reach` each way, and twice where the host is in between.
static uint64_t halo_rows(scene *s, uint32_t reach) {
  weir_device *a = weir_context_device(s->context, 0), *b = weir_context_device(s->context, 1);
  if (a->space == b->space) return 0;
  bool direct = a->space == WEIR__HOST_SPACE || b->space == WEIR__HOST_SPACE || (a->near >> b->index & 1) != 0;
  return 2ull * reach * (direct ? 1 : 2);
}

static void only_halos_move(void **state) {
  (void)state;
  for (uint32_t reach = 0; reach < 4; reach++) {
    scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    const double shares[MOST_DEVICES] = {1, 1};
    weir_split_options split = {.policy = "static", .shares = shares};
    open_scene(s, &(weir_context_options){0}, &split, false);
    s->field = (rig_field){.rows = MOST_ROWS, .width = MOST_WIDTH, .reach = reach};
    const uint64_t row = MOST_WIDTH * WORD, half = MOST_ROWS / 2;
    uint64_t before = moved(s), first = 0;
    for (uint32_t i = 0; i < 2; i++)
      first += hops(s, s->buffers[0], i) * (half + reach) * row + hops(s, s->table, i) * sizeof s->table_words;
    launch(s, 0, 1);
    assert_int_equal(moved(s) - before, first);
    for (uint32_t i = 1; i < 7; i++) {
      before = moved(s);
      s->field.value = i;
      launch(s, i % 2, 1);
      assert_int_equal(moved(s) - before, halo_rows(s, reach) * row);
    }
    check(s, "reach", reach);
    launch(s, 1, 1);
    before = moved(s);
    launch(s, 1, 1); // all of it is there
    assert_int_equal(moved(s) - before, 0);
    check(s, "again", reach);
    close_scene(s);
    free(s);
  }
}

// Other shares: what a device has already does not move.
static void changed_shares_move_what_changed(void **state) {
  (void)state;
  scene *s = calloc(1, sizeof *s);
  assert_non_null(s);
  const double equal[MOST_DEVICES] = {1, 1}, other[MOST_DEVICES] = {3, 5};
  open_scene(s, &(weir_context_options){0}, &(weir_split_options){.policy = "static", .shares = equal}, false);
  weir_split *first = s->split, *second = NULL;
  weir_split_options options = {.policy = "static", .shares = other, .resident = true};
  rig_ok(weir_split_create(s->context, &options, &second));
  s->field = (rig_field){.rows = MOST_ROWS, .width = MOST_WIDTH};
  launch(s, 0, 1);
  launch(s, 1, 1);
  uint64_t before = moved(s);
  s->split = second;
  launch(s, 0, 1); // device 1 has 60 rows, not 48
  assert_int_equal(moved(s) - before, halo_rows(s, 6) * MOST_WIDTH * WORD);
  check(s, "shares", 1);
  rig_ok(weir_split_release(first));
  close_scene(s);
  free(s);
}

static uint64_t any_next(void *user, const weir_split_view *view, uint32_t device) {
  (void)device;
  random_state *random = user;
  return random_chance(random, 30) ? 0 : random_between(random, 1, (uint32_t)view->total + 3);
}

// Something else between launches.
static void disturb(scene *s, random_state *random, uint32_t *words) {
  int b = (int)random_below(random, 2);
  uint32_t first = random_below(random, CELLS), count = random_between(random, 1, CELLS - first);
  weir_buffer *buffer = s->buffers[b];
  switch (random_below(random, 5)) {
  case 0:
    *words = (uint32_t)random_next(random);
    rig_ok(weir_fill(buffer, first * WORD, count * WORD, *words, NULL));
    for (uint32_t i = 0; i < count; i++) s->cells[b][first + i] = *words;
    break;
  case 1:
    rig_ok(weir_copy(buffer, first * WORD, s->buffers[1 - b], first * WORD, count * WORD, NULL));
    memcpy(&s->cells[b][first], &s->cells[1 - b][first], count * WORD);
    break;
  case 2:
    if (s->copy_count == MOST_COPIES) break;
    rig_ok(weir_copy_out(buffer, first * WORD, count * WORD, s->copies[s->copy_count], NULL));
    memcpy(s->copied[s->copy_count++], &s->cells[b][first], count * WORD);
    break;
  case 3:
    rig_ok(weir_copy_in(buffer, first * WORD, count * WORD, s->start[1 - b], NULL));
    memcpy(&s->cells[b][first], s->start[1 - b], count * WORD);
    break;
  default:
    break;
  }
}

static void run(uint64_t seed) {
  scene *s = calloc(1, sizeof *s);
  assert_non_null(s);
  random_state random = {.value = seed}, policy_random = {.value = seed * 77};
  static const char *const names[] = {"static", "history", "frames", "auto"};
  weir_context_options options = {.seed = random_next(&random) | 1,
                                  .window = random_chance(&random, 40) ? 8u << random_below(&random, 4) : 0,
                                  .flags = random_chance(&random, 20) ? WEIR_CONTEXT_NO_RENAME : 0};
  if (random_chance(&random, 20)) options.flags |= WEIR_CONTEXT_TRACE;
  if (random_chance(&random, 15)) options.memory_limit = 200000;
  double shares[MOST_DEVICES];
  uint32_t grains[MOST_DEVICES];
  for (uint32_t i = 0; i < MOST_DEVICES; i++) {
    shares[i] = 1 + random_below(&random, 20);
    grains[i] = random_between(&random, 1, 6);
  }
  weir_split_policy custom = {.name = "any", .next = any_next, .user = &policy_random};
  bool own = random_chance(&random, 30);
  weir_split_options split = {.policy = own ? NULL : names[random_below(&random, 4)],
                              .custom = own ? &custom : NULL,
                              .shares = random_chance(&random, 50) ? shares : NULL,
                              .granularities = random_chance(&random, 50) ? grains : NULL};
  open_scene(s, &options, &split, random_chance(&random, 25));
  s->field = (rig_field){.rows = random_between(&random, 1, MOST_ROWS),
                         .width = random_between(&random, 1, MOST_WIDTH),
                         .reach = random_below(&random, 5)};
  if (strstr(device_list, "vulkan") != NULL) s->field.width = 4 * random_between(&random, 1, MOST_WIDTH / 4);
  uint32_t launches = random_between(&random, 1, 8), word;
  for (uint32_t i = 0; i < launches; i++) {
    s->field.value = (uint32_t)random_next(&random);
    launch(s, random_chance(&random, 80) ? i % 2 : 1 - i % 2, random_below(&random, 6));
    while (random_chance(&random, 40)) disturb(s, &random, &word);
  }
  check(s, "seed", seed);
  close_scene(s);
  free(s);
}

static void random_chains_equal_serial_ones(void **state) {
  (void)state;
  const char *text = getenv("WEIR_TEST_SEED");
  uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
  for (uint64_t i = 0; i < program_count; i++) run(seed + i);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  device_list = argv[1];
  program_count = part_count((uint32_t)strtoul(argv[2], NULL, 10));
  weir_context *context = NULL;
  if (weir_context_create(&(weir_context_options){.devices = device_list}, &context) != WEIR_OK) {
    printf("skipped: %s\n", weir_last_error());
    return 77;
  }
  weir_context_release(context);
  const struct CMUnitTest tests[] = {cmocka_unit_test(only_halos_move),
                                     cmocka_unit_test(changed_shares_move_what_changed),
                                     cmocka_unit_test(random_chains_equal_serial_ones)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
